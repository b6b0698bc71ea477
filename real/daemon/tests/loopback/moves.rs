//! A client whose address changes, and relays that lose what they knew: over datagrams neither is told by
//! the system.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::support::{Overlay, serve, try_ask};

/// A router between a client and a relay. It has one address for the client, and translates that of the client
/// into one of its own.
struct Router {
    /// Where the client reaches the relay.
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    inner: UdpSocket,
    /// Where the client is.
    client: Mutex<Option<SocketAddr>>,
    /// The client, as the relay sees it.
    outer: Mutex<Arc<UdpSocket>>,
    relay: SocketAddr,
    /// Whether nothing passes.
    shut: AtomicBool,
}

impl Router {
    /// Translates between a client that reaches it at this address and a relay.
    fn start(at: IpAddr, relay: SocketAddr) -> Self {
        let inner = UdpSocket::bind((at, 0)).unwrap();
        let address = inner.local_addr().unwrap();
        let shared = Arc::new(Shared {
            inner,
            client: Mutex::new(None),
            outer: Mutex::new(outer(1)),
            relay,
            shut: AtomicBool::new(false),
        });
        let router = Self { address, shared };
        pass_back(&router.shared);
        let shared = router.shared.clone();
        thread::spawn(move || {
            let mut bytes = [0; 2000];
            while let Ok((len, from)) = shared.inner.recv_from(&mut bytes) {
                let before = shared.client.lock().unwrap().replace(from);
                if before.is_some_and(|before| before != from) {
                    translate_anew(&shared);
                }
                if !shared.is_shut() {
                    let outer = shared.outer.lock().unwrap().clone();
                    let _ = outer.send_to(&bytes[..len], shared.relay);
                }
            }
        });
        router
    }

    fn shut(&self, shut: bool) {
        self.shared.shut.store(shut, Ordering::Relaxed);
    }
}

/// Lets pass to the client what reaches the address that it has for the relay now, for as long as it has
/// that one.
fn pass_back(shared: &Arc<Shared>) {
    let shared = shared.clone();
    let outer = shared.outer.lock().unwrap().clone();
    let glance = Some(Duration::from_millis(50));
    outer.set_read_timeout(glance).unwrap();
    thread::spawn(move || {
        let mut bytes = [0; 2000];
        while Arc::ptr_eq(&outer, &shared.outer.lock().unwrap()) {
            let received = outer.recv_from(&mut bytes);
            let client = *shared.client.lock().unwrap();
            if let Ok((len, _)) = received
                && let Some(client) = client.filter(|_| !shared.is_shut())
            {
                let _ = shared.inner.send_to(&bytes[..len], client);
            }
        }
    });
}

/// The client has another address for the relay, of another network.
fn translate_anew(shared: &Arc<Shared>) {
    *shared.outer.lock().unwrap() = outer(2);
    pass_back(shared);
}

impl Shared {
    fn is_shut(&self) -> bool {
        self.shut.load(Ordering::Relaxed)
    }
}

/// A socket in a network of this machine.
fn outer(network: u8) -> Arc<UdpSocket> {
    Arc::new(UdpSocket::bind((Ipv4Addr::new(127, 0, network, 1), 0)).unwrap())
}

/// A network of its own for a client, and a pair of virtual interfaces that leads there.
struct Namespace {
    name: String,
    /// Of the network between.
    number: u8,
}

impl Namespace {
    /// `None` where that is not allowed.
    fn create() -> Option<Self> {
        let process = std::process::id();
        let name = format!("hopflow-{process}");
        let number = (process % 250) as u8;
        let this = Self { name, number };
        let [near, far] = ["n", "f"].map(|end| format!("hf{end}{process}"));
        let (name, here) = (&*this.name, format!("{}/24", this.address(1)));
        let there = format!("{}/24", this.address(2));
        let made = ip(&["netns", "add", name])
            && ip(&["link", "add", &near, "type", "veth", "peer", "name", &far])
            && ip(&["link", "set", &far, "netns", name, "name", "far"])
            && ip(&["addr", "add", &here, "dev", &near])
            && ip(&["link", "set", &near, "up"])
            && ip(&["-n", name, "link", "set", "lo", "up"])
            && ip(&["-n", name, "link", "set", "far", "up"])
            && ip(&["-n", name, "addr", "add", &there, "dev", "far"]);
        made.then_some(this)
    }

