//! Transports in the simulator: random worlds, nested budgets, ticks and messages, plans.

mod budgets;
mod legs;
mod metrics;
mod predictor;
mod random_worlds;
mod switching;
mod ticks;
mod traces;
mod world;
