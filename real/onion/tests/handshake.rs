//! Who gets keys from a handshake, and who does not.

mod support;

use hopflow_onion::{
    HandshakeError, HopKeys, Initiator, MAX_HANDSHAKE_PAYLOAD, OnionPublic, OnionSecret, answer,
};
use support::agree;

/// Whether `b` opens what `a` seals, and removes layers that `a` adds, in both directions.
fn same_keys(a: &mut HopKeys, b: &mut HopKeys) -> bool {
    [
        (&mut a.forward, &mut b.forward),
        (&mut a.backward, &mut b.backward),
    ]
    .into_iter()
    .all(|(a, b)| {
        let mut body = [3; 509];
        a.seal(1, &mut body);
        a.apply_layer(1, &mut body);
        b.apply_layer(1, &mut body);
        b.open(1, &mut body).is_ok() && body[16..] == [3; 493]
    })
}

#[test]
fn both_sides_get_the_same_keys_and_each_others_payloads() {
    let relay = OnionSecret::generate();
    let (initiator, message) = Initiator::start(&relay.public(), b"hello");
    let (mut theirs, answer) = answer(&relay, &message, |payload| {
        assert_eq!(payload, b"hello");
        Some(b"welcome".to_vec())
    })
    .unwrap();
    let (mut ours, reply) = initiator.finish(&answer).unwrap();
    assert_eq!(reply, b"welcome");
    assert!(same_keys(&mut ours, &mut theirs));
}

#[test]
fn payloads_are_not_readable_in_the_messages() {
    let relay = OnionSecret::generate();
    let (_, message) = Initiator::start(&relay.public(), b"a secret payload");
    assert!(!message.windows(8).any(|part| part == b"a secret"));
    let (_, answer) = answer(&relay, &message, |_| Some(b"a secret reply".to_vec())).unwrap();
    assert!(!answer.windows(8).any(|part| part == b"a secret"));
}

#[test]
fn the_largest_payloads_fit() {
    let relay = OnionSecret::generate();
    let payload = vec![7; MAX_HANDSHAKE_PAYLOAD];
    let (initiator, message) = Initiator::start(&relay.public(), &payload);
    let (_, answer) = answer(&relay, &message, |got| Some(got.to_vec())).unwrap();
    assert_eq!(initiator.finish(&answer).unwrap().1, payload);
}

#[test]
fn a_relay_with_another_key_cannot_answer() {
    let (wanted, other) = (OnionSecret::generate(), OnionSecret::generate());
    let (initiator, message) = Initiator::start(&wanted.public(), b"");
    let asked = answer(&other, &message, |_| {
        unreachable!("the payload is not for it")
    });
    assert_eq!(asked.map(drop), Err(HandshakeError::Invalid));

    // Nor by a handshake of its own making.
    let (_, to_itself) = Initiator::start(&other.public(), b"");
    let (_, forged) = answer(&other, &to_itself, |_| Some(Vec::new())).unwrap();
    assert_eq!(
        initiator.finish(&forged).map(drop),
        Err(HandshakeError::Invalid)
    );
}

#[test]
fn every_altered_byte_of_the_request_is_noticed() {
    let relay = OnionSecret::generate();
    let (_, message) = Initiator::start(&relay.public(), b"hi");
    for place in 0..message.len() {
        // The highest bit of an X25519 key is ignored (RFC 7748, section 5), yet hashed.
        for bit in [0x01, 0x80] {
            let mut altered = message.to_vec();
            altered[place] ^= bit;
            let answered = answer(&relay, &altered, |_| Some(Vec::new()));
            assert_eq!(
                answered.map(drop),
                Err(HandshakeError::Invalid),
                "byte {place}"
            );
        }
    }
}

#[test]
fn every_altered_byte_of_the_answer_is_noticed() {
    let relay = OnionSecret::generate();
    let length = 32 + 2 + 16;
    for place in 0..length {
        let (initiator, message) = Initiator::start(&relay.public(), b"");
        let (_, answer) = answer(&relay, &message, |_| Some(b"hi".to_vec())).unwrap();
        assert_eq!(answer.len(), length);
        let mut altered = answer.to_vec();
        altered[place] ^= 0x80;
        let finished = initiator.finish(&altered);
        assert_eq!(
            finished.map(drop),
            Err(HandshakeError::Invalid),
            "byte {place}"
        );
    }
}

#[test]
fn messages_of_any_other_length_are_refused() {
    let relay = OnionSecret::generate();
    let (_, message) = Initiator::start(&relay.public(), b"hi");
    for len in 0..message.len() {
        let answered = answer(&relay, &message[..len], |_| Some(Vec::new()));
        assert_eq!(
            answered.map(drop),
            Err(HandshakeError::Invalid),
            "{len} bytes"
        );
    }
    for len in [0, 1, 31, 32, 47, 51, 600] {
        let (initiator, _) = Initiator::start(&relay.public(), b"");
        let finished = initiator.finish(&vec![9; len]);
        assert_eq!(
            finished.map(drop),
            Err(HandshakeError::Invalid),
            "{len} bytes"
        );
    }
}

#[test]
fn a_replayed_request_gives_other_keys() {
    let relay = OnionSecret::generate();
    let (initiator, message) = Initiator::start(&relay.public(), b"");
    let answers = [(); 2].map(|()| answer(&relay, &message, |_| Some(Vec::new())).unwrap());
    let [(mut first, to_client), (mut second, to_replayer)] = answers;
    assert_ne!(to_client, to_replayer);
    assert!(!same_keys(&mut first, &mut second));
    let (mut ours, _) = initiator.finish(&to_client).unwrap();
    assert!(same_keys(&mut ours, &mut first));
    assert!(!same_keys(&mut ours, &mut second));
}

#[test]
fn an_answer_of_another_handshake_is_refused() {
    let relay = OnionSecret::generate();
    let (_, first) = Initiator::start(&relay.public(), b"");
    let (second, _) = Initiator::start(&relay.public(), b"");
    let (_, answer) = answer(&relay, &first, |_| Some(Vec::new())).unwrap();
    assert_eq!(
        second.finish(&answer).map(drop),
        Err(HandshakeError::Invalid)
    );
}

#[test]
fn a_relay_may_refuse() {
    let relay = OnionSecret::generate();
    let (_, message) = Initiator::start(&relay.public(), b"");
    let refused = answer(&relay, &message, |_| None);
    assert_eq!(refused.map(drop), Err(HandshakeError::Refused));
}

#[test]
fn keys_of_low_order_are_refused() {
    let (initiator, message) = Initiator::start(&OnionPublic([0; 32]), b"");
    assert!(message.is_empty());
    assert_eq!(
        initiator.finish(&[0; 48]).map(drop),
        Err(HandshakeError::Invalid)
    );
    let answered = answer(&OnionSecret::generate(), &[0; 48], |_| Some(Vec::new()));
    assert_eq!(answered.map(drop), Err(HandshakeError::Invalid));
}

#[test]
fn hops_and_directions_have_different_keys() {
    let (mut one, _) = agree();
    let (mut other, _) = agree();
    assert!(!same_keys(&mut one, &mut other));
    let mut bodies = [[0; 509]; 2];
    one.forward.apply_layer(0, &mut bodies[0]);
    one.backward.apply_layer(0, &mut bodies[1]);
    assert_ne!(bodies[0], bodies[1]);
}
