//! A worker: one thread with one poll, one engine and the sockets of both.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;

use hopflow_engine::{Engine, OpenedLink, Via};
use hopflow_units::{Duration, Instant};
use mio::{Events, Poll};
use tracing::{debug, info, warn};

use super::alarm::Alarm;
use super::carriers::Carriers;
use super::clock::{Clock, calendar_time};
use super::closing::Sent;
use super::datagrams::Datagrams;
use super::failures::Failures;
use super::moves::Moves;
use super::reload::known;
use super::role::{Cx, Role};
use super::shared::{Shared, Wanted};
use super::tokens::Source;
use crate::accounting::Traffic;
use crate::directory::Directory;

/// Time between two reports of what the worker does at least.
const ACCOUNT: Duration = Duration::from_millis(100);
/// An account of many circuits takes long: this many times as long passes before the next one.
const ACCOUNT_SHARE: u64 = 50;
/// Events that a poll brings at once.
const EVENTS: usize = 1024;
/// How far off the moment may be at which cells may leave again for arrivals and timeouts to wait for it: as long as
/// between the refills that transports have by default which judge queues by delay.
const MOST_REST: Duration = Duration::from_millis(10);
/// Idle time before a draining node exits.
const QUIET: Duration = Duration::from_secs(1);
/// How long a worker that ends waits for its farewells to leave.
const FAREWELL: Duration = Duration::from_millis(100);

/// What carries a worker's links.
#[derive(Debug)]
pub(super) enum Links {
    /// UDP.
    Datagrams(Box<Datagrams>),
    /// TCP.
    Carriers(Box<Carriers>),
}

impl Links {
    /// The address of this host from which a link leaves, where it has one of its own.
    fn own_address(&self, link: OpenedLink) -> Option<IpAddr> {
        match self {
            Self::Datagrams(_) => None,
            Self::Carriers(carriers) => carriers.own_address(link.conn?),
        }
    }
}

/// How a worker rests whose relay has moved what it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// It does not.
    No,
    /// It takes nothing new; streams may end until then.
    Begins(Instant),
    /// It has closed all circuits.
    Deep,
}

/// A worker and everything that it owns.
#[derive(Debug)]
pub(super) struct Worker<R> {
    pub(super) poll: Poll,
    pub(super) alarm: Alarm,
    pub(super) clock: Clock,
    pub(super) engine: Engine,
    pub(super) links: Links,
    pub(super) role: R,
    pub(super) shared: Arc<Shared>,
    pub(super) known: Known,
    /// The memory that cells may take here.
    pub(super) memory: hopflow_units::Bytes,
    /// What was moved when it was counted last.
    pub(super) counted: Traffic,
    pub(super) rest: Rest,
    pub(super) draining: Draining,
}

/// What a worker knows of the network.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) directory: Arc<Directory>,
    /// Whether the directory was valid when that was looked at last.
    pub(super) valid: bool,
    /// How many changes it has taken over.
    pub(super) seen: u64,
    /// From where its packets leave.
    pub(super) moves: Moves,
    /// Which links failed.
    pub(super) failures: Arc<Mutex<Failures>>,
}

/// How a worker ends, or rests.
#[derive(Debug)]
pub(super) struct Draining {
    /// How long streams may take to end.
    pub(super) patience: Duration,
    /// Cells sent when it was looked at last.
    pub(super) sent: u64,
    /// When that changed, or at a relay draining began.
    pub(super) since: Instant,
}

