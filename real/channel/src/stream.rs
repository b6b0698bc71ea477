//! TLS 1.3 over a stream of bytes.

mod config;

use std::fmt;
use std::io::{BufRead, Write};

use hopflow_units::Instant;
use rustls::{CertificateError, ClientConnection, Connection, ServerConnection};

use crate::state::HANDSHAKE_TIMEOUT;
use crate::{Error, Fingerprint, Identity, State};
pub(crate) use config::responder_config;

/// Bytes that may arrive without any plaintext in them: a record of the greatest length (RFC 8446, section 5.2), and
/// some messages of a handshake. The library would keep 64 KiB of a handshake's message whose end does not come.
const MOST_SILENT: usize = 20 * 1024;

/// One end of a link over a stream of bytes such as TCP, secured by TLS 1.3 (RFC 8446).
///
/// What is sealed comes out at the other end in the same order, but in other pieces. Bytes of the
/// network must be given to [`receive`](Self::receive) in order and may be cut anywhere. All bytes
/// that [`seal`](Self::seal) and [`poll_transmit`](Self::poll_transmit) append must be sent in the
/// order in which they were appended.
pub struct StreamChannel {
    tls: Box<Connection>,
    state: State,
    /// When the handshake must be done; unknown until the channel is first used.
    deadline: Option<Instant>,
    /// Bytes that have arrived since the last plaintext.
    silent: usize,
}

impl StreamChannel {
    /// What a record adds to its plaintext, in bytes: a header of 5, the content type, and a tag
    /// of 16 (RFC 8446, section 5.2).
    pub const OVERHEAD: usize = 22;

    /// Bytes of plaintext in a record at most. The neighbour reads none of them before the whole record is there: one
    /// of 16 KiB would not fit into a connection's first window (RFC 6928), and its first cell would wait for a round
    /// trip.
    pub const RECORD: usize = config::RECORD;

    /// The caller's end of a new channel to the owner of the certificate `expected`.
    pub fn connect(expected: Fingerprint) -> Self {
        let tls = ClientConnection::new(config::initiator(expected), config::no_name());
        Self::new(tls.expect("the configuration is sound").into())
    }

    /// The end of a new channel at the side that was called.
    pub fn accept(identity: &Identity) -> Self {
        let tls = ServerConnection::new(identity.tls());
        Self::new(tls.expect("the configuration is sound").into())
    }

    fn new(mut tls: Connection) -> Self {
        // What is sealed is taken at once, however much it is.
        tls.set_buffer_limit(None);
        Self {
            tls: Box::new(tls),
            state: State::Handshaking,
            deadline: None,
            silent: 0,
        }
    }

    /// Where the channel stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// About how many bytes the channel holds of records and messages whose end has not arrived: at most as
    /// many as arrived since the last plaintext.
    #[must_use]
    pub const fn buffered(&self) -> usize {
        self.silent
    }

    /// Takes bytes from the network and hands each piece of plaintext in them to `out`.
    pub fn receive(&mut self, now: Instant, bytes: &[u8], out: &mut dyn FnMut(&[u8])) {
        self.handle_timeout(now);
        let mut rest = bytes;
        while !rest.is_empty() && !matches!(self.state, State::Closed(_)) {
            self.read(&mut rest, out);
        }
    }

    /// Appends bytes that carry `plain` to `out`, and says whether it did.
    ///
    /// Only an open channel seals, and not nothing. Every [`RECORD`](Self::RECORD) bytes of plaintext are a record.
    pub fn seal(&mut self, now: Instant, plain: &[u8], out: &mut Vec<u8>) -> bool {
        self.handle_timeout(now);
        if self.state != State::Open || plain.is_empty() {
            return false;
        }
        if let Err(error) = self.tls.writer().write_all(plain) {
            self.end(Error::Protocol(error.to_string()));
            return false;
        }
        self.poll_transmit(now, out)
    }

    /// Appends all bytes to `out` that the channel itself has to send, and says whether there were
    /// any.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.handle_timeout(now);
        let before = out.len();
        while self.tls.wants_write() {
            self.tls.write_tls(out).expect("a vector takes all");
        }
        out.len() > before
    }

    /// When [`handle_timeout`](Self::handle_timeout) should be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        match self.state {
            State::Handshaking => self.deadline.unwrap_or(Instant::ZERO),
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Lets time pass: gives up a handshake that does not end.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.state != State::Handshaking {
            return;
        }
        if *self.deadline.get_or_insert(now + HANDSHAKE_TIMEOUT) <= now {
            self.end(Error::TimedOut);
        }
    }

    /// Closes the channel; bytes that [`poll_transmit`](Self::poll_transmit) gives tell the
    /// neighbour.
    pub fn close(&mut self) {
        if self.state == State::Open {
            self.tls.send_close_notify();
        }
        self.end(Error::ClosedHere);
    }

    /// Reads a piece of `bytes`.
    fn read(&mut self, bytes: &mut &[u8], out: &mut dyn FnMut(&[u8])) {
        let before = bytes.len();
        if let Err(error) = self.tls.read_tls(bytes) {
            return self.end(Error::Protocol(error.to_string()));
        }
        self.silent += before - bytes.len();
        let outcome = self.tls.process_new_packets();
        // Plaintext that came before an error is as good as any.
        let mut reader = self.tls.reader();
        while let Ok(plain @ [_, ..]) = reader.fill_buf() {
            out(plain);
            let read = plain.len();
            reader.consume(read);
            self.silent = 0;
        }
        match outcome {
            Err(error) => self.end(reason(&error)),
            Ok(state) if state.peer_has_closed() => self.end(Error::ClosedByPeer),
            Ok(_) if self.silent > MOST_SILENT => {
                self.end(Error::Protocol("a message without an end".to_owned()));
            }
            Ok(_) if self.tls.is_handshaking() => (),
            Ok(_) => self.state = State::Open,
        }
    }

    /// The first reason to end is the one that counts.
    fn end(&mut self, why: Error) {
        if !matches!(self.state, State::Closed(_)) {
            self.state = State::Closed(why);
        }
    }
}

fn reason(error: &rustls::Error) -> Error {
    use rustls::Error::InvalidCertificate;
    match error {
        InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
            Error::WrongFingerprint
        }
        other => Error::Protocol(other.to_string()),
    }
}

impl fmt::Debug for StreamChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamChannel")
            .field("state", &self.state)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
