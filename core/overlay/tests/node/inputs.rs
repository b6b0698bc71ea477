//! Inputs at the edge of what a driver may do: links that are gone, late timers, empty targets.

use crate::support::{PlainConfig, QUEUE_LIMIT};
use hopflow_overlay::{
    CircuitSpec, Direction, Event, Factory, FlowId, Gates, HopControl, HopCx, HopPlan, HopSignal,
    HopSpec, Host, Info, NodeCx, NodeEnv, Site, Stack, StreamHandle, StreamSpec, Tick, Violation,
};
use hopflow_testkit::{Bench, Counted};
use hopflow_units::{Bytes, Cells, CircuitId, Duration, Instant, LinkId, NodeId, StreamId};
use hopflow_wire::{Frame, Message, Neighbour, Payload, Reason, RelayCommand, RelayHeader};

/// A window of a cell, and one more for each link that is gone, after the flows that were over it.
#[derive(Clone, Debug, Default)]
struct Closings {
    flows: Vec<FlowId>,
    links: u64,
}

impl HopControl for Closings {
    const INFO: Info = Info::new("closings", "counts flows and links that are gone");
    type Config = PlainConfig;
    type Flow = ();

    fn plan(_: &PlainConfig) -> HopPlan {
        HopPlan::default()
    }

    fn new(_: &PlainConfig, _: &NodeEnv) -> Self {
        Self::default()
    }

    fn open(&mut self, site: &Site, gates: &mut Gates<'_>) {
        self.flows.push(site.flow);
        gates.hop.set_window(Cells::new(1 + self.links));
    }

    fn on(&mut self, (): &mut (), _: &mut HopCx<'_>, _: HopSignal<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn close(&mut self, flow: FlowId) {
        let place = self.flows.iter().position(|it| *it == flow);
        self.flows.remove(place.expect("it was opened"));
    }

    fn close_link(&mut self, link: LinkId) {
        assert_eq!((link, self.flows.len()), (LinkId::new(0), 0));
        self.links += 1;
    }
}

/// A client whose link was removed, with a new circuit on a link of the same number.
fn reopened(client: &mut Bench) {
    client.host.remove_link(client.now, LinkId::new(0));
    assert_eq!(client.host.add_link(), LinkId::new(0));
    client.circuit = client.host.open_circuit(&CircuitSpec {
        prev: None,
        next: Some(HopSpec {
            link: LinkId::new(0),
            circuit: Bench::CIRCUIT,
            queue_limit: client.plan.link.queue_limit,
        }),
    });
    client.stream = client.host.open_stream(&StreamSpec {
        id: Bench::STREAM,
        legs: vec![client.circuit],
        hold: Cells::ZERO,
    });
}

#[test]
fn a_control_hears_that_flows_and_their_link_are_gone_before_the_number_is_used_again() {
    let factory: Stack<Closings> = PlainConfig::datagrams().stack();
    let mut client = Bench::client(&factory);
    assert_eq!(client.write(Bytes::new(10_000)).cells(0), 1);
    reopened(&mut client);
    assert_eq!(client.write(Bytes::new(10_000)).cells(0), 2);
}

#[test]
fn what_is_under_way_takes_memory_only_where_it_may_be_sent_again() {
    let tcp = PlainConfig {
        forwarded: true,
        window: Some(Cells::new(8)),
        ..PlainConfig::streams()
    };
    for (config, held) in [(tcp, 4), (PlainConfig::datagrams(), 12)] {
        let mut client = Bench::client(&config.factory());
        assert_eq!(client.write(Bytes::new(10_000)).cells(0), 8);
        let view = client.host.flow_view(client.circuit, Direction::Forward);
        let view = view.expect("the circuit is open");
        assert_eq!((view.queued.get(), view.outstanding.get()), (4, 8));
        assert_eq!(view.held.get(), held);
    }
}

#[test]
fn a_stream_without_a_target_begins_before_it_ends() {
    let mut client = Bench::client(&PlainConfig::datagrams().factory());
    let stream = client.stream.expect("the circuit begins here");
    client.host.begin_stream(
        client.now,
        stream,
        std::iter::empty().collect(),
        Bytes::ZERO,
    );
    client.host.finish_stream(client.now, stream);
    let sent = client.drain();
    let commands = sent.frames.iter().filter_map(|(_, frame)| match frame {
        Frame::Cell(cell) => Some(cell.payload.header().expect("it is readable").command),
        _ => None,
    });
    let commands: Vec<_> = commands.collect();
    assert_eq!(commands, [RelayCommand::Begin, RelayCommand::End]);
}

