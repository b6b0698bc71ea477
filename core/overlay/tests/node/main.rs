//! The node as drivers and neighbours see it, with transports made for the purpose.

mod gates;
mod hostile_neighbours;
mod inputs;
mod linked;
mod missing;
mod support;
mod views;
