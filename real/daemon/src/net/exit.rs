//! An exit: streams that clients begin are connected to servers.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hopflow_engine::{CircuitKey, Event, StreamHandle};
use hopflow_units::{Cells, Duration, Instant};
use mio::Waker;
use mio::net::TcpStream;
use socket2::{SockRef, TcpKeepalive};

use super::begins::{Begins, Begun};
use super::change::{Change, ExitLimits, Overlay};
use super::deadlines::Deadlines;
use super::descriptors::is_out;
use super::ending::Ending;
use super::owners::{Connections, Owners, Room};
use super::pipe::{Pipe, State};
use super::ranks::Owner;
use super::reach::lacks_family;
use super::resolver::{Asked, Names, Resolver};
use super::role::{Cx, Entry, Role, Table};
use super::tokens::PlaceKey;
use crate::accounting::Traffic;
use crate::policy::ExitPolicy;
use crate::socks::Reply;
use crate::{Host, Target};

/// How long a connection is silent before the kernel asks whether the other machine is there.
const KEEP_ALIVE: std::time::Duration = std::time::Duration::from_secs(300);

/// Addresses of a name that are tried, of those that the policy allows: for each the worker asks the system whether
/// it is its machine's.
const MOST_TRIED: usize = 8;
/// How long an address may be silent at least before the next one is tried, while there is time.
const ATTEMPT: Duration = Duration::from_secs(2);

/// A relay's worker; without a policy it is no exit and breaks off what clients begin.
#[derive(Debug)]
pub(super) struct Exit {
    policy: Option<ExitPolicy>,
    overlay: Arc<Overlay>,
    resolver: Option<Resolver>,
    table: Table<Opening>,
    /// Places that wait for addresses, by the number of their question.
    asked: BTreeMap<u64, PlaceKey>,
    owners: Owners,
    begins: Begins,
    /// Connections refused and closed by the limits on them.
    turned_away: Connections,
    limits: ExitLimits,
    /// When places are looked at: connections that are not there yet are given up, idle ones closed.
    deadlines: Deadlines,
    /// Streams that lead nowhere: their clients may read why.
    ending: Ending<StreamHandle>,
    draining: bool,
}

/// A stream without a connection.
#[derive(Debug)]
struct Opening {
    stream: StreamHandle,
    /// What it asked the resolver.
    question: Option<Pending>,
    /// What is tried at present.
    socket: Option<TcpStream>,
    /// What may be tried after it.
    rest: Vec<SocketAddr>,
    /// Why what was tried before it was no use.
    refusal: Option<Reply>,
    /// Until when.
    until: Instant,
}

impl Opening {
    /// Until when the address is tried whose turn it is: it and those after it share what time is left.
    fn attempt_until(&self, now: Instant) -> Instant {
        let left = self.until.saturating_since(now);
        let part = left / (self.rest.len() as u64 + 1);
        (now + part.max(ATTEMPT)).min(self.until)
    }

    /// Notes why an address was no use. That there is no route to it says nothing of the target where another address
    /// was really tried.
    fn note(&mut self, refusal: Reply) {
        if refusal != Reply::NetworkUnreachable || self.refusal.is_none() {
            self.refusal = Some(refusal);
        }
    }
}

/// Why an exit connects to none of a target's addresses.
#[derive(Debug)]
enum Refusal {
    /// The client is told this.
    Told(Reply),
    /// No descriptor is left by which the system says which addresses are the exit's own.
    NoDescriptor(io::Error),
}

impl From<Reply> for Refusal {
    fn from(reply: Reply) -> Self {
        Self::Told(reply)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::NoDescriptor(error)
    }
}

/// A question to the resolver.
#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    circuit: CircuitKey,
    port: u16,
}

