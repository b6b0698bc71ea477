//! A network of relays that plan, in which data is a fluid and every hop takes one step.
//!
//! In each step every relay plans with what its neighbours planned in the step before, sends what
//! its plan says, and tells its neighbours. What is sent in a step arrives in the next one.

use hopflow_mpc::{Budget, CircuitData, Config, Problem, Solver};
use hopflow_random::Stream;

/// How plans become each other's data.
#[derive(Clone, Debug)]
pub struct Scheme {
    pub config: Config,
    /// The successor's plan is read from this step on: 2 is when data sent now is taken.
    pub shift: usize,
    /// A relay's capacity for incoming data, in relation to that for outgoing data.
    pub inflow: f64,
    /// Chance that a message is lost or late.
    pub loss: f64,
    /// Steps that relays without a lie say are decided; pins hold for no more.
    pub decided: usize,
    /// So many circuits, the first ones: their first relay announces [`LIE`] cells for all steps
    /// that can be pinned, and sends nothing.
    pub liars: usize,
}

/// Cells per step that a relay announces which lies.
const LIE: f64 = 1e4;

impl Scheme {
    /// Relays that tell the truth, all pins decided, no loss.
    pub fn new(config: Config) -> Self {
        Self {
            shift: 2,
            inflow: 1.0,
            loss: 0.0,
            decided: config.pin,
            liars: 0,
            config,
        }
    }
}

/// Relays' capacities in cells per step, and the relays that circuits go through.
#[derive(Clone, Debug)]
pub struct Network {
    pub capacities: Vec<f64>,
    pub circuits: Vec<Vec<usize>>,
}

/// A message: trajectories that hold from the step they were made in.
#[derive(Clone, Debug, Default)]
struct Message {
    made: usize,
    r_in: Vec<f64>,
    r_out: Vec<f64>,
    potential: Vec<f64>,
    queue: Vec<f64>,
}

/// A circuit at one of its relays.
#[derive(Clone, Debug, Default)]
struct Hop {
    queue: f64,
    /// Sent in the last step; in flight to the next hop.
    sent: f64,
    /// What this hop told its neighbours last; none before it planned.
    told: Option<Message>,
    /// What was told and arrived at the predecessor and at the successor.
    at_predecessor: Option<Message>,
    at_successor: Option<Message>,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Cells per step that each circuit got at its end, over the last steps.
    pub rates: Vec<f64>,
    /// Mean cells queued per relay and circuit over the same steps.
    pub queue: f64,
    /// Largest queue of all.
    pub largest_queue: f64,
    /// Solves whose gap is above a thousandth.
    pub loose: u32,
    pub solves: u32,
    pub iterations: u64,
}

/// A running network.
pub struct Fluid<'a> {
    network: &'a Network,
    scheme: &'a Scheme,
    solver: Solver,
    problem: Problem,
    hops: Vec<Vec<Hop>>,
    step: usize,
    outcome: Outcome,
    measured: f64,
}

impl<'a> Fluid<'a> {
    pub fn new(network: &'a Network, scheme: &'a Scheme) -> Self {
        let hops = network
            .circuits
            .iter()
            .map(|path| vec![Hop::default(); path.len()])
            .collect();
        let outcome = Outcome {
            rates: vec![0.0; network.circuits.len()],
            queue: 0.0,
            largest_queue: 0.0,
            loose: 0,
            solves: 0,
            iterations: 0,
        };
        Self {
            network,
            scheme,
            solver: Solver::new(scheme.config.clone())
                .expect("the scheme's configuration is valid"),
            problem: Problem::new(&scheme.config),
            hops,
            step: 0,
            outcome,
            measured: 0.0,
        }
    }

    /// Runs `steps`, circuits joining `stagger` steps apart, and measures over the last `window`.
    pub fn run(
        mut self,
        steps: usize,
        stagger: usize,
        window: usize,
        stream: &mut Stream,
    ) -> Outcome {
        for step in 0..steps {
            self.step = step;
            let started = step / stagger + 1;
            self.plan(started);
            self.send();
            self.exchange(stream);
            if step + window >= steps {
                self.measure();
            }
        }
        for rate in &mut self.outcome.rates {
            *rate /= window as f64;
        }
        self.outcome.queue /= self.measured;
        self.outcome
    }

