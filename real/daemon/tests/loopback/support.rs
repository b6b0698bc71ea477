//! A network on the loopback device, in this process.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use hopflow_daemon::config::{ClientConfig, RelayConfig};
use hopflow_daemon::directory::{AuthorityKey, Directory, Relay, TransportChoice};
use hopflow_daemon::keys::KeyStore;
use hopflow_daemon::net::{self, Account, Running, StartError, calendar_time};
use hopflow_daemon::{InputError, UnixTime};
use hopflow_units::Duration;
use tempfile::TempDir;

/// What the exit of most tests connects to.
pub(crate) const EVERYTHING: &str = "policy = [\"accept *:*\"]\nallow-private = true\n";

/// The relays' folders.
const NAMES: [&str; 3] = ["one", "two", "three"];
/// The relays' folders where there are two paths: guards, middle relays and the exit.
const OF_TWO_PATHS: [&str; 5] = ["one", "four", "two", "five", "three"];
/// Relays that begin paths.
const GUARDS: [&str; 2] = ["one", "four"];

/// An address that nobody uses.
pub(crate) fn free_address() -> SocketAddr {
    net::free_address().unwrap()
}

/// How often is looked whether something has happened, and how often at most.
const GLANCE: StdDuration = StdDuration::from_millis(20);
const GLANCES: u32 = 1000;

/// Waits until something has happened.
pub(crate) fn until(what: &str, mut happened: impl FnMut() -> bool) {
    for _ in 0..GLANCES {
        if happened() {
            return;
        }
        thread::park_timeout(GLANCE);
    }
    panic!("in time: {what}");
}

/// Three relays and a client; the last relay is the exit.
pub(crate) struct Overlay {
    pub(crate) relays: Vec<Running>,
    pub(crate) client: Running,
    pub(crate) socks: SocketAddr,
    /// Where the relays take links.
    pub(crate) addresses: Vec<SocketAddr>,
    folder: TempDir,
}

impl Overlay {
    pub(crate) fn start(preset: &str) -> Self {
        Self::start_with(preset, EVERYTHING)
    }

    /// With an exit of this policy.
    pub(crate) fn start_with(preset: &str, exit: &str) -> Self {
        Self::start_all(preset, exit, "")
    }

    /// With these keys of the client's table `circuits`, too.
    pub(crate) fn start_all(preset: &str, exit: &str, circuits: &str) -> Self {
        Self::start_limited(preset, exit, circuits, "")
    }

    /// With these tables of the middle relay's configuration, too.
    pub(crate) fn start_limited(preset: &str, exit: &str, circuits: &str, middle: &str) -> Self {
        Self::start_with_limits(preset, exit, circuits, (middle, ""))
    }

    /// With these limits of the exit, too.
    pub(crate) fn start_with_limits(
        preset: &str,
        exit: &str,
        circuits: &str,
        (middle, limits): (&str, &str),
    ) -> Self {
        let exit = format!("[exit]\n{exit}[limits]\n{limits}");
        let client = format!("[circuits]\n{circuits}");
        Self::start_files(
            preset,
            (&NAMES, 1),
            &["", middle, &exit],
            ("", &client),
            &[],
        )
    }

