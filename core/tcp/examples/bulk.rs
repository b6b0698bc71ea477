//! One bulk transfer over a bottleneck, for comparison with Linux's TCP by `tools/linux-tcp`.
//!
//! Arguments: algorithm (`reno`, `cubic` or `bbr`), rate in bytes per second, round-trip time in
//! microseconds, queue in bytes, seconds. Prints goodput in bytes per second, the share of
//! segments sent again, and the mean wait in the queue in milliseconds.

use std::process::ExitCode;

use hopflow_tcp::pair::{LinkSpec, Pair};
use hopflow_tcp::{Algorithm, Config, DelayedAck};
use hopflow_units::{Bytes, Duration, Instant, Rate};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match transfer(&arguments) {
        Some(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        None => {
            eprintln!("usage: bulk reno|cubic|bbr RATE ROUND_TRIP_US QUEUE SECONDS");
            ExitCode::from(2)
        }
    }
}

fn transfer(arguments: &[String]) -> Option<String> {
    let [algorithm, rate, round_trip, queue, seconds] = arguments else {
        return None;
    };
    let delayed_ack = DelayedAck {
        // While Linux's window opens with the buffers that tools/linux-tcp sets.
        quick_segments: 1467,
        ..Config::default().delayed_ack
    };
    let config = Config {
        delayed_ack,
        algorithm: match algorithm.as_str() {
            "reno" => Algorithm::NewReno,
            "cubic" => Algorithm::Cubic,
            "bbr" => Algorithm::Bbr,
            _ => return None,
        },
        send_buffer: Bytes::new(8 << 20),
        receive_buffer: Bytes::new(16 << 20),
        ..Config::default()
    };
    let rate = Rate::from_bytes_per_sec(rate.parse().ok()?)?;
    let delay = Duration::from_micros(round_trip.parse().ok()?) / 2;
    let forward = LinkSpec::bottleneck(rate, Bytes::new(queue.parse().ok()?), delay);
    let span = Duration::from_secs_f64(seconds.parse().ok()?);
    let mut pair = Pair::new(&config, forward, LinkSpec::delay(delay));
    pair.offer(Bytes::new(1 << 50));
    pair.run_until(Instant::ZERO + span);
    let stats = pair.sender.stats();
    Some(format!(
        "{} {} {}",
        pair.delivered().as_f64() / span.as_secs_f64(),
        stats.segments_retransmitted as f64 / stats.segments_sent as f64,
        pair.mean_queueing().as_millis_f64(),
    ))
}
