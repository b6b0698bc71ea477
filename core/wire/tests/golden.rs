//! Golden bytes: the layout of `docs/spec/wire.md`, whose examples these are.

use hopflow_units::{CircuitId, Instant, StreamId};
use hopflow_wire::{
    CELL_PAYLOAD, Carrier, Cell, CellAck, CellFlags, CellSeq, Destroy, Feedback, Frame, Message,
    Neighbour, Payload, RawPayload, Reason, RelayCommand, RelayHeader, Sack,
};

const SPEC: &str = include_str!("../../../docs/spec/wire.md");
const CIRCUIT: CircuitId = CircuitId::new(0x0102);

/// A cell with a relay header and the given data; every byte behind is zero.
fn cell(command: RelayCommand, number: u32, data: &[u8]) -> Frame<RawPayload> {
    let header = RelayHeader {
        command,
        stream: StreamId::new(7),
        len: data.len() as u16,
        number,
    };
    let mut waiting = data.iter().copied().collect();
    Frame::Cell(Cell {
        circuit: CIRCUIT,
        flags: CellFlags(0x05),
        seq: CellSeq::from_wire(0x0A0B_0C0D),
        payload: RawPayload::cut(header, &mut waiting, Instant::default()),
    })
}

fn feedback(out_of_order: u8, word: Option<u16>) -> Frame<RawPayload> {
    Frame::Feedback(Feedback {
        circuit: CIRCUIT,
        ack: CellSeq::of(0x11),
        fwd: CellSeq::of((1 << 32) + 0x0E),
        out_of_order,
        word,
        padded: false,
    })
}

/// The bytes as the specification prints them: a cell's trailing zeros left out.
fn printed(frame: &Frame<RawPayload>, carrier: Carrier) -> String {
    let mut bytes = Vec::new();
    frame.encode(carrier, &mut bytes);
    let shown = match frame {
        Frame::Cell(_) => bytes.len() - bytes.iter().rev().take_while(|byte| **byte == 0).count(),
        _ => bytes.len(),
    };
    bytes[..shown]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn frames_have_the_bytes_of_the_specification() {
    use Carrier::{Datagram, Stream};
    let Frame::Feedback(told) = feedback(0, Some(0x3132)) else {
        unreachable!("it is feedback");
    };
    let sack = Frame::Sack(Box::new(Sack {
        feedback: told,
        arrived: [(5, 9), (1, 3), (0, 0)],
    }));
    let destroy = Frame::Destroy(Destroy {
        circuit: CIRCUIT,
        reason: Reason::Excess,
    });
    let message = Frame::Message(Box::new(Message {
        circuit: CIRCUIT,
        sender: Neighbour::Successor,
        body: vec![0x41, 0x42],
    }));
    let hello = cell(RelayCommand::Data, 0, b"hi");
    let numbered = cell(RelayCommand::NumberedData, 0x2122_2324, b"hi");
    let acknowledged = Frame::Cell(Cell {
        circuit: CIRCUIT,
        flags: CellFlags::CONTROL,
        seq: CellSeq::of(9),
        payload: RawPayload::acknowledgement(&CellAck {
            next: CellSeq::from_wire(0x2122_2324),
            window: 2105,
            arrived: [(5, 9), (0, 0), (0, 0)],
            answered: 2,
            attempt: 3,
        }),
    });
    let header = "00 07 00 00 00 00 00 00 00 02";
    let golden = [
        (&hello, Stream, format!("01 02 03 {header} 02 68 69")),
        (
            &hello,
            Datagram,
            format!("01 02 03 05 0a 0b 0c 0d {header} 02 68 69"),
        ),
        (
            &numbered,
            Stream,
            format!("01 02 03 {header} 18 21 22 23 24 68 69"),
        ),
        (
            &acknowledged,
            Datagram,
            "01 02 03 80 00 00 00 09 00 00 00 00 00 00 00 00 00 11 1b 21 22 23 24 08 39 \
             00 05 00 09 00 00 00 00 00 00 00 00 00 02 03"
                .into(),
        ),
        (
            &feedback(3, None),
            Datagram,
            "01 02 0c 03 00 00 00 11 00 00 00 0e".into(),
        ),
        (
            &feedback(0, Some(0x3132)),
            Datagram,
            "01 02 0c 80 00 00 00 11 00 00 00 0e 31 32".into(),
        ),
        (
            &sack,
            Datagram,
            "01 02 10 80 00 00 00 11 00 00 00 0e 31 32 00 05 00 09 00 01 00 03 00 00 00 00".into(),
        ),
        (&Frame::Probe(CIRCUIT), Datagram, "01 02 0d".into()),
        (&destroy, Stream, "01 02 04 02".into()),
        (&message, Datagram, "01 02 0f 01 00 02 41 42".into()),
    ];
    for (frame, carrier, bytes) in golden {
        assert_eq!(printed(frame, carrier), bytes);
        assert!(
            SPEC.contains(&format!("`{bytes}`")),
            "docs/spec/wire.md lacks {bytes}"
        );
    }
}

#[test]
fn a_cell_has_512_bytes_on_a_stream_and_517_in_a_datagram() {
    let cell = cell(RelayCommand::Data, 0, &[0xFF; 498]);
    for (carrier, len) in [(Carrier::Stream, 512), (Carrier::Datagram, 517)] {
        let mut bytes = Vec::new();
        cell.encode(carrier, &mut bytes);
        assert_eq!(bytes.len(), len);
        assert_eq!(bytes[len - CELL_PAYLOAD + 11..], [0xFF; 498]);
    }
}
