//! One endpoint: the handshake around a sender and a receiver.

use std::cmp::Ordering;

use hopflow_units::{Bytes, Duration, Instant};

use crate::receiver::Receiver;
use crate::segment::{Flags, Segment};
use crate::sender::{Outgoing, Sender};
use crate::{Config, Stats};

/// Where the handshake stands (RFC 9293, section 3.3.2, without the states of closing, which
/// follow from what the halves have sent and received).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waits for a SYN.
    Listen,
    /// Has sent, or is about to send, SYN (or, as the passive side, SYN and ACK).
    Opening { passive: bool, attempt: Attempt },
    /// Both sides know of each other.
    Established,
}

/// The transmissions of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    /// Whether one is to go out now.
    due: bool,
    /// When the next one is due.
    retry: Instant,
    /// How many went out for want of an answer, besides the first.
    retries: u32,
}

const FIRST_ATTEMPT: Attempt = Attempt {
    due: true,
    retry: Instant::FAR_FUTURE,
    retries: 0,
};

/// One endpoint of a connection.
///
/// The contract: time never goes back from call to call. After any call that changes something
/// ([`write`](Self::write), [`read`](Self::read), [`close`](Self::close),
/// [`receive`](Self::receive), [`handle_timeout`](Self::handle_timeout)) call
/// [`poll_transmit`](Self::poll_transmit) until it returns `None`, then ask
/// [`poll_timeout`](Self::poll_timeout) when to call [`handle_timeout`](Self::handle_timeout) at
/// the latest.
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    sender: Sender,
    receiver: Receiver,
    acks_sent: u64,
}

impl Connection {
    /// The active side: the first segment it transmits is a SYN.
    pub fn connect(config: &Config) -> Self {
        let opening = State::Opening {
            passive: false,
            attempt: FIRST_ATTEMPT,
        };
        Self::new(config, opening)
    }

    /// The passive side: it waits for a SYN.
    pub fn listen(config: &Config) -> Self {
        Self::new(config, State::Listen)
    }

    /// An endpoint that needs no handshake, for what carries the connection has told both sides of
    /// each other: the peer is known to have the same configuration.
    pub fn established(config: &Config) -> Self {
        let mut connection = Self::new(config, State::Established);
        // Buffers are at most 2 GiB.
        let window = config.receive_buffer.get() as u32;
        connection.sender.offered(0, window);
        connection
    }

    fn new(config: &Config, state: State) -> Self {
        Self {
            state,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            acks_sent: 0,
        }
    }

    /// Takes as many of `len` bytes as the send buffer has room for, and returns how many.
    pub fn write(&mut self, len: Bytes) -> Bytes {
        Bytes::new(self.sender.write(len.get()))
    }

    /// Whether there is a limit on what is written and not yet sent.
    pub const fn limits_unsent(&self) -> bool {
        self.sender.limits_unsent()
    }

    /// Free room of the send buffer.
    pub fn send_space(&self) -> Bytes {
        Bytes::new(self.sender.space())
    }

    /// Bytes written and not yet sent for the first time.
    pub fn unsent(&self) -> Bytes {
        let sent = self.sender.board().nxt();
        Bytes::new(self.sender.written().saturating_sub(sent))
    }

