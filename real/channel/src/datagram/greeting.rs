//! The cookie exchange in front of DTLS: who calls shows that it receives what is sent to its
//! address before the called keeps anything about it (RFC 9147, section 5.1).
//!
//! DTLS 1.3 has the exchange inside of its handshake, where it needs a channel at the called. Here it
//! stands before the handshake, as in QUIC (RFC 9000, section 8.1.2), and takes the same round trip.
//! Every datagram that begins with a record of plaintext has a head:
//!
//! | sender | bytes |
//! | --- | --- |
//! | caller | 1, nonce of 8 bytes, cookie of 16 bytes (zeros before there is one), records |
//! | called | 2, the caller's nonce, a cookie for it |
//! | called | 3, the caller's nonce, records |
//! | called | 4, the last 16 bytes of the datagram that this answers |
//!
//! Who does not see the caller's datagrams knows neither nonce nor cookie, so nothing that it forges
//! reaches the handshake of either side. Datagrams that begin with ciphertext have no head.
//!
//! The last kind answers ciphertext of a channel that the called does not have: it lost what it knew, or
//! the caller's address changed. It does what a stateless reset does in QUIC (RFC 9000, section 10.3), whose
//! token needs an identifier of the connection in each packet, which records here do not have. In its
//! place stands the tag of the caller's own record, which nobody knows who does not see it.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use aws_lc_rs::{constant_time, hmac, rand};
use hopflow_units::{Duration, Instant};

use super::records::CIPHERTEXT;

const OPENING: u8 = 1;
const COOKIE: u8 = 2;
const ANSWER: u8 = 3;
const LOST: u8 = 4;

/// The bits of a ciphertext's first byte that may be set beside [`CIPHERTEXT`].
const CIPHERTEXT_BITS: u8 = 0b0001_1111;

const NONCE: usize = 8;
const MAC: usize = 16;

/// Bytes of a datagram that tell it from others: the tag of its last record.
const TAIL: usize = 16;

/// The length of an answer to a datagram of no channel, in bytes.
const LOST_LEN: usize = 1 + TAIL;

/// How many of the datagrams that it sent a caller knows again, beside the last one.
const MARKS: usize = 4;
/// The time between two of them at least: together they are as old as a round trip may be.
const BETWEEN_MARKS: Duration = Duration::from_millis(250);

/// How much longer heads make a datagram at most.
pub(super) const HEAD: usize = 1 + NONCE + MAC;

/// The smallest opening that is answered, in bytes.
pub(super) const LEAST_OPENING: usize = 1200;

/// How long a cookie is made in the same way; it is good for up to twice as long.
const PERIOD: Duration = Duration::from_secs(16);
/// How many cookies a caller takes in a handshake.
const MOST_COOKIES: u8 = 4;

/// What a caller's datagrams with plaintext begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Greeting {
    nonce: [u8; NONCE],
    cookie: [u8; MAC],
}

/// A datagram with a head.
enum Headed<'a> {
    Opening(Greeting, &'a [u8]),
    Cookie(Greeting),
    Answer([u8; NONCE], &'a [u8]),
    Lost([u8; TAIL]),
}

fn read(datagram: &[u8]) -> Option<Headed<'_>> {
    let (&kind, rest) = datagram.split_first()?;
    if kind == LOST {
        return rest.try_into().ok().map(Headed::Lost);
    }
    let (nonce, rest) = rest.split_first_chunk()?;
    if kind == ANSWER {
        return Some(Headed::Answer(*nonce, rest));
    }
    let (cookie, rest) = rest.split_first_chunk()?;
    let greeting = Greeting {
        nonce: *nonce,
        cookie: *cookie,
    };
    match kind {
        OPENING => Some(Headed::Opening(greeting, rest)),
        COOKIE if rest.is_empty() => Some(Headed::Cookie(greeting)),
        _ => None,
    }
}