    /// Two guards, two middle relays and an exit of so many workers, with these keys of the client's table
    /// `circuits`, too.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn start_two_paths(preset: &str, workers: usize, circuits: &str) -> Self {
        let exit = format!("[exit]\n{EVERYTHING}");
        let client = format!("[circuits]\n{circuits}");
        let nodes = (&OF_TWO_PATHS[..], workers);
        Self::start_files(preset, nodes, &["", "", "", "", &exit], ("", &client), &[])
    }

    /// The exit and the client wait for their streams a tenth of a second when they end.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn start_hasty(preset: &str) -> Self {
        let drain = "drain = \"100 ms\"\n";
        let exit = format!("{drain}[exit]\n{EVERYTHING}");
        let nodes = (&NAMES[..], 1);
        Self::start_files(preset, nodes, &["", "", &exit], (drain, ""), &[])
    }

    /// All nodes trace, into folders `trace-NAME` of the network's folder.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn start_traced(preset: &str) -> Self {
        let trace = |name: &str| format!("[trace]\nfolder = \"trace-{name}\"\n");
        let [one, two, three] = NAMES.map(trace);
        let exit = format!("[exit]\n{EVERYTHING}{three}");
        let client = ("", &trace("client")[..]);
        Self::start_files(preset, (&NAMES, 1), &[&one, &two, &exit], client, &[])
    }

    /// All of whose relays take links at `::1`, too, by which the client reaches them; or nothing if
    /// there is no such address here.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn start_with_v6(preset: &str) -> Option<Self> {
        UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).ok()?;
        let exit = format!("[exit]\n{EVERYTHING}");
        let client = "families = \"ipv6\"\n";
        let v6 = [IpAddr::V6(Ipv6Addr::LOCALHOST)];
        Some(Self::start_files(
            preset,
            (&NAMES, 1),
            &["", "", &exit],
            (client, ""),
            &v6,
        ))
    }

    /// With relays of these names, the last of which is the exit and has so many workers, with these keys and tables
    /// of their configurations, these keys and tables of the client's, and with relays that listen at these
    /// addresses, too.
    fn start_files(
        preset: &str,
        (names, workers): (&[&str], usize),
        tables: &[&str],
        (keys, client): (&str, &str),
        others: &[IpAddr],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = KeyStore::open(&folder.path().join("authority"));
        let authority = authority.unwrap().authority().unwrap();
        let mut directory = directory(preset);
        let network = format!(
            "[network]\ndirectory = \"directory.toml\"\nauthority = \"{}\"\n",
            authority.id()
        );
        let mut files = Vec::new();
        for (name, tables) in names.iter().zip(tables) {
            let address = free_address();
            let others = others.iter().map(|it| SocketAddr::new(*it, address.port()));
            let listen: Vec<_> = std::iter::once(address).chain(others).collect();
            let listed = listen.iter().map(|address| format!("\"{address}\""));
            let listed = listed.collect::<Vec<_>>().join(", ");
            let workers = if *name == "three" { workers } else { 1 };
            let top = format!("keys = \"{name}\"\nlisten = [{listed}]\nworkers = {workers}\n");
            let file = node(folder.path(), name, &format!("{top}{tables}\n{network}"));
            let config = RelayConfig::load(&file).unwrap();
            let relay = Relay::of(&config, name, &[]).unwrap();
            let is_guard = GUARDS.contains(name);
            directory.relays.push(Relay {
                guard: is_guard,
                // So that clients have guards as guards only.
                weight: if is_guard { 1 } else { 1000 },
                ..relay
            });
            files.push(file);
        }
        sign(folder.path(), &directory, &authority);
        let start = |file: &PathBuf| start_relay(file);
        let relays = files.iter().map(start).collect();
        let client = format!("{keys}{network}{client}");
        let (client, socks) = start_client(folder.path(), &client);
        Self {
            relays,
            client,
            socks,
            addresses: directory.relays.iter().map(|it| it.address).collect(),
            folder,
        }
    }

    /// With a client whose circuits are of age after a second, which no file may say.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn start_aging(preset: &str) -> Self {
        let mut overlay = Self::start(preset);
        let file = overlay.folder.path().join("client.toml");
        let mut config = ClientConfig::load(&file).unwrap();
        config.socks = free_address();
        config.circuits.max_age = Duration::from_secs(1);
        let client = net::client(&config).unwrap();
        let first = std::mem::replace(&mut overlay.client, client);
        first.end().unwrap();
        overlay.socks = config.socks;
        overlay
    }

    /// Another client, which has no circuits yet, and where it takes applications.
    #[allow(dead_code, reason = "used by `attacks`")]
    pub(crate) fn another_client(&self) -> (Running, SocketAddr) {
        let file = std::fs::read_to_string(self.folder.path().join("client.toml")).unwrap();
        let (_, rest) = file.split_once('\n').unwrap();
        start_client(self.folder.path(), rest)
    }

    /// Ends a relay, counted from zero, and starts it anew.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn restart(&mut self, relay: usize) {
        self.try_restart(relay).unwrap();
    }

    /// The same; a relay that does not start is missing.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn try_restart(&mut self, relay: usize) -> Result<(), StartError> {
        if relay < self.relays.len() {
            self.relays.remove(relay).end().unwrap();
        }
        let file = self.folder.path().join(format!("{}.toml", NAMES[relay]));
        let again = net::relay_by(calendar, &RelayConfig::load(&file).unwrap())?;
        self.relays.insert(relay, again);
        Ok(())
    }

    /// Lets a relay go by another configuration, as it is in its file but for this change.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn reload(
        &self,
        relay: usize,
        change: impl FnOnce(&mut RelayConfig),
    ) -> Result<(), InputError> {
        let file = self.folder.path().join(format!("{}.toml", NAMES[relay]));
        let mut config = RelayConfig::load(&file).unwrap();
        change(&mut config);
        self.relays[relay].reload(&config)
    }

    /// Signs the directory anew, with this change.
    #[allow(dead_code, reason = "used by `loopback`")]
    pub(crate) fn sign_anew(&self, change: impl FnOnce(&mut Directory)) {
        let authority = KeyStore::open(&self.folder.path().join("authority"));
        let authority = authority.unwrap().authority().unwrap();
        let file = self.folder.path().join("directory.toml");
        let mut directory = Directory::load(&file, &authority.id(), calendar_time()).unwrap();
        change(&mut directory);
        sign(self.folder.path(), &directory, &authority);
    }

    /// The keys of a relay, counted from zero.
    #[allow(dead_code, reason = "used by `attacks`")]
    pub(crate) fn keys(&self, relay: usize) -> KeyStore {
        KeyStore::open(&self.folder.path().join(NAMES[relay])).unwrap()
    }

    /// The files that the nodes have, and when each was written.
    #[allow(dead_code, reason = "used by `attacks`")]
    pub(crate) fn files(&self) -> Vec<(PathBuf, std::time::SystemTime)> {
        let folders = NAMES.iter().map(|name| self.folder.path().join(name));
        let entries = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let mut files: Vec<_> = entries
            .map(|entry| entry.unwrap())
            .map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap()))
            .collect();
        files.sort();
        files
    }

    /// What the exit does.
    pub(crate) fn exit(&self) -> Account {
        self.relays.last().unwrap().total()
    }

    /// A connection to a server on this machine.
    pub(crate) fn connect(&self, target: SocketAddr) -> TcpStream {
        self.connect_as(target, "").unwrap()
    }

    /// A connection on the circuits of `user`, or the code of the refusal.
    pub(crate) fn connect_as(&self, target: SocketAddr, user: &str) -> Result<TcpStream, u8> {
        let mut host = vec![1, 127, 0, 0, 1];
        host.extend(target.port().to_be_bytes());
        self.ask(&host, user)
    }

    /// A connection to the host and port that `target` says in SOCKS' way.
    pub(crate) fn ask(&self, target: &[u8], user: &str) -> Result<TcpStream, u8> {
        ask(self.socks, target, user)
    }

    /// Ends all nodes, which must have nothing left to wait for.
    pub(crate) fn end(self) {
        drop(self.end_and_keep());
    }

    /// The same; the network's folder stays.
    pub(crate) fn end_and_keep(self) -> TempDir {
        self.client.end().unwrap();
        self.relays
            .into_iter()
            .for_each(|relay| relay.end().unwrap());
        self.folder
    }
}

