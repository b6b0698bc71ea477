//! A client: applications ask by SOCKS for connections, which streams over circuits become.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use hopflow_channel::Fingerprint;
use hopflow_engine::{CircuitKey, Event, Failure, Hop, StreamHandle};
use hopflow_onion::{OnionPayload, OnionPublic};
use hopflow_units::{Cells, Duration, Instant};
use mio::net::{TcpListener, TcpStream};
use tracing::{debug, info, warn};

use super::accept::accept;
use super::circuits::{CircuitNames, Progress};
use super::clock::calendar_time;
use super::pipe::Pipe;
use super::reach::Reach;
use super::role::{Cx, Entry, Role, Table};
use super::tokens::PlaceKey;
use crate::Target;
use crate::directory::Directory;
use crate::path::Path;
use crate::pool::{Pool, PoolAction, PoolCircuit, PoolCounts, RequestKey};
use crate::socks::{Isolation, Reply, SocksHandshake};

/// Bytes of a SOCKS request that are read at once.
const CHUNK: usize = 1024;
/// Bytes behind a request that are taken, roughly, before there is an answer to it.
const MOST_EARLY: usize = 16 * 1024;

/// Connections of applications at most, where descriptors suffice.
pub(super) const MOST_CONNECTIONS: usize = 8192;

/// What a client grants applications.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientLimits {
    /// How long it waits for what an application wants, and a stream for the exit's answer.
    pub(super) patience: Duration,
    /// Connections of applications at most.
    pub(super) connections: usize,
}

/// A client's worker.
#[derive(Debug)]
pub(super) struct Client {
    listener: Option<TcpListener>,
    pool: Pool,
    directory: Arc<Directory>,
    reach: Reach,
    hops: Vec<Hop>,
    table: Table<Opening>,
    circuits: CircuitNames,
    requests: BTreeMap<RequestKey, PlaceKey>,
    /// Connections that came, and until when they must have said what they want, in this order.
    asking: VecDeque<(Instant, PlaceKey)>,
    /// Which circuit the stream of a place is on.
    carried: BTreeMap<PlaceKey, PoolCircuit>,
    /// Streams that wait or waited for the exit's answer, and until when, in this order.
    beginning: VecDeque<(Instant, StreamHandle)>,
    limits: ClientLimits,
}

/// A connection that is not joined to a stream yet.
#[derive(Debug)]
struct Opening {
    socket: TcpStream,
    target: Option<Target>,
    step: Step,
    /// Bytes of the application behind its request.
    early: Vec<u8>,
}

#[derive(Debug)]
enum Step {
    /// The application says what it wants.
    Asking(SocksHandshake),
    /// The stream waits for a circuit.
    Waiting(RequestKey, Isolation),
    /// The stream waits for the exit's answer.
    Beginning,
}

/// The directory's relays as paths' hops.
pub(super) fn hops(directory: &Directory) -> Vec<Hop> {
    directory
        .relays
        .iter()
        .map(|relay| Hop {
            address: relay.address,
            fingerprint: Fingerprint::from_bytes(relay.fingerprint.0),
            onion: OnionPublic(relay.onion_key.0),
        })
        .collect()
}

fn close_all(cx: &mut Cx<'_>, legs: impl IntoIterator<Item = CircuitKey>) {
    for key in legs {
        cx.engine.close_circuit(cx.now, key);
    }
}

impl Client {
    /// A client without circuits, whose applications come by this listener.
    pub(super) fn new(
        listener: TcpListener,
        pool: Pool,
        (directory, reach): (&Arc<Directory>, Reach),
        limits: ClientLimits,
    ) -> Self {
        Self {
            listener: Some(listener),
            pool,
            hops: hops(directory),
            directory: directory.clone(),
            reach,
            table: Table::default(),
            circuits: CircuitNames::default(),
            requests: BTreeMap::new(),
            asking: VecDeque::new(),
            carried: BTreeMap::new(),
            beginning: VecDeque::new(),
            limits,
        }
    }

