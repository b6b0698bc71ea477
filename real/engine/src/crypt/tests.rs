use super::*;
use hopflow_onion::{Initiator, OnionPayload, OnionSecret, answer};
use hopflow_wire::Payload;

const DATA: CellFlags = CellFlags(0);
const CONTROL_CELL: CellFlags = CellFlags::CONTROL;

/// The keys of a client and of one of its hops.
fn keys() -> (HopKeys, Box<HopKeys>) {
    let secret = OnionSecret::generate();
    let (initiator, message) = Initiator::start(&secret.public(), &[]);
    let (hop, reply) = answer(&secret, &message, |_| Some(Vec::new())).unwrap();
    let (client, _) = initiator.finish(&reply).unwrap();
    (client, Box::new(hop))
}

/// A client and its only hop.
fn ends(numbering: Numbering) -> (Crypt, Crypt) {
    let (client, hop) = keys();
    let hop = Crypt::relay(hop, true, numbering);
    (Crypt::client(vec![client], numbering), hop)
}

/// A client, a middle relay and the last one, of a circuit whose ends number the cells.
fn path() -> [Crypt; 3] {
    let ((near, middle), (far, last)) = (keys(), keys());
    [
        Crypt::client(vec![near, far], Numbering::Ends),
        Crypt::relay(middle, false, Numbering::Ends),
        Crypt::relay(last, true, Numbering::Ends),
    ]
}

fn sealed(crypt: &mut Crypt, (flags, count): (CellFlags, u64), byte: u8) -> Option<Body> {
    let mut body = [byte; CELL_PAYLOAD];
    crypt
        .outgoing(Direction::Forward, (flags, CellSeq::of(count)), &mut body)
        .map(|_| body)
        .ok()
}

/// A middle relay passes a cell on.
fn passed(middle: &mut Crypt, (flags, count): (CellFlags, u64), mut body: Body) -> Body {
    let tag = (flags, CellSeq::of(count));
    assert_eq!(middle.incoming(Some(tag), &mut body), Ok(()));
    assert_eq!(
        middle.outgoing(Direction::Forward, tag, &mut body),
        Ok(None)
    );
    body
}

/// What an end reads of a cell, if it is sound.
fn opened(crypt: &mut Crypt, (flags, count): (CellFlags, u64), mut body: Body) -> Option<u8> {
    let tag = (flags, CellSeq::of(count));
    crypt.incoming(Some(tag), &mut body).ok()?;
    let (_, plain) = body.split_at(TAG);
    assert!(plain.iter().all(|byte| *byte == plain[0]));
    Some(plain[0])
}

#[test]
fn a_cell_that_is_sent_again_is_the_same_bytes_and_opens_in_any_order() {
    for numbering in [Numbering::Hops, Numbering::Ends] {
        let (mut client, mut hop) = ends(numbering);
        let cells: Vec<Body> = (0..3)
            .map(|count| sealed(&mut client, (DATA, count), 7).unwrap())
            .collect();
        assert_eq!(sealed(&mut client, (DATA, 1), 7), Some(cells[1]));
        for count in [2, 0, 1, 1] {
            let cell = (DATA, count as u64);
            assert_eq!(opened(&mut hop, cell, cells[count]), Some(7));
        }
        let mut forged = cells[0];
        forged[100] ^= 1;
        assert_eq!(opened(&mut hop, (DATA, 0), forged), None);
    }
}

#[test]
fn the_first_time_that_content_leaves_tells_its_proof_which_its_reader_gets() {
    let (mut client, mut hop) = ends(Numbering::Hops);
    for (command, count, proves) in [(2, 0, true), (2, 0, false), (5, 1, false), (3, 2, true)] {
        let mut body = [command; CELL_PAYLOAD];
        let tag = (DATA, CellSeq::of(count));
        let proof = client.outgoing(Direction::Forward, tag, &mut body);
        assert_eq!(hop.incoming(Some(tag), &mut body), Ok(()));
        let read = OnionPayload::read(&body).proof();
        assert_eq!(proof, Ok(read.filter(|_| proves)), "cell {count}");
    }
}

#[test]
fn a_cell_that_leaves_others_out_is_not_sealed() {
    for flags in [DATA, CONTROL_CELL] {
        let (mut client, _) = ends(Numbering::Ends);
        assert!(sealed(&mut client, (flags, 0), 1).is_some());
        assert!(sealed(&mut client, (flags, 2), 1).is_none());
        assert!(sealed(&mut client, (flags, 1), 1).is_some());
    }
}

