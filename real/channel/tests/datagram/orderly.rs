//! A link over datagrams on a good network.

use crate::support::{Pair, epoch, flush, identity};
use hopflow_channel::{Cookies, DatagramChannel, Error, Identity, Knock, State};
use hopflow_units::{Duration, Instant};

#[test]
fn both_ends_open_and_read_what_the_other_seals() {
    let mut pair = Pair::open();
    let datagram = pair.sealed(b"there");
    pair.reach_called(&datagram);
    let mut back = Vec::new();
    assert!(pair.called.seal(pair.now, b"and back", &mut back));
    pair.reach_caller(&back);
    assert_eq!(pair.read_by_called, [b"there"]);
    assert_eq!(pair.read_by_caller, [b"and back"]);
}

#[test]
fn a_record_is_one_datagram_of_its_plaintext_and_the_overhead() {
    let mut pair = Pair::open();
    for size in [1, 1034, DatagramChannel::MAX_PLAINTEXT] {
        let sealed = pair.sealed(&vec![7; size]);
        assert_eq!(sealed.len(), size + DatagramChannel::OVERHEAD);
        assert!(sealed.len() <= DatagramChannel::MAX_DATAGRAM);
    }
    let mut out = vec![1, 2, 3];
    let too_long = vec![7; DatagramChannel::MAX_PLAINTEXT + 1];
    assert!(!pair.caller.seal(pair.now, &too_long, &mut out));
    assert!(!pair.caller.seal(pair.now, &[], &mut out));
    assert_eq!(out, [1, 2, 3]);
    assert!(pair.caller.seal(pair.now, b"x", &mut out));
    assert_eq!(out[..3], [1, 2, 3]);
}

#[test]
fn a_handshake_takes_one_round_trip_behind_the_cookie_and_fits_the_largest_datagram() {
    let mut pair = Pair::new();
    let mut sizes = Vec::new();
    let mut trips = 0;
    while *pair.caller.state() != State::Open {
        trips += 1;
        assert!(trips < 10);
        for _ in 0..2 {
            pair.exchange(&mut |datagram| {
                sizes.push(datagram.len());
                vec![datagram]
            });
        }
    }
    assert_eq!(sizes[0], DatagramChannel::MAX_DATAGRAM);
    assert!(
        sizes
            .iter()
            .all(|&size| size <= DatagramChannel::MAX_DATAGRAM)
    );
    assert_eq!(trips, 1);
}

#[test]
fn who_returns_the_cookie_has_its_handshake() {
    let (cookies, mut pair) = (Cookies::generate(), Pair::new());
    let from = "10.0.0.1:2000".parse().unwrap();
    let hello = flush(&mut pair.caller, pair.now).remove(0);
    let Knock::Unproven(answer) = cookies.check(pair.now, from, &hello) else {
        panic!("an opening without a cookie");
    };
    pair.reach_caller(&answer);
    let again = flush(&mut pair.caller, pair.now).remove(0);
    assert_eq!(again.len(), hello.len());
    assert_eq!(cookies.check(pair.now, from, &again), Knock::Proven);
    pair.reach_called(&again);
    pair.settle();
    assert!(pair.is_open(), "{pair:?}");
}

#[test]
fn a_repeated_opening_carries_the_cookie() {
    let (cookies, mut pair) = (Cookies::generate(), Pair::new());
    let from = "10.0.0.1:2000".parse().unwrap();
    let hello = flush(&mut pair.caller, pair.now).remove(0);
    if let Knock::Unproven(answer) = cookies.check(pair.now, from, &hello) {
        pair.reach_caller(&answer);
    }
    // The opening with the cookie is lost.
    flush(&mut pair.caller, pair.now);
    pair.now = pair.caller.poll_timeout();
    pair.caller.handle_timeout(pair.now);
    let again = flush(&mut pair.caller, pair.now).remove(0);
    assert_eq!(cookies.check(pair.now, from, &again), Knock::Proven);
}

#[test]
fn a_caller_hears_that_its_channel_is_lost() {
    let (cookies, mut pair) = (Cookies::generate(), Pair::open());
    let from = "10.0.0.1:2000".parse().unwrap();
    let record = pair.sealed(b"are you there?");
    let Knock::Lost(answer) = cookies.check(pair.now, from, &record) else {
        panic!("a record of a channel that is not there");
    };
    assert!(answer.len() < record.len());
    assert!(!pair.caller.take_lost());
    pair.reach_caller(&answer);
    assert!(pair.caller.take_lost() && !pair.caller.take_lost());
    // Once for each record, and whether that is true others must judge.
    pair.reach_caller(&answer);
    assert!(!pair.caller.take_lost() && pair.is_open());
    pair.reach_called(&answer);
    assert!(!pair.called.take_lost());
}

