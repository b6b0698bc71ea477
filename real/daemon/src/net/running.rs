//! Starting relays and clients, and ending them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use ::tracing::warn;
use hopflow_engine::{Engine, EngineConfig, Limits, RelayIdentity};
use hopflow_onion::OnionPayload;
use hopflow_overlay::{BucketConfig, Factory, Features, LinkPlan};
use hopflow_units::{Bytes, Duration, Instant, Rate};
use hopflow_wire::Carrier;
use mio::net::TcpListener;
use mio::{Interest, Poll, Registry, Waker};

use super::accept::{for_applications, for_links};
use super::alarm::Alarm;
use super::carriers::Carriers;
use super::client::{Client, ClientLimits, MOST_CONNECTIONS};
use super::clock::{Clock, calendar_time};
use super::closing;
use super::datagrams::{self, Datagrams};
use super::descriptors::Needs;
use super::emulated::Emulated;
use super::exit::Exit;
use super::failures::Failures;
use super::keep_going::keep_going;
use super::keeper::{Calendar, Keeper};
use super::metrics::{self, Fixed};
use super::moves::Moves;
use super::reach::Reach;
use super::reload::{Reloadable, exit_limits, known, overlay, reach_by_v6};
use super::role::Role;
use super::scrape::Scrape;
use super::shared::{Account, Shared, Wanted, sum};
use super::tokens::Source;
use super::trace::Tracing;
use super::worker::{Draining, Known, Links, Rest, Worker};
use crate::accounting::{Ledger, Standing, Traffic};
use crate::check::{ListedKeys, listing, refuse_new_keys};
use crate::config::{Circuits, ClientConfig, EmulatedLink, Listen, Network, RelayConfig, Trace};
use crate::directory::{Directory, newest};
use crate::keys::KeyStore;
use crate::path::{Draws, PathChooser};
use crate::pool::Pool;
use crate::{Hex, InputError};