    /// An address of the network between; ours ends with 1, the client's with 2 at first.
    fn address(&self, last: u8) -> IpAddr {
        [198, 18, self.number, last].into()
    }

    /// The calling thread, and those that it starts, are in there from now on.
    fn enter(&self) {
        let file = File::open(format!("/run/netns/{}", self.name)).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
    }

    /// The client's host gets another address.
    fn move_away(&self) {
        let [old, new] = [2, 3].map(|last| format!("{}/24", self.address(last)));
        assert!(ip(&["-n", &self.name, "addr", "del", &old, "dev", "far"]));
        assert!(ip(&["-n", &self.name, "addr", "add", &new, "dev", "far"]));
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.name]);
    }
}

/// Whether the command `ip` did this.
fn ip(arguments: &[&str]) -> bool {
    let done = Command::new("ip").args(arguments).output();
    done.is_ok_and(|done| done.status.success())
}

/// Downloads by a client behind a router, perhaps in a network of its own; does `then`, and returns how long
/// after that the client downloads again.
fn downloads_again(
    namespace: Option<&Namespace>,
    then: impl FnOnce(&mut Overlay, &Router) + Send,
) -> Duration {
    let mut overlay = Overlay::start("backtap");
    let at = namespace.map_or(Ipv4Addr::LOCALHOST.into(), |it| it.address(1));
    let router = Router::start(at, overlay.addresses[0]);
    overlay.sign_anew(|directory| directory.relays[0].address = router.address);
    let server = serve(|mut socket| {
        let bytes = [7; 16 * 1024];
        while socket.write_all(&bytes).is_ok() {}
    });
    let took = thread::scope(|scope| {
        let client = scope.spawn(|| {
            if let Some(namespace) = namespace {
                namespace.enter();
            }
            let (client, socks) = overlay.another_client();
            let took = time_to_second_download((socks, server), || then(&mut overlay, &router));
            client.end().unwrap();
            took
        });
        client.join().unwrap()
    });
    overlay.end();
    took
}

/// How long after `then` the client downloads again by whose SOCKS the server is reached.
fn time_to_second_download(
    (socks, server): (SocketAddr, SocketAddr),
    then: impl FnOnce(),
) -> Duration {
    let mut target = vec![1, 127, 0, 0, 1];
    target.extend(server.port().to_be_bytes());
    let download = |len: usize| {
        let mut socket = try_ask(socks, &target, "user")?.ok()?;
        let patience = Some(Duration::from_secs(1));
        socket.set_read_timeout(patience).ok()?;
        socket.read_exact(&mut vec![0; len]).ok()?;
        Some(socket)
    };
    let mut first = download(100_000).expect("it downloads");
    then();
    let begin = now();
    let patience = begin + Duration::from_secs(20);
    // The application reads on, and asks again when nothing comes any more.
    while first.read(&mut [0; 16 * 1024]).is_ok_and(|len| len > 0) && now() < patience {}
    while download(100_000).is_none() && now() < patience {}
    now() - begin
}

#[expect(clippy::disallowed_methods, reason = "sockets live in real time")]
fn now() -> Instant {
    Instant::now()
}

/// A second or two until the pause is noticed, half a second for the relay to show that it is there after all,
/// and some for a machine that does other things.
const SOON: Duration = Duration::from_secs(6);

#[test]
fn a_client_whose_own_address_changes_downloads_again_soon() {
    let Some(namespace) = Namespace::create() else {
        return eprintln!("skipped: it needs the command ip, and the right to make networks");
    };
    let took = downloads_again(Some(&namespace), |_, _| namespace.move_away());
    println!("{} ms after the change", took.as_millis());
    assert!(took < SOON, "{took:?}");
}

#[test]
fn a_client_whose_address_changes_on_the_way_downloads_again_soon() {
    let took = downloads_again(None, |_, router| translate_anew(&router.shared));
    println!("{} ms after the change", took.as_millis());
    assert!(took < SOON, "{took:?}");
}

#[test]
fn a_client_whose_relay_lost_what_it_knew_downloads_again_soon() {
    let took = downloads_again(None, |overlay, router| {
        // Nobody hears of the end.
        router.shut(true);
        overlay.restart(0);
        router.shut(false);
    });
    println!("{} ms after the relay is back", took.as_millis());
    assert!(took < SOON, "{took:?}");
}
