//! Shared fixtures for tests of nodes and transports.
