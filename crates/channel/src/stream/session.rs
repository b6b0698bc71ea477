//! The TLS library's connection, one step at a time.

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic,
};

use super::config;
use crate::{Error, Fingerprint, Identity};

/// Room for the records of a small piece of plaintext; the library asks for more if it is short.
const SLACK: usize = 128;

/// A connection of either side.
pub(super) enum Session {
    Initiator(Box<UnbufferedClientConnection>),
    Responder(Box<UnbufferedServerConnection>),
}

/// What is to be written.
#[derive(Clone, Copy)]
pub(super) enum Job<'a> {
    None,
    Encrypt(&'a [u8]),
    CloseNotify,
}

/// What came of a step.
pub(super) enum Step {
    /// There is more to do.
    Again,
    /// The handshake needs bytes of the neighbour.
    Blocked,
    /// All that came is read, and the job is done.
    Ready,
    /// The connection is over.
    Closed(Error),
}

impl Session {
    pub(super) fn initiator(expected: Fingerprint) -> Self {
        let connection =
            UnbufferedClientConnection::new(config::initiator(expected), config::no_name());
        Self::Initiator(Box::new(connection.expect("the configuration is sound")))
    }

    pub(super) fn responder(identity: &Identity) -> Self {
        let connection = UnbufferedServerConnection::new(identity.tls());
        Self::Responder(Box::new(connection.expect("the configuration is sound")))
    }

    /// One step in reading `input`: plaintext goes to `out`, answers to `wire`; the first so many
    /// bytes of `input` are done with.
    pub(super) fn read(
        &mut self,
        input: &mut [u8],
        wire: &mut Vec<u8>,
        out: &mut dyn FnMut(&[u8]),
    ) -> (usize, Step) {
        self.step(input, Job::None, wire, out)
    }

    /// Appends what `job` asks for to `wire`.
    pub(super) fn write(&mut self, job: Job<'_>, wire: &mut Vec<u8>) -> Result<(), Error> {
        loop {
            match self.step(&mut [], job, wire, &mut |_| ()).1 {
                Step::Again => (),
                Step::Blocked | Step::Ready => return Ok(()),
                Step::Closed(error) => return Err(error),
            }
        }
    }

    fn step(
        &mut self,
        input: &mut [u8],
        job: Job<'_>,
        wire: &mut Vec<u8>,
        out: &mut dyn FnMut(&[u8]),
    ) -> (usize, Step) {
        match self {
            Self::Initiator(connection) => {
                take(connection.process_tls_records(input), job, wire, out)
            }
            Self::Responder(connection) => {
                take(connection.process_tls_records(input), job, wire, out)
            }
        }
    }
}

/// Does what the library's state asks for.
fn take<Side>(
    status: UnbufferedStatus<'_, '_, Side>,
    job: Job<'_>,
    wire: &mut Vec<u8>,
    out: &mut dyn FnMut(&[u8]),
) -> (usize, Step) {
    let mut discard = status.discard;
    let step = match status.state {
        Ok(ConnectionState::ReadTraffic(mut traffic)) => {
            while let Some(Ok(record)) = traffic.next_record() {
                discard += record.discard;
                out(record.payload);
            }
            Step::Again
        }
        Ok(ConnectionState::EncodeTlsData(data)) => {
            encode(data, wire);
            Step::Again
        }
        Ok(ConnectionState::TransmitTlsData(data)) => {
            data.done();
            Step::Again
        }
        Ok(ConnectionState::WriteTraffic(traffic)) => perform(traffic, job, wire),
        Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
            Step::Closed(Error::ClosedByPeer)
        }
        Ok(_) => Step::Blocked,
        Err(error) => Step::Closed(reason(&error)),
    };
    (discard, step)
}

fn encode<Side>(mut data: EncodeTlsData<'_, Side>, wire: &mut Vec<u8>) {
    append(wire, SLACK, |room| match data.encode(room) {
        Ok(written) => Ok(written),
        Err(EncodeError::InsufficientSize(short)) => Err(Some(short.required_size)),
        Err(EncodeError::AlreadyEncoded) => Err(None),
    });
}

fn perform<Side>(mut traffic: WriteTraffic<'_, Side>, job: Job<'_>, wire: &mut Vec<u8>) -> Step {
    let answer = |result| match result {
        Ok(written) => Ok(written),
        Err(EncryptError::InsufficientSize(short)) => Err(Some(short.required_size)),
        Err(EncryptError::EncryptExhausted) => Err(None),
    };
    let done = match job {
        Job::None => true,
        Job::Encrypt(plain) => append(wire, plain.len() + SLACK, |room| {
            answer(traffic.encrypt(plain, room))
        }),
        Job::CloseNotify => append(wire, SLACK, |room| answer(traffic.queue_close_notify(room))),
    };
    if done {
        Step::Ready
    } else {
        Step::Closed(Error::Protocol("the keys are used up".into()))
    }
}

/// Appends what `write` puts into a room of `size` bytes, or into as much as it says it needs.
fn append(
    wire: &mut Vec<u8>,
    size: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> bool {
    let start = wire.len();
    let mut size = size;
    loop {
        wire.resize(start + size, 0);
        match write(&mut wire[start..]) {
            Ok(written) => {
                wire.truncate(start + written);
                return true;
            }
            Err(Some(needed)) if needed > size => size = needed,
            Err(_) => {
                wire.truncate(start);
                return false;
            }
        }
    }
}

fn reason(error: &rustls::Error) -> Error {
    match error {
        rustls::Error::InvalidCertificate(
            rustls::CertificateError::ApplicationVerificationFailure,
        ) => Error::WrongFingerprint,
        other => Error::Protocol(other.to_string()),
    }
}
