//! Nodes of all transports: what they do alone, in chains and in the simulator.
//!
//! One program, because each that builds nodes compiles all transports anew.

mod budgets;
mod building;
mod closed_forms;
mod conformance;
mod faults;
mod hostile_lives;
mod joint;
mod legs;
mod marut;
mod metrics;
mod new_options;
mod options;
mod predictor;
mod random_worlds;
mod selective;
mod several_legs;
mod switching;
mod ticks;
mod traces;
mod udp_or;
mod world;
