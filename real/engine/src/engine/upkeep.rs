//! What only the passing of time asks for.

use std::collections::BTreeMap;

use hopflow_overlay::{FlowView, Multiplexing};
use hopflow_units::{Bytes, Duration, Instant, LinkId};
use hopflow_wire::{Carrier, Reason};

use super::{Engine, Failure};
use crate::circuit::{CircuitKey, Phase};

/// Memory that a cell takes as it waits, with what is kept about it.
const CELL_MEMORY: u64 = 640;

/// Cells of a flow that take memory.
const fn cells(flow: FlowView) -> u64 {
    flow.queued.get() + flow.out_of_order.get() + flow.outstanding.get()
}

/// How often links are looked at.
const UPKEEP: Duration = Duration::from_secs(1);
/// How long a link is kept that has no circuit.
const IDLE: Duration = Duration::from_secs(60);
/// How long the neighbour keeps it, who leaves the first word to the one that opened it.
const IDLE_ACCEPTED: Duration = Duration::from_secs(120);
/// How long a neighbour on datagrams may be silent before it is asked whether it is there.
const QUIET: Duration = Duration::from_secs(15);
/// How long it may leave cells or such a question without any answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a neighbour on datagrams may be silent that opened the link, and so should ask.
const GONE: Duration = Duration::from_secs(60);
/// How long a link's handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(15);

impl Engine {
    /// When [`Engine::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Instant {
        let channels = self.timed.first().map(|(at, _)| *at);
        let circuits = self.alarms.first().map(|(at, _)| *at);
        let idle = self.by_peer.is_empty();
        let upkeep = if idle {
            Instant::FAR_FUTURE
        } else {
            self.next_upkeep
        };
        [channels, circuits]
            .into_iter()
            .flatten()
            .fold(self.host.poll_timeout().min(upkeep), Instant::min)
    }

    /// Handles everything that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.host.poll_timeout() <= now {
            self.host.handle_timeout(now);
        }
        self.handle_channels(now);
        while let Some(&(at, key)) = self.alarms.first()
            && at <= now
        {
            self.set_alarm(key, None);
            let Some(circuit) = self.circuits.get(key) else {
                continue;
            };
            match circuit.phase {
                Phase::Building(_) => self.on_silence(now, key),
                Phase::Nascent(_) | Phase::Closing => {
                    let why = Failure::Closed(Reason::Unreachable);
                    self.end_circuit(now, key, Reason::Unreachable, None, why);
                }
                Phase::Open { .. } => {}
            }
        }
        if self.next_upkeep <= now {
            self.next_upkeep = now + UPKEEP;
            self.keep_up_links(now);
            if self.plan.carrier == Carrier::Datagram {
                self.look_after_neighbours(now);
            }
        }
        self.take_events(now);
    }

    /// Takes no link and no circuit from others from now on.
    pub fn drain(&mut self) {
        self.config.limits.links = 0;
        self.config.limits.circuits_per_link = 0;
    }

    /// Closes all circuits and links; what is left to be sent says so.
    pub fn shut_down(&mut self, now: Instant) {
        let circuits: Vec<CircuitKey> = self.circuits.keys().collect();
        for key in circuits {
            self.close_circuit(now, key);
        }
        if self.plan.carrier == Carrier::Datagram {
            // A neighbour that is not told would go on with the keys of a node that is gone.
            while self.pump(now, usize::MAX) {}
            let links: Vec<LinkId> = self.by_peer.values().copied().collect();
            for link in links {
                self.remove_link(now, link);
            }
        }
    }

    /// Closes the circuits that hold most until all data that waits, in cells or to be cut into
    /// cells, takes `memory` at most; returns what it takes.
    pub fn keep_within(&mut self, now: Instant, memory: Bytes) -> Bytes {
        let held = self.held();
        let mut total: u64 = held.values().sum();
        if total > memory.get() {
            let mut held: Vec<(u64, CircuitKey)> =
                held.into_iter().map(|(key, held)| (held, key)).collect();
            held.sort_unstable();
            while let Some((held, key)) = held.pop()
                && total > memory.get()
            {
                total -= held;
                self.counters.out_of_memory += 1;
                let why = Failure::Closed(Reason::Other);
                self.end_circuit(now, key, Reason::Other, None, why);
            }
        }
        Bytes::new(total)
    }

    /// The memory that each circuit's data takes, that of its streams included.
    fn held(&mut self) -> BTreeMap<CircuitKey, u64> {
        let flows = self.flows();
        let mut held: BTreeMap<CircuitKey, u64> = flows
            .map(|(key, flows)| (key, flows.into_iter().flatten().map(cells).sum()))
            .map(|(key, cells): (_, u64)| (key, cells * CELL_MEMORY))
            .collect();
        let host = &self.host;
        self.streams.retain(|stream, circuit| {
            let (view, circuit) = (host.stream_view(*stream), held.get_mut(circuit));
            let Some((view, circuit)) = view.zip(circuit) else {
                return false;
            };
            *circuit += view.held.get() * CELL_MEMORY + view.pending.get();
            true
        });
        held
    }

    fn handle_channels(&mut self, now: Instant) {
        let due = self.timed.iter().take_while(|(at, _)| *at <= now);
        let due: Vec<LinkId> = due.map(|(_, id)| *id).collect();
        for id in due {
            if let Some(link) = self.link_mut(id) {
                link.handle_timeout(now);
            }
            self.after_channel(now, id);
        }
    }

    /// Removes links whose neighbour is gone, which datagrams do not tell. Who opened a link asks.
    fn look_after_neighbours(&mut self, now: Instant) {
        let ids: Vec<LinkId> = self.by_peer.values().copied().collect();
        for id in ids {
            let Some(link) = self.links.get(id.index()).and_then(Option::as_ref) else {
                continue;
            };
            let since = |at: Instant| now.saturating_since(at);
            let silence = since(link.heard);
            if link.asked.is_some_and(|asked| since(asked) >= PATIENCE) {
                self.remove_link(now, id);
            } else if link.open && silence >= QUIET {
                let opened = link.opened_to.is_some();
                let open = link.names.iter().find(|(_, key)| self.is_open(*key));
                match open {
                    Some((name, _)) if opened => self.send_probe(now, id, name),
                    Some(_) if silence >= GONE => self.remove_link(now, id),
                    _ => {}
                }
            }
        }
    }

    /// Removes links that nobody needs, or whose handshake nobody finishes.
    fn keep_up_links(&mut self, now: Instant) {
        let alone = self.plan.multiplexing == Multiplexing::PerCircuit;
        let old: Vec<LinkId> = self
            .by_peer
            .values()
            .copied()
            .filter(|id| {
                let link = self.links.get(id.index()).and_then(Option::as_ref);
                link.is_some_and(|link| {
                    let patience = match (link.open, link.opened_to) {
                        (false, _) => HANDSHAKE,
                        (true, Some(_)) if alone && link.spent => Duration::ZERO,
                        (true, Some(_)) => IDLE,
                        (true, None) => IDLE_ACCEPTED,
                    };
                    let unused = link.names.len() == 0 || !link.open;
                    unused && now.saturating_since(link.used) >= patience
                })
            })
            .collect();
        for id in old {
            self.remove_link(now, id);
        }
    }
}
