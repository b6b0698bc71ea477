//! The transports and their registry.
