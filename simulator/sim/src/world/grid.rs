//! The windows of a run, and what else all partitions know.

use std::sync::Arc;

use hopflow_units::{Duration, Instant};

use super::routes::Routes;
use super::shared::Shared;

/// Windows in the time in which nothing is felt, where lanes run several at once on the one thread that is allowed: with
/// shorter ones less of what a lane could run is lost by rounding. Several threads would wait for each
/// other more often.
const PARTS: u64 = 2;
/// Windows that a lane runs at once, at most: all packets for it in them are in memory.
const MOST_AT_ONCE: u64 = 64;

/// The windows of a run, and what else all partitions know.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// How long nothing that a lane does is felt by another one.
    pub(crate) lockstep: Duration,
    /// How long a window is.
    pub(crate) window: Duration,
    /// Whether lanes run as many windows at once as they can. They are then at different times
    /// between windows.
    pub(crate) ahead: bool,
    /// The least delay of an uplink.
    pub(crate) least_up: Duration,
    /// The least delay of a message out of band, if there are any.
    pub(crate) least_message: Option<Duration>,
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

    /// Lets lanes run several windows at once, or all of them each window, on several threads or one.
    /// Returns whether this is a change.
    pub(crate) fn choose_windows(&mut self, ahead: bool, several_threads: bool) -> bool {
        let before = (self.ahead, self.window);
        self.ahead = ahead && self.lockstep.as_nanos() >= 2 * PARTS;
        let parts = if self.ahead && !several_threads {
            PARTS
        } else {
            1
        };
        self.window = Duration::from_nanos(self.lockstep.as_nanos() / parts);
        before != (self.ahead, self.window)
    }

    /// How many windows a lane can run at once, to which packets take at least `delay` from its router:
    /// what others send meanwhile reaches it later.
    pub(crate) fn windows_at_once(&self, delay: Duration) -> u32 {
        if !self.ahead {
            return 1;
        }
        let felt = self.least_up + delay;
        let felt = self.least_message.map_or(felt, |least| felt.min(least));
        let windows = felt.as_nanos() / self.window.as_nanos();
        windows.clamp(1, MOST_AT_ONCE) as u32
    }

    /// When a window ends.
    pub(crate) fn end_of(&self, window: u64) -> Instant {
        Instant::from_nanos((window + 1).saturating_mul(self.window.as_nanos()))
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
