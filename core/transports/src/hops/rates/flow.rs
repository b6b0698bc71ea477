//! One flow at one node: what is known of it, and how its plan is enforced.

use std::collections::VecDeque;

use hopflow_mpc::{CircuitData, Plan};
use hopflow_overlay::{FlowEntry, Gate, Gates, Role, Site, Violation};
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::{CELL_DATA, Carrier, Neighbour};

use super::config::{Enforce, Grant, RatesConfig};
use super::trajectory::{Downstream, Heard, LONGEST, Report, Upstream, mean, state, sum};

/// More cells than any source holds, or sends in a step.
const PLENTY: f64 = 1e9;
/// The longest time between two cells: rates below are none.
const STANDSTILL: Duration = Duration::from_secs(3600);
/// Cells that may be under way before anything was acknowledged (as in RFC 6928).
const FIRST_WINDOW: f64 = 10.0;
/// Cells that may always be under way.
const LEAST_WINDOW: f64 = 4.0;
/// Steps after which what a neighbour said before leaves no trace in what it says now.
const MEMORABLE: f64 = 3.0;
/// The share of what a successor would have taken and was not sent that is made up for in a step.
/// All at once would make rates swing, since neither end knows the other's latest plan.
const CATCH_UP: f64 = 0.25;
/// Steps after which whatever a neighbour says is news. Numbers of plans come round after 256.
const OVERTAKEN: f64 = 32.0;
/// Plans that a flow still sends to its neighbours when it has become idle.
const LAST_WORDS: u32 = 2;

/// What a node knows of a flow.
#[derive(Clone, Debug)]
pub(crate) struct RatesFlow {
    predecessor: Option<Heard<Downstream>>,
    successor: Option<Heard<Upstream>>,
    /// Its number in the problem that was solved last; none if it was idle.
    pub(super) planned: Option<usize>,
    /// Steps since it was busy.
    quiet: u32,
    /// Of the plan that its neighbours heard last.
    number: u8,
    /// Parts of cells that former steps allowed and that did not make a whole one: sent, and taken.
    parts: [f64; 2],
    sent: Sent,
    /// How old the successor's plan is when those cells arrive that leave as the node plans: what
    /// arrives before is settled.
    pub(super) lead: Duration,
    pub(super) guard: Guard,
    /// Cells per step that the plan sends; zero without a plan.
    planned_rate: f64,
    /// Cells per step that the successor takes, as the plan assumes.
    granted_rate: f64,
}

/// Bounds what is under way on a hop of datagrams, whatever the plan says: nobody knows how full
/// the network below is before something arrives, and what is lost there shows that a plan is
/// wrong. It grows with acknowledgements and halves with losses, as TCP's window.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    window: f64,
    /// What the plan needs: above this the window does not grow.
    enough: f64,
    /// Losses before this time are part of one that is known.
    known_until: Instant,
}

impl Default for RatesFlow {
    fn default() -> Self {
        Self {
            predecessor: None,
            successor: None,
            planned: None,
            quiet: 0,
            number: 0,
            parts: [0.0; 2],
            sent: Sent::default(),
            lead: Duration::ZERO,
            guard: Guard {
                window: FIRST_WINDOW,
                enough: FIRST_WINDOW,
                known_until: Instant::ZERO,
            },
            planned_rate: 0.0,
            granted_rate: 0.0,
        }
    }
}

/// How many cells were sent at the last steps.
#[derive(Clone, Debug, Default)]
struct Sent {
    /// All that were sent until each of them, the latest first.
    totals: VecDeque<u64>,
}

impl Sent {
    fn note(&mut self, total: Cells) {
        self.totals.truncate(LONGEST);
        self.totals.push_front(total.get());
    }

    /// Cells sent within so many steps before the last one noted.
    fn within(&self, steps: f64) -> f64 {
        let at = |k: usize| {
            let total = self.totals.get(k).or(self.totals.back());
            total.map_or(0.0, |total| *total as f64)
        };
        let whole = steps as usize;
        let share = steps - whole as f64;
        at(0) - (at(whole) * (1.0 - share) + at(whole.saturating_add(1)) * share)
    }

