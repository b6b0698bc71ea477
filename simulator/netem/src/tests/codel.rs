use std::collections::VecDeque;

use super::*;
use crate::{CoDelConfig, QueueConfig};

fn link(loss: f64) -> Link<u32> {
    Link::new(LinkConfig {
        loss,
        queue: QueueConfig {
            codel: Some(CoDelConfig::default()),
            ..QueueConfig::UNLIMITED
        },
        ..LinkConfig::with_rate(RATE, DELAY)
    })
}

#[test]
fn codel_leaves_an_uncongested_link_alone() {
    let (mut link, mut rng) = (link(0.0), stream());
    let mut plain = Link::new(LinkConfig::with_rate(RATE, DELAY));
    for packet in 0..2000 {
        // Bursts of four packets leave a queue of less than the target.
        let now = at_micros(u64::from(packet / 4) * 4000);
        let arrived = run_until(&mut link, now);
        assert_eq!(arrived, run_until(&mut plain, now));
        let _ = link.send(now, packet, SIZE, &mut rng);
        let _ = plain.send(now, packet, SIZE, &mut rng);
        assert_eq!(link.queue_len(now), plain.queue_len(now));
        assert_eq!(link.busy_time(now), plain.busy_time(now));
    }
    assert_eq!(drain(&mut link), drain(&mut plain));
    assert_eq!(link.counters(), plain.counters());
}

#[test]
fn the_drops_of_a_standing_queue_follow_the_square_root_law() {
    let (mut link, mut rng) = (link(0.0), stream());
    // A queue of 400 ms that is kept up: one packet enters per packet served.
    for packet in 0..400 {
        let _ = link.send(Instant::ZERO, packet, SIZE, &mut rng);
    }
    let mut drops = Vec::new();
    for millis in 1..1000 {
        let now = at_micros(millis * 1000);
        while link.receive(now).is_some() {}
        while link.take_dropped().is_some() {
            drops.push(now);
        }
        let _ = link.send(now, 0, SIZE, &mut rng);
    }
    // The sojourn time first exceeds 5 ms at 5 ms, and has done so for an interval at 105 ms.
    assert_eq!(drops[0], at_micros(105_000));
    let mut due = 105.0;
    for (count, drop) in drops.iter().enumerate().skip(1) {
        due += 100.0 / (count as f64).sqrt();
        let late = drop.as_secs_f64() * 1e3 - due;
        // Packets leave once a millisecond.
        assert!(
            (0.0..=1.0).contains(&late),
            "drop {count} is late by {late} ms"
        );
    }
    assert!(drops.len() > 20);
}

/// Feeds an additive-increase, multiplicative-decrease sender of one round trip of 20 ms.
#[test]
fn codel_keeps_the_queue_of_a_greedy_sender_near_its_target() {
    let (mut link, mut rng) = (link(0.0), stream());
    let (mut window, mut under_way, mut sojourns) = (10.0_f64, 0_u32, Vec::new());
    let mut acks = VecDeque::new();
    let mut last_cut = Instant::ZERO;
    for tick in 0..600_000 {
        let now = at_micros(tick * 100);
        while let Some(sent_at) = link.receive(now) {
            acks.push_back(now + DELAY);
            if tick > 200_000 {
                let wait = tick as f64 / 10.0 - f64::from(sent_at) - 11.0;
                sojourns.push(wait.max(0.0));
            }
        }
        let dropped = std::iter::from_fn(|| link.take_dropped()).count() as u32;
        under_way -= dropped;
        if dropped > 0 && now.saturating_since(last_cut) > DELAY * 3 {
            (window, last_cut) = ((window / 2.0).max(2.0), now);
        }
        while acks.front().is_some_and(|&at| at <= now) {
            acks.pop_front();
            under_way -= 1;
            window += 1.0 / window;
        }
        while f64::from(under_way) < window {
            under_way += 1;
            let _ = link.send(now, (tick / 10) as u32, SIZE, &mut rng);
        }
    }
    let mean = sojourns.iter().sum::<f64>() / sojourns.len() as f64;
    assert!((1.0..10.0).contains(&mean), "mean sojourn {mean} ms");
    let busy = link.busy_time(at_micros(60_000_000)).as_secs_f64();
    assert!(busy > 0.95 * 60.0, "busy for {busy} s");
}

#[test]
fn nothing_is_unaccounted_for_under_overload_with_losses() {
    let (mut link, mut rng) = (link(0.1), stream());
    let mut state = stream();
    for packet in 0..20_000 {
        let now = at_micros(u64::from(packet) * 900);
        run_until(&mut link, now);
        let size = Bytes::new(state.integer(600, 1400));
        let _ = link.send(now, packet, size, &mut rng);
        if packet % 100 == 0 {
            assert_conserved(&link);
        }
    }
    assert!(link.counters().dropped_codel > 100);
    drain(&mut link);
    assert_conserved(&link);
    assert_eq!(link.in_flight(), 0);
}