impl Exit {
    pub(super) fn new(
        policy: Option<ExitPolicy>,
        overlay: Arc<Overlay>,
        limits: ExitLimits,
        waker: &Arc<Waker>,
    ) -> Self {
        Self {
            overlay,
            limits,
            resolver: policy.as_ref().map(|policy| {
                let private = policy.allow_private;
                let names = if private { Names::All } else { Names::Public };
                Resolver::start(waker, names)
            }),
            policy,
            table: Table::default(),
            asked: BTreeMap::new(),
            owners: Owners::default(),
            begins: Begins::default(),
            turned_away: Connections::default(),
            deadlines: Deadlines::default(),
            ending: Ending::default(),
            draining: false,
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>, stream: StreamHandle, target: &[u8]) {
        if self.draining {
            // Without an answer: the client begins its streams elsewhere.
            return cx.engine.close_stream(cx.now, stream);
        }
        let Some(owner) = Self::owner(cx, stream) else {
            return cx.engine.close_stream(cx.now, stream);
        };
        // What the policy refuses counts, too, for it is answered.
        match self.begins.count(cx.now, owner, self.limits.begins) {
            Begun::Counted => {}
            Begun::TooManyOnCircuit => {
                // As by a server that does not answer: who asks too often is not told to ask again.
                self.turned_away.refused += 1;
                return self.close_later(cx, stream);
            }
            Begun::TooManyOfNetwork => return self.turn_away(cx, stream),
        }
        let Some(target) = self.allowed_target(target) else {
            return self.refuse(cx, stream, Reply::NotAllowed);
        };
        if !self.make_room(cx, owner) {
            return self.turn_away(cx, stream);
        }
        // What the client says before the server is there waits in the engine.
        let until = cx.now + self.limits.connect;
        let place = self.table.add(Opening {
            stream,
            question: None,
            socket: None,
            rest: Vec::new(),
            refusal: None,
            until,
        });
        self.table.name(place, stream);
        self.owners.insert(place, owner);
        self.deadlines.set(place, until);
        match target.host {
            Host::Address(address) => {
                self.try_all(cx, place, &[SocketAddr::new(address, target.port)]);
            }
            Host::Name(name) => self.ask(cx, place, (owner, &name), target.port),
        }
    }

    /// What a client asks for, if the policy may allow it.
    fn allowed_target(&self, target: &[u8]) -> Option<Target> {
        let target: Target = std::str::from_utf8(target).ok()?.parse().ok()?;
        let policy = self.policy.as_ref()?;
        policy.may_allow(&target).then_some(target)
    }

    /// Whose stream it is.
    fn owner(cx: &Cx<'_>, stream: StreamHandle) -> Option<Owner> {
        let circuit = cx.engine.circuit_of(stream)?;
        let network = cx.engine.network_of(circuit)?;
        Some(Owner { network, circuit })
    }

    /// Makes room for one more connection; false if its circuit has enough.
    fn make_room(&mut self, cx: &mut Cx<'_>, owner: Owner) -> bool {
        match self.owners.room(owner, self.limits.shares) {
            Room::None => return false,
            Room::Free => {}
            Room::InPlaceOf(other) => self.evict(cx, other.circuit),
        }
        true
    }

    /// Closes a connection of somebody who has more than whose this one is; false if nobody has.
    fn evict_for(&mut self, cx: &mut Cx<'_>, place: PlaceKey) -> bool {
        let owner = self.owners.owner(place);
        let heavier = owner.and_then(|owner| self.owners.heavier(owner));
        if let Some(other) = heavier {
            self.evict(cx, other.circuit);
        }
        heavier.is_some()
    }

    /// Closes the connection of a circuit that has carried nothing for longest.
    fn evict(&mut self, cx: &mut Cx<'_>, circuit: CircuitKey) {
        // One that is not there yet has carried nothing at all; the first is the oldest.
        let table = &mut self.table;
        let moved = |place: &PlaceKey| table.pipe(*place).map(|pipe| pipe.moved());
        if let Some(place) = self.owners.of(circuit).min_by_key(moved) {
            self.turned_away.evicted += 1;
            self.close(cx, place);
        }
    }

    /// Breaks a connection and its stream off.
    fn close(&mut self, cx: &mut Cx<'_>, place: PlaceKey) {
        if let Some(stream) = self.table.stream(place) {
            cx.engine.close_stream(cx.now, stream);
        }
        self.forget(cx, place);
    }

    /// Looks at what is due: tries the next address of what is not connected, or gives it up, and closes what was idle
    /// for long.
    fn look_at_due(&mut self, cx: &mut Cx<'_>) {
        while let Some(place) = self.deadlines.take_due(cx.now) {
            if let Some(opening) = self.table.opening(place) {
                if opening.until <= cx.now {
                    opening.rest.clear();
                }
                opening.note(Reply::TtlExpired);
                self.try_next(cx, place);
            } else if let Some(pipe) = self.table.pipe(place) {
                let ends_at = pipe.ends_at(self.limits.idle);
                if ends_at <= cx.now {
                    self.close(cx, place);
                } else {
                    self.deadlines.set(place, ends_at);
                }
            }
        }
        while let Some(stream) = self.ending.take_due(cx.now) {
            cx.engine.close_stream(cx.now, stream);
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_>, place: PlaceKey, (owner, name): (Owner, &str), port: u16) {
        let (Some(resolver), Some(opening)) = (&mut self.resolver, self.table.opening(place))
        else {
            return;
        };
        let circuit = owner.circuit;
        match resolver.ask(cx.now, owner, name) {
            Asked::Known(addresses) => self.try_named(cx, place, &addresses, port),
            Asked::Waits { number, unanswered } => {
                opening.question = Some(Pending {
                    number,
                    circuit,
                    port,
                });
                self.asked.insert(number, place);
                if let Some(number) = unanswered {
                    self.leave_unanswered(cx, number);
                }
            }
        }
    }

    /// A question to the resolver is answered.
    fn answer(&mut self, cx: &mut Cx<'_>, number: u64, addresses: &[IpAddr]) {
        let place = self.asked.remove(&number);
        let Some(place) = place else { return };
        let question = self.table.opening(place).and_then(|it| it.question.take());
        if let Some(Pending { port, .. }) = question {
            self.try_named(cx, place, addresses, port);
        }
    }

    /// There is no room for a question to the resolver.
    fn leave_unanswered(&mut self, cx: &mut Cx<'_>, number: u64) {
        if let Some(place) = self.asked.remove(&number) {
            self.turned_away.refused += 1;
            self.give_up(cx, place, Reply::GeneralFailure);
        }
    }

    /// The addresses of a name are known.
    fn try_named(&mut self, cx: &mut Cx<'_>, place: PlaceKey, addresses: &[IpAddr], port: u16) {
        let at_port = |address: &IpAddr| SocketAddr::new(address.to_canonical(), port);
        let addresses: Vec<_> = addresses.iter().map(at_port).collect();
        self.try_all(cx, place, &addresses);
    }

    /// Forgets a place, and what it waits for.
    fn forget(&mut self, cx: &mut Cx<'_>, place: PlaceKey) -> Option<Opening> {
        self.owners.remove(place);
        self.deadlines.remove(place);
        let Entry::Opening(opening) = self.table.break_off(cx, place)? else {
            return None;
        };
        if let Some(question) = opening.question {
            self.asked.remove(&question.number);
            if let Some(resolver) = &self.resolver {
                resolver.cancel(question.circuit, question.number);
            }
        }
        Some(opening)
    }

    /// Addresses of a target are known: connects to the first that the policy allows.
    fn try_all(&mut self, cx: &mut Cx<'_>, place: PlaceKey, addresses: &[SocketAddr]) {
        let allowed = loop {
            match self.allowed(addresses) {
                // As at the limit on connections.
                Err(Refusal::NoDescriptor(_)) if self.evict_for(cx, place) => {}
                allowed => break allowed,
            }
        };
        match allowed {
            Err(Refusal::Told(reply)) => self.give_up(cx, place, reply),
            Err(Refusal::NoDescriptor(error)) => self.give_up(cx, place, reply_for(&error)),
            Ok(mut allowed) => {
                allowed.reverse();
                if let Some(opening) = self.table.opening(place) {
                    opening.rest = allowed;
                }
                self.try_next(cx, place);
            }
        }
    }

    /// Which of a target's addresses the exit may connect to.
    fn allowed(&self, addresses: &[SocketAddr]) -> Result<Vec<SocketAddr>, Refusal> {
        let policy = self.policy.as_ref().ok_or(Reply::NotAllowed)?;
        let allowed = policy.allowed(addresses);
        let mut allowed = allowed.map_err(|_| Reply::NotAllowed)?;
        if allowed.is_empty() {
            // A name has none, or none that we show: who asks for names must not learn which the exit's own network
            // has.
            return Err(Reply::HostUnreachable.into());
        }
        allowed.truncate(MOST_TRIED);
        allowed.retain(|address| !self.overlay.has(*address));
        if allowed.is_empty() {
            return Err(Reply::NotAllowed.into());
        }
        let mut others = Vec::new();
        for address in allowed {
            if !self.overlay.is_own(address.ip())? {
                others.push(address);
            }
        }
        // As from a machine that offers nothing there: which of the addresses that the policy accepts are the exit's
        // own, clients need not learn.
        if others.is_empty() {
            return Err(Reply::ConnectionRefused.into());
        }
        Ok(others)
    }

    /// Connects to the next address, or tells the client why none was left.
    fn try_next(&mut self, cx: &mut Cx<'_>, place: PlaceKey) {
        while let Some(opening) = self.table.opening(place) {
            opening.socket = None;
            let Some(address) = opening.rest.pop() else {
                let refusal = opening.refusal.unwrap_or(Reply::HostUnreachable);
                return self.give_up(cx, place, refusal);
            };
            let connecting = TcpStream::connect(address).and_then(|mut socket| {
                let (token, interest) =
                    (Table::<Opening>::token(place), Table::<Opening>::interest());
                cx.registry.register(&mut socket, token, interest)?;
                Ok(socket)
            });
            match connecting {
                Ok(socket) => {
                    opening.socket = Some(socket);
                    let until = opening.attempt_until(cx.now);
                    return self.deadlines.set(place, until);
                }
                // As at the limit on connections.
                Err(error) if is_out(&error) && self.evict_for(cx, place) => {
                    if let Some(opening) = self.table.opening(place) {
                        opening.rest.push(address);
                    }
                }
                Err(error) => {
                    if let Some(opening) = self.table.opening(place) {
                        opening.note(reply_for_address(address, &error));
                    }
                }
            }
        }
    }

    /// Tells the client that its stream leads nowhere. The stream is read again once that is on its
    /// way, see [`Exit::on_writable`], and ends with the client's part of it, or when there was time
    /// enough.
    fn refuse(&mut self, cx: &mut Cx<'_>, stream: StreamHandle, reply: Reply) {
        cx.engine.write(cx.now, stream, &[reply.code()]);
        cx.engine.finish(cx.now, stream);
        self.close_later(cx, stream);
    }

    /// Refuses a stream for which there is no room.
    fn turn_away(&mut self, cx: &mut Cx<'_>, stream: StreamHandle) {
        self.turned_away.refused += 1;
        self.refuse(cx, stream, Reply::GeneralFailure);
    }

    /// Closes a stream that leads nowhere after as long as a connection may take, or when there are too many.
    fn close_later(&mut self, cx: &mut Cx<'_>, stream: StreamHandle) {
        let until = cx.now + self.limits.connect;
        let closed = match Self::owner(cx, stream) {
            Some(owner) => self.ending.add(stream, owner, until),
            None => Some(stream),
        };
        if let Some(stream) = closed {
            cx.engine.close_stream(cx.now, stream);
        }
    }

    /// A stream takes more, or all that it had is on its way.
    fn on_writable(&mut self, cx: &mut Cx<'_>, stream: StreamHandle) {
        match self.table.place(stream) {
            Some(place) => self.table.stir(place),
            // One that we refused: it is over when the client has ended, too.
            None => cx.engine.set_credit(cx.now, stream, Cells::MAX),
        }
    }

    fn give_up(&mut self, cx: &mut Cx<'_>, place: PlaceKey, reply: Reply) {
        if let Some(opening) = self.forget(cx, place) {
            self.refuse(cx, opening.stream, reply);
        }
    }

    /// The connection that is tried is there, or failed.
    fn on_connected(&mut self, cx: &mut Cx<'_>, place: PlaceKey) {
        let Some(opening) = self.table.opening(place) else {
            return;
        };
        let Some(socket) = &opening.socket else {
            return;
        };
        if let Some(error) = socket.take_error().ok().flatten() {
            opening.note(reply_for(&error));
            return self.try_next(cx, place);
        }
        // Without a peer it is still on its way.
        if socket.peer_addr().is_err() {
            return;
        }
        // A small answer must not wait for a larger one, nor we for a machine that is gone.
        let _ = socket.set_nodelay(true);
        let _ = SockRef::from(socket).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEP_ALIVE));
        let stream = opening.stream;
        let Some(socket) = opening.socket.take() else {
            return;
        };
        cx.engine.write(cx.now, stream, &[Reply::Succeeded.code()]);
        let pipe = Pipe::new(socket, stream, Vec::new(), cx.now).hear_out();
        self.deadlines.set(place, pipe.ends_at(self.limits.idle));
        self.table.join(place, |_| pipe);
    }
}

