//! DCTCP's control at the source (Alizadeh et al., SIGCOMM '10, section 3): the second of the two
//! successors that Marut's report proposes (section VII).
//!
//! Hops report how many cells they marked; the source takes the marked share `F` of each window,
//! and follows it:
//!
//! ```text
//! alpha  = (1 - g) alpha + g F
//! window = window (1 - alpha / 2)   after a round trip with marks
//! window = window + 1               after one without
//! ```
//!
//! `docs/spec/marut-dctcp.md` says where this departs from DCTCP, and why.
//!
//! What leaks: relays can count acknowledgements by the rhythm of reverse cells.

use hopflow_overlay::{
    ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features, HopReport,
    Info, Site, Violation,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::circuit_ack::Deliveries;
use super::shared::{BOTH_ENDS, former, state_of};
use super::source::{Edge, EdgeOptions, RoundEnd, Source};
use crate::layer::{Around, LayerOptions};

/// The weight of the latest share (section 3.1).
const GAIN: f64 = 1.0 / 16.0;

/// A window by the share of marked cells.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct MarkedShareWindow {
    #[serde(flatten)]
    edge: EdgeOptions,
}

/// What an end knows.
#[derive(Clone, Debug)]
struct State {
    edge: Edge,
    source: Source,
    /// The moving share of marked cells.
    alpha: f64,
    /// Marks and data cells when the last round trip ended.
    before: (u16, u64),
    deliveries: Deliveries,
}

impl LayerOptions for MarkedShareWindow {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        self.edge.settle(around)
    }
}

impl EndControl for MarkedShareWindow {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::LOAD_READER.or(Features::BOUND),
            requires: &[(
                Features::MARK_REPORTS,
                "The window follows the share of cells that hops report as marked.",
            )],
            // A variant of `worst-hop`.
            swept: false,
            ..Info::new(
                "marked-share",
                "a window by the share of marked cells (Marut with DCTCP's control)",
            )
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        self.edge.edge().plan()
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let edge = self.edge.edge();
        gates.end.set_window(edge.initial);
        Some(Box::new(State {
            edge,
            source: Source::new(&edge),
            // The first window with marks must shrink as TCP's would.
            alpha: 1.0,
            before: (0, 0),
            deliveries: Deliveries::default(),
        }))
    }

    fn check_change(&self, old: &dyn EndControl) -> Result<(), ConfigError> {
        let keys = &["ack-every"];
        self.keeps(former(old), keys, BOTH_ENDS)
    }

    fn reconfigure(&self, state: &mut dyn EndState, _: &mut EndGates<'_>) {
        state_of::<State>(state).edge = self.edge.edge();
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Departed => self.source.on_departure(&self.edge, cx),
            EndSignal::Hop(HopReport::Forwarded { .. }) => self.source.on_forwarded(cx),
            EndSignal::Dequeued(_) => self.deliveries.count(self.edge.ack_every, cx),
            EndSignal::Command(header) => {
                if let Some(end) = self.source.on_command(&self.edge, cx, header)? {
                    self.decide(cx, &end);
                }
                self.source.apply(&self.edge, cx);
            }
            _ => {}
        }
        Ok(())
    }
}

impl State {
    fn decide(&mut self, cx: &EndCx<'_>, end: &RoundEnd) {
        let acked = cx.gates.end.released().get();
        // Hops count marks modulo 2^16.
        let all = cx.load as u16;
        let (marks, cells) = (all.wrapping_sub(self.before.0), acked - self.before.1);
        self.before = (all, acked);
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
