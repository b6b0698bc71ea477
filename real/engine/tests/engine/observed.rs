//! Observers hear of what happens, and change nothing.

use std::sync::{Arc, Mutex};

use hopflow_engine::{Observer, Turn};
use hopflow_overlay::Direction;
use hopflow_trace::link::{Packet, Seen};
use hopflow_trace::{Event, Place, Step, Way};
use hopflow_units::Duration;
use hopflow_wire::{Frame, RelayCommand};

use crate::network::Network;
use crate::support::{pattern, real, transport};

/// What an observer heard.
#[derive(Debug, Default)]
struct Heard {
    links: u32,
    places: Vec<Place>,
    packets: Vec<Packet>,
    events: Vec<(u32, Event)>,
}

#[derive(Debug)]
struct Ear {
    heard: Arc<Mutex<Heard>>,
    /// How many turns it hears.
    turns: usize,
}

impl Observer for Ear {
    fn on_link(&mut self) -> u32 {
        let mut heard = self.heard.lock().unwrap();
        heard.links += 1;
        heard.links - 1
    }

    fn wants_packets(&self) -> bool {
        true
    }

    fn on_circuit(&mut self, place: Place) -> Option<u32> {
        let mut heard = self.heard.lock().unwrap();
        heard.places.push(place);
        Some(heard.places.len() as u32 - 1)
    }

    fn on_turn(&mut self, turn: &mut Turn) -> bool {
        assert!(!turn.is_empty());
        let mut heard = self.heard.lock().unwrap();
        heard.packets.append(&mut turn.packets);
        heard.events.append(&mut turn.events);
        self.turns -= 1;
        self.turns > 0
    }
}

/// Lets so many turns of all nodes be heard.
fn observe(network: &mut Network, turns: usize) -> Vec<Arc<Mutex<Heard>>> {
    let engines = network.engines.iter_mut().flatten();
    let listen = |engine: &mut hopflow_engine::Engine| {
        let heard = Arc::<Mutex<Heard>>::default();
        let ear = Ear {
            heard: heard.clone(),
            turns,
        };
        engine.set_observer(Box::new(ear));
        heard
    };
    engines.map(listen).collect()
}

/// Fetches so many bytes, and ends the circuit.
fn fetch(network: &mut Network, size: usize) {
    let circuit = network.circuit(&[1, 2, 3]);
    let stream = network.stream(circuit, "example.org:80");
    network.write(0, stream, b"GET /".to_vec(), true);
    network.run_for(Duration::from_secs(1));
    let (_, far, _) = network.begun.pop().expect("the exit hears of the stream");
    network.write(3, far, pattern(size, 9), true);
    network.run_for(Duration::from_secs(60));
    assert_eq!(network.heard(0, stream).bytes.len(), size);
    network.close_stream(3, far);
    network.close_stream(0, stream);
    network.close_circuit(0, circuit);
    network.run_for(Duration::from_secs(5));
}

impl Heard {
    fn cells_in_packets(&self, way: Way) -> usize {
        let packets = self.packets.iter().filter(|packet| packet.way == way);
        let frames = packets.flat_map(|packet| &packet.frames);
        frames
            .filter(|frame| matches!(frame, Seen::Frame(Frame::Cell(_))))
            .count()
    }

    /// Cells that were sent for the first time, sent again, and received.
    fn cells(&self) -> [u64; 3] {
        let mut cells = [0; 3];
        for (_, event) in &self.events {
            match &event.step {
                Step::Sent(Frame::Cell(_), again) => cells[usize::from(*again)] += 1,
                Step::Received(Frame::Cell(_)) => cells[2] += 1,
                _ => {}
            }
        }
        cells
    }

    /// How far the stream came by the steps that `of` selects; each begins where the one before ended.
    fn moved(&self, direction: Direction, of: fn(&Step) -> Option<(u64, u64)>) -> u64 {
        let events = self.events.iter().map(|(_, event)| event);
        let mut sum = 0;
        for event in events.filter(|event| event.direction == Some(direction)) {
            if let Some((offset, len)) = of(&event.step) {
                assert_eq!(offset, sum);
                sum += len;
            }
        }
        sum
    }
}

