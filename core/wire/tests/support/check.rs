//! What must hold for any bytes that a peer may send. The tests and the fuzz target, which lives
//! outside of the workspace, share this file.

use hopflow_wire::{Carrier, Destroy, Frame, Frames, RawPayload, Reason, RelayHeader};

/// Decodes `bytes` as both carriers would and checks every frame found.
///
/// # Panics
/// If decoding is not total, or if a frame and its encoding disagree.
pub(crate) fn any_bytes(bytes: &[u8]) {
    for carrier in [Carrier::Stream, Carrier::Datagram] {
        let mut consumed = 0;
        let mut failed = false;
        for frame in Frames::<RawPayload>::new(bytes, carrier) {
            assert!(!failed, "a frame follows an error");
            match frame {
                Ok(frame) => {
                    let end = consumed + frame.wire_len(carrier).get() as usize;
                    encodes_to(&frame, carrier, &bytes[consumed..end]);
                    consumed = end;
                }
                Err(_) => failed = true,
            }
        }
        assert!(
            failed || consumed == bytes.len(),
            "bytes vanished without an error"
        );
    }
}

/// Encodes `frame` and decodes it again. The result differs from the bytes it came from in
/// nothing but the padding of feedback and the number of a reason that is not known.
fn encodes_to(frame: &Frame<RawPayload>, carrier: Carrier, from: &[u8]) {
    let mut encoded = Vec::new();
    frame.encode(carrier, &mut encoded);
    let mut expected = from.to_vec();
    let mut told = frame.clone();
    match &mut told {
        Frame::Feedback(feedback) => feedback.padded = false,
        Frame::Sack(sack) => sack.feedback.padded = false,
        _ => {}
    }
    expected[told.wire_len(carrier).get() as usize..].fill(0);
    if let Frame::Destroy(Destroy {
        reason: Reason::Other,
        ..
    }) = frame
    {
        expected[3] = Reason::Other as u8;
    }
    assert_eq!(encoded, expected);
    let (again, rest) = Frame::decode(&encoded, carrier).expect("our own encoding decodes");
    assert_eq!((&again, rest), (frame, &[][..]));
    if let Frame::Cell(cell) = frame {
        any_payload(&cell.payload);
    }
}

/// The circuit's ends read what relays passed on without looking.
fn any_payload(payload: &RawPayload) {
    let Ok(header) = RelayHeader::decode(&payload.0) else {
        assert!(payload.data().is_err(), "data without a header");
        return;
    };
    let data = payload.data().expect("the header is sound");
    assert_eq!(data.len(), usize::from(header.len));
    let mut bytes = payload.0.clone();
    header.encode(&mut bytes);
    assert_eq!(RelayHeader::decode(&bytes), Ok(header));
}
