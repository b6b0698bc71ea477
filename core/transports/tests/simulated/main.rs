//! Transports in the simulator: random worlds, faults, nested budgets, ticks and messages, plans.

mod budgets;
mod faults;
mod joint;
mod legs;
mod marut;
mod metrics;
mod predictor;
mod random_worlds;
mod selective;
mod switching;
mod ticks;
mod traces;
mod world;
