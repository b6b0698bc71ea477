//! Marut at the source: a window that follows the most loaded hop of its circuit (Ojha and Sharma,
//! "Congestion Control in TOR", New York University, section V).
//!
//! Hops report how many cells wait on the most loaded of them; the source alone has a window. The
//! report leaves open what the window counts, how often it changes, and how it starts.
//! `docs/spec/marut.md` says how each was decided.
//!
//! What leaks: with end-to-end windows relays can count acknowledgements by the rhythm of reverse
//! cells.

use hopflow_overlay::{
    ConfigError, EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, Features, HopReport,
    Info, Site, Violation,
};
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::RelayHeader;

use super::circuit_ack::{CircuitTrip, Deliveries};
use crate::layer::{Around, ConfigureEnd};
use crate::options::Options;
use crate::waiting::{Finding, PARTS, Rule, Window};

/// Marut's window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorstHopWindow {
    /// When the window grows and shrinks.
    rule: Rule,
    /// What the window counts.
    counts: Counts,
    /// How often the window changes.
    update: Update,
    /// Data cells that one acknowledgement of the sink stands for.
    ack_every: Cells,
}

/// What the source's window counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Counts {
    /// Cells that the first relay has not reported as forwarded.
    FirstHop,
    /// Data cells that the sink has not acknowledged.
    EndToEnd,
}

/// How often the source's window changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Update {
    /// Once per round trip of the first hop.
    HopRtt,
    /// Once per round trip of the whole circuit.
    CircuitRtt,
}

/// What an end knows.
#[derive(Debug)]
struct State {
    config: WorstHopWindow,
    window: Window,
    trip: CircuitTrip,
    deliveries: Deliveries,
    /// After a jump the loads that are heard are of the time before it, for a round trip.
    quiet_until: Instant,
}

impl ConfigureEnd for WorstHopWindow {
    fn layer() -> &'static Info {
        static INFO: Info = Info {
            provides: Features::LOAD_READER.or(Features::BOUND),
            requires: &[(
                Features::LOAD_REPORTS,
                "Marut's window follows the loads that hops report, and takes the place of windows \
                 at the hops.",
            )],
            ..Info::new(
                "worst-hop",
                "a window that follows the most loaded hop (Marut)",
            )
        };
        &INFO
    }

    fn configure(options: &mut Options, around: &mut Around) -> Result<Self, ConfigError> {
        let counts = options.choice(
            "window-counts",
            Counts::EndToEnd,
            &[
                ("first-hop", Counts::FirstHop),
                ("end-to-end", Counts::EndToEnd),
            ],
        )?;
        let update = options.choice(
            "update-every",
            Update::HopRtt,
            &[
                ("hop-rtt", Update::HopRtt),
                ("circuit-rtt", Update::CircuitRtt),
            ],
        )?;
        let ack_every = options.cells("ack-every", Cells::new(16), Cells::new(1))?;
        let rule = rule(options, counts, ack_every)?;
        // A window may be as small as its floor, which the successor must be able to queue.
        let least = match counts {
            Counts::FirstHop => Cells::new(1),
            Counts::EndToEnd => rule.floor,
        };
        around.need_queue(least, rule.floor);
        Ok(Self {
            rule,
            counts,
            update,
            ack_every,
        })
    }
}

fn rule(options: &mut Options, counts: Counts, ack_every: Cells) -> Result<Rule, ConfigError> {
    if counts == Counts::FirstHop {
        return Rule::configure(options, Cells::new(2));
    }
    let mut rule = Rule::configure(options, Cells::new(10).max(ack_every))?;
    // A window below what one acknowledgement stands for would never open again.
    rule.floor = rule.floor.max(ack_every);
    rule.initial = rule.initial.max(rule.floor);
    Ok(rule)
}

impl WorstHopWindow {
    fn acknowledges(&self) -> bool {
        self.counts == Counts::EndToEnd || self.update == Update::CircuitRtt
    }

