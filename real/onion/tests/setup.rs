//! Set-up messages and their bytes.

#[path = "support/check.rs"]
mod check;
#[path = "../../../fuzz/explore.rs"]
mod explore;

use std::net::{IpAddr, SocketAddr};

use hopflow_onion::setup::{
    Handshake, HopMessage, MAX_HANDSHAKE, Refusal, SETUP_PLAIN, SetupError, SetupMessage,
};
use hopflow_onion::{Introduction, MAX_HANDSHAKE_PAYLOAD, OnionPublic, OnionSecret};
use hopflow_units::Cells;
use proptest::prelude::*;

fn handshake(len: usize) -> Handshake {
    Handshake::new((0..len).map(|i| i as u8).collect()).expect("it is short enough")
}

#[test]
fn an_extend_to_ipv6_holds_the_largest_handshake() {
    let relay = OnionSecret::generate();
    let payload = vec![7; MAX_HANDSHAKE_PAYLOAD];
    let (_, handshake) = hopflow_onion::Initiator::start(&relay.public(), &payload);
    assert_eq!((handshake.len(), MAX_HANDSHAKE), (434, 434));
    let extend = HopMessage::Extend {
        address: "[2001:db8::1]:9001".parse().unwrap(),
        fingerprint: [0xab; 32],
        handshake,
    };
    assert_eq!(HopMessage::decode(&extend.encode()), Ok(extend));
}

#[test]
fn create_lies_where_the_layout_says() {
    let create = SetupMessage::Create {
        queue_limit: Cells::new(0x0102),
        handshake: handshake(3),
        introduction: None,
    };
    let body = create.encode();
    assert_eq!(body[..11], [1, 1, 0, 0, 1, 2, 0, 3, 0, 1, 2]);
    assert_eq!(body[11..], [0; 498]);
}

#[test]
fn a_create_has_room_for_the_largest_handshake_and_an_introduction() {
    let (own, to) = (OnionSecret::generate(), OnionSecret::generate());
    let create = SetupMessage::Create {
        queue_limit: Cells::new(7),
        handshake: handshake(MAX_HANDSHAKE),
        introduction: Some(Introduction::new(
            (&own, &[9; 32]),
            (&to.public(), &[8; 32]),
        )),
    };
    let body = create.encode();
    assert_eq!((body[444], &body[445..461]), (0, &[9; 16][..]));
    assert_eq!(SetupMessage::decode(&body), Ok(create));
}

#[test]
fn a_relay_is_believed_to_be_itself_and_nobody_else() {
    let [own, to, other] = [(); 3].map(|()| OnionSecret::generate());
    let (public, of_other) = (own.public(), other.public());
    let introduction = Introduction::new((&own, &[9; 32]), (&to.public(), &[8; 32]));
    assert_eq!(introduction.hint(), Introduction::hint_of(&[9; 32]));
    let is_of = |from, own| introduction.is_of(from, own);
    assert!(is_of((&public, &[9; 32]), (&to, &[8; 32])));
    // Not to another relay, which saw what the other was told, even one that lists its onion key; not as of another one.
    assert!(!is_of((&public, &[9; 32]), (&other, &[8; 32])));
    assert!(!is_of((&public, &[9; 32]), (&to, &[7; 32])));
    assert!(!is_of((&of_other, &[9; 32]), (&to, &[8; 32])));
    assert!(!is_of((&public, &[7; 32]), (&to, &[8; 32])));
    let mut body = SetupMessage::Create {
        queue_limit: Cells::new(7),
        handshake: handshake(3),
        introduction: Some(introduction),
    }
    .encode();
    body[508] ^= 1;
    let Ok(SetupMessage::Create {
        introduction: Some(altered),
        ..
    }) = SetupMessage::decode(&body)
    else {
        panic!("it has an introduction");
    };
    assert!(!altered.is_of((&public, &[9; 32]), (&to, &[8; 32])));
}

#[test]
fn nobody_is_introduced_to_a_key_of_low_order() {
    let (own, weak) = (OnionSecret::generate(), OnionPublic([0; 32]));
    let introduction = Introduction::new((&own, &[9; 32]), (&weak, &[8; 32]));
    assert!(!introduction.is_of((&weak, &[9; 32]), (&own, &[8; 32])));
}

#[test]
fn extend_lies_where_the_layout_says() {
    let extend = HopMessage::Extend {
        address: "192.0.2.1:9001".parse().unwrap(),
        fingerprint: [0xab; 32],
        handshake: handshake(2),
    };
    let plain = extend.encode();
    assert_eq!(plain[..6], [1, 4, 192, 0, 2, 1]);
    assert_eq!(plain[6..18], [0; 12]);
    assert_eq!(plain[18..20], 9001_u16.to_be_bytes());
    assert_eq!(plain[20..52], [0xab; 32]);
    assert_eq!(plain[52..56], [0, 2, 0, 1]);
}

#[test]
fn what_is_unknown_is_named() {
    assert_eq!(
        SetupMessage::decode(&[9; 509]),
        Err(SetupError::UnknownKind(9))
    );
    let mut body = [0; 509];
    body[..2].copy_from_slice(&[2, 7]);
    assert_eq!(
        SetupMessage::decode(&body),
        Err(SetupError::UnknownVersion(7))
    );
    assert_eq!(
        HopMessage::decode(&[0; SETUP_PLAIN]),
        Err(SetupError::UnknownKind(0))
    );
    let mut plain = [0; SETUP_PLAIN];
    plain[..2].copy_from_slice(&[1, 5]);
    assert_eq!(
        HopMessage::decode(&plain),
        Err(SetupError::UnknownFamily(5))
    );
}

