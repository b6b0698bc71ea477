//! Starting relays and clients, and ending them.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use hopflow_engine::{Engine, EngineConfig, Limits, RelayIdentity};
use hopflow_onion::OnionPayload;
use hopflow_overlay::{BucketConfig, Factory};
use hopflow_random::Streams;
use hopflow_units::{Bytes, Duration, Instant};
use hopflow_wire::Carrier;
use mio::{Interest, Poll, Waker};

use super::accept::listen;
use super::alarm::Alarm;
use super::carriers::Carriers;
use super::client::{Client, hops};
use super::clock::{Clock, calendar_time};
use super::datagrams::Datagrams;
use super::emulated::Emulated;
use super::exit::Exit;
use super::metrics::{self, Fixed};
use super::role::Role;
use super::scrape::Scrape;
use super::shared::{Account, Shared, sum};
use super::tokens::Source;
use super::worker::{Links, Worker};
use crate::check::refuse_others_keys;
use crate::config::{ClientConfig, EmulatedLink, RelayConfig};
use crate::directory::Directory;
use crate::keys::KeyStore;
use crate::path::PathChooser;
use crate::pool::Pool;
use crate::{Hex, InputError};

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

/// A relay or client that runs. It ends when [`Running::end`] is called.
#[derive(Debug)]
pub struct Running {
    workers: Vec<Thread>,
    /// Where metrics are served.
    scrape: Option<Scrape>,
}

/// A worker's thread.
#[derive(Debug)]
struct Thread {
    clock: Clock,
    shared: Arc<Shared>,
    waker: Arc<Waker>,
    handle: JoinHandle<io::Result<()>>,
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

    /// Whether a worker ended that nobody asked to: [`Running::end`] says why.
    pub fn has_failed(&self) -> bool {
        self.workers
            .iter()
            .any(|worker| worker.handle.is_finished())
    }

    /// Takes nothing new, lets streams end for as long as the configuration says, and waits for
    /// that.
    ///
    /// # Errors
    /// If a worker has failed.
    pub fn end(self) -> io::Result<()> {
        for worker in &self.workers {
            worker.shared.end();
            // A worker that cannot be woken looks a tenth of a second later.
            let _ = worker.waker.wake();
        }
        for worker in self.workers {
            let ended = worker.handle.join();
            ended.map_err(|_| io::Error::other("a worker panicked"))??;
        }
        if let Some(scrape) = self.scrape {
            scrape.end();
        }
        Ok(())
    }

    /// Serves metrics, if the configuration says where.
    fn serve_metrics(
        &mut self,
        address: Option<SocketAddr>,
        fixed: Fixed,
    ) -> Result<(), StartError> {
        let Some(address) = address else {
            return Ok(());
        };
        let workers = self.workers.iter();
        let page = metrics::page(fixed, workers.map(|worker| worker.shared.clone()).collect());
        let scrape = Scrape::start(address, page).map_err(|cause| StartError::Socket {
            what: "metrics",
            address,
            cause,
        })?;
        self.scrape = Some(scrape);
        Ok(())
    }
}

/// What metrics say of what runs.
fn labels(role: &str, directory: &Directory) -> Vec<(&'static str, String)> {
    vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("role", role.to_owned()),
        ("network", directory.network.clone()),
        ("transport", directory.transport.preset.clone()),
    ]
}

