//! The driver: time, packets and the nodes' contract.

use hopflow_overlay::{Event, Host, MAX_DATAGRAM};
use hopflow_units::{Bytes, Duration, Instant, LinkId};
use hopflow_wire::{Carrier, Frame};

use super::Chain;
use super::agenda::Due;
use super::cargo::Cargo;
use crate::Counted;

/// Packets that one node may send at one time before it counts as mad.
const TOO_MANY: u32 = 100_000;

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
        let timeout = self.nodes.iter().map(|node| node.host.poll_timeout()).min();
        self.agenda
            .next_time()
            .min(timeout.unwrap_or(Instant::FAR_FUTURE))
            .max(self.now)
    }

    fn step(&mut self) {
        self.now = self.next_time();
        self.watch.steps += 1;
        let now = self.now;
        if let Some(due) = self.agenda.take(now) {
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
        let needless = self.choices.adds_timeouts();
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
            if let Some(free) = self.choices.busy_until(self.now) {
                self.nodes[node].busy = true;
                self.agenda.add(free, Due::Free { node });
            }
        }
        for event in std::mem::take(&mut self.nodes[node].events) {
            self.on_event(node, event);
        }
    }

    fn on_event(&mut self, node: usize, event: Event<Counted>) {
        match event {
            Event::Delivered { stream, payload } => {
                let found = self.nodes[node].stream_end(stream);
                let (number, end) = found.expect("data arrives on streams that exist");
                self.streams[number].take(self.now, end, &payload);
            }
            Event::Message {
                link,
                message,
                delay,
            } => {
                let (node, link) = self.wires.pipe(self.nodes[node].out(link)).to;
                let due = Due::Message {
                    node,
                    link,
                    message,
                };
                self.agenda.add(self.now + delay, due);
            }
            Event::Begun { .. }
            | Event::Link { .. }
            | Event::Finished { .. }
            | Event::Drained { .. } => {}
            Event::StreamClosed { stream } => self.nodes[node].remove_stream(stream),
            Event::Closed {
                circuit,
                reason,
                violation,
            } => {
                assert!(
                    violation.is_none_or(|it| it.reason() == reason),
                    "{violation:?} gives {reason:?}"
                );
                self.circuits.on_closed(node, circuit, reason);
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
        let pipe = self.nodes[node].out(link);
        let room = match carrier {
            Carrier::Datagram => MAX_DATAGRAM,
            Carrier::Stream => self.wires.pipe(pipe).room(),
        };
        assert!(len <= room, "{len} do not fit {room}");
        self.dispatch(pipe, frames, len);
        true
    }

    fn dispatch(&mut self, pipe: usize, mut frames: Vec<Frame<Counted>>, len: Bytes) {
        let packet = self.watch.note_packet(self.now, pipe, len);
        let (watch, losses) = (&mut self.watch, self.losses);
        frames.retain(|frame| {
            let feedback = matches!(frame, Frame::Feedback(_) | Frame::Sack(_));
            !(feedback && losses.feedback == Some(watch.note_feedback()))
        });
        if losses.packet == Some(packet) {
            return;
        }
        let cargo = if self.choices.encodes() {
            Cargo::encode(&frames, self.plan.link.carrier, len)
        } else {
            Cargo::Values(frames)
        };
        let pipe_state = self.wires.pipe_mut(pipe);
        for at in pipe_state.send(self.now, len, self.choices.rng()) {
            let cargo = cargo.clone();
            let at = self.choices.arrival(at);
            self.agenda.add(at, Due::Arrival { pipe, cargo, len });
        }
    }

    fn arrive(&mut self, pipe: usize, cargo: Cargo, len: Bytes) {
        let (mut frames, read) = self.merge(pipe, cargo, len);
        if self.wires.pipe(pipe).is_stream() {
            let at = self.wires.pipe_mut(pipe).acknowledge(self.now, read);
            let (node, link) = self.wires.source(pipe);
            self.agenda.add(at, Due::Room { node, link });
        }
        let (node, link) = self.wires.pipe(pipe).to;
        let now = self.now;
        let behind = self.choices.split(&mut frames);
        self.input(node, |host| host.receive(now, link, &mut frames));
        if let Some(mut behind) = behind {
            self.input(node, |host| host.receive(now, link, &mut behind));
        }
    }

    /// The frames of a packet and of those that arrive together with it, and their bytes.
    fn merge(&mut self, pipe: usize, cargo: Cargo, len: Bytes) -> (Vec<Frame<Counted>>, Bytes) {
        let carrier = self.plan.link.carrier;
        let mut frames = cargo.into_frames(carrier);
        let mut read = len;
        while self.agenda.is_next_arrival(self.now, pipe) && self.choices.merges() {
            if let Some(Due::Arrival { cargo, len, .. }) = self.agenda.take(self.now) {
                frames.extend(cargo.into_frames(carrier));
                read += len;
            }
        }
        (frames, read)
    }

    pub(super) fn tell_room(&mut self, node: usize, link: LinkId) {
        let pipe = self.wires.pipe(self.nodes[node].out(link));
        if !pipe.is_stream() {
            return;
        }
        let (now, room) = (self.now, pipe.room());
        self.input(node, |host| host.set_room(now, link, room));
    }
}
