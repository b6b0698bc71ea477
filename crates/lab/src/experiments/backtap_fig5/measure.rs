//! One run: the world of Figure 5, and what the paper measures in it.

use std::ops::ControlFlow;

use hopflow_overlay::Factory;
use hopflow_sim::random::Streams;
use hopflow_sim::spec::{
    AccessSpec, BucketSpec, CircuitSpec, Class, NodeSpec, QueueSpec, Sampling, Workload, WorldSpec,
};
use hopflow_sim::{Progress, Sample, Simulated, SpecError};
use hopflow_stats::Line;
use hopflow_units::{Duration, NodeId};
use hopflow_wire::CELL_DATA;

use super::model::CELL;
use super::plan::{Curve, Plan, Span};

/// The nodes of the circuit; the exit sends.
const NODES: [&str; 4] = ["client", "entry", "middle", "exit"];
/// The relay with the token bucket.
const MIDDLE: usize = 2;
/// One-way passages of access links in an end-to-end round trip: two for each of three hops, there
/// and back.
const PASSAGES: u64 = 12;

/// Rate, backlog and delay over a span, from the lines through R and W (section 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct State {
    /// Slope of W, in kB/s; cells count with 512 bytes.
    pub(super) rate: f64,
    /// Vertical distance of the lines in the middle of the span, in kB; cells count likewise.
    pub(super) backlog: f64,
    /// Horizontal distance of the lines there, in ms.
    pub(super) delay: f64,
}

/// What one run measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// The steady state.
    pub(super) steady: State,
    /// Application bytes per second in the steady state, in kB/s.
    pub(super) goodput: f64,
    /// The state after a minute.
    pub(super) minute: State,
    /// Seconds from the first delivered byte until the rate stays above 95 % of the steady one.
    pub(super) settling: f64,
    /// The largest backlog of the whole run, in kB.
    pub(super) peak: f64,
}

/// The world of Figure 5.
pub(super) fn world(plan: &Plan, curve: &Curve, rtt_ms: u64, seed: u64) -> WorldSpec {
    let access = AccessSpec {
        rate: plan.access_rate,
        delay: Duration::from_nanos(rtt_ms * 1_000_000 / PASSAGES),
        queue: QueueSpec::DropTail {
            packets: plan.access_queue_packets,
        },
        loss: 0.0,
        duplicate: 0.0,
        jitter: Duration::ZERO,
        reorder: false,
    };
    let mut nodes = NODES.map(|name| NodeSpec {
        name: name.to_owned(),
        access: access.clone(),
        bucket: None,
    });
    nodes[MIDDLE].bucket = Some(BucketSpec {
        rate: plan.bucket,
        depth: None,
        interval: curve.refill,
    });
    let [from, to] = [plan.start_s.0, plan.start_s.1].map(Duration::from_secs_f64);
    let circuit = CircuitSpec {
        path: (0..NODES.len() as u32).map(NodeId::new).collect(),
        class: Class::Bulk,
        workload: Workload {
            response: None,
            think: (Duration::ZERO, Duration::ZERO),
            server_delay: Duration::ZERO,
            server_delay_max: Duration::ZERO,
        },
        start: Streams::new(seed).stream("start", 0).uniform(from, to),
    };
    WorldSpec {
        nodes: nodes.to_vec(),
        circuits: vec![circuit],
        end: Duration::from_secs_f64(end(plan, curve, rtt_ms)),
        seed,
        sampling: Sampling {
            circuits: Some(Duration::from_millis(plan.sample_every_ms)),
            ..Sampling::default()
        },
        // The paper switches Nagle's algorithm off for this figure.
        tcp: hopflow_tcp::Config {
            nagle: false,
            ..hopflow_tcp::Config::default()
        },
    }
}

/// When a run ends, in seconds.
fn end(plan: &Plan, curve: &Curve, rtt_ms: u64) -> f64 {
    curve.steady(rtt_ms).1.max(plan.minute_s.1)
}