    /// Bytes thought to be in the network, which is what the congestion window bounds
    /// (RFC 6675, `pipe`).
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.sender.board().pipe())
    }

    /// Bytes sent and not acknowledged cumulatively, which is what the peer's window bounds.
    pub fn outstanding(&self) -> Bytes {
        Bytes::new(self.sender.board().outstanding())
    }

    /// Bytes that have arrived in order and were not read.
    pub fn readable(&self) -> Bytes {
        Bytes::new(self.receiver.readable())
    }

    /// Takes `len` bytes out of the receive buffer, at most what is [`readable`](Self::readable).
    pub fn read(&mut self, len: Bytes) {
        self.receiver.read(len.get());
    }

    /// Ends this side's stream: FIN follows the last byte written.
    pub fn close(&mut self) {
        self.sender.close();
    }

    /// Whether the handshake is complete on this side.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the other side has ended its stream and all of it has arrived.
    pub fn is_peer_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Whether both streams have ended and the other side knows that this one has.
    pub fn is_closed(&self) -> bool {
        self.receiver.is_finished() && self.sender.is_fin_acknowledged()
    }

    /// The congestion window.
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.sender.window().cwnd())
    }

    /// The slow start threshold; [`Bytes::MAX`] before the first loss.
    pub fn ssthresh(&self) -> Bytes {
        Bytes::new(self.sender.window().ssthresh())
    }

    /// The smoothed round-trip time, once it was measured.
    pub fn srtt(&self) -> Option<Duration> {
        self.sender.rtt().srtt()
    }

    /// The smallest round-trip time measured, if any.
    pub fn min_rtt(&self) -> Option<Duration> {
        let rtt = self.sender.rtt();
        rtt.srtt().map(|_| rtt.min_rtt())
    }

    /// The retransmission timeout, with all its backing off.
    pub fn rto(&self) -> Duration {
        self.sender.rto()
    }

    /// Counters since the connection was made.
    pub fn stats(&self) -> Stats {
        Stats {
            acks_sent: self.acks_sent,
            ..*self.sender.stats()
        }
    }

    /// Takes in a segment of the other side.
    pub fn receive(&mut self, now: Instant, segment: &Segment) {
        if segment.is_syn() {
            self.receive_syn(now, segment);
            return;
        }
        match self.state {
            State::Established => {}
            State::Opening {
                passive: true,
                attempt,
            } => self.establish(now, segment, attempt),
            // Data that overtook the SYN; it will be sent again.
            State::Listen | State::Opening { .. } => return,
        }
        if segment.flags.has(Flags::ACK) {
            self.sender.acknowledge(now, segment);
        }
        self.receiver.receive(now, segment);
    }

    fn receive_syn(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Listen => {
                self.receiver.opened(segment.timestamp);
                self.state = State::Opening {
                    passive: true,
                    attempt: FIRST_ATTEMPT,
                };
            }
            State::Opening {
                passive: false,
                attempt,
            } if segment.flags.has(Flags::ACK) => {
                self.receiver.opened(segment.timestamp);
                self.establish(now, segment, attempt);
            }
            State::Opening {
                passive: true,
                attempt,
            } => {
                // The other side has not seen the answer.
                let attempt = Attempt {
                    due: true,
                    ..attempt
                };
                self.state = State::Opening {
                    passive: true,
                    attempt,
                };
            }
            // The last acknowledgement of the handshake was lost, or a SYN came twice.
            State::Established => self.receiver.opened(segment.timestamp),
            State::Opening { passive: false, .. } => {}
        }
    }

    fn establish(&mut self, now: Instant, segment: &Segment, attempt: Attempt) {
        self.state = State::Established;
        self.sender.established(now, segment, attempt.retries);
    }

    /// The next segment to put onto the wire; `None` when there is no more for the moment.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.state != State::Established {
            return self.transmit_syn(now);
        }
        match self.sender.next(now) {
            Some(Outgoing::Data(range)) => Some(self.data_segment(now, range.start, range.end)),
            Some(Outgoing::Probe) => Some(self.pure_ack(now, Flags::ACK.with(Flags::PROBE))),
            None if self.receiver.ack_due() => Some(self.pure_ack(now, Flags::ACK)),
            None => None,
        }
    }

    fn transmit_syn(&mut self, now: Instant) -> Option<Segment> {
        let rto = self.sender.rto();
        let State::Opening { passive, attempt } = &mut self.state else {
            return None;
        };
        if !std::mem::take(&mut attempt.due) {
            return None;
        }
        attempt.retry = now + rto;
        let flags = if *passive {
            Flags::SYN.with(Flags::ACK)
        } else {
            Flags::SYN
        };
        Some(self.segment(now, 0, 0, flags))
    }

    fn data_segment(&mut self, now: Instant, start: u64, end: u64) -> Segment {
        let written = self.sender.written();
        let flags = match end.cmp(&written) {
            Ordering::Less => Flags::ACK,
            Ordering::Equal => Flags::ACK.with(Flags::PUSH),
            Ordering::Greater => Flags::ACK.with(Flags::PUSH).with(Flags::FIN),
        };
        self.receiver.answered(now);
        self.segment(now, start, (end.min(written) - start) as u32, flags)
    }

    fn pure_ack(&mut self, now: Instant, flags: Flags) -> Segment {
        self.acks_sent += 1;
        self.segment(now, self.sender.board().nxt(), 0, flags)
    }

    fn segment(&mut self, now: Instant, seq: u64, len: u32, flags: Flags) -> Segment {
        let ack = self.receiver.acknowledge();
        Segment {
            seq,
            ack: ack.next,
            timestamp: now,
            echo: ack.echo,
            len,
            window: ack.window,
            sack: ack.sack,
            flags,
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called at the latest, if ever.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let at = match self.state {
            State::Listen => Instant::FAR_FUTURE,
            State::Opening { attempt, .. } => attempt.retry,
            State::Established => self.sender.deadline().min(self.receiver.deadline()),
        };
        (at != Instant::FAR_FUTURE).then_some(at)
    }

    /// Does what is due by the time; harmless when nothing is.
    pub fn handle_timeout(&mut self, now: Instant) {
        match &mut self.state {
            State::Listen => {}
            State::Opening { attempt, .. } => {
                if attempt.retry <= now {
                    attempt.due = true;
                    attempt.retry = Instant::FAR_FUTURE;
                    attempt.retries += 1;
                    self.sender.rtt_mut().back_off();
                }
            }
            State::Established => {
                self.sender.handle_timeout(now);
                self.receiver.handle_timeout(now);
            }
        }
    }
}
