//! A directory, relays, a client and a web server in this process.

use std::io;
use std::net::SocketAddr;

use hopflow_daemon::config::{
    Access, Bucket, Circuits, ClientAccess, ClientConfig, EmulatedLink, Families, Network,
    RelayConfig, RelayLimits, Trace,
};
use hopflow_daemon::directory::{AuthorityKey, Directory, Relay, TransportChoice};
use hopflow_daemon::keys::KeyStore;
use hopflow_daemon::net::{self, Account, Running, StartError, calendar_time};
use hopflow_daemon::policy::ExitPolicy;
use hopflow_daemon::{Hex, InputError, UnixTime};
use hopflow_units::{Bytes, Duration, Rate};
use tempfile::TempDir;

use crate::lateness::Lateness;
use crate::places::{self, Places};
use crate::server::Server;
use crate::settings::{PATH, Settings};

/// How long the directory is valid: longer than anybody keeps a testbed.
const VALID: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long the nodes wait for their streams when they are to end.
const DRAIN: Duration = Duration::from_millis(100);
/// Memory for cells that wait, at each node.
const MEMORY: Bytes = Bytes::new(256 << 20);
/// The client's name beside those of the relays.
const CLIENT: &str = "client";
/// The file of the directory in the testbed's folder.
const DIRECTORY: &str = "directory.toml";

/// A directory, relays, a client and a web server, on the loopback device or in network namespaces.
#[derive(Debug)]
pub struct Testbed {
    settings: Settings,
    places: Places,
    relays: Vec<Running>,
    client: Running,
    server: Server,
    socks: SocketAddr,
    metrics: Vec<(&'static str, SocketAddr)>,
    /// Keys and directory; gone with the testbed.
    _folder: TempDir,
}

impl Testbed {
    /// Makes keys and a directory, and starts all nodes.
    ///
    /// # Errors
    /// If a socket, a file, a thread or a network namespace cannot be had.
    pub fn start(settings: &Settings) -> Result<Self, StartError> {
        Self::start_with(settings, false, None)
    }

    /// The same, with nodes that serve their [metrics](Self::metrics), if they are to, and write traces: each
    /// into a folder of its name in the folder of `trace`.
    ///
    /// # Errors
    /// If a socket, a file or a thread cannot be had.
    pub fn start_with(
        settings: &Settings,
        metrics: bool,
        trace: Option<&Trace>,
    ) -> Result<Self, StartError> {
        let relays = settings.relays();
        let places = Places::make(settings)?;
        let metrics = addresses_of_metrics(relays, &places, metrics)?;
        let folder = TempDir::with_prefix("hopflow-testbed-")?;
        let authority = KeyStore::open(&folder.path().join("authority"))?.authority()?;
        let network = Network {
            directory: folder.path().join(DIRECTORY),
            authority: authority.id(),
        };
        let builder = Builder {
            settings,
            folder: &folder,
            network,
            have_links: places.have_links(),
            metrics: &metrics,
            trace,
        };
        builder.check_traces()?;
        let addresses = (1..=relays.len()).map(|node| places.free_address(node));
        let addresses = addresses.collect::<io::Result<Vec<_>>>()?;
        builder.write_directory(&addresses, &authority)?;
        let relays = addresses.iter().enumerate();
        let relays = relays
            .map(|(number, address)| {
                let config = builder.relay(number, *address);
                places.at(number + 1, || net::relay(&config))?
            })
            .collect::<Result<_, _>>()?;
        let socks = places.free_address(places::CLIENT)?;
        let config = builder.client(socks);
        let client = places.at(places::CLIENT, || net::client(&config))??;
        // The exit connects to it without a link between.
        let server = places.at(PATH, Server::start)??;
        Ok(Self {
            settings: settings.clone(),
            relays,
            client,
            server,
            socks,
            metrics,
            places,
            _folder: folder,
        })
    }

    /// What the testbed is like.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where the client takes applications by SOCKS 5.
    pub const fn socks(&self) -> SocketAddr {
        self.socks
    }