#[test]
fn where_hops_repair_relays_pass_no_gaps_on_and_flags_mean_nothing() {
    let (client, relay) = keys();
    let mut client = Crypt::client(vec![client], Numbering::Hops);
    let first = sealed(&mut client, (CONTROL_CELL, 0), 1);
    assert_eq!(sealed(&mut client, (DATA, 0), 1), first);
    let mut middle = Crypt::relay(relay, false, Numbering::Hops);
    assert!(sealed(&mut middle, (DATA, 1), 1).is_none());
    assert!(sealed(&mut middle, (CONTROL_CELL, 0), 1).is_some());
    assert!(sealed(&mut middle, (DATA, 1), 1).is_some());
}

#[test]
fn no_control_cell_is_sealed_twice() {
    let (mut client, _) = ends(Numbering::Ends);
    for count in 0..3 {
        assert!(sealed(&mut client, (CONTROL_CELL, count), 1).is_some());
        assert!(sealed(&mut client, (CONTROL_CELL, count), 2).is_none());
    }
    assert!(sealed(&mut client, (CONTROL_CELL, 0), 1).is_none());
}

#[test]
fn relays_pass_cells_on_with_gaps_and_in_any_order() {
    let [mut client, mut middle, mut last] = path();
    let numbers = |control| (0..40).map(move |count| (control, count));
    let cells = numbers(DATA).chain(numbers(CONTROL_CELL));
    let cells = cells.map(|cell| (cell, sealed(&mut client, cell, cell.1 as u8).unwrap()));
    let mut cells: Vec<_> = cells.collect();
    // Some are lost before the first relay and behind it, one comes twice, later ones come first.
    cells.retain(|((_, count), _)| count % 5 > 0);
    cells.reverse();
    cells.push(cells[0]);
    for (cell, body) in cells {
        let body = passed(&mut middle, cell, body);
        if cell.1 % 7 > 0 {
            assert_eq!(opened(&mut last, cell, body), Some(cell.1 as u8));
        }
    }
}

#[test]
fn data_and_control_cells_of_one_number_are_sealed_as_different_ones() {
    let [mut client, mut middle, mut last] = path();
    let data = sealed(&mut client, (DATA, 0), 5).unwrap();
    let control = sealed(&mut client, (CONTROL_CELL, 0), 5).unwrap();
    assert_ne!(data[TAG..], control[TAG..]);
    let passed = passed(&mut middle, (DATA, 0), data);
    // A relay that makes a cell of the other kind of it is found out.
    assert_eq!(opened(&mut last, (CONTROL_CELL, 0), passed), None);
    assert_eq!(opened(&mut last, (CellFlags(3), 0), passed), Some(5));
}

#[test]
fn indices_go_on_where_sequence_numbers_wrap() {
    let wraps = u64::from(u32::MAX);
    for flags in [DATA, CONTROL_CELL] {
        let (mut client, mut hop) = ends(Numbering::Ends);
        let control = flags.is_control();
        let before = Place {
            control,
            count: wraps - 1,
        };
        client.leaving[0].note(before);
        hop.ending.note(before);
        for count in [wraps, wraps + 1] {
            let body = sealed(&mut client, (flags, count), 3).unwrap();
            assert_eq!(opened(&mut hop, (flags, count), body), Some(3));
        }
        let next = (client.leaving[0].next(control), hop.ending.next(control));
        assert_eq!(next, (wraps + 2, wraps + 2));
        // The cells of the other kind count by themselves.
        assert_eq!(client.leaving[0].next(!control), 0);
    }
}

#[test]
fn whatever_numbers_a_neighbour_makes_up_the_two_kinds_never_meet() {
    let [_, mut middle, mut last] = path();
    // As far as a number can jump, from wherever the jumps before led, up to the end.
    let jump = 1 << 31;
    for count in (0..4)
        .chain(1 << 20..(1 << 20) + 4)
        .chain(CONTROL / jump - 4..CONTROL / jump)
    {
        for flags in [DATA, CONTROL_CELL] {
            let control = flags.is_control();
            let place = Place {
                control,
                count: count * jump,
            };
            middle.leaving[0].note(place);
            last.ending.note(place);
            for crypt in [&mut middle, &mut last] {
                for ahead in [0, 1, jump - 2, jump - 1, jump, jump + 1] {
                    let tag = (flags, CellSeq::of(count * jump + ahead));
                    let mut body = [0; CELL_PAYLOAD];
                    let _ = crypt.outgoing(Direction::Forward, tag, &mut body);
                    let _ = crypt.incoming(Some(tag), &mut body);
                }
                for counts in [crypt.leaving[0], crypt.ending] {
                    assert!(counts.next(control) <= CONTROL);
                    let tag = CellSeq::of(counts.next(control));
                    let place = counts.place(control, tag);
                    assert!(place.is_none_or(|it| (it.index() >= CONTROL) == control));
                }
            }
        }
    }
    assert_eq!(middle.leaving[0].place(false, CellSeq::of(CONTROL)), None);
}
