//! TLS 1.3 over a stream of bytes.

mod config;
mod session;

use std::fmt;

use hopflow_units::Instant;

use crate::state::HANDSHAKE_TIMEOUT;
use crate::{Error, Fingerprint, Identity, State};
pub(crate) use config::responder_config;
use session::{Job, Session, Step};

/// One end of a link over a stream of bytes such as TCP, secured by TLS 1.3 (RFC 8446).
///
/// What is sealed comes out at the other end in the same order, but in other pieces. Bytes of the
/// network must be given to [`receive`](Self::receive) in order and may be cut anywhere. All bytes
/// that [`seal`](Self::seal) and [`poll_transmit`](Self::poll_transmit) append must be sent in the
/// order in which they were appended.
pub struct StreamChannel {
    session: Session,
    state: State,
    /// When the handshake must be done; unknown until the channel is first used.
    deadline: Option<Instant>,
    /// Bytes of the network that are no whole record yet.
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl StreamChannel {
    /// What a record adds to its plaintext, in bytes: a header of 5, the content type, and a tag
    /// of 16 (RFC 8446, section 5.2).
    pub const OVERHEAD: usize = 22;

    /// The caller's end of a new channel to the owner of the certificate `expected`.
    pub fn connect(expected: Fingerprint) -> Self {
        Self::new(Session::initiator(expected))
    }

    /// The end of a new channel at the side that was called.
    pub fn accept(identity: &Identity) -> Self {
        Self::new(Session::responder(identity))
    }

    fn new(session: Session) -> Self {
        Self {
            session,
            state: State::Handshaking,
            deadline: None,
            inbox: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// Where the channel stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Takes bytes from the network and hands each piece of plaintext in them to `out`.
    pub fn receive(&mut self, now: Instant, bytes: &[u8], out: &mut dyn FnMut(&[u8])) {
        self.handle_timeout(now);
        if matches!(self.state, State::Closed(_)) {
            return;
        }
        self.inbox.extend_from_slice(bytes);
        self.run(out);
    }

    /// Appends bytes that carry `plain` to `out`, and says whether it did.
    ///
    /// Only an open channel seals, and not nothing. Every 16 KiB of plaintext are a record.
    pub fn seal(&mut self, now: Instant, plain: &[u8], out: &mut Vec<u8>) -> bool {
        self.handle_timeout(now);
        if self.state != State::Open || plain.is_empty() {
            return false;
        }
        // What the handshake left to send goes first.
        out.append(&mut self.outbox);
        match self.session.write(Job::Encrypt(plain), out) {
            Ok(()) => true,
            Err(error) => {
                self.state = State::Closed(error);
                false
            }
        }
    }

    /// Appends all bytes to `out` that the channel itself has to send, and says whether there were
    /// any.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.handle_timeout(now);
        let any = !self.outbox.is_empty();
        out.append(&mut self.outbox);
        any
    }

    /// When [`handle_timeout`](Self::handle_timeout) should be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        match self.state {
            State::Handshaking => self.deadline.unwrap_or(Instant::ZERO),
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Lets time pass: starts the handshake, or gives it up.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.state != State::Handshaking {
            return;
        }
        match self.deadline {
            None => {
                self.deadline = Some(now + HANDSHAKE_TIMEOUT);
                self.run(&mut |_| ());
            }
            Some(deadline) if deadline <= now => self.state = State::Closed(Error::TimedOut),
            Some(_) => (),
        }
    }

    /// Closes the channel; the neighbour is told by bytes that
    /// [`poll_transmit`](Self::poll_transmit) gives.
    pub fn close(&mut self) {
        if self.state == State::Open {
            // An alert that cannot be written is not worth another error.
            let _ = self.session.write(Job::CloseNotify, &mut self.outbox);
        }
        if !matches!(self.state, State::Closed(_)) {
            self.state = State::Closed(Error::ClosedHere);
        }
    }

    /// Lets the session work on the inbox until it needs more.
    fn run(&mut self, out: &mut dyn FnMut(&[u8])) {
        let mut used = 0;
        loop {
            let (discard, step) = self
                .session
                .read(&mut self.inbox[used..], &mut self.outbox, out);
            used += discard;
            match step {
                Step::Again => continue,
                Step::Blocked => (),
                Step::Ready => self.state = State::Open,
                Step::Closed(error) => self.state = State::Closed(error),
            }
            break;
        }
        self.inbox.drain(..used);
    }
}

impl fmt::Debug for StreamChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamChannel")
            .field("state", &self.state)
            .field("deadline", &self.deadline)
            .field("inbox", &self.inbox.len())
            .field("outbox", &self.outbox.len())
            .finish_non_exhaustive()
    }
}