/// Rests as soon as it is called.
#[derive(Clone, Debug)]
struct Rests;

impl HopControl for Rests {
    const INFO: Info = Info::new("rests", "wants no call until something happens");
    type Config = PlainConfig;
    type Flow = ();

    fn plan(_: &PlainConfig) -> HopPlan {
        HopPlan {
            tick: Some(Tick {
                interval: Duration::from_millis(10),
                in_phase: true,
            }),
            ..HopPlan::default()
        }
    }

    fn new(_: &PlainConfig, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) {}

    fn on(&mut self, (): &mut (), _: &mut HopCx<'_>, _: HopSignal<'_>) -> Result<(), Violation> {
        Ok(())
    }

    fn on_tick(&mut self, cx: &mut NodeCx<'_, ()>) {
        cx.rest();
    }
}

#[test]
fn what_an_application_does_with_a_stream_ends_a_rest() {
    let factory: Stack<Rests> = PlainConfig::streams().stack();
    let ends: [fn(&mut Bench, StreamHandle); 2] = [
        |client, stream| client.host.set_credit(client.now, stream, Cells::MAX),
        |client, stream| client.host.close_stream(client.now, stream),
    ];
    for end in ends {
        let mut client = Bench::client(&factory);
        client.wait(Duration::from_secs(1));
        assert_eq!(client.host.poll_timeout(), Instant::FAR_FUTURE);
        let stream = client.stream.expect("the circuit begins here");
        end(&mut client, stream);
        let next = client.host.poll_timeout();
        assert_eq!(next, client.now + Duration::from_millis(10));
    }
}

#[test]
fn a_layer_hears_of_a_closed_stream_at_the_time_of_its_end() {
    let mut client = Bench::client(&PlainConfig::streams().factory());
    client.wait(Duration::from_secs(1));
    client.write(Bytes::new(10_000));
    let stream = client.stream.expect("the circuit begins here");
    client.host.close_stream(client.now, stream);
    client
        .host
        .close_circuit(client.now, client.circuit, Reason::Requested);
    assert_eq!(client.drain().closed, [Reason::Requested]);
}

#[test]
fn what_comes_of_a_link_that_is_gone_is_ignored() {
    for link in [0, 7] {
        let mut exit = Bench::exit(&PlainConfig::streams().factory());
        let gone = LinkId::new(link);
        exit.host.remove_link(exit.now, gone);
        exit.host.remove_link(exit.now, gone);
        exit.drain();
        let message = Message {
            circuit: Bench::CIRCUIT,
            sender: Neighbour::Predecessor,
            body: Vec::new(),
        };
        exit.host.receive_message(exit.now, gone, &message);
        assert!(exit.receive(link, Bench::data(0)).frames.is_empty());
        assert!(exit.room(link, Bench::ROOM).frames.is_empty());
        let new = exit.host.add_link().get();
        assert!(exit.room(new, Bench::ROOM).frames.is_empty());
        assert_eq!(exit.host.counters().strays, 0);
    }
}

#[test]
fn what_waits_for_a_link_that_is_gone_is_forgotten_and_the_rest_leaves() {
    let now = Instant::ZERO;
    for (config, has_room) in [
        (PlainConfig::datagrams(), true),
        (PlainConfig::streams(), false),
    ] {
        let factory = config.factory();
        let mut host: Box<dyn Host<Counted>> = factory.node(&NodeEnv {
            node: NodeId::new(0),
            bucket: None,
            access: None,
            phase: 0.5,
        });
        let links = [host.add_link(), host.add_link()];
        for link in links {
            let circuit = host.open_circuit(&CircuitSpec {
                prev: None,
                next: Some(HopSpec {
                    link,
                    circuit: Bench::CIRCUIT,
                    queue_limit: factory.plan().link.queue_limit,
                }),
            });
            let stream = host.open_stream(&StreamSpec {
                id: Bench::STREAM,
                legs: vec![circuit],
                hold: Cells::ZERO,
            });
            let stream = stream.expect("the circuit begins here");
            host.begin_stream(now, stream, vec![7; 5].into(), Bytes::new(5));
        }
        let mut frames = Vec::new();
        if !has_room {
            assert!(host.poll_transmit(now, &mut frames).is_none());
        }
        host.remove_link(now, links[0]);
        if !has_room {
            host.set_room(now, links[1], Bytes::new(100_000));
        }
        let (link, _) = host.poll_transmit(now, &mut frames).expect("a cell waits");
        assert_eq!(link, links[1]);
        assert!(matches!(frames[..], [Frame::Cell(_)]), "{frames:?}");
        assert!(host.poll_transmit(now, &mut frames).is_none());
    }
}