    /// Cells that a plan which is so many steps old would have taken by its node and that were not
    /// sent; negative if more were. Both are counted over the same steps, of which those before
    /// the last [`LONGEST`] are left out: what was sent then is not known.
    fn owed(&self, plan: &[f64], steps: f64) -> f64 {
        let known = steps.min(LONGEST as f64);
        let taken = sum(plan, steps) - sum(plan, steps - known);
        taken - self.within(known)
    }
}

impl Guard {
    /// `cells` more have arrived.
    pub(super) fn on_ack(&mut self, cells: Cells, gate: &mut Gate) {
        self.window += cells.as_f64();
        self.set(gate);
    }

    /// Something was lost; nothing else that is lost within a round trip from `now` is news.
    pub(super) fn on_loss(&mut self, now: Instant, trip: Duration, gate: &mut Gate) {
        if now >= self.known_until {
            self.known_until = now + trip;
            self.window /= 2.0;
            self.set(gate);
        }
    }

    /// A plan sends `rate` cells per step, which takes so many steps to be acknowledged.
    fn follow(&mut self, rate: f64, steps: f64, gate: &mut Gate) {
        // Twice what a steady rate needs, so that plans and not the guard decide.
        self.enough = (2.0 * rate * (steps + 1.0)).max(FIRST_WINDOW);
        self.set(gate);
    }

    fn set(&mut self, gate: &mut Gate) {
        self.window = self.window.min(self.enough).max(LEAST_WINDOW);
        gate.set_window(Cells::new(self.window as u64));
    }
}

/// From when and where a flow is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook {
    pub(super) now: Instant,
    pub(super) step: Duration,
    /// By how much messages are faster than cells.
    pub(super) early: Duration,
    /// To the successor and back.
    pub(super) trip: Duration,
    /// What is older than this says nothing.
    pub(super) forget: Duration,
    /// The node's, in cells per step.
    pub(super) capacity: f64,
    pub(super) grant: Grant,
    pub(super) horizon: usize,
    /// Whether the rest of the data takes a whole cell, as it does on its way.
    pub(super) whole: bool,
}

/// A flow's data for the problem; kept, so that nothing is allocated for each flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    queue: f64,
    source_queue: Vec<f64>,
    source_rate: Vec<f64>,
    source_potential: Vec<f64>,
    sink_rate: Vec<f64>,
    edge: bool,
    /// Steps in which arrives what the predecessor has sent before it hears of the plan.
    pub(super) settled: usize,
}

impl Scratch {
    pub(super) fn data(&self) -> CircuitData<'_> {
        CircuitData {
            queue: self.queue,
            source_queue: &self.source_queue,
            source_rate: &self.source_rate,
            source_potential: &self.source_potential,
            sink_rate: &self.sink_rate,
            edge: self.edge,
        }
    }
}

impl Outlook {
    /// Collects what is known of a flow from now on; false if there is nothing to plan for.
    pub(super) fn look(&self, entry: &mut FlowEntry<'_, RatesFlow>, scratch: &mut Scratch) -> bool {
        entry.state.lead = self.trip;
        scratch.settled = 0;
        scratch.queue = entry.queue.unsent.as_f64();
        for trajectory in [
            &mut scratch.source_queue,
            &mut scratch.source_rate,
            &mut scratch.source_potential,
            &mut scratch.sink_rate,
        ] {
            trajectory.clear();
        }
        scratch.edge = entry.site.role == Role::Source;
        if scratch.edge {
            let cells = entry.pending.as_f64() / CELL_DATA as f64;
            let waits = if self.whole { cells.ceil() } else { cells };
            scratch.source_queue.push(waits);
            scratch.source_potential.push(PLENTY);
        } else if let Some(heard) = self.fresh(entry.state.predecessor.as_ref()) {
            self.look_up(heard, scratch);
        }
        match self.fresh(entry.state.successor.as_ref()) {
            Some(heard) if entry.site.role != Role::Sink => {
                let lead = self.since(heard) + self.trip;
                self.look_down(heard, lead, &entry.state.sent, scratch);
                entry.state.lead = lead;
            }
            _ => scratch.sink_rate.push(self.capacity),
        }
        entry.state.granted_rate = scratch.sink_rate.first().copied().unwrap_or_default();
        let source = scratch.source_queue.iter().chain(&scratch.source_rate);
        scratch.queue > 0.0 || source.sum::<f64>() > 0.0
    }

