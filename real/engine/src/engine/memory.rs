//! The limit on memory, and who loses when it is reached.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use hopflow_overlay::{Direction, FlowView};
use hopflow_units::{Bytes, Instant};
use hopflow_wire::Proof;

use super::Engine;
use crate::circuit::{Ages, Phase};
use crate::link::LinkEnd;
use crate::types::CircuitKey;

/// Memory that a cell takes as it waits, with what is kept about it.
const CELL_MEMORY: u64 = 640;
/// Memory of a proof that SENDMEs show or are to show, in a list that has room for as many again.
const PROOF_MEMORY: u64 = 2 * size_of::<Proof>() as u64;
/// Memory of a link without the names of its circuits, what waits there, and what arrived without its end: most of
/// it is the channel's.
const LINK_MEMORY: u64 = 16 * 1024;
/// Memory of a circuit that carries no data yet: keys, and messages that may have to be repeated.
const NASCENT_MEMORY: u64 = 5 * 1024;
/// Memory of a circuit that carries data without its cells; a kilobyte of it is key stream.
const OPEN_MEMORY: u64 = 9 * 1024;

/// What a circuit may hold in any case, whatever others hold: as much as long queues in both directions and
/// the buffers of its streams.
const HELD_BY_ANY: u64 = 8 << 20;
/// The part of the memory of data that one circuit may hold.
const SHARE: u64 = 8;

/// A circuit that holds data: since when (in the far future if it has no cells), how much, and which.
type Holder = (Instant, Reverse<u64>, CircuitKey);

impl Engine {
    /// Keeps what links, circuits and waiting data take within `memory`; returns what they take.
    ///
    /// Links and circuits get half of it. Beyond that the network that has most loses its oldest,
    /// those of its circuits that carry no data first. Of circuits with data, those go first
    /// that hold more than an eighth, the largest of them first; then those whose oldest cell has waited, or
    /// a stream of which has stalled, longest: an attacker cannot hide among many small circuits, nor are the fast ones
    /// closed that hold most (Jansen, Tschorsch, Johnson and Scheuermann, "The sniper attack",
    /// 2014, section 6).
    pub fn keep_within(&mut self, now: Instant, memory: Bytes) -> Bytes {
        let standing = self.keep_standing_within(now, memory.get() / 2);
        let data = self.keep_data_within(now, memory.get().saturating_sub(standing));
        Bytes::new(standing + data)
    }

    /// Closes links and circuits that others opened until all take `memory` at most.
    fn keep_standing_within(&mut self, now: Instant, memory: u64) -> u64 {
        let mut more = self.links.memory();
        loop {
            let links = self.links.len() as u64 * LINK_MEMORY + more;
            let circuits = self.held_by_circuits();
            if links + circuits <= memory {
                return links + circuits;
            }
            let closed = if circuits > links {
                self.close_first_circuit(now).then_some(0)
            } else {
                self.close_first_link(now)
            };
            let Some(freed) = closed else {
                return links + circuits;
            };
            more = more.saturating_sub(freed);
        }
    }

    fn held_by_circuits(&self) -> u64 {
        let nascent = self.circuits.nascent().len() as u64;
        let open = self.circuits.len() as u64 - nascent;
        nascent * NASCENT_MEMORY + open * OPEN_MEMORY
    }

    fn close_first_circuit(&mut self, now: Instant) -> bool {
        let Some(key) = self.circuits.first_to_go() else {
            return false;
        };
        self.counters.out_of_memory += 1;
        self.drop_with_set(now, key);
        true
    }

    /// Closes a link that others opened or asked for, of whichever there are more; returns the memory
    /// that its names and what waited there took.
    fn close_first_link(&mut self, now: Instant) -> Option<u64> {
        let (accepted, asked_for) = (self.links.accepted(), self.links.asked_for());
        let most = if asked_for.len() > accepted.len() {
            asked_for
        } else {
            accepted
        };
        let id = most.first_to_go()?;
        let more = self.links.get(id).map(LinkEnd::memory);
        self.counters.out_of_memory += 1;
        self.remove_link(now, id);
        // Circuits go that are linked with those of the link.
        self.take_events(now);
        more
    }

