//! Tor's congestion control as deployed: Vegas from end to end (proposal 324, section 3.3; tor
//! 0.4.9, `congestion_control_vegas.c` and `congestion_control_common.c`).
//!
//! The source has a window of cells `cwnd`. The sink acknowledges every 31 cells of data with a
//! SENDME, which gives a round trip. From the smallest round trip and a smoothed one,
//!
//! ```text
//! bdp = cwnd * min_rtt / ewma_rtt        queue_use = cwnd - bdp
//! ```
//!
//! `queue_use` estimates the cells that wait anywhere on the circuit. In slow start the window
//! doubles each round trip (more slowly above `ss_cap`, RFC 3742) until `queue_use` reaches
//! `gamma`; then it grows by a cell while less than `alpha` wait, shrinks by one above `beta`,
//! and is set to what moves, and `delta`, above that. All arithmetic is that of unsigned whole
//! numbers; times are in microseconds.

use std::collections::VecDeque;

use hopflow_overlay::{ConfigError, SendmeWindow, Violation};
use hopflow_units::{Cells, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ends::shared::BLOCKED;

/// The largest window that can be asked for.
const CELLS: u32 = 1_000_000;
/// A round trip that differs from the smoothed one by more than this factor is a clock's fault.
const JUMP: u64 = 5000;

/// Parameters of Vegas. The defaults are tor 0.4.9's for circuits with an exit.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct VegasConfig {
    /// Cells that one SENDME acknowledges (tor's `cc_sendme_inc`).
    #[serde(rename = "vegas-increment")]
    #[schemars(range(min = 2, max = 254))]
    pub(super) increment: u64,
    /// The first window, in cells, 31 to 10 000 and from `vegas-increment` to `vegas-max`
    /// (`cc_cwnd_init`).
    #[serde(rename = "vegas-initial")]
    #[schemars(range(min = 31, max = 10_000))]
    pub(super) initial: u64,
    /// The smallest window, in cells, 31 to 1000 and from `vegas-increment` to `vegas-max`
    /// (`cc_cwnd_min`).
    #[serde(rename = "vegas-min")]
    #[schemars(range(min = 31, max = 1000))]
    pub(super) min: u64,
    /// The largest window, in cells (`cc_cwnd_max`, which tor leaves open: its relays close circuits that
    /// queue 2500 cells).
    #[serde(rename = "vegas-max")]
    #[schemars(range(min = 500, max = CELLS))]
    pub(super) max: u64,
    /// Cells by which the window changes (`cc_cwnd_inc`).
    #[serde(rename = "vegas-step")]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) step: u64,
    /// Changes per window of cells (`cc_cwnd_inc_rate`).
    #[serde(rename = "vegas-rate")]
    #[schemars(range(min = 1, max = 250))]
    pub(super) rate: u64,
    /// Growth in slow start for an acknowledged cell, in percent (`cc_cwnd_inc_pct_ss`).
    #[serde(skip)]
    pub(super) start_percent: u64,
    /// Share of the updates in a window over which round trips are smoothed, in percent
    /// (`cc_ewma_cwnd_pct`).
    #[serde(skip)]
    pub(super) smooth_percent: u64,
    /// Acknowledgements over which round trips are smoothed at most (`cc_ewma_max`).
    #[serde(skip)]
    pub(super) smooth_max: u64,
    /// The same in slow start (`cc_ewma_ss`).
    #[serde(skip)]
    pub(super) smooth_start: u64,
    /// How far the smallest round trip is raised to the smoothed one when the window is at its
    /// smallest, in percent (`cc_rtt_reset_pct`).
    #[serde(skip)]
    pub(super) reset_percent: u64,
    /// Cells waiting below which the window grows (`cc_vegas_alpha_exit`).
    #[serde(rename = "vegas-alpha")]
    #[schemars(range(min = 0, max = 1000))]
    pub(super) alpha: u64,
    /// Cells waiting above which the window shrinks (`cc_vegas_beta_exit`).
    #[serde(rename = "vegas-beta")]
    #[schemars(range(min = 0, max = 1000))]
    pub(super) beta: u64,
    /// Cells waiting at which slow start ends (`cc_vegas_gamma_exit`).
    #[serde(rename = "vegas-gamma")]
    #[schemars(range(min = 0, max = 1000))]
    pub(super) gamma: u64,
    /// Cells waiting above which the window jumps down (`cc_vegas_delta_exit`).
    #[serde(rename = "vegas-delta")]
    #[schemars(range(min = 0, max = CELLS))]
    pub(super) delta: u64,
    /// Window, in cells, above which slow start is limited (`cc_sscap_exit`, RFC 3742).
    #[serde(rename = "vegas-start-cap")]
    #[schemars(range(min = 100, max = CELLS))]
    pub(super) start_cap: u64,
    /// Window, in cells, at which slow start ends at the latest (`cc_ss_max`).
    #[serde(rename = "vegas-start-max")]
    #[schemars(range(min = 500, max = CELLS))]
    pub(super) start_max: u64,
    /// A window counts as full up to so many SENDMEs below it (`cc_cwnd_full_gap`).
    #[serde(skip)]
    pub(super) full_gap: u64,
    /// A window counts as not full below this share of it, in percent (`cc_cwnd_full_minpct`).
    #[serde(skip)]
    pub(super) full_min_percent: u64,
    /// Cells in the source's queue from which on it counts as blocked, until so few are left
    /// (`cellq_high`, `cellq_low`).
    #[serde(skip)]
    pub(super) blocked: (Cells, Cells),
    /// Whether a window must be full once per window, rather than per update, to grow
    /// (`cc_cwnd_full_per_cwnd`).
    #[serde(skip)]
    pub(super) full_per_window: bool,
}