#[test]
fn names_of_streams_that_ended_here_count_until_the_client_confirms() {
    let mut exit = Bench::exit(&PlainConfig::streams().factory());
    exit.room(0, Bytes::new(100_000_000));
    let begin = |exit: &mut Bench, name: u16| {
        let header = RelayHeader::control(RelayCommand::Begin, StreamId::new(name));
        let cell = Counted::control(header, exit.now);
        let mut frames = vec![Bench::cell(u64::from(name), cell)];
        exit.host.receive(exit.now, LinkId::new(0), &mut frames);
        while exit.host.poll_transmit(exit.now, &mut frames).is_some() {}
        while let Some(event) = exit.host.poll_event() {
            match event {
                Event::Begun { stream, .. } => exit.host.close_stream(exit.now, stream),
                Event::Closed { violation, .. } => return violation,
                _ => {}
            }
        }
        None
    };
    // The exit has a stream already, named 1.
    for name in 2..=4096 {
        assert_eq!(begin(&mut exit, name), None, "{name}");
    }
    assert_eq!(begin(&mut exit, 2), None, "the name is used again");
    let wrong = Violation::Unexpected(RelayCommand::Begin);
    assert_eq!(begin(&mut exit, 5000), Some(wrong));
}

#[test]
fn a_stream_needs_a_free_name_where_the_circuit_ends() {
    let factory = PlainConfig::streams().factory();
    let open = |bench: &mut Bench, name: u16| {
        let spec = StreamSpec {
            id: StreamId::new(name),
            legs: vec![bench.circuit],
            hold: Cells::ZERO,
        };
        bench.host.open_stream(&spec).is_some()
    };
    assert!(!open(&mut Bench::relay(&factory), 2));
    let mut client = Bench::client(&factory);
    assert!(!open(&mut client, Bench::STREAM.get()));
    assert!(open(&mut client, 2));
    assert!(!open(&mut client, 2));
}

#[test]
fn the_name_of_a_stream_that_was_broken_off_is_free_when_the_far_end_has_answered() {
    let factory = PlainConfig::streams().factory();
    let mut client = Bench::client(&factory);
    client.write(Bytes::new(10));
    let spec = StreamSpec {
        id: Bench::STREAM,
        legs: vec![client.circuit],
        hold: Cells::ZERO,
    };
    let stream = client.stream.expect("a client has a stream");
    client.host.close_stream(client.now, stream);
    assert!(client.host.open_stream(&spec).is_none());
    let reset = RelayHeader::control(RelayCommand::Reset, Bench::STREAM);
    client.receive(0, Bench::cell(0, Counted::control(reset, client.now)));
    assert!(client.host.open_stream(&spec).is_some());
}

/// What a client sends about its stream when it closes that, while a cell and perhaps the end of the far
/// side wait for the application.
fn said_at_the_end(near_ended: bool, far_ended: bool) -> Vec<RelayCommand> {
    let mut client = Bench::client(&PlainConfig::streams().factory());
    let stream = client.stream.expect("a client has a stream");
    client.host.set_credit(client.now, stream, Cells::ZERO);
    client.write(Bytes::new(10));
    if near_ended {
        client.host.finish_stream(client.now, stream);
    }
    client.receive(0, Bench::data(0));
    if far_ended {
        let end = RelayHeader::control(RelayCommand::End, Bench::STREAM);
        client.receive(0, Bench::cell(1, Counted::control(end, client.now)));
    }
    client.host.close_stream(client.now, stream);
    let sent = client.drain();
    let commands = sent.frames.iter().filter_map(|(_, frame)| match frame {
        Frame::Cell(cell) => Some(cell.payload.header().expect("it is readable").command),
        _ => None,
    });
    commands.collect()
}

