//! How losses are found, segment by segment.

use hopflow_tcp::{Config, Connection, Segment};
use hopflow_units::{Bytes, Duration, Instant};

const MSS: u64 = 1448;
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Two ends whose segments the test carries.
struct Ends {
    a: Connection,
    b: Connection,
    now: Instant,
}

impl Ends {
    /// Ends that have shaken hands and measured the round-trip time.
    fn established(config: &Config) -> Self {
        let mut ends = Self {
            a: Connection::connect(config),
            b: Connection::listen(config),
            now: Instant::ZERO,
        };
        for _ in 0..2 {
            let segments = ends.transmit();
            ends.deliver(&segments);
        }
        assert!(ends.a.is_established());
        ends
    }

    /// What the sending end puts onto the wire.
    fn transmit(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.a.poll_transmit(self.now)).collect()
    }

    /// Carries segments over and the acknowledgements back, which takes a round trip.
    fn deliver(&mut self, segments: &[Segment]) {
        self.now += ROUND_TRIP / 2;
        let mut acks = Vec::new();
        for segment in segments {
            self.b.receive(self.now, segment);
            acks.extend(std::iter::from_fn(|| self.b.poll_transmit(self.now)));
        }
        self.now += ROUND_TRIP / 2;
        for ack in &acks {
            self.a.receive(self.now, ack);
        }
    }

    /// Writes `count` full segments and sends what may be sent of them.
    fn send(&mut self, count: u64) -> Vec<Segment> {
        self.a.write(Bytes::new(count * MSS));
        self.transmit()
    }

    /// Lets the sending end's next alarm go off, and returns how long that took.
    fn alarm(&mut self) -> Duration {
        let at = self.a.poll_timeout().expect("something is outstanding");
        let waited = at - self.now;
        self.now = at;
        self.a.handle_timeout(at);
        waited
    }
}

fn offsets(segments: &[Segment]) -> Vec<u64> {
    segments.iter().map(|s| s.offset().get() / MSS).collect()
}

#[test]
fn three_duplicates_start_a_recovery() {
    let mut ends = Ends::established(&Config::default());
    let sent = ends.send(8);
    ends.deliver(&sent[1..]);
    assert_eq!(offsets(&ends.transmit()), [0]);
    assert_eq!(ends.a.stats().fast_recoveries, 1);
}

#[test]
fn a_recovery_ends_at_the_threshold() {
    let mut ends = Ends::established(&Config::default());
    let sent = ends.send(8);
    ends.deliver(&sent[1..]);
    let again = ends.transmit();
    ends.deliver(&again);
    assert_eq!(ends.a.in_flight(), Bytes::ZERO);
    assert_eq!(ends.a.cwnd(), ends.a.ssthresh());
}

#[test]
fn limited_transmit_finds_a_loss_in_a_window_of_three() {
    let config = Config {
        initial_window_segments: 3,
        rack: false,
        ..Config::default()
    };
    let mut ends = Ends::established(&config);
    let sent = ends.send(10);
    assert_eq!(offsets(&sent), [0, 1, 2]);
    ends.deliver(&sent[1..]);
    let more = ends.transmit();
    assert_eq!(offsets(&more), [3, 4]);
    ends.deliver(&more);
    assert_eq!(offsets(&ends.transmit())[0], 0);
    let stats = ends.a.stats();
    assert_eq!((stats.fast_recoveries, stats.timeouts), (1, 0));
}

#[test]
fn two_duplicates_are_a_loss_after_a_quarter_of_a_round_trip() {
    let mut ends = Ends::established(&Config::default());
    let sent = ends.send(3);
    ends.deliver(&sent[1..]);
    assert_eq!(ends.transmit(), []);
    assert_eq!(ends.alarm(), ROUND_TRIP / 4 + Duration::from_millis(2));
    assert_eq!(offsets(&ends.transmit()), [0]);
    assert_eq!(ends.a.stats().timeouts, 0);
}

#[test]
fn a_lost_tail_is_probed_for_after_two_round_trips() {
    let mut ends = Ends::established(&Config::default());
    let sent = ends.send(5);
    let before = ends.a.cwnd();
    ends.deliver(&sent[..3]);
    let waited = ends.alarm();
    assert_eq!(waited, ROUND_TRIP * 2 + Duration::from_millis(2));
    let probe = ends.transmit();
    assert_eq!(offsets(&probe), [4]);
    ends.deliver(&probe);
    // The probe's arrival tells of the loss below it.
    let again = ends.transmit();
    assert_eq!(offsets(&again), [3]);
    ends.deliver(&again);
    let stats = ends.a.stats();
    assert_eq!((stats.tail_probes, stats.timeouts), (1, 0));
    assert_eq!(ends.a.in_flight(), Bytes::ZERO);
    assert!(ends.a.cwnd() < before);
}

#[test]
fn a_probe_that_fills_the_hole_itself_still_shrinks_the_window() {
    let mut ends = Ends::established(&Config::default());
    let sent = ends.send(4);
    ends.deliver(&sent[..3]);
    let before = ends.a.cwnd();
    ends.alarm();
    let probe = ends.transmit();
    assert_eq!(offsets(&probe), [3]);
    ends.deliver(&probe);
    assert!(ends.a.cwnd() < before);
    assert_eq!(ends.a.stats().fast_recoveries, 0);
}

#[test]
fn a_probe_that_was_not_needed_costs_nothing() {
    let mut ends = Ends::established(&Config::default());
    let sent = ends.send(2);
    let before = ends.a.cwnd();
    ends.alarm();
    let probe = ends.transmit();
    assert_eq!(offsets(&probe), [1]);
    ends.deliver(&sent);
    ends.deliver(&probe);
    assert_eq!(ends.a.cwnd(), before);
}

#[test]
fn without_any_answer_the_timer_resends_the_first_segment_alone() {
    let mut ends = Ends::established(&Config {
        rack: false,
        ..Config::default()
    });
    ends.send(8);
    let rto = ends.a.rto();
    assert_eq!(ends.alarm(), rto);
    assert_eq!(offsets(&ends.transmit()), [0]);
    assert_eq!(ends.a.cwnd(), Bytes::new(MSS));
    assert_eq!(ends.alarm(), rto * 2);
    assert_eq!(offsets(&ends.transmit()), [0]);
}