/// The state of a circuit's source.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "tor's state has them, and none follows from others"
)]
pub(super) struct Vegas {
    cwnd: u64,
    min_rtt: u64,
    ewma_rtt: u64,
    bdp: u64,
    next_event: u64,
    next_window: u64,
    slow_start: bool,
    full: bool,
    /// Whether the circuit's own queue was too long at the last acknowledgement.
    was_blocked: bool,
    /// Whether the last round trip showed that the clock cannot be trusted.
    stalled: bool,
    /// When the last cells of SENDMEs to come were packaged, in microseconds.
    sent: VecDeque<u64>,
}

/// What the source knows besides when a SENDME comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    /// Cells packaged and not yet acknowledged, those of this SENDME among them.
    pub(super) inflight: u64,
    /// Cells that wait in the circuit's own queue.
    pub(super) queued: u64,
    /// Whether that queue is too long, and has not become short since.
    pub(super) blocked: bool,
}

impl Default for VegasConfig {
    fn default() -> Self {
        Self {
            increment: 31,
            initial: 124,
            min: 124,
            max: 10_000,
            step: 1,
            rate: 31,
            start_percent: 100,
            smooth_percent: 50,
            smooth_max: 10,
            smooth_start: 2,
            reset_percent: 100,
            alpha: 186,
            beta: 248,
            gamma: 186,
            delta: 310,
            start_cap: 600,
            start_max: 5000,
            full_gap: 4,
            full_min_percent: 25,
            blocked: BLOCKED,
            full_per_window: true,
        }
    }
}

