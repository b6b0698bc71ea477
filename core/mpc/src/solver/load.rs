//! From a problem in cells to the scaled rows of the busy circuits.

use super::core::Core;
use super::lanes::{Lanes, WIDTH};
use super::step::{FAR, GIVE, Step};
use crate::config::Config;
use crate::objective::Weights;
use crate::plan::Plans;
use crate::problem::Problem;

/// Rates with less room than this, scaled, are held at their start; the proven gap allows for it.
const TINY: f64 = 1e-5;
/// Slacks and multipliers start with products of about this, and slacks of at least this.
const START_PRODUCT: f64 = 0.1;
const START_SLACK: f64 = 1.0;

/// What the loader works with.
pub(super) struct Loader<'a> {
    pub(super) config: &'a Config,
    pub(super) problem: &'a Problem,
    /// The plans to start at; the coded form's pinned rates are taken from them.
    pub(super) start: &'a Plans,
    /// Indices of the busy circuits.
    pub(super) busy: &'a [usize],
    /// Cells per scaled unit.
    pub(super) unit: f64,
    /// Capacity for incoming cells that pinned rates leave, per step.
    pub(super) spare_in: &'a [f64],
}

impl Loader<'_> {
    /// Fills `core` with the problem and the initial iterate.
    pub(super) fn load<const D: usize, const H: usize>(&self, core: &mut Core<D, H>) {
        core.reset(self.busy.len());
        let weights = Weights::new(
            self.config,
            self.problem.capacity_in / self.unit,
            self.problem.capacity_out / self.unit,
        );
        self.load_terms(core, &weights);
        for index in 0..core.used * WIDTH {
            self.load_circuit(core, index);
        }
        for group in &mut core.groups[..core.used] {
            group.total();
        }
        self.start_capacities(core);
        for (terms, &price) in core.terms.iter_mut().zip(&core.capacity.price) {
            terms.price = price;
        }
        self.start_rows(core, weights.penalty);
        core.start();
    }

    fn load_terms<const D: usize, const H: usize>(&self, core: &mut Core<D, H>, weights: &Weights) {
        let mut discount = 1.0;
        for (k, terms) in core.terms.iter_mut().enumerate() {
            let (curvature, pull) = weights.quadratic::<D>();
            terms.curvature = curvature.map(|row| row.map(|value| value * discount));
            terms.pull = pull.map(|value| value * discount);
            terms.give = GIVE / discount;
            terms.share = discount;
            core.capacity.share[k] = discount;
            discount *= self.config.discount;
            core.capacity.limit[k] = [self.problem.capacity_out / self.unit; D];
            core.capacity.limit[k][0] = self.start.capacity_in[k] / self.unit;
        }
    }

    /// Sets the bounds of one circuit, or of the idle lane that `index` is.
    fn load_circuit<const D: usize, const H: usize>(&self, core: &mut Core<D, H>, index: usize) {
        let lane = index % WIDTH;
        let steps = &mut core.groups[index / WIDTH].steps;
        let Some(&circuit) = self.busy.get(index) else {
            for limit in steps.iter_mut().flat_map(|step| &mut step.limits[1..]) {
                limit.bound.0[lane] = 1.0;
            }
            return;
        };
        let queue = self.problem.queue[circuit] / self.unit;
        let limit = self.config.queue_limit / self.unit - queue;
        let mut scan = Scan {
            queue,
            held: 0.0,
            largest: 0.0,
            incoming: false,
            leaving: [false; 3],
        };
        for (k, step) in steps.iter_mut().enumerate() {
            scan.largest = scan.largest.max(core.capacity.limit[k][0]);
            let room = self.room(core.capacity.limit[k], circuit, k, &scan);
            self.load_rates(step, lane, circuit, k, &room);
            scan.update(&room, step.rates[0].0[lane]);
            room.set_bounds(step, lane, &scan);
            for row in &mut step.limits[1..] {
                row.bound.0[lane] = limit;
            }
        }
    }

    /// How much room the rates of a step have.
    fn room<const D: usize>(
        &self,
        limits: [f64; D],
        circuit: usize,
        k: usize,
        scan: &Scan,
    ) -> Room {
        let at = circuit * self.problem.horizon + k;
        let pin = self.problem.pin_bound(circuit, k) / self.unit;
        let reach = self.problem.reach[at] / self.unit;
        let sink = self.problem.sink[at] / self.unit;
        let pinned = self.problem.is_fixed(circuit, k);
        let width_in = (reach - scan.held)
            .min(pin)
            .min(self.spare_in[k] / self.unit);
        let held = if pinned {
            self.start.r_in[at] / self.unit
        } else {
            0.0
        };
        let incoming = scan.incoming || (!pinned && width_in > TINY);
        let stock = scan.queue + if incoming { reach } else { scan.held + held };
        let most_in = scan.largest * (k + 1) as f64 + scan.held;
        Room {
            width: [
                width_in,
                stock.min(limits[1]).min(sink),
                stock.min(limits[1]),
            ],
            pinned,
            pin: if pin < limits[0] { pin } else { FAR },
            sink: if sink < limits[1] { sink } else { FAR },
            reach: if reach < most_in { reach } else { FAR },
            stock,
        }
    }

    /// Starts the rates. Those without room stay where they start.
    fn load_rates<const D: usize, const H: usize>(
        &self,
        step: &mut Step<D, H>,
        lane: usize,
        circuit: usize,
        k: usize,
        room: &Room,
    ) {
        let at = circuit * self.problem.horizon + k;
        let start = [
            self.start.r_in[at],
            self.start.r_out[at],
            self.start.r_virtual[at],
        ];
        for i in 0..D {
            step.rates[i].0[lane] = start[i] / self.unit;
            let exact = i == 0 && room.pinned;
            step.play[i].0[lane] = if exact || room.is_free(i) {
                0.0
            } else {
                room.width[i]
            };
        }
    }

    /// Starts slacks where the rates leave them, but not too close to zero, and multipliers so that
    /// all products are alike.
    fn start_rows<const D: usize, const H: usize>(&self, core: &mut Core<D, H>, penalty: f64) {
        let terms = &core.terms;
        let largest = terms[0].pull.iter().fold(0.0_f64, |a, &b| a.max(b));
        for group in &mut core.groups[..core.used] {
            let mut discount = 1.0;
            for step in &mut group.steps {
                let product = largest * discount;
                for index in 0..H {
                    let distance = step.distance(index);
                    let row = &mut step.rows[index];
                    row.slack = distance.max(row.slack);
                    row.dual = row.slack.max(Lanes::splat(START_SLACK)).recip() * product;
                }
                let price = penalty * discount;
                for queue in 1..D {
                    let value = step.totals[0] - step.totals[queue];
                    let limit = &mut step.limits[queue];
                    for lane in 0..WIDTH {
                        // On the central path of the limit alone.
                        let distance = limit.bound.0[lane] - value.0[lane];
                        let (slack, excess) = split(distance, price, product);
                        limit.slack.0[lane] = slack;
                        limit.excess.0[lane] = excess;
                        limit.dual.0[lane] = product / slack;
                        limit.spare.0[lane] = product / excess;
                    }
                }
                discount *= self.config.discount;
            }
        }
    }

    /// Starts the prices of used-up capacities where a circuit with a mean rate is content.
    fn start_capacities<const D: usize, const H: usize>(&self, core: &mut Core<D, H>) {
        let count = self.busy.len() as f64;
        for k in 0..core.terms.len() {
            for i in 0..D {
                let mut used = 0.0;
                let mut free = false;
                for group in &core.groups[..core.used] {
                    let step = &group.steps[k];
                    used += step.rates[i].sum();
                    free |= step.rows[i].bound.0.iter().any(|&bound| bound < FAR);
                }
                let limit = core.capacity.limit[k][i];
                let left = limit - used;
                let terms = &core.terms[k];
                let mut marginal = terms.pull[i];
                for j in 0..D {
                    marginal -= terms.curvature[i][j] * core.capacity.limit[k][j] / count;
                }
                let (slack, price) = if !free {
                    (FAR, START_PRODUCT * core.terms[k].share / FAR)
                } else if left > 1e-6 * limit || marginal <= 1e-3 * core.terms[k].share {
                    let slack = left.max(START_SLACK);
                    (slack, START_PRODUCT * core.terms[k].share / slack)
                } else {
                    (START_PRODUCT * core.terms[k].share / marginal, marginal)
                };
                core.capacity.slack[k][i] = slack;
                core.capacity.price[k][i] = price;
            }
        }
    }
}

