//! Our primitives against the test vectors of Cacophony, another implementation of Noise
//! (`vectors/cacophony.txt` of its repository, the entry of this pattern).

use snow::params::NoiseParams;
use snow::{Builder, HandshakeState};

use super::*;

const PATTERN: &str = "Noise_NK_25519_AESGCM_SHA256";
const PROLOGUE: &str = "4a6f686e2047616c74";
const CLIENT_EPHEMERAL: &str = "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
const RELAY_PUBLIC: &str = "31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62";
const RELAY_STATIC: &str = "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893";
const RELAY_EPHEMERAL: &str = "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
const HASH: &str = "f8a87aa8add4fea6e33365b89637486c2f6564546ce29d1df9ce9abf78c507d7";

/// Payload and message of the handshake, then of the first message in each direction behind it.
const MESSAGES: [(&str, &str); 4] = [
    (
        "4c756477696720766f6e204d69736573",
        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944\
         75ab4d66d222457dd414bc5f296bc7b4078cc7d72af5192628b68bca7d28844b",
    ),
    (
        "4d757272617920526f746862617264",
        "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843\
         03c7d89310502baa8299520ba451624c3c0492e2698f8d457c32400b91fd8a",
    ),
    (
        "462e20412e20486179656b",
        "304f70c37c93573099228016d54cb15213af94eb598d1b17df1153",
    ),
    (
        "4361726c204d656e676572",
        "a1bf6c954529f29b31d8ae9f67d2c18dbd332aa1a0918690c6d80b",
    ),
];

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn side(keys: impl FnOnce(Builder<'_>) -> HandshakeState) -> HandshakeState {
    let params: NoiseParams = PATTERN.parse().unwrap();
    let prologue = bytes(PROLOGUE);
    let builder = Builder::with_resolver(params, Box::new(Primitives));
    keys(builder.prologue(&prologue).unwrap())
}

fn client() -> HandshakeState {
    let (ephemeral, relay) = (bytes(CLIENT_EPHEMERAL), bytes(RELAY_PUBLIC));
    side(|builder| {
        let builder = builder.fixed_ephemeral_key_for_testing_only(&ephemeral);
        builder
            .remote_public_key(&relay)
            .unwrap()
            .build_initiator()
            .unwrap()
    })
}

fn relay() -> HandshakeState {
    let (ephemeral, key) = (bytes(RELAY_EPHEMERAL), bytes(RELAY_STATIC));
    side(|builder| {
        let builder = builder.fixed_ephemeral_key_for_testing_only(&ephemeral);
        builder
            .local_private_key(&key)
            .unwrap()
            .build_responder()
            .unwrap()
    })
}

/// Sends one message of the vector and compares it on both sides.
fn pass(from: &mut HandshakeState, to: &mut HandshakeState, (payload, message): (&str, &str)) {
    let (mut sent, mut read) = ([0; 100], [0; 100]);
    let len = from.write_message(&bytes(payload), &mut sent).unwrap();
    assert_eq!(sent[..len], bytes(message));
    let len = to.read_message(&sent[..len], &mut read).unwrap();
    assert_eq!(read[..len], bytes(payload));
}

#[test]
fn handshake_and_keys_are_those_of_the_vectors() {
    let (mut client, mut relay) = (client(), relay());
    pass(&mut client, &mut relay, MESSAGES[0]);
    pass(&mut relay, &mut client, MESSAGES[1]);
    assert_eq!(client.get_handshake_hash(), bytes(HASH));

    let (forward, backward) = client.dangerously_get_raw_split();
    assert_eq!((forward, backward), relay.dangerously_get_raw_split());
    for (key, (payload, message)) in [(forward, MESSAGES[2]), (backward, MESSAGES[3])] {
        let mut cipher = Aes256Gcm(None);
        cipher.set(&key);
        let mut sealed = [0; 100];
        let len = cipher.encrypt(0, &[], &bytes(payload), &mut sealed);
        assert_eq!(sealed[..len], bytes(message));
    }
}

#[test]
fn other_primitives_are_not_offered() {
    let resolver = Primitives;
    assert!(resolver.resolve_dh(&DHChoice::Curve448).is_none());
    assert!(resolver.resolve_cipher(&CipherChoice::ChaChaPoly).is_none());
    assert!(resolver.resolve_hash(&HashChoice::Blake2s).is_none());
}