/// How long a worker pauses that panicked, before it begins anew.
const PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// Why a node does not start.
#[derive(Debug)]
pub enum StartError {
    /// Its configuration, keys or directory cannot be used.
    Input(InputError),
    /// A socket cannot be opened.
    Socket {
        /// For what.
        what: &'static str,
        /// At which address.
        address: SocketAddr,
        /// Why.
        cause: io::Error,
    },
    /// The system does not give what a worker needs.
    System(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Socket {
                what,
                address,
                cause,
            } => write!(f, "cannot listen for {what} at {address}: {cause}"),
            Self::System(cause) => write!(f, "cannot start a worker: {cause}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<InputError> for StartError {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<io::Error> for StartError {
    fn from(cause: io::Error) -> Self {
        Self::System(cause)
    }
}

/// The counts of what a relay moves, and how others hear of them.
type Counting = (Ledger, Arc<Mutex<Standing>>);

/// A relay or client that runs. [`Running::end`] ends it and waits for that; it drains when it is dropped.
#[derive(Debug)]
pub struct Running {
    workers: Vec<Thread>,
    /// Where metrics are served.
    scrape: Option<Scrape>,
    /// What counts bytes, and how things stand, if the relay limits them.
    keeper: Option<(Keeper, Arc<Mutex<Standing>>)>,
    /// What may change, if it is a relay.
    reloadable: Option<Mutex<Reloadable>>,
    /// What writes traces, if anything does.
    traces: Option<JoinHandle<()>>,
}

/// A worker's thread. It drains when this is dropped.
#[derive(Debug)]
struct Thread {
    clock: Clock,
    shared: Arc<Shared>,
    waker: Arc<Waker>,
    /// Until somebody waits for it.
    handle: Option<JoinHandle<io::Result<()>>>,
}

impl Thread {
    fn drain(&self) {
        self.shared.end();
        // A worker that cannot be woken looks a tenth of a second later.
        let _ = self.waker.wake();
    }

    fn has_ended(&self) -> bool {
        self.handle.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.drain();
    }
}

impl Running {
    /// What its workers do at present, or did a tenth of a second ago.
    pub fn accounts(&self) -> Vec<Account> {
        let workers = self.workers.iter();
        workers.map(|worker| worker.shared.account()).collect()
    }

    /// When the clock of each worker began, by which its accounts tell the time.
    pub fn epochs(&self) -> Vec<std::time::Instant> {
        let workers = self.workers.iter();
        workers.map(|worker| worker.clock.epoch()).collect()
    }

    /// What its workers do, all together.
    pub fn total(&self) -> Account {
        let workers = self.workers.iter();
        sum(workers.map(|worker| worker.shared.account()))
    }

    /// How often each worker has gone through its loop, which none does less often than it gives its
    /// account: who does not count on stands still. `None` are those that have ended.
    pub fn rounds(&self) -> Vec<Option<u64>> {
        let workers = self.workers.iter();
        let rounds = |worker: &Thread| worker.shared.rounds.load(Ordering::Relaxed);
        workers
            .map(|worker| (!worker.has_ended()).then(|| rounds(worker)))
            .collect()
    }

    /// How the relay stands to its limit on what it moves, if it has one.
    pub fn standing(&self) -> Option<Standing> {
        let (_, standing) = self.keeper.as_ref()?;
        standing.lock().ok().map(|standing| *standing)
    }

    /// Whether a worker ended; if nobody asked it to, [`Running::end`] says why.
    pub fn has_failed(&self) -> bool {
        self.rounds().contains(&None)
    }

    /// Whether all workers have ended.
    pub fn has_ended(&self) -> bool {
        self.rounds().iter().all(Option::is_none)
    }

    /// Lets a relay go by the limits and the directory of this configuration; circuits stay. A client
    /// has neither and stays as it is.
    ///
    /// # Errors
    /// If the configuration differs in anything else, or its directory cannot be used; then nothing
    /// changes.
    pub fn reload(&self, config: &RelayConfig) -> Result<(), InputError> {
        let Some(Ok(mut reloadable)) = self.reloadable.as_ref().map(Mutex::lock) else {
            return Ok(());
        };
        let change = Arc::new(reloadable.change(config)?);
        newest::note(&config.keys, &change.directory, &config.network.authority);
        reloadable.directory = change.directory.clone();
        if let Ok(mut told) = reloadable.told.lock() {
            *told = change.told;
        }
        for worker in &self.workers {
            worker.shared.change(change.clone());
            // A worker that cannot be woken looks a tenth of a second later.
            let _ = worker.waker.wake();
        }
        Ok(())
    }

    /// Takes nothing new from now on, and ends when streams have, or after as long as the
    /// configuration says.
    pub fn drain(&self) {
        self.workers.iter().for_each(Thread::drain);
    }

    /// Drains, and waits for that.
    ///
    /// # Errors
    /// If a worker has failed.
    pub fn end(mut self) -> io::Result<()> {
        self.drain();
        let handles = self.workers.iter_mut();
        let workers = join_all(handles.filter_map(|worker| worker.handle.take()));
        let traces = self.traces.map_or(Ok(()), |traces| {
            let ended = traces.join();
            ended.map_err(|_| io::Error::other("the writer of traces panicked"))
        });
        if let Some((keeper, _)) = self.keeper {
            keeper.end();
        }
        if let Some(scrape) = self.scrape {
            scrape.end();
        }
        workers.and(traces)
    }

    /// With what relays alone have: a configuration that may be read again, counts of what they move, traces.
    fn of_relay(
        self,
        reloadable: Reloadable,
        (counting, calendar): (Option<Counting>, Calendar),
        traces: Option<JoinHandle<()>>,
    ) -> Result<Self, StartError> {
        let keeper = counting.map(|counting| self.count(counting, calendar));
        Ok(Self {
            reloadable: Some(Mutex::new(reloadable)),
            keeper: keeper.transpose()?,
            traces,
            ..self
        })
    }

    /// Counts what the workers move from now on.
    fn count(
        &self,
        (ledger, standing): Counting,
        calendar: Calendar,
    ) -> io::Result<(Keeper, Arc<Mutex<Standing>>)> {
        let workers = self.workers.iter();
        let workers = workers.map(|it| (it.shared.clone(), it.waker.clone()));
        let keeper = Keeper::start(ledger, standing.clone(), workers.collect(), calendar)?;
        Ok((keeper, standing))
    }

    /// Starts workers, and serves metrics if the configuration says where.
    fn start(
        workers: impl Iterator<Item = Result<Thread, StartError>>,
        metrics: Option<SocketAddr>,
        fixed: Fixed,
    ) -> Result<Self, StartError> {
        let workers = workers.collect::<Result<Vec<Thread>, StartError>>()?;
        let serve = |address| {
            let shared = workers.iter().map(|worker| worker.shared.clone());
            let page = metrics::page(fixed, shared.collect());
            Scrape::start(address, page).map_err(|cause| StartError::Socket {
                what: "metrics",
                address,
                cause,
            })
        };
        let scrape = metrics.map(serve).transpose()?;
        Ok(Self {
            workers,
            scrape,
            keeper: None,
            reloadable: None,
            traces: None,
        })
    }
}

/// Waits for the end of all workers, also of those after one that failed; the first failure.
fn join_all(workers: impl Iterator<Item = JoinHandle<io::Result<()>>>) -> io::Result<()> {
    let ends = workers.map(|worker| {
        let ended = worker.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("a worker panicked")))
    });
    ends.fold(Ok(()), Result::and)
}