/// Starts a relay.
///
/// # Errors
/// If its configuration cannot be used, or a socket cannot be opened.
pub fn relay(config: &RelayConfig) -> Result<Running, StartError> {
    let directory = Arc::new(config.network.load(calendar_time())?);
    if !KeyStore::has_relay(&config.keys) {
        refuse_others_keys(config, &directory, None)?;
    }
    let keys = KeyStore::open(&config.keys)?;
    let identity = Arc::new(RelayIdentity {
        certificate: keys.identity()?,
        onion: keys.onion()?,
    });
    let fingerprint = Hex(identity.certificate.fingerprint().to_bytes());
    refuse_others_keys(config, &directory, Some(fingerprint))?;
    let factory = factory(&directory)?;
    claim(config.listen, factory.plan().carrier)?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = config.workers(cores);
    let listed = hops(&directory).into_iter();
    let extend_to: BTreeSet<_> = listed.map(|hop| (hop.address, hop.fingerprint)).collect();
    let extend_to = Arc::new(extend_to);
    let share = |bytes: u64| Bytes::new(bytes / workers as u64);
    let bucket = config.bucket.as_ref().map(|bucket| {
        let share = workers as u64;
        let rate = bucket.rate.bytes_per_sec() / share;
        BucketConfig {
            rate: hopflow_units::Rate::from_bytes_per_sec(rate.max(1)).unwrap_or(bucket.rate),
            depth: Bytes::new(bucket.burst().get() / share),
            interval: bucket.refill.unwrap_or(factory.plan().refill),
            phase: Duration::ZERO,
        }
    });
    let plan = Plan {
        factory: &*factory,
        directory: &directory,
        listen: Some(config.listen),
        link: config.link.as_ref(),
        memory: share(config.memory.get()),
        patience: config.drain,
    };
    let mut running = Running {
        workers: Vec::new(),
        scrape: None,
    };
    for number in 0..workers {
        let engine = |epoch| EngineConfig {
            relay: Some(identity.clone()),
            extend_to: Some(extend_to.clone()),
            bucket,
            access: config.link.as_ref().and_then(|link| link.rate),
            limits: Limits::default(),
            epoch,
        };
        let exit = config.exit.clone();
        let worker = plan.start(number, engine, move |_, waker| Ok(Exit::new(exit, waker)))?;
        running.workers.push(worker);
    }
    let fixed = Fixed {
        labels: labels("relay", &directory),
        memory: config.memory,
        bucket: bucket.map(|bucket| (bucket, workers)),
        start: calendar_time(),
    };
    running.serve_metrics(config.metrics, fixed)?;
    Ok(running)
}

/// Starts a client. A client has one worker.
///
/// # Errors
/// If its configuration cannot be used, or a socket cannot be opened.
pub fn client(config: &ClientConfig) -> Result<Running, StartError> {
    let directory = Arc::new(config.network.load(calendar_time())?);
    let factory = factory(&directory)?;
    let seed = random_seed()?;
    let chooser = PathChooser::new(directory.clone(), Streams::new(seed).stream("paths", 0));
    let pool = Pool::new(config.circuits.clone(), chooser);
    let plan = Plan {
        factory: &*factory,
        directory: &directory,
        listen: None,
        link: config.link.as_ref(),
        memory: config.memory,
        patience: config.drain,
    };
    let engine = |epoch| EngineConfig {
        relay: None,
        extend_to: None,
        bucket: None,
        access: config.link.as_ref().and_then(|link| link.rate),
        limits: Limits::default(),
        epoch,
    };
    let socks = config.socks;
    let worker = plan.start(0, engine, |poll, _| {
        let open = || {
            let mut listener = listen(socks, false)?;
            let token = Source::Listener.token();
            let registry = poll.registry();
            registry.register(&mut listener, token, Interest::READABLE)?;
            Ok(listener)
        };
        let listener = open().map_err(|cause| StartError::Socket {
            what: "applications",
            address: socks,
            cause,
        })?;
        let patience = config.circuits.stream_timeout;
        Ok(Client::new(listener, pool, &directory, patience))
    })?;
    let mut running = Running {
        workers: vec![worker],
        scrape: None,
    };
    let fixed = Fixed {
        labels: labels("client", &directory),
        memory: config.memory,
        bucket: None,
        start: calendar_time(),
    };
    running.serve_metrics(config.metrics, fixed)?;
    Ok(running)
}