impl VegasConfig {
    /// Checks the windows.
    ///
    /// # Errors
    /// If one is below what one SENDME stands for, so that it would never open again, or above the
    /// largest.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let (least, most) = (self.increment, self.max);
        for (key, window) in [("vegas-initial", self.initial), ("vegas-min", self.min)] {
            if !(least..=most).contains(&window) {
                let allowed = format!("from vegas-increment, {least}, to vegas-max, {most}");
                return Err(ConfigError::new(key, window, allowed));
            }
        }
        Ok(())
    }

    /// Cells that a node queues of a circuit that is alone on a path of constant rate. Slow start ends
    /// a round trip after `gamma` cells wait, in which the window doubles up to `start_cap` and grows
    /// little above; the first and the smallest window are sent whatever waits. Where circuits
    /// share a connection that stalls, more may wait: up to the whole window.
    pub(super) fn queue(&self) -> Cells {
        let started = self.gamma + self.start_cap.min(self.start_max);
        let waiting = started.max(self.beta).max(self.initial).max(self.min);
        Cells::new(waiting.min(self.max))
    }

    /// What one SENDME stands for.
    pub(super) const fn lot(&self) -> SendmeWindow {
        SendmeWindow {
            start: Cells::new(self.increment),
            increment: Cells::new(self.increment),
        }
    }

    /// SENDMEs between two changes of the window (`CWND_UPDATE_RATE`).
    fn update_rate(&self, cwnd: u64, slow_start: bool) -> u64 {
        let span = self.rate * self.increment;
        if slow_start {
            1
        } else {
            (cwnd + span / 2) / span
        }
    }

    /// SENDMEs in a window (`SENDME_PER_CWND`).
    const fn sendmes(&self, cwnd: u64) -> u64 {
        (cwnd + self.increment / 2) / self.increment
    }

    /// Growth of the window in slow start by a SENDME (RFC 3742 above the cap).
    fn start_increment(&self, cwnd: u64) -> u64 {
        if cwnd <= self.start_cap {
            return (self.start_percent * self.increment + 50) / 100;
        }
        ((self.increment * self.start_cap + cwnd) / (2 * cwnd)).max(1)
    }
}

impl Vegas {
    /// A circuit that has sent nothing.
    pub(super) fn new(config: &VegasConfig) -> Self {
        Self {
            cwnd: config.initial,
            min_rtt: 0,
            ewma_rtt: 0,
            bdp: 0,
            next_event: config.update_rate(config.initial, true),
            next_window: 0,
            slow_start: true,
            full: false,
            was_blocked: false,
            stalled: false,
            sent: VecDeque::new(),
        }
    }

    /// The window, in cells.
    pub(super) const fn window(&self) -> Cells {
        Cells::new(self.cwnd)
    }

    /// The smoothed round trip in microseconds; 0 if there was none yet.
    pub(super) const fn smoothed_rtt(&self) -> u64 {
        self.ewma_rtt
    }

    /// Cells that wait anywhere on the circuit; none before the first round trip.
    pub(super) const fn queue_use(&self) -> u64 {
        if self.ewma_rtt == 0 {
            return 0;
        }
        self.cwnd.saturating_sub(self.bdp)
    }

    /// Cells that move without waiting; 0 before the first round trip.
    pub(super) const fn bdp(&self) -> u64 {
        self.bdp
    }

    /// A cell was packaged; `inflight` counts it.
    pub(super) fn on_packaged(&mut self, config: &VegasConfig, now: Instant, inflight: u64) {
        if inflight > 1 && inflight.is_multiple_of(config.increment) {
            self.sent.push_back(micros(now));
        }
    }

    /// A SENDME came: decides the window.
    ///
    /// # Errors
    /// If it acknowledges cells that were never sent.
    pub(super) fn on_sendme(
        &mut self,
        config: &VegasConfig,
        now: Instant,
        local: &Local,
    ) -> Result<(), Violation> {
        self.next_event = self.next_event.saturating_sub(1);
        self.next_window = self.next_window.saturating_sub(1);
        let packaged = self.sent.pop_front().ok_or(Violation::BeyondOutstanding)?;
        let measured = self.measure(config, micros(now).saturating_sub(packaged));
        self.estimate(config, local);
        if measured || local.blocked {
            self.decide(config, local);
            self.cwnd = self.cwnd.min(config.max);
        }
        Ok(())
    }

    /// Takes a round trip; false if it cannot be trusted.
    fn measure(&mut self, config: &VegasConfig, rtt: u64) -> bool {
        if rtt == 0 {
            self.stalled = true;
            return false;
        }
        if !self.slow_start && self.ewma_rtt > 0 {
            let leaps = rtt > JUMP * self.ewma_rtt;
            let falls = self.ewma_rtt > JUMP * rtt;
            if leaps || (falls && self.stalled) {
                return false;
            }
        }
        self.stalled = false;
        self.ewma_rtt = n_ewma(rtt, self.ewma_rtt, self.smoothing(config));
        let at_least = self.cwnd == config.min && !self.slow_start;
        if self.min_rtt == 0 || (self.ewma_rtt < self.min_rtt && !at_least) {
            self.min_rtt = self.ewma_rtt;
        } else if at_least {
            self.min_rtt = mix(self.ewma_rtt, self.min_rtt, config.reset_percent);
        }
        true
    }