    /// The web server: `GET /N` answers N bytes.
    pub const fn server(&self) -> SocketAddr {
        self.server.address()
    }

    /// Moves the calling thread to where applications reach the client.
    ///
    /// # Errors
    /// If it does not get there.
    pub(crate) fn join_client(&self) -> io::Result<()> {
        self.places.enter(places::CLIENT)
    }

    /// Whether the network between the nodes has failed; [`end`](Self::end) says why.
    pub fn has_failed(&self) -> bool {
        self.places.have_failed()
    }

    /// Where nodes serve their metrics, with their names; empty if they do not.
    pub fn metrics(&self) -> &[(&'static str, SocketAddr)] {
        &self.metrics
    }

    /// What the relays do, in the order of their names.
    pub(crate) fn accounts(&self) -> Vec<Account> {
        let relays = self.relays.iter();
        relays
            .map(|relay| relay.accounts().pop().unwrap_or_default())
            .collect()
    }

    /// When the relays' clocks began.
    pub(crate) fn epochs(&self) -> Vec<std::time::Instant> {
        let relays = self.relays.iter();
        relays.filter_map(|relay| relay.epochs().pop()).collect()
    }

    /// Ends all nodes. Returns how late packets came from node to node, where namespaces have links between them.
    ///
    /// # Errors
    /// If one of them has failed.
    pub fn end(self) -> io::Result<Option<Lateness>> {
        // All are ended, whichever fails. Without a network the others have failed because of it.
        let nodes = std::iter::once(self.client).chain(self.relays);
        let ended: Vec<_> = nodes.map(Running::end).collect();
        let late = self.places.end()?;
        ended.into_iter().collect::<io::Result<()>>()?;
        Ok(late)
    }
}

/// Where the client and relays serve their metrics, if they are to, with their names.
fn addresses_of_metrics(
    relays: &'static [&'static str],
    places: &Places,
    wanted: bool,
) -> Result<Vec<(&'static str, SocketAddr)>, StartError> {
    if !wanted {
        return Ok(Vec::new());
    }
    if places.have_links() {
        let problem = "nodes in network namespaces serve none: nobody reaches them";
        return Err(InputError::at("metrics", problem).into());
    }
    let names = [CLIENT].into_iter().chain(relays.iter().copied());
    let nodes = names.enumerate();
    let addresses = nodes.map(|(node, name)| Ok((name, places.free_address(node)?)));
    addresses.collect()
}

/// What the nodes' configurations are made from.
struct Builder<'a> {
    settings: &'a Settings,
    folder: &'a TempDir,
    network: Network,
    /// Whether there are real links between the nodes.
    have_links: bool,
    metrics: &'a [(&'static str, SocketAddr)],
    trace: Option<&'a Trace>,
}

