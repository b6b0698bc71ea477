//! The server's side of SOCKS 5, as a machine that takes and gives bytes.
//!
//! [`SocksHandshake`] reads what an application sends up to its request (RFC 1928) and answers the
//! choice of a method and the user's name and password (RFC 1929). Any name and password are
//! accepted: they tell streams apart that must not share a circuit. The final answer is
//! [`Reply::encode`]'s, once it is known what became of the stream. Only CONNECT is served.

use std::net::IpAddr;

use crate::{Host, NoTarget, Target};

/// The protocol's version (RFC 1928, section 3).
const VERSION: u8 = 5;
/// The version of the exchange of name and password (RFC 1929, section 2).
const PASSWORD_VERSION: u8 = 1;
/// The methods that are served (RFC 1928, section 3).
const NO_AUTHENTICATION: u8 = 0;
const PASSWORD: u8 = 2;
const NO_METHOD: u8 = 0xff;
/// The command that is served (RFC 1928, section 4).
const CONNECT: u8 = 1;
/// The forms of an address (RFC 1928, section 5).
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Who asks: streams of different keys do not share circuits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Isolation {
    /// The user's name and password, if they were given.
    credentials: Option<(Vec<u8>, Vec<u8>)>,
}

impl Isolation {
    /// The key of a user with this name and password.
    pub fn user(name: impl Into<Vec<u8>>, password: impl Into<Vec<u8>>) -> Self {
        Self {
            credentials: Some((name.into(), password.into())),
        }
    }
}

/// What an application asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What to connect to.
    pub target: Target,
    /// Whom the stream is for.
    pub isolation: Isolation,
    /// Bytes that came behind the request already: the first of the stream.
    pub rest: Vec<u8>,
}

/// What became of a request: the codes of RFC 1928, section 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reply {
    /// The stream is open.
    Succeeded = 0,
    /// Something failed that is none of the below: no circuit, for one.
    GeneralFailure = 1,
    /// An exit policy refuses it.
    NotAllowed = 2,
    /// The network of the host cannot be reached.
    NetworkUnreachable = 3,
    /// The host cannot be reached, or its name is not known.
    HostUnreachable = 4,
    /// The host refuses.
    ConnectionRefused = 5,
    /// It took too long.
    TtlExpired = 6,
    /// The command is not served.
    CommandNotSupported = 7,
    /// The form of the address is not known.
    AddressNotSupported = 8,
}

impl Reply {
    const ALL: [Self; 9] = [
        Self::Succeeded,
        Self::GeneralFailure,
        Self::NotAllowed,
        Self::NetworkUnreachable,
        Self::HostUnreachable,
        Self::ConnectionRefused,
        Self::TtlExpired,
        Self::CommandNotSupported,
        Self::AddressNotSupported,
    ];

    /// The reply of this code; an unknown code is a general failure.
    pub fn from_code(code: u8) -> Self {
        let known = Self::ALL.into_iter().find(|reply| reply.code() == code);
        known.unwrap_or(Self::GeneralFailure)
    }

    /// The code of the reply.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reply's bytes. The address that the exit connects from is left out: it is all zeros.
    pub const fn encode(self) -> [u8; 10] {
        [VERSION, self.code(), 0, IPV4, 0, 0, 0, 0, 0, 0]
    }
}

/// Why there will be no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocksError {
    /// The first byte of a message, which names the version, is this one.
    Version(u8),
    /// The application offers no method that is served.
    NoMethod,
    /// The request was answered by this reply.
    Refused(Reply),
}

/// A connection of an application up to its request.
///
/// After an error or a request the handshake takes no more bytes.
#[derive(Clone, Debug, Default)]
pub struct SocksHandshake {
    stage: Stage,
    isolation: Isolation,
    /// What has come and is not understood yet; at most a message and what came along with it.
    input: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Method,
    Password,
    Request,
}