    /// Acknowledgements over which round trips are smoothed.
    fn smoothing(&self, config: &VegasConfig) -> u64 {
        if self.slow_start {
            return config.smooth_start.max(2);
        }
        let updates = config.update_rate(self.cwnd, false) * config.smooth_percent / 100;
        updates.min(config.smooth_max).max(2)
    }

    /// Estimates the cells that move without waiting.
    fn estimate(&mut self, config: &VegasConfig, local: &Local) {
        let moving = (self.cwnd * self.min_rtt).checked_div(self.ewma_rtt);
        let unknown = if local.blocked {
            self.cwnd.saturating_sub(local.queued).max(config.min)
        } else {
            self.cwnd
        };
        self.bdp = moving.unwrap_or(unknown);
        if local.blocked != self.was_blocked {
            self.was_blocked = local.blocked;
            self.next_event = 0;
        }
    }

    fn decide(&mut self, config: &VegasConfig, local: &Local) {
        let queue_use = self.cwnd.saturating_sub(self.bdp);
        if local.inflight + config.full_gap * config.increment >= self.cwnd {
            self.full = true;
        } else if 100 * local.inflight < config.full_min_percent * self.cwnd {
            self.full = false;
        }
        if self.slow_start {
            self.start(config, queue_use);
        } else if self.next_event == 0 {
            self.avoid(config, queue_use);
        }
        let (sendmes, rate) = (
            config.sendmes(self.cwnd),
            config.update_rate(self.cwnd, self.slow_start),
        );
        if self.next_window == 0 {
            self.next_window = sendmes;
        }
        if self.next_event == 0 {
            self.next_event = rate;
        }
        let over = if config.full_per_window {
            self.next_window == sendmes
        } else {
            self.next_event == rate
        };
        self.full &= !over;
    }

    fn start(&mut self, config: &VegasConfig, queue_use: u64) {
        if queue_use < config.gamma && !self.was_blocked {
            if self.full {
                let increment = config.start_increment(self.cwnd);
                self.cwnd += increment;
                // Once congestion avoidance would grow as fast, it takes over.
                let avoidance = config.step * config.rate;
                self.slow_start = increment * config.sendmes(self.cwnd) > avoidance;
            }
        } else {
            // Below what one SENDME stands for, a window would never open again.
            self.cwnd = (self.bdp + config.gamma).max(config.increment);
            self.slow_start = false;
        }
        if self.cwnd >= config.start_max {
            self.cwnd = config.start_max;
            self.slow_start = false;
        }
    }

    fn avoid(&mut self, config: &VegasConfig, queue_use: u64) {
        if queue_use > config.delta {
            self.cwnd = (self.bdp + config.delta).saturating_sub(config.step);
        } else if queue_use > config.beta || self.was_blocked {
            self.cwnd = self.cwnd.saturating_sub(config.step);
        } else if self.full && queue_use < config.alpha {
            self.cwnd += config.step;
        }
        self.cwnd = self.cwnd.max(config.min);
    }
}

fn micros(now: Instant) -> u64 {
    now.saturating_since(Instant::ZERO).as_nanos() / 1000
}

/// An average of which the newest of `n` values has a share of 2 in `n + 1`.
const fn n_ewma(new: u64, old: u64, n: u64) -> u64 {
    if old == 0 {
        return new;
    }
    (2 * new + (n - 1) * old) / (n + 1)
}

/// A share, in percent, of the greater value and the rest of the lesser one.
fn mix(a: u64, b: u64, percent: u64) -> u64 {
    percent * a.max(b) / 100 + (100 - percent) * a.min(b) / 100
}

#[cfg(test)]
mod tests;
