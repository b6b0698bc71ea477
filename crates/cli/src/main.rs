//! The hopflow command line.

fn main() {}