#[test]
fn handshakes_that_are_too_long_are_refused_in_every_message() {
    assert_eq!(Handshake::new(vec![0; MAX_HANDSHAKE + 1]), None);
    for len in [435_u16, 501, u16::MAX] {
        let mut body = [0; 509];
        body[..2].copy_from_slice(&[1, 1]);
        body[6..8].copy_from_slice(&len.to_be_bytes());
        assert_eq!(SetupMessage::decode(&body), Err(SetupError::Length(len)));
        let mut plain = [0; SETUP_PLAIN];
        plain[..2].copy_from_slice(&[1, 4]);
        plain[52..54].copy_from_slice(&len.to_be_bytes());
        assert_eq!(HopMessage::decode(&plain), Err(SetupError::Length(len)));
        let mut plain = [0; SETUP_PLAIN];
        plain[0] = 2;
        plain[5..7].copy_from_slice(&len.to_be_bytes());
        assert_eq!(HopMessage::decode(&plain), Err(SetupError::Length(len)));
    }
}

#[test]
fn reasons_of_later_versions_are_readable() {
    let mut plain = [0; SETUP_PLAIN];
    plain[..2].copy_from_slice(&[3, 200]);
    let reason = Refusal::Other;
    assert_eq!(
        HopMessage::decode(&plain),
        Ok(HopMessage::Refused { reason })
    );
}

#[test]
fn limits_that_do_not_fit_stand_for_none() {
    for cells in [u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX] {
        let created = SetupMessage::Created {
            queue_limit: Cells::new(cells),
            handshake: handshake(0),
        };
        let read = SetupMessage::decode(&created.encode());
        let unlimited = SetupMessage::Created {
            queue_limit: Cells::MAX,
            handshake: handshake(0),
        };
        assert_eq!(read, Ok(unlimited));
    }
}

fn handshakes() -> impl Strategy<Value = Handshake> {
    prop::collection::vec(any::<u8>(), 0..=MAX_HANDSHAKE)
        .prop_map(|bytes| Handshake::new(bytes).expect("it is short enough"))
}

fn limits() -> impl Strategy<Value = Cells> {
    prop_oneof![
        (0..u64::from(u32::MAX)).prop_map(Cells::new),
        Just(Cells::MAX)
    ]
}

fn sealed() -> impl Strategy<Value = Box<[u8; 504]>> {
    prop::collection::vec(any::<u8>(), 504)
        .prop_map(|bytes| Box::new(bytes.try_into().expect("it has that length")))
}

fn introductions() -> impl Strategy<Value = Introduction> {
    let keys = any::<([u8; 32], [u8; 32], [u8; 32])>();
    keys.prop_map(|(own, fingerprint, to)| {
        let [own, to] = [own, to].map(OnionSecret::from_bytes);
        Introduction::new((&own, &fingerprint), (&to.public(), &[8; 32]))
    })
}

fn messages() -> impl Strategy<Value = SetupMessage> {
    prop_oneof![
        (limits(), handshakes(), prop::option::of(introductions())).prop_map(
            |(queue_limit, handshake, introduction)| SetupMessage::Create {
                queue_limit,
                handshake,
                introduction,
            }
        ),
        (limits(), handshakes()).prop_map(|(queue_limit, handshake)| SetupMessage::Created {
            queue_limit,
            handshake,
        }),
        (any::<u32>(), sealed())
            .prop_map(|(counter, sealed)| SetupMessage::Forward { counter, sealed }),
        (any::<u32>(), sealed())
            .prop_map(|(counter, sealed)| SetupMessage::Backward { counter, sealed }),
    ]
}

fn hop_messages() -> impl Strategy<Value = HopMessage> {
    let reasons = prop::sample::select(vec![
        Refusal::Unreachable,
        Refusal::Identity,
        Refusal::Declined,
        Refusal::NotAllowed,
        Refusal::Busy,
        Refusal::Malformed,
        Refusal::Other,
    ]);
    prop_oneof![
        (
            any::<IpAddr>(),
            any::<u16>(),
            any::<[u8; 32]>(),
            handshakes()
        )
            .prop_map(|(ip, port, fingerprint, handshake)| HopMessage::Extend {
                address: SocketAddr::new(ip, port),
                fingerprint,
                handshake,
            }),
        (limits(), handshakes()).prop_map(|(queue_limit, handshake)| HopMessage::Extended {
            queue_limit,
            handshake,
        }),
        reasons.prop_map(|reason| HopMessage::Refused { reason }),
    ]
}

proptest! {
    #[test]
    fn every_message_survives(message in messages()) {
        prop_assert_eq!(SetupMessage::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn every_hop_message_survives(message in hop_messages()) {
        prop_assert_eq!(HopMessage::decode(&message.encode()), Ok(message));
    }

    #[test]
    fn arbitrary_bytes_are_a_message_or_an_error(
        kind in 0_u8..6,
        second in 0_u8..8,
        rest in prop::collection::vec(any::<u8>(), 0..507),
    ) {
        check::any_bytes(&[&[kind, second], &rest[..]].concat());
    }
}

#[test]
fn fuzzing_set_up_messages_finds_nothing() {
    explore::explore("setup", check::any_bytes);
}