impl Greeting {
    fn write(&self, kind: u8, records: &[u8]) -> Vec<u8> {
        [&[kind], &self.nonce[..], &self.cookie, records].concat()
    }
}

/// What a channel does with heads.
pub(super) enum Heads {
    /// It calls.
    Caller {
        greeting: Greeting,
        /// How many cookies it was given.
        cookies: u8,
        /// The last plaintext that it sent, to be sent again with a cookie.
        said: Vec<u8>,
        /// The tail of the last datagram of ciphertext that it sent.
        last: Option<[u8; TAIL]>,
        /// Those of datagrams before, and when it sent them; the latest first.
        marks: VecDeque<(Instant, [u8; TAIL])>,
    },
    /// It was called, by who has this nonce, as the first datagram says. The cookie may be another one
    /// in each datagram: who repeats its opening may be given several.
    Called(Option<[u8; NONCE]>),
}

/// What a datagram that arrived means.
pub(super) enum Received<'a> {
    /// These records.
    Records(&'a [u8]),
    /// A cookie: this is to be sent.
    Repeat(Vec<u8>),
    /// The called does not have this channel.
    Lost,
    /// Nothing.
    Nothing,
}

impl Heads {
    pub(super) fn caller() -> Self {
        let mut nonce = [0; NONCE];
        rand::fill(&mut nonce).expect("the system has random bytes");
        let cookie = [0; MAC];
        Self::Caller {
            greeting: Greeting { nonce, cookie },
            cookies: 0,
            said: Vec::new(),
            last: None,
            marks: VecDeque::new(),
        }
    }

    /// Remembers a datagram of ciphertext that leaves: until the next one, and some for longer.
    #[inline]
    pub(super) fn mark(&mut self, now: Instant, datagram: &[u8]) {
        let Self::Caller { last, marks, .. } = self else {
            return;
        };
        *last = datagram.last_chunk().copied();
        let is_early = |(at, _): &(Instant, _)| now.saturating_since(*at) < BETWEEN_MARKS;
        if !marks.front().is_some_and(is_early)
            && let Some(tail) = last
        {
            marks.truncate(MARKS - 1);
            marks.push_front((now, *tail));
        }
    }

    /// Takes a datagram's head off.
    pub(super) fn receive<'a>(&mut self, datagram: &'a [u8]) -> Received<'a> {
        if datagram.first().is_some_and(|&head| head >= CIPHERTEXT) {
            return Received::Records(datagram);
        }
        match (self, read(datagram)) {
            (Self::Called(known), Some(Headed::Opening(greeting, records)))
                if known.is_none_or(|known| known == greeting.nonce)
                    && is_client_hello(records) =>
            {
                *known = Some(greeting.nonce);
                Received::Records(records)
            }
            (Self::Caller { greeting, .. }, Some(Headed::Answer(nonce, records)))
                if greeting.nonce == nonce =>
            {
                Received::Records(records)
            }
            (Self::Caller { last, marks, .. }, Some(Headed::Lost(tail))) => {
                let is_known = *last == Some(tail) || marks.iter().any(|(_, mark)| *mark == tail);
                // It counts once.
                *last = last.filter(|last| *last != tail);
                marks.retain(|(_, mark)| *mark != tail);
                if is_known {
                    Received::Lost
                } else {
                    Received::Nothing
                }
            }
            (
                Self::Caller {
                    greeting,
                    cookies,
                    said,
                    ..
                },
                Some(Headed::Cookie(new)),
            ) if greeting.nonce == new.nonce
                && *greeting != new
                && *cookies < MOST_COOKIES
                && !said.is_empty() =>
            {
                *greeting = new;
                *cookies += 1;
                Received::Repeat(greeting.write(OPENING, said))
            }
            _ => Received::Nothing,
        }
    }

    /// Puts a head on a datagram that leaves, if it needs one.
    pub(super) fn send(&mut self, datagram: &[u8]) -> Vec<u8> {
        if datagram.first().is_none_or(|&head| head >= CIPHERTEXT) {
            return datagram.to_vec();
        }
        match self {
            Self::Caller { greeting, said, .. } => {
                datagram.clone_into(said);
                greeting.write(OPENING, datagram)
            }
            Self::Called(Some(nonce)) => [&[ANSWER], &nonce[..], datagram].concat(),
            Self::Called(None) => Vec::new(),
        }
    }

    /// The handshake is over.
    pub(super) fn on_open(&mut self) {
        if let Self::Caller { said, .. } = self {
            *said = Vec::new();
        }
    }

    /// Whether a datagram is no opening of another channel.
    #[inline]
    pub(super) fn are_of(&self, datagram: &[u8]) -> bool {
        if datagram.first() != Some(&OPENING) {
            return true;
        }
        match (self, read(datagram)) {
            (Self::Called(known), Some(Headed::Opening(greeting, _))) => {
                *known == Some(greeting.nonce)
            }
            _ => false,
        }
    }
}

