//! Looking up names, which blocks, on threads of its own.

mod cache;
mod questions;

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use hopflow_engine::CircuitKey;
use hopflow_units::Instant;
use mio::Waker;

use super::ranks::Owner;
use crate::policy::ExitPolicy;
use cache::Cache;
use questions::{MOST_OF_NETWORK, Question, Questions};

/// Names that are looked up at the same time.
const THREADS: usize = 2 * MOST_OF_NETWORK;

/// Addresses of a name that are kept: who answers for a name chooses how many it has.
const MOST_ADDRESSES: usize = 64;

/// What the system's resolver found; nothing if it knows no such name.
type Found = (Question, Vec<IpAddr>);

/// Looks names up by the system's resolver, in the background, and remembers them for a while.
/// Networks and circuits take turns.
#[derive(Debug)]
pub(super) struct Resolver {
    questions: Arc<Questions>,
    found: Receiver<Found>,
    cache: Cache,
    asked: u64,
    names: Names,
}

/// Which names are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Names {
    /// Those of the Domain Name System, which are complete: search domains do not add to them.
    Public,
    /// All that the system's resolver knows, under the short names that it has for them.
    All,
}

impl Names {
    /// How a name is asked for, if it is. One that ends with a dot is complete (RFC 1034, section 3.1).
    fn asked_as(self, host: &str) -> Option<Cow<'_, str>> {
        match self {
            Self::All => Some(host.into()),
            Self::Public => {
                let name = host.strip_suffix('.').unwrap_or(host);
                let (_, top) = name.rsplit_once('.')?;
                // Machines answer to these in their own network (RFC 6762).
                let is_public = !top.eq_ignore_ascii_case("local");
                is_public.then(|| format!("{name}.").into())
            }
        }
    }
}

/// What becomes of a question.
#[derive(Debug)]
pub(super) enum Asked {
    /// The answer is known.
    Known(Vec<IpAddr>),
    /// An answer to this number follows. If too many wait, one of the circuit that asks most gets
    /// none.
    Waits {
        number: u64,
        /// The question that gets no answer.
        unanswered: Option<u64>,
    },
}

impl Resolver {
    /// Threads that wait for questions and wake the worker with answers. They end with the
    /// resolver.
    pub(super) fn start(waker: &Arc<Waker>, names: Names) -> Self {
        let questions = Arc::new(Questions::default());
        let (finds, found) = channel();
        for _ in 0..THREADS {
            let (asked, finds, waker) = (questions.clone(), finds.clone(), waker.clone());
            thread::spawn(move || answer_all(&asked, &finds, &waker));
        }
        Self {
            questions,
            found,
            cache: Cache::default(),
            asked: 0,
            names,
        }
    }

    /// Asks for the addresses of a host for a circuit.
    pub(super) fn ask(&mut self, now: Instant, owner: Owner, host: &str) -> Asked {
        let Some(host) = self.names.asked_as(host) else {
            return Asked::Known(Vec::new());
        };
        let host = host.as_ref();
        if let Some(addresses) = self.cache.get(now, host) {
            return Asked::Known(addresses.to_vec());
        }
        self.asked += 1;
        let number = self.asked;
        let unanswered = self.questions.push(Question {
            number,
            owner,
            host: host.to_owned(),
        });
        Asked::Waits { number, unanswered }
    }

    /// Takes a question back; if it is being answered already, its answer still comes.
    pub(super) fn cancel(&self, circuit: CircuitKey, number: u64) {
        self.questions.remove(circuit, number);
    }

    /// An answer that has come, with the number of its question. A name of which `policy` shows no address is like one
    /// that does not exist, also in how long that is remembered.
    pub(super) fn poll(&mut self, now: Instant, policy: &ExitPolicy) -> Option<(u64, Vec<IpAddr>)> {
        let (question, addresses) = self.found.try_recv().ok()?;
        let addresses = policy.shown(addresses);
        self.cache.put(now, &question.host, addresses.clone());
        Some((question.number, addresses))
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.questions.end();
    }
}

fn answer_all(asked: &Questions, finds: &Sender<Found>, waker: &Waker) {
    let mut done = None;
    while let Some(question) = asked.next(done) {
        done = Some(question.owner);
        let addresses = (question.host.as_str(), 0).to_socket_addrs();
        let addresses = addresses.map_or_else(|_| Vec::new(), first_addresses);
        if finds.send((question, addresses)).is_err() || waker.wake().is_err() {
            return;
        }
    }
}

/// The first addresses of those that were found.
fn first_addresses(found: impl Iterator<Item = SocketAddr>) -> Vec<IpAddr> {
    let addresses = found.map(|address| address.ip());
    addresses.take(MOST_ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_whole_and_short_ones_not_at_all() {
        for (host, asked) in [
            ("example.org", Some("example.org.")),
            ("example.org.", Some("example.org.")),
            ("a..b", Some("a..b.")),
            ("wiki", None),
            ("wiki.", None),
            ("localhost", None),
            ("printer.local", None),
            ("printer.LOCAL.", None),
            ("local.example", Some("local.example.")),
            (".", None),
        ] {
            assert_eq!(Names::Public.asked_as(host).as_deref(), asked, "{host}");
            assert_eq!(Names::All.asked_as(host).as_deref(), Some(host));
        }
    }

    #[test]
    fn of_a_name_with_very_many_addresses_some_are_taken() {
        let found = |count| (1..=count).map(|last| SocketAddr::from(([192, 0, 2, last], 0)));
        assert_eq!(first_addresses(found(3)).len(), 3);
        let many = first_addresses(found(200));
        assert_eq!(many.len(), MOST_ADDRESSES);
        assert_eq!(many[0], IpAddr::from([192, 0, 2, 1]));
    }
}
