//! An overlay of processes on the loopback device, made by the commands that operators use.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a node may take for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// How often is looked whether something has happened.
const GLANCE: Duration = Duration::from_millis(20);

pub(crate) fn hopflow(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hopflow"));
    command
        .args(arguments)
        .current_dir(folder)
        .env_remove("HOPFLOW_LOG");
    command
}

pub(crate) fn output(folder: &Path, arguments: &[&str]) -> Output {
    hopflow(folder, arguments).output().unwrap()
}

/// What a command prints that must succeed.
pub(crate) fn success(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a command that must fail since its input cannot be used.
pub(crate) fn refusal(folder: &Path, arguments: &[&str]) -> String {
    let output = output(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    error.strip_prefix("error: ").expect(&error).to_owned()
}

/// An address that nobody uses.
fn free_address() -> SocketAddr {
    hopflow_daemon::net::free_address().unwrap()
}

/// A relay or client that runs.
pub(crate) struct Node {
    name: String,
    /// What it tells its operator; a test that fails prints it.
    log: PathBuf,
    pub(crate) metrics: SocketAddr,
    process: Child,
}

impl Node {
    fn start(folder: &Path, kind: &str, name: &str, metrics: SocketAddr) -> Self {
        Self::start_in(folder, kind, name, metrics, &[])
    }

    /// With these variables in its environment.
    fn start_in(
        folder: &Path,
        kind: &str,
        name: &str,
        metrics: SocketAddr,
        variables: &[(&str, &str)],
    ) -> Self {
        let config = format!("{name}.toml");
        let log = folder.join(format!("{name}.log"));
        let process = hopflow(folder, &[kind, &config, "--log", "debug"])
            .envs(variables.iter().copied())
            .stderr(fs::File::create(&log).unwrap())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            name: name.to_owned(),
            log,
            metrics,
            process,
        }
    }

    /// What it answers to a request for a page.
    pub(crate) fn page(&self, path: &str) -> String {
        let mut socket = TcpStream::connect(self.metrics).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(socket, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut page = String::new();
        socket.read_to_string(&mut page).unwrap();
        page
    }

    /// The present value of a metric.
    pub(crate) fn metric(&self, name: &str) -> Option<u64> {
        let page = self.page("/metrics");
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value?.parse().ok()
    }

    /// Ends a relay, and starts it anew with these variables in its environment.
    pub(crate) fn restart_in(&mut self, folder: &Path, variables: &[(&str, &str)]) {
        assert_eq!(self.terminate(), Some(0));
        let name = self.name.clone();
        *self = Self::start_in(folder, "relay", &name, self.metrics, variables);
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.process, name);
    }

    /// Asks it to end, and says with which code it does.
    pub(crate) fn terminate(&mut self) -> Option<i32> {
        self.signal("-TERM");
        until("the node ends", || self.process.try_wait().unwrap()).code()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!(
                "{}:\n{}",
                self.name,
                fs::read_to_string(&self.log).unwrap_or_default()
            );
        }
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a process a signal.
pub(crate) fn signal(process: &Child, name: &str) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args([name, &id]).status().unwrap();
    assert!(sent.success());
}

/// Waits until there is something.
#[expect(
    clippy::disallowed_methods,
    reason = "the nodes are processes that live in real time"
)]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "in time: {what}");
        thread::park_timeout(GLANCE);
    }
}

/// A network and its nodes: `guard`, `middle` and as many exits as there are names of them.
pub(crate) struct Overlay {
    pub(crate) socks: SocketAddr,
    pub(crate) relays: Vec<Node>,
    pub(crate) client: Node,
    /// Last, since nodes that are dropped read from it.
    pub(crate) folder: TempDir,
}

