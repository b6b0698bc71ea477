//! The windows of a run, and what else all partitions know.

use std::sync::Arc;

use hopflow_units::{Duration, Instant};

use super::routes::Routes;
use super::shared::Shared;

/// The windows of a run, and what else all partitions know.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// How long a window is.
    pub(crate) window: Duration,
    /// The least delay of an uplink.
    pub(crate) least_up: Duration,
    pub(crate) end: Instant,
    pub(crate) routes: Arc<Routes>,
    /// Where all lanes are.
    pub(crate) places: Arc<Vec<Place>>,
}

impl Grid {
    /// What the lanes of a new partition use in turn.
    pub(crate) fn shared(&self) -> Shared {
        Shared::new(self.end, Arc::clone(&self.routes))
    }

    /// When the first window begins that does not begin before `time`.
    pub(crate) fn next_boundary(&self, time: Instant) -> Instant {
        let width = self.window.as_nanos();
        Instant::from_nanos(time.as_nanos().div_ceil(width).saturating_mul(width))
    }

    /// The window after which the links between routers handle what happens there at `at`.
    pub(crate) fn window_of_trunks(&self, at: Instant) -> u64 {
        at.as_nanos().saturating_sub(self.least_up.as_nanos()) / self.window.as_nanos()
    }
}

/// Where a lane is: its partition, and its position there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) partition: u32,
    pub(crate) index: u32,
}
