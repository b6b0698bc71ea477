//! What is encoded decodes to the same value, and is as long as promised.

use std::collections::VecDeque;

use hopflow_units::{Bytes, CircuitId, Instant, StreamId};
use hopflow_wire::{
    Arrived, CELL_PAYLOAD, Carrier, Cell, CellFlags, CellSeq, DecodeError, Destroy, Feedback,
    Frame, Frames, Message, Neighbour, Payload, RawPayload, Reason, RelayCommand, RelayHeader,
    Sack,
};
use proptest::prelude::*;

fn carriers() -> impl Strategy<Value = Carrier> {
    prop_oneof![Just(Carrier::Stream), Just(Carrier::Datagram)]
}

fn circuits() -> impl Strategy<Value = CircuitId> {
    any::<u16>().prop_map(CircuitId::new)
}

fn seqs() -> impl Strategy<Value = CellSeq> {
    any::<u32>().prop_map(CellSeq::from_wire)
}

fn payloads() -> impl Strategy<Value = RawPayload> {
    prop::collection::vec(any::<u8>(), CELL_PAYLOAD).prop_map(|bytes| {
        RawPayload(
            bytes
                .into_boxed_slice()
                .try_into()
                .expect("as many bytes as a payload has"),
        )
    })
}

fn cells(carrier: Carrier) -> impl Strategy<Value = Frame<RawPayload>> {
    (circuits(), any::<u8>(), seqs(), payloads()).prop_map(move |(circuit, flags, seq, payload)| {
        let (flags, seq) = match carrier {
            Carrier::Stream => (CellFlags::default(), CellSeq::default()),
            Carrier::Datagram => (CellFlags(flags), seq),
        };
        Frame::Cell(Cell {
            circuit,
            flags,
            seq,
            payload,
        })
    })
}

fn feedback() -> impl Strategy<Value = Feedback> {
    let out_of_order = 0..=Feedback::MAX_OUT_OF_ORDER;
    (
        circuits(),
        seqs(),
        seqs(),
        out_of_order,
        any::<(Option<u16>, bool)>(),
    )
        .prop_map(
            |(circuit, ack, fwd, out_of_order, (word, padded))| Feedback {
                circuit,
                ack,
                fwd,
                out_of_order,
                word,
                padded,
            },
        )
}

fn sacks() -> impl Strategy<Value = Frame<RawPayload>> {
    (feedback(), any::<Arrived>())
        .prop_map(|(feedback, arrived)| Frame::Sack(Box::new(Sack { feedback, arrived })))
}

fn destroys() -> impl Strategy<Value = Frame<RawPayload>> {
    let reasons = prop::sample::select(vec![
        Reason::Requested,
        Reason::Protocol,
        Reason::Excess,
        Reason::Unknown,
        Reason::Unreachable,
        Reason::Other,
    ]);
    (circuits(), reasons).prop_map(|(circuit, reason)| Frame::Destroy(Destroy { circuit, reason }))
}

fn messages() -> impl Strategy<Value = Frame<RawPayload>> {
    let senders = prop::sample::select(vec![Neighbour::Predecessor, Neighbour::Successor]);
    let bodies = prop::collection::vec(any::<u8>(), 0..=Message::MAX_BODY);
    (circuits(), senders, bodies).prop_map(|(circuit, sender, body)| {
        Frame::Message(Box::new(Message {
            circuit,
            sender,
            body,
        }))
    })
}

fn frames(carrier: Carrier) -> impl Strategy<Value = Frame<RawPayload>> {
    prop_oneof![
        cells(carrier),
        feedback().prop_map(Frame::Feedback),
        sacks(),
        circuits().prop_map(Frame::Probe),
        messages(),
        destroys()
    ]
}

fn encoded(frame: &Frame<RawPayload>, carrier: Carrier) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(carrier, &mut bytes);
    bytes
}

fn headers() -> impl Strategy<Value = RelayHeader> {
    let commands = prop::sample::select(RelayCommand::ALL.to_vec());
    (commands, any::<u16>(), any::<u32>()).prop_flat_map(|(command, stream, number)| {
        let number = if command.is_numbered() { number } else { 0 };
        (0..=RelayHeader::capacity(command) as u16).prop_map(move |len| RelayHeader {
            command,
            stream: StreamId::new(stream),
            len,
            number,
        })
    })
}

