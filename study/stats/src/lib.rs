//! Statistics: intervals, regression, quantiles, fairness.
//!
//! Everything here is a pure function of its inputs, and the same inputs give the same bits on
//! every machine: sums run in the order given, and transcendental functions come from `libm`.
//!
//! No function returns a NaN that it was not given. What cannot be computed from the data (the
//! mean of nothing, an interval around a single value, the slope through one point) is `None`, and
//! so is anything computed from values that are not finite.
//!
//! ```
//! use hopflow_stats::Mean;
//!
//! let goodput = Mean::of(&[10.0, 12.0, 11.0]).unwrap();
//! assert_eq!(goodput.mean, 11.0);
//! assert!((goodput.half_width.unwrap() - 2.484).abs() < 1e-3);
//! ```

mod cdf;
mod fair;
mod family;
mod line;
mod mean;
mod nearest;
mod paired;
mod quantile;
mod student;
mod survival;

pub use cdf::{CdfPoint, cdf_band};
pub use fair::{FairError, FairFlow, FairShare, fairness_index, jain, max_min};
pub use family::holm;
pub use line::Line;
pub use mean::Mean;
pub use nearest::{Nearest, nearest};
pub use paired::{PairedDifference, Percent};
pub use quantile::Sorted;
pub use student::{student_t_cdf, student_t_quantile};
pub use survival::{End, Lasted, Survival};
