//! What cryptography costs for a cell, and for a circuit.
//!
//! `cargo bench -p hopflow-onion`; the medians count, the machine should be otherwise idle.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::BytesCount;
use hopflow_onion::{HopKeys, Initiator, OnionSecret, answer};

type Body = [u8; 509];

fn main() {
    divan::main();
}

/// The client's and the relay's keys.
fn agree() -> (HopKeys, HopKeys) {
    let relay = OnionSecret::generate();
    let (initiator, message) = Initiator::start(&relay.public(), b"");
    let (theirs, answer) = answer(&relay, &message, |_| Some(Vec::new())).expect("it is honest");
    let (ours, _) = initiator.finish(&answer).expect("it is honest");
    (ours, theirs)
}

/// Every relay but the last, for each cell.
#[divan::bench(sample_size = 1000)]
fn layer(bencher: Bencher<'_, '_>) {
    let (mut client, _) = agree();
    let mut body = [1; 509];
    let mut index = 0;
    bencher.counter(BytesCount::new(509_u32)).bench_local(|| {
        index += 1;
        client.forward.apply_layer(index, black_box(&mut body));
    });
}

/// The end that sends a cell.
#[divan::bench(sample_size = 1000)]
fn seal(bencher: Bencher<'_, '_>) {
    let (client, _) = agree();
    let mut body = [1; 509];
    let mut index = 0;
    bencher.counter(BytesCount::new(509_u32)).bench_local(|| {
        index += 1;
        client.forward.seal(index, black_box(&mut body));
    });
}

/// The end that receives a cell; includes copying the sealed bytes.
#[divan::bench(sample_size = 1000)]
fn open(bencher: Bencher<'_, '_>) {
    let (client, relay) = agree();
    let mut sealed: Body = [1; 509];
    client.forward.seal(1, &mut sealed);
    bencher.counter(BytesCount::new(509_u32)).bench_local(|| {
        let mut body = black_box(sealed);
        relay.forward.open(1, &mut body).expect("it is honest");
        body
    });
}

/// A client with three hops, for each cell that it sends.
#[divan::bench(sample_size = 1000)]
fn client_of_three_hops(bencher: Bencher<'_, '_>) {
    let mut hops = [agree().0, agree().0, agree().0];
    let mut body = [1; 509];
    let mut index = 0;
    bencher.counter(BytesCount::new(509_u32)).bench_local(|| {
        index += 1;
        let body = black_box(&mut body);
        hops[2].forward.seal(index, body);
        hops[1].forward.apply_layer(index, body);
        hops[0].forward.apply_layer(index, body);
    });
}

/// A client's part of one handshake: start and finish.
#[divan::bench]
fn handshake_client(bencher: Bencher<'_, '_>) {
    let relay = OnionSecret::generate();
    bencher
        .with_inputs(|| {
            let (initiator, message) = Initiator::start(&relay.public(), b"");
            let answered = answer(&relay, &message, |_| Some(Vec::new()));
            (initiator, answered.expect("it is honest").1)
        })
        .bench_local_values(|(initiator, answer)| {
            let again = Initiator::start(&relay.public(), b"");
            (initiator.finish(&answer), again)
        });
}

/// A relay's part of one handshake.
#[divan::bench]
fn handshake_relay(bencher: Bencher<'_, '_>) {
    let relay = OnionSecret::generate();
    let (_, message) = Initiator::start(&relay.public(), b"");
    bencher.bench_local(|| answer(&relay, black_box(&message), |_| Some(Vec::new())));
}

/// A set-up message sealed, layered and opened; keys are made ready each time.
#[divan::bench]
fn setup_message(bencher: Bencher<'_, '_>) {
    let (client, relay) = agree();
    bencher.bench_local(|| {
        let mut sealed = client.forward.seal_setup(1, black_box(&[7; 488]));
        client.forward.apply_setup_layer(1, &mut sealed);
        relay.forward.apply_setup_layer(1, &mut sealed);
        relay.forward.open_setup(1, &sealed)
    });
}