    fn fresh<'h, T>(&self, heard: Option<&'h Heard<T>>) -> Option<&'h Heard<T>> {
        heard.filter(|heard| self.now.saturating_since(heard.at) <= self.forget)
    }

    /// How long ago a message arrived, or would have if it were as slow as cells.
    fn since<T>(&self, heard: &Heard<T>) -> Duration {
        let since = self.now.saturating_since(heard.at);
        since.saturating_sub(self.early)
    }

    fn steps(&self, span: Duration) -> f64 {
        span.as_secs_f64() / self.step.as_secs_f64()
    }

    /// What the predecessor sends when it makes a plan arrives here when the plan does.
    fn look_up(&self, heard: &Heard<Downstream>, scratch: &mut Scratch) {
        let from = self.steps(self.since(heard));
        let said = &heard.said;
        scratch.settled = (said.lead.as_nanos() / self.step.as_nanos()) as usize;
        for k in 0..self.horizon {
            let at = from + k as f64;
            scratch.source_queue.push(state(&said.queue, at + 1.0));
            scratch.source_rate.push(mean(&said.rate, at));
            scratch.source_potential.push(mean(&said.potential, at));
        }
    }

    /// What leaves now arrives at the successor this `lead` after it made its plan.
    fn look_down(
        &self,
        heard: &Heard<Upstream>,
        lead: Duration,
        sent: &Sent,
        scratch: &mut Scratch,
    ) {
        let from = self.steps(lead);
        let plan = &heard.said.rate;
        let mut owed = match self.grant {
            Grant::Cumulative => sent.owed(plan, from),
            Grant::Shifted => 0.0,
        };
        for k in 0..self.horizon {
            let now = owed * CATCH_UP;
            owed -= now;
            let rate = mean(plan, from + k as f64) + now;
            scratch.sink_rate.push(rate.max(0.0));
        }
    }
}