fn reply_for(error: &io::Error) -> Reply {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => Reply::ConnectionRefused,
        ErrorKind::NetworkUnreachable => Reply::NetworkUnreachable,
        ErrorKind::TimedOut => Reply::TtlExpired,
        _ if is_out(error) => Reply::GeneralFailure,
        _ if lacks_family(error) => Reply::NetworkUnreachable,
        _ => Reply::HostUnreachable,
    }
}

/// The same of an address to which a connection could not be begun.
fn reply_for_address(address: SocketAddr, error: &io::Error) -> Reply {
    // So says a system with IPv6 switched off. Of IPv4 it says so when it has no port left.
    let has_no_source = error.kind() == io::ErrorKind::AddrNotAvailable;
    if has_no_source && address.is_ipv6() {
        return Reply::NetworkUnreachable;
    }
    reply_for(error)
}

#[cfg(test)]
mod tests;

impl Role for Exit {
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event) {
        match event {
            Event::Begin { stream, target } => self.begin(cx, stream, target.data()),
            Event::Data { stream, payload } => self.table.deliver(stream, payload),
            Event::Writable { stream } => self.on_writable(cx, stream),
            Event::Finished { stream } => match self.table.place(stream) {
                Some(_) => self.table.finish(stream),
                // One that we refused.
                None => {
                    self.ending.forget(stream);
                    cx.engine.close_stream(cx.now, stream);
                }
            },
            Event::Reset { stream } => match self.table.place(stream) {
                Some(place) => {
                    self.forget(cx, place);
                }
                None => self.ending.forget(stream),
            },
            Event::Built { .. } | Event::Linked { .. } | Event::Closed { .. } => {}
        }
    }

    fn on_ready(&mut self, cx: &mut Cx<'_>, place: PlaceKey, readable: bool, writable: bool) {
        if let Some(pipe) = self.table.pipe(place) {
            pipe.on_ready(readable);
            self.table.stir(place);
        } else if writable {
            self.on_connected(cx, place);
        }
    }

    fn work(&mut self, cx: &mut Cx<'_>) -> bool {
        let now = cx.now;
        while let (Some(resolver), Some(policy)) = (&mut self.resolver, &self.policy)
            && let Some((number, addresses)) = resolver.poll(now, policy)
        {
            self.answer(cx, number, &addresses);
        }
        self.look_at_due(cx);
        let (owners, deadlines) = (&mut self.owners, &mut self.deadlines);
        self.table.pump(cx, |place, state| match state {
            State::Deaf(until) => deadlines.set(place, until),
            _ => {
                owners.remove(place);
                deadlines.remove(place);
            }
        })
    }

    fn poll_timeout(&self) -> Instant {
        let ending = self.ending.next();
        let next = self.deadlines.next().into_iter().chain(ending).min();
        next.unwrap_or(Instant::FAR_FUTURE)
    }

    fn change(&mut self, change: &Change) {
        self.limits = change.exit;
        self.overlay = change.overlay.clone();
        for (place, pipe) in self.table.pipes() {
            self.deadlines.set(place, pipe.ends_at(self.limits.idle));
        }
    }

    fn rest(&mut self, resting: bool) {
        self.draining = resting;
    }

    fn drain(&mut self, _: &mut Cx<'_>) {
        self.draining = true;
    }

    fn streams(&self) -> usize {
        self.table.streams()
    }

    fn carries_for_others(&self) -> bool {
        true
    }

    fn traffic(&self) -> Traffic {
        self.table.traffic()
    }

    fn connections(&self) -> Connections {
        let (open, most) = self.owners.counts();
        Connections {
            open: open as u64,
            most: most as u64,
            ..self.turned_away
        }
    }
}