/// Starts a relay.
///
/// # Errors
/// If its configuration cannot be used, or a socket cannot be opened.
pub fn relay(config: &RelayConfig) -> Result<Running, StartError> {
    relay_by(calendar_time, config)
}

/// Starts a relay that counts what it moves by another calendar.
///
/// # Errors
/// If its configuration cannot be used, or a socket cannot be opened.
pub fn relay_by(calendar: Calendar, config: &RelayConfig) -> Result<Running, StartError> {
    let count = config.workers(thread::available_parallelism().map_or(1, usize::from));
    let weight = (config.weight(), count);
    let network = Arc::new(LoadedNetwork::load(&config.network, weight)?);
    let identity = identity(config, &network.directory)?;
    claim(&config.listen, network.factory.plan().link.carrier)?;
    let bucket = share_of_bucket(config, &network.factory.plan().link, count as u64);
    let extend_to = known(&network.directory);
    let own = listed_keys(&identity);
    let overlay = Arc::new(overlay(config, &own.0, &network.directory));
    let files = config.trace.as_ref().map_or(0, |trace| trace.circuits);
    let needs = network.needs(config.exit.is_some(), count, files);
    let limits = needs.fit(config.limits);
    let told = Arc::new(Mutex::new(limits));
    let counting = counting(config, calendar)?;
    let name = network.nickname(&own.0);
    let (tracing, traces) = start_tracing(config.trace.as_ref(), name, config.access_rate());
    let workers = Workers::of_relay(config, &network, count, tracing);
    let start = |number| {
        let engine = EngineConfig {
            relay: Some(identity.clone()),
            extend_to: Some(extend_to.clone()),
            bucket,
            limits: needs.share(&limits),
            worker: number as u16,
            ..workers.engine()
        };
        let (exit, overlay) = (config.exit.clone(), overlay.clone());
        let limits = exit_limits(&limits, count);
        workers.start(number, engine, move |_, waker| {
            Ok(Exit::new(exit.clone(), overlay.clone(), limits, waker))
        })
    };
    let fixed = Fixed {
        limits: Some(told.clone()),
        bucket: bucket.map(|bucket| (bucket, count)),
        standing: counting.as_ref().map(|(_, standing)| standing.clone()),
        ..network.fixed("relay", config.memory)
    };
    let reloadable = Reloadable {
        config: config.clone(),
        directory: network.directory.clone(),
        own,
        needs,
        told,
        to_v6: network.to_v6(),
    };
    let running = Running::start((0..count).map(start), config.metrics, fixed)?;
    running.of_relay(reloadable, (counting, calendar), traces)
}

/// Starts what writes traces, if the configuration wants any. A node that cannot write them works without: the
/// folder of the last time must not keep a relay down that begins again.
fn start_tracing(
    config: Option<&Trace>,
    node: &str,
    access: Option<Rate>,
) -> (Option<Tracing>, Option<JoinHandle<()>>) {
    let started = config.map(|config| Tracing::start(config, node, access));
    match started.transpose() {
        Ok(started) => started.unzip(),
        Err(problem) => {
            warn!("nothing is traced: {problem}");
            (None, None)
        }
    }
}

/// The counts of what a relay moves, and how they stand, if it limits that.
fn counting(config: &RelayConfig, calendar: Calendar) -> Result<Option<Counting>, InputError> {
    let Some(accounting) = config.accounting else {
        return Ok(None);
    };
    let ledger = Ledger::open(accounting, &config.keys, calendar())?;
    let standing = Arc::new(Mutex::new(ledger.standing()));
    Ok(Some((ledger, standing)))
}