#[test]
fn a_caller_does_not_talk_to_another_certificate() {
    let mut pair = Pair::new();
    let other = Identity::generate().fingerprint();
    pair.caller = DatagramChannel::connect(other, epoch());
    pair.settle();
    assert_eq!(*pair.caller.state(), State::Closed(Error::WrongFingerprint));
    assert_eq!(*pair.called.state(), State::Handshaking);
    assert_eq!(pair.caller.poll_timeout(), Instant::FAR_FUTURE);
    assert!(!pair.caller.seal(pair.now, b"secret", &mut Vec::new()));
    pair.run(Duration::from_secs(60), &mut |datagram| vec![datagram]);
    assert_eq!(*pair.called.state(), State::Closed(Error::TimedOut));
}

#[test]
fn nothing_is_sealed_before_the_channel_is_open() {
    let mut pair = Pair::new();
    let mut out = Vec::new();
    assert!(!pair.caller.seal(pair.now, b"early", &mut out));
    assert!(!pair.called.seal(pair.now, b"early", &mut out));
    assert!(out.is_empty());
    pair.settle();
    assert!(pair.is_open());
    assert!(pair.read_by_called.is_empty());
}

#[test]
fn closing_tells_the_other_end() {
    let mut pair = Pair::open();
    pair.caller.close();
    assert_eq!(*pair.caller.state(), State::Closed(Error::ClosedHere));
    assert!(!pair.caller.seal(pair.now, b"late", &mut Vec::new()));
    pair.settle();
    assert_eq!(*pair.called.state(), State::Closed(Error::ClosedByPeer));
    pair.called.close();
    assert_eq!(*pair.called.state(), State::Closed(Error::ClosedByPeer));
    assert_eq!(pair.called.poll_timeout(), Instant::FAR_FUTURE);
}

#[test]
fn closing_during_the_handshake_is_silent() {
    let mut pair = Pair::new();
    pair.exchange(&mut |datagram| vec![datagram]);
    pair.called.close();
    pair.caller.close();
    assert!(flush(&mut pair.caller, pair.now).is_empty());
    assert_eq!(*pair.caller.state(), State::Closed(Error::ClosedHere));
}

#[test]
fn an_idle_open_channel_wants_no_timer() {
    let mut pair = Pair::open();
    assert_eq!(pair.caller.poll_timeout(), Instant::FAR_FUTURE);
    assert_eq!(pair.called.poll_timeout(), Instant::FAR_FUTURE);
    pair.now += Duration::from_secs(1_000_000);
    let datagram = pair.sealed(b"after a long silence");
    pair.reach_called(&datagram);
    assert_eq!(pair.read_by_called.len(), 1);
}

#[test]
fn a_clock_that_jumps_back_or_beyond_all_bounds_does_no_harm() {
    let mut pair = Pair::open();
    for now in [Instant::ZERO, Instant::FAR_FUTURE, Instant::from_nanos(5)] {
        pair.now = now;
        let datagram = pair.sealed(b"timeless");
        pair.reach_called(&datagram);
    }
    assert_eq!(pair.read_by_called.len(), 3);
    assert!(pair.is_open());
}

#[test]
fn an_identity_survives_storage() {
    let stored = Identity::from_der(identity().certificate_der(), identity().key_der()).unwrap();
    assert_eq!(stored.fingerprint(), identity().fingerprint());
    let mut pair = Pair::new();
    pair.called = DatagramChannel::accept(&stored, epoch());
    pair.settle();
    assert!(pair.is_open());
}

#[test]
fn an_identity_is_refused_if_its_parts_do_not_belong_together() {
    let other = Identity::generate();
    let error = Identity::from_der(identity().certificate_der(), other.key_der()).unwrap_err();
    assert!(
        error.to_string().contains("does not go with the key"),
        "{error}"
    );
    let error = Identity::from_der(identity().certificate_der(), b"key").unwrap_err();
    assert!(error.to_string().contains("P-256"), "{error}");
    let error = Identity::from_der(b"certificate", identity().key_der()).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn no_two_channels_of_a_caller_show_the_same_secret() {
    let hello = || {
        let mut caller = DatagramChannel::connect(identity().fingerprint(), epoch());
        flush(&mut caller, Instant::ZERO).remove(0)
    };
    let (one, other) = (hello(), hello());
    assert_eq!(one.len(), other.len());
    let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
    assert!(one.len() - same >= 60, "random and key share differ");
}
