//! Transports in the simulator: random worlds, nested budgets, ticks and messages.

mod budgets;
mod random_worlds;
mod ticks;
mod world;