/// By what a relay proves itself: its keys, made if they do not exist, and used with no older directory than
/// they were.
fn identity(config: &RelayConfig, directory: &Directory) -> Result<Arc<RelayIdentity>, StartError> {
    let authority = &config.network.authority;
    newest::refuse_older(&config.keys, directory, authority)?;
    if !KeyStore::has_relay(&config.keys)? {
        refuse_new_keys(config, directory)?;
    }
    let keys = KeyStore::open(&config.keys)?;
    let identity = RelayIdentity {
        certificate: keys.identity()?,
        onion: keys.onion()?,
    };
    listing(config, directory, &listed_keys(&identity))?;
    newest::note(&config.keys, directory, authority);
    Ok(Arc::new(identity))
}

/// The keys that a directory lists of the relay with this identity.
fn listed_keys(identity: &RelayIdentity) -> ListedKeys {
    let fingerprint = identity.certificate.fingerprint().to_bytes();
    (Hex(fingerprint), Hex(identity.onion.public().0))
}

/// The token bucket of each of so many workers, if the operator set one. It holds what a refill brings beside the rest
/// that was too little for a cell: with less room, tokens would be lost, and the rate with them.
fn share_of_bucket(config: &RelayConfig, link: &LinkPlan, workers: u64) -> Option<BucketConfig> {
    let bucket = config.bucket.as_ref()?;
    let rate = share_of_rate(bucket.rate, workers);
    let interval = bucket.refill.unwrap_or(link.refill);
    let burst = Bytes::new(bucket.burst().get() / workers);
    Some(BucketConfig {
        rate,
        depth: burst.max(rate.bytes_in(interval) + link.cell_len()),
        interval,
        phase: Duration::ZERO,
    })
}

/// What each of so many workers has of a rate.
fn share_of_rate(rate: Rate, workers: u64) -> Rate {
    Rate::from_bytes_per_sec((rate.bytes_per_sec() / workers).max(1)).unwrap_or(rate)
}

/// Starts a client. A client has one worker.
///
/// # Errors
/// If its configuration cannot be used, or a socket cannot be opened.
pub fn client(config: &ClientConfig) -> Result<Running, StartError> {
    let network = Arc::new(LoadedNetwork::load(&config.network, (None, 1))?);
    let directory = network.directory.clone();
    let (mut circuits, socks) = (config.circuits.clone(), config.socks);
    circuits.legs.get_or_insert(default_legs(&*network.factory));
    let limits = client_limits(config, &circuits, &network);
    let access = config.access_rate();
    let (tracing, traces) = start_tracing(config.trace.as_ref(), "client", access);
    let reach = Reach::new(config.families);
    let workers = Workers {
        network: network.clone(),
        listen: Vec::new(),
        link: config.link.clone(),
        access,
        memory: config.memory,
        patience: config.drain,
        tracing,
        failures: Arc::default(),
    };
    let worker = workers.start(0, workers.engine(), move |poll, _| {
        let listener = listen_for_applications(socks, poll.registry());
        let listener = listener.map_err(|cause| StartError::Socket {
            what: "applications",
            address: socks,
            cause,
        })?;
        let usable = Arc::new(reach.usable(&directory, circuits.length));
        let chooser = PathChooser::new(usable, Draws::Secret);
        let pool = Pool::new(circuits.clone(), chooser);
        Ok(Client::new(listener, pool, (&directory, reach), limits))
    });
    let fixed = network.fixed("client", config.memory);
    // What the worker needs it has.
    drop(workers);
    let running = Running::start(std::iter::once(worker), config.metrics, fixed)?;
    Ok(Running { traces, ..running })
}

/// What a client with these circuits grants applications, with the descriptors that there are.
fn client_limits(
    config: &ClientConfig,
    circuits: &Circuits,
    network: &LoadedNetwork,
) -> ClientLimits {
    let files = config.trace.as_ref().map_or(0, |trace| trace.circuits);
    let needs = network.needs(false, 1, files);
    let most = circuits.most.saturating_add(closing::MOST as u32);
    let legs = u32::from(circuits.legs.unwrap_or(1));
    ClientLimits {
        patience: circuits.stream_timeout,
        connections: needs.connections(MOST_CONNECTIONS, most.saturating_mul(legs)),
    }
}

