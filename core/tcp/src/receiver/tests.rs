use hopflow_units::{Bytes, Duration};
use proptest::prelude::*;

use super::*;

fn receiver(quick: u32, buffer: u64) -> Receiver {
    let mut config = Config::default();
    config.delayed_ack.quick_segments = quick;
    config.receive_buffer = Bytes::new(buffer);
    config.mss = Bytes::new(100);
    Receiver::new(&config)
}

fn data(seq: u64, len: u32) -> Segment {
    Segment {
        seq,
        ack: 0,
        timestamp: Instant::from_nanos(seq),
        echo: Instant::ZERO,
        len,
        window: 0,
        sack: SackBlocks::default(),
        flags: Flags::ACK,
    }
}

proptest! {
    #[test]
    fn only_what_has_arrived_is_acknowledged(
        segments in prop::collection::vec((0..40u64, 1..6u32, 0..4u8), 1..80),
    ) {
        let mut receiver = receiver(2, 3000);
        let mut arrived = std::collections::BTreeSet::new();
        let (mut read, mut right) = (0, 3000);
        for (at, tens, what) in segments {
            let segment = data(at * 100, tens * 50);
            receiver.receive(Instant::ZERO, &segment);
            arrived.extend((at * 100..at * 100 + u64::from(tens) * 50).filter(|n| *n < right));
            if what == 0 {
                read += receiver.readable();
                receiver.read(u64::MAX);
            }
            let ack = receiver.acknowledge();
            prop_assert!((0..ack.next).all(|n| arrived.contains(&n)));
            prop_assert!(!arrived.contains(&ack.next));
            for block in ack.sack.ranges(ack.next) {
                prop_assert!((block.start..block.end).all(|n| arrived.contains(&n)));
                prop_assert!(!arrived.contains(&(block.start - 1)) && !arrived.contains(&block.end));
            }
            let edge = ack.next + u64::from(ack.window);
            prop_assert!(edge >= right && edge <= read + 3000);
            right = edge;
        }
    }
}

#[test]
fn every_second_segment_is_acknowledged_at_once() {
    let mut receiver = receiver(0, 10_000);
    receiver.receive(Instant::ZERO, &data(0, 100));
    assert!(!receiver.ack_due());
    assert_eq!(
        receiver.deadline(),
        Instant::ZERO + Duration::from_millis(40)
    );
    receiver.receive(Instant::ZERO, &data(100, 100));
    assert!(receiver.ack_due());
    assert_eq!(receiver.acknowledge().next, 200);
    assert_eq!(receiver.deadline(), Instant::FAR_FUTURE);
}

#[test]
fn a_small_segment_that_was_read_is_acknowledged_at_once() {
    let mut receiver = receiver(0, 10_000);
    receiver.receive(Instant::ZERO, &data(0, 100));
    receiver.acknowledge();
    receiver.receive(Instant::ZERO, &data(100, 20));
    assert!(!receiver.ack_due());
    receiver.read(120);
    assert!(receiver.ack_due());
}

#[test]
fn reading_leaves_an_acknowledgement_waiting_where_the_option_is_off() {
    let mut config = Config::default();
    config.delayed_ack.quick_segments = 0;
    config.delayed_ack.once_read = false;
    let mut receiver = Receiver::new(&config);
    receiver.receive(Instant::ZERO, &data(0, 20));
    receiver.read(20);
    assert!(!receiver.ack_due());
    assert!(receiver.deadline() < Instant::FAR_FUTURE);
}

#[test]
fn an_acknowledgement_waits_for_the_answer_that_may_carry_it() {
    let mut receiver = receiver(9, 10_000);
    receiver.receive(Instant::ZERO, &data(0, 20));
    receiver.answered(Instant::ZERO);
    receiver.acknowledge();
    receiver.receive(Instant::ZERO, &data(20, 20));
    receiver.read(40);
    assert!(!receiver.ack_due());
}

#[test]
fn the_first_segments_are_acknowledged_quickly() {
    let mut receiver = receiver(1, 10_000);
    receiver.receive(Instant::ZERO, &data(0, 100));
    assert!(receiver.ack_due());
}

#[test]
fn the_newest_block_comes_first() {
    let mut receiver = receiver(0, 10_000);
    for seq in [200, 400, 600, 800, 300] {
        receiver.receive(Instant::ZERO, &data(seq, 100));
    }
    let ack = receiver.acknowledge();
    let blocks: Vec<_> = ack
        .sack
        .ranges(ack.next)
        .map(|r| (r.start, r.end))
        .collect();
    assert_eq!(blocks, [(200, 500), (800, 900), (600, 700)]);
}

#[test]
fn filling_the_hole_frees_everything() {
    let mut receiver = receiver(0, 10_000);
    receiver.receive(Instant::ZERO, &data(100, 100));
    receiver.receive(Instant::ZERO, &data(0, 100));
    assert_eq!(receiver.readable(), 200);
    let ack = receiver.acknowledge();
    assert_eq!((ack.next, ack.sack.len()), (200, 0));
}

#[test]
fn the_echo_is_of_the_earliest_segment_that_waits() {
    let mut receiver = receiver(0, 10_000);
    receiver.receive(Instant::ZERO, &data(0, 100));
    receiver.acknowledge();
    receiver.receive(Instant::ZERO, &data(100, 50));
    receiver.receive(Instant::ZERO, &data(150, 50));
    assert_eq!(receiver.acknowledge().echo, Instant::from_nanos(100));
}

#[test]
fn a_full_buffer_closes_the_window_and_reading_opens_it() {
    let mut receiver = receiver(0, 1000);
    for n in 0..10 {
        receiver.receive(Instant::ZERO, &data(n * 100, 100));
    }
    assert_eq!(receiver.acknowledge().window, 0);
    receiver.read(50);
    assert!(!receiver.ack_due());
    receiver.read(50);
    assert!(receiver.ack_due());
    assert_eq!(receiver.acknowledge().window, 100);
}

#[test]
fn what_does_not_fit_is_not_acknowledged() {
    let mut receiver = receiver(0, 150);
    receiver.receive(Instant::ZERO, &data(0, 100));
    receiver.receive(Instant::ZERO, &data(100, 100));
    assert_eq!(receiver.acknowledge().next, 150);
}