/// What a datagram of somebody unknown is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knock {
    /// Nothing that is answered.
    Strange,
    /// An opening whose sender may be somebody else: it is sent this, and nothing is kept.
    Unproven([u8; HEAD]),
    /// A record of a channel that is not there: if it is answered, then by this, and nothing is kept.
    Lost([u8; LOST_LEN]),
    /// An opening of somebody who receives what is sent to its address: a
    /// [`DatagramChannel::accept`](crate::DatagramChannel::accept) may take it.
    Proven,
}

/// Makes cookies for those who call, and knows its own again.
///
/// A cookie is a MAC (HMAC-SHA256, RFC 2104, cut to 16 bytes) over the caller's address, port and
/// nonce and the time, good for 16 to 32 seconds.
pub struct Cookies {
    key: hmac::Key,
}

impl Cookies {
    /// Cookies of a fresh secret.
    ///
    /// # Panics
    /// If the system has no random bytes.
    #[must_use]
    pub fn generate() -> Self {
        let mut secret = [0; 32];
        rand::fill(&mut secret).expect("the system has random bytes");
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
        }
    }

    /// Looks at a datagram that belongs to no channel. An answer to an opening is 25 bytes, a fiftieth
    /// of the question at most; one to a record is 17 bytes and shorter than that.
    #[must_use]
    pub fn check(&self, now: Instant, from: SocketAddr, datagram: &[u8]) -> Knock {
        if let Some(answer) = answer_to_record(datagram) {
            return Knock::Lost(answer);
        }
        let Some(Headed::Opening(greeting, records)) = read(datagram) else {
            return Knock::Strange;
        };
        if datagram.len() < LEAST_OPENING || !is_client_hello(records) {
            return Knock::Strange;
        }
        let period = now.as_nanos() / PERIOD.as_nanos();
        let is_good = [period, period.wrapping_sub(1)].iter().any(|&period| {
            let cookie = self.cookie(period, from, greeting.nonce);
            constant_time::verify_slices_are_equal(&cookie, &greeting.cookie).is_ok()
        });
        if is_good {
            return Knock::Proven;
        }
        let mut answer = [COOKIE; HEAD];
        answer[1..=NONCE].copy_from_slice(&greeting.nonce);
        answer[1 + NONCE..].copy_from_slice(&self.cookie(period, from, greeting.nonce));
        Knock::Unproven(answer)
    }

    fn cookie(&self, period: u64, from: SocketAddr, nonce: [u8; NONCE]) -> [u8; MAC] {
        let ip = match from.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&period.to_be_bytes());
        context.update(&ip.octets());
        context.update(&from.port().to_be_bytes());
        context.update(&nonce);
        let tag = context.sign();
        *tag.as_ref().first_chunk().expect("a hash is longer")
    }
}

impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cookies").finish_non_exhaustive()
    }
}

