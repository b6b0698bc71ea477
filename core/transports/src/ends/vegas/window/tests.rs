//! Vectors worked out from tor's integer formulas by a second program.

use hopflow_units::Duration;

use super::*;

/// A source that always fills its window, and the round trip that each SENDME shows, in
/// milliseconds; while it is blocked, 300 cells wait in its queue. Returns the windows, and the
/// smallest and the smoothed round trip in microseconds.
fn windows(rtts: &[u64], blocked: std::ops::Range<usize>) -> (Vec<u64>, [u64; 2]) {
    let config = VegasConfig {
        max: 1 << 31,
        ..VegasConfig::default()
    };
    let mut vegas = Vegas::new(&config);
    let mut now = Instant::ZERO + Duration::from_secs(10);
    let mut inflight = 0;
    let seen = rtts.iter().enumerate().map(|(turn, rtt)| {
        while inflight < vegas.cwnd {
            inflight += 1;
            vegas.on_packaged(&config, now, inflight);
        }
        let first = Duration::from_micros(vegas.sent[0]);
        let answer = Instant::ZERO + first + Duration::from_millis(*rtt);
        now = answer.max(now + Duration::from_micros(1));
        let blocked = blocked.contains(&turn);
        let local = Local {
            inflight,
            queued: if blocked { 300 } else { 0 },
            blocked,
        };
        vegas.on_sendme(&config, now, &local).unwrap();
        inflight -= config.increment;
        vegas.cwnd
    });
    let seen = seen.collect();
    (seen, [vegas.min_rtt, vegas.ewma_rtt])
}

#[test]
fn slow_start_adds_a_sendme_at_a_time_and_less_above_the_cap() {
    let expected = [
        155, 186, 217, 248, 279, 310, 341, 372, 403, 434, 465, 496, 527, 558, 589, 620, 635, 650,
        664, 678, 692, 705, 718, 731, 744, 757, 769, 781, 793, 805, 817, 828, 839, 850, 861, 872,
        883, 894, 904, 914,
    ];
    assert_eq!(
        windows(&[100; 40], 0..0),
        (expected.to_vec(), [100_000, 100_004])
    );
}

#[test]
fn a_queue_that_builds_ends_slow_start_and_shrinks_the_window() {
    let rtts: Vec<u64> = (0..40).map(|n| 100 + 9 * u64::max(n, 6) - 54).collect();
    let expected = [
        155, 186, 217, 248, 279, 310, 341, 372, 403, 434, 465, 496, 527, 518, 518, 518, 518, 517,
        516, 515, 514, 513, 512, 511, 507, 499, 490, 481, 472, 465, 458, 451, 445, 440, 435, 431,
        426, 422, 419, 415,
    ];
    assert_eq!(
        windows(&rtts, 0..0),
        (expected.to_vec(), [100_000, 392_500])
    );
}

#[test]
fn a_blocked_circuit_leaves_slow_start_and_shrinks() {
    let rtts = [[80; 12], [90; 12]].concat();
    let expected = [
        155, 186, 217, 248, 279, 310, 496, 495, 494, 493, 494, 495, 496, 497, 498, 499, 500, 501,
        502, 503, 504, 505, 506, 507,
    ];
    assert_eq!(windows(&rtts, 6..10), (expected.to_vec(), [80_000, 90_007]));
}

#[test]
fn a_jump_of_the_delay_sets_the_window_to_what_moves() {
    let rtts = [vec![50; 10], vec![500; 30], vec![60; 20]].concat();
    let expected = [
        155, 186, 217, 248, 279, 310, 341, 372, 403, 434, 248, 248, 248, 248, 248, 248, 248, 248,
        248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248,
        248, 248, 248, 248, 248, 249, 250, 251, 252, 253, 254, 255, 256, 257, 258, 259, 260, 261,
        262, 263, 264, 265, 266, 267,
    ];
    assert_eq!(windows(&rtts, 0..0), (expected.to_vec(), [50_000, 60_000]));
}

#[test]
fn at_the_smallest_window_the_smallest_round_trip_follows_the_present_one() {
    let config = VegasConfig::default();
    let mut vegas = Vegas {
        cwnd: config.min,
        min_rtt: 50_000,
        ewma_rtt: 80_000,
        slow_start: false,
        ..Vegas::new(&config)
    };
    assert!(vegas.measure(&config, 110_000));
    assert_eq!([vegas.min_rtt, vegas.ewma_rtt], [100_000, 100_000]);
}

#[test]
fn the_window_never_falls_below_what_one_sendme_stands_for() {
    let config = VegasConfig {
        gamma: 10,
        ..VegasConfig::default()
    };
    let mut vegas = Vegas {
        min_rtt: 1_000,
        ewma_rtt: 100_000,
        ..Vegas::new(&config)
    };
    vegas.sent.push_back(0);
    let local = Local {
        inflight: 31,
        queued: 0,
        blocked: false,
    };
    let now = Instant::ZERO + Duration::from_millis(100);
    vegas.on_sendme(&config, now, &local).unwrap();
    assert_eq!(vegas.cwnd, config.increment);
}

#[test]
fn a_clock_that_stands_still_measures_nothing() {
    let config = VegasConfig::default();
    let mut vegas = Vegas::new(&config);
    vegas.slow_start = false;
    assert!(vegas.measure(&config, 100_000));
    assert!(!vegas.measure(&config, 0));
    assert!(
        !vegas.measure(&config, 10),
        "too short while the clock is not trusted"
    );
    assert!(!vegas.measure(&config, 600_000_000), "never so long");
    assert!(vegas.measure(&config, 90_000));
    assert!(
        vegas.measure(&config, 10),
        "a normal round trip restored the trust"
    );
}

#[test]
fn a_sendme_for_cells_never_packaged_is_a_violation() {
    let config = VegasConfig::default();
    let local = Local {
        inflight: 0,
        queued: 0,
        blocked: false,
    };
    let result = Vegas::new(&config).on_sendme(&config, Instant::ZERO, &local);
    assert_eq!(result, Err(Violation::BeyondOutstanding));
}