proptest! {
    #[test]
    fn every_frame_survives_a_round_trip_on_both_carriers(
        (carrier, sent) in carriers().prop_flat_map(|c| (Just(c), prop::collection::vec(frames(c), 0..5)))
    ) {
        let bytes: Vec<u8> = sent.iter().flat_map(|frame| encoded(frame, carrier)).collect();
        let received: Result<Vec<_>, _> = Frames::new(&bytes, carrier).collect();
        prop_assert_eq!(received, Ok(sent));
    }

    #[test]
    fn a_frame_is_as_long_as_it_says(
        (carrier, frame) in carriers().prop_flat_map(|c| (Just(c), frames(c)))
    ) {
        let len = Bytes::new(encoded(&frame, carrier).len() as u64);
        prop_assert_eq!(frame.wire_len(carrier), len);
    }

    #[test]
    fn a_frame_cut_short_is_truncated(
        (carrier, frame) in carriers().prop_flat_map(|c| (Just(c), frames(c))),
        cut in any::<prop::sample::Index>(),
    ) {
        // Feedback keeps its length in its flags, so that any cut shows.
        let bytes = encoded(&frame, carrier);
        let short = &bytes[..cut.index(bytes.len())];
        prop_assert_eq!(Frame::<RawPayload>::decode(short, carrier), Err(DecodeError::Truncated));
    }

    #[test]
    fn a_number_widens_to_the_count_it_came_from(reference: u64, ahead: i32) {
        if let Some(count) = reference.checked_add_signed(i64::from(ahead)) {
            prop_assert_eq!(CellSeq::of(count).widen(reference), count);
        }
    }

    #[test]
    fn a_relay_header_survives_a_round_trip(header in headers()) {
        let mut bytes = [0xAA; CELL_PAYLOAD];
        header.encode(&mut bytes);
        prop_assert_eq!(RelayHeader::decode(&bytes), Ok(header));
    }

    #[test]
    fn application_bytes_come_out_of_a_cell_as_they_went_in(header in headers(), more in 0_u8..9) {
        let sent: Vec<u8> = (0..header.len).map(|i| (i % 251) as u8).collect();
        let mut waiting: VecDeque<u8> = sent.iter().copied().chain(0..more).collect();
        let payload = RawPayload::cut(header, &mut waiting, Instant::default());
        prop_assert_eq!(payload.header(), Ok(header));
        prop_assert_eq!(payload.data(), Ok(&sent[..]));
        prop_assert!(waiting.into_iter().eq(0..more));
    }
}

#[test]
fn decoding_stops_at_the_first_error() {
    let good = encoded(&Frame::Probe(CircuitId::new(1)), Carrier::Datagram);
    let bytes = [&good[..], &[0, 1, 99], &good[..]].concat();
    let mut frames = Frames::<RawPayload>::new(&bytes, Carrier::Datagram);
    assert_eq!(frames.next(), Some(Ok(Frame::Probe(CircuitId::new(1)))));
    assert_eq!(frames.next(), Some(Err(DecodeError::UnknownType(99))));
    assert_eq!(frames.next(), None);
}

#[test]
fn more_cells_out_of_order_than_fit_are_sent_as_the_most_that_fit() {
    let feedback = Feedback {
        out_of_order: 200,
        ..Feedback::default()
    };
    let bytes = encoded(&Frame::Feedback(feedback), Carrier::Datagram);
    let Ok((Frame::Feedback(received), _)) = Frame::<RawPayload>::decode(&bytes, Carrier::Datagram)
    else {
        panic!("feedback decodes as feedback");
    };
    assert_eq!(received.out_of_order, Feedback::MAX_OUT_OF_ORDER);
    assert_eq!(received.word, None);
}

#[test]
fn two_cells_and_thirty_feedback_messages_fit_a_datagram() {
    let cells = 2 * Frame::<RawPayload>::cell_len(Carrier::Datagram).get();
    assert_eq!(cells + 30 * Feedback::LEN, 1394);
}

mod at_the_ends_of_a_circuit {
    use super::*;

    fn header_bytes(command: u8, len: u16) -> [u8; CELL_PAYLOAD] {
        let mut bytes = [0; CELL_PAYLOAD];
        bytes[8..10].copy_from_slice(&len.to_be_bytes());
        bytes[10] = command;
        bytes
    }

    #[test]
    fn an_unknown_command_is_an_error() {
        let decoded = RelayHeader::decode(&header_bytes(77, 0));
        assert_eq!(decoded, Err(DecodeError::UnknownCommand(77)));
    }

    #[test]
    fn a_length_beyond_the_cell_is_an_error() {
        assert!(RelayHeader::decode(&header_bytes(2, 498)).is_ok());
        assert_eq!(
            RelayHeader::decode(&header_bytes(2, 499)),
            Err(DecodeError::Length(499))
        );
    }

    #[test]
    fn a_numbered_cell_holds_four_bytes_less() {
        assert!(RelayHeader::decode(&header_bytes(24, 494)).is_ok());
        assert_eq!(
            RelayHeader::decode(&header_bytes(24, 495)),
            Err(DecodeError::Length(495))
        );
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let said: Vec<String> = [
        DecodeError::Truncated,
        DecodeError::UnknownType(7),
        DecodeError::UnknownCommand(8),
        DecodeError::Length(900),
    ]
    .iter()
    .map(ToString::to_string)
    .collect();
    assert_eq!(
        said,
        [
            "the bytes end within a frame",
            "frame type 7 is unknown",
            "relay command 8 is unknown",
            "900 bytes of data do not fit a cell",
        ]
    );
}
