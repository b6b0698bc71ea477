//! What follows from what nodes say: levels, and rates since the last time.

use super::ask::{Node, Reading};
use super::page::Page;

/// Bytes of a cell, in which nodes count what they forward.
const CELL: f64 = hopflow_daemon::CELL as f64;

/// A node at one moment, and since the last one.
#[derive(Debug)]
pub(super) struct Figures<'a> {
    pub(super) node: &'a Node,
    /// What it says now.
    pub(super) page: &'a Page,
    /// What it said before, and how many seconds ago.
    before: Option<(&'a Page, f64)>,
}

impl<'a> Figures<'a> {
    /// The figures of a node, or why there are none.
    pub(super) fn of(
        node: &'a Node,
        before: Option<&'a Reading>,
        now: &'a Reading,
    ) -> Result<Self, &'a str> {
        let page = now.page.as_ref().map_err(String::as_str)?;
        let before = before.and_then(|before| {
            let seconds = now.at.saturating_duration_since(before.at).as_secs_f64();
            let page = before.page.as_ref().ok()?;
            (seconds > 0.0).then_some((page, seconds))
        });
        Ok(Self { node, page, before })
    }

    /// A level.
    pub(super) fn level(&self, name: &str) -> Option<f64> {
        self.page.value(name)
    }

    /// The limit on a level.
    pub(super) fn limit(&self, name: &str) -> Option<f64> {
        self.page.labelled("limit", ("of", name))
    }

    /// How much a counter grew per second; `None` where that is not known, as after a restart.
    pub(super) fn rate(&self, name: &str) -> Option<f64> {
        let name = format!("{name}_total");
        let (before, seconds) = self.before?;
        let grown = self.page.value(&name)? - before.value(&name)?;
        (grown >= 0.0).then_some(grown / seconds)
    }

    /// What a counter stands at.
    pub(super) fn total(&self, name: &str) -> Option<f64> {
        self.page.value(&format!("{name}_total"))
    }

    /// Bytes of cells that it forwards per second.
    pub(super) fn bytes_per_second(&self) -> Option<f64> {
        self.rate("cells_sent").map(|cells| cells * CELL)
    }

    /// The part of its limit on memory that it holds.
    pub(super) fn memory_share(&self) -> Option<f64> {
        let limit = self.level("memory_limit_bytes")?;
        Some(self.level("memory_held_bytes")? / limit.max(1.0))
    }

    /// What the worker has of its part of that limit which is fullest.
    pub(super) fn fullest_memory(&self) -> Option<f64> {
        self.page.labelled("fullest_worker_ratio", ("of", "memory"))
    }

    /// The mean of its windows, in cells.
    pub(super) fn mean_window(&self) -> Option<f64> {
        let windows = self.level("windows").filter(|windows| *windows > 0.0)?;
        Some(self.level("window_cells")? / windows)
    }

    /// Seconds since it started, at this time of the calendar.
    pub(super) fn uptime(&self, now: f64) -> Option<f64> {
        let start = self.level("start_time_seconds")?;
        Some((now - start).max(0.0))
    }
}
