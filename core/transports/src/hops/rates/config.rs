//! Parameters of PredicTor.

use hopflow_mpc::{Config, Form};
use hopflow_overlay::ConfigError;
use hopflow_units::{Cells, Duration, Interval, Rate};
use hopflow_wire::Carrier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::shared::check_wait;
use crate::layer::{Around, LayerOptions, check_interval};

/// Parameters of PredicTor, as options have them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct RatesOptions {
    /// Which problem is solved: that of the authors' code, or that of their paper.
    form: FormName,
    /// Steps planned ahead.
    #[schemars(range(min = 2, max = 32))]
    horizon: u32,
    /// Weight of a step in relation to the step before it: the paper's d, 1/3.
    #[schemars(range(min = 0.001, max = 1.0))]
    discount: f64,
    /// The rate that every circuit is drawn to, in multiples of the capacity of its side; by default
    /// 1 in the coded form, as in the authors' code, and 2 in the printed one.
    #[schemars(range(min = 1.0, max = 1000.0))]
    r_max: Option<f64>,
    /// For how many steps incoming rates are held to what the source announced, below the horizon;
    /// by default 8, or as many as the horizon allows.
    #[schemars(range(min = 0, max = 31))]
    pin: Option<u32>,
    /// The part of a fair share of each step that circuits keep together whose rates are not pinned
    /// in it: whose predecessors do not say that they are decided. With 0 a neighbour that announces
    /// and does not send stops them. The printed form does without.
    #[schemars(range(min = 0.0, max = 1.0))]
    reserve: f64,
    /// Longest queue of a circuit that plans aim at, in cells: the paper's s^max.
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    queue_target: f64,
    /// Time between plans, 1 ms or more.
    step: Interval,
    /// How long cells take over a hop; zero: half of the shortest round trip that was measured.
    hop_delay: Duration,
    /// How neighbours exchange plans: by messages on the links, or outside of all links as in the
    /// authors' simulation, which needs `hop-delay`.
    feedback: Feedback,
    /// The share of a neighbour's former plan in what is made of its latest.
    #[schemars(range(min = 0.0, max = 0.9))]
    memory: f64,
    /// Steps for which nothing new is heard of a neighbour, after which it is taken to be idle.
    #[schemars(range(min = 1, max = 1_000_000))]
    forget: u32,
    /// Whether all nodes plan at the same times.
    in_phase: bool,
    /// The share of a node's capacity that plans may fill.
    #[schemars(range(min = 0.01, max = 1.0))]
    margin: f64,
    /// What a node carries, where neither its access link nor its token bucket tells.
    capacity: Rate,
    /// How a successor's plan bounds what is sent: by what it takes in sum, or in the step alone, as
    /// the authors do.
    grant: Grant,
    /// How a plan's first rates are enforced: cells are spaced evenly, or all those of a step may go
    /// at its start.
    enforce: Enforce,
    /// Cells that an idle flow may send before there is a plan for it.
    idle_cells: Cells,
    /// Whether plans are made only for what flows to the client; requests go freely then.
    downloads_only: bool,
    /// Iterations of the solver that a plan may take.
    #[schemars(range(min = 0, max = 200))]
    iterations: u32,
    /// Flows for which a node solves the problem; with more all plans are greedy.
    #[schemars(range(min = 0, max = 100_000))]
    most_flows: u32,
    /// Cells that a node queues per circuit, enough for what layers have under way; by default the
    /// preset's.
    #[schemars(range(min = 1))]
    queue_limit: Option<Cells>,
    /// How long acknowledgements may wait for company; datagrams only.
    feedback_delay: Duration,
    /// What carries cells.
    #[serde(skip)]
    carrier: Carrier,
}

/// The forms of the problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum FormName {
    Coded,
    Printed,
}

/// Parameters of PredicTor.
#[derive(Clone, Debug)]
pub(super) struct RatesConfig {
    /// The optimal control problem.
    pub(super) problem: Config,
    /// Time between plans.
    pub(super) step: Duration,
    /// Whether all nodes plan at the same times.
    pub(super) in_phase: bool,
    /// The share of a node's capacity that plans may fill.
    pub(super) target_utilization: f64,
    /// What a node carries, where neither its access link nor its bucket tells.
    pub(super) capacity: Rate,
    /// How neighbours exchange plans.
    pub(super) exchange: Exchange,
    /// How a successor's plan bounds what is sent.
    pub(super) grant: Grant,
    /// How a plan's first rates are enforced.
    pub(super) enforce: Enforce,
    /// What carries cells.
    pub(super) carrier: Carrier,
    /// Cells that an idle flow may send before there is a plan for it.
    pub(super) idle_cells: Cells,
    /// Whether plans are made only for what flows to the client; requests go freely then.
    pub(super) downloads_only: bool,
    /// How much work plans may be.
    pub(super) work: Work,
    /// Cells that a node queues per circuit at most, whatever it planned.
    pub(super) queue_limit: Cells,
    /// How long acknowledgements may wait for company; datagrams only.
    pub(super) feedback_delay: Duration,
}