/// Circuits that carry a stream of a client together, if it does not say how many: one, or two where the transport
/// moves streams among circuits.
pub fn default_legs(transport: &dyn Factory<OnionPayload>) -> u8 {
    if transport.driver().any(Features::LEGS) {
        2
    } else {
        1
    }
}

/// A socket at which applications ask for connections.
fn listen_for_applications(address: SocketAddr, registry: &Registry) -> io::Result<TcpListener> {
    let mut listener = for_applications(address)?;
    registry.register(&mut listener, Source::Listener.token(), Interest::READABLE)?;
    Ok(listener)
}

/// The network that a node belongs to.
struct LoadedNetwork {
    directory: Arc<Directory>,
    factory: Box<dyn Factory<OnionPayload>>,
}

impl LoadedNetwork {
    /// Loads the network's directory, for a node with this weight on its access link and so many workers.
    fn load(from: &Network, weight: (Option<f64>, usize)) -> Result<Self, StartError> {
        let directory = Arc::new(from.load(calendar_time())?);
        let factory = factory(&directory, weight)?;
        Ok(Self { directory, factory })
    }

    /// What a relay needs descriptors for.
    fn needs(&self, exit: bool, workers: usize, files: u32) -> Needs {
        let links = (&self.factory.plan().link, self.directory.relays.len());
        Needs::of(exit, workers, links, files)
    }

    /// Whether a relay's sockets towards others are of IPv6, where all are of one family.
    fn to_v6(&self) -> Option<bool> {
        let datagrams = self.factory.plan().link.carrier == Carrier::Datagram;
        datagrams.then(|| reach_by_v6(&self.directory))
    }

    /// How the directory calls a relay.
    fn nickname(&self, relay: &Hex<32>) -> &str {
        let listed = self.directory.relay(relay);
        listed.map_or("relay", |relay| &relay.nickname)
    }

    /// What metrics say of a node from its start on.
    fn fixed(&self, role: &str, memory: Bytes) -> Fixed {
        Fixed {
            labels: self.labels(role),
            memory,
            limits: None,
            bucket: None,
            standing: None,
            start: calendar_time(),
        }
    }

    /// What metrics say of what runs.
    fn labels(&self, role: &str) -> Vec<(&'static str, String)> {
        vec![
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
            ("role", role.to_owned()),
            ("network", self.directory.network.clone()),
            ("transport", self.directory.transport.preset.clone()),
        ]
    }
}

/// The transport that the directory names, for each of so many workers of a node with a weight.
fn factory(
    directory: &Directory,
    (weight, workers): (Option<f64>, usize),
) -> Result<Box<dyn Factory<OnionPayload>>, StartError> {
    let choice = directory
        .transport
        .on_real_hosts()
        .weighted(weight, workers)?;
    let refuse = |problem: String| StartError::Input(InputError::at("transport", problem));
    hopflow_real_hosts::build(&choice.preset, &choice.options)
        .map_err(|error| refuse(error.to_string()))
}

/// Makes sure that no other process listens at these addresses: the workers' sockets share them among
/// themselves, and would share them with others of the same user.
fn claim(listen: &Listen, carrier: Carrier) -> Result<(), StartError> {
    for &address in listen.addresses() {
        let bound = match carrier {
            Carrier::Datagram => datagrams::bind(address, false).map(drop),
            Carrier::Stream => for_links(address, false).map(drop),
        };
        bound.map_err(|cause| StartError::Socket {
            what: "links",
            address,
            cause,
        })?;
    }
    Ok(())
}

/// The address that stands for all of a family, IPv6 or IPv4.
const fn any(v6: bool) -> IpAddr {
    if v6 {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    } else {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    }
}

/// What all workers of a node have in common.
#[derive(Clone)]
struct Workers {
    network: Arc<LoadedNetwork>,
    listen: Vec<SocketAddr>,
    link: Option<EmulatedLink>,
    /// What a worker has of the access link, where its rate is known.
    access: Option<Rate>,
    memory: Bytes,
    patience: Duration,
    tracing: Option<Tracing>,
    /// Which links failed, of all workers: the log tells of a relay once in a while.
    failures: Arc<Mutex<Failures>>,
}

