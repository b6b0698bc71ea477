//! The data of one time step at one relay.

use crate::config::{Config, Form};

/// Values above this are held to it: far above any rate or queue, far below where squares overflow.
const LARGEST: f64 = 1e12;

/// What is known about one circuit when a plan is made.
///
/// Trajectories have one value per step of the horizon; shorter ones hold their last value (an
/// empty one is 0), longer ones are cut. Values that are negative or not a number count as 0.
#[derive(Clone, Copy, Debug)]
pub struct CircuitData<'a> {
    /// Cells queued at the relay; the paper's `s^init`.
    pub queue: f64,
    /// Cells that remain with the source after each step, if it sends at `source_rate`: `s_beta^k`
    /// for k from 1 to the horizon.
    pub source_queue: &'a [f64],
    /// What the source plans to send, in cells per step: `r_out,beta^k` from k = 0.
    pub source_rate: &'a [f64],
    /// What the source could send if it were granted more, in cells per step: the virtual rate
    /// of (20). Ignored in the coded form.
    pub source_potential: &'a [f64],
    /// What the successor takes at most, in cells per step: `r_out^max` of (13).
    pub sink_rate: &'a [f64],
    /// Whether the source is the edge of the overlay, from which the relay reads as it likes: its
    /// incoming rates are not pinned.
    pub edge: bool,
}

/// The data of all circuits of a relay at one time step. [`clear`](Self::clear) it and push the
/// circuits again for the next step; it does not allocate once it has grown.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub(crate) form: Form,
    pub(crate) horizon: usize,
    pub(crate) pin: usize,
    reserve: f64,
    pub(crate) capacity_in: f64,
    pub(crate) capacity_out: f64,
    /// Cells queued, per circuit.
    pub(crate) queue: Vec<f64>,
    /// Most cells that can have come in after each step; grows along the horizon. Circuit-major,
    /// as all trajectories.
    pub(crate) reach: Vec<f64>,
    /// Most cells that may go out in each step.
    pub(crate) sink: Vec<f64>,
    /// Bounds of (printed) or values for (coded) the first `pin` incoming rates.
    pub(crate) pins: Vec<f64>,
    /// How many of the first incoming rates of each circuit are pinned.
    pub(crate) pinned: Vec<usize>,
}

impl Problem {
    /// A problem without circuits.
    pub fn new(config: &Config) -> Self {
        Self {
            form: config.form,
            horizon: config.horizon,
            pin: config.pin,
            reserve: config.reserve,
            capacity_in: 0.0,
            capacity_out: 0.0,
            queue: Vec::new(),
            reach: Vec::new(),
            sink: Vec::new(),
            pins: Vec::new(),
            pinned: Vec::new(),
        }
    }

    /// Forgets the circuits and sets the relay's capacities, in cells per step.
    pub fn clear(&mut self, capacity_in: f64, capacity_out: f64) {
        self.capacity_in = sane(capacity_in);
        self.capacity_out = sane(capacity_out);
        self.queue.clear();
        self.reach.clear();
        self.sink.clear();
        self.pins.clear();
        self.pinned.clear();
    }

    /// Adds a circuit and returns its index.
    pub fn push(&mut self, circuit: &CircuitData<'_>) -> usize {
        self.push_pinned(circuit, self.pin)
    }

    /// Adds a circuit of which only so many incoming rates are pinned, where that is less than for
    /// the others: where cells are under way for fewer steps. Returns its index.
    pub fn push_pinned(&mut self, circuit: &CircuitData<'_>, pinned: usize) -> usize {
        let index = self.queue.len();
        self.queue.push(sane(circuit.queue));
        self.sink
            .extend((0..self.horizon).map(|k| at(circuit.sink_rate, k)));
        let pinned = if circuit.edge {
            0
        } else {
            pinned.min(self.pin)
        };
        self.pinned.push(pinned);
        self.pins.extend((0..self.pin).map(|k| {
            if k < pinned {
                at(circuit.source_rate, k)
            } else {
                LARGEST
            }
        }));
        self.push_reach(circuit);
        index
    }

