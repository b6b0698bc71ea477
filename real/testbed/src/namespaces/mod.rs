//! Hosts in network namespaces, each with the kernel's TCP and a link to the others.
//!
//! Each namespace has a TUN device with one address. What a host sends, the [`Switch`] reads from its device, lets it
//! pass the emulated links, and writes it to the device of the host that it is for. The kernel's TCP and UDP see the
//! links' rate, delay and queues as those of a real network, which they do not on the loopback device.

mod switch;

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::process::Command;
use std::{io, thread};

use hopflow_daemon::InputError;
use hopflow_daemon::net::StartError;
use hopflow_netem::{Line, LinkConfig};
use hopflow_random::Streams;
use hopflow_units::Duration;
use nix::sched::{CloneFlags, setns, unshare};
use tun_rs::{DeviceBuilder, SyncDevice};

use crate::lateness::Lateness;
use crate::settings::Congestion;
use switch::{FRAMING, MTU, Port, Switch};

/// The device's name in each namespace.
const DEVICE: &str = "access";
/// What the kernel sends at once of a link's rate after its timer was late, and at least.
const BURST: (Duration, u64) = (Duration::from_millis(2), 4096);
/// A private network, of whose relays clients do not suppose that somebody runs them together.
const NETWORK: [u8; 3] = [10, 0, 0];
/// Where a namespace's default congestion control is set.
const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Namespaces that are gone when the last thread and socket in them is: that of the web server with the process.
#[derive(Debug)]
pub(crate) struct Namespaces {
    handles: Vec<File>,
    switch: Switch,
}

impl Namespaces {
    /// Makes so many, each with an access link that is like this one, and with this congestion control of TCP.
    ///
    /// # Errors
    /// If the system does not give them.
    pub(crate) fn make(
        count: usize,
        link: &LinkConfig,
        tcp: Congestion,
    ) -> Result<Self, StartError> {
        let (mut handles, mut ports) = (Vec::new(), Vec::new());
        for number in 0..count {
            let inside = || {
                let (handle, device) = make_here(number, tcp)?;
                Ok::<_, StartError>((handle, device, limit_here(link)))
            };
            let made = thread::scope(|scope| scope.spawn(inside).join());
            let made = made.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let (handle, device, is_limited) = made?;
            handles.push(handle);
            let streams = Streams::new(number as u64);
            let line = |name, link: &LinkConfig| Line::new(link.clone(), streams.stream(name, 0));
            let up = LinkConfig {
                rate: link.rate.filter(|_| !is_limited),
                ..link.clone()
            };
            ports.push(Port {
                device,
                address: address(number),
                up: line("emulated.up", &up),
                down: line("emulated.down", link),
            });
        }
        let switch = Switch::start(ports)?;
        Ok(Self { handles, switch })
    }

    /// A host's address.
    pub(crate) fn address(&self, host: usize) -> Ipv4Addr {
        debug_assert!(host < self.handles.len(), "there is no such host");
        address(host)
    }

    /// Moves the calling thread into a host's namespace, and with it those that it starts.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn enter(&self, host: usize) -> io::Result<()> {
        Ok(setns(&self.handles[host], CloneFlags::CLONE_NEWNET)?)
    }

    /// Does something on a thread of its own in a host's namespace.
    ///
    /// # Errors
    /// If the thread does not get there.
    pub(crate) fn at<T: Send>(
        &self,
        host: usize,
        work: impl FnOnce() -> T + Send,
    ) -> io::Result<T> {
        let inside = || self.enter(host).map(|()| work());
        let done = thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether the network between the hosts has failed.
    pub(crate) fn have_failed(&self) -> bool {
        self.switch.has_failed()
    }

    /// Ends the network between the hosts. Returns how late packets came through.
    ///
    /// # Errors
    /// If it has failed.
    pub(crate) fn end(self) -> io::Result<Lateness> {
        self.switch.end()
    }
}

const fn address(host: usize) -> Ipv4Addr {
    let [a, b, c] = NETWORK;
    Ipv4Addr::new(a, b, c, host as u8 + 1)
}

/// Moves the calling thread into a namespace that is new, and returns its handle and its device.
fn make_here(number: usize, tcp: Congestion) -> Result<(File, SyncDevice), StartError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| {
        refused(
            error,
            "network namespaces need root; without, run \
             `unshare --map-root-user --net` with this command behind it",
        )
    })?;
    let handle = File::open("/proc/thread-self/ns/net")?;
    run("ip", &["link", "set", "lo", "up"])?;
    fs::write(CONGESTION, tcp.kernel_name()).map_err(|error| {
        let allowed = CONGESTION.replace("congestion", "allowed_congestion");
        let allowed = fs::read_to_string(allowed).unwrap_or_default();
        let (found, allowed) = (tcp.kernel_name(), allowed.trim());
        refused(
            error,
            &format!(
                "the kernel gives new namespaces no {found}; allowed are those of the sysctl \
                 net.ipv4.tcp_allowed_congestion_control: {allowed}"
            ),
        )
    })?;
    let device = DeviceBuilder::new()
        .name(DEVICE)
        .ipv4(address(number), 24, None)
        .mtu(MTU)
        .backpressure(true)
        .build_sync()
        .map_err(|error| refused(error, "a TUN device (/dev/net/tun) is needed"))?;
    device.set_nonblocking(true)?;
    Ok((handle, device))
}

/// Lets the kernel keep what waits for the uplink, where sockets feel it; returns whether it does so. What a TUN device has taken
/// they do not feel before Linux 7.3.
fn limit_here(link: &LinkConfig) -> bool {
    let Some(rate) = link.rate else { return false };
    let burst = rate.bytes_in(BURST.0).get().max(BURST.1);
    let burst = format!("{burst}b");
    let rate = format!("{}bps", rate.bytes_per_sec());
    let packet = u64::from(MTU) + FRAMING;
    let limit = format!("{}b", u64::from(link.queue.packets) * packet);
    let overhead = FRAMING.to_string();
    let bucket = ["tbf", "rate", &rate, "burst", &burst, "limit", &limit];
    let bucket = [bucket.as_slice(), &["overhead", &overhead]].concat();
    let device = ["qdisc", "replace", "dev", DEVICE, "root"];
    run("tc", &[device.as_slice(), &bucket].concat()).is_ok()
}

/// Runs a command of iproute2 in the calling thread's namespace.
fn run(command: &str, arguments: &[&str]) -> Result<(), StartError> {
    let done = Command::new(command).args(arguments).output();
    let done = done.map_err(|error| {
        let needed = format!("the command `{command}` (iproute2) is needed");
        refused(error, &needed)
    })?;
    if done.status.success() {
        return Ok(());
    }
    let (arguments, said) = (arguments.join(" "), String::from_utf8_lossy(&done.stderr));
    Err(refused(said.trim(), &format!("{command} {arguments}")))
}

/// What is needed, and how the system refuses it.
fn refused(how: impl std::fmt::Display, needed: &str) -> StartError {
    InputError::at("netns", format!("{needed}: {how}")).into()
}
