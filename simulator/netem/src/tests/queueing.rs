use std::collections::VecDeque;

use super::*;
use crate::{DropReason, QueueConfig};

fn link(packets: u32) -> Link<u32> {
    Link::new(LinkConfig {
        queue: QueueConfig::drop_tail(packets),
        ..LinkConfig::with_rate(RATE, DELAY)
    })
}

#[test]
fn a_packet_arrives_a_serialisation_and_a_delay_after_it_was_sent() {
    let mut link = link(1);
    let verdict = link.send(at_micros(5), 7, SIZE, &mut stream());
    assert_eq!(verdict, Verdict::Queued);
    assert_eq!(link.receive(at_micros(11_004)), None);
    assert_eq!(link.next_event(), Some(at_micros(11_005)));
    assert_eq!(link.receive(at_micros(11_005)), Some(7));
    assert_eq!(link.next_event(), None);
    assert_eq!(link.counters().bytes, SIZE);
}

#[test]
fn an_infinitely_fast_link_only_delays() {
    let mut link = Link::new(LinkConfig::pure_delay(DELAY));
    for packet in 0..3 {
        let _ = link.send(at_micros(1), packet, SIZE, &mut stream());
    }
    let at = at_micros(10_001);
    assert_eq!(drain(&mut link), [(at, 0), (at, 1), (at, 2)]);
    assert_eq!(link.counters().max_queue, 0);
}

#[test]
fn packets_sent_at_once_are_spaced_by_their_serialisation() {
    let mut link = link(100);
    for packet in 0..50 {
        let size = Bytes::new(u64::from(packet) * 10 + 40);
        let _ = link.send(Instant::ZERO, packet, size, &mut stream());
    }
    let mut sent = Duration::ZERO;
    for (at, packet) in drain(&mut link) {
        sent += Duration::from_micros(u64::from(packet) * 10 + 40);
        assert_eq!(at, Instant::ZERO + sent + DELAY);
    }
    assert_eq!(link.busy_time(Instant::ZERO + sent), sent);
}

#[test]
fn the_transmitter_is_busy_exactly_while_it_sends() {
    let mut link = link(100);
    for packet in 0..3 {
        let _ = link.send(at_micros(100), packet, SIZE, &mut stream());
    }
    assert_eq!(link.busy_time(at_micros(100)), Duration::ZERO);
    assert_eq!(link.busy_time(at_micros(1600)), Duration::from_micros(1500));
    assert_eq!(link.busy_time(at_micros(9000)), Duration::from_millis(3));
}

#[test]
fn drop_tail_admits_one_packet_in_service_and_as_many_waiting_as_the_limit() {
    let (mut link, mut rng) = (link(4), stream());
    let sent: Vec<_> = (0..7)
        .map(|packet| link.send(Instant::ZERO, packet, SIZE, &mut rng))
        .collect();
    assert!(sent[..5].iter().all(|&verdict| verdict == Verdict::Queued));
    let full = Verdict::Dropped(DropReason::QueueFull);
    assert_eq!(sent[5..], [full, full]);
    assert_eq!(link.queue_len(Instant::ZERO), 4);
    assert_eq!(link.queue_bytes(Instant::ZERO), SIZE * 4);

    // The first packet has been serialised after a millisecond, not a nanosecond before.
    let just_before = Instant::from_nanos(999_999);
    assert_eq!(link.queue_len(just_before), 4);
    assert_eq!(link.room_at(just_before), Some(at_micros(1000)));
    assert_eq!(link.send(just_before, 7, SIZE, &mut rng), full);
    assert_eq!(link.queue_len(at_micros(1000)), 3);
    assert_eq!(link.room_at(at_micros(1000)), None);
    assert_eq!(
        link.send(at_micros(1000), 8, SIZE, &mut rng),
        Verdict::Queued
    );
    assert_eq!(link.send(at_micros(1000), 9, SIZE, &mut rng), full);

    assert_eq!(link.counters().dropped_queue, 4);
    assert_eq!(link.counters().max_queue, 4);
    assert_conserved(&link);
    assert_eq!(drain(&mut link).len(), 6);
    assert_conserved(&link);
}

#[test]
fn a_queue_limited_in_bytes_takes_what_fits() {
    let mut link = Link::new(LinkConfig {
        queue: QueueConfig {
            bytes: Bytes::new(2500),
            ..QueueConfig::UNLIMITED
        },
        ..LinkConfig::with_rate(RATE, DELAY)
    });
    let mut rng = stream();
    for packet in 0..3 {
        assert_eq!(
            link.send(Instant::ZERO, packet, SIZE, &mut rng),
            Verdict::Queued
        );
    }
    assert_eq!(link.room_at(Instant::ZERO), Some(at_micros(1000)));
    let full = Verdict::Dropped(DropReason::QueueFull);
    assert_eq!(link.send(Instant::ZERO, 3, Bytes::new(501), &mut rng), full);
    let small = link.send(Instant::ZERO, 4, Bytes::new(500), &mut rng);
    assert_eq!(small, Verdict::Queued);
}

#[test]
fn a_link_without_a_queue_has_room_when_the_transmitter_is_free() {
    let (mut link, mut rng) = (link(0), stream());
    assert_eq!(link.room_at(Instant::ZERO), None);
    let _ = link.send(Instant::ZERO, 0, SIZE, &mut rng);
    assert_eq!(link.room_at(Instant::ZERO), Some(at_micros(1000)));
    assert_eq!(link.room_at(at_micros(1000)), None);
    let verdict = link.send(at_micros(1000), 1, SIZE, &mut rng);
    assert_eq!(verdict, Verdict::Queued);
}

/// Pollaczek-Khinchine: the mean wait for constant service is rho / (2 (1 - rho)) services.
#[test]
fn poisson_arrivals_wait_as_long_as_in_the_theory_of_queues() {
    for load in [0.5, 0.8] {
        let mut link = Link::new(LinkConfig::with_rate(RATE, Duration::ZERO));
        let (mut arrivals, mut rng) = (Streams::new(5).stream("arrivals", 0), stream());
        let service = RATE.time_for(SIZE);
        let gap = Duration::from_secs_f64(service.as_secs_f64() / load);
        let (mut now, mut waited, packets) = (Instant::ZERO, Duration::ZERO, 400_000_u32);
        let mut sent_at = VecDeque::new();
        for packet in 0..packets {
            now += arrivals.exponential(gap);
            while let Some(at) = link.next_event().filter(|&at| at <= now) {
                while link.receive(at).is_some() {
                    let sent: Instant = sent_at.pop_front().unwrap();
                    waited += (at - sent) - service;
                }
            }
            let _ = link.send(now, packet, SIZE, &mut rng);
            sent_at.push_back(now);
        }
        let mean = waited.as_secs_f64() / f64::from(packets) / service.as_secs_f64();
        let expected = load / (2.0 * (1.0 - load));
        assert!(
            (mean / expected - 1.0).abs() < 0.03,
            "{mean} for {expected}"
        );
    }
}
