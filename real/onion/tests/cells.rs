//! Layers and seals of cells: what comes back, and what is noticed.

mod support;

use hopflow_onion::{DirectionKeys, Forged, HopKeys, TAG};
use proptest::prelude::*;
use support::agree;

type Body = [u8; 509];

/// A plain body: everything behind the tag is data.
fn plain(byte: u8) -> Body {
    let mut body = [byte; 509];
    body[..TAG].fill(0);
    body
}

/// A circuit's keys at the client, and at its hops in the order of the path.
fn circuit(hops: usize) -> (Vec<HopKeys>, Vec<HopKeys>) {
    (0..hops).map(|_| agree()).unzip()
}

fn sealed(keys: &DirectionKeys, index: u64, byte: u8) -> Body {
    let mut body = plain(byte);
    keys.seal(index, &mut body);
    body
}

#[test]
fn a_cell_passes_three_hops_in_each_direction() {
    let (mut client, mut relays) = circuit(3);
    for index in [0, 1, 77, u64::from(u32::MAX) + 5] {
        let mut body = sealed(&client[2].forward, index, 9);
        for hop in client[..2].iter_mut().rev() {
            hop.forward.apply_layer(index, &mut body);
        }
        for relay in &mut relays[..2] {
            relay.forward.apply_layer(index, &mut body);
        }
        assert_eq!(relays[2].forward.open(index, &mut body), Ok(()));
        assert_eq!(body[TAG..], plain(9)[TAG..]);

        let mut body = sealed(&relays[2].backward, index, 8);
        for relay in relays[..2].iter_mut().rev() {
            relay.backward.apply_layer(index, &mut body);
        }
        for hop in &mut client[..2] {
            hop.backward.apply_layer(index, &mut body);
        }
        assert_eq!(client[2].backward.open(index, &mut body), Ok(()));
        assert_eq!(body[TAG..], plain(8)[TAG..]);
    }
}

#[test]
fn cells_open_in_any_order_and_more_than_once() {
    let (client, relay) = agree();
    let cells: Vec<Body> = (0..8)
        .map(|i| sealed(&client.forward, i, i as u8))
        .collect();
    for index in [5, 0, 7, 7, 3, 5] {
        let mut body = cells[index as usize];
        assert_eq!(relay.forward.open(index, &mut body), Ok(()));
        assert_eq!(body[TAG..], plain(index as u8)[TAG..]);
    }
}

#[test]
fn every_altered_byte_of_a_cell_is_noticed() {
    let (client, relay) = agree();
    let cell = sealed(&client.forward, 4, 1);
    for place in 0..cell.len() {
        let mut body = cell;
        body[place] ^= 1;
        assert_eq!(
            relay.forward.open(4, &mut body),
            Err(Forged),
            "byte {place}"
        );
    }
}

#[test]
fn a_bit_that_a_middle_relay_flips_is_noticed_at_the_end() {
    let (mut client, mut relays) = circuit(2);
    let mut body = sealed(&client[1].forward, 0, 1);
    client[0].forward.apply_layer(0, &mut body);
    body[300] ^= 0x10;
    relays[0].forward.apply_layer(0, &mut body);
    assert_eq!(relays[1].forward.open(0, &mut body), Err(Forged));
}

#[test]
fn another_index_does_not_open_a_cell() {
    let (client, relay) = agree();
    let cell = sealed(&client.forward, 4, 1);
    for index in [0, 3, 5, 4 + (1 << 32), u64::MAX] {
        assert_eq!(
            relay.forward.open(index, &mut cell.clone()),
            Err(Forged),
            "{index}"
        );
    }
}

#[test]
fn another_key_or_direction_does_not_open_a_cell() {
    let (client, relay) = agree();
    let (_, other) = agree();
    let cell = sealed(&client.forward, 4, 1);
    assert_eq!(relay.backward.open(4, &mut cell.clone()), Err(Forged));
    assert_eq!(other.forward.open(4, &mut cell.clone()), Err(Forged));
}