/// The answer to a datagram that begins with ciphertext and may be of a channel: what is no longer than
/// the answer is none.
fn answer_to_record(datagram: &[u8]) -> Option<[u8; LOST_LEN]> {
    let is_record = datagram
        .first()
        .is_some_and(|&head| head & !CIPHERTEXT_BITS == CIPHERTEXT);
    let tail = datagram.last_chunk::<TAIL>();
    let tail = tail.filter(|_| is_record && datagram.len() > LOST_LEN)?;
    let mut answer = [LOST; LOST_LEN];
    answer[1..].copy_from_slice(tail);
    Some(answer)
}

/// Whether `records` are one plaintext record of epoch 0 with a whole `ClientHello`, the first message
/// (RFC 9147, sections 4 and 5.2). A caller says nothing else in plaintext, and of a part of it, or of messages
/// behind it, a channel would have to wait for the rest.
fn is_client_hello(records: &[u8]) -> bool {
    const RECORD: usize = 13;
    const MESSAGE: usize = 12;
    let Some((record, message)) = records.split_first_chunk::<RECORD>() else {
        return false;
    };
    let Some((head, body)) = message.split_first_chunk::<MESSAGE>() else {
        return false;
    };
    let [_, a, b, c] = (body.len() as u32).to_be_bytes();
    matches!(record, [22, 254, _, 0, 0, _, _, _, _, _, _, high, low]
        if usize::from(u16::from_be_bytes([*high, *low])) == message.len())
        && *head == [1, a, b, c, 0, 0, 0, 0, 0, a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: SocketAddr =
        SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 2000);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    /// An opening with this cookie.
    fn opening(cookie: [u8; MAC]) -> Vec<u8> {
        let greeting = Greeting {
            nonce: [7; NONCE],
            cookie,
        };
        let (body, body_len) = ([0; 1300], [0, 5, 20]);
        let record = [22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 5, 32];
        let message = [&[1], &body_len[..], &[0; 5], &body_len, &body].concat();
        greeting.write(OPENING, &[&record[..], &message].concat())
    }

    fn given(cookies: &Cookies, now: Instant, from: SocketAddr) -> [u8; MAC] {
        match cookies.check(now, from, &opening([0; MAC])) {
            Knock::Unproven(answer) => *answer.last_chunk().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cookie_is_good_at_its_address_and_for_its_time() {
        let cookies = Cookies::generate();
        let cookie = given(&cookies, at(15), FROM);
        let check = |now, from| cookies.check(now, from, &opening(cookie));
        assert_eq!(check(at(15), FROM), Knock::Proven);
        assert_eq!(check(at(31), FROM), Knock::Proven);
        assert!(matches!(check(at(32), FROM), Knock::Unproven(_)));
        let other_port = SocketAddr::new(FROM.ip(), 2001);
        let other_host = SocketAddr::new([10, 0, 0, 2].into(), 2000);
        for from in [other_port, other_host] {
            assert!(matches!(check(at(15), from), Knock::Unproven(_)));
        }
        let others = Cookies::generate().check(at(15), FROM, &opening(cookie));
        assert!(matches!(others, Knock::Unproven(_)));
    }

    #[test]
    fn only_large_openings_are_answered_and_by_less() {
        let cookies = Cookies::generate();
        let opening = opening([0; MAC]);
        let check = |datagram: &[u8]| cookies.check(at(1), FROM, datagram);
        assert!(
            matches!(check(&opening), Knock::Unproven(answer) if answer.len() * 50 < opening.len())
        );
        assert_eq!(check(&opening[..1199]), Knock::Strange);
        // The record's type, version, epoch and length; the message's type, length, number and part.
        for at in [0, 1, 4, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 24].map(|at| HEAD + at) {
            let mut strange = opening.clone();
            strange[at] ^= 0x40;
            assert_eq!(check(&strange), Knock::Strange, "byte {at}");
        }
        let longer = [&opening[..], &[0]].concat();
        for strange in [&longer, &[0; 1300][..], &[]] {
            assert_eq!(check(strange), Knock::Strange);
        }
    }

    /// What the called says to a datagram of a channel that it does not have.
    fn lost(datagram: &[u8]) -> Option<Vec<u8>> {
        match Cookies::generate().check(at(1), FROM, datagram) {
            Knock::Lost(answer) => Some(answer.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn ciphertext_of_no_channel_is_answered_by_less() {
        for len in 0..40 {
            let record: Vec<u8> = (0..len).map(|at| 47 + at).collect();
            let answer = lost(&record);
            assert_eq!(answer.is_some(), len > 17, "{len}");
            assert!(answer.is_none_or(|answer| answer.len() < record.len()));
        }
        for kind in [OPENING, COOKIE, ANSWER, LOST, 31, 64, 255] {
            assert_eq!(lost(&[kind; 40]), None, "{kind}");
        }
    }

    #[test]
    fn a_caller_believes_an_answer_to_what_it_sent_and_once() {
        let (mut caller, mut called) = (Heads::caller(), Heads::Called(None));
        let record = |number: u8| [[47; 20], [number; 20]].concat();
        // Of those within a quarter of a second the first one is remembered, and the last one of all.
        for number in 0..6 {
            let now = Instant::ZERO + Duration::from_millis(125) * u64::from(number);
            for heads in [&mut caller, &mut called] {
                heads.mark(now, &record(number));
            }
        }
        let is_believed = |heads: &mut Heads, number: u8| {
            let answer = lost(&record(number)).unwrap();
            matches!(heads.receive(&answer), Received::Lost)
        };
        let believed = [0, 1, 2, 3, 4, 4, 5, 77].map(|number| is_believed(&mut caller, number));
        let expected = [true, false, true, false, true, false, true, false];
        assert_eq!(believed, expected);
        assert!(!is_believed(&mut called, 0), "it is not the one that calls");
        for second in 1..=10 {
            caller.mark(at(second), &record(second as u8));
        }
        assert!(!is_believed(&mut caller, 6) && is_believed(&mut caller, 7));
    }

    #[test]
    fn a_second_cookie_is_no_second_caller() {
        let mut called = Heads::Called(None);
        for cookie in [1, 2] {
            let opening = opening([cookie; MAC]);
            assert_eq!(called.are_of(&opening), cookie == 2);
            assert!(matches!(called.receive(&opening), Received::Records(_)));
        }
        let mut other = opening([1; MAC]);
        other[1] ^= 1;
        assert!(!called.are_of(&other));
        assert!(matches!(called.receive(&other), Received::Nothing));
    }

    #[test]
    fn a_caller_takes_its_own_cookies_and_few_of_them() {
        let mut caller = Heads::caller();
        let cookie = |caller: &Heads, cookie: u8, nonce: u8| {
            let Heads::Caller { greeting, .. } = caller else {
                unreachable!();
            };
            let mut other = *greeting;
            other.cookie = [cookie; MAC];
            other.nonce[0] ^= nonce;
            other.write(COOKIE, &[])
        };
        let early = cookie(&caller, 1, 0);
        assert!(matches!(caller.receive(&early), Received::Nothing));
        caller.send(&[22, 9]);
        let forged = cookie(&caller, 1, 1);
        assert!(matches!(caller.receive(&forged), Received::Nothing));
        for number in 1..=MOST_COOKIES {
            let given = cookie(&caller, number, 0);
            assert!(
                matches!(caller.receive(&given), Received::Repeat(said) if said[HEAD..] == [22, 9])
            );
            assert!(matches!(caller.receive(&given), Received::Nothing));
        }
        let given = cookie(&caller, 99, 0);
        assert!(matches!(caller.receive(&given), Received::Nothing));
    }
}
