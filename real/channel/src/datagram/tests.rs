//! What a driver cannot bring about in reasonable time.

use dimpl::{Dtls, DtlsCertificate};
use hopflow_units::Duration;

use super::*;

#[expect(
    clippy::disallowed_methods,
    reason = "the origin's value does not matter"
)]
fn epoch() -> std::time::Instant {
    std::time::Instant::now()
}

fn pair() -> [DatagramChannel; 2] {
    let (epoch, identity) = (epoch(), Identity::generate());
    let nobody = DtlsCertificate {
        certificate: Vec::new(),
        private_key: Vec::new(),
    };
    let [caller, called] = config::short_lived();
    let mut dtls = Dtls::new_13(caller, nobody, epoch);
    dtls.set_active(true);
    [
        DatagramChannel::new(dtls, Some(identity.fingerprint()), epoch),
        DatagramChannel::new(Dtls::new_13(called, identity.dtls(), epoch), None, epoch),
    ]
}

/// Brings what `from` has to say to `to`, unless it is `lost`; how many datagrams there were.
fn bring(from: &mut DatagramChannel, to: &mut DatagramChannel, now: Instant, lost: bool) -> usize {
    let (mut count, mut datagram) = (0, Vec::new());
    while from.poll_transmit(now, &mut datagram) {
        count += 1;
        if !lost {
            to.receive(now, &datagram, &mut |_| ());
        }
        datagram.clear();
    }
    count
}

/// Seals a record at each end whenever as many milliseconds have passed as `each` says for it.
///
/// How many datagrams the ends had to say about their keys; every seventh is lost if `lossy`.
fn talk(ends: &mut [DatagramChannel; 2], start: Instant, each: [u64; 2], lossy: bool) -> usize {
    let mut said = 0;
    for n in 1..=20_000u64 {
        let now = start + Duration::from_millis(1) * n;
        for each in each {
            let [from, to] = ends;
            if n.is_multiple_of(each) {
                exchange(from, to, now, &n.to_be_bytes());
            }
            from.handle_timeout(now);
            said += bring(from, to, now, lossy && said % 7 == 3);
            ends.reverse();
        }
    }
    said
}

/// Seals `plain` at one end and opens it at the other.
fn exchange(from: &mut DatagramChannel, to: &mut DatagramChannel, now: Instant, plain: &[u8]) {
    let (mut datagram, mut read) = (Vec::new(), Vec::new());
    assert!(from.seal(now, plain, &mut datagram), "{from:?}");
    to.receive(now, &datagram, &mut |piece| read.extend_from_slice(piece));
    assert_eq!(read, plain, "{to:?}");
}

#[test]
fn keys_are_renewed_in_passing_and_no_record_is_lost() {
    for (each, lossy) in [
        ([1, 1], false),
        ([1, 1], true),
        ([1, 10], true),
        ([100, 1], true),
    ] {
        let mut ends = pair();
        let start = Instant::from_nanos(1);
        let [caller, called] = &mut ends;
        while bring(caller, called, start, false) + bring(called, caller, start, false) > 0 {}
        let said = talk(&mut ends, start, each, lossy);
        assert!(said >= 12, "the keys were not renewed: {said} datagrams");
        assert!(ends.iter().all(|end| end.state == State::Open), "{ends:?}");
    }
}

#[test]
fn keys_are_renewed_between_datagrams_that_are_received_together() {
    const PLAIN: usize = 1000;
    let [mut caller, mut called] = pair();
    let mut now = Instant::from_nanos(1);
    while bring(&mut caller, &mut called, now, false) + bring(&mut called, &mut caller, now, false)
        > 0
    {}
    let (mut said, mut next, mut read) = (0, 0u32, Vec::new());
    for _ in 0..300 {
        now += Duration::from_millis(1);
        let mut datagrams = Vec::new();
        for _ in 0..20 {
            let plain = next.to_be_bytes().repeat(PLAIN / 4);
            assert!(caller.seal(now, &plain, &mut datagrams), "{caller:?}");
            next += 1;
        }
        let mut rest = &datagrams[..];
        while !rest.is_empty() {
            let segment = PLAIN + DatagramChannel::OVERHEAD;
            let (taken, behind) = rest.split_at(called.joined(segment, rest));
            called.receive(now, taken, &mut |plain| {
                read.push(u32::from_be_bytes(*plain.first_chunk().unwrap()));
            });
            rest = behind;
        }
        caller.handle_timeout(now);
        called.handle_timeout(now);
        said += bring(&mut caller, &mut called, now, false);
        said += bring(&mut called, &mut caller, now, false);
    }
    assert!(read.iter().copied().eq(0..next), "{} of {next}", read.len());
    assert!(said >= 12, "the keys were not renewed: {said} datagrams");
}

#[test]
fn a_caller_that_is_asked_for_a_certificate_shows_none() {
    let [mut caller, mut called] = pair();
    let curious = dimpl::Config::builder()
        .require_client_certificate(true)
        .use_server_cookie(false)
        .build()
        .expect("the configuration is sound");
    let identity = Identity::generate();
    called.dtls = Some(Box::new(Dtls::new_13(
        curious.into(),
        identity.dtls(),
        epoch(),
    )));
    caller.expected = Some(identity.fingerprint());
    let now = Instant::from_nanos(1);
    while bring(&mut caller, &mut called, now, false) + bring(&mut called, &mut caller, now, false)
        > 0
    {}
    let State::Closed(Error::Protocol(why)) = called.state() else {
        panic!("{called:?}");
    };
    assert!(why.contains("certificate"), "{why}");
}
