//! Somebody on the way, or beside it, who means harm.

use hopflow_channel::{Cookies, DatagramChannel, Knock, State};
use hopflow_units::{Duration, Instant};

use crate::support::{Dice, Pair, epoch, flush, identity};

#[test]
fn replayed_records_are_read_once() {
    let mut pair = Pair::open();
    let datagram = pair.sealed(b"once");
    for _ in 0..100 {
        pair.reach_called(&datagram);
    }
    assert_eq!(pair.read_by_called, [b"once"]);
}

#[test]
fn records_sent_back_to_their_sender_are_dropped() {
    let mut pair = Pair::open();
    let datagram = pair.sealed(b"mirror");
    pair.reach_caller(&datagram);
    assert!(pair.read_by_caller.is_empty());
    assert!(pair.is_open());
}

#[test]
fn a_record_with_any_bit_flipped_is_dropped() {
    let mut pair = Pair::open();
    let datagram = pair.sealed(b"four");
    for bit in 0..datagram.len() * 8 {
        let mut forged = datagram.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        pair.reach_called(&forged);
    }
    assert!(pair.read_by_called.is_empty());
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called, [b"four"]);
}

#[test]
fn garbage_does_not_disturb_an_open_channel() {
    let mut pair = Pair::open();
    let mut dice = Dice(1);
    for _ in 0..20_000 {
        let noise = noise(&mut dice);
        pair.reach_called(&noise);
        pair.reach_caller(&noise);
    }
    assert!(pair.is_open(), "{pair:?}");
    assert!(pair.read_by_called.is_empty() && pair.read_by_caller.is_empty());
    let datagram = pair.sealed(b"fine");
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called, [b"fine"]);
}

#[test]
fn random_garbage_does_not_disturb_a_handshake() {
    let mut dice = Dice(2);
    for _ in 0..50 {
        let mut pair = Pair::new();
        while !pair.is_open() {
            for _ in 0..20 {
                let noise: Vec<u8> = (0..dice.roll(200)).map(|_| dice.roll(256) as u8).collect();
                pair.reach_called(&noise);
                pair.reach_caller(&noise);
            }
            assert!(pair.exchange(&mut |datagram| vec![datagram]), "{pair:?}");
        }
    }
}

#[test]
fn the_handshakes_own_datagrams_replayed_do_not_disturb_an_open_channel() {
    let mut pair = Pair::new();
    let mut seen = Vec::new();
    while pair.exchange(&mut |datagram| {
        seen.push(datagram.clone());
        vec![datagram]
    }) {}
    assert!(pair.is_open());
    for _ in 0..10 {
        for datagram in &seen {
            pair.reach_called(datagram);
            pair.reach_caller(datagram);
        }
    }
    assert!(pair.is_open(), "{pair:?}");
    let answers = flush(&mut pair.caller, pair.now).len() + flush(&mut pair.called, pair.now).len();
    assert!(
        answers <= 20 * seen.len(),
        "{answers} answers to {} datagrams",
        20 * seen.len()
    );
    let datagram = pair.sealed(b"still here");
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called.last().unwrap(), b"still here");
}

#[test]
fn another_caller_from_the_same_address_does_not_disturb_an_open_channel() {
    let mut pair = Pair::open();
    let mut other = DatagramChannel::connect(identity().fingerprint(), epoch());
    let hello = flush(&mut other, pair.now).remove(0);
    assert!(!pair.called.is_of(&hello) && !pair.caller.is_of(&hello));
    for _ in 0..10 {
        pair.reach_called(&hello);
        pair.reach_caller(&hello);
        assert!(flush(&mut pair.called, pair.now).is_empty());
        assert!(flush(&mut pair.caller, pair.now).is_empty());
    }
    assert!(pair.is_open(), "{pair:?}");
}

/// Datagrams of another handshake of the same ends, whose keys do not fit.
fn of_another_handshake() -> Vec<Vec<u8>> {
    let (mut pair, mut seen) = (Pair::new(), Vec::new());
    while pair.exchange(&mut |datagram| {
        seen.push(datagram.clone());
        vec![datagram]
    }) {}
    seen
}

