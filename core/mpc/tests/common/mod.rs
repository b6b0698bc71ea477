//! Random instances, an independent solution of the problem by Clarabel, and a network of fluid.
#![allow(dead_code, unreachable_pub, reason = "each test and bench uses a part")]

pub mod fluid;
pub mod instance;
pub mod oracle;