impl Builder<'_> {
    /// Where a node serves its metrics.
    fn metrics(&self, node: &str) -> Option<SocketAddr> {
        let mut metrics = self.metrics.iter();
        metrics.find_map(|(name, address)| (*name == node).then_some(*address))
    }

    fn write_directory(
        &self,
        addresses: &[SocketAddr],
        authority: &AuthorityKey,
    ) -> Result<(), StartError> {
        let transport = TransportChoice {
            preset: self.settings.transport.clone(),
            options: self.settings.options.clone(),
        };
        let now = calendar_time();
        let valid = (UnixTime::from_secs(now.as_secs() - 60), now.after(VALID));
        let mut directory = Directory::new("testbed", transport, valid);
        for (number, address) in addresses.iter().enumerate() {
            let name = self.settings.relays()[number];
            let keys = KeyStore::open(&self.folder.path().join(name))?;
            let guard = name.starts_with("guard");
            directory.relays.push(Relay {
                nickname: name.to_owned(),
                address: *address,
                other_address: None,
                fingerprint: Hex(keys.identity()?.fingerprint().to_bytes()),
                onion_key: Hex(keys.onion()?.public().0),
                weight: weight(number),
                guard,
                family: None,
                exit: exit(number),
            });
        }
        std::fs::write(&self.network.directory, directory.sign(authority)?)?;
        Ok(())
    }

    fn relay(&self, number: usize, listen: SocketAddr) -> RelayConfig {
        let name = self.settings.relays()[number];
        let rate = self.settings.middle_rate;
        let rate = rate.filter(|_| name.starts_with("middle"));
        RelayConfig {
            network: self.network.clone(),
            keys: self.folder.path().join(name),
            listen: listen.into(),
            // A node that is simulated has one, too, and the simulator's link is one for all.
            workers: Some(1),
            memory: MEMORY,
            metrics: self.metrics(name),
            drain: DRAIN,
            bucket: rate.map(|rate| Bucket {
                rate,
                burst: None,
                refill: None,
            }),
            access: self.access().map(|rate| Access { rate, weight: None }),
            accounting: None,
            limits: limits(self.settings),
            exit: exit(number),
            link: self.link(),
            trace: self.trace(name),
        }
    }

    fn client(&self, socks: SocketAddr) -> ClientConfig {
        ClientConfig {
            network: self.network.clone(),
            socks,
            families: Families::Any,
            memory: MEMORY,
            metrics: self.metrics(CLIENT),
            drain: DRAIN,
            access: self.access().map(|rate| ClientAccess { rate }),
            circuits: Circuits {
                // Circuits are built when they are asked for, so that there are no others.
                spare: 0,
                legs: Some(self.settings.legs() as u8),
                most: 2 * self.settings.circuits().max(8),
                max_age: VALID,
                build_timeout: Duration::from_secs(60),
                stream_timeout: Duration::from_secs(120),
                ..Circuits::default()
            },
            link: self.link(),
            trace: self.trace(CLIENT),
        }
    }

    /// Refuses folders of traces that hold something.
    fn check_traces(&self) -> Result<(), InputError> {
        let nodes = self.settings.relays().iter().copied().chain([CLIENT]);
        let mut traces = nodes.filter_map(|node| self.trace(node));
        traces.try_for_each(|trace| trace.check_folder())
    }

    /// What a node traces.
    fn trace(&self, node: &str) -> Option<Trace> {
        let trace = self.trace?;
        let folder = trace.folder.join(node);
        Some(Trace {
            folder,
            ..trace.clone()
        })
    }

    /// The access link that every node emulates; none where it would change nothing, or is real.
    fn link(&self) -> Option<EmulatedLink> {
        let link = self.settings.access_link();
        let matters = link.rate.is_some() || !link.delay.is_zero();
        (matters && !self.have_links).then_some(link)
    }

    /// What nodes are told of the rate of links that they do not emulate.
    fn access(&self) -> Option<Rate> {
        self.settings.rate.filter(|_| self.have_links)
    }
}

/// Limits that no download meets: on a shared circuit all begin their streams soon after each other.
fn limits(settings: &Settings) -> RelayLimits {
    let usual = RelayLimits::default();
    // Each has a stream that builds the circuit, and its own.
    let streams = 2 * settings.downloads;
    RelayLimits {
        connections_per_circuit: usual.connections_per_circuit.max(streams),
        begins_per_second: usual.begins_per_second.max(streams),
        begins_burst: usual.begins_burst.max(streams),
        ..usual
    }
}

/// The policy of the last relay, which connects to this machine; the others are no exits.
fn exit(number: usize) -> Option<ExitPolicy> {
    let all = "accept *:*".parse().expect("a rule that fits everything");
    (number + 1 == PATH).then(|| ExitPolicy {
        rules: vec![all],
        allow_private: true,
    })
}

/// How often clients choose a relay, so that they have guards as guards only, and nearly always the first path first,
/// as in the simulator.
fn weight(number: usize) -> u64 {
    match number {
        0 => 1_000_000,
        1 => 1_000_000_000,
        2 => 1,
        _ => {
            let path = (number as u32 - 1) / 2;
            let (most, step): (u64, u64) = if number % 2 == 1 {
                (weight(0), 100)
            } else {
                (weight(1), 1000)
            };
            most / step.pow(path)
        }
    }
}