/// A connection by the client at `socks` to the host and port that `target` says in SOCKS' way, or
/// the code of the refusal.
pub(crate) fn ask(socks: SocketAddr, target: &[u8], user: &str) -> Result<TcpStream, u8> {
    try_ask(socks, target, user).expect("the client answers")
}

/// The same; `None` if the client gives no answer at all.
pub(crate) fn try_ask(
    socks: SocketAddr,
    target: &[u8],
    user: &str,
) -> Option<Result<TcpStream, u8>> {
    let mut socket = TcpStream::connect(socks).ok()?;
    let patience = Some(StdDuration::from_secs(30));
    socket.set_read_timeout(patience).ok()?;
    let mut hello = vec![5, 1, 2, 1, user.len() as u8];
    hello.extend(user.as_bytes());
    hello.extend([0, 5, 1, 0]);
    hello.extend(target);
    socket.write_all(&hello).ok()?;
    let mut reply = [0; 2 + 2 + 10];
    socket.read_exact(&mut reply).ok()?;
    assert_eq!(reply[..4], [5, 2, 1, 0], "the user is taken");
    Some(match reply[5] {
        0 => Ok(socket),
        code => Err(code),
    })
}

/// How far the relays' calendar is ahead, in seconds.
static AHEAD: AtomicU64 = AtomicU64::new(0);