impl<R: Role> Worker<R> {
    /// Works until [`Shared::end`] is called.
    ///
    /// # Errors
    /// If the poll fails, which it does only if the system cannot go on.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut account_at = Instant::ZERO;
        let mut end_at = None;
        loop {
            let now = self.clock.now();
            self.shared.rounds.fetch_add(1, Ordering::Relaxed);
            self.take_change();
            self.handle_timeouts(now);
            self.rest_or_wake(now);
            self.work(now);
            self.engine.observe(now);
            if now >= account_at {
                self.account(now);
                let after = self.clock.now();
                let took = after.saturating_since(now);
                account_at = after + ACCOUNT.max(took.saturating_mul(ACCOUNT_SHARE));
                // Connections for which the system had no room when they came.
                self.on_ready(now, Source::Listener, (true, false));
            }
            if end_at.is_none() && self.shared.wanted() == Wanted::End {
                end_at = Some(now + self.draining.patience);
                self.drain(now);
            }
            if let Some(at) = end_at
                && (now >= at || self.is_done(now))
            {
                return self.say_goodbye(&mut events);
            }
            self.wait(&mut events, account_at)?;
        }
    }

    /// Waits for the next timeout, or until something is ready, and sees to that.
    fn wait(&mut self, events: &mut Events, account_at: Instant) -> io::Result<()> {
        self.rest_until_paid();
        let now = self.clock.now();
        let next = self
            .engine
            .poll_timeout()
            .min(self.role.poll_timeout())
            .min(self.links_timeout(now))
            .min(account_at);
        let busy = next <= now || self.is_readable();
        if !busy {
            self.alarm.set(now, next)?;
        }
        self.poll(events, busy.then_some(std::time::Duration::ZERO), |_| true)
    }

    /// Waits for this long, or until something is ready, and sees to those of that which `counts`.
    fn poll(
        &mut self,
        events: &mut Events,
        wait: Option<std::time::Duration>,
        counts: impl Fn(&Source) -> bool,
    ) -> io::Result<()> {
        match self.poll.poll(events, wait) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let now = self.clock.now();
        for event in &*events {
            let source = Source::of(event.token());
            if counts(&source) {
                self.on_ready(now, source, (event.is_readable(), event.is_writable()));
            }
        }
        Ok(())
    }

    /// Sleeps if the bucket pays for cells again soon, and nothing may leave before: cells and feedback that
    /// come meanwhile are taken together then, and do not each wake the worker.
    fn rest_until_paid(&self) {
        // What the last round left at a socket would overflow there.
        if self.is_readable() {
            return;
        }
        let now = self.clock.now();
        let resume = self.engine.poll_resume();
        if resume <= now || resume > now + MOST_REST {
            return;
        }
        let rest = resume.min(self.links_timeout(now)).saturating_since(now);
        if !rest.is_zero() {
            thread::park_timeout(std::time::Duration::from_nanos(rest.as_nanos()));
        }
    }

    /// When the emulated links have something to do.
    fn links_timeout(&self, now: Instant) -> Instant {
        match &self.links {
            Links::Datagrams(datagrams) => datagrams.poll_timeout(now),
            Links::Carriers(carriers) => carriers.poll_timeout(),
        }
    }

    fn is_readable(&self) -> bool {
        match &self.links {
            Links::Datagrams(datagrams) => datagrams.is_readable(),
            Links::Carriers(carriers) => carriers.is_readable(),
        }
    }

    fn handle_timeouts(&mut self, now: Instant) {
        if self.engine.poll_timeout() <= now {
            self.engine.handle_timeout(now);
        }
    }

    fn on_ready(&mut self, now: Instant, source: Source, (readable, writable): (bool, bool)) {
        let mut cx = Cx {
            now,
            engine: &mut self.engine,
            registry: self.poll.registry(),
        };
        match (source, &mut self.links) {
            (Source::Timer, _) => self.alarm.rang(),
            (Source::Listening, Links::Datagrams(datagrams)) => {
                datagrams.on_ready(Via::Listening(None), readable, writable);
            }
            (Source::Outgoing, Links::Datagrams(datagrams)) => {
                datagrams.on_ready(Via::Outgoing, readable, writable);
            }
            (Source::Listener, Links::Carriers(carriers)) if carriers.listens() => {
                carriers.on_listener();
            }
            (Source::Listener, _) => self.role.on_listener(&mut cx),
            (Source::Carrier(place), Links::Carriers(carriers)) => {
                carriers.on_ready(now, cx.engine, place, (readable, writable));
            }
            (Source::Pipe(place), _) => self.role.on_ready(&mut cx, place, readable, writable),
            // Waking the worker needs nothing else; or there are no sockets of that kind.
            (Source::Waker | Source::Listening | Source::Outgoing | Source::Carrier(_), _) => {}
        }
    }

    /// Takes in what the links have, and carries out what follows, until nothing does.
    fn work(&mut self, now: Instant) {
        match &mut self.links {
            Links::Datagrams(datagrams) => datagrams.receive(now, &mut self.engine),
            Links::Carriers(carriers) => {
                carriers.run(now, &mut self.engine);
                carriers.accept(now, self.poll.registry(), &mut self.engine);
                carriers.receive(now, &mut self.engine);
            }
        }
        loop {
            let mut cx = Cx {
                now,
                engine: &mut self.engine,
                registry: self.poll.registry(),
            };
            let mut busy = false;
            while let Some(event) = cx.engine.poll_event(now) {
                self.role.on_event(&mut cx, event);
                busy = true;
            }
            busy |= self.role.work(&mut cx);
            busy |= self.send(now);
            if !busy {
                return;
            }
        }
    }

    /// Sends what the engine has to send, and does what it wants of connections; true if there was anything.
    fn send(&mut self, now: Instant) -> bool {
        let mut busy = false;
        while let Some(action) = self.engine.poll_action() {
            if let Links::Carriers(carriers) = &mut self.links {
                carriers.act(now, self.poll.registry(), &mut self.engine, action);
            }
            busy = true;
        }
        let sent = match &mut self.links {
            Links::Datagrams(datagrams) => datagrams.transmit(now, &mut self.engine),
            Links::Carriers(carriers) => carriers.transmit(now, &mut self.engine),
        };
        busy || sent
    }

    /// Goes by what was changed, if anything was.
    fn take_change(&mut self) {
        if let Some(change) = self.shared.changed(&mut self.known.seen) {
            self.engine.set_limits(change.limits);
            self.role.change(&change);
            // A worker that begins anew takes what was changed long ago.
            self.known.valid = !change.directory.has_expired(calendar_time());
            let extend_to = if self.known.valid {
                change.extend_to.clone()
            } else {
                Arc::default()
            };
            self.engine.set_extend_to(extend_to);
            self.known.directory = change.directory.clone();
        }
    }

    /// Extends circuits to the relays of a directory while it is valid.
    fn look_at_directory(&mut self) {
        let valid = !self.known.directory.has_expired(calendar_time());
        if valid == self.known.valid {
            return;
        }
        self.known.valid = valid;
        if !valid {
            let until = self.known.directory.valid_until;
            warn!(%until, "the directory has expired: no circuits are built until there is a newer one");
        }
        if self.role.carries_for_others() {
            let relays = if valid {
                known(&self.known.directory)
            } else {
                Arc::default()
            };
            self.engine.set_extend_to(relays);
        }
    }

    /// Gives up a client's links if they lead from an address that it no longer has: relays know it by that
    /// one. Relays stay where the directory says.
    fn look_at_own_address(&mut self, now: Instant) {
        if self.role.carries_for_others() {
            return;
        }
        let links = &self.links;
        let opened = self.engine.opened_links();
        let opened = opened.map(|link| (link, links.own_address(link)));
        let moved = self.known.moves.look(opened);
        if !moved.is_empty() {
            info!("this host has another address: circuits are built anew");
            self.engine.leave(now, &moved);
            self.role.on_moved(now);
        }
    }

    /// Publishes what the worker has done, and keeps to the limit on memory.
    fn account(&mut self, now: Instant) {
        self.look_at_sent(now);
        self.look_at_directory();
        self.look_at_own_address(now);
        let held = self.engine.keep_within(now, self.memory);
        while let Some(lost) = self.engine.poll_lost() {
            let Known {
                failures,
                directory,
                ..
            } = &mut self.known;
            if let Ok(mut failures) = failures.lock() {
                failures.log(now, directory, &lost);
            }
        }
        while let Some(violation) = self.engine.poll_violation() {
            debug!(%violation, "a circuit was closed: a peer broke the protocol");
        }
        let links = match &self.links {
            Links::Datagrams(datagrams) => datagrams.traffic(),
            Links::Carriers(carriers) => carriers.traffic(),
        };
        let moved = links.with(self.role.traffic());
        self.shared.count(moved.since(self.counted));
        self.counted = moved;
        self.shared.publish(&self.engine, held, &self.role, now);
    }

    /// Takes nothing new while the relay has moved what it may, and closes what is left after a while.
    fn rest_or_wake(&mut self, now: Instant) {
        let rest = self.rest;
        let resting = self.shared.wanted().rests(rest != Rest::No);
        self.rest = match rest {
            Rest::No if resting => {
                self.set_resting(now, true);
                Rest::Begins(now + self.draining.patience)
            }
            Rest::Begins(until) if resting && (now >= until || self.is_done(now)) => {
                self.engine.shut_down(now);
                Rest::Deep
            }
            Rest::Begins(_) | Rest::Deep if !resting => {
                self.set_resting(now, false);
                Rest::No
            }
            same => same,
        };
    }

    fn set_resting(&mut self, now: Instant, resting: bool) {
        self.engine.set_draining(resting);
        self.role.rest(resting);
        self.draining.since = now;
    }

    /// Takes nothing new.
    fn drain(&mut self, now: Instant) {
        let mut cx = Cx {
            now,
            engine: &mut self.engine,
            registry: self.poll.registry(),
        };
        self.role.drain(&mut cx);
        if self.role.carries_for_others() {
            self.draining.since = now;
        }
        self.engine.set_draining(true);
    }

    /// Notes when cells were sent last.
    fn look_at_sent(&mut self, now: Instant) {
        let node = self.engine.counters().node;
        let sent = node.cells_sent + node.cells_resent;
        if sent != self.draining.sent {
            (self.draining.sent, self.draining.since) = (sent, now);
        }
    }

    /// Whether a draining worker may exit: no stream ends here, and circuits carry nothing. The last cells of a client's
    /// streams may be at relays when it has none any more, and its circuits must not end before they have arrived.
    fn is_done(&mut self, now: Instant) -> bool {
        self.look_at_sent(now);
        let waiting = self.role.pool().map_or(0, |pool| pool.waiting);
        if self.role.streams() > 0 || waiting > 0 {
            return false;
        }
        let idle = now.saturating_since(self.draining.since) >= QUIET;
        let carries_for_others = self.role.carries_for_others();
        let is_empty = || carries_for_others || Sent::of_all(&self.engine).is_all();
        self.engine.counters().circuits == 0 || (idle && is_empty())
    }

    /// Closes all links and sends the farewells. Applications and servers hear of it by their connections, which break
    /// off when they are closed, and a client's circuits are not built anew.
    fn say_goodbye(&mut self, events: &mut Events) -> io::Result<()> {
        let end = self.clock.now() + FAREWELL;
        self.engine.shut_down(self.clock.now());
        loop {
            let now = self.clock.now();
            while self.send(now) {}
            while self.engine.poll_event(now).is_some() {}
            self.engine.observe(now);
            if now >= end {
                self.account(now);
                return Ok(());
            }
            let wait = std::time::Duration::from_millis(10);
            self.poll(events, Some(wait), |source| {
                !matches!(source, Source::Pipe(_))
            })?;
        }
    }
}
