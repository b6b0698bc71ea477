//! DTLS 1.3 over datagrams.

mod clock;
mod config;
mod greeting;
mod records;
mod suite;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;

use dimpl::{Dtls, Output, TimeoutError};
use hopflow_units::Instant;

use crate::state::HANDSHAKE_TIMEOUT;
use crate::{Error, Fingerprint, Identity, State};
use clock::Clock;
pub use greeting::{Cookies, Knock};
use greeting::{Heads, Received};
use records::CIPHERTEXT;

/// How many datagrams may overtake the end of the handshake; later ones are dropped, for the
/// library queues them and fails when its queue is full. More would be memory of who only began to call.
const MAX_EARLY: usize = 1;

/// Records in a datagram of a caller whose handshake is not over: its last flight has one, of a caller that
/// was asked for a certificate two, and perhaps there is an acknowledgement.
const MOST_OF_CALLER: usize = 3;
/// Records in other datagrams, as many as are opened together: the called's only flight has five, and
/// perhaps an acknowledgement.
const MOST_RECORDS: usize = MOST_JOINED;

/// How many datagrams are opened together at most. For each one that it gives out, the library looks
/// at all of them; it takes up to 16.
const MOST_JOINED: usize = 8;

/// Shorter datagrams may hold what the library itself has to say and does not look for behind other
/// records: a renewal of keys has 35 bytes.
const LEAST_JOINED: usize = 256;

/// One end of a link over datagrams, secured by DTLS 1.3 (RFC 9147).
///
/// What is sealed in one piece travels as one record in one datagram. Datagrams may be lost,
/// duplicated, reordered and forged on the way: lost ones stay lost once the channel is open,
/// flights of the handshake are repeated, and all that is not fresh and authentic is dropped
/// without a trace. Freshness is judged in a window of 64 records, so a datagram that 64 later
/// ones have overtaken is dropped, too.
///
/// Before the first [`receive`](Self::receive) or
/// [`poll_transmit`](Self::poll_transmit) the channel does nothing.
pub struct DatagramChannel {
    /// Absent once the channel is closed.
    dtls: Option<Box<Dtls>>,
    /// Whom the caller wants; absent at the side that was called.
    expected: Option<Fingerprint>,
    verified: bool,
    state: State,
    clock: Clock,
    /// When the handshake must be done; unknown until the channel is first used.
    deadline: Option<Instant>,
    /// When `dtls` wants to be called again.
    timeout: Instant,
    outbox: VecDeque<Vec<u8>>,
    scratch: Vec<u8>,
    /// How many datagrams overtook the end of the handshake.
    early: usize,
    heads: Heads,
    /// Whether the neighbour said since that was asked last that it does not have the channel.
    lost: bool,
}

impl DatagramChannel {
    /// The largest plaintext that [`seal`](Self::seal) takes, in bytes.
    pub const MAX_PLAINTEXT: usize = records::MAX_PLAINTEXT;

    /// What a record adds to its plaintext, in bytes.
    pub const OVERHEAD: usize = records::OVERHEAD;

    /// The largest datagram a channel sends, in bytes.
    ///
    /// The first datagram of a handshake has this size, so a path that cannot carry full records
    /// never opens.
    pub const MAX_DATAGRAM: usize = Self::MAX_PLAINTEXT + Self::OVERHEAD;

    /// The caller's end of a new channel to the owner of the certificate `expected`.
    ///
    /// `epoch` is the moment that the driver calls [`Instant::ZERO`].
    pub fn connect(expected: Fingerprint, epoch: std::time::Instant) -> Self {
        let (config, nobody) = config::initiator();
        let mut dtls = Dtls::new_13(config, nobody, epoch);
        dtls.set_active(true);
        Self::new(dtls, Some(expected), epoch)
    }

    /// The end of a new channel at the side that was called.
    ///
    /// It has a few kilobytes of memory and makes a signature: a driver should make one only for an
    /// opening that [`Cookies::check`] finds [`Knock::Proven`], and bound how many are
    /// [`State::Handshaking`]. The first datagram says who calls, and others that begin a handshake
    /// are dropped.
    ///
    /// `epoch` is the moment that the driver calls [`Instant::ZERO`].
    pub fn accept(identity: &Identity, epoch: std::time::Instant) -> Self {
        let dtls = Dtls::new_13(config::responder(), identity.dtls(), epoch);
        Self::new(dtls, None, epoch)
    }