    /// What paces decisions: while a window grows fast, the round trip of what it counts.
    fn paces(&self, window: &Window) -> Update {
        match self.counts {
            _ if !window.is_accelerating() => self.update,
            Counts::FirstHop => Update::HopRtt,
            Counts::EndToEnd => Update::CircuitRtt,
        }
    }
}

impl EndControl for WorstHopWindow {
    fn info(&self) -> &'static Info {
        Self::layer()
    }

    fn plan(&self) -> EndPlan {
        EndPlan::default()
    }

    fn open(&self, _: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let window = Window::new(&self.rule);
        match self.counts {
            Counts::FirstHop => gates.hop.set_window(window.cells()),
            Counts::EndToEnd => gates.end.set_window(window.cells()),
        }
        Some(Box::new(State {
            config: *self,
            window,
            trip: CircuitTrip::default(),
            deliveries: Deliveries::default(),
            quiet_until: Instant::ZERO,
        }))
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Departed if self.config.acknowledges() => {
                self.trip.on_departure(self.config.ack_every, cx);
            }
            EndSignal::Dequeued(_) if self.config.acknowledges() => {
                self.deliveries.count(self.config.ack_every, cx);
            }
            EndSignal::Hop(HopReport::Forwarded { cells, measured }) => {
                self.on_forwarded(cx, cells, measured);
            }
            EndSignal::Hop(HopReport::Lost) => {
                self.decide(cx);
                self.set_window(cx);
            }
            EndSignal::Command(header) => return self.on_command(cx, header),
            _ => {}
        }
        Ok(())
    }
}

impl State {
    /// The first relay reported cells, and perhaps their hop's load was measured.
    fn on_forwarded(&mut self, cx: &mut EndCx<'_>, cells: Cells, measured: bool) {
        match self.config.counts {
            Counts::FirstHop => self.window.note(cx.gates.hop.outstanding() + cells),
            Counts::EndToEnd => self.window.note(cx.gates.end.outstanding()),
        }
        let due = self.config.paces(&self.window) == Update::HopRtt;
        let many = u128::from(self.config.rule.beta.get());
        // A window that grows fast must stop at once.
        let urgent = self.window.is_accelerating() && u128::from(cx.load) > PARTS * many;
        if measured && due || urgent {
            self.decide(cx);
        }
        self.set_window(cx);
    }

    /// The sink acknowledges cells.
    fn on_command(&mut self, cx: &mut EndCx<'_>, header: &RelayHeader) -> Result<(), Violation> {
        if !self.config.acknowledges() {
            return Err(Violation::Unexpected);
        }
        let outstanding = cx.gates.end.outstanding();
        self.trip.on_command(self.config.ack_every, cx, header)?;
        if self.config.counts == Counts::EndToEnd {
            self.window.note(outstanding);
        }
        if self.trip.round.is_over() {
            let due = self.config.paces(&self.window) == Update::CircuitRtt;
            if self.trip.round.take_least().is_some() && due {
                self.decide(cx);
            }
            self.trip.round.restart(cx.gates.end.passed());
        }
        self.set_window(cx);
        Ok(())
    }

    /// Changes the window by the load of the most loaded hop.
    fn decide(&mut self, cx: &mut EndCx<'_>) {
        if cx.now < self.quiet_until {
            return;
        }
        let rule = &self.config.rule;
        let window = self.window.load(rule);
        let found = Finding::of_diff(window, cx.load.into(), PARTS);
        if self.window.decide(rule, &found) {
            let trip = self.trip.last.unwrap_or(Duration::ZERO);
            self.quiet_until = cx.now + trip;
            cx.note_jump();
            self.trip.round.expect_fresh(cx.gates.end.passed());
        }
    }

    fn set_window(&mut self, cx: &mut EndCx<'_>) {
        self.window.bound(&self.config.rule, cx.gates.hop.cap());
        let window = self.window.cells();
        match self.config.counts {
            Counts::FirstHop => cx.gates.hop.set_window(window),
            Counts::EndToEnd => {
                let gain = if self.window.is_accelerating() {
                    200
                } else {
                    125
                };
                self.trip.set_window(window, gain, cx.gates.end);
            }
        }
    }
}
