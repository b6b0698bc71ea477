//! Parameters of PredicTor.

use hopflow_mpc::{Config, Form};
use hopflow_overlay::ConfigError;
use hopflow_units::{Cells, Duration, Rate};
use hopflow_wire::Carrier;

use crate::Preset;
use crate::options::{Configure, Options};

/// Parameters of PredicTor.
#[derive(Clone, Debug)]
pub struct PredictorConfig {
    /// The optimal control problem.
    pub problem: Config,
    /// Time between plans.
    pub step: Duration,
    /// Whether all nodes plan at the same times.
    pub in_phase: bool,
    /// The share of a node's capacity that plans may fill.
    pub margin: f64,
    /// What a node carries, where neither its access link nor its bucket tells.
    pub capacity: Rate,
    /// How long cells take over a hop; `None`: half of the shortest round trip that was measured.
    pub hop_delay: Option<Duration>,
    /// How neighbours exchange plans.
    pub feedback: Feedback,
    /// The share of a neighbour's former plan in what is made of its latest. Plans follow each
    /// other; without memory, those of even and of odd steps may never meet.
    pub memory: f64,
    /// How a successor's plan bounds what is sent.
    pub grant: Grant,
    /// How a plan's first rates are enforced.
    pub enforce: Enforce,
    /// What carries cells.
    pub carrier: Carrier,
    /// Cells that an idle flow may send before there is a plan for it.
    pub idle_cells: Cells,
    /// Whether plans are made only for what flows to the client; requests go freely then.
    pub downloads_only: bool,
    /// Steps for which nothing new is heard of a neighbour, after which it is taken to be idle.
    pub forget: u32,
    /// Iterations of the solver that a plan may take; its work is bounded by them times the flows.
    pub iterations: u32,
    /// Flows for which a node solves the problem; with more all plans are greedy.
    pub most_flows: u32,
    /// Cells that a node queues per circuit at most, whatever it planned.
    pub queue_limit: Cells,
    /// How long acknowledgements may wait for company; datagrams only.
    pub feedback_delay: Duration,
    /// Default interval of the token bucket's refills.
    pub refill: Duration,
}

/// How neighbours exchange plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// By messages on the links, at their real size.
    InBand,
    /// Outside of all links, just in time for the neighbour's next plan, as in the authors'
    /// simulation. Needs a given hop delay.
    OutOfBand,
}

/// How a successor's plan, which is of another time, bounds what is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    /// What it takes in sum until cells arrive that leave now, less what is under way.
    Cumulative,
    /// What it takes in the step in which cells arrive that leave now, as the authors do. What it
    /// would have taken before is lost.
    Shifted,
}

/// How the first rates of a plan are enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforce {
    /// Cells are spaced evenly.
    Pace,
    /// All cells of a step may go at its start; what is left of the step before is lost.
    Budget,
}

impl Configure for PredictorConfig {
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "predictor",
            about: "PredicTor: distributed model predictive control over datagrams, plans in band",
            options: "",
        },
        Preset {
            name: "predictor-as-published",
            about: "PredicTor as its authors simulated it: over TCP, plans out of band, in phase",
            options: "carrier = \"stream\"\nfeedback = \"out-of-band\"\nhop-delay = \"40 ms\"\n\
                      in-phase = true\nenforce = \"budget\"\nidle-cells = 0\nforget = 1000000\n\
                      downloads-only = true\ngrant = \"shifted\"\npin = 2\nmemory = 0\n\
                      horizon = 10\nqueue-target = 100\nqueue-limit = 1000000",
        },
    ];

    fn configure(options: &mut Options) -> Result<Self, ConfigError> {
        let problem = problem(options)?;
        let step = options.interval("step", Duration::from_millis(40))?;
        let delay = options.duration("hop-delay", Duration::ZERO)?;
        let feedback = options.choice(
            "feedback",
            Feedback::InBand,
            &[
                ("in-band", Feedback::InBand),
                ("out-of-band", Feedback::OutOfBand),
            ],
        )?;
        if feedback == Feedback::OutOfBand && delay.is_zero() {
            let allowed = "a time above zero where feedback is out of band";
            return Err(ConfigError::new("hop-delay", delay, allowed));
        }
        let most = Cells::new(1).max(Cells::new(problem.queue_limit as u64));
        Ok(Self {
            problem,
            step,
            in_phase: options.flag("in-phase", false)?,
            margin: options.number("margin", 0.85, (0.01, 1.0))?,
            capacity: options.rate("capacity", DEFAULT_CAPACITY)?,
            hop_delay: (!delay.is_zero()).then_some(delay),
            feedback,
            memory: options.number("memory", 0.3, (0.0, 0.9))?,
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
            carrier: options.choice(
                "carrier",
                Carrier::Datagram,
                &[("datagram", Carrier::Datagram), ("stream", Carrier::Stream)],
            )?,
            idle_cells: options.cells("idle-cells", Cells::new(4), Cells::ZERO)?,
            downloads_only: options.flag("downloads-only", false)?,
            forget: options.count("forget", 10, (1, 1_000_000))?,
            iterations: options.count("iterations", 25, (0, 200))?,
            most_flows: options.count("most-flows", 2000, (0, 100_000))?,
            queue_limit: options.cells("queue-limit", Cells::new(4000), most)?,
            feedback_delay: options.duration("feedback-delay", Duration::from_millis(1))?,
            refill: options.interval("refill", Duration::from_millis(10))?,
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