/// The calendar by which relays count what they move.
fn calendar() -> UnixTime {
    UnixTime::from_secs(calendar_time().as_secs() + AHEAD.load(Ordering::Relaxed))
}

/// Lets so many seconds pass by the relays' calendar.
#[allow(dead_code, reason = "used by `loopback`")]
pub(crate) fn pass(seconds: u64) {
    AHEAD.fetch_add(seconds, Ordering::Relaxed);
}

/// Starts a relay with this configuration.
fn start_relay(file: &Path) -> Running {
    net::relay_by(calendar, &RelayConfig::load(file).unwrap()).unwrap()
}

/// Starts a client with this configuration, and says where it takes applications.
fn start_client(folder: &Path, text: &str) -> (Running, SocketAddr) {
    let socks = free_address();
    let file = node(folder, "client", &format!("socks = \"{socks}\"\n{text}"));
    let client = net::client(&ClientConfig::load(&file).unwrap()).unwrap();
    (client, socks)
}

fn directory(preset: &str) -> Directory {
    let transport = TransportChoice {
        preset: preset.to_owned(),
        options: toml::Table::new(),
    };
    let now = calendar_time();
    let begin = UnixTime::from_secs(now.as_secs() - 60);
    // A soak takes hours.
    let end = now.after(Duration::from_secs(24 * 3600));
    Directory::new("test", transport, (begin, end))
}

fn sign(folder: &Path, directory: &Directory, authority: &AuthorityKey) {
    let text = directory.sign(authority).unwrap();
    std::fs::write(folder.join("directory.toml"), text).unwrap();
}

fn node(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    file
}

/// A server that does the same with each connection.
pub(crate) fn serve(each: impl Fn(TcpStream) + Send + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(socket));
        }
    });
    address
}

/// A server that answers every connection's first byte with `len` bytes.
pub(crate) fn serve_content(len: usize) -> SocketAddr {
    serve(move |mut socket| {
        let mut byte = [0];
        if socket.read_exact(&mut byte).is_ok() {
            // The client may be gone.
            let _ = socket.write_all(&content(len));
        }
    })
}

pub(crate) fn content(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place / 3) as u8).collect()
}

/// Receives until the connection ends, and counts bytes.
#[allow(dead_code, reason = "used by `attacks` and the benchmark `bucket`")]
pub(crate) fn download(mut socket: TcpStream, received: Arc<AtomicU64>) {
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(len) = socket.read(&mut buffer) {
            if len == 0 {
                return;
            }
            received.fetch_add(len as u64, Ordering::Relaxed);
        }
    });
}