    /// Every relay plans.
    fn plan(&mut self, started: usize) {
        for relay in 0..self.network.capacities.len() {
            let members = self.members(relay, started);
            let capacity = self.network.capacities[relay];
            self.problem.clear(capacity * self.scheme.inflow, capacity);
            for &(circuit, hop) in &members {
                self.push(circuit, hop, capacity);
            }
            let report = self.solver.solve(&self.problem, Budget::default());
            self.outcome.solves += 1;
            self.outcome.iterations += u64::from(report.iterations);
            self.outcome.loose += u32::from(report.gap > 1e-3);
            for (index, &(circuit, hop)) in members.iter().enumerate() {
                self.hops[circuit][hop].told = Some(self.message(index));
            }
        }
    }

    fn members(&self, relay: usize, started: usize) -> Vec<(usize, usize)> {
        let mut members = Vec::new();
        for (circuit, path) in self.network.circuits.iter().enumerate().take(started) {
            if let Some(hop) = path.iter().position(|&at| at == relay) {
                members.push((circuit, hop));
            }
        }
        members
    }

    fn push(&mut self, circuit: usize, hop: usize, capacity: f64) {
        let horizon = self.scheme.config.horizon;
        let path = &self.hops[circuit];
        let age = |message: &Message| self.step - 1 - message.made;
        let edge = hop == 0;
        let lies = circuit < self.scheme.liars && hop == 1;
        let endless = vec![1e6; horizon];
        let full = vec![capacity; horizon];
        let mut source = [endless, full.clone(), full.clone()];
        if !edge {
            let from = path[hop - 1].at_successor.as_ref();
            let take = |values: fn(&Message) -> &Vec<f64>| match from {
                Some(message) => advance(values(message), age(message), horizon),
                None => vec![0.0; horizon],
            };
            source = [
                take(|m| &m.queue),
                take(|m| &m.r_out),
                take(|m| &m.potential),
            ];
            // What is in flight is known.
            source[1][0] = path[hop - 1].sent;
            if from.is_none() {
                source[1] = vec![0.0; horizon];
            }
            if lies {
                source[1] = vec![LIE; horizon];
            }
        }
        let sink_rate = match path.get(hop + 1).map(|next| &next.at_predecessor) {
            Some(Some(message)) => {
                advance(&message.r_in, age(message) + self.scheme.shift, horizon)
            }
            _ => full,
        };
        let data = CircuitData {
            queue: path[hop].queue,
            source_queue: &source[0],
            source_rate: &source[1],
            source_potential: &source[2],
            sink_rate: &sink_rate,
            edge,
        };
        let decided = if lies { horizon } else { self.scheme.decided };
        self.problem.push_pinned(&data, decided);
    }

    fn message(&self, index: usize) -> Message {
        let plan = self.solver.plan(index);
        let horizon = self.scheme.config.horizon;
        Message {
            made: self.step,
            r_in: (0..horizon).map(|k| plan.r_in(k)).collect(),
            r_out: (0..horizon).map(|k| plan.r_out(k)).collect(),
            potential: (0..horizon).map(|k| plan.r_virtual(k)).collect(),
            queue: (1..=horizon).map(|k| plan.queue(k)).collect(),
        }
    }

    /// Data moves: what was sent arrives, the edge gives what is asked of it, plans are followed.
    fn send(&mut self) {
        for (circuit, path) in self.hops.iter_mut().enumerate() {
            let mut arriving = path[0].told.as_ref().map_or(0.0, |message| message.r_in[0]);
            for (number, hop) in path.iter_mut().enumerate() {
                if circuit < self.scheme.liars && number == 0 {
                    arriving = 0.0;
                    continue;
                }
                let planned = hop.told.as_ref().map_or(0.0, |message| message.r_out[0]);
                let there = hop.queue + arriving;
                let sent = planned.min(there);
                hop.queue = there - sent;
                arriving = std::mem::replace(&mut hop.sent, sent);
            }
        }
    }

    fn exchange(&mut self, stream: &mut Stream) {
        for hop in self.hops.iter_mut().flatten() {
            if hop.told.is_none() {
                continue;
            }
            if !stream.bernoulli(self.scheme.loss) {
                hop.at_predecessor.clone_from(&hop.told);
            }
            if !stream.bernoulli(self.scheme.loss) {
                hop.at_successor.clone_from(&hop.told);
            }
        }
    }