impl RatesFlow {
    /// The number of the plan that the neighbours hear next.
    pub(super) const fn next_number(&mut self) -> u8 {
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Takes what a neighbour says, unless something newer has overtaken it.
    pub(super) fn hear(
        &mut self,
        config: &RatesConfig,
        now: Instant,
        (sender, body): (Neighbour, &[u8]),
    ) -> Result<(), Violation> {
        let (step, memory) = (config.step, config.exchange.memory);
        match sender {
            Neighbour::Predecessor => take(&mut self.predecessor, body, (now, step), memory),
            Neighbour::Successor => take(&mut self.successor, body, (now, step), memory),
        }
    }

    /// Sets the flow's gates by the first rates of its plan, or if it is idle so that a little may
    /// pass at once.
    pub(super) fn enforce(
        &mut self,
        config: &RatesConfig,
        plan: Option<&Plan<'_>>,
        (site, gates): (&Site, &mut Gates<'_>),
        trip: Duration,
    ) {
        let idle = config.idle_cells.as_f64();
        self.quiet = if plan.is_some() {
            0
        } else {
            self.quiet.saturating_add(1)
        };
        let (taken, sent) = plan.map_or((idle, idle), |plan| (plan.r_in(0), plan.r_out(0)));
        let burst = if plan.is_some() {
            Duration::ZERO
        } else {
            config.step
        };
        let set = |gate: &mut Gate, rate: f64, part: &mut f64| match config.enforce {
            Enforce::Pace => pace(gate, config.step, rate, burst),
            Enforce::Budget => {
                let cells = rate + *part;
                *part = cells.fract();
                gate.allow(Cells::new(cells as u64));
            }
        };
        self.planned_rate = plan.map_or(0.0, |plan| plan.r_out(0));
        self.sent.note(gates.hop.passed());
        let [out, taking] = &mut self.parts;
        if config.carrier == Carrier::Datagram && site.next.is_some() {
            let steps = trip.as_secs_f64() / config.step.as_secs_f64();
            self.guard.follow(sent, steps, gates.hop);
        }
        if site.next.is_some() {
            set(gates.hop, sent, out);
        }
        if let Some(end) = &mut gates.end {
            set(end, taken, taking);
        }
    }

    /// The rates that are planned and granted, in bytes per second.
    pub(super) fn rates(&self, step: Duration) -> [f64; 2] {
        let bytes = CELL_DATA as f64 / step.as_secs_f64();
        [self.planned_rate, self.granted_rate].map(|cells| cells * bytes)
    }

    /// Whether the neighbours hear of its plan: one that has become idle says so, more than
    /// once, since messages may be lost.
    pub(super) const fn speaks(&self) -> bool {
        self.quiet <= LAST_WORDS
    }
}

/// Takes what a neighbour says: on average with what it said before, unless it says that it is
/// idle. A rest of its former plan would keep the flow busy here until it is forgotten.
fn take<T: Report>(
    known: &mut Option<Heard<T>>,
    body: &[u8],
    (now, step): (Instant, Duration),
    memory: f64,
) -> Result<(), Violation> {
    let (number, mut said) = T::decode(body)?;
    if let Some(heard) = known {
        let since = now.saturating_since(heard.at).as_secs_f64() / step.as_secs_f64();
        let ahead = number.wrapping_sub(heard.number);
        if since <= OVERTAKEN && !(1..128).contains(&ahead) {
            return Ok(());
        }
        // What is older than this was said of other times, or was forgotten.
        if since <= MEMORABLE && !said.is_idle() {
            said.keep(&heard.said, memory, since);
        }
    }
    *known = Some(Heard {
        at: now,
        number,
        said,
    });
    Ok(())
}

/// Lets `rate` cells per step pass evenly.
fn pace(gate: &mut Gate, step: Duration, rate: f64, burst: Duration) {
    let longest = STANDSTILL.as_secs_f64();
    let interval = step.as_secs_f64() / rate.max(step.as_secs_f64() / longest);
    gate.set_pace(Duration::from_secs_f64(interval), burst);
}

impl Upstream {
    /// What a plan takes; nothing if there is none.
    pub(super) fn of(plan: Option<&Plan<'_>>, config: &hopflow_mpc::Config) -> Self {
        let Some(plan) = plan else {
            return Self { rate: vec![0.0] };
        };
        let rate = (0..config.horizon).map(|k| plan.r_in(k)).collect();
        Self { rate }
    }
}

impl Downstream {
    /// What a plan sends and holds; nothing if there is none.
    pub(super) fn of(
        plan: Option<&Plan<'_>>,
        lead: Duration,
        config: &hopflow_mpc::Config,
    ) -> Self {
        let Some(plan) = plan else {
            return Self {
                lead,
                rate: vec![0.0],
                queue: vec![0.0],
                potential: Vec::new(),
            };
        };
        let steps = || 0..config.horizon;
        let potential = match config.form {
            hopflow_mpc::Form::Printed => steps().map(|k| plan.r_virtual(k)).collect(),
            hopflow_mpc::Form::Coded => Vec::new(),
        };
        Self {
            lead,
            rate: steps().map(|k| plan.r_out(k)).collect(),
            queue: steps().map(|k| plan.queue(k + 1)).collect(),
            potential,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HORIZON: usize = 10;

    fn config() -> RatesConfig {
        super::super::config::RatesOptions::default().config()
    }

    /// A flow that heard of plans of 20 cells per step from both neighbours, and a step later `down`
    /// and `up`.
    fn heard(down: &Downstream, up: &Upstream) -> RatesFlow {
        let (config, mut flow) = (config(), RatesFlow::default());
        let busy = Downstream {
            rate: vec![20.0; HORIZON],
            queue: vec![5.0; HORIZON],
            ..Downstream::default()
        };
        let takes = Upstream {
            rate: vec![20.0; HORIZON],
        };
        let later = Instant::ZERO + config.step;
        for (at, number, down, up) in [(Instant::ZERO, 1, &busy, &takes), (later, 2, down, up)] {
            let bodies = [
                (Neighbour::Predecessor, down.encode(number)),
                (Neighbour::Successor, up.encode(number)),
            ];
            for (from, body) in &bodies {
                flow.hear(&config, at, (*from, body)).unwrap();
            }
        }
        flow
    }

    #[test]
    fn a_neighbour_that_is_idle_leaves_nothing_of_its_former_plan() {
        let problem = hopflow_mpc::Config::new(hopflow_mpc::Form::Coded);
        let idle = Downstream::of(None, Duration::ZERO, &problem);
        let flow = heard(&idle, &Upstream::of(None, &problem));
        assert_eq!(flow.predecessor.unwrap().said, idle);
        assert_eq!(flow.successor.unwrap().said.rate, [0.0]);
    }

    #[test]
    fn a_plan_is_averaged_with_the_former_one_though_it_takes_nothing() {
        let sends = Downstream {
            rate: vec![0.0; HORIZON],
            queue: vec![15.0; HORIZON],
            ..Downstream::default()
        };
        let takes = Upstream {
            rate: vec![0.0; HORIZON],
        };
        let flow = heard(&sends, &takes);
        let (down, up) = (flow.predecessor.unwrap().said, flow.successor.unwrap().said);
        let memory = config().exchange.memory;
        for (found, expected) in [
            (&down.rate, 20.0 * memory),
            (&down.queue, 15.0 * (1.0 - memory) + 5.0 * memory),
            (&up.rate, 20.0 * memory),
        ] {
            assert_eq!(found.len(), HORIZON);
            assert!(found.iter().all(|it| (it - expected).abs() < 1e-9));
        }
    }

    #[test]
    fn plans_that_newer_ones_have_overtaken_are_not_taken() {
        let config = config();
        let takes = |rate: f64| Upstream {
            rate: vec![rate; HORIZON],
        };
        let mut flow = RatesFlow::default();
        let mut hear = |number: u8, rate: f64, steps: u64| {
            let body = takes(rate).encode(number);
            let at = Instant::ZERO + config.step * steps;
            flow.hear(&config, at, (Neighbour::Successor, &body))
                .unwrap();
            flow.successor.as_ref().unwrap().said.rate[0]
        };
        // Numbers come round; what is ten steps later is not averaged.
        assert_eq!(hear(254, 5.0, 0), 5.0);
        assert_eq!(hear(1, 7.0, 10), 7.0);
        for number in [1, 0, 255, 254] {
            assert_eq!(hear(number, 9.0, 11), 7.0, "{number}");
        }
        assert_eq!(hear(2, 8.0, 20), 8.0);
        // Half of all numbers are ahead of one, the other half behind it.
        assert_eq!(hear(129, 4.0, 24), 4.0);
        assert_eq!(hear(1, 9.0, 25), 4.0);
        // After a long silence whatever comes is news.
        assert_eq!(hear(2, 3.0, 60), 3.0);
    }

    #[test]
    fn a_late_plan_does_not_wake_a_flow_that_rests() {
        let (config, mut flow) = (config(), RatesFlow::default());
        let idle = Downstream {
            rate: vec![0.0],
            queue: vec![0.0],
            ..Downstream::default()
        };
        let busy = Downstream {
            rate: vec![20.0; HORIZON],
            queue: vec![5.0; HORIZON],
            ..Downstream::default()
        };
        for (number, said) in [(1, &busy), (3, &idle), (2, &busy)] {
            let at = Instant::ZERO + config.step * u64::from(number);
            let body = (Neighbour::Predecessor, said.encode(number));
            flow.hear(&config, at, (body.0, &body.1)).unwrap();
        }
        assert!(flow.predecessor.unwrap().said.is_idle());
    }

    #[test]
    fn who_sends_what_a_plan_takes_owes_nothing_however_old_it_is() {
        let mut sent = Sent::default();
        for step in 0..200 {
            sent.note(Cells::new(3 * step));
        }
        for steps in [0.0, 2.5, 10.0, 31.9, 32.0, 32.5, 40.0, 80.0, 1e6] {
            let owed = sent.owed(&[3.0; HORIZON], steps);
            assert!(owed.abs() < 1e-6, "{steps} steps: {owed}");
        }
        assert_eq!(sent.owed(&[4.0; HORIZON], 10.0), 10.0);
        // What was sent when the first steps were is not known.
        assert_eq!(sent.owed(&[90.0, 4.0], 80.0), LONGEST as f64);
    }
}
