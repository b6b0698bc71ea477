//! Datagrams that are received together.

use crate::support::{Dice, Pair};

/// Bytes of a datagram, and of what it carries.
const DATAGRAM: usize = PLAIN + hopflow_channel::DatagramChannel::OVERHEAD;
const PLAIN: usize = 1000;

/// Lets the called receive all of this; how often it took something.
fn receive(pair: &mut Pair, segment: usize, mut datagrams: &[u8]) -> usize {
    let mut times = 0;
    while !datagrams.is_empty() {
        let (taken, behind) = datagrams.split_at(pair.called.joined(segment, datagrams));
        pair.reach_called(taken);
        datagrams = behind;
        times += 1;
    }
    times
}

#[test]
fn full_datagrams_are_received_together_and_in_order() {
    let mut pair = Pair::open();
    let plains: Vec<Vec<u8>> = (0..30).map(|n| vec![n; PLAIN]).collect();
    let mut datagrams: Vec<u8> = plains.iter().flat_map(|plain| pair.sealed(plain)).collect();
    datagrams.extend(pair.sealed(b"the last one"));
    assert!(receive(&mut pair, DATAGRAM, &datagrams) < 10);
    let (last, full) = pair.read_by_called.split_last().unwrap();
    assert_eq!((full, &last[..]), (&plains[..], &b"the last one"[..]));
}

#[test]
fn short_datagrams_and_those_of_a_handshake_are_received_alone() {
    let mut pair = Pair::new();
    assert_eq!(pair.called.joined(1200, &[0x2f; 6000]), 1200);
    pair.settle();
    let short = [pair.sealed(b"one"), pair.sealed(b"two")].concat();
    assert_eq!(receive(&mut pair, short.len() / 2, &short), 2);
    assert_eq!(pair.read_by_called, [b"one", b"two"]);
}

#[test]
fn what_is_forged_or_replayed_does_not_harm_those_beside_it() {
    let mut dice = Dice(4);
    for _ in 0..200 {
        let mut pair = Pair::open();
        let (mut datagrams, mut genuine) = (Vec::new(), Vec::new());
        for n in 0..20 {
            let datagram = pair.sealed(&[n; PLAIN]);
            match dice.roll(4) {
                0 => {
                    let mut forged = datagram.clone();
                    let place = [0, 1, 3, 4, dice.roll(DATAGRAM as u64) as usize];
                    forged[place[dice.roll(5) as usize]] ^= 1 << dice.roll(8);
                    datagrams.extend(forged);
                }
                1 => {
                    genuine.push(vec![n; PLAIN]);
                    datagrams.extend([&datagram[..]; 2].concat());
                }
                _ => {
                    genuine.push(vec![n; PLAIN]);
                    datagrams.extend(datagram);
                }
            }
        }
        receive(&mut pair, DATAGRAM, &datagrams);
        assert_eq!(pair.read_by_called, genuine);
        assert!(pair.is_open(), "{pair:?}");
    }
}
