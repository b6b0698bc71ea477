//! Random instances and an independent solution of the problem, as printed, by Clarabel.
#![allow(dead_code, unreachable_pub, reason = "each test and bench uses a part")]

pub mod instance;
pub mod oracle;
