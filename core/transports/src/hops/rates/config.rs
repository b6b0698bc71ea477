//! Parameters of PredicTor.

use hopflow_mpc::{Config, Form};
use hopflow_overlay::ConfigError;
use hopflow_units::{Cells, Duration, Rate};
use hopflow_wire::Carrier;

use crate::layer::Around;
use crate::options::Options;

/// Parameters of PredicTor.
#[derive(Clone, Debug)]
pub(crate) struct RatesConfig {
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feedback {
    /// By messages on the links, at their real size.
    InBand,
    /// Outside of all links, just in time for the neighbour's next plan, as in the authors'
    /// simulation. Needs a given hop delay.
    OutOfBand,
}

/// How a successor's plan, which is of another time, bounds what is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grant {
    /// What it takes in sum until cells arrive that leave now, less what is under way.
    Cumulative,
    /// What it takes in the step in which cells arrive that leave now, as the authors do. What it
    /// would have taken before is lost.
    Shifted,
}

/// How the first rates of a plan are enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Enforce {
    /// Cells are spaced evenly.
    Pace,
    /// All cells of a step may go at its start; what is left of the step before is lost.
    Budget,
}

impl RatesConfig {
    /// Reads the parameters.
    pub(super) fn configure(
        options: &mut Options,
        around: &mut Around,
    ) -> Result<Self, ConfigError> {
        let problem = problem(options)?;
        let step = options.interval("step", Duration::from_millis(40))?;
        let exchange = Exchange::configure(options)?;
        let most = Cells::new(1).max(Cells::new(problem.queue_limit as u64));
        around.need_queue(most, Cells::ZERO);
        Ok(Self {
            problem,
            step,
            in_phase: options.flag("in-phase", false)?,
            target_utilization: options.number("margin", 0.85, (0.01, 1.0))?,
            capacity: options.rate("capacity", DEFAULT_CAPACITY)?,
            exchange,
            grant: options.choice(
                "grant",
                Grant::Cumulative,
                &[
                    ("cumulative", Grant::Cumulative),
                    ("shifted", Grant::Shifted),
                ],
            )?,
            enforce: options.choice(
                "enforce",
                Enforce::Pace,
                &[("pace", Enforce::Pace), ("budget", Enforce::Budget)],
            )?,
            carrier: around.carrier,
            idle_cells: options.cells("idle-cells", Cells::new(4), Cells::ZERO)?,
            downloads_only: options.flag("downloads-only", false)?,
            work: Work {
                iterations: options.count("iterations", 25, (0, 200))?,
                most_flows: options.count("most-flows", 2000, (0, 100_000))?,
            },
            queue_limit: around.queue_limit(options)?,
            feedback_delay: options.duration("feedback-delay", Duration::from_millis(1))?,
        })
    }
}

impl Exchange {
    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let delay = options.duration("hop-delay", Duration::ZERO)?;
        let way = options.choice(
            "feedback",
            Feedback::InBand,
            &[
                ("in-band", Feedback::InBand),
                ("out-of-band", Feedback::OutOfBand),
            ],
        )?;
        if way == Feedback::OutOfBand && delay.is_zero() {
            let allowed = "a time above zero where feedback is out of band";
            return Err(ConfigError::new("hop-delay", delay, allowed));
        }
        Ok(Self {
            way,
            hop_delay: (!delay.is_zero()).then_some(delay),
            memory: options.number("memory", 0.3, (0.0, 0.9))?,
            forget: options.count("forget", 10, (1, 1_000_000))?,
        })
    }
}

/// 100 Mbit/s.
const DEFAULT_CAPACITY: Rate = Rate::from_kilobytes_per_sec(12_500);

/// The options of the optimal control problem.
fn problem(options: &mut Options) -> Result<Config, ConfigError> {
    let form = options.choice(
        "form",
        Form::Coded,
        &[("coded", Form::Coded), ("printed", Form::Printed)],
    )?;
    let own = Config::new(form);
    let horizon = options.count("horizon", own.horizon as u32, (2, 32))?;
    Ok(Config {
        form,
        horizon: horizon as usize,
        discount: options.number("discount", own.discount, (1e-3, 1.0))?,
        r_max: options.number("r-max", own.r_max, (1.0, 1e3))?,
        pin: options.count("pin", 8.min(horizon - 1), (0, horizon - 1))? as usize,
        queue_limit: options.number("queue-target", 50.0, (0.0, 1e6))?,
        ..own
    })
}