#[test]
fn a_stream_whose_ends_have_both_ended_is_not_broken_off_though_something_waits_here() {
    assert_eq!(said_at_the_end(true, true), []);
    for (near_ended, far_ended) in [(false, true), (true, false), (false, false)] {
        let said = said_at_the_end(near_ended, far_ended);
        assert_eq!(said, [RelayCommand::Reset], "{near_ended}, {far_ended}");
    }
}

#[test]
fn the_end_of_the_far_side_takes_a_cell_of_credit_of_its_own() {
    let mut client = Bench::client(&PlainConfig::streams().factory());
    let stream = client.stream.expect("a client has a stream");
    client.host.set_credit(client.now, stream, Cells::new(1));
    let end = RelayHeader::control(RelayCommand::End, Bench::STREAM);
    let end = Bench::cell(1, Counted::control(end, client.now));
    let mut frames = vec![Bench::data(0), end];
    let link = LinkId::new(0);
    client.host.receive(client.now, link, &mut frames);
    let event = client.host.poll_event();
    assert!(matches!(event, Some(Event::Delivered { .. })), "{event:?}");
    assert!(client.host.poll_event().is_none());
    client.host.set_credit(client.now, stream, Cells::new(1));
    let event = client.host.poll_event();
    assert!(matches!(event, Some(Event::Finished { .. })), "{event:?}");
}

#[test]
fn circuits_of_a_stream_are_distinct_and_share_streams_with_each_other_alone() {
    let factory = PlainConfig::streams().factory();
    let mut client = Bench::client(&factory);
    let mut add = |name, prev, next| {
        let hop = |link| HopSpec {
            link: LinkId::new(link),
            circuit: CircuitId::new(name),
            queue_limit: QUEUE_LIMIT,
        };
        let (prev, next) = (Option::map(prev, hop), Option::map(next, hop));
        client.host.open_circuit(&CircuitSpec { prev, next })
    };
    let [second, third] = [add(7, None, Some(0)), add(8, None, Some(0))];
    let exit = add(9, Some(0), None);
    let first = client.circuit;
    let mut open = |name, legs: &[_]| {
        let spec = StreamSpec {
            id: StreamId::new(name),
            legs: legs.to_vec(),
            hold: Cells::new(8),
        };
        client.host.open_stream(&spec).is_some()
    };
    assert!(!open(2, &[first, first]));
    assert!(!open(2, &[first, exit]), "one begins here, one ends");
    assert!(open(2, &[first, second]));
    assert!(open(3, &[second, first]));
    assert!(!open(4, &[second, third]));
    assert!(open(5, &[second]));
}

/// A relay that has this many cells for link 1.
fn loaded(cells: u64) -> Bench {
    let config = PlainConfig {
        window: None,
        ..PlainConfig::datagrams()
    };
    let mut relay = Bench::relay(&config.factory());
    let mut cells: Vec<_> = (0..cells).map(Bench::data).collect();
    let link = LinkId::new(0);
    relay.host.receive(relay.now, link, &mut cells);
    relay
}

/// The link of the next datagram, where the uplink takes one each millisecond.
fn next_link(relay: &mut Bench) -> Option<u32> {
    let (link, _) = relay.host.poll_transmit(relay.now, &mut Vec::new())?;
    relay.now += Duration::from_millis(1);
    relay.host.handle_timeout(relay.now);
    Some(link.get())
}

#[test]
fn a_busy_uplink_holds_feedback_for_no_more_than_what_waits_already() {
    let mut relay = loaded(60);
    let links: Vec<_> = std::iter::from_fn(|| next_link(&mut relay)).collect();
    let feedback = links.iter().position(|&link| link == 0);
    assert!(feedback.is_some_and(|at| at <= 2), "{links:?}");
}

#[test]
fn a_neighbour_that_asks_all_the_time_holds_no_cells() {
    let mut relay = loaded(60);
    let mut to_successor = 0;
    for _ in 0..500 {
        let mut probe = vec![Frame::Probe(Bench::CIRCUIT)];
        relay.host.receive(relay.now, LinkId::new(0), &mut probe);
        // The uplink was busy when it came.
        relay.now += Duration::from_millis(1);
        to_successor += u32::from(next_link(&mut relay) == Some(1));
    }
    assert!(to_successor >= 7, "{to_successor} datagrams for 60 cells");
}
