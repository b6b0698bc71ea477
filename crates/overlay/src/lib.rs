//! The sans-IO overlay node that every transport shares.