/// What a circuit's earlier steps mean for the later ones.
struct Scan {
    queue: f64,
    /// Cells that come in at rates that are held.
    held: f64,
    /// The largest capacity for incoming cells.
    largest: f64,
    /// Whether any incoming rate has been free, and any other rate of each kind.
    incoming: bool,
    leaving: [bool; 3],
}

impl Scan {
    fn update(&mut self, room: &Room, rate_in: f64) {
        if room.is_free(0) {
            self.incoming = true;
        } else {
            self.held += rate_in;
        }
        self.leaving[1] |= room.is_free(1);
        self.leaving[2] |= room.is_free(2);
    }
}

/// The bounds of one circuit's rates in one step; far where they do not matter.
struct Room {
    /// Between zero and the tightest bound of each rate.
    width: [f64; 3],
    /// Whether the incoming rate is given.
    pinned: bool,
    pin: f64,
    sink: f64,
    reach: f64,
    /// Most cells that there can be.
    stock: f64,
}

impl Room {
    fn is_free(&self, kind: usize) -> bool {
        self.width[kind] > TINY && !(kind == 0 && self.pinned)
    }

    /// Sets the rows' bounds, and how small their slacks may start.
    fn set_bounds<const D: usize, const H: usize>(
        &self,
        step: &mut Step<D, H>,
        lane: usize,
        scan: &Scan,
    ) {
        let mut set = |row: usize, bound: f64, acts: bool, width: f64| {
            step.rows[row].bound.0[lane] = if acts { bound } else { FAR };
            step.rows[row].slack.0[lane] = START_SLACK.min(0.5 * width);
        };
        for kind in 0..D {
            set(kind, 0.0, self.is_free(kind), self.width[kind]);
        }
        set(D, self.sink, self.is_free(1), self.width[1]);
        set(D + 1, self.reach, scan.incoming, self.reach - scan.held);
        // A queue that nothing leaves needs no floor.
        for kind in 1..D {
            set(D + 1 + kind, scan.queue, scan.leaving[kind], self.stock);
        }
        if H > 2 * D + 1 {
            set(2 * D + 1, self.pin, self.is_free(0), self.width[0]);
        }
    }
}

/// Slack and excess whose difference is `distance`, of which `product / slack + product / excess`
/// is `price`.
fn split(distance: f64, price: f64, product: f64) -> (f64, f64) {
    let ratio = product / price;
    let half = 0.5 * distance.abs();
    // The larger and the smaller: with both, ratio (larger + smaller) = larger smaller.
    let root = (half * half + ratio * ratio).sqrt();
    let larger = half + ratio + root;
    let smaller = ratio + ratio * ratio / (half + root);
    if distance > 0.0 {
        (larger, smaller)
    } else {
        (smaller, larger)
    }
}