    /// (15) and (21) both bound the cells that have come in: by what the source has had, and by
    /// what it could have sent.
    fn push_reach(&mut self, circuit: &CircuitData<'_>) {
        let start = self.reach.len();
        let (mut announced, mut possible) = (0.0, 0.0);
        for k in 0..self.horizon {
            announced += at(circuit.source_rate, k);
            possible += match self.form {
                Form::Printed => at(circuit.source_potential, k),
                Form::Coded => LARGEST,
            };
            self.reach
                .push((at(circuit.source_queue, k) + announced).min(possible));
        }
        // What has come in never shrinks, so a later bound is a bound for earlier steps too.
        for k in (start + 1..self.reach.len()).rev() {
            self.reach[k - 1] = self.reach[k - 1].min(self.reach[k]);
        }
    }

    /// The number of circuits.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether there are no circuits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the circuit has nothing to send and gets nothing: all its rates are 0.
    pub(crate) fn is_idle(&self, circuit: usize) -> bool {
        self.queue[circuit] == 0.0 && self.reach[(circuit + 1) * self.horizon - 1] == 0.0
    }

    /// Whether the incoming rate is set by the pin alone.
    pub(crate) fn is_fixed(&self, circuit: usize, k: usize) -> bool {
        self.form == Form::Coded && k < self.pinned[circuit]
    }

    /// Capacity for incoming cells that a step keeps for circuits whose rate is not fixed.
    pub(crate) fn kept(&self, k: usize) -> f64 {
        let (mut busy, mut free) = (0_u32, 0_u32);
        for circuit in (0..self.len()).filter(|&circuit| !self.is_idle(circuit)) {
            busy += 1;
            free += u32::from(!self.is_fixed(circuit, k));
        }
        self.reserve * self.capacity_in * f64::from(free) / f64::from(busy.max(1))
    }

    /// The upper bound of an incoming rate by pins; infinite if there is none.
    pub(crate) fn pin_bound(&self, circuit: usize, k: usize) -> f64 {
        if k < self.pin {
            self.pins[circuit * self.pin + k]
        } else {
            f64::INFINITY
        }
    }
}

/// The value of a trajectory at step `k`, held at its end, made sane.
fn at(trajectory: &[f64], k: usize) -> f64 {
    trajectory
        .get(k)
        .or(trajectory.last())
        .map_or(0.0, |&value| sane(value))
}

/// A number that is finite and not negative.
fn sane(value: f64) -> f64 {
    // A NaN fails both comparisons.
    if value > 0.0 { value.min(LARGEST) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_numbers_become_harmless() {
        let config = Config {
            horizon: 3,
            ..Config::new(Form::Printed)
        };
        let mut problem = Problem::new(&config);
        problem.clear(f64::NAN, f64::INFINITY);
        problem.push(&CircuitData {
            queue: -1.0,
            source_queue: &[f64::INFINITY],
            source_rate: &[],
            source_potential: &[f64::NAN, 2.0],
            sink_rate: &[f64::NEG_INFINITY, f64::INFINITY],
            edge: false,
        });
        assert_eq!((problem.capacity_in, problem.capacity_out), (0.0, LARGEST));
        assert_eq!(problem.queue, [0.0]);
        assert_eq!(problem.reach, [0.0, 2.0, 4.0]);
        assert_eq!(problem.sink, [0.0, LARGEST, LARGEST]);
        assert_eq!(problem.pins, [0.0, 0.0]);
    }

    #[test]
    fn what_can_have_come_in_never_shrinks() {
        let config = Config {
            horizon: 3,
            pin: 0,
            ..Config::new(Form::Coded)
        };
        let mut problem = Problem::new(&config);
        problem.clear(1.0, 1.0);
        problem.push(&CircuitData {
            queue: 0.0,
            source_queue: &[9.0, 1.0, 5.0],
            source_rate: &[1.0],
            source_potential: &[],
            sink_rate: &[1.0],
            edge: false,
        });
        assert_eq!(problem.reach, [3.0, 3.0, 8.0]);
    }
}
