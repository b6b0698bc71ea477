//! Relays and a client on the loopback device: an application fetches through them by SOCKS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use hopflow_daemon::config::{ClientConfig, RelayConfig};
use hopflow_daemon::directory::{Directory, Relay, TransportChoice};
use hopflow_daemon::keys::KeyStore;
use hopflow_daemon::net::{self, Running, calendar_time};
use hopflow_daemon::{Hex, UnixTime};
use hopflow_units::Duration;

/// A port that nobody uses at the moment.
fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn node(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    file
}

/// Three relays and a client.
struct Overlay {
    folder: tempfile::TempDir,
    nodes: Vec<Running>,
    socks: SocketAddr,
}

impl Overlay {
    fn start(preset: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = KeyStore::open(&folder.path().join("authority"))
            .unwrap()
            .authority()
            .unwrap();
        let transport = TransportChoice {
            preset: preset.to_owned(),
            options: toml::Table::new(),
        };
        let now = calendar_time();
        let begin = UnixTime::from_secs(now.as_secs() - 60);
        let end = now.after(Duration::from_secs(3600));
        let mut directory = Directory::new("test", transport, (begin, end));
        let mut configs = Vec::new();
        for name in ["one", "two", "three"] {
            let address = free_port();
            let keys = KeyStore::open(&folder.path().join(name)).unwrap();
            directory.relays.push(Relay {
                nickname: name.to_owned(),
                address,
                fingerprint: Hex(keys.identity().unwrap().fingerprint().to_bytes()),
                onion_key: Hex(keys.onion().unwrap().public().0),
                weight: 1,
                guard: name == "one",
                exit: (name == "three").then(|| toml::from_str(EXIT).unwrap()),
            });
            let exit = if name == "three" {
                "[exit]\npolicy = [\"accept *:*\"]\nallow-private = true\n"
            } else {
                ""
            };
            configs.push((
                name,
                format!("keys = \"{name}\"\nlisten = \"{address}\"\nworkers = 1\n{exit}"),
            ));
        }
        let text = directory.sign(&authority).unwrap();
        std::fs::write(folder.path().join("directory.toml"), text).unwrap();
        let network = format!(
            "[network]\ndirectory = \"directory.toml\"\nauthority = \"{}\"\n",
            authority.id()
        );
        let mut nodes = Vec::new();
        for (name, text) in configs {
            let text = match text.split_once("[exit]") {
                Some((top, exit)) => format!("{top}{network}[exit]{exit}"),
                None => format!("{text}{network}"),
            };
            let file = node(folder.path(), name, &text);
            nodes.push(net::relay(&RelayConfig::load(&file).unwrap()).unwrap());
        }
        let socks = free_port();
        let text = format!("socks = \"{socks}\"\n{network}");
        let file = node(folder.path(), "client", &text);
        nodes.push(net::client(&ClientConfig::load(&file).unwrap()).unwrap());
        Self {
            folder,
            nodes,
            socks,
        }
    }

    /// A connection to `target` through the overlay.
    fn connect(&self, target: SocketAddr) -> TcpStream {
        let mut socket = TcpStream::connect(self.socks).unwrap();
        socket
            .set_read_timeout(Some(std::time::Duration::from_secs(20)))
            .unwrap();
        socket.write_all(&[5, 1, 0]).unwrap();
        let mut answer = [0; 2];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [5, 0]);
        let mut request = vec![5, 1, 0, 1, 127, 0, 0, 1];
        request.extend(target.port().to_be_bytes());
        socket.write_all(&request).unwrap();
        let mut reply = [0; 10];
        socket.read_exact(&mut reply).unwrap();
        assert_eq!(reply[1], 0, "the exit connects");
        socket
    }
}

const EXIT: &str = "policy = [\"accept *:*\"]\nallow-private = true\n";

/// A server that answers every connection's first byte with `len` bytes.
fn serve(len: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            thread::spawn(move || answer(socket, len));
        }
    });
    address
}

fn answer(mut socket: TcpStream, len: usize) {
    let mut byte = [0];
    if socket.read_exact(&mut byte).is_ok() {
        // The client may be gone.
        let _ = socket.write_all(&content(len));
    }
}

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|place| (place / 3) as u8).collect()
}

fn fetch(preset: &str) {
    let overlay = Overlay::start(preset);
    let len = 2_000_000;
    let server = serve(len);
    let fetches: Vec<_> = (0..4)
        .map(|_| {
            let mut socket = overlay.connect(server);
            thread::spawn(move || {
                socket.write_all(b"x").unwrap();
                let mut got = Vec::new();
                socket.read_to_end(&mut got).unwrap();
                got
            })
        })
        .collect();
    for fetch in fetches {
        assert!(fetch.join().unwrap() == content(len), "{preset}");
    }
    for node in overlay.nodes {
        node.end().unwrap();
    }
    drop(overlay.folder);
}

#[test]
fn backtap_fetches_through_three_relays() {
    fetch("backtap");
}

#[test]
fn vanilla_fetches_through_three_relays() {
    fetch("vanilla");
}

#[test]
fn pctcp_fetches_through_three_relays() {
    fetch("pctcp");
}
