//! Statistics: intervals, regression, fairness.
