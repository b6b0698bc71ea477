//! The schema of result files, their writers and readers.
