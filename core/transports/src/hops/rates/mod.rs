//! PredicTor: rates by distributed model predictive control (Döpmann, Fiedler, Lucia and Tschorsch,
//! "Optimization-based predictive congestion control for the Tor network", ACM TOIT 22(4), 2022).
//!
//! Every step, each node plans how many cells of each circuit it takes and sends over a horizon of
//! some steps ([`hopflow_mpc`]). It starts from its queues, from what predecessors say they will
//! send and hold, and from what successors say they will take; it sends at the first rates of its
//! plan, and sends its neighbours the rest. What is under way on a hop is bounded
//! besides, as TCP bounds it, for plans know nothing of the network below.
//!
//! `docs/spec/predictor.md` says what the paper and its authors' code say, and what was decided
//! here: how plans that are of another time are read, how idle circuits start, what holds where
//! plans are lost.
//!
//! What leaks: neighbours learn a circuit's queue and planned rates at a node, and, since each plan
//! follows from others, traces of plans beyond it.

mod config;
mod flow;
mod trajectory;

use std::fmt;

use hopflow_mpc::{Budget, Method, Problem, Solver};
use hopflow_overlay::{
    ConfigError, Direction, Features, FeedbackPlan, FlowEntry, FlowId, Gates, HopControl, HopCx,
    HopPlan, HopSignal, Info, Metric, NodeCx, NodeEnv, Site, Tick, Violation, Way,
};
use hopflow_units::{Duration, Instant, LinkId, Rate};
use hopflow_wire::{Carrier, Frame, Neighbour, RawPayload};

use crate::hops::shared::ignore;
use crate::layer::LayerOptions;
use crate::round::BaseRtts;

use config::{Enforce, Feedback, RatesConfig, RatesOptions};
use flow::{Outlook, RatesFlow, Scratch};
use trajectory::{Downstream, Upstream};

/// By how much plans out of band arrive before cells would, which is just before the next plan is
/// made if a step is as long as a hop (the authors' simulation does the same).
const EARLY: Duration = Duration::from_millis(2);

/// PredicTor at one node.
#[derive(Clone)]
pub(crate) struct PredictedRates {
    config: RatesConfig,
    /// Cells per second that the node could take, and send.
    cells: f64,
    /// Cells per step that the node takes, and that it sends.
    capacity: f64,
    problem: Problem,
    /// The problem that the solver has the plans of.
    solved: Problem,
    solver: Solver,
    scratch: Scratch,
    base_rtts: BaseRtts,
}