    fn new(dtls: Dtls, expected: Option<Fingerprint>, epoch: std::time::Instant) -> Self {
        let heads = match expected {
            Some(_) => Heads::caller(),
            None => Heads::Called(None),
        };
        Self {
            dtls: Some(Box::new(dtls)),
            verified: expected.is_none(),
            expected,
            state: State::Handshaking,
            clock: Clock::new(epoch),
            deadline: None,
            timeout: Instant::ZERO,
            outbox: VecDeque::new(),
            scratch: vec![0; Self::MAX_DATAGRAM],
            early: 0,
            heads,
            lost: false,
        }
    }

    /// The smallest first datagram of a caller that is answered, in bytes (as RFC 9000, section
    /// 14.1).
    pub const LEAST_OPENING: usize = greeting::LEAST_OPENING;

    /// Whether `datagram` may be of this channel: it is no opening of another one.
    #[inline]
    pub fn is_of(&self, datagram: &[u8]) -> bool {
        self.heads.are_of(datagram)
    }

    /// Where the channel stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How many bytes of `data`, which is not empty and holds datagrams of `segment` bytes each but the
    /// last, [`receive`](Self::receive) can take together: those of the first datagram, or of several
    /// from the first on.
    #[inline]
    pub fn joined(&self, segment: usize, data: &[u8]) -> usize {
        let first = segment.min(data.len());
        if segment < LEAST_JOINED || self.state != State::Open {
            return first;
        }
        let datagrams = data.chunks_exact(segment).take(MOST_JOINED);
        let alike = datagrams.take_while(|other| other[0] == data[0] && is_whole_record(other));
        first.max(alike.count() * segment)
    }

    /// Takes a datagram from the network, or as many as [`joined`](Self::joined) says, and hands each
    /// piece of plaintext in it to `out`.
    pub fn receive(&mut self, now: Instant, datagram: &[u8], out: &mut dyn FnMut(&[u8])) {
        self.advance(now);
        let records = match self.heads.receive(datagram) {
            Received::Records(records) => records,
            Received::Repeat(opening) => return self.outbox.push_back(opening),
            Received::Lost => {
                self.lost = true;
                return;
            }
            Received::Nothing => return,
        };
        if !records::are_few(records, self.most_records()) {
            return;
        }
        if self.state == State::Handshaking && carries_data(records) {
            self.early += 1;
            if self.early > MAX_EARLY {
                return;
            }
        }
        self.drive(|dtls| dtls.handle_packet(records));
        self.pump(out);
    }

    /// How many records a datagram may hold.
    #[inline]
    fn most_records(&self) -> usize {
        match self.heads {
            Heads::Called(_) if self.state == State::Handshaking => MOST_OF_CALLER,
            _ => MOST_RECORDS,
        }
    }

    /// Appends one datagram that carries `plain` to `out`, and says whether it did.
    ///
    /// Only an open channel seals; at most [`MAX_PLAINTEXT`](Self::MAX_PLAINTEXT) bytes, and not
    /// nothing.
    pub fn seal(&mut self, now: Instant, plain: &[u8], out: &mut Vec<u8>) -> bool {
        if plain.is_empty() || plain.len() > Self::MAX_PLAINTEXT {
            return false;
        }
        self.advance(now);
        if self.state != State::Open {
            return false;
        }
        self.drive(|dtls| dtls.send_application_data(plain).map(drop));
        let Some(dtls) = self.dtls.as_mut() else {
            return false;
        };
        let start = out.len();
        out.resize(start + plain.len() + Self::OVERHEAD, 0);
        // Whatever else there was to send went to the outbox before, so this packet is the record.
        let len = match dtls.poll_output(&mut out[start..]) {
            Output::Packet(record) => record.len(),
            _ => 0,
        };
        debug_assert!(len > 0, "a sealed record comes out at once");
        out.truncate(start + len);
        self.heads.mark(now, &out[start..]);
        len > 0
    }

    /// Whether the neighbour said since the last call that it does not have this channel, in answer to a
    /// record of ours: only who saw that could say so, but perhaps somebody on the way did.
    #[inline]
    pub const fn take_lost(&mut self) -> bool {
        std::mem::replace(&mut self.lost, false)
    }

