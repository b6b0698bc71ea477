//! Reports: one HTML page and its plots, from result files.
