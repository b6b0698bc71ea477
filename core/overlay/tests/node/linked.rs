//! Circuits that an exit links: how streams begin on them.

use crate::support::PlainConfig;
use hopflow_overlay::{
    CircuitHandle, CircuitSpec, Event, Factory, HopSpec, Host, NodeEnv, StreamHandle, StreamSpec,
    Violation,
};
use hopflow_testkit::Counted;
use hopflow_units::{Bytes, Cells, CircuitId, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::{Frame, Payload, Reason, RelayCommand};

const NOW: Instant = Instant::ZERO;
const LINK: LinkId = LinkId::new(0);

/// A client and an exit that are neighbours, with two circuits.
struct Pair {
    client: Box<dyn Host<Counted>>,
    exit: Box<dyn Host<Counted>>,
    circuits: [[CircuitHandle; 2]; 2],
}

/// What went from one end to the other.
#[derive(Default)]
struct Passed {
    /// Circuits and commands of cells.
    cells: Vec<(u16, RelayCommand)>,
    /// What the receiver reported.
    events: Vec<Event<Counted>>,
}

impl Pair {
    fn new() -> Self {
        let config = PlainConfig {
            window: Some(Cells::new(4)),
            ..PlainConfig::datagrams()
        };
        let factory = config.factory();
        let node = || {
            let mut host = factory.node(&NodeEnv {
                node: NodeId::new(0),
                bucket: None,
                access: None,
                phase: 0.5,
            });
            assert_eq!(host.add_link(), LINK);
            host
        };
        let (mut client, mut exit) = (node(), node());
        let hop = |name: u16| {
            Some(HopSpec {
                link: LINK,
                circuit: CircuitId::new(name),
                queue_limit: factory.plan().link.queue_limit,
            })
        };
        let of_client = [1, 2].map(|name| {
            client.open_circuit(&CircuitSpec {
                prev: None,
                next: hop(name),
            })
        });
        let of_exit = [1, 2].map(|name| {
            exit.open_circuit(&CircuitSpec {
                prev: hop(name),
                next: None,
            })
        });
        Self {
            client,
            exit,
            circuits: [of_client, of_exit],
        }
    }

    /// The client begins a stream over these of its circuits.
    fn begin(&mut self, name: u16, legs: &[usize]) -> StreamHandle {
        let stream = self.client.open_stream(&StreamSpec {
            id: StreamId::new(name),
            legs: legs.iter().map(|&leg| self.circuits[0][leg]).collect(),
            hold: Cells::new(8),
        });
        let stream = stream.expect("the circuits are open");
        self.client
            .begin_stream(NOW, stream, vec![7; 5].into(), Bytes::new(5));
        stream
    }

    fn link(&mut self) -> bool {
        self.exit.link_circuits(&self.circuits[1], Cells::new(8))
    }

    fn exit_hears(&mut self) -> Passed {
        pass(&mut *self.client, &mut *self.exit)
    }

    fn client_hears(&mut self) -> Passed {
        pass(&mut *self.exit, &mut *self.client)
    }

    /// The exit takes all of a stream, and says something.
    fn answer(&mut self, stream: StreamHandle, cells: u64) {
        self.exit.set_credit(NOW, stream, Cells::MAX);
        write(&mut *self.exit, stream, cells);
    }
}

fn write(host: &mut dyn Host<Counted>, stream: StreamHandle, cells: u64) {
    let len = 490 * cells;
    host.write(NOW, stream, vec![1; len as usize].into(), Bytes::new(len));
}

fn pass(from: &mut dyn Host<Counted>, to: &mut dyn Host<Counted>) -> Passed {
    let (mut passed, mut frames) = (Passed::default(), Vec::new());
    while from.poll_transmit(NOW, &mut frames).is_some() {
        for frame in &frames {
            if let Frame::Cell(cell) = frame {
                let command = cell.payload.header().expect("it is well-formed").command;
                passed.cells.push((cell.circuit.get(), command));
            }
        }
        to.receive(NOW, LINK, &mut frames);
    }
    while let Some(event) = to.poll_event() {
        passed.events.push(event);
    }
    passed
}

fn begun(passed: &Passed) -> (StreamHandle, CircuitHandle) {
    match passed.events[..] {
        [
            Event::Begun {
                stream, circuit, ..
            },
        ] => (stream, circuit),
        _ => panic!("{:?}", passed.events),
    }
}

#[test]
fn what_cannot_be_a_set_is_none() {
    let mut pair = Pair::new();
    let [[client, _], [first, second]] = pair.circuits;
    for legs in [&[first][..], &[first, first], &[]] {
        assert!(!pair.exit.link_circuits(legs, Cells::new(8)));
    }
    assert!(!pair.client.link_circuits(&pair.circuits[0], Cells::new(8)));
    assert!(pair.link());
    assert!(!pair.link(), "they are one");
    pair.exit.close_circuit(NOW, second, Reason::Requested);
    assert!(!pair.exit.link_circuits(&[first, client], Cells::new(8)));
    let closed = std::iter::from_fn(|| pair.exit.poll_event());
    let closed = closed.filter(|event| matches!(event, Event::Closed { .. }));
    assert_eq!(closed.count(), 2, "a set ends with any of its circuits");
    let mut pair = Pair::new();
    pair.begin(1, &[0]);
    pair.exit_hears();
    assert!(!pair.link(), "one has a stream");
}

#[test]
fn the_client_uses_other_circuits_once_the_exit_has_answered() {
    let mut pair = Pair::new();
    assert!(pair.link());
    let near = pair.begin(1, &[0, 1]);
    write(&mut *pair.client, near, 20);
    let passed = pair.exit_hears();
    assert_eq!(passed.cells[0], (1, RelayCommand::Begin));
    let rest = &passed.cells[1..];
    assert_eq!(rest, [(1, RelayCommand::NumberedData); 3], "a window");
    let (far, circuit) = begun(&passed);
    assert_eq!(circuit, pair.circuits[1][0]);
    pair.answer(far, 20);
    let passed = pair.client_hears();
    let over = |circuit| passed.cells.iter().filter(|cell| cell.0 == circuit).count();
    assert_eq!([over(1), over(2)], [4, 4], "the exit uses both");
    let second = pair
        .exit_hears()
        .cells
        .iter()
        .filter(|cell| cell.0 == 2)
        .count();
    assert_eq!(second, 4, "and so does the client then");
}

#[test]
fn a_stream_begins_on_the_first_circuit_only() {
    let mut pair = Pair::new();
    assert!(pair.link());
    pair.begin(1, &[1]);
    let passed = pair.exit_hears();
    let closed = passed.events.iter().map(|event| match event {
        Event::Closed {
            circuit, violation, ..
        } => (*circuit, *violation),
        other => panic!("{other:?}"),
    });
    let wrong = Violation::Unexpected(RelayCommand::Begin);
    let [first, second] = pair.circuits[1];
    let set = [(second, Some(wrong)), (first, None)];
    assert_eq!(closed.collect::<Vec<_>>(), set, "the whole set ends");
}

#[test]
fn messages_about_links_go_from_clients_to_exits_and_back() {
    let mut pair = Pair::new();
    let [client, exit] = pair.circuits.map(|circuits| circuits[1]);
    for (passes_to_exit, from) in [(true, client), (false, exit)] {
        let message = vec![3; 34].into();
        let passed = if passes_to_exit {
            pair.client.send_link(NOW, from, message, Bytes::new(34));
            pair.exit_hears()
        } else {
            pair.exit.send_link(NOW, from, message, Bytes::new(34));
            pair.client_hears()
        };
        let [Event::Link { circuit, message }] = &passed.events[..] else {
            panic!("{:?}", passed.events);
        };
        assert_eq!(*circuit, if passes_to_exit { exit } else { client });
        assert_eq!(message.data(), Ok(&[3; 34][..]));
    }
}
