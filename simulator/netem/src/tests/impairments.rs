use super::*;
use crate::{DropReason, QueueConfig};

/// Sends `count` packets a millisecond apart, provides copies, and returns all arrivals.
fn send_many(link: &mut Link<u32>, count: u32, rng: &mut Stream) -> Vec<(Instant, u32)> {
    let mut arrived = Vec::new();
    for packet in 0..count {
        let now = at_micros(u64::from(packet) * 1000);
        while let Some(at) = link.next_event().filter(|&at| at <= now) {
            arrived.extend(std::iter::from_fn(|| link.receive(at)).map(|packet| (at, packet)));
        }
        if link.send(now, packet, SIZE, rng) == Verdict::Duplicate {
            let _ = link.send_copy(now, packet, SIZE, rng);
        }
    }
    arrived.extend(drain(link));
    arrived
}

fn pure_delay() -> LinkConfig {
    LinkConfig::pure_delay(DELAY)
}

#[test]
fn a_perfect_link_draws_no_random_numbers() {
    let mut rng = stream();
    send_many(&mut Link::new(pure_delay()), 100, &mut rng);
    assert_eq!(rng, stream());
}

#[test]
fn packets_are_lost_at_the_configured_rate() {
    let mut link = Link::new(LinkConfig {
        loss: 0.05,
        ..pure_delay()
    });
    let arrived = send_many(&mut link, 50_000, &mut stream()).len();
    // Five standard deviations of a binomial count around 2500.
    let lost = link.counters().dropped_loss;
    assert!(lost.abs_diff(2500) < 244, "{lost}");
    assert_eq!(arrived as u64 + lost, 50_000);
    assert_conserved(&link);
}

#[test]
fn a_lost_packet_takes_its_time_on_the_link() {
    let mut link = Link::new(LinkConfig {
        loss: 1.0,
        queue: QueueConfig::drop_tail(1),
        ..LinkConfig::with_rate(RATE, DELAY)
    });
    let lost = Verdict::Dropped(DropReason::Loss);
    let full = Verdict::Dropped(DropReason::QueueFull);
    for expected in [lost, lost, full] {
        assert_eq!(link.send(Instant::ZERO, 0, SIZE, &mut stream()), expected);
    }
    assert_eq!(link.next_event(), None);
    assert_eq!(link.busy_time(at_micros(5000)), Duration::from_millis(2));
}

#[test]
fn a_duplicated_packet_arrives_twice_and_its_copy_is_not_copied() {
    let mut link = Link::new(LinkConfig {
        duplicate: 0.25,
        ..pure_delay()
    });
    let arrived = send_many(&mut link, 10_000, &mut stream());
    let copies = link.counters().duplicated;
    assert!(copies.abs_diff(2500) < 217, "{copies}");
    let twice = arrived.windows(2).filter(|pair| pair[0] == pair[1]).count();
    assert_eq!(twice as u64, copies);
    assert_conserved(&link);

    let certain = LinkConfig {
        duplicate: 1.0,
        ..pure_delay()
    };
    assert_eq!(
        send_many(&mut Link::new(certain), 10, &mut stream()).len(),
        20
    );
}

#[test]
fn jitter_without_reordering_keeps_the_order_and_its_bounds() {
    let mut link = Link::new(LinkConfig {
        jitter: Duration::from_millis(20),
        ..pure_delay()
    });
    let arrived = send_many(&mut link, 2000, &mut stream());
    let (low, high) = (DELAY, DELAY + Duration::from_millis(20));
    for (position, &(at, packet)) in arrived.iter().enumerate() {
        assert_eq!(position, packet as usize);
        let took = at - at_micros(u64::from(packet) * 1000);
        assert!(low <= took && took <= high, "{took}");
    }
}

#[test]
fn jitter_with_reordering_delays_each_packet_for_itself() {
    let mut link = Link::new(LinkConfig {
        jitter: Duration::from_millis(20),
        reorder: true,
        ..pure_delay()
    });
    let arrived = send_many(&mut link, 20_000, &mut stream());
    assert!(arrived.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert!(arrived.windows(2).any(|pair| pair[0].1 > pair[1].1));
    let extra: f64 = arrived
        .iter()
        .map(|&(at, packet)| (at - at_micros(u64::from(packet) * 1000)).as_millis_f64() - 10.0)
        .sum();
    // Uniform from 0 to 20 ms: five standard deviations of the mean are 0.2 ms.
    let mean = extra / 20_000.0;
    assert!((mean - 10.0).abs() < 0.2, "{mean}");
}

#[test]
fn without_jitter_a_reordering_link_is_the_same_link_bit_for_bit() {
    let [in_order, reordering] = [false, true].map(|reorder| {
        let mut link = Link::new(LinkConfig {
            loss: 0.1,
            duplicate: 0.1,
            reorder,
            queue: QueueConfig::drop_tail(5),
            // A little too slow for what is sent, copies included.
            ..LinkConfig::with_rate(Rate::from_kilobytes_per_sec(950), DELAY)
        });
        let arrived = send_many(&mut link, 5000, &mut stream());
        (arrived, *link.counters())
    });
    assert!(in_order.1.dropped_queue > 0);
    assert_eq!(in_order, reordering);
}