impl SocksHandshake {
    /// A connection that has just begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes bytes of the application, and appends to `answer` what to send it.
    ///
    /// Returns its request, once that is complete. After an error the connection is closed when
    /// the answer is sent.
    ///
    /// # Errors
    /// If the bytes are not SOCKS 5, or ask for what is not served.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<Option<Request>, SocksError> {
        self.input.extend_from_slice(bytes);
        loop {
            let mut message = Message(&self.input);
            let Some(outcome) = self.stage.read(&mut message) else {
                return Ok(None);
            };
            let rest = message.0.len();
            self.input.drain(..self.input.len() - rest);
            match outcome.inspect_err(|error| error.answer(answer))? {
                Step::Method(method) => {
                    answer.extend_from_slice(&[VERSION, method]);
                    self.stage = if method == PASSWORD {
                        Stage::Password
                    } else {
                        Stage::Request
                    };
                }
                Step::User(isolation) => {
                    answer.extend_from_slice(&[PASSWORD_VERSION, 0]);
                    self.isolation = isolation;
                    self.stage = Stage::Request;
                }
                Step::Request(target) => {
                    return Ok(Some(Request {
                        target,
                        isolation: std::mem::take(&mut self.isolation),
                        rest: std::mem::take(&mut self.input),
                    }));
                }
            }
        }
    }
}

impl SocksError {
    /// Appends the answer to the application.
    fn answer(self, out: &mut Vec<u8>) {
        match self {
            Self::NoMethod => out.extend_from_slice(&[VERSION, NO_METHOD]),
            Self::Refused(reply) => out.extend_from_slice(&reply.encode()),
            Self::Version(_) => {}
        }
    }
}

/// A message that was understood.
enum Step {
    Method(u8),
    User(Isolation),
    Request(Target),
}

/// What a complete message says; `None` as long as it is not complete.
type Outcome = Option<Result<Step, SocksError>>;

impl Stage {
    fn read(self, message: &mut Message<'_>) -> Outcome {
        let version = match self {
            Self::Method | Self::Request => VERSION,
            Self::Password => PASSWORD_VERSION,
        };
        match message.byte()? {
            found if found != version => Some(Err(SocksError::Version(found))),
            _ => match self {
                Self::Method => read_method(message),
                Self::Password => read_user(message),
                Self::Request => read_request(message),
            },
        }
    }
}

/// RFC 1928, section 3. Where it is offered, a name is taken: it isolates.
fn read_method(message: &mut Message<'_>) -> Outcome {
    let offered = message.counted()?;
    let served = [PASSWORD, NO_AUTHENTICATION];
    let method = served.into_iter().find(|method| offered.contains(method));
    Some(method.map(Step::Method).ok_or(SocksError::NoMethod))
}

/// RFC 1929, section 2.
fn read_user(message: &mut Message<'_>) -> Outcome {
    let name = message.counted()?;
    let password = message.counted()?;
    Some(Ok(Step::User(Isolation::user(name, password))))
}

/// RFC 1928, section 4.
fn read_request(message: &mut Message<'_>) -> Outcome {
    let command = message.byte()?;
    message.byte()?;
    let host = match message.byte()? {
        IPV4 => Ok(Host::address(IpAddr::from(message.array::<4>()?))),
        IPV6 => Ok(Host::address(IpAddr::from(message.array::<16>()?))),
        NAME => std::str::from_utf8(message.counted()?)
            .map_err(|_| NoTarget)
            .and_then(Host::name),
        _ => return Some(Err(SocksError::Refused(Reply::AddressNotSupported))),
    };
    let port = u16::from_be_bytes(message.array()?);
    if command != CONNECT {
        return Some(Err(SocksError::Refused(Reply::CommandNotSupported)));
    }
    let target = host.and_then(|host| Target::new(host, port));
    let refused = |NoTarget| SocksError::Refused(Reply::HostUnreachable);
    Some(target.map(Step::Request).map_err(refused))
}

/// The bytes of a message that are not read yet, with whatever came behind it.
struct Message<'a>(&'a [u8]);

impl<'a> Message<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    /// Bytes behind their number.
    fn counted(&mut self) -> Option<&'a [u8]> {
        let length = self.byte()?;
        let (bytes, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests;