#[test]
fn who_sees_nothing_of_a_handshake_cannot_break_it_off() {
    let alert = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 40];
    let mut forged = of_another_handshake();
    forged.push(alert.to_vec());
    // With a head, but without knowing the nonce.
    for kind in 0..4 {
        forged.push([&[kind], &[0; 8][..], &alert].concat());
        forged.push([&[kind], &[0; 24][..], &alert].concat());
    }
    let mut pair = Pair::new();
    for _ in 0..8 {
        for datagram in &forged {
            // The called takes whoever is first, but only with a cookie, see `Cookies`.
            if pair.now > Instant::from_nanos(1_000_000_000) {
                pair.reach_called(datagram);
            }
            pair.reach_caller(datagram);
        }
        pair.exchange(&mut |datagram| vec![datagram]);
        pair.now += Duration::from_millis(1);
    }
    assert!(pair.is_open(), "{pair:?}");
    let datagram = pair.sealed(b"undisturbed");
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called, [b"undisturbed"]);
}

#[test]
fn who_saw_the_opening_does_not_close_an_open_channel_by_an_alert_in_plaintext() {
    let mut pair = Pair::new();
    let mut opening = None;
    while pair.exchange(&mut |datagram| {
        opening.get_or_insert_with(|| datagram.clone());
        vec![datagram]
    }) {}
    assert!(pair.is_open(), "{pair:?}");
    // The head of the caller's datagrams; the called repeats the nonce in it.
    let opening = opening.expect("the caller said something");
    let (head, nonce) = (&opening[..25], &opening[1..9]);
    let close_notify = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 1, 0];
    let fatal = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40];
    for alert in [close_notify, fatal] {
        pair.reach_called(&[head, &alert].concat());
        pair.reach_caller(&[&[3], nonce, &alert].concat());
        pair.now += Duration::from_secs(1);
        pair.settle();
    }
    assert!(pair.is_open(), "{pair:?}");
    let datagram = pair.sealed(b"undisturbed");
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called, [b"undisturbed"]);
}

#[test]
fn a_damaged_handshake_ends_or_opens_but_never_panics_nor_leaks() {
    let mut dice = Dice(4);
    for _ in 0..400 {
        let mut pair = Pair::new();
        let mut left = 40;
        while left > 0
            && pair.exchange(&mut |mut datagram| {
                if dice.roll(4) == 0 {
                    let at = dice.roll(datagram.len() as u64) as usize;
                    datagram[at] ^= 1 << dice.roll(8);
                    datagram.truncate(datagram.len() - dice.roll(2) as usize);
                }
                vec![datagram]
            })
        {
            left -= 1;
        }
        assert!(left > 0, "the ends excite each other: {pair:?}");
        if *pair.called.state() != State::Open {
            assert!(!pair.called.seal(pair.now, b"secret", &mut Vec::new()));
        }
    }
}

#[test]
fn a_flood_of_openings_costs_one_small_answer_each() {
    let cookies = Cookies::generate();
    let mut caller = DatagramChannel::connect(identity().fingerprint(), epoch());
    let hello = flush(&mut caller, Instant::ZERO).remove(0);
    for port in 1..1000 {
        let from = ([10, 0, 0, 1], port).into();
        let Knock::Unproven(answer) = cookies.check(Instant::ZERO, from, &hello) else {
            panic!("an opening without a cookie");
        };
        assert!(answer.len() * 50 < hello.len());
    }
}

/// Bytes that resemble records now and then.
fn noise(dice: &mut Dice) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..dice.roll(300)).map(|_| dice.roll(256) as u8).collect();
    let length = bytes.len().saturating_sub(13) as u8;
    let heads: [&[u8]; 4] = [
        &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1, 0, length],
        &[21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1, 0, length],
        &[0x2f, 0, 9, 0, length],
        &[23, 254, 253, 0, 1, 0, 0, 0, 0, 0, 1, 0, length],
    ];
    for (byte, &head) in bytes.iter_mut().zip(heads[dice.roll(4) as usize]) {
        *byte = head;
    }
    bytes
}
