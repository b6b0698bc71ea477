//! The driver: time, packets and the nodes' contract.

use hopflow_overlay::{Event, Host, MAX_DATAGRAM};
use hopflow_units::{Bytes, Duration, Instant, LinkId};
use hopflow_wire::{Carrier, Frame, Frames};

use super::{Cargo, Chain, Due, Manner};
use crate::Counted;

/// Packets that one node may send at one time before it counts as mad.
const TOO_MANY: u32 = 100_000;
/// Longest time that an adversarial medium stays busy.
const BUSY: Duration = Duration::from_millis(2);
/// Arrivals in an adversarial medium fall on multiples of this, so that many coincide.
const GRID: u64 = 1_000_000;

impl Chain<'_> {
    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        while self.next_time() <= end {
            self.step();
        }
        self.now = self.now.max(end);
    }

    /// Runs for a span.
    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Runs until all that was written has arrived; false if it takes longer than `limit`.
    pub fn run_to_arrival(&mut self, limit: Duration) -> bool {
        let end = self.now + limit;
        while !self.all_arrived() {
            if self.next_time() > end {
                return false;
            }
            self.step();
        }
        true
    }

    /// Runs until nothing is due any more; false if it takes longer than `limit`.
    pub fn settle(&mut self, limit: Duration) -> bool {
        let end = self.now + limit;
        while self.next_time() != Instant::FAR_FUTURE {
            if self.next_time() > end {
                return false;
            }
            self.step();
        }
        true
    }

    /// Makes a node's medium busy: its output waits.
    pub fn hold_output(&mut self, node: usize) {
        self.nodes[node].busy = true;
    }

    /// Makes a node's medium free again.
    pub fn release_output(&mut self, node: usize) {
        self.nodes[node].busy = false;
        self.drain(node);
    }

    fn next_time(&self) -> Instant {
        let arrival = self.agenda.first_key_value();
        let arrival = arrival.map_or(Instant::FAR_FUTURE, |((at, _), _)| *at);
        let timeout = self.nodes.iter().map(|node| node.host.poll_timeout()).min();
        arrival
            .min(timeout.unwrap_or(Instant::FAR_FUTURE))
            .max(self.now)
    }

    fn step(&mut self) {
        self.now = self.next_time();
        self.watch.steps += 1;
        let now = self.now;
        if let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= now
        {
            let due = entry.remove();
            self.happen(due);
        } else {
            for node in 0..self.nodes.len() {
                if self.nodes[node].host.poll_timeout() <= now {
                    self.input(node, |host| host.handle_timeout(now));
                }
            }
        }
        self.check_flows();
    }

    fn happen(&mut self, due: Due) {
        let now = self.now;
        match due {
            Due::Arrival { pipe, cargo, len } => self.arrive(pipe, cargo, len),
            Due::Room { node, link } => self.tell_room(node, link),
            Due::Message {
                node,
                link,
                message,
            } => self.input(node, |host| host.receive_message(now, link, &message)),
            Due::Free { node } => self.release_output(node),
        }
    }

    /// Gives a node an input and then takes its outputs.
    pub(super) fn input(&mut self, node: usize, input: impl FnOnce(&mut dyn Host<Counted>)) {
        let before = self.views(node);
        let needless = self.manner == Manner::Adversarial && self.rng.chance(0.2);
        let host = self.nodes[node].host.as_mut();
        if needless {
            host.handle_timeout(self.now);
        }
        input(host);
        if needless {
            host.handle_timeout(self.now);
        }
        self.check_gates(node, &before);
        self.drain(node);
    }

    /// Takes what a node has to say and to send, unless its medium is busy.
    fn drain(&mut self, node: usize) {
        let mut sent = 0;
        loop {
            while let Some(event) = self.nodes[node].host.poll_event() {
                self.nodes[node].events.push(event);
            }
            if self.nodes[node].busy || !self.transmit(node) {
                break;
            }
            sent += 1;
            assert!(sent < TOO_MANY, "node {node} sends without end");
            if self.manner == Manner::Adversarial && self.rng.chance(0.1) {
                self.nodes[node].busy = true;
                let free = self.now + self.rng.time(BUSY);
                self.add(free, Due::Free { node });
            }
        }
        for event in std::mem::take(&mut self.nodes[node].events) {
            self.on_event(node, event);
        }
    }

    fn on_event(&mut self, node: usize, event: Event<Counted>) {
        match event {
            Event::Delivered { stream, payload } => {
                let found = self.nodes[node].ends.get(stream.index()).copied().flatten();
                let (number, end) = found.expect("data arrives on streams that exist");
                self.streams[number].take(self.now, end, &payload);
            }
            Event::Message {
                link,
                message,
                delay,
            } => {
                let (node, link) = self.pipes[self.nodes[node].out[link.index()]].to;
                let at = self.now + delay;
                self.add(
                    at,
                    Due::Message {
                        node,
                        link,
                        message,
                    },
                );
            }
            Event::Begun { .. } | Event::Finished { .. } | Event::Drained { .. } => {}
            Event::StreamClosed { stream } => {
                self.nodes[node].ends[stream.index()] = None;
            }
            Event::Closed { circuit, reason } => {
                assert!(
                    self.closures_expected,
                    "node {node} closes {circuit:?}: {reason:?}"
                );
                for state in &mut self.circuits {
                    let here = state.hops.iter().position(|hop| *hop == (node, circuit));
                    if let Some(hop) = here {
                        state.closed[hop].get_or_insert(reason);
                    }
                }
            }
        }
    }

    /// Sends one packet of a node, if it has any.
    fn transmit(&mut self, node: usize) -> bool {
        let before = self.views(node);
        let mut frames = Vec::new();
        let sent = self.nodes[node].host.poll_transmit(self.now, &mut frames);
        self.check_gates(node, &before);
        let Some((link, len)) = sent else {
            assert!(frames.is_empty(), "nothing is sent, yet there are frames");
            return false;
        };
        let carrier = self.plan.link.carrier;
        let promised: Bytes = frames.iter().map(|frame| frame.wire_len(carrier)).sum();
        assert_eq!(promised, len, "a packet's length is that of its frames");
        assert!(!frames.is_empty(), "an empty packet is sent");
        let pipe = self.nodes[node].out[link.index()];
        let room = match carrier {
            Carrier::Datagram => MAX_DATAGRAM,
            Carrier::Stream => self.pipes[pipe].room(),
        };
        assert!(len <= room, "{len} do not fit {room}");
        self.dispatch(pipe, frames, len);
        true
    }

    fn dispatch(&mut self, pipe: usize, mut frames: Vec<Frame<Counted>>, len: Bytes) {
        self.watch.note_packet(self.now, pipe, len);
        let (seen, lost) = (&mut self.watch.feedback, self.lost_feedback);
        frames.retain(|frame| {
            let feedback = matches!(frame, Frame::Feedback(_));
            *seen += u64::from(feedback);
            !(feedback && lost == Some(*seen - 1))
        });
        if self.lost_packet == Some(self.watch.packets - 1) {
            return;
        }
        let cargo = self.pack(frames, len);
        let arrivals = self.pipes[pipe].send(self.now, len, &mut self.rng);
        for at in arrivals {
            let cargo = cargo.clone();
            self.add(at, Due::Arrival { pipe, cargo, len });
        }
    }

    fn pack(&self, frames: Vec<Frame<Counted>>, len: Bytes) -> Cargo {
        if self.manner == Manner::Orderly {
            return Cargo::Frames(frames);
        }
        let mut bytes = Vec::new();
        for frame in &frames {
            let start = bytes.len() as u64;
            frame.encode(self.plan.link.carrier, &mut bytes);
            assert_eq!(
                bytes.len() as u64 - start,
                frame.wire_len(self.plan.link.carrier).get(),
                "a frame has another length than promised"
            );
        }
        assert!(bytes.len() as u64 <= len.get());
        Cargo::Encoded(bytes)
    }

    fn unpack(&self, cargo: Cargo) -> Vec<Frame<Counted>> {
        match cargo {
            Cargo::Frames(frames) => frames,
            Cargo::Encoded(bytes) => Frames::new(&bytes, self.plan.link.carrier)
                .map(|frame| frame.expect("our own encoding decodes"))
                .collect(),
        }
    }

    fn arrive(&mut self, pipe: usize, cargo: Cargo, len: Bytes) {
        let mut frames = self.unpack(cargo);
        let mut read = len;
        if self.manner == Manner::Adversarial {
            // What arrives at the same time on the same link may come as one.
            while let Some(entry) = self.agenda.first_entry()
                && entry.key().0 <= self.now
                && matches!(entry.get(), Due::Arrival { pipe: other, .. } if *other == pipe)
                && self.rng.chance(0.5)
            {
                if let Due::Arrival { cargo, len, .. } = entry.remove() {
                    frames.extend(self.unpack(cargo));
                    read += len;
                }
            }
        }
        let (node, link) = self.pipes[pipe].to;
        if self.pipes[pipe].is_stream() {
            let at = self.pipes[pipe].acknowledge(self.now, read);
            let (node, link) = self.sender(pipe);
            self.add(at, Due::Room { node, link });
        }
        let now = self.now;
        if self.manner == Manner::Adversarial && frames.len() > 1 && self.rng.chance(0.3) {
            let mut behind = frames.split_off(1 + self.rng.below(frames.len() as u64 - 1) as usize);
            self.input(node, |host| host.receive(now, link, &mut frames));
            self.input(node, |host| host.receive(now, link, &mut behind));
        } else {
            self.input(node, |host| host.receive(now, link, &mut frames));
        }
    }

    /// The node and its link that feed a pipe: a link's pipes are made in pairs.
    fn sender(&self, pipe: usize) -> (usize, LinkId) {
        self.pipes[pipe ^ 1].to
    }

    pub(super) fn tell_room(&mut self, node: usize, link: LinkId) {
        let pipe = &self.pipes[self.nodes[node].out[link.index()]];
        if !pipe.is_stream() {
            return;
        }
        let (now, room) = (self.now, pipe.room());
        self.input(node, |host| host.set_room(now, link, room));
    }

    fn add(&mut self, at: Instant, due: Due) {
        let at = match (&due, self.manner) {
            (Due::Arrival { .. }, Manner::Adversarial) => {
                Instant::from_nanos(at.as_nanos().div_ceil(GRID) * GRID)
            }
            _ => at,
        };
        self.agenda.insert((at, self.entered), due);
        self.entered += 1;
    }
}
