//! Circuits of the live Tor network, as its exits counted their streams.
//!
//! The numbers are those of a measurement by `PrivCount` on 30 November and 1 December 2017, one day
//! at exits of several operators (Jansen, Traudt and Hopper, *Privacy-Preserving Dynamic Learning of
//! Tor Network Traffic*, CCS '18; tallies `1512058187-1512144587` published with it): counts of
//! streams per circuit, and of bytes per stream in both directions. Within a class of the histograms
//! the logarithm is uniform; the last class, which has no upper end, ends where the mean is as
//! measured.
//!
//! A circuit's streams follow one another. Half of them do at once, half after an exponentially
//! distributed pause of 3.4 s: so often and so long are the pauses of the active state of the hidden
//! Markov model that was fitted to the same measurement, which has streams of a burst side by side.
//! The other half of its streams, of the state `s1Dwell`, has lognormal pauses (mu 7.498, sigma
//! 6.514, of microseconds; median 1.8 ms, mean 23 s if capped at 600 s). They are left out: the mean
//! pause is 1.7 s in place of the model's 13 s, so that circuits are denser in time.

use std::sync::Arc;

use hopflow_random::{CdfTable, Stream};
use hopflow_sim::spec::{Fetch, Session, TrafficModel};
use hopflow_units::{Bytes, Duration};

use crate::Server;

/// A class of a histogram: where it begins, and its count in millions.
type Class = (f64, f64);

/// Streams of an active circuit.
const STREAMS: Histogram<6> = Histogram {
    classes: [
        (1.0, 2.910_507),
        (3.0, 1.223_242),
        (7.0, 0.572_831),
        (15.0, 0.292_631),
        (31.0, 0.202_952),
        (63.0, 0.136_170),
    ],
    end: 364.0,
};

/// Bytes that a stream carries to the client.
const INBOUND: Histogram<5> = Histogram {
    classes: [
        (1.0, 22.437_665),
        (2048.0, 16.320_192),
        (16384.0, 5.689_645),
        (65536.0, 1.963_762),
        (131_072.0, 3.319_867),
    ],
    end: 5_550_000.0,
};

/// Bytes that a stream carries from the client.
const OUTBOUND: Histogram<5> = Histogram {
    classes: [
        (1.0, 25.036_020),
        (512.0, 16.041_464),
        (1024.0, 7.378_951),
        (2048.0, 2.076_047),
        (4096.0, 1.576_070),
    ],
    end: 791_000.0,
};

/// Mean of the pauses between streams that do not follow at once.
const PAUSE: Duration = Duration::from_millis(3400);

/// Counts by class.
struct Histogram<const N: usize> {
    classes: [Class; N],
    /// Where the last class ends.
    end: f64,
}

impl<const N: usize> Histogram<N> {
    /// The distribution of the logarithm.
    fn table(&self) -> CdfTable {
        let total: f64 = self.classes.iter().map(|(_, count)| count).sum();
        let mut below = 0.0;
        let mut points = Vec::with_capacity(N + 1);
        for (begin, count) in self.classes {
            points.push((libm::log(begin), below / total));
            below += count;
        }
        points.push((libm::log(self.end), 1.0));
        CdfTable::new(points).expect("the tallies are a distribution")
    }
}

/// Users with a circuit of the live Tor network each: it has its streams, and then no more.
///
/// A stream is a download. Requests and responses are what the stream carried in each direction.
#[derive(Clone, Debug)]
pub struct LiveCircuits {
    server: Server,
    tables: Arc<Tables>,
}

#[derive(Debug)]
struct Tables {
    streams: CdfTable,
    inbound: CdfTable,
    outbound: CdfTable,
}

impl LiveCircuits {
    /// What scenarios call them.
    pub const NAME: &'static str = "live-tor";

