//! What a record, a handshake and a flood cost.

use std::cell::RefCell;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use hopflow_channel::{Cookies, DatagramChannel, Identity, Knock, State, StreamChannel};
use hopflow_units::Instant;

fn main() {
    divan::main();
}

const NOW: Instant = Instant::from_nanos(1);
/// Two cells and feedback: a full datagram of a busy link.
const DATAGRAM: usize = 1100;
/// Sixteen cells: what a busy link writes to a TCP connection at once.
const WRITE: usize = 16 * 517;

#[expect(
    clippy::disallowed_methods,
    reason = "the origin's value does not matter"
)]
fn epoch() -> std::time::Instant {
    std::time::Instant::now()
}

fn shake_datagrams(caller: &mut DatagramChannel, called: &mut DatagramChannel) {
    let mut datagram = Vec::new();
    loop {
        let mut any = false;
        while caller.poll_transmit(NOW, &mut datagram) {
            any = true;
            called.receive(NOW, &datagram, &mut |_| ());
            datagram.clear();
        }
        while called.poll_transmit(NOW, &mut datagram) {
            any = true;
            caller.receive(NOW, &datagram, &mut |_| ());
            datagram.clear();
        }
        if !any {
            assert_eq!(*called.state(), State::Open);
            return;
        }
    }
}

fn datagram_pair(identity: &Identity) -> (DatagramChannel, DatagramChannel) {
    let epoch = epoch();
    let mut caller = DatagramChannel::connect(identity.fingerprint(), epoch);
    let mut called = DatagramChannel::accept(identity, epoch);
    shake_datagrams(&mut caller, &mut called);
    (caller, called)
}

fn stream_pair(identity: &Identity) -> (StreamChannel, StreamChannel) {
    let mut caller = StreamChannel::connect(identity.fingerprint());
    let mut called = StreamChannel::accept(identity);
    let mut wire = Vec::new();
    while *called.state() != State::Open {
        caller.poll_transmit(NOW, &mut wire);
        called.receive(NOW, &wire, &mut |_| ());
        wire.clear();
        called.poll_transmit(NOW, &mut wire);
        caller.receive(NOW, &wire, &mut |_| ());
        wire.clear();
    }
    (caller, called)
}

/// AES-128-GCM alone, without which no record is sealed.
#[divan::bench]
fn floor_seal(bencher: Bencher) {
    use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &[1; 16]).expect("16 bytes"));
    let mut data = vec![7; DATAGRAM];
    bencher.counter(BytesCount::new(DATAGRAM)).bench_local(|| {
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        key.seal_in_place_separate_tag(nonce, Aad::from([0; 5]), black_box(&mut data))
            .map(drop)
    });
}

#[divan::bench]
fn datagram_seal(bencher: Bencher) {
    let (mut caller, _) = datagram_pair(&Identity::generate());
    let (plain, mut out) = (vec![7; DATAGRAM], Vec::new());
    bencher.counter(BytesCount::new(DATAGRAM)).bench_local(|| {
        out.clear();
        caller.seal(NOW, black_box(&plain), &mut out)
    });
}

#[divan::bench(sample_size = 32)]
fn datagram_open(bencher: Bencher) {
    let (caller, mut called) = datagram_pair(&Identity::generate());
    let (caller, plain) = (RefCell::new(caller), vec![7; DATAGRAM]);
    bencher
        .counter(BytesCount::new(DATAGRAM))
        .with_inputs(|| {
            let mut datagram = Vec::new();
            caller.borrow_mut().seal(NOW, &plain, &mut datagram);
            datagram
        })
        .bench_local_refs(|datagram| {
            let mut read = 0;
            called.receive(NOW, datagram, &mut |plain| read += plain.len());
            assert_eq!(read, DATAGRAM);
        });
}

#[divan::bench]
fn datagram_handshake_of_both_ends(bencher: Bencher) {
    let identity = Identity::generate();
    bencher.bench_local(|| datagram_pair(&identity));
}

/// A first datagram from an address that proves nothing.
#[divan::bench]
fn datagram_answer_to_a_flood(bencher: Bencher) {
    let (identity, cookies) = (Identity::generate(), Cookies::generate());
    let from = ([10, 0, 0, 1], 2000).into();
    let mut hello = Vec::new();
    DatagramChannel::connect(identity.fingerprint(), epoch()).poll_transmit(NOW, &mut hello);
    bencher.bench_local(|| {
        let answer = cookies.check(NOW, from, black_box(&hello));
        assert!(matches!(answer, Knock::Unproven(_)));
        answer
    });
}

#[divan::bench]
fn stream_seal(bencher: Bencher) {
    let (mut caller, _) = stream_pair(&Identity::generate());
    let (plain, mut out) = (vec![7; WRITE], Vec::new());
    bencher.counter(BytesCount::new(WRITE)).bench_local(|| {
        out.clear();
        caller.seal(NOW, black_box(&plain), &mut out)
    });
}

#[divan::bench(sample_size = 32)]
fn stream_open(bencher: Bencher) {
    let (caller, mut called) = stream_pair(&Identity::generate());
    let (caller, plain) = (RefCell::new(caller), vec![7; WRITE]);
    bencher
        .counter(BytesCount::new(WRITE))
        .with_inputs(|| {
            let mut wire = Vec::new();
            caller.borrow_mut().seal(NOW, &plain, &mut wire);
            wire
        })
        .bench_local_refs(|wire| {
            let mut read = 0;
            called.receive(NOW, wire, &mut |plain| read += plain.len());
            assert_eq!(read, WRITE);
        });
}

#[divan::bench]
fn stream_handshake_of_both_ends(bencher: Bencher) {
    let identity = Identity::generate();
    bencher.bench_local(|| stream_pair(&identity));
}

#[divan::bench]
fn identity() -> Identity {
    Identity::generate()
}