#[test]
fn a_layer_at_another_index_leaves_a_cell_garbled() {
    let (mut client, mut relays) = circuit(2);
    let mut body = sealed(&client[1].forward, 6, 1);
    client[0].forward.apply_layer(6, &mut body);
    relays[0].forward.apply_layer(7, &mut body);
    assert_eq!(relays[1].forward.open(6, &mut body), Err(Forged));
}

#[test]
fn key_streams_of_different_cells_share_no_block() {
    let (mut client, _) = agree();
    let mut blocks = std::collections::BTreeSet::new();
    for index in (0..40).chain([u64::MAX - 1, u64::MAX]) {
        let mut stream = [0; 509];
        client.forward.apply_layer(index, &mut stream);
        let (whole, _) = stream.as_chunks::<16>();
        assert!(
            whole.iter().all(|block| blocks.insert(*block)),
            "cell {index}"
        );
    }
}

#[test]
fn set_up_messages_pass_earlier_hops_in_each_direction() {
    let (mut client, mut relays) = circuit(3);
    let message = [5; hopflow_onion::SETUP_PLAIN];
    let mut sealed = client[2].forward.seal_setup(3, &message);
    for hop in client[..2].iter_mut().rev() {
        hop.forward.apply_setup_layer(3, &mut sealed);
    }
    for relay in &mut relays[..2] {
        relay.forward.apply_setup_layer(3, &mut sealed);
    }
    assert_eq!(relays[2].forward.open_setup(3, &sealed), Ok(message));

    let mut sealed = relays[1].backward.seal_setup(3, &message);
    relays[0].backward.apply_setup_layer(3, &mut sealed);
    client[0].backward.apply_setup_layer(3, &mut sealed);
    assert_eq!(client[1].backward.open_setup(3, &sealed), Ok(message));
}

#[test]
fn set_up_messages_that_were_altered_or_moved_are_noticed() {
    let (client, relay) = agree();
    let sealed = client
        .forward
        .seal_setup(3, &[5; hopflow_onion::SETUP_PLAIN]);
    assert_eq!(relay.forward.open_setup(2, &sealed), Err(Forged));
    assert_eq!(relay.backward.open_setup(3, &sealed), Err(Forged));
    for place in 0..sealed.len() {
        let mut altered = sealed;
        altered[place] ^= 0x80;
        assert_eq!(
            relay.forward.open_setup(3, &altered),
            Err(Forged),
            "byte {place}"
        );
    }
}

#[test]
fn cells_and_set_up_messages_do_not_share_keys() {
    let (mut client, _) = agree();
    let mut cell = [0; 509];
    let mut setup = [0; hopflow_onion::SEALED_SETUP];
    client.forward.apply_layer(1, &mut cell);
    client.forward.apply_setup_layer(1, &mut setup);
    assert_ne!(cell[..16], setup[..16]);
    let mut cell = [0; 509];
    client.forward.seal(1, &mut cell);
    let sealed = client
        .forward
        .seal_setup(1, &[0; hopflow_onion::SETUP_PLAIN]);
    assert_ne!(cell[TAG..TAG + 16], sealed[TAG..TAG + 16]);
}

#[test]
fn keys_may_move_to_another_thread_and_are_not_printed() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<HopKeys>();
    let (client, _) = agree();
    assert_eq!(format!("{:?}", client.forward), "DirectionKeys(..)");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_body_survives_layers_and_seal(
        data in prop::collection::vec(any::<u8>(), 493),
        index: u64,
        hops in 1_usize..5,
    ) {
        let (mut client, mut relays) = circuit(hops);
        let mut body = [0; 509];
        body[TAG..].copy_from_slice(&data);
        client[hops - 1].forward.seal(index, &mut body);
        for hop in client[..hops - 1].iter_mut().rev() {
            hop.forward.apply_layer(index, &mut body);
        }
        prop_assert_ne!(&body[TAG..], &data);
        for relay in &mut relays[..hops - 1] {
            relay.forward.apply_layer(index, &mut body);
        }
        prop_assert_eq!(relays[hops - 1].forward.open(index, &mut body), Ok(()));
        prop_assert_eq!(&body[TAG..], &data);
    }
}