fn check(name: &str, network: &Network, all: &[Arc<Mutex<Heard>>], size: u64) {
    let places = [Place::Client, Place::Relay, Place::Relay, Place::Exit];
    for (node, (heard, place)) in all.iter().zip(places).enumerate() {
        let heard = heard.lock().unwrap();
        let what = format!("{name} at node {node}");
        assert_eq!(heard.places, [place], "{what}");
        let counters = network.engine(node).counters().node;
        let [first, again, received] = heard.cells();
        assert_eq!(
            (first, again),
            (counters.cells_sent, counters.cells_resent),
            "{what}"
        );
        let sent = heard.cells_in_packets(Way::Sent) as u64;
        assert_eq!(sent, first + again, "{what}");
        let arrived = heard.cells_in_packets(Way::Received) as u64;
        assert_eq!(arrived, received, "{what}");
        let times: Vec<_> = heard.events.iter().map(|(_, event)| event.at).collect();
        assert!(times.is_sorted(), "{what}");
        let closed = |(_, event): &&(u32, Event)| matches!(event.step, Step::Closed(_));
        assert_eq!(heard.events.iter().filter(closed).count(), 1, "{what}");
        assert!(
            matches!(heard.events.last(), Some((_, event)) if matches!(event.step, Step::Closed(_))),
            "{what}: nothing follows the end"
        );
        // Only ends read what cells carry.
        let reads = heard.events.iter().any(|(_, event)| {
            matches!(&event.step, Step::Received(Frame::Cell(cell))
                if cell.payload.command == Some(RelayCommand::Data))
        });
        assert_eq!(reads, place != Place::Relay, "{what}");
    }
    let [client, exit] = [0, 3].map(|node: usize| all[node].lock().unwrap());
    let packaged = exit.moved(Direction::Backward, |step| match step {
        Step::Packaged(offset, len) => Some((offset.get(), len.get())),
        _ => None,
    });
    let delivered = client.moved(Direction::Backward, |step| match step {
        Step::Delivered(offset, len) => Some((offset.get(), len.get())),
        _ => None,
    });
    assert_eq!((packaged, delivered), (size, size), "{name}");
}

#[test]
fn observers_hear_what_counters_count() {
    for name in real() {
        println!("{name}");
        let mut network = Network::new(&*transport(name), 3);
        let heard = observe(&mut network, usize::MAX);
        fetch(&mut network, 200_000);
        check(name, &network, &heard, 200_000);
    }
}

#[test]
fn observers_hear_of_what_is_lost_and_sent_again() {
    for name in ["backtap", "udp-or"] {
        let mut network = Network::new(&*transport(name), 3);
        network.weather.lost = 50;
        let heard = observe(&mut network, usize::MAX);
        fetch(&mut network, 200_000);
        for (node, heard) in heard.iter().enumerate() {
            let cells = heard.lock().unwrap().cells();
            // The client sends its request, and little else.
            assert!(
                node == 0 || cells[1] > 0,
                "{name} at node {node}: {cells:?}"
            );
            let counters = network.engine(node).counters().node;
            let counted = [counters.cells_sent, counters.cells_resent];
            assert_eq!(cells[..2], counted, "{name} at node {node}");
        }
    }
}

#[test]
fn observers_change_nothing() {
    for name in ["backtap", "vanilla"] {
        let counters = [false, true].map(|observed| {
            let mut network = Network::new(&*transport(name), 3);
            if observed {
                observe(&mut network, usize::MAX);
            }
            fetch(&mut network, 200_000);
            [0, 1, 2, 3].map(|node| network.engine(node).counters())
        });
        assert_eq!(counters[0], counters[1], "{name}");
    }
}

#[test]
fn who_wants_to_hear_nothing_more_hears_nothing_more() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let heard = observe(&mut network, 3);
    // A turn too many would be below zero.
    fetch(&mut network, 200_000);
    assert!(
        heard
            .iter()
            .all(|heard| !heard.lock().unwrap().packets.is_empty())
    );
}