impl fmt::Debug for PredictedRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PredictedRates")
            .field("config", &self.config)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl HopControl for PredictedRates {
    const INFO: Info = Info {
        provides: Features::BOUND.or(Features::TICK),
        requires: &[(
            Features::STREAMS.or(Features::HOP_REPAIR),
            "Acknowledgements of hops bound what PredicTor has under way: without them the first \
             lost datagrams would stop a circuit for good.",
        )],
        excludes: &[(
            Features::END_TCP,
            "PredicTor sets the rate at which a source packages; so would TCP between the ends of \
             a circuit.",
        )],
        metrics: &[
            Metric {
                name: "planned_rate",
                unit: "bytes_per_second",
                about: "application data that the present plan sends to the successor",
            },
            Metric {
                name: "granted_rate",
                unit: "bytes_per_second",
                about: "application data that the successor takes, as the present plan assumes",
            },
        ],
        // It solves an optimization problem at every node and interval: too slow for every point.
        swept: false,
        ..Info::new(
            "predicted-rates",
            "rates by distributed model predictive control (PredicTor)",
        )
    };
    type Config = RatesOptions;
    type Flow = RatesFlow;

    fn plan(options: &RatesOptions) -> HopPlan {
        let config = options.config();
        let delay = match config.carrier {
            Carrier::Datagram => config.feedback_delay,
            Carrier::Stream => Duration::ZERO,
        };
        HopPlan {
            // Acknowledgements release what is under way: queues are the plans' matter.
            feedback: FeedbackPlan::every_cell(false, delay),
            // The end's gate decides how much waits here.
            source_queue: Some(config.queue_limit),
            out_of_band: config.message_delay(),
            target_utilization: config.target_utilization,
            tick: Some(Tick {
                interval: config.step,
                in_phase: config.in_phase,
            }),
            busy: None,
        }
    }

    fn new(options: &RatesOptions, env: &NodeEnv) -> Self {
        let config = options.config();
        let bucket = env.bucket.map(|bucket| bucket.rate);
        let known: Vec<Rate> = bucket.into_iter().chain(env.access).collect();
        let rate = known.into_iter().min().unwrap_or(config.capacity);
        let cells = rate.as_f64() / Frame::<RawPayload>::cell_len(config.carrier).as_f64();
        Self {
            cells,
            capacity: capacity(&config, cells),
            problem: Problem::new(&config.problem),
            solved: Problem::new(&config.problem),
            solver: solver(&config),
            scratch: Scratch::default(),
            base_rtts: BaseRtts::default(),
            config,
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates<'_>) -> RatesFlow {
        let mut flow = RatesFlow::default();
        if self.plans(site) {
            flow.enforce(&self.config, None, (site, gates), Duration::ZERO);
        }
        flow
    }

    fn check_change(old: &RatesOptions, new: &RatesOptions) -> Result<(), ConfigError> {
        new.keeps(
            old,
            RatesOptions::FIXED,
            "plans of neighbours and of other times count on it",
        )
    }

    fn reconfigure(&mut self, options: &RatesOptions) {
        let config = options.config();
        self.capacity = capacity(&config, self.cells);
        if config.problem != self.config.problem {
            self.problem = Problem::new(&config.problem);
            self.solved = Problem::new(&config.problem);
            self.solver = solver(&config);
        }
        self.config = config;
    }

    #[inline]
    fn on(
        &mut self,
        flow: &mut RatesFlow,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        match signal {
            HopSignal::Acked(sample) => {
                self.base_rtts.with(cx.now, cx.site, sample.rtt);
                if self.plans(cx.site) {
                    flow.guard.on_ack(sample.cells, cx.gate);
                }
            }
            HopSignal::Lost(_) if self.plans(cx.site) => {
                let trip = self.trip(cx.site);
                flow.guard.on_loss(cx.now, trip, cx.gate);
            }
            HopSignal::Message(sender, body) if self.plans(cx.site) => {
                return flow.hear(&self.config, cx.now, (sender, body));
            }
            _ => return ignore(signal),
        }
        Ok(())
    }

    fn on_tick(&mut self, cx: &mut NodeCx<'_, RatesFlow>) {
        let now = cx.now;
        self.problem.clear(self.capacity, self.capacity);
        cx.for_each_flow(|mut entry| {
            if self.plans(entry.site) {
                self.describe(now, &mut entry);
            }
        });
        if self.solve() == Some(Method::Greedy) {
            cx.note_fallback_plan();
        }
        let mut messages = Vec::new();
        cx.for_each_flow(|mut entry| {
            if self.plans(entry.site) {
                self.apply(&mut entry, &mut messages);
            }
        });
        let delay = self.config.message_delay();
        let way = delay.map_or(Way::InBand, Way::OutOfBand);
        // Nothing changes while nothing is planned and no neighbour must hear of it.
        if self.problem.is_empty() && messages.is_empty() {
            cx.rest();
        }
        for (flow, to, body) in messages {
            cx.send(flow, to, body, way);
        }
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
    }

    fn sample(&self, flow: &RatesFlow, out: &mut Vec<f64>) {
        out.extend(flow.rates(self.config.step));
    }
}

/// Cells per step that plans of a node may fill which could send so many `cells` per second.
fn capacity(config: &RatesConfig, cells: f64) -> f64 {
    cells * config.step.as_secs_f64() * config.target_utilization
}

fn solver(config: &RatesConfig) -> Solver {
    Solver::new(config.problem.clone()).expect("options are checked where read")
}

type Messages = Vec<(FlowId, Neighbour, Vec<u8>)>;

impl RatesConfig {
    /// How long messages outside of all links take, if plans travel so.
    fn message_delay(&self) -> Option<Duration> {
        let delay = self.exchange.hop_delay?;
        let outside = self.exchange.way == Feedback::OutOfBand;
        outside.then(|| delay.saturating_sub(EARLY))
    }
}

impl PredictedRates {
    /// Whether plans are made for a flow.
    fn plans(&self, site: &Site) -> bool {
        !self.config.downloads_only || site.direction == Direction::Backward
    }

    /// Adds a flow to the problem, unless it is idle.
    fn describe(&mut self, now: Instant, entry: &mut FlowEntry<'_, RatesFlow>) {
        let outlook = Outlook {
            now,
            step: self.config.step,
            early: match self.config.exchange.way {
                Feedback::OutOfBand => EARLY,
                Feedback::InBand => Duration::ZERO,
            },
            trip: self.trip(entry.site),
            forget: self.config.step * u64::from(self.config.exchange.forget),
            capacity: self.capacity,
            grant: self.config.grant,
            horizon: self.config.problem.horizon,
            whole: self.config.enforce == Enforce::Pace,
        };
        let busy = outlook.look(entry, &mut self.scratch);
        let (data, settled) = (self.scratch.data(), self.scratch.settled);
        entry.state.planned = busy.then(|| self.problem.push_pinned(&data, settled));
    }

    /// Makes the plans, unless those at hand are for just this problem; returns how.
    fn solve(&mut self) -> Option<Method> {
        let stale = self.problem != self.solved;
        stale.then(|| {
            let many = self.problem.len() > self.config.work.most_flows as usize;
            let iterations = if many { 0 } else { self.config.work.iterations };
            let report = self.solver.solve(&self.problem, Budget { iterations });
            self.solved.clone_from(&self.problem);
            report.method
        })
    }

    /// How long a cell and its acknowledgement take to the successor, as far as is known.
    fn trip(&self, site: &Site) -> Duration {
        let given = self.config.exchange.hop_delay.map(|delay| delay * 2);
        given.unwrap_or_else(|| match self.base_rtts.of(site) {
            Duration::MAX => Duration::ZERO,
            least => least,
        })
    }

    /// Enforces a flow's plan, and collects what its neighbours must know of it.
    fn apply(&mut self, entry: &mut FlowEntry<'_, RatesFlow>, messages: &mut Messages) {
        let (site, trip) = (entry.site, self.trip(entry.site));
        let config = &self.config;
        let plan = entry.state.planned.map(|number| self.solver.plan(number));
        let gates = &mut entry.gates;
        entry
            .state
            .enforce(config, plan.as_ref(), (site, gates), trip);
        if !entry.state.speaks() {
            return;
        }
        let number = entry.state.next_number();
        if site.prev.is_some() {
            let said = Upstream::of(plan.as_ref(), &config.problem);
            messages.push((site.flow, Neighbour::Predecessor, said.encode(number)));
        }
        if site.next.is_some() {
            let said = Downstream::of(plan.as_ref(), entry.state.lead, &config.problem);
            messages.push((site.flow, Neighbour::Successor, said.encode(number)));
        }
    }
}
