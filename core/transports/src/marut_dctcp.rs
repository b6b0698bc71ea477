//! Marut's signals with DCTCP's control (Alizadeh et al., SIGCOMM '10, section 3): the second of
//! the two successors that Marut's report proposes (section VII).
//!
//! A node marks the cells that its successor reports as forwarded while more than `K` cells wait on
//! the hop. Feedback carries the number of marks from there on; the source takes the marked share
//! `F` of each window, and follows it:
//!
//! ```text
//! alpha  = (1 - g) alpha + g F
//! window = window (1 - alpha / 2)   after a round trip with marks
//! window = window + 1               after one without
//! ```
//!
//! `docs/spec/marut-dctcp.md` tells where this departs from DCTCP, and why.
//!
//! What leaks: every node learns how many cells were marked beyond it; besides, what Marut leaks.

use hopflow_overlay::{
    ConfigError, FlowCx, Forwarded, Gates, NodeEnv, Plan, Role, Site, Transport, Violation,
};
use hopflow_units::{Cells, Duration, StreamId};
use hopflow_wire::RelayHeader;

use crate::Preset;
use crate::circuit_ack::Deliveries;
use crate::delay_window::BaseRtts;
use crate::edge::{Edge, RoundEnd, Source};
use crate::options::{Configure, Options};

/// The weight of the latest share (section 3.1).
const GAIN: f64 = 1.0 / 16.0;

/// Marut with DCTCP's control at one node.
#[derive(Debug)]
pub struct MarutDctcp {
    config: MarutDctcpConfig,
    base_rtts: BaseRtts,
}

/// Parameters.
#[derive(Clone, Copy, Debug)]
pub struct MarutDctcpConfig {
    /// What lies below the window.
    pub edge: Edge,
    /// Cells that may wait on a hop without a mark: K.
    pub threshold: Cells,
}

/// What a node knows of a flow.
#[derive(Debug)]
pub struct DctcpFlow {
    /// Cells marked here, modulo 2^16.
    own: u16,
    /// Cells marked beyond, modulo 2^16.
    downstream: u16,
    source: Source,
    /// The moving share of marked cells.
    alpha: f64,
    /// Marks and data cells when the last round trip ended.
    before: (u16, u64),
    deliveries: Deliveries,
}

impl Configure for MarutDctcpConfig {
    const PRESETS: &'static [Preset] = &[Preset {
        name: "marut-dctcp",
        about: "Marut's signals with DCTCP's control: windows by the share of marked cells",
        options: "",
    }];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        Ok(Self {
            edge: Edge::configure(options)?,
            threshold: options.cells("threshold", Cells::new(10), Cells::new(1))?,
        })
    }
}

impl Transport for MarutDctcp {
    const NAME: &'static str = "marut-dctcp";
    type Config = MarutDctcpConfig;
    type Flow = DctcpFlow;

    fn plan(config: &MarutDctcpConfig) -> Plan {
        config.edge.plan()
    }

    fn new(config: &MarutDctcpConfig, _: &NodeEnv) -> Self {
        Self {
            config: *config,
            base_rtts: BaseRtts::default(),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> DctcpFlow {
        if site.role == Role::Source {
            gates.end.set_window(self.config.edge.initial);
        }
        DctcpFlow::new(&self.config.edge)
    }

    fn on_departure(&mut self, flow: &mut DctcpFlow, cx: &mut FlowCx<'_>) {
        if cx.site.role == Role::Source {
            flow.source.on_departure(&self.config.edge, cx);
        }
    }

    fn on_forwarded(&mut self, flow: &mut DctcpFlow, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        if let Some(marks) = sample.word {
            flow.hear(marks);
        }
        if let Some(rtt) = sample.rtt {
            // Feedback that waits for company is no queue.
            let base = self.base_rtts.with(cx.site, Some(rtt));
            let base = base.max(self.config.edge.feedback_delay);
            let outstanding = cx.gates.hop.outstanding() + sample.cells;
            if waiting(outstanding, base, rtt) > self.config.threshold {
                flow.own = flow.own.wrapping_add(sample.cells.get() as u16);
            }
        }
        if cx.site.role == Role::Relay {
            *cx.word = Some(flow.marks());
        } else {
            flow.source.on_forwarded(cx);
        }
    }

    fn on_taken(&mut self, flow: &mut DctcpFlow, cx: &mut FlowCx<'_>, _: StreamId) {
        flow.deliveries.count(self.config.edge.ack_every, cx);
    }

    fn on_far_end(
        &mut self,
        flow: &mut DctcpFlow,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let edge = &self.config.edge;
        if let Some(end) = flow.source.on_far_end(edge, cx, header)? {
            flow.decide(cx, &end);
        }
        flow.source.apply(edge, cx);
        Ok(())
    }
}

/// Of `outstanding` cells on a hop, those that wait: what a round trip without queues would not
/// hold (BackTap paper, eq. 1, over the actual round trip).
fn waiting(outstanding: Cells, base: Duration, rtt: Duration) -> Cells {
    let excess = u128::from(rtt.saturating_sub(base).as_nanos());
    let waiting = u128::from(outstanding.get()) * excess / u128::from(rtt.as_nanos().max(1));
    Cells::new(waiting as u64)
}

impl DctcpFlow {
    fn new(edge: &Edge) -> Self {
        Self {
            own: 0,
            downstream: 0,
            source: Source::new(edge),
            // The first window with marks is to shrink as TCP's would.
            alpha: 1.0,
            before: (0, 0),
            deliveries: Deliveries::default(),
        }
    }

    /// Takes the count of marks beyond the successor, unless newer feedback has overtaken it.
    fn hear(&mut self, marks: u16) {
        if marks.wrapping_sub(self.downstream) < 1 << 15 {
            self.downstream = marks;
        }
    }

    fn marks(&self) -> u16 {
        self.own.wrapping_add(self.downstream)
    }

    fn decide(&mut self, cx: &FlowCx<'_>, end: &RoundEnd) {
        let acked = cx.gates.end.released().get();
        let (marks, cells) = (
            self.marks().wrapping_sub(self.before.0),
            acked - self.before.1,
        );
        self.before = (self.marks(), acked);
        // A cell may be marked on several hops.
        let share = (f64::from(marks) / cells.max(1) as f64).min(1.0);
        self.alpha = (1.0 - GAIN) * self.alpha + GAIN * share;
        if self.source.starting && marks > 0 {
            self.source.settle(end, cx);
        } else if marks > 0 {
            self.source.window *= 1.0 - self.alpha / 2.0;
        } else if end.used && !self.source.starting {
            self.source.window += 1.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_outstanding_cells_those_wait_that_the_base_round_trip_does_not_hold() {
        let millis = Duration::from_millis;
        let waiting = |cells, base, rtt| waiting(Cells::new(cells), millis(base), millis(rtt));
        assert_eq!(waiting(40, 20, 20), Cells::ZERO);
        assert_eq!(waiting(40, 20, 40), Cells::new(20));
        assert_eq!(waiting(40, 20, 10), Cells::ZERO);
        assert_eq!(waiting(40, 0, 0), Cells::ZERO);
    }

    #[test]
    fn counts_of_marks_wrap_and_older_ones_are_ignored() {
        let edge = Edge::configure(&mut Options::new([])).expect("defaults are sound");
        let mut flow = DctcpFlow::new(&edge);
        flow.hear(0x7000);
        flow.hear(0xe000);
        flow.hear(0x0010);
        assert_eq!(flow.marks(), 0x0010);
        flow.hear(0xfff0);
        assert_eq!(flow.marks(), 0x0010);
    }
}
