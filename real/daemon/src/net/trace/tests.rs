use std::fs;
use std::path::Path;

use hopflow_engine::Turn;
use hopflow_overlay::Direction;
use hopflow_testkit::qlog;
use hopflow_trace::link::{Packet, Seen};
use hopflow_trace::{Event, Place, Step, Way};
use hopflow_units::{Bytes, Cells, CircuitId, Instant};
use hopflow_wire::{Carrier, Reason};

use super::noted::MOST_WAITING;
use super::*;
use crate::config::What;

fn event(micros: u64, step: Step) -> Event {
    Event {
        at: Instant::from_nanos(micros * 1000),
        turn: 0,
        leg: 0,
        stream: 0,
        direction: Some(Direction::Forward),
        step,
    }
}

fn flow(micros: u64) -> Event {
    let state = hopflow_trace::FlowState {
        queued: Cells::new(micros),
        ..hopflow_trace::FlowState::default()
    };
    event(micros, Step::Flow(state))
}

fn packet(link: u32) -> Packet {
    Packet {
        at: Instant::ZERO,
        link,
        way: Way::Received,
        carrier: Carrier::Datagram,
        frames: vec![Seen::Setup(CircuitId::new(7))],
    }
}

fn turn(number: u32, events: impl IntoIterator<Item = Event>) -> Turn {
    Turn {
        packets: vec![packet(0)],
        events: events.into_iter().map(|event| (number, event)).collect(),
        left_out: 0,
    }
}

/// A writer, what listens for it, and the worker whose counts it keeps.
fn start(config: &Trace) -> (Box<dyn Observer>, Arc<Shared>, JoinHandle<()>) {
    let (tracing, writer) = Tracing::start(config, "relay-x", None).unwrap();
    let shared = Arc::new(Shared::default());
    let tap = tracing.tap(tracing.clock.epoch(), &shared);
    (tap, shared, writer)
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|it| it.unwrap().metadata().unwrap().len())
        .sum()
}

#[test]
fn a_file_is_whole_while_it_grows_and_only_its_owner_reads_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("new/trace");
    let (mut tap, _, writer) = start(&Trace::into_folder(folder.clone()));
    let number = tap.on_circuit(Place::Exit).unwrap();
    assert_eq!((number, tap.on_link()), (0, 0));
    let path = folder.join("circuit-0.qlog");
    for round in 0..3_u64 {
        let events = (0..100).map(|at| flow(round * 100 + at));
        assert!(tap.on_turn(&mut turn(number, events)));
        let whole = (round as usize + 1) * 100;
        let mut events = 0;
        // The writer writes what waits after a rest.
        while events < whole {
            thread::park_timeout(std::time::Duration::from_millis(10));
            events = if path.exists() && size_of(&folder) > 2000 {
                qlog::read(&path)[0].events.len()
            } else {
                0
            };
        }
    }
    assert!(tap.on_turn(&mut turn(
        number,
        [event(999, Step::Closed(Some(Reason::Requested)))]
    )));
    drop(tap);
    writer.join().unwrap();
    let node = &qlog::read(&path)[0];
    assert_eq!((&*node.name, &*node.kind), ("relay-x", "server"));
    assert_eq!(node.events.len(), 301);
    #[cfg(unix)]
    for file in ["circuit-0.qlog", "packets.pcapng"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(folder.join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn all_files_together_stay_within_their_size_and_then_nobody_listens() {
    let parent = tempfile::tempdir().unwrap();
    let config = Trace {
        size: Bytes::new(100_000),
        ..Trace::into_folder(parent.path().join("trace"))
    };
    let (mut tap, _, writer) = start(&config);
    for _ in 0..3 {
        tap.on_circuit(Place::Relay).unwrap();
    }
    let mut micros = 0;
    while tap.on_turn(&mut turn(micros as u32 % 3, [flow(micros)])) {
        micros += 1;
        thread::yield_now();
    }
    writer.join().unwrap();
    let size = size_of(&config.folder);
    assert!((90_000..=100_000).contains(&size), "{size}");
    for number in 0..3 {
        qlog::read(&config.folder.join(format!("circuit-{number}.qlog")));
    }
}

#[test]
fn a_file_ends_as_qlog_has_it() {
    let end = hopflow_trace::qlog::END_OF_TRACE.to_owned() + hopflow_trace::qlog::END_OF_FILE;
    assert_eq!(super::writer::END_OF_QLOG, end.as_bytes());
}

#[test]
fn tracing_ends_in_time() {
    let parent = tempfile::tempdir().unwrap();
    let config = Trace {
        time: Duration::from_millis(50),
        ..Trace::into_folder(parent.path().join("trace"))
    };
    let (mut tap, _, writer) = start(&config);
    writer.join().unwrap();
    assert!(!tap.on_turn(&mut turn(0, [])));
}

#[test]
fn what_the_writer_has_no_room_for_is_dropped_and_counted() {
    let parent = tempfile::tempdir().unwrap();
    let config = Trace::into_folder(parent.path().join("trace"));
    // Nobody writes.
    let (inbox, notes) = Inbox::new(&config);
    let shared = Arc::new(Shared::default());
    let mut tap = Tap::new(inbox, Duration::ZERO, shared.clone());
    let half = (MOST_WAITING / std::mem::size_of::<(u32, Event)>() / 2 - 100) as u64;
    let number = tap.on_circuit(Place::Client).unwrap();
    // A packet is there beside the events.
    for events in [half, half, 1000] {
        assert!(tap.on_turn(&mut turn(number, (0..events).map(flow))));
    }
    let mut long = turn(number, []);
    long.left_out = 3;
    long.packets[0].frames =
        vec![Seen::Setup(CircuitId::new(7)); MOST_WAITING / std::mem::size_of::<Seen>()];
    assert!(tap.on_turn(&mut long));
    let counts = [&shared.traced.noted, &shared.traced.dropped];
    let counts = counts.map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [2 * half + 1003 + 4, 1001 + 4]);
    let noted: Vec<_> = notes.try_iter().collect();
    assert_eq!((noted.len(), noted[0].circuits.len()), (2, 1));
}

#[test]
fn only_so_many_circuits_are_traced_and_none_where_only_packets_are() {
    let parent = tempfile::tempdir().unwrap();
    let config = Trace {
        circuits: 2,
        ..Trace::into_folder(parent.path().join("both"))
    };
    let (mut tap, ..) = start(&config);
    let numbers = [(); 3].map(|()| tap.on_circuit(Place::Relay));
    assert_eq!(numbers, [Some(0), Some(1), None]);
    let config = Trace {
        what: vec![What::Packets],
        ..Trace::into_folder(parent.path().join("packets"))
    };
    assert_eq!(start(&config).0.on_circuit(Place::Relay), None);
}

#[test]
fn a_folder_that_holds_something_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("packets.pcapng"), "old").unwrap();
    let config = Trace::into_folder(folder.path().to_owned());
    let refused = Tracing::start(&config, "relay", None);
    let message = refused.map(|_| ()).unwrap_err().to_string();
    let expected = format!(
        "trace.folder: {}: it holds files: allowed is a folder that is empty or does not exist",
        folder.path().display()
    );
    assert_eq!(message, expected);
    let old = fs::read(folder.path().join("packets.pcapng")).unwrap();
    assert_eq!(old, b"old");
}