    /// Closes circuits until the data of all takes `memory` at most.
    fn keep_data_within(&mut self, now: Instant, memory: u64) -> u64 {
        let mut held = self.held_data();
        let mut total: u64 = held.values().sum();
        if total <= memory {
            return total;
        }
        for (_, _, key) in self.holders(&held, memory) {
            if total <= memory {
                break;
            }
            if !held.contains_key(&key) {
                // It went with another one of its set.
                continue;
            }
            self.counters.out_of_memory += 1;
            for gone in self.drop_with_set(now, key) {
                total -= held.remove(&gone).unwrap_or(0);
            }
        }
        total
    }

    /// The circuits that hold data, in the order in which they go.
    fn holders(&self, held: &BTreeMap<CircuitKey, u64>, memory: u64) -> Vec<Holder> {
        let holder = |(key, held): (&CircuitKey, &u64)| {
            let much = *held > HELD_BY_ANY.max(memory / SHARE);
            let since = if much {
                Instant::ZERO
            } else {
                self.waits_since(*key)
            };
            (since, Reverse(*held), *key)
        };
        let mut holders: Vec<Holder> = held.iter().map(holder).collect();
        holders.sort_unstable();
        holders
    }

    /// Closes a circuit, and with it those that it is linked with; returns all that are gone.
    fn drop_with_set(&mut self, now: Instant, key: CircuitKey) -> Vec<CircuitKey> {
        let mut gone = self.circuits.set_of(key);
        self.drop_circuit(now, key);
        // The node says which others it closed.
        self.take_events(now);
        gone.retain(|leg| self.circuits.get(*leg).is_none());
        gone
    }

    /// When the oldest cell arrived that a circuit holds, or since when one of its streams has moved
    /// nothing of what it holds, if that is longer.
    fn waits_since(&self, key: CircuitKey) -> Instant {
        let oldest = match self.circuits.get(key).map(|circuit| &circuit.phase) {
            Some(Phase::Open(open)) => {
                let oldest = open.ages.iter().filter_map(Ages::oldest);
                // Data that waits at an end is in no flow.
                oldest.chain(open.stalled_since).min()
            }
            _ => None,
        };
        oldest.unwrap_or(Instant::FAR_FUTURE)
    }

    /// Notes how long cells have waited and streams have stalled, and since when circuits carry nothing.
    pub(super) fn look_at_ages(&mut self, now: Instant) {
        let host = &self.host;
        self.circuits
            .look_at_streams(now, |stream| host.stream_view(stream));
        for (_, open) in self.circuits.opened_all() {
            let mut count = 0;
            for (ages, direction) in open
                .ages
                .iter_mut()
                .zip([Direction::Forward, Direction::Backward])
            {
                if let Some(flow) = self.host.flow_view(open.handle, direction) {
                    ages.look(now, &flow);
                    count += flow.departed.get() + flow.held.get();
                }
            }
            open.note_moved(now, count);
        }
    }

    /// The memory that each circuit's data takes, that of its streams included.
    fn held_data(&self) -> BTreeMap<CircuitKey, u64> {
        let of_flows = |(key, flows): (CircuitKey, [Option<FlowView>; 2])| {
            let flows = flows.iter().flatten();
            let held =
                flows.map(|flow| flow.held.get() * CELL_MEMORY + flow.proofs.get() * PROOF_MEMORY);
            (key, held.sum())
        };
        let mut held: BTreeMap<_, _> = self.flows().map(of_flows).collect();
        for (stream, circuit) in self.circuits.streams() {
            if let Some(view) = self.host.stream_view(stream)
                && let Some(held) = held.get_mut(&circuit)
            {
                *held += view.held.get() * CELL_MEMORY + view.pending.get();
            }
        }
        held.retain(|_, held| *held > 0);
        held
    }
}
