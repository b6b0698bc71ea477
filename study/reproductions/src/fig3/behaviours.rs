//! What the paper sees in the plans, as conditions (section 5.1, the numbers in Figure 3).

use super::settings::{Planned, Settings, Solved, Told, at};

/// Rates and queues that differ by less, relative to the larger, count as equal.
const SAME: f64 = 0.01;
/// A queue has approached zero, and a rate another, if this part of the first difference is left.
const CLOSE: f64 = 0.25;
/// Until when the source's queue of circuit 1 is emptied.
const EMPTIED: usize = 5;

/// Something that the paper sees in the plans.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Behaviour {
    /// As the data file calls it; it begins with the number in the figure.
    pub(super) name: &'static str,
    /// What it consists of, and whether that is so.
    pub(super) conditions: Vec<(&'static str, bool)>,
}

impl Behaviour {
    /// The part of the conditions that are met.
    pub(super) fn met(&self) -> f64 {
        let met = self.conditions.iter().filter(|(_, met)| *met).count();
        met as f64 / self.conditions.len() as f64
    }
}

/// The plans of the three circuits, with what the relay was told.
struct Seen<'a> {
    settings: &'a Settings,
    solved: &'a Solved,
    told: &'a [Told; 3],
    plans: &'a [Planned; 3],
}

/// All behaviours of the plans, in the paper's order.
pub(super) fn behaviours(
    settings: &Settings,
    solved: &Solved,
    plans: &[Planned],
) -> Vec<Behaviour> {
    let told = settings.circuits.as_slice().try_into();
    let seen = Seen {
        settings,
        solved,
        told: told.expect("the figure has three circuits"),
        plans: plans.try_into().expect("each circuit has a plan"),
    };
    vec![
        seen.equal_rates(),
        seen.capacity(),
        seen.queues(),
        seen.stationary(),
        seen.increase(),
        seen.emptied(),
        seen.virtual_rate(),
    ]
}

impl Seen<'_> {
    fn equal_rates(&self) -> Behaviour {
        let [a, b, c] = self.plans.each_ref().map(|plan| plan.r_out[0]);
        let (most, least) = (a.max(b).max(c), a.min(b).min(c));
        Behaviour {
            name: "1: all circuits begin with the same outgoing rate",
            conditions: vec![("the first outgoing rates are equal", same(most, least))],
        }
    }

    fn capacity(&self) -> Behaviour {
        let first = self.plans.iter().map(|plan| plan.r_out[0]);
        let below =
            |(plan, told): (&Planned, &Told)| plan.r_out[0] < (1.0 - SAME) * at(&told.sink_rate, 0);
        let mut circuits = self.plans.iter().zip(self.told);
        Behaviour {
            name: "2: only the capacity limits the first outgoing rates",
            conditions: vec![
                (
                    "the first outgoing rates add up to the capacity",
                    same(first.sum(), self.settings.capacity),
                ),
                (
                    "the successor would take more of each circuit",
                    circuits.all(below),
                ),
            ],
        }
    }

    fn queues(&self) -> Behaviour {
        let [one, two, three] = self.plans;
        let drained = |plan: &Planned| last(&plan.queue) <= CLOSE * plan.queue[0];
        let never_falls = two.queue.windows(2).all(|pair| pair[1] >= pair[0] - SAME);
        Behaviour {
            name: "3: outgoing rates follow the queues",
            conditions: vec![
                (
                    "the outgoing rate of circuit 2 rises",
                    last(&two.r_out) > two.r_out[0],
                ),
                (
                    "those of circuits 1 and 3 fall",
                    last(&one.r_out) < one.r_out[0] && last(&three.r_out) < three.r_out[0],
                ),
                ("the queue of circuit 2 grows all the same", never_falls),
                (
                    "those of circuits 1 and 3 approach zero",
                    drained(one) && drained(three),
                ),
            ],
        }
    }

    fn stationary(&self) -> Behaviour {
        let [one, _, three] = self.plans;
        let gap = |plan: &Planned, k: usize| (plan.r_out[k] - plan.r_in[k]).abs();
        let end = self.settings.horizon - 1;
        let scale = self.settings.capacity / 3.0;
        let close = |plan: &Planned| gap(plan, end) <= CLOSE * gap(plan, 0).max(SAME * scale);
        let source = &self.told[2].source_rate;
        let mut steps = three.r_in.iter().enumerate();
        Behaviour {
            name: "4: outgoing rates end near the incoming ones, and these at the source's",
            conditions: vec![
                (
                    "at the end circuit 1 is forwarded as fast as it comes in",
                    close(one),
                ),
                (
                    "at the end circuit 3 is forwarded nearly as fast as it comes in",
                    close(three),
                ),
                (
                    "circuit 3 comes in as fast as its source plans",
                    steps.all(|(k, rate)| same(*rate, at(source, k))),
                ),
                (
                    "circuit 1 does not come in from step 5 on",
                    one.r_in[EMPTIED..].iter().all(|rate| *rate < SAME * scale),
                ),
            ],
        }
    }

    fn increase(&self) -> Behaviour {
        let (plan, told) = (&self.plans[0], &self.told[0]);
        let (mut taken, mut granted) = (0.0, 0.0);
        let (mut within, mut exceeds) = (true, false);
        for (k, rate) in plan.r_in.iter().enumerate() {
            let potential = at(&told.source_potential, k);
            taken += rate;
            granted += potential;
            within &= taken <= (1.0 + SAME) * granted;
            exceeds |= *rate > (1.0 + SAME) * potential;
        }
        Behaviour {
            name: "5: circuit 1 comes in faster than its source plans",
            conditions: vec![
                (
                    "the first incoming rate is above the source's",
                    plan.r_in[0] > at(&told.source_rate, 0) + SAME * self.settings.capacity,
                ),
                (
                    "the sum never exceeds that of what the source could send",
                    within,
                ),
                (
                    "some step exceeds what the source could send in it",
                    exceeds,
                ),
            ],
        }
    }

    fn emptied(&self) -> Behaviour {
        let (plan, told) = (&self.plans[0], &self.told[0]);
        let little = SAME * at(&told.source_queue, 0);
        let left = |steps: usize| plan.source_queue[steps - 1];
        let planned = |k: usize| at(&told.source_queue, k);
        let mut steps = 1..self.settings.horizon;
        Behaviour {
            name: "6: the source's queue of circuit 1 is emptied at step 5",
            conditions: vec![
                (
                    "by the source's own plan it would stay as it is",
                    steps.all(|k| same(planned(k), planned(0))),
                ),
                (
                    "before step 5 there is something left",
                    left(EMPTIED - 1) > little,
                ),
                ("at step 5 nothing is left", left(EMPTIED) <= little),
            ],
        }
    }

    fn virtual_rate(&self) -> Behaviour {
        let (plan, told) = (&self.plans[1], &self.told[1]);
        let has_one = self.solved.form == super::settings::FormName::Printed;
        let mut steps = 0..self.settings.horizon;
        let asks = steps.any(|k| {
            let most = at(&told.sink_rate, k);
            same(plan.r_out[k], most) && plan.r_virtual[k] > (1.0 + SAME) * most
        });
        Behaviour {
            name: "7: the virtual rate of circuit 2 asks for more than the successor takes",
            conditions: vec![(
                "where the outgoing rate is all that the successor takes, the virtual one is higher",
                has_one && asks,
            )],
        }
    }
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

fn last(trajectory: &[f64]) -> f64 {
    trajectory.last().copied().unwrap_or(0.0)
}
