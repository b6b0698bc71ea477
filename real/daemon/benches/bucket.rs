//! What a relay's token bucket costs: CPU time and wake-ups of each node for each megabyte of downloads
//! that the middle relay's bucket limits.
//!
//! `cargo bench -p hopflow-daemon --bench bucket -- backtap 10 4` (transport, circuits, seconds): three
//! relays with one worker each and a client in this process, on the loopback device, with refills every
//! 10 ms and every 1 ms in turn. `--quick` measures each once.

#[path = "../tests/loopback/support.rs"]
#[expect(dead_code, reason = "shared with the tests in `loopback`")]
mod support;

use std::fs;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use support::{EVERYTHING, Overlay, download, serve};

/// Bytes per second of the middle relay's bucket.
const RATE: u64 = 1_500_000;
/// How long the downloads take to come to their rate, and to spend what the bucket held at first.
const LEAD: Duration = Duration::from_secs(2);
/// Measurements with each time between refills.
const ROUNDS: usize = 3;
/// The nodes in the order in which they start.
const NODES: [&str; 4] = ["guard", "middle", "exit", "client"];

/// What a thread has done.
#[derive(Clone, Copy)]
struct Done {
    cpu_ns: u64,
    wakes: u64,
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let quick = given.iter().any(|it| it == "--quick" || it == "--test");
    let words: Vec<&String> = given.iter().filter(|it| !it.starts_with("--")).collect();
    let preset = words.first().map_or("backtap", |it| it.as_str());
    let number = |at: usize, default: u64| {
        let word = words.get(at);
        word.map_or(default, |it| it.parse().expect("a number"))
    };
    let (circuits, seconds) = (number(1, 10), number(2, 4));
    let (rounds, span) = if quick {
        (1, Duration::from_millis(500))
    } else {
        (ROUNDS, Duration::from_secs(seconds))
    };
    println!("refill | kB/s | CPU ms per MB: guard middle exit client | wake-ups per MB");
    for _ in 0..rounds {
        for refill in ["10 ms", "1 ms"] {
            measure(preset, refill, circuits, span);
        }
    }
}

/// Measures downloads on so many circuits with one time between refills, and prints it.
fn measure(preset: &str, refill: &str, circuits: u64, span: Duration) {
    let bucket =
        format!("[bucket]\nrate = \"{RATE} B/s\"\nburst = \"200 kB\"\nrefill = \"{refill}\"\n");
    let overlay = Overlay::start_limited(preset, EVERYTHING, "", &bucket);
    let server = serve(|mut socket| {
        let bytes = [7; 16 * 1024];
        while socket.write_all(&bytes).is_ok() {}
    });
    let received = Arc::new(AtomicU64::new(0));
    for user in 0..circuits {
        let socket = overlay.connect_as(server, &user.to_string());
        download(socket.expect("it is connected"), received.clone());
    }
    thread::park_timeout(LEAD);
    let workers = workers();
    let look = || workers.each_ref().map(|it| done(it));
    let (before, from) = (look(), received.load(Ordering::Relaxed));
    thread::park_timeout(span);
    let (after, to) = (look(), received.load(Ordering::Relaxed));
    let megabytes = (to - from) as f64 / 1e6;
    let of = |what: fn(&Done) -> u64, per: f64| {
        let each = before.iter().zip(&after);
        let each =
            each.map(|(before, after)| (what(after) - what(before)) as f64 / per / megabytes);
        each.map(|it| format!("{it:.1}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    println!(
        "{refill} | {:.0} | {} | {}",
        megabytes * 1e3 / span.as_secs_f64(),
        of(|it| it.cpu_ns, 1e6),
        of(|it| it.wakes, 1.0),
    );
    overlay.end();
}

/// The folders of the nodes' threads, which have said their names by now; threads are numbered in the order in which they start.
fn workers() -> [String; NODES.len()] {
    let tasks = fs::read_dir("/proc/self/task").expect("the system is Linux");
    let mut tasks: Vec<u64> = tasks
        .flatten()
        .filter_map(|it| it.file_name().to_str()?.parse().ok())
        .filter(|it| name(*it).is_some_and(|it| it == "worker 0"))
        .collect();
    tasks.sort_unstable();
    let folders: Vec<String> = tasks
        .iter()
        .map(|it| format!("/proc/self/task/{it}"))
        .collect();
    folders.try_into().expect("each node has one worker")
}

fn name(task: u64) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/self/task/{task}/comm"));
    name.ok().map(|it| it.trim().to_owned())
}

/// CPU time in nanoseconds and voluntary switches of a thread.
fn done(folder: &str) -> Done {
    let stat = fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let cpu = stat.split(' ').next().and_then(|it| it.parse().ok());
    let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    let wakes = status
        .lines()
        .find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
    Done {
        cpu_ns: cpu.unwrap_or(0),
        wakes: wakes.and_then(|it| it.trim().parse().ok()).unwrap_or(0),
    }
}
