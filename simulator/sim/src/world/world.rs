//! The world: all lanes, run window by window.
//!
//! # Windows
//! Nothing that a lane does is felt by another lane before the least delay of an uplink plus the
//! least delay of a downlink has passed, nor by way of a message out of band before the least delay
//! of such messages. Windows of time are that long. At the beginning of a window each lane knows all
//! that reaches its machine in it, so lanes can be run over the window in any order, and side by
//! side. Between windows the partitions exchange what their lanes have sent each other
//! (`docs/adr/0018-lanes.md`).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use hopflow_overlay::Direction;
use hopflow_units::{Duration, Instant};

use super::address::CircuitEnd;
use super::balance::{Balance, Partitions};
use super::grid::Grid;
use super::lane::Lane;
use super::meter::Parallelism;
use super::partition::Partition;
use super::recorders::{self, LegRecorder, QueueRecorder, Sender, TraceRecorder};
use super::trunks::Trunks;
use super::users::{Directions, Leg};
use super::watched::Watched;
use super::windows::{self, Ended, Span};
use crate::outcome::{CircuitOutcome, Outcome};

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Duration,
    /// When the simulation ends.
    pub end: Duration,
}

/// Events between two calls of the observer.
const OBSERVE_EVERY: u64 = 1 << 16;

/// The shortest window: it holds one time.
const INSTANT: Duration = Duration::from_nanos(1);

/// Windows until the lanes are first distributed anew by what they were seen to do, and at most
/// between two such times.
const FIRST_EPOCH: u64 = 16;
const LONGEST_EPOCH: u64 = 1024;

/// A simulation.
///
/// A clone goes on as the original does: from one run up to some time, several can go different ways.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) grid: Grid,
    /// When recording begins.
    pub(super) from: Instant,
    /// All lanes; in one partition while the world does not run.
    pub(super) partitions: Vec<Partition>,
    /// Links between routers, if packets may wait there.
    pub(super) trunks: Option<Trunks>,
    pub(super) users: Vec<Directions>,
    /// Where to look for what users have, if the world is watched.
    pub(super) watched: Option<Arc<Watched>>,
    /// What is known of each circuit before the simulation.
    pub(super) circuits: Vec<CircuitOutcome>,
    /// Everything before this time has happened.
    pub(super) now: Instant,
    pub(super) wanted: Partitions,
    /// Which partition is to have which lanes, once the simulation has begun.
    pub(super) balance: Option<Balance>,
    /// What partitions did side by side, and by which clock that is measured, if it is.
    pub(super) measured: Option<(fn() -> Duration, Parallelism)>,
}

/// The least delays between lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    pub(super) up: Duration,
    pub(super) down: Duration,
    pub(super) message: Option<Duration>,
}

impl Least {
    /// How long nothing that a lane does is felt by another one.
    pub(super) fn window(self) -> Duration {
        let links = self.up + self.down;
        let least = self.message.map_or(links, |message| links.min(message));
        // With no delay the lanes are run from one instant to the next.
        least.max(INSTANT)
    }
}

impl World {
    /// Makes the world record the latency of every cell of data that is delivered from the time on
    /// at which recording begins ([`Sampling::from`](crate::spec::Sampling::from)).
    ///
    /// Must be called before the world runs.
    pub fn record_latency(&mut self) {
        self.index_senders();
        let from = self.from;
        for lane in self.lanes_mut() {
            lane.records.latency = true;
            lane.sinks_mut().for_each(|sink| sink.record_latency(from));
        }
    }