/// Simulates and measures; `None` if `observer` stops it.
///
/// # Errors
/// If the simulator refuses the world.
pub(super) fn measure(
    plan: &Plan,
    (curve, rtt_ms, seed): (&Curve, u64, u64),
    factory: &dyn Factory<Simulated>,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Option<Measured>, SpecError> {
    let world = world(plan, curve, rtt_ms, seed);
    let Some(outcome) = hopflow_sim::run(&world, factory, observer)? else {
        return Ok(None);
    };
    let series = Series::new(&outcome.samples);
    let steady = series.state(curve.steady(rtt_ms));
    Ok(steady
        .zip(series.state(plan.minute_s))
        .map(|(steady, minute)| Measured {
            steady,
            goodput: steady.rate * CELL_DATA as f64 / CELL as f64,
            minute,
            settling: series.settling(steady.rate),
            peak: series.peak(),
        }))
}

/// R and W of one circuit over time, in kB, cells counted with 512 bytes.
struct Series {
    packaged: Vec<(f64, f64)>,
    delivered: Vec<(f64, f64)>,
}

impl Series {
    fn new(samples: &[Sample]) -> Self {
        let scale = CELL as f64 / CELL_DATA as f64 / 1e3;
        let line = |bytes: fn(&Sample) -> f64| {
            let point = |sample: &Sample| (sample.at.as_secs_f64(), bytes(sample) * scale);
            samples.iter().map(point).collect()
        };
        Self {
            packaged: line(|sample| sample.packaged.as_f64()),
            delivered: line(|sample| sample.delivered.as_f64()),
        }
    }

    /// The state over a span; `None` if it holds no samples or nothing was delivered in it.
    fn state(&self, (from, to): Span) -> Option<State> {
        let within = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            let inside = |point: &&(f64, f64)| (from..to).contains(&point.0);
            points.iter().filter(inside).copied().collect()
        };
        let packaged = Line::fit(&within(&self.packaged))?;
        let delivered = Line::fit(&within(&self.delivered))?;
        let middle = f64::midpoint(from, to);
        let backlog = packaged.at(middle) - delivered.at(middle);
        (delivered.slope > 0.0).then(|| State {
            rate: delivered.slope,
            backlog,
            delay: backlog / delivered.slope * 1e3,
        })
    }

    /// The middle of the last second whose rate is below 95 % of `steady`, from the first delivery
    /// on; zero if there is none.
    fn settling(&self, steady: f64) -> f64 {
        let points = &self.delivered;
        let Some(first) = points.iter().position(|point| point.1 > 0.0) else {
            return 0.0;
        };
        let per_second = points
            .iter()
            .take_while(|point| point.0 < points[0].0 + 1.0)
            .count();
        let slow = (first..points.len().saturating_sub(per_second))
            .rev()
            .find(|&at| {
                let (from, to) = (points[at], points[at + per_second]);
                to.1 - from.1 < 0.95 * steady * (to.0 - from.0)
            });
        slow.map_or(0.0, |at| points[at].0 + 0.5 - points[first].0)
    }

    fn peak(&self) -> f64 {
        let pairs = self.packaged.iter().zip(&self.delivered);
        pairs.map(|(r, w)| r.1 - w.1).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::{Bytes, Instant};

    use super::*;

    /// Samples every 10 ms for a minute, of bytes as functions of seconds.
    fn samples(packaged: fn(f64) -> f64, delivered: fn(f64) -> f64) -> Series {
        let sample = |n: u64| {
            let at = Instant::from_nanos(n * 10_000_000);
            let [packaged, delivered] =
                [packaged, delivered].map(|f| Bytes::new(f(at.as_secs_f64()) as u64));
            Sample {
                at,
                circuit: 0,
                packaged,
                delivered,
            }
        };
        Series::new(&(0..6000).map(sample).collect::<Vec<_>>())
    }

    #[test]
    fn rate_backlog_and_delay_are_the_distances_of_two_lines() {
        // 1000 cells per second, 0.2 s apart.
        let series = samples(|t| 498e3 * t, |t| 498e3 * (t - 0.2).max(0.0));
        let state = series.state((20.0, 60.0)).unwrap();
        assert!((state.rate - 512.0).abs() < 0.01, "{state:?}");
        assert!((state.backlog - 102.4).abs() < 0.01, "{state:?}");
        assert!((state.delay - 200.0).abs() < 0.01, "{state:?}");
        assert!((series.peak() - 102.4).abs() < 0.01);
        assert_eq!(series.state((70.0, 80.0)), None);
    }

    #[test]
    fn settling_ends_when_the_rate_stays_high() {
        let jump = samples(|t| 498e3 * t, |t| 498e3 * t.min(10.0 + (t - 20.0).max(0.0)));
        assert!((jump.settling(512.0) - 20.0).abs() < 1.0);
        let even = samples(|t| 498e3 * t, |t| 498e3 * t);
        assert_eq!(even.settling(512.0), 0.0);
    }
}
