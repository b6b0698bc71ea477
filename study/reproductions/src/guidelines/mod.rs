//! Guidelines for transports of overlays: what TCP makes of one connection and of many.
//!
//! F. Tschorsch and B. Scheuermann, "How (not) to Build a Transport Layer for Anonymity Overlays",
//! ACM SIGMETRICS Performance Evaluation Review 40(4), 2013. Figures 2 and 4 are computed
//! ([`losses`]); Figure 3 ([`start`]) and what sections 5 and 6.2 claim ([`bottleneck`]) are simulated.

mod bottleneck;
mod losses;
mod start;

pub(super) use bottleneck::{QUEUES, SHARES};
pub(super) use losses::Losses;
pub(super) use start::START;
