//! A network that loses, repeats and reorders.

use hopflow_channel::{Error, State};
use hopflow_units::Duration;

use crate::support::{Dice, Pair, flush};

#[test]
fn any_single_datagram_of_the_handshake_may_be_lost() {
    for lost in 0..8 {
        let mut pair = Pair::new();
        let mut count = 0;
        pair.run(Duration::from_secs(29), &mut |datagram| {
            count += 1;
            if count - 1 == lost {
                Vec::new()
            } else {
                vec![datagram]
            }
        });
        assert!(pair.is_open(), "without datagram {lost}: {pair:?}");
    }
}

#[test]
fn the_handshake_survives_loss_repetition_and_reordering() {
    let mut opened = 0;
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut late = None;
        let mut pair = Pair::new();
        pair.run(
            Duration::from_secs(29),
            &mut |datagram| match dice.roll(20) {
                0 | 1 => Vec::new(),
                2 | 3 => vec![datagram.clone(), datagram],
                4 | 5 => late.replace(datagram).into_iter().collect(),
                6 | 7 => late.take().into_iter().chain([datagram]).rev().collect(),
                _ => vec![datagram],
            },
        );
        opened += u32::from(pair.is_open());
    }
    assert!(opened >= 190, "only {opened} of 200 opened");
}

#[test]
fn a_caller_that_nobody_answers_gives_up_in_time() {
    let mut pair = Pair::new();
    let mut sent = 0;
    pair.run(Duration::from_secs(60), &mut |_| {
        sent += 1;
        Vec::new()
    });
    assert_eq!(*pair.caller.state(), State::Closed(Error::TimedOut));
    assert!((4..10).contains(&sent), "{sent} datagrams");
    assert!(flush(&mut pair.caller, pair.now).is_empty());
}

#[test]
fn a_called_side_that_hears_only_noise_gives_up_in_time() {
    let mut pair = Pair::new();
    pair.reach_called(&[0; 100]);
    pair.run(Duration::from_secs(31), &mut |_| Vec::new());
    assert_eq!(*pair.called.state(), State::Closed(Error::TimedOut));
}

#[test]
fn data_that_overtakes_the_end_of_the_handshake_does_no_harm() {
    let mut pair = Pair::new();
    while *pair.caller.state() != State::Open {
        for datagram in flush(&mut pair.caller, pair.now) {
            pair.reach_called(&datagram);
        }
        for datagram in flush(&mut pair.called, pair.now) {
            pair.reach_caller(&datagram);
        }
    }
    let last_flight = flush(&mut pair.caller, pair.now);
    for _ in 0..500 {
        let datagram = pair.sealed(b"early");
        pair.reach_called(&datagram);
    }
    assert_eq!(*pair.called.state(), State::Handshaking);
    for datagram in &last_flight {
        pair.reach_called(datagram);
    }
    assert!(pair.is_open(), "{pair:?}");
    let datagram = pair.sealed(b"in time");
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called.last().unwrap(), b"in time");
}

#[test]
fn the_caller_repeats_the_end_of_the_handshake_until_it_is_acknowledged() {
    let mut pair = Pair::new();
    let mut from_caller_lost = 0;
    pair.run(Duration::from_secs(29), &mut |datagram| {
        // The third flight of the caller is its last, and small.
        if datagram.len() < 100 && datagram[0] & 0xe0 == 0x20 && from_caller_lost < 2 {
            from_caller_lost += 1;
            return Vec::new();
        }
        vec![datagram]
    });
    assert_eq!(from_caller_lost, 2);
    assert!(pair.is_open(), "{pair:?}");
}

#[test]
fn records_out_of_order_are_read_once_each_within_the_window() {
    let mut pair = Pair::open();
    let mut datagrams: Vec<_> = (0..60u8).map(|n| pair.sealed(&[n])).collect();
    let mut dice = Dice(3);
    for i in (1..datagrams.len()).rev() {
        datagrams.swap(i, dice.roll(i as u64 + 1) as usize);
    }
    for datagram in datagrams.iter().chain(&datagrams) {
        pair.reach_called(datagram);
    }
    let mut read = std::mem::take(&mut pair.read_by_called);
    read.sort();
    assert_eq!(read, (0..60u8).map(|n| vec![n]).collect::<Vec<_>>());
}

#[test]
fn a_record_that_64_later_ones_overtook_is_dropped() {
    let mut pair = Pair::open();
    let late = pair.sealed(b"late");
    for _ in 0..64 {
        let datagram = pair.sealed(b"next");
        pair.reach_called(&datagram);
    }
    pair.reach_called(&late);
    assert_eq!(pair.read_by_called.len(), 64);
    assert!(pair.is_open());
}

#[test]
fn long_gaps_do_not_lose_the_count() {
    let mut pair = Pair::open();
    for _ in 0..5 {
        for _ in 0..30_000 {
            pair.sealed(b"lost");
        }
        let datagram = pair.sealed(b"found");
        pair.reach_called(&datagram);
    }
    assert_eq!(pair.read_by_called.len(), 5);
}