    /// The circuits, with servers that take so long.
    pub fn new(server: Server) -> Self {
        let tables = Tables {
            streams: STREAMS.table(),
            inbound: INBOUND.table(),
            outbound: OUTBOUND.table(),
        };
        Self {
            server,
            tables: Arc::new(tables),
        }
    }
}

/// Draws a whole number of which the table has the logarithm.
fn whole(table: &CdfTable, random: &mut Stream) -> u64 {
    libm::exp(random.value(table)) as u64
}

impl TrafficModel for LiveCircuits {
    fn session(&self) -> Box<dyn Session> {
        Box::new(Circuit {
            of: self.clone(),
            left: None,
        })
    }

    fn is_greedy(&self) -> bool {
        false
    }
}

/// A circuit and the streams that are to come.
#[derive(Clone, Debug)]
struct Circuit {
    of: LiveCircuits,
    /// How many there are, once that is drawn.
    left: Option<u64>,
}

impl Session for Circuit {
    fn next(&mut self, random: &mut Stream) -> Option<Fetch> {
        let LiveCircuits { server, tables } = &self.of;
        let left = match self.left {
            Some(left) => left,
            None => whole(&tables.streams, random),
        };
        self.left = Some(left.checked_sub(1)?);
        let at_once = random.bernoulli(0.5);
        let pause = random.exponential(PAUSE);
        let server_delay = random.exponential(server.delay);
        Some(Fetch {
            request: Bytes::new(whole(&tables.outbound, random)),
            server_delay: server_delay.min(server.longest),
            response: Some(Bytes::new(whole(&tables.inbound, random))),
            pause: if at_once { Duration::ZERO } else { pause },
            continued: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use hopflow_random::Streams;

    use super::*;

    fn circuit(number: u64) -> Vec<Fetch> {
        let model = LiveCircuits::new(Server {
            delay: Duration::from_millis(20),
            longest: Duration::from_millis(200),
        });
        let mut random = Streams::new(1).stream("user", number);
        let mut session = model.session();
        std::iter::from_fn(|| session.next(&mut random)).collect()
    }

    fn assert_near(value: f64, expected: f64, share: f64) {
        assert!((value / expected - 1.0).abs() < share, "{value} {expected}");
    }

    /// The tallies have 53,244,768 streams on 5,307,766 active circuits, with 5,683,265,148,156
    /// bytes to clients and 272,444,290,364 from them.
    #[test]
    fn means_are_those_of_the_tallies() {
        let circuits: Vec<_> = (0..40_000).map(circuit).collect();
        let streams: Vec<_> = circuits.iter().flatten().collect();
        let count = streams.len() as f64;
        let mean = |of: fn(&Fetch) -> u64| {
            let sum: u64 = streams.iter().map(|fetch| of(fetch)).sum();
            sum as f64 / count
        };
        assert_near(count / 40_000.0, 10.03, 0.02);
        assert_near(mean(|fetch| fetch.response.unwrap().get()), 106_738.0, 0.02);
        assert_near(mean(|fetch| fetch.request.get()), 5_117.0, 0.02);
        assert_near(mean(|fetch| fetch.pause.as_nanos()), 1.7e9, 0.02);
    }

    #[test]
    fn shares_are_those_of_the_tallies() {
        let circuits: Vec<_> = (0..40_000).map(circuit).collect();
        let few = circuits.iter().filter(|circuit| circuit.len() < 3).count();
        assert_near(few as f64 / 40_000.0, 2_910_507.0 / 5_338_333.0, 0.02);
        let streams: Vec<_> = circuits.iter().flatten().collect();
        let small = |fetch: &&&Fetch| fetch.response.unwrap() < Bytes::new(2048);
        let share = streams.iter().filter(small).count() as f64 / streams.len() as f64;
        assert_near(share, 22_437_665.0 / 49_731_131.0, 0.02);
        assert!(
            circuits
                .iter()
                .flatten()
                .all(|fetch| !fetch.request.is_zero())
        );
    }
}
