//! Clients that acknowledge a download: only who has read it can (proposal 289).

use hopflow_engine::Limits;
use hopflow_overlay::Violation;
use hopflow_units::Duration;
use hopflow_wire::{Payload, RelayCommand};

use crate::life;
use crate::neighbour::Neighbour;

/// Transports with the first window of a circuit, and the cells that a SENDME acknowledges.
const WINDOWS: [(&str, usize, usize); 2] = [
    ("vanilla-circuit-window", 1000, 100),
    ("tor-vegas", 124, 31),
];

/// A client that has a download from its only relay, and reads what comes.
struct Reader {
    relay: Neighbour,
    every: usize,
}

impl Reader {
    /// A client that has read the first window and acknowledged nothing.
    fn new((transport, window, every): (&str, usize, usize)) -> Self {
        let mut relay = Neighbour::of(transport, Limits::default());
        relay.read = Some(Vec::new());
        relay.create(1);
        relay.cell(1, &life::BEGIN, 0);
        let mut reader = Self { relay, every };
        reader.read_on();
        assert_eq!(reader.read(), window, "{transport}");
        reader
    }

    /// Lets the relay send what it may.
    fn read_on(&mut self) {
        // A stream that is gone takes any data, and drops it.
        while !self.relay.closed.contains(&1) {
            let before = self.read();
            let relay = &mut self.relay;
            let stream = relay.begun[0];
            while relay.engine.write(relay.now, stream, &[7; 10_000]) > 0 {}
            relay.drain();
            // Schedulers take turns.
            relay.wait(Duration::from_millis(10));
            if self.read() == before {
                return;
            }
        }
    }

    /// Cells of the download that were read.
    fn read(&self) -> usize {
        let read = self.relay.read.iter().flatten();
        let commands = read.map(|cell| cell.header().map(|header| header.command));
        commands
            .filter(|command| *command == Ok(RelayCommand::Data))
            .count()
    }

    /// What proves that a cell was read.
    fn proof(&self, cell: usize) -> Vec<u8> {
        let read = self.relay.read.as_ref().expect("the client reads");
        read[cell].proof().expect("cells are sealed").to_vec()
    }

    /// What the SENDME of this number must show.
    fn due(&self, number: usize) -> Vec<u8> {
        self.proof((number + 1) * self.every - 1)
    }

    /// Sends a SENDME about the circuit that shows this.
    fn acknowledge(&mut self, shown: &[u8]) {
        let mut plain = vec![5, 0, 0, 0, shown.len() as u8];
        plain.extend_from_slice(shown);
        self.relay.cell(1, &plain, 0);
        self.read_on();
    }

    fn is_closed(&mut self) -> bool {
        let closed = self.relay.closed.contains(&1);
        assert_eq!(closed, self.relay.engine.counters().circuits == 0);
        let violation = self.relay.engine.poll_violation();
        assert_eq!(violation, closed.then_some(Violation::Unproven));
        closed
    }
}

/// What a SENDME shows.
type Shown<'a> = &'a dyn Fn(&Reader) -> Vec<u8>;

#[test]
fn each_sendme_that_shows_the_cell_it_acknowledges_lets_more_cells_go() {
    for transport in WINDOWS {
        let mut reader = Reader::new(transport);
        for number in 0..50 {
            reader.acknowledge(&reader.due(number));
            assert!(!reader.is_closed(), "{transport:?}: SENDME {number}");
        }
        let read = reader.read();
        assert!(read > 50 * reader.every, "{transport:?}: {read} cells");
    }
}

#[test]
fn who_acknowledges_what_it_has_not_read_loses_its_circuit() {
    for transport in WINDOWS {
        let every = transport.2;
        let short = |reader: &Reader| reader.due(0)[..15].to_vec();
        let long = |reader: &Reader| [&reader.due(0)[..], &[0]].concat();
        let shown: [(&str, Shown<'_>); 8] = [
            ("nothing", &|_| Vec::new()),
            ("zeros", &|_| vec![0; 16]),
            ("the cell before", &|reader| reader.proof(every - 2)),
            ("the cell behind", &|reader| reader.proof(every)),
            ("the first cell", &|reader| reader.proof(0)),
            ("the next SENDME's", &|reader| reader.due(1)),
            ("a part", &short),
            ("more than a proof", &long),
        ];
        for (what, shown) in shown {
            let mut reader = Reader::new(transport);
            let before = reader.read();
            reader.acknowledge(&shown(&reader));
            assert!(reader.is_closed(), "{transport:?} takes {what}");
            assert_eq!(reader.read(), before, "{transport:?}: no cell more");
        }
    }
}

#[test]
fn a_sendme_that_comes_twice_closes_the_circuit() {
    for transport in WINDOWS {
        let mut reader = Reader::new(transport);
        let first = reader.due(0);
        reader.acknowledge(&first);
        assert!(!reader.is_closed());
        let before = reader.read();
        reader.acknowledge(&first);
        assert!(reader.is_closed(), "{transport:?}");
        assert_eq!(reader.read(), before, "{transport:?}: no cell more");
    }
}

#[test]
fn a_sendme_about_cells_that_were_not_sent_closes_the_circuit() {
    for transport in WINDOWS {
        let mut relay = Neighbour::of(transport.0, Limits::default());
        relay.create(1);
        relay.cell(1, &life::BEGIN, 0);
        let mut plain = vec![5, 0, 0, 0, 16];
        plain.extend([9; 16]);
        relay.cell(1, &plain, 0);
        assert!(relay.closed.contains(&1), "{transport:?}");
        assert_eq!(relay.engine.poll_violation(), Some(Violation::Unproven));
    }
}
