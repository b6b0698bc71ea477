//! What only the passing of time asks for.

use hopflow_units::{CircuitId as Name, Duration, Instant, LinkId};
use hopflow_wire::{Carrier, Reason};

use super::Engine;
use crate::circuit::Phase;
use crate::link::{Doubted, Verdict};
use crate::types::{CircuitKey, Failure};

/// How often links are looked at.
const UPKEEP: Duration = Duration::from_secs(1);
/// In how many turns neighbours on datagrams are asked about all circuits.
const TURNS: usize = 60;
/// Circuits in one question: a node answers so many at once that are gone.
const ASKED: usize = 64;

impl Engine {
    /// When [`Engine::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Instant {
        let upkeep = (self.links.len() > 0).then_some(self.next_upkeep);
        let links = [self.links.timeout(), self.links.doubt_timeout()];
        let others = [self.circuits.timeout(), upkeep];
        let times = links.into_iter().chain(others);
        times.flatten().fold(self.host.poll_timeout(), Instant::min)
    }

    /// Before when no cell leaves, whatever arrives; the far future if none waits for the token bucket
    /// or for the scheduler's next run. A driver may let arrivals and timeouts wait until then: so wakes
    /// once for what a refill pays.
    pub fn poll_resume(&self) -> Instant {
        self.host.poll_resume()
    }

    /// Handles everything that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.host.poll_timeout() <= now {
            self.host.handle_timeout(now);
        }
        for id in self.links.due(now) {
            if let Some(link) = self.links.get_mut(id) {
                link.handle_timeout(now);
            }
            self.after_channel(now, id);
        }
        while let Some(doubted) = self.links.take_doubted(now) {
            match doubted {
                Doubted::Ask(id) => self.ask_doubted(now, id),
                Doubted::Gone(id) => self.remove_link(now, id),
            }
        }
        while let Some(key) = self.circuits.take_due(now) {
            self.on_alarm(now, key);
        }
        if self.next_upkeep <= now {
            self.next_upkeep = now + UPKEEP;
            self.keep_up(now);
        }
        self.take_events(now);
    }

    /// A circuit that carries no data waited long enough.
    fn on_alarm(&mut self, now: Instant, key: CircuitKey) {
        match self.circuits.get(key).map(|circuit| &circuit.phase) {
            Some(Phase::Building(_)) => self.send_step(now, key),
            Some(Phase::Nascent(_) | Phase::Closing) => {
                let why = Failure::Closed(Reason::Unreachable);
                self.end_circuit(now, key, Reason::Unreachable, None, why);
            }
            Some(Phase::Open(_)) | None => {}
        }
    }

    /// Takes no link and no circuit from others while `draining`.
    pub const fn set_draining(&mut self, draining: bool) {
        self.admission.set_draining(draining);
    }

    /// Closes all circuits, and links of datagrams; what is left to be sent says so.
    pub fn shut_down(&mut self, now: Instant) {
        let circuits: Vec<CircuitKey> = self.circuits.keys().collect();
        for key in circuits {
            self.end_circuit(now, key, Reason::Requested, None, Failure::Requested);
        }
        if self.plan.link.carrier == Carrier::Datagram {
            // Without a farewell, a neighbour would go on with the keys of a node that is gone.
            while self.pump(now, usize::MAX) {}
            let links: Vec<LinkId> = self.links.ids().collect();
            for link in links {
                self.remove_link(now, link);
            }
        }
    }

    /// Removes what nobody needs, and looks after neighbours on datagrams.
    fn keep_up(&mut self, now: Instant) {
        self.admission.forget(now);
        self.look_at_ages(now);
        self.close_idle_circuits(now);
        let host = &self.host;
        self.circuits
            .collect_streams(|stream| host.stream_view(stream).is_some());
        let multiplexing = self.plan.link.multiplexing;
        let links = self.links.iter();
        let expired =
            links.filter(|(_, link)| link.is_expired(now, multiplexing) || link.is_stuck(now));
        let expired: Vec<LinkId> = expired.map(|(id, _)| id).collect();
        for id in expired {
            self.remove_link(now, id);
        }
        self.links.shrink();
        if self.plan.link.carrier == Carrier::Datagram {
            self.look_after_neighbours(now);
            self.look_after_circuits(now);
        }
    }

    /// Closes circuits that nobody has used for long: they take memory, and their clients build others.
    fn close_idle_circuits(&mut self, now: Instant) {
        let then = now.saturating_sub(self.config.limits.idle);
        if then > Instant::ZERO {
            for key in self.circuits.idle_since(then) {
                self.drop_circuit(now, key);
            }
        }
    }

    /// Asks neighbours about circuits, each once in [`TURNS`] calls: what said that one is closed may
    /// have been lost, and who does not know it says so again. An answer may be lost as well, so that
    /// its absence says nothing about the neighbour.
    fn look_after_circuits(&mut self, now: Instant) {
        self.turn = (self.turn + 1) % TURNS;
        let ids: Vec<LinkId> = self.links.ids().collect();
        for id in ids {
            let Some(link) = self.links.get(id).filter(|link| link.open) else {
                continue;
            };
            let names = link.names.of_turn(self.turn, TURNS);
            let carries = names.filter(|(_, key)| self.circuits.is_open(*key));
            let names: Vec<Name> = carries.map(|(name, _)| name).collect();
            for names in names.chunks(ASKED) {
                self.send_probes(now, id, names);
            }
        }
    }

    /// Removes links whose neighbour is gone, which datagrams do not tell.
    fn look_after_neighbours(&mut self, now: Instant) {
        let ids: Vec<LinkId> = self.links.ids().collect();
        for id in ids {
            let Some(link) = self.links.get(id) else {
                continue;
            };
            let verdict = link.verdict(now, |key| self.circuits.is_open(key));
            match verdict {
                Verdict::Wait => {}
                Verdict::Ask(name) => {
                    self.send_probes(now, id, &[name]);
                    self.expect_answer(now, id);
                }
                Verdict::Wonder(name) => self.send_probes(now, id, &[name]),
                Verdict::Gone => self.remove_link(now, id),
            }
        }
    }
}
