use super::*;
use crate::{CoDelConfig, DropReason, QueueConfig};

/// A link with limits, impairments and a discipline drawn at random.
fn any_link(rng: &mut Stream) -> Link<u32> {
    let codel = rng.bernoulli(0.5).then(|| CoDelConfig {
        target: Duration::from_micros(rng.integer(500, 5000)),
        interval: Duration::from_micros(rng.integer(5000, 50_000)),
    });
    let mut chance = |highest: f64| rng.unit() * highest * f64::from(u8::from(rng.bernoulli(0.5)));
    let (loss, duplicate) = (chance(0.3), chance(0.3));
    Link::new(LinkConfig {
        rate: rng.bernoulli(0.9).then_some(RATE),
        delay: Duration::from_micros(rng.integer(0, 20_000)),
        queue: QueueConfig {
            packets: rng.integer(0, 30) as u32,
            bytes: Bytes::new(rng.integer(0, 30_000)),
            codel,
        },
        loss,
        duplicate,
        jitter: Duration::from_micros(rng.integer(0, 3000)),
        reorder: rng.bernoulli(0.5),
    })
}

/// Takes all events up to and with `end` and checks that each of them is of use.
fn check_events(link: &mut Link<u32>, end: Instant) {
    while let Some(at) = link.next_event().filter(|&at| at <= end) {
        let before = *link.counters();
        let waiting = link.in_flight();
        while link.receive(at).is_some() {}
        while link.take_dropped().is_some() {}
        let after = *link.counters();
        let settled = after.delivered + after.dropped() > before.delivered + before.dropped();
        let served = link.next_event() > Some(at) || link.in_flight() < waiting;
        assert!(settled || served, "an event at {at} for nothing");
        assert!(link.next_event().is_none_or(|next| next > at));
        assert_conserved(link);
    }
}

/// Checks that [`Link::room_at`] predicts the verdict on the largest packet so far.
fn check_room(link: &Link<u32>, now: Instant, largest: Bytes, rng: &mut Stream) {
    let verdict = link.clone().send(now, 0, largest, rng);
    match link.room_at(now) {
        None => assert_ne!(verdict, Verdict::Dropped(DropReason::QueueFull)),
        Some(later) => {
            assert_eq!(verdict, Verdict::Dropped(DropReason::QueueFull));
            assert!(later > now);
            let mut link = link.clone();
            let waited = link.queue_len(now);
            check_events(&mut link, later);
            assert!(link.queue_len(later) < waited || link.room_at(later).is_none());
        }
    }
}

#[test]
fn any_link_accounts_for_every_packet_and_announces_its_room() {
    let mut rng = Streams::new(11).stream("invariants", 0);
    for _ in 0..200 {
        let mut link = any_link(&mut rng);
        let (mut now, mut largest) = (Instant::ZERO, Bytes::ZERO);
        for packet in 0..200 {
            now += Duration::from_micros(rng.integer(0, 1500));
            check_events(&mut link, now);
            let size = Bytes::new(rng.integer(1, 1500));
            largest = largest.max(size);
            if link.send(now, packet, size, &mut rng) == Verdict::Duplicate {
                let _ = link.send_copy(now, packet, size, &mut rng);
            }
            while link.take_dropped().is_some() {}
            assert_conserved(&link);
            check_room(&link, now, largest, &mut rng.clone());
            assert!(link.queue_len(now) <= link.config().queue.packets as usize);
            assert!(link.queue_bytes(now) <= link.config().queue.bytes);
        }
        check_events(&mut link, Instant::FAR_FUTURE);
        assert_eq!(link.in_flight(), 0);
        assert_conserved(&link);
    }
}