    /// Reads what an application asks for, and what it says behind that.
    fn read(&mut self, cx: &mut Cx<'_>, place: PlaceKey) {
        let mut bytes = [0; CHUNK];
        while let Some(opening) = self.table.opening(place)
            && opening.early.len() < MOST_EARLY
        {
            match opening.socket.read(&mut bytes) {
                Ok(len) if len > 0 => self.take(cx, place, &bytes[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Who ends before there is an answer waits for none.
                _ => return self.drop_place(cx, place),
            }
        }
    }

    /// Takes what an application says before its connection is joined to a stream.
    fn take(&mut self, cx: &mut Cx<'_>, place: PlaceKey, bytes: &[u8]) {
        let Some(opening) = self.table.opening(place) else {
            return;
        };
        let Step::Asking(handshake) = &mut opening.step else {
            return opening.early.extend_from_slice(bytes);
        };
        let mut answer = Vec::new();
        let outcome = handshake.receive(bytes, &mut answer);
        // The answers are a few bytes, for which a new connection has room.
        let written = opening.socket.write_all(&answer);
        match outcome {
            Ok(None) if written.is_ok() => {}
            Ok(Some(request)) if written.is_ok() => {
                opening.early = request.rest;
                opening.target = Some(request.target);
                self.ask_pool(cx.now, place, request.isolation);
            }
            _ => self.drop_place(cx, place),
        }
    }

    /// Lets the stream of a place wait for a circuit.
    fn ask_pool(&mut self, now: Instant, place: PlaceKey, isolation: Isolation) {
        let Some(opening) = self.table.opening(place) else {
            return;
        };
        let Some(target) = opening.target.clone() else {
            return;
        };
        let key = self.pool.request(now, target, isolation.clone());
        opening.step = Step::Waiting(key, isolation);
        self.requests.insert(key, place);
    }

    /// Does what the pool wants.
    fn act(&mut self, cx: &mut Cx<'_>, action: PoolAction) {
        match action {
            PoolAction::Build { circuit, paths } => self.build(cx, circuit, paths),
            PoolAction::BuildLeg { circuit, leg, path } => self.build_leg(cx, (circuit, leg), path),
            PoolAction::Attach { request, circuit } => self.attach(cx, request, circuit),
            PoolAction::Refuse { request, reason } => {
                if let Some(place) = self.requests.remove(&request) {
                    self.refuse(cx, place, reason.reply());
                }
            }
            PoolAction::Close { circuit } => self.let_go(cx, circuit),
        }
    }

    /// Builds a circuit with all its legs.
    fn build(&mut self, cx: &mut Cx<'_>, circuit: PoolCircuit, paths: Vec<Path>) {
        let has_expired = self.directory.has_expired(calendar_time());
        if has_expired || self.circuits.add(circuit, paths.len()).is_err() {
            return self.pool.closed(cx.now, circuit, 0, None);
        }
        for (leg, path) in paths.into_iter().enumerate() {
            self.build_leg(cx, (circuit, leg), path);
        }
    }

    fn build_leg(&mut self, cx: &mut Cx<'_>, (circuit, leg): (PoolCircuit, usize), path: Path) {
        // Another leg may have failed meanwhile, or the circuit goes on with its first.
        if !self.circuits.wants(circuit, leg) {
            return;
        }
        let hops = path.iter().map(|&relay| self.hops[relay].clone());
        let mut hops: Vec<Hop> = hops.collect();
        if let (Some(first), [relay, ..]) = (hops.first_mut(), &path[..])
            && let Some(address) = self.reach.first_address(&self.directory.relays[*relay])
        {
            first.address = address;
        }
        let key = cx.engine.build(cx.now, hops);
        self.circuits.begin((circuit, leg), key, path);
    }

    /// A leg was built: it is to be linked if there are others.
    fn on_built(&mut self, cx: &mut Cx<'_>, key: CircuitKey) {
        let Some((circuit, leg, link)) = self.circuits.on_built(key) else {
            return;
        };
        self.pool.leg_built(circuit, leg);
        match link {
            Some(link) => cx.engine.link(cx.now, key, &link),
            None => self.on_progress(cx, circuit),
        }
    }

    /// A leg of a circuit was built or linked, or is given up.
    fn on_progress(&mut self, cx: &mut Cx<'_>, circuit: PoolCircuit) {
        match self.circuits.progress(circuit) {
            Progress::Building => {}
            Progress::Built => {
                debug!("a circuit was built");
                self.pool.built(cx.now, circuit);
            }
            Progress::Apart(leg) => {
                let apart = self.circuits.remove_leg(circuit, leg);
                close_all(cx, apart);
                if !self.pool.replace_leg(cx.now, circuit, leg) {
                    self.use_first_leg(cx, circuit);
                }
                self.on_progress(cx, circuit);
            }
            Progress::Single => {
                self.use_first_leg(cx, circuit);
                self.on_progress(cx, circuit);
            }
        }
    }

    /// Gives up all legs of a circuit but the first.
    fn use_first_leg(&mut self, cx: &mut Cx<'_>, circuit: PoolCircuit) {
        debug!("the exit does not link the legs of a circuit: it has one");
        let others = self.circuits.keep_first(circuit);
        close_all(cx, others);
        self.pool.one_leg(circuit);
    }

    /// Closes a circuit without streams, once what they left on it has had time to arrive.
    fn let_go(&mut self, cx: &mut Cx<'_>, circuit: PoolCircuit) {
        let sent = self.circuits.sent(cx.engine, circuit);
        let closed = self.circuits.closing.add(cx.now, circuit, sent);
        if let Some(circuit) = closed {
            self.close(cx, circuit);
        }
    }

    /// Closes a circuit with all legs that are there.
    fn close(&mut self, cx: &mut Cx<'_>, circuit: PoolCircuit) {
        let legs = self.circuits.remove(circuit);
        close_all(cx, legs);
    }

    fn attach(&mut self, cx: &mut Cx<'_>, request: RequestKey, circuit: PoolCircuit) {
        let Some(place) = self.requests.remove(&request) else {
            return self.pool.stream_ended(cx.now, circuit);
        };
        match self.open_stream(cx, place, circuit) {
            Some(stream) => {
                self.table.name(place, stream);
                self.carried.insert(place, circuit);
                let until = cx.now + self.limits.patience;
                self.beginning.push_back((until, stream));
            }
            None => self.ask_again(cx.now, place, circuit),
        }
    }

    /// Opens the stream of a place on a circuit; `None` if that has as many as it may, or is gone.
    fn open_stream(
        &mut self,
        cx: &mut Cx<'_>,
        place: PlaceKey,
        circuit: PoolCircuit,
    ) -> Option<StreamHandle> {
        let opening = self.table.opening(place)?;
        let target = opening.target.as_ref()?.to_string();
        let legs = self.circuits.keys(circuit);
        let stream = cx.engine.open_stream(cx.now, &legs, target.as_bytes())?;
        // What comes before the stream is joined to its connection waits in the engine, where it counts as memory.
        cx.engine.set_credit(cx.now, stream, Cells::new(1));
        opening.step = Step::Beginning;
        Some(stream)
    }

    /// The circuit takes no stream: that of this place waits for another one, and so do those that follow.
    fn ask_again(&mut self, now: Instant, place: PlaceKey, circuit: PoolCircuit) {
        self.pool.doubt(circuit);
        self.pool.stream_ended(now, circuit);
        let opening = self.table.opening(place);
        if let Some(Step::Waiting(_, isolation)) = opening.map(|it| &it.step) {
            let isolation = isolation.clone();
            self.ask_pool(now, place, isolation);
        }
    }

    /// Logs why a circuit is gone, with the relay that failed if it was being built along `path`;
    /// logs must not show where a built one led.
    fn log_end(&self, path: Option<&Path>, why: Failure) {
        match why {
            Failure::Requested | Failure::Moved => {}
            Failure::NoRoute => {
                warn!("a circuit could not be built: this host cannot connect to others");
            }
            // A client that ends begins no circuits.
            Failure::Hop { .. } | Failure::OnTheWay { .. } if self.listener.is_none() => {}
            Failure::Hop { hop } => {
                let relay = path.and_then(|path| path.get(hop).copied());
                let relay = relay.map_or("unknown", |it| &self.directory.relays[it].nickname);
                warn!(relay, hop, "a circuit could not be built: a relay fails");
            }
            Failure::OnTheWay { hop } => {
                warn!(
                    hop,
                    "a circuit could not be built: a relay on the way to a hop fails"
                );
            }
            Failure::Closed(reason) => info!(?reason, "a circuit was closed on the way"),
            Failure::Forged => warn!("a circuit was closed: its cells were altered on the way"),
        }
    }

    /// The first cell of a stream: the exit's answer, and perhaps more.
    fn on_first_cell(&mut self, cx: &mut Cx<'_>, stream: StreamHandle, payload: OnionPayload) {
        let Some(place) = self.table.place(stream) else {
            return;
        };
        let reply = Reply::from_code(payload.data().first().copied().unwrap_or(1));
        if let (Reply::NetworkUnreachable, Some(circuit)) = (reply, self.carried.get(&place)) {
            self.pool.exit_had_no_route(cx.now, *circuit);
        }
        if reply != Reply::Succeeded {
            return self.refuse(cx, place, reply);
        }
        let now = cx.now;
        self.table.join(place, |opening| {
            let mut pipe = Pipe::new(opening.socket, stream, opening.early, now);
            pipe.greet(&reply.encode());
            pipe.deliver(payload, 1);
            pipe
        });
    }

    /// Whether an application has not said what it wants.
    fn is_asking(&mut self, place: PlaceKey) -> bool {
        let opening = self.table.opening(place);
        opening.is_some_and(|opening| matches!(opening.step, Step::Asking(_)))
    }

    /// Drops the connections of applications that took too long to say what they want.
    fn drop_silent(&mut self, cx: &mut Cx<'_>) {
        while let Some(&(deadline, place)) = self.asking.front() {
            let is_asking = self.is_asking(place);
            if is_asking && deadline > cx.now {
                return;
            }
            self.asking.pop_front();
            if is_asking {
                self.drop_place(cx, place);
            }
        }
    }

    /// Makes room for one more connection: the first goes that has not said what it wants. False
    /// if there is none.
    fn make_room(&mut self, cx: &mut Cx<'_>) -> bool {
        while self.table.len() >= self.limits.connections {
            let Some((_, place)) = self.asking.pop_front() else {
                return false;
            };
            if self.is_asking(place) {
                self.drop_place(cx, place);
            }
        }
        true
    }

    /// Refuses the streams for which the exit's answer is overdue; true if there were any.
    fn refuse_overdue(&mut self, cx: &mut Cx<'_>) -> bool {
        let mut worked = false;
        while let Some(&(deadline, stream)) = self.beginning.front() {
            let place = self.table.place(stream);
            let place = place.filter(|&place| self.table.opening(place).is_some());
            if place.is_some() && deadline > cx.now {
                break;
            }
            self.beginning.pop_front();
            if let Some(place) = place {
                self.doubt(place);
                self.refuse(cx, place, Reply::TtlExpired);
                worked = true;
            }
        }
        worked
    }

    /// The exit ended a stream without an answer: other streams begin on other circuits.
    fn unanswered(&mut self, cx: &mut Cx<'_>, place: PlaceKey) {
        self.doubt(place);
        self.refuse(cx, place, Reply::GeneralFailure);
    }

    /// Begins no more streams on the circuit that carries this place's.
    fn doubt(&mut self, place: PlaceKey) {
        if let Some(circuit) = self.carried.get(&place) {
            self.pool.doubt(*circuit);
        }
    }

    /// Tells an application that it gets no connection, and closes its own.
    fn refuse(&mut self, cx: &mut Cx<'_>, place: PlaceKey, reply: Reply) {
        if let Some(opening) = self.table.opening(place) {
            // What a closed connection does not take is lost on nobody.
            let _ = opening.socket.write_all(&reply.encode());
        }
        self.drop_place(cx, place);
    }

    /// Forgets a connection, its request and its stream.
    fn drop_place(&mut self, cx: &mut Cx<'_>, place: PlaceKey) {
        if let Some(stream) = self.table.stream(place) {
            cx.engine.close_stream(cx.now, stream);
        }
        if let Some(Entry::Opening(opening)) = self.table.remove(cx, place)
            && let Step::Waiting(request, _) = opening.step
        {
            self.requests.remove(&request);
            self.pool.cancel(request);
        }
        self.ended(cx.now, place);
    }

    fn ended(&mut self, now: Instant, place: PlaceKey) {
        if let Some(circuit) = self.carried.remove(&place) {
            self.pool.stream_ended(now, circuit);
        }
    }
}

impl Role for Client {
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event) {
        match event {
            Event::Built { circuit } => self.on_built(cx, circuit),
            Event::Linked { circuit, worker } => {
                if let Some(name) = self.circuits.on_linked(circuit, worker) {
                    self.on_progress(cx, name);
                }
            }
            Event::Closed { circuit, why } => {
                if let Some((name, leg, path)) = self.circuits.on_closed(circuit) {
                    self.log_end(path.as_ref(), why);
                    self.close(cx, name);
                    match why {
                        Failure::Hop { hop } => self.pool.closed(cx.now, name, leg, Some(hop)),
                        Failure::Moved => self.pool.gave_up(cx.now, name),
                        Failure::NoRoute => self.pool.had_no_route(cx.now, name, leg),
                        _ => self.pool.closed(cx.now, name, leg, None),
                    }
                }
            }
            Event::Data { stream, payload } => match self.table.place(stream) {
                Some(place) if self.table.pipe(place).is_none() => {
                    self.on_first_cell(cx, stream, payload);
                }
                _ => self.table.deliver(stream, payload),
            },
            Event::Writable { stream } => {
                if let Some(place) = self.table.place(stream) {
                    self.table.stir(place);
                }
            }
            Event::Finished { stream } => match self.table.place(stream) {
                Some(place) if self.table.pipe(place).is_none() => self.unanswered(cx, place),
                _ => self.table.finish(stream),
            },
            Event::Reset { stream } => {
                if let Some(place) = self.table.place(stream) {
                    if self.table.pipe(place).is_some() {
                        self.table.break_off(cx, place);
                        self.ended(cx.now, place);
                    } else {
                        self.unanswered(cx, place);
                    }
                }
            }
            Event::Begin { stream, .. } => cx.engine.close_stream(cx.now, stream),
        }
    }

    fn on_ready(&mut self, cx: &mut Cx<'_>, place: PlaceKey, readable: bool, _: bool) {
        if let Some(pipe) = self.table.pipe(place) {
            pipe.on_ready(readable);
            self.table.stir(place);
        } else if readable {
            self.read(cx, place);
        }
    }

    fn on_listener(&mut self, cx: &mut Cx<'_>) {
        while let Some((mut socket, _)) = self.listener.as_ref().and_then(accept) {
            if !self.make_room(cx) {
                continue;
            }
            let _ = socket.set_nodelay(true);
            let place = self.table.add_with(|place| {
                let (token, interest) =
                    (Table::<Opening>::token(place), Table::<Opening>::interest());
                cx.registry.register(&mut socket, token, interest)?;
                std::io::Result::Ok(Opening {
                    socket,
                    target: None,
                    step: Step::Asking(SocksHandshake::new()),
                    early: Vec::new(),
                })
            });
            self.asking
                .extend(place.map(|place| (cx.now + self.limits.patience, place)));
        }
    }

    fn work(&mut self, cx: &mut Cx<'_>) -> bool {
        self.drop_silent(cx);
        let mut worked = self.refuse_overdue(cx);
        if self.pool.poll_timeout() <= cx.now {
            self.pool.handle_timeout(cx.now);
        }
        while let Some(action) = self.pool.poll_action() {
            self.act(cx, action);
            worked = true;
        }
        while let Some(circuit) = self.circuits.take_quiet(cx.now, cx.engine) {
            self.close(cx, circuit);
            worked = true;
        }
        let mut ended = Vec::new();
        worked |= self.table.pump(cx, |place, _| ended.push(place));
        for place in ended {
            self.ended(cx.now, place);
        }
        worked
    }

    fn poll_timeout(&self) -> Instant {
        let begins = self.beginning.front().map(|(at, _)| *at);
        let asks = self.asking.front().map(|(at, _)| *at);
        let closes = self.circuits.closing.timeout();
        let deadlines = begins.into_iter().chain(asks).chain(closes);
        deadlines.fold(self.pool.poll_timeout(), Instant::min)
    }

    fn on_moved(&mut self, now: Instant) {
        self.pool.on_moved(now);
    }

    fn drain(&mut self, cx: &mut Cx<'_>) {
        if let Some(mut listener) = self.listener.take() {
            // It is closed in any case.
            let _ = cx.registry.deregister(&mut listener);
        }
        // Nothing is lost to an application that has asked for nothing.
        for (_, place) in std::mem::take(&mut self.asking) {
            if self.is_asking(place) {
                self.drop_place(cx, place);
            }
        }
    }

    fn streams(&self) -> usize {
        self.table.streams()
    }

    fn pool(&self) -> Option<PoolCounts> {
        Some(self.pool.counts())
    }
}