    /// Makes the world record what an observer sees of each circuit, in bins of `interval` from the
    /// time on at which recording begins ([`Sampling::from`](crate::spec::Sampling::from)).
    ///
    /// Must be called before the world runs.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn record_traces(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "bins have a width");
        self.index_senders();
        let (clients, from) = (self.lone_clients(), self.from);
        for (lane, client) in self.lanes_mut().iter_mut().zip(clients) {
            let traces = TraceRecorder::new(client, from, interval);
            lane.records.traces = Some(Box::new(traces));
        }
    }

    /// Samples the queues of all access links so often, from when recording begins
    /// ([`Sampling::from`](crate::spec::Sampling)).
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn record_queues(&mut self, interval: Duration) {
        assert!(!interval.is_zero(), "samples need an interval");
        let from = self.from;
        for lane in self.lanes_mut() {
            let queues = QueueRecorder::new(interval, from);
            lane.machine.queues = Some(Box::new(queues));
        }
    }

    /// Makes the world record where the time to the last byte of each download goes.
    ///
    /// Must be called before the world runs.
    pub fn record_breakdown(&mut self) {
        assert!(self.balance.is_none(), "nothing has been sent");
        let lanes = &mut self.partitions[0].lanes;
        let mut indexes: Vec<_> = lanes.iter().map(Lane::link_index).collect();
        for user in &self.users {
            user.index(lanes, &mut indexes);
        }
        for (lane, index) in lanes.iter_mut().zip(indexes) {
            lane.follow(index);
        }
    }

    /// Makes the world note what happens to some circuits at each of their nodes, event by event,
    /// from the beginning on.
    ///
    /// Must be called before the world runs.
    ///
    /// # Panics
    /// If there is no such circuit.
    pub fn trace_circuits(&mut self, circuits: &[u32]) {
        self.check_circuits(circuits);
        let lanes = &mut self.partitions[0].lanes;
        let users = self.users.iter();
        for user in users.filter(|user| circuits.contains(&user.user)) {
            user.trace(lanes);
        }
    }

    /// Makes the world take down all packets of the machines over which some circuits lead, from the
    /// beginning on.
    ///
    /// Must be called before the world runs.
    ///
    /// # Panics
    /// If there is no such circuit.
    pub fn capture_packets(&mut self, circuits: &[u32]) {
        self.check_circuits(circuits);
        let users = self.users.iter();
        let users = users.filter(|user| circuits.contains(&user.user));
        let machines = users.flat_map(|user| &user.legs).flat_map(Leg::hops);
        let machines: BTreeSet<_> = machines.map(|(node, _)| node.machine()).collect();
        let lanes = &mut self.partitions[0].lanes;
        for machine in machines {
            lanes[machine].capture();
        }
    }

    fn check_circuits(&self, circuits: &[u32]) {
        assert!(self.balance.is_none(), "nothing has been sent");
        let known = |circuit: &u32| (*circuit as usize) < self.circuits.len();
        assert!(circuits.iter().all(known), "the circuits exist");
    }

    /// Records the use of the legs of users that have several.
    pub(super) fn record_legs(&mut self) {
        if self.users.iter().any(|user| user.legs.len() > 1) {
            self.index_senders();
            for lane in self.lanes_mut() {
                lane.records.legs = Some(Box::new(LegRecorder::default()));
            }
        }
    }

    /// Makes all machines know whose cells they send, of sources, and of users with several legs of
    /// the next node, too.
    fn index_senders(&mut self) {
        assert!(self.balance.is_none(), "nothing has been sent");
        let lanes = &mut self.partitions[0].lanes;
        for user in &self.users {
            let several = user.legs.len() > 1;
            for (leg, path) in (0..).zip(&user.legs) {
                for direction in [Direction::Forward, Direction::Backward] {
                    let hops = if several { 2 } else { 1 };
                    for (hop, (at, circuit)) in (0..).zip(path.names(direction).take(hops)) {
                        let sink = CircuitEnd::sink(direction);
                        let sender = Sender {
                            user: user.user,
                            turn: user.turn,
                            leg,
                            hop,
                            direction,
                            sink: user.ends[sink as usize],
                            measured: direction == user.measured,
                            several,
                        };
                        let records = &mut lanes[at.node.machine()].records;
                        let index = records.index.get_or_insert_default();
                        index.add((at.node.position, at.link, circuit), sender);
                    }
                }
            }
        }
    }

    /// For each machine, the circuit whose client has the machine for itself.
    fn lone_clients(&self) -> Vec<Option<u32>> {
        let lanes = self.partitions[0].lanes.len();
        let mut clients = vec![None; lanes];
        let mut users = BTreeSet::new();
        for user in &self.users {
            let hops = user.legs.iter().flat_map(Leg::hops);
            users.extend(hops.map(|(node, _)| (*node, user.user)));
            clients[user.ends[CircuitEnd::Client as usize].machine as usize] = Some(user.user);
        }
        let mut circuits = vec![0; lanes];
        for (node, _) in users {
            circuits[node.machine()] += 1;
        }
        let alone = clients.into_iter().zip(circuits);
        alone
            .map(|(user, circuits)| user.filter(|_| circuits == 1))
            .collect()
    }

    /// Makes the world run on up to so many threads, as many as there is work for; without, on one.
    /// The results are the same.
    pub fn use_threads(&mut self, threads: usize) {
        self.wanted = Partitions::UpTo(threads);
    }

    /// Makes the world run on exactly so many threads, be there work for them or not, if there are as
    /// many machines and a delay between them. The results are the same.
    pub fn split(&mut self, threads: usize) {
        self.wanted = Partitions::Exactly(threads);
    }

    /// Measures from now on what partitions do side by side, by a clock that says how long the thread
    /// which reads it has run.
    pub fn measure(&mut self, clock: fn() -> Duration) {
        self.measured = Some((clock, Parallelism::default()));
    }

    /// What was measured, if it was.
    pub fn parallelism(&self) -> Option<Parallelism> {
        self.measured.map(|(_, sums)| sums)
    }

    /// Runs to the end; false if the observer stopped the run.
    pub fn run(&mut self, observer: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> bool {
        self.run_windows(Instant::FAR_FUTURE, observer)
    }

    /// Runs until everything before `time` has happened, and nothing else; false if the observer
    /// stopped the run. The world can then be cloned and run on, with the results of a run without a
    /// break.
    pub fn run_until(
        &mut self,
        time: Duration,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        self.run_windows(Instant::ZERO + time, observer)
    }

    /// Runs everything before a time.
    fn run_windows(
        &mut self,
        until: Instant,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> bool {
        let mut balance = self.begin();
        self.choose_windows(until);
        let (mut windows, mut epoch) = (0, FIRST_EPOCH);
        let (end, mut before, mut observed) = (self.grid.end, 0, 0);
        let ended = loop {
            let partitions = std::mem::take(&mut self.partitions);
            let wanted = self.wanted_partitions();
            self.partitions = balance.balance(partitions, wanted, windows, &mut self.grid);
            let mut observe = |events: u64, begin: Instant| {
                let due = before + events >= observed + OBSERVE_EVERY;
                if due {
                    observed = before + events;
                }
                due && observer(progress(begin, end)).is_break()
            };
            let span = Span {
                windows: epoch,
                until,
                clock: self.measured.map(|(clock, _)| clock),
            };
            let (partitions, trunks) = (&mut self.partitions, self.trunks.as_mut());
            let done = windows::run(&self.grid, partitions, trunks, span, &mut observe);
            if let Some((_, sums)) = &mut self.measured {
                *sums += done.parallelism;
            }
            if done.ended != Ended::Paused {
                break done.ended;
            }
            before += done.events;
            (windows, epoch) = (epoch, (2 * epoch).min(LONGEST_EPOCH));
        };
        let partitions = std::mem::take(&mut self.partitions);
        self.partitions = balance.join(partitions, &mut self.grid);
        self.balance = Some(balance);
        let reached = ended == Ended::Reached;
        // The last window may have been cut.
        self.partitions[0].renew(&self.grid);
        if reached {
            self.now = self.now.max(until.min(end));
        }
        if reached && until > end {
            self.partitions.iter_mut().for_each(Partition::finish);
        }
        reached
    }

    /// Begins the simulation, unless it has begun.
    fn begin(&mut self) -> Balance {
        if let Some(balance) = self.balance.take() {
            return balance;
        }
        let all = &mut self.partitions[0];
        all.begin();
        if let Some(trunks) = &mut self.trunks {
            all.mail_trunks(trunks);
        }
        let balance = Balance::new(all.lanes.len(), &self.users);
        self.users = Vec::new();
        balance
    }

    /// Lets lanes run ahead of others, unless somebody wants all of them at one time: who pauses, looks
    /// or changes something, and recorders that ask a link or another lane how it is.
    fn choose_windows(&mut self, until: Instant) {
        let mut lanes = self.partitions.iter().flat_map(|all| &all.lanes);
        let ahead = until == Instant::FAR_FUTURE && self.watched.is_none();
        let ahead = ahead && !lanes.any(Lane::asks_others);
        if self.grid.choose_windows(ahead, !self.wanted.is_one()) {
            self.partitions[0].renew(&self.grid);
        }
    }

    /// How many partitions to run side by side: without any delay between lanes they have nothing to
    /// do at the same time.
    fn wanted_partitions(&self) -> Partitions {
        if self.grid.lockstep > INSTANT {
            self.wanted
        } else {
            Partitions::Exactly(1)
        }
    }

    /// All lanes, in the order of machines.
    fn lanes_mut(&mut self) -> &mut [Lane] {
        assert!(self.balance.is_none(), "nothing has been sent");
        &mut self.partitions[0].lanes
    }

    /// Everything that was recorded.
    pub fn into_outcome(self) -> Outcome {
        let trunks = self.trunks.as_ref().map_or(0, |trunks| trunks.events);
        let lanes = self.partitions.into_iter();
        let lanes: Vec<_> = lanes.flat_map(|partition| partition.lanes).collect();
        recorders::collect(lanes, self.circuits, trunks)
    }
}

fn progress(now: Instant, end: Instant) -> Progress {
    let since_start = |time: Instant| time.saturating_since(Instant::ZERO);
    Progress {
        now: since_start(now),
        end: since_start(end),
    }
}
