//! Payloads of real bytes: cut from data, read back, and read from arbitrary bytes.

use bytes::BytesMut;
use hopflow_onion::OnionPayload;
use hopflow_units::{Instant, StreamId};
use hopflow_wire::{CELL_PAYLOAD, DecodeError, Payload, RelayCommand, RelayHeader};
use proptest::prelude::*;

fn header(command: RelayCommand, len: u16) -> RelayHeader {
    RelayHeader {
        command,
        stream: StreamId::new(0x0102),
        len,
        number: if command.is_numbered() {
            0x0304_0506
        } else {
            0
        },
    }
}

#[test]
fn data_fills_what_tag_and_header_leave() {
    assert_eq!(OnionPayload::capacity(RelayCommand::Data), 488);
    assert_eq!(OnionPayload::capacity(RelayCommand::NumberedData), 484);
}

#[test]
fn bytes_lie_where_the_layout_says() {
    let mut data = BytesMut::from(&b"hi"[..]);
    let numbered = header(RelayCommand::NumberedData, 2);
    let payload = OnionPayload::cut(numbered, &mut data, Instant::ZERO);
    let bytes = payload.bytes();
    assert_eq!(bytes[..16], [0; 16]);
    assert_eq!(bytes[16..27], [24, 1, 2, 0, 2, 3, 4, 5, 6, b'h', b'i']);
    assert_eq!(bytes[27..], [0; 482]);
}

#[test]
fn every_command_survives() {
    for command in RelayCommand::ALL {
        let header = header(command, 0);
        let payload = OnionPayload::control(header, Instant::ZERO);
        assert_eq!(payload.header(), Ok(header));
        assert_eq!(payload.data(), b"");
    }
}

#[test]
fn what_a_cell_has_behind_its_data_cannot_be_foreseen_if_its_proof_is_asked_for() {
    for (len, free) in [(472, 16), (0, 16), (480, 8), (488, 0)] {
        let end = 21 + usize::from(len);
        let payloads = [(); 2].map(|()| {
            let mut data = BytesMut::from(&[7; 500][..]);
            let header = header(RelayCommand::Data, len);
            let payload = OnionPayload::cut_secret(header, &mut data, Instant::ZERO);
            assert_eq!(payload.data(), vec![7; usize::from(len)]);
            assert_eq!(data.len(), 500 - usize::from(len));
            assert!(payload.bytes()[end + free..].iter().all(|byte| *byte == 0));
            payload.bytes()[end..end + free].to_vec()
        });
        assert_eq!(payloads[0] == payloads[1], free == 0, "{len} bytes");
    }
}

#[test]
fn a_sendme_shows_what_it_proves() {
    let proof = [9; 16];
    let header = header(RelayCommand::Sendme, 0);
    let sendme = OnionPayload::proving(header, &proof, Instant::ZERO);
    assert_eq!(sendme.shown(), Some(proof));
    assert_eq!(sendme.header(), Ok(RelayHeader { len: 16, ..header }));
    let without = OnionPayload::control(header, Instant::ZERO);
    assert_eq!(without.shown(), None);
}

#[test]
fn unknown_commands_and_lengths_are_errors_and_hold_no_data() {
    let mut payload = OnionPayload::control(header(RelayCommand::Data, 0), Instant::ZERO);
    payload.bytes_mut()[16] = 99;
    assert_eq!(payload.header(), Err(DecodeError::UnknownCommand(99)));
    assert_eq!(payload.data(), b"");
    for (command, len) in [
        (RelayCommand::Data, 489_u16),
        (RelayCommand::NumberedData, 485),
    ] {
        let bytes = payload.bytes_mut();
        bytes[16] = command as u8;
        bytes[19..21].copy_from_slice(&len.to_be_bytes());
        assert_eq!(payload.header(), Err(DecodeError::Length(len)));
        assert_eq!(payload.data(), b"");
    }
}

#[test]
fn contents_are_not_printed() {
    let mut data = BytesMut::from(&b"secret"[..]);
    let payload = OnionPayload::cut(header(RelayCommand::Data, 6), &mut data, Instant::ZERO);
    assert_eq!(format!("{payload:?}"), "OnionPayload(..)");
}

proptest! {
    #[test]
    fn cells_give_back_the_data_they_were_cut_from(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 0..4),
        lens in prop::collection::vec(0_usize..=484, 1..20),
        numbered: bool,
    ) {
        let command = if numbered { RelayCommand::NumberedData } else { RelayCommand::Data };
        let mut data = BytesMut::new();
        for piece in &pieces {
            OnionPayload::append(&mut data, BytesMut::from(&piece[..]));
        }
        let mut joined = Vec::new();
        for len in lens {
            let len = len.min(data.len());
            let payload = OnionPayload::cut(header(command, len as u16), &mut data, Instant::ZERO);
            let mut bytes = [0; CELL_PAYLOAD];
            payload.write(&mut bytes);
            let read = OnionPayload::read(&bytes);
            prop_assert_eq!(read.header(), Ok(header(command, len as u16)));
            joined.extend_from_slice(read.data());
        }
        joined.extend_from_slice(&data);
        prop_assert_eq!(joined, pieces.concat());
    }

    #[test]
    fn arbitrary_bytes_are_a_header_or_an_error(
        bytes in prop::collection::vec(any::<u8>(), CELL_PAYLOAD),
    ) {
        let bytes: [u8; CELL_PAYLOAD] = bytes.try_into().unwrap();
        let payload = OnionPayload::read(&bytes);
        let len = payload.header().map_or(0, |header| header.len as usize);
        prop_assert_eq!(payload.data().len(), len);
    }
}

#[test]
fn clones_share_bytes_until_one_is_altered() {
    let mut cell = OnionPayload::read(&[1; CELL_PAYLOAD]);
    let clone = cell.clone();
    assert_eq!(cell.bytes().as_ptr(), clone.bytes().as_ptr());
    cell.bytes_mut()[7] = 2;
    assert_eq!(clone.bytes(), &[1; CELL_PAYLOAD]);
    assert_eq!(cell.bytes()[6..9], [1, 2, 1]);
}

#[test]
fn the_buffer_of_a_cell_that_is_gone_is_used_again() {
    let cell = OnionPayload::read(&[1; CELL_PAYLOAD]);
    let (place, clone) = (cell.bytes().as_ptr(), cell.clone());
    drop(cell);
    let other = OnionPayload::read(&[2; CELL_PAYLOAD]);
    assert_ne!(other.bytes().as_ptr(), place);
    assert_eq!(clone.bytes(), &[1; CELL_PAYLOAD]);
    drop(clone);
    let header = RelayHeader::control(RelayCommand::End, StreamId::new(3));
    let again = OnionPayload::control(header, Instant::ZERO);
    assert_eq!(again.bytes().as_ptr(), place);
    let zeros = again.bytes().split(|byte| *byte == 0).count() - 1;
    assert_eq!(
        zeros,
        CELL_PAYLOAD - 2,
        "nothing of the former cell is left"
    );
}