impl Overlay {
    pub(crate) fn start(transport: &str, exits: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let authority = success(at, &["directory", "keygen", "authority"]);
        let network = format!("[network]\ndirectory = \"directory.toml\"\n{authority}");
        let names: Vec<&str> = ["guard", "middle"].iter().chain(exits).copied().collect();
        let mut metrics = Vec::new();
        for name in &names {
            metrics.push(free_address());
            write_relay(
                at,
                name,
                &network,
                *metrics.last().unwrap(),
                exits.contains(name),
            );
            let mut command = vec!["directory", "entry", "--nickname", name];
            command.extend((*name == "guard").then_some("--guard"));
            let config = format!("{name}.toml");
            command.push(&config);
            fs::write(at.join(format!("{name}.entry")), success(at, &command)).unwrap();
        }
        let entries: Vec<String> = names.iter().map(|name| format!("{name}.entry")).collect();
        let mut command = vec![
            "directory",
            "sign",
            "--keys",
            "authority",
            "--network",
            "test",
        ];
        command.extend(["--transport", transport, "--out", "directory.toml"]);
        command.extend(entries.iter().map(String::as_str));
        success(at, &command);
        let (socks, client_metrics) = (free_address(), free_address());
        let client = format!("socks = \"{socks}\"\nmetrics = \"{client_metrics}\"\n{network}");
        fs::write(at.join("client.toml"), client).unwrap();
        let relays = names.iter().zip(&metrics);
        let relays = relays.map(|(name, metrics)| Node::start(at, "relay", name, *metrics));
        let relays: Vec<Node> = relays.collect();
        let client = Node::start(at, "client", "client", client_metrics);
        let mut overlay = Self {
            socks,
            relays,
            client,
            folder,
        };
        for node in overlay.relays.iter_mut().chain([&mut overlay.client]) {
            until("it runs", || {
                let ended = node.process.try_wait().unwrap();
                assert_eq!(ended, None, "{} has ended", node.name);
                TcpStream::connect(node.metrics).ok()
            });
        }
        overlay
    }

    /// A connection to `target` through the overlay, on the circuits of `user`; or the code of
    /// the refusal.
    pub(crate) fn connect(&self, target: SocketAddr, user: &str) -> Result<TcpStream, u8> {
        let mut socket = TcpStream::connect(self.socks).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut hello = vec![5, 1, 2, 1, user.len() as u8];
        hello.extend(user.as_bytes());
        hello.extend([0, 5, 1, 0, 1, 127, 0, 0, 1]);
        hello.extend(target.port().to_be_bytes());
        socket.write_all(&hello).unwrap();
        let mut reply = [0; 2 + 2 + 10];
        socket.read_exact(&mut reply).unwrap();
        match reply[5] {
            0 => Ok(socket),
            code => Err(code),
        }
    }
}

fn write_relay(folder: &Path, name: &str, network: &str, metrics: SocketAddr, exit: bool) {
    let listen = free_address();
    let policy = if exit {
        "[exit]\npolicy = [\"accept *:*\"]\nallow-private = true\n"
    } else {
        ""
    };
    let text = format!(
        "keys = \"{name}\"\nlisten = \"{listen}\"\nworkers = 1\nmetrics = \"{metrics}\"\n\
         {network}{policy}"
    );
    fs::write(folder.join(format!("{name}.toml")), text).unwrap();
}

/// A server that answers each connection's first byte with `len` bytes, and then ends.
pub(crate) fn serve(len: usize) -> SocketAddr {
    serve_by(move |socket| socket.write_all(&vec![7; len]))
}

/// A server that answers each connection's first byte with bytes as long as it can.
pub(crate) fn serve_without_end() -> SocketAddr {
    serve_by(|socket| {
        loop {
            socket.write_all(&[7; 1 << 14])?;
        }
    })
}

fn serve_by(
    answer: impl Fn(&mut TcpStream) -> std::io::Result<()> + Clone + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || {
                if socket.read_exact(&mut [0]).is_ok() {
                    // The client may be gone.
                    let _ = answer(&mut socket);
                }
            });
        }
    });
    address
}