/// The transport that the directory names.
fn factory(directory: &Directory) -> Result<Box<dyn Factory<OnionPayload>>, StartError> {
    let choice = directory.transport.on_real_hosts();
    let refuse = |problem: String| StartError::Input(InputError::at("transport", problem));
    let factory = hopflow_real_hosts::build(&choice.preset, &choice.options)
        .map_err(|error| refuse(error.to_string()))?;
    let plan = Factory::<OnionPayload>::plan(&*factory);
    let preset = &choice.preset;
    if plan.connection.is_some() {
        return Err(refuse(format!(
            "{preset} repairs at the ends of circuits, which only simulators can do, for the \
             encryption of circuits needs every cell at every hop; allowed are transports that \
             repair on each hop"
        )));
    }
    if plan.out_of_band {
        return Err(refuse(format!(
            "{preset} tells neighbours of plans outside of all links, which only simulators can \
             do; allowed are transports whose feedback is in band"
        )));
    }
    Ok(factory)
}

/// A seed that nobody can guess: which paths a client chooses is its own matter.
fn random_seed() -> Result<u64, StartError> {
    let mut seed = [0; 8];
    aws_lc_rs::rand::fill(&mut seed).map_err(|_| io::Error::other("no random numbers"))?;
    Ok(u64::from_ne_bytes(seed))
}

/// Makes sure that no other process listens at the address: the workers' sockets share it among
/// themselves, and would share it with others of the same user.
fn claim(address: SocketAddr, carrier: Carrier) -> Result<(), StartError> {
    let bound = match carrier {
        Carrier::Datagram => std::net::UdpSocket::bind(address).map(drop),
        Carrier::Stream => std::net::TcpListener::bind(address).map(drop),
    };
    bound.map_err(|cause| StartError::Socket {
        what: "links",
        address,
        cause,
    })
}

/// What all workers of a node have in common.
struct Plan<'a> {
    factory: &'a dyn Factory<OnionPayload>,
    directory: &'a Arc<Directory>,
    listen: Option<SocketAddr>,
    link: Option<&'a EmulatedLink>,
    memory: Bytes,
    patience: Duration,
}

impl Plan<'_> {
    /// Opens a worker's sockets and starts its thread.
    fn start<R: Role + 'static>(
        &self,
        number: usize,
        engine: impl FnOnce(std::time::Instant) -> EngineConfig,
        role: impl FnOnce(&Poll, &Arc<Waker>) -> Result<R, StartError>,
    ) -> Result<Thread, StartError> {
        let clock = Clock::start();
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), Source::Waker.token())?);
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            alarm: Alarm::register(poll.registry())?,
            clock,
            engine: Engine::new(engine(clock.epoch()), self.factory),
            links: self.links(&poll, number)?,
            role: role(&poll, &waker)?,
            shared: shared.clone(),
            directory: self.directory.clone(),
            memory: self.memory,
            sent: (0, Instant::ZERO),
            patience: self.patience,
            poll,
        };
        let handle = thread::Builder::new()
            .name(format!("worker {number}"))
            .spawn(move || worker.run())?;
        Ok(Thread {
            clock,
            shared,
            waker,
            handle,
        })
    }

    /// The address from which datagrams to other relays leave: of their family, and our own if we
    /// have one of it.
    fn leave_from(&self) -> IpAddr {
        let relay = self.directory.relays.first();
        let to_v6 = relay.is_some_and(|relay| relay.address.is_ipv6());
        let any = if to_v6 {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        };
        let own = self.listen.map(|listen| listen.ip());
        own.filter(|own| own.is_ipv6() == to_v6).unwrap_or(any)
    }

    fn links(&self, poll: &Poll, number: usize) -> Result<Links, StartError> {
        let carrier = self.factory.plan().carrier;
        let model = self.link.map(EmulatedLink::model);
        let opened = match carrier {
            Carrier::Datagram => {
                let link = model.map(|model| Emulated::new(&model, number as u64));
                Datagrams::open(poll.registry(), self.listen, self.leave_from(), link)
                    .map(|datagrams| Links::Datagrams(Box::new(datagrams)))
            }
            Carrier::Stream => Carriers::open(poll.registry(), self.listen, model)
                .map(|carriers| Links::Carriers(Box::new(carriers))),
        };
        opened.map_err(|cause| match self.listen {
            Some(address) => StartError::Socket {
                what: "links",
                address,
                cause,
            },
            None => StartError::System(cause),
        })
    }
}