/// How neighbours exchange plans, and how long these hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// How plans travel.
    pub(super) way: Feedback,
    /// How long cells take over a hop; `None`: half of the shortest round trip that was measured.
    pub(super) hop_delay: Option<Duration>,
    /// The share of a neighbour's former plan in what is made of its latest. Plans follow each
    /// other; without memory, those of even and of odd steps may never meet.
    pub(super) memory: f64,
    /// Steps for which nothing new is heard of a neighbour, after which it is taken to be idle.
    pub(super) forget: u32,
}

/// How much work plans may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Iterations of the solver that a plan may take; its work is bounded by them times the flows.
    pub(super) iterations: u32,
    /// Flows for which a node solves the problem; with more all plans are greedy.
    pub(super) most_flows: u32,
}

/// How neighbours exchange plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Feedback {
    /// By messages on the links, at their real size.
    InBand,
    /// Outside of all links, just in time for the neighbour's next plan, as in the authors'
    /// simulation. Needs a given hop delay.
    OutOfBand,
}

/// How a successor's plan, which is of another time, bounds what is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Grant {
    /// What it takes in sum until cells arrive that leave now, less what is under way.
    Cumulative,
    /// What it takes in the step in which cells arrive that leave now, as the authors do. What it
    /// would have taken before is lost.
    Shifted,
}

/// How the first rates of a plan are enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Enforce {
    /// Cells are spaced evenly.
    Pace,
    /// All cells of a step may go at its start; what is left of the step before is lost.
    Budget,
}

/// 100 Mbit/s.
const DEFAULT_CAPACITY: Rate = Rate::from_kilobytes_per_sec(12_500);

impl Default for RatesOptions {
    fn default() -> Self {
        let problem = Config::new(Form::Coded);
        Self {
            form: FormName::Coded,
            horizon: problem.horizon as u32,
            discount: problem.discount,
            r_max: None,
            pin: None,
            reserve: 0.5,
            queue_target: 50.0,
            step: Interval::from_millis(40),
            hop_delay: Duration::ZERO,
            feedback: Feedback::InBand,
            memory: 0.3,
            forget: 10,
            in_phase: false,
            margin: 0.85,
            capacity: DEFAULT_CAPACITY,
            grant: Grant::Cumulative,
            enforce: Enforce::Pace,
            idle_cells: Cells::new(4),
            downloads_only: false,
            iterations: 25,
            most_flows: 500,
            queue_limit: None,
            feedback_delay: Duration::from_millis(1),
            carrier: Carrier::Datagram,
        }
    }
}

impl LayerOptions for RatesOptions {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        let problem = self.problem();
        if problem.pin >= problem.horizon {
            let allowed = format!("a whole number from 0 to {}", self.horizon - 1);
            return Err(ConfigError::new("pin", problem.pin, allowed));
        }
        if self.feedback == Feedback::OutOfBand && self.hop_delay.is_zero() {
            let allowed = "a time above zero where feedback is out of band";
            return Err(ConfigError::new("hop-delay", self.hop_delay, allowed));
        }
        check_wait("feedback-delay", self.feedback_delay)?;
        check_interval("step", self.step)?;
        self.r_max = Some(problem.r_max);
        self.pin = Some(problem.pin as u32);
        let most = Cells::new(1).max(Cells::new(self.queue_target as u64));
        around.need_queue(most, most);
        self.queue_limit = Some(around.queue_limit(self.queue_limit)?);
        self.carrier = around.carrier;
        Ok(())
    }
}

impl RatesOptions {
    /// Options that running nodes keep.
    pub(super) const FIXED: &[&str] = &[
        "form",
        "horizon",
        "pin",
        "step",
        "hop-delay",
        "feedback",
        "in-phase",
        "capacity",
        "grant",
        "enforce",
        "downloads-only",
        "feedback-delay",
    ];

    /// The optimal control problem.
    fn problem(&self) -> Config {
        let own = Config::new(match self.form {
            FormName::Coded => Form::Coded,
            FormName::Printed => Form::Printed,
        });
        Config {
            horizon: self.horizon as usize,
            discount: self.discount,
            r_max: self.r_max.unwrap_or(own.r_max),
            pin: self.pin.unwrap_or(8.min(self.horizon - 1)) as usize,
            reserve: self.reserve,
            queue_limit: self.queue_target,
            ..own
        }
    }

    /// The parameters that the control works with.
    pub(super) fn config(&self) -> RatesConfig {
        RatesConfig {
            problem: self.problem(),
            step: self.step.get(),
            in_phase: self.in_phase,
            target_utilization: self.margin,
            capacity: self.capacity,
            exchange: Exchange {
                way: self.feedback,
                hop_delay: (!self.hop_delay.is_zero()).then_some(self.hop_delay),
                memory: self.memory,
                forget: self.forget,
            },
            grant: self.grant,
            enforce: self.enforce,
            carrier: self.carrier,
            idle_cells: self.idle_cells,
            downloads_only: self.downloads_only,
            work: Work {
                iterations: self.iterations,
                most_flows: self.most_flows,
            },
            queue_limit: self.queue_limit.unwrap_or(Cells::new(1)),
            feedback_delay: self.feedback_delay,
        }
    }
}
