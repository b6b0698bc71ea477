//! A sans-IO TCP model.
