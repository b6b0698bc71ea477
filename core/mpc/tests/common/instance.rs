//! Random data of one time step.

use hopflow_mpc::{CircuitData, Config, Problem};
use hopflow_random::Stream;

/// One circuit's data.
#[derive(Clone, Debug)]
pub struct Circuit {
    pub queue: f64,
    pub source_queue: Vec<f64>,
    pub source_rate: Vec<f64>,
    pub source_potential: Vec<f64>,
    pub sink_rate: Vec<f64>,
    pub edge: bool,
    /// For how many steps incoming rates are pinned, up to the configuration's.
    pub pinned: usize,
}

impl Circuit {
    /// Whether anything waits or can come.
    pub fn is_busy(&self, horizon: usize) -> bool {
        let announced: f64 = self.source_rate[..horizon].iter().sum();
        self.queue > 0.0 || announced + self.source_queue[horizon - 1] > 0.0
    }

    /// Whether the incoming rate of a step is pinned.
    pub fn is_pinned(&self, k: usize, config: &Config) -> bool {
        !self.edge && k < self.pinned.min(config.pin)
    }
}

/// A relay's data.
#[derive(Clone, Debug)]
pub struct Instance {
    pub capacity_in: f64,
    pub capacity_out: f64,
    pub circuits: Vec<Circuit>,
}

impl Instance {
    /// As a problem of `config`.
    pub fn problem(&self, config: &Config) -> Problem {
        let mut problem = Problem::new(config);
        self.fill(&mut problem);
        problem
    }

    pub fn fill(&self, problem: &mut Problem) {
        problem.clear(self.capacity_in, self.capacity_out);
        for circuit in &self.circuits {
            let data = CircuitData {
                queue: circuit.queue,
                source_queue: &circuit.source_queue,
                source_rate: &circuit.source_rate,
                source_potential: &circuit.source_potential,
                sink_rate: &circuit.sink_rate,
                edge: circuit.edge,
            };
            problem.push_pinned(&data, circuit.pinned);
        }
    }

    /// The mean rate that a circuit can have.
    pub fn mean_rate(&self) -> f64 {
        self.capacity_in.max(self.capacity_out) / self.circuits.len() as f64
    }
}

fn range(stream: &mut Stream, low: f64, high: f64) -> f64 {
    low + (high - low) * stream.unit()
}

/// Draws an instance with `n` circuits, some of each kind that may be hard: idle ones, blocked
/// ones, full and overfull queues, announced rates above the capacity, capacities of zero.
pub fn draw(stream: &mut Stream, config: &Config, n: usize) -> Instance {
    let mean = range(stream, 1.0, 20.0);
    let base = mean * n as f64;
    let capacity = |stream: &mut Stream| {
        if stream.bernoulli(0.03) {
            0.0
        } else if stream.bernoulli(0.4) {
            base
        } else {
            base * range(stream, 0.3, 1.5)
        }
    };
    let load = range(stream, 0.2, 3.0);
    let circuits = (0..n)
        .map(|_| draw_circuit(stream, config, mean, load))
        .collect();
    Instance {
        capacity_in: capacity(stream),
        capacity_out: capacity(stream),
        circuits,
    }
}

fn draw_circuit(stream: &mut Stream, config: &Config, mean: f64, load: f64) -> Circuit {
    let horizon = config.horizon;
    let idle = stream.bernoulli(0.15);
    let limit = config.queue_limit;
    let queue = match stream.integer(0, 5) {
        _ if idle => 0.0,
        0 => 0.0,
        1 => limit,
        2 => limit * range(stream, 1.0, 1.5),
        _ => range(stream, 0.0, 5.0 * mean),
    };
    let mut source_queue = if idle || stream.bernoulli(0.3) {
        0.0
    } else {
        8.0 * mean * stream.unit()
    };
    let busy_source = !idle && stream.bernoulli(0.85);
    let mut circuit = Circuit {
        queue,
        source_queue: Vec::new(),
        source_rate: Vec::new(),
        source_potential: Vec::new(),
        sink_rate: Vec::new(),
        edge: stream.bernoulli(0.3),
        pinned: config.pin,
    };
    let steady = stream.bernoulli(0.3);
    let shift = if stream.bernoulli(0.3) { 2 } else { 0 };
    let blocked = stream.bernoulli(0.1);
    let level = load * mean * 2.0 * stream.unit();
    for k in 0..horizon {
        let vary = |stream: &mut Stream| {
            if steady {
                level
            } else {
                level * 2.0 * stream.unit()
            }
        };
        let rate = if busy_source { vary(stream) } else { 0.0 };
        let inflow = if busy_source { vary(stream) } else { 0.0 };
        source_queue = (source_queue + inflow - rate).max(0.0);
        circuit.source_rate.push(rate);
        circuit.source_queue.push(source_queue);
        circuit
            .source_potential
            .push(rate * range(stream, 0.8, 2.0));
        // Plans that were shifted begin with steps that can no longer be acted upon.
        let sink = if blocked || (shift > 0 && k + shift >= horizon) {
            0.0
        } else {
            vary(stream)
        };
        circuit.sink_rate.push(sink);
    }
    circuit
}

/// Draws a busy relay: cells queued here and at the sources of most circuits, and room for ten
/// cells per circuit and step.
pub fn draw_busy(stream: &mut Stream, config: &Config, n: usize) -> Instance {
    let circuits = (0..n).map(|_| {
        let level = range(stream, 2.0, 30.0);
        let steady = |low: f64, high: f64, stream: &mut Stream| -> Vec<f64> {
            (0..config.horizon)
                .map(|_| level * range(stream, low, high))
                .collect()
        };
        let source_rate = steady(0.5, 1.5, stream);
        Circuit {
            queue: if stream.bernoulli(0.3) {
                0.0
            } else {
                range(stream, 0.0, 60.0)
            },
            source_queue: vec![if stream.bernoulli(0.5) { 200.0 } else { 0.0 }; config.horizon],
            source_potential: source_rate.iter().map(|rate| rate * 1.5).collect(),
            source_rate,
            sink_rate: steady(0.5, 2.0, stream),
            edge: stream.bernoulli(0.2),
            pinned: config.pin,
        }
    });
    let circuits = circuits.collect();
    let capacity = 10.0 * n as f64;
    Instance {
        capacity_in: capacity,
        capacity_out: capacity,
        circuits,
    }
}