impl Workers {
    /// So many workers of a relay.
    fn of_relay(
        config: &RelayConfig,
        network: &Arc<LoadedNetwork>,
        count: usize,
        tracing: Option<Tracing>,
    ) -> Self {
        let share = |rate| share_of_rate(rate, count as u64);
        Self {
            network: network.clone(),
            listen: config.listen.addresses().to_vec(),
            link: config.link.clone().map(|link| EmulatedLink {
                rate: link.rate.map(share),
                ..link
            }),
            access: config.access_rate().map(share),
            memory: Bytes::new(config.memory.get() / count as u64),
            patience: config.drain,
            tracing,
            failures: Arc::default(),
        }
    }

    /// The engine of a worker that serves nobody else.
    fn engine(&self) -> EngineConfig {
        EngineConfig {
            relay: None,
            extend_to: None,
            bucket: None,
            access: self.access,
            limits: Limits::default(),
            worker: 0,
            epoch: Clock::start().epoch(),
        }
    }

    /// Opens a worker's sockets and starts its thread.
    fn start<R: Role + 'static>(
        &self,
        number: usize,
        engine: EngineConfig,
        role: impl Fn(&Poll, &Arc<Waker>) -> Result<R, StartError> + Send + 'static,
    ) -> Result<Thread, StartError> {
        let clock = Clock::beginning_at(engine.epoch);
        let shared = Arc::new(Shared::default());
        let plan = self.clone();
        let seen = shared.clone();
        let listening = self.listening()?;
        let build = move || {
            let links = (number, listening.as_slice());
            plan.build(links, engine.clone(), &role, &seen)
        };
        let (worker, waker) = build()?;
        // The waker of a worker that began anew is not told: it looks often enough by itself.
        let wanted = shared.clone();
        let again = move || {
            // Who tries does not stand still.
            wanted.rounds.fetch_add(1, Ordering::Relaxed);
            wanted.begin_anew();
            match wanted.wanted() {
                Wanted::End => Ok(None),
                _ => build().map(|it| Some(it.0)).map_err(io::Error::other),
            }
        };
        let counted = shared.clone();
        let handle = thread::Builder::new()
            .name(format!("worker {number}"))
            .spawn(move || keep_going(worker, again, Worker::run, (&counted.restarts, PAUSE)))?;
        Ok(Thread {
            clock,
            shared,
            waker,
            handle: Some(handle),
        })
    }

    /// A worker's sockets for datagrams, at a relay that takes links by them.
    fn listening(&self) -> Result<Vec<UdpSocket>, StartError> {
        let carrier = self.network.factory.plan().link.carrier;
        let at = self.listen.iter().filter(|_| carrier == Carrier::Datagram);
        let sockets = at
            .map(|at| datagrams::listen(*at))
            .collect::<io::Result<_>>();
        sockets.map_err(|cause| self.cannot_open(cause))
    }

    fn cannot_open(&self, cause: io::Error) -> StartError {
        match self.listen.first() {
            Some(&address) => StartError::Socket {
                what: "links",
                address,
                cause,
            },
            None => StartError::System(cause),
        }
    }

    /// A worker with its sockets open; `links` has its number and where it listens for datagrams.
    fn build<R: Role>(
        &self,
        links: (usize, &[UdpSocket]),
        engine: EngineConfig,
        role: &impl Fn(&Poll, &Arc<Waker>) -> Result<R, StartError>,
        shared: &Arc<Shared>,
    ) -> Result<(Worker<R>, Arc<Waker>), StartError> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), Source::Waker.token())?);
        let epoch = engine.epoch;
        let mut engine = Engine::new(engine, &*self.network.factory).map_err(io::Error::other)?;
        if let Some(tracing) = &self.tracing {
            engine.set_observer(tracing.tap(epoch, shared));
        }
        let worker = Worker {
            alarm: Alarm::register(poll.registry())?,
            clock: Clock::beginning_at(epoch),
            engine,
            links: self.links(&poll, links)?,
            role: role(&poll, &waker)?,
            shared: shared.clone(),
            known: Known {
                directory: self.network.directory.clone(),
                valid: true,
                seen: 0,
                moves: Moves::new(self.network.factory.plan().link.carrier),
                failures: self.failures.clone(),
            },
            memory: self.memory,
            counted: Traffic::default(),
            rest: Rest::No,
            draining: Draining {
                patience: self.patience,
                sent: 0,
                since: Instant::ZERO,
            },
            poll,
        };
        Ok((worker, waker))
    }

    /// The addresses from which datagrams to relays leave: of the family in which relays reach each
    /// other, our own if we have one of it, and for clients of the other one, too.
    fn leave_from(&self) -> Vec<IpAddr> {
        let relays = &self.network.directory.relays;
        let to_v6 = reach_by_v6(&self.network.directory);
        let mut own = self.listen.iter().map(SocketAddr::ip);
        let own = own.find(|own| own.is_ipv6() == to_v6);
        let mut addresses = vec![own.unwrap_or(any(to_v6))];
        if self.listen.is_empty() && relays.iter().any(|it| it.other_address.is_some()) {
            addresses.push(any(!to_v6));
        }
        addresses
    }

    fn links(
        &self,
        poll: &Poll,
        (number, listening): (usize, &[UdpSocket]),
    ) -> Result<Links, StartError> {
        let carrier = self.network.factory.plan().link.carrier;
        let model = self.link.as_ref().map(EmulatedLink::model);
        let opened = match carrier {
            Carrier::Datagram => {
                let link = model.map(|model| Emulated::new(&model, number as u64));
                let listening = listening.iter().map(UdpSocket::try_clone);
                let listening = listening.collect::<io::Result<Vec<_>>>();
                listening
                    .and_then(|at| {
                        Datagrams::open(
                            poll.registry(),
                            at,
                            &self.leave_from(),
                            (link, self.access),
                        )
                    })
                    .map(|datagrams| Links::Datagrams(Box::new(datagrams)))
            }
            Carrier::Stream => {
                let kist = self.network.factory.plan().link.scheduler.kist;
                Carriers::open(poll.registry(), &self.listen, kist, model)
                    .map(|carriers| Links::Carriers(Box::new(carriers)))
            }
        };
        opened.map_err(|cause| self.cannot_open(cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopflow_overlay::TokenBucket;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_bucket_of_a_small_burst_has_its_rate_all_the_same() {
        let paid_in_10_s = |bucket: &str, workers| {
            let text = format!(
                "keys = 'k'\nlisten = '127.0.0.1:1'\nbucket = {{ {bucket} }}\n\
                 network = {{ directory = 'd', authority = '{}' }}\n",
                "00".repeat(32)
            );
            let config: RelayConfig = text.parse().unwrap();
            let tor = hopflow_real_hosts::build("vanilla", &toml::Table::new()).unwrap();
            let link = &tor.plan().link;
            let (share, cell) = (
                share_of_bucket(&config, link, workers).unwrap(),
                link.cell_len(),
            );
            let (mut bucket, mut cells) = (TokenBucket::new(share), 0_u64);
            for refill in 1..=100 {
                let now = Instant::from_nanos(refill * share.interval.as_nanos());
                while bucket.tokens(now) >= cell.get() as i64 {
                    bucket.pay(cell);
                    cells += 1;
                }
            }
            workers * cells * cell.get()
        };
        for (bucket, workers) in [
            ("rate = '10 MB/s', burst = '64 KiB'", 1),
            ("rate = '10 MB/s', burst = '64 KiB'", 4),
            ("rate = '50 kB/s', burst = '4 KiB'", 1),
        ] {
            let paid = paid_in_10_s(bucket, workers);
            let wanted = if bucket.contains("MB") {
                100_000_000
            } else {
                500_000
            };
            assert!(paid * 100 >= wanted * 98, "{bucket}, {workers}: {paid}");
        }
    }

    #[test]
    fn all_workers_are_waited_for_and_the_first_failure_is_told() {
        let ended = Arc::new(AtomicUsize::new(0));
        let worker = |number: u64, fails: bool| {
            let ended = ended.clone();
            thread::spawn(move || {
                thread::park_timeout(std::time::Duration::from_millis(10 * number));
                ended.fetch_add(1, Ordering::Relaxed);
                if fails {
                    return Err(io::Error::other(format!("worker {number}")));
                }
                Ok(())
            })
        };
        let workers = [(1, false), (2, true), (3, true), (4, false)];
        let workers = workers.map(|(number, fails)| worker(number, fails));
        let error = join_all(workers.into_iter()).unwrap_err();
        assert_eq!(error.to_string(), "worker 2");
        assert_eq!(ended.load(Ordering::Relaxed), 4);
        let panics = thread::spawn(|| panic!("for the test"));
        assert!(join_all([panics, worker(5, false)].into_iter()).is_err());
        assert_eq!(ended.load(Ordering::Relaxed), 5);
    }
}