    /// Appends one datagram to `out` that the channel itself has to send, and says whether there
    /// was one.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        self.advance(now);
        let Some(datagram) = self.outbox.pop_front() else {
            return false;
        };
        out.extend_from_slice(&datagram);
        true
    }

    /// When [`handle_timeout`](Self::handle_timeout) should be called at the latest.
    pub fn poll_timeout(&self) -> Instant {
        match (&self.state, self.deadline) {
            (State::Closed(_), _) => Instant::FAR_FUTURE,
            (State::Handshaking, Some(deadline)) => self.timeout.min(deadline),
            _ => self.timeout,
        }
    }

    /// Lets time pass: repeats lost flights, or gives up.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    /// Closes the channel; one datagram, which may get lost, tells the neighbour.
    pub fn close(&mut self) {
        if matches!(self.state, State::Closed(_)) {
            return;
        }
        self.drive(Dtls::close);
        self.pump(&mut |_| ());
        self.end(Error::ClosedHere);
    }

    fn advance(&mut self, now: Instant) {
        let handshaking = self.state == State::Handshaking;
        if !self.clock.advance(now, handshaking || self.timeout <= now) {
            return;
        }
        let deadline = *self.deadline.get_or_insert(now + HANDSHAKE_TIMEOUT);
        if handshaking && deadline <= now {
            return self.end(Error::TimedOut);
        }
        let time = self.clock.time();
        self.drive(|dtls| dtls.handle_timeout(time));
        self.pump(&mut |_| ());
    }

    /// Makes one call into the library, all of whose errors are fatal.
    fn drive(&mut self, call: impl FnOnce(&mut Dtls) -> Result<(), dimpl::Error>) {
        let Some(dtls) = self.dtls.as_mut() else {
            return;
        };
        match call(dtls) {
            Ok(()) => (),
            Err(dimpl::Error::Timeout(TimeoutError::Connect | TimeoutError::Handshake)) => {
                self.end(Error::TimedOut);
            }
            Err(error) => self.end(Error::Protocol(error.to_string())),
        }
    }

    /// Takes everything that the library has to say.
    fn pump(&mut self, out: &mut dyn FnMut(&[u8])) {
        while let Some(dtls) = self.dtls.as_mut() {
            match dtls.poll_output(&mut self.scratch) {
                Output::ApplicationData(plain) if self.state == State::Open => out(plain),
                Output::Packet(packet) => self.outbox.push_back(self.heads.send(packet)),
                Output::BufferTooSmall { needed } => self.scratch.resize(needed, 0),
                Output::PeerCert(certificate) => {
                    self.verified = self.expected == Some(Fingerprint::of_certificate(certificate));
                    if !self.verified {
                        self.outbox.clear();
                        self.end(Error::WrongFingerprint);
                    }
                }
                Output::Connected if self.verified => {
                    self.state = State::Open;
                    self.heads.on_open();
                }
                Output::CloseNotify => self.end(Error::ClosedByPeer),
                Output::Timeout(time) => {
                    self.timeout = self.clock.instant(time);
                    return;
                }
                _ => (),
            }
        }
    }

    fn end(&mut self, why: Error) {
        if !matches!(self.state, State::Closed(_)) {
            self.state = State::Closed(why);
        }
        self.dtls = None;
    }
}

/// Whether `datagram` starts with a ciphertext of epoch 3, the first one of application data (RFC
/// 9147, sections 4 and 6.1).
fn carries_data(datagram: &[u8]) -> bool {
    datagram
        .first()
        .is_some_and(|head| head & 0b1110_0011 == 0b0010_0011)
}

/// Whether `datagram` is one ciphertext, whose header has two bytes of the number and a length, as the
/// library makes them (RFC 9147, section 4). It is then opened, or dropped, whatever is behind it.
#[inline]
fn is_whole_record(datagram: &[u8]) -> bool {
    datagram[0] >= CIPHERTEXT && records::first(datagram) == Some(datagram.len())
}

impl fmt::Debug for DatagramChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatagramChannel")
            .field("expected", &self.expected)
            .field("state", &self.state)
            .field("timeout", &self.timeout)
            .field("outbox", &self.outbox.len())
            .finish_non_exhaustive()
    }
}