    fn measure(&mut self) {
        for (rate, path) in self.outcome.rates.iter_mut().zip(&self.hops) {
            *rate += path.last().map_or(0.0, |hop| hop.sent);
            for hop in path {
                self.outcome.queue += hop.queue;
                self.measured += 1.0;
                self.outcome.largest_queue = self.outcome.largest_queue.max(hop.queue);
            }
        }
    }
}

/// A trajectory that began `by` steps ago, held at its end.
fn advance(values: &[f64], by: usize, horizon: usize) -> Vec<f64> {
    (0..horizon)
        .map(|k| values[(k + by).min(values.len() - 1)])
        .collect()
}

/// The max-min fair rates, by progressive filling.
pub fn fair(network: &Network) -> Vec<f64> {
    let mut left = network.capacities.clone();
    let mut rates = vec![None; network.circuits.len()];
    while rates.iter().any(Option::is_none) {
        let open = |relay: usize, rates: &[Option<f64>]| {
            let through = network.circuits.iter().zip(rates);
            through
                .filter(|(path, rate)| rate.is_none() && path.contains(&relay))
                .count()
        };
        let mut tightest = (f64::INFINITY, 0);
        for (relay, &left) in left.iter().enumerate() {
            let count = open(relay, &rates);
            if count > 0 && left / (count as f64) < tightest.0 {
                tightest = (left / count as f64, relay);
            }
        }
        for (circuit, path) in network.circuits.iter().enumerate() {
            if rates[circuit].is_none() && path.contains(&tightest.1) {
                rates[circuit] = Some(tightest.0);
                for &relay in path {
                    left[relay] -= tightest.0;
                }
            }
        }
    }
    rates.into_iter().flatten().collect()
}

impl Outcome {
    /// The paper's fairness, `1 - Σ |fair - rate| / Σ fair`.
    pub fn fairness(&self, network: &Network) -> f64 {
        let fair = fair(network);
        let off: f64 = fair
            .iter()
            .zip(&self.rates)
            .map(|(fair, rate)| (fair - rate).abs())
            .sum();
        1.0 - off / fair.iter().sum::<f64>()
    }

    /// All rates in relation to all fair rates.
    pub fn throughput(&self, network: &Network) -> f64 {
        self.rates.iter().sum::<f64>() / fair(network).iter().sum::<f64>()
    }

    /// Circuits with less than a twentieth of their fair rate.
    pub fn starved(&self, network: &Network) -> usize {
        let fair = fair(network);
        fair.iter()
            .zip(&self.rates)
            .filter(|(fair, rate)| **rate < 0.05 * **fair)
            .count()
    }
}

/// Three relays of the same capacity, one circuit.
pub fn lone() -> Network {
    Network {
        capacities: vec![30.0; 3],
        circuits: vec![vec![0, 1, 2]],
    }
}

/// The paper's Figure 1: three circuits through one middle relay, two of them from one exit.
pub fn toy() -> Network {
    Network {
        capacities: vec![75.0, 75.0, 30.0, 75.0, 75.0, 75.0],
        circuits: vec![vec![0, 2, 3], vec![0, 2, 4], vec![1, 2, 5]],
    }
}

/// Two circuits whose last relay is the bottleneck.
pub fn entry_bottleneck() -> Network {
    Network {
        capacities: vec![75.0, 75.0, 75.0, 75.0, 30.0],
        circuits: vec![vec![0, 1, 4], vec![2, 3, 4]],
    }
}

/// A circuit through three relays, each of which has another circuit.
pub fn parking_lot() -> Network {
    let mut circuits = vec![vec![0, 1, 2]];
    circuits.extend((0..3).map(|at| vec![3 + 2 * at, at, 4 + 2 * at]));
    let mut capacities = vec![30.0; 3];
    capacities.extend([75.0; 6]);
    Network {
        capacities,
        circuits,
    }
}

/// Ten relays with capacities of 20 to 60, twelve circuits through three of them each.
pub fn random(stream: &mut Stream) -> Network {
    let capacities = (0..10).map(|_| 20.0 + 40.0 * stream.unit()).collect();
    let circuits = (0..12)
        .map(|_| {
            let mut path = Vec::new();
            while path.len() < 3 {
                let relay = stream.integer(0, 9) as usize;
                if !path.contains(&relay) {
                    path.push(relay);
                }
            }
            path
        })
        .collect();
    Network {
        capacities,
        circuits,
    }
}
