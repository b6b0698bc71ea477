//! The life of streams: ends in any order, breaks, many in turn, and clocks that jump.

use hopflow_engine::StreamHandle;
use hopflow_onion::OnionPayload;
use hopflow_units::{Bytes, Cells, Duration};
use hopflow_wire::{Payload, RelayCommand};

use crate::network::Network;
use crate::support::{pattern, real, transport};

const SIZE: usize = 200_000;

/// Both ends of a stream, and the circuit's other end.
struct Pair {
    near: StreamHandle,
    far: (usize, StreamHandle),
}

fn pair(network: &mut Network, circuit: hopflow_engine::CircuitKey) -> Pair {
    let (near, far) = network.stream_pair(0, circuit);
    Pair { near, far }
}

impl Pair {
    fn assert_whole(&self, network: &Network, name: &str) {
        let near = network.heard(0, self.near);
        let far = network.heard(self.far.0, self.far.1);
        assert!(near.finished && far.finished, "{name}: both ends finished");
        assert!(!near.reset && !far.reset, "{name}: nobody broke off");
        assert!(near.bytes == pattern(SIZE, 2), "{name}: the answer");
        assert!(far.bytes == pattern(SIZE, 1), "{name}: the request");
    }

    fn close(&self, network: &mut Network) {
        network.close_stream(0, self.near);
        network.close_stream(self.far.0, self.far.1);
    }
}

#[test]
fn an_end_that_has_finished_still_hears_the_other_one() {
    for name in real() {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        for client_first in [true, false] {
            let pair = pair(&mut network, circuit);
            let near = (0, pair.near, pattern(SIZE, 1));
            let far = (pair.far.0, pair.far.1, pattern(SIZE, 2));
            let [first, second] = if client_first {
                [near, far]
            } else {
                [far, near]
            };
            network.write(first.0, first.1, first.2, true);
            network.run_for(Duration::from_secs(3));
            let heard = network.heard(second.0, second.1);
            assert!(heard.finished, "{name}: the first end has finished");
            assert!(!network.heard(first.0, first.1).finished, "{name}");
            network.write(second.0, second.1, second.2, true);
            network.run_for(Duration::from_secs(3));
            pair.assert_whole(&network, name);
            pair.close(&mut network);
        }
        network.run_for(Duration::from_secs(1));
        assert_eq!(network.closed, [], "{name}: the circuit lives on");
    }
}

/// The client has said and heard all, and is gone; the exit still has data to take.
fn closes_early(name: &str, exit_breaks_off: bool) {
    let mut network = Network::new(&*transport(name), 3);
    let circuit = network.circuit(&[1, 2, 3]);
    let pair = pair(&mut network, circuit);
    let (exit, far) = pair.far;
    network.set_reading(exit, far, false);
    network.write(exit, far, pattern(SIZE, 2), true);
    network.write(0, pair.near, pattern(SIZE, 1), true);
    network.run_for(Duration::from_secs(5));
    assert!(network.heard(0, pair.near).finished, "{name}");
    network.close_stream(0, pair.near);
    network.run_for(Duration::from_secs(1));
    if exit_breaks_off {
        network.close_stream(exit, far);
    } else {
        network.set_reading(exit, far, true);
        network.run_for(Duration::from_secs(5));
        pair.assert_whole(&network, name);
        network.close_stream(exit, far);
    }
    network.run_for(Duration::from_secs(1));
    assert_eq!(network.closed, [], "{name}: the circuit lives on");
    let next = self::pair(&mut network, circuit);
    network.write(0, next.near, pattern(SIZE, 1), true);
    network.write(exit, next.far.1, pattern(SIZE, 2), true);
    network.run_for(Duration::from_secs(5));
    next.assert_whole(&network, name);
}

#[test]
fn who_has_said_and_heard_all_may_go_before_the_other_end_has_taken_it() {
    for name in real() {
        closes_early(name, false);
        closes_early(name, true);
    }
}

#[test]
fn who_takes_some_cells_gets_no_more_until_it_takes_more() {
    const MOST: u64 = 10;
    for name in real() {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let pair = pair(&mut network, circuit);
        let (exit, far) = pair.far;
        // Of what waits, and of what arrives while nothing does.
        network.set_credit(exit, far, Cells::new(MOST));
        network.write(0, pair.near, pattern(SIZE, 1), true);
        network.run_for(Duration::from_secs(5));
        let capacity = OnionPayload::capacity(RelayCommand::Data);
        for asked in 1..6 {
            let heard = network.heard(exit, far).bytes.len();
            // A cell that makes a SENDME due has less data than others.
            let cells = heard.div_ceil(capacity);
            assert_eq!(cells, asked * MOST as usize, "{name}");
            network.set_credit(exit, far, Cells::new(MOST));
            network.run_for(Duration::from_millis(100));
        }
        network.set_reading(exit, far, true);
        network.run_for(Duration::from_secs(5));
        network.write(exit, far, pattern(SIZE, 2), true);
        network.run_for(Duration::from_secs(5));
        pair.assert_whole(&network, name);
    }
}

#[test]
fn either_end_may_break_a_stream_off_while_data_is_under_way() {
    for name in real() {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        let beside = pair(&mut network, circuit);
        network.write(0, beside.near, pattern(SIZE, 1), true);
        for (breaks_near, after) in [(true, 35), (false, 35), (true, 80), (false, 80), (true, 0)] {
            let broken = pair(&mut network, circuit);
            let (exit, far) = broken.far;
            network.write(0, broken.near, pattern(1_000_000, 3), true);
            network.write(exit, far, pattern(1_000_000, 4), true);
            network.run_for(Duration::from_millis(after));
            if breaks_near {
                network.close_stream(0, broken.near);
            } else {
                network.close_stream(exit, far);
            }
            network.run_for(Duration::from_secs(2));
            let other = if breaks_near {
                network.heard(exit, far)
            } else {
                network.heard(0, broken.near)
            };
            assert!(other.reset, "{name}: the other end hears of it");
        }
        // At the same time from both sides.
        let broken = pair(&mut network, circuit);
        network.write(0, broken.near, pattern(1_000_000, 3), true);
        network.run_for(Duration::from_millis(50));
        broken.close(&mut network);
        network.run_for(Duration::from_secs(1));
        network.write(beside.far.0, beside.far.1, pattern(SIZE, 2), true);
        network.run_for(Duration::from_secs(5));
        beside.assert_whole(&network, name);
        assert_eq!(network.closed, [], "{name}: the circuit lives on");
    }
}

#[test]
fn an_exit_may_break_off_at_once_what_a_client_begins() {
    for name in real() {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        for _ in 0..10 {
            let near = network.stream(circuit, "example.org:80");
            network.write(0, near, pattern(SIZE, 1), true);
            let before = network.begun.len();
            while network.begun.len() == before {
                network.run_for(Duration::from_millis(1));
            }
            let (exit, far, _) = network.begun[before];
            network.close_stream(exit, far);
            network.run_for(Duration::from_secs(1));
            assert!(network.heard(0, near).reset, "{name}");
        }
        let pair = pair(&mut network, circuit);
        network.write(0, pair.near, pattern(SIZE, 1), true);
        network.write(pair.far.0, pair.far.1, pattern(SIZE, 2), true);
        network.run_for(Duration::from_secs(5));
        pair.assert_whole(&network, name);
    }
}

#[test]
fn a_circuit_serves_hundreds_of_streams_one_after_another() {
    for name in ["backtap", "vanilla", "vanilla-stream-window"] {
        let mut network = Network::new(&*transport(name), 3);
        let circuit = network.circuit(&[1, 2, 3]);
        for turn in 0..300_u32 {
            let pair = pair(&mut network, circuit);
            let (exit, far) = pair.far;
            let answer = pattern(2_000, turn as u8);
            network.write(0, pair.near, b"GET /".to_vec(), true);
            network.write(exit, far, answer.clone(), true);
            network.run_for(Duration::from_millis(150));
            let heard = network.heard(0, pair.near);
            assert!(heard.finished, "{name}: stream {turn}");
            assert!(heard.bytes == answer, "{name}: stream {turn}");
            // Some ends close late, some never hear of it.
            match turn % 3 {
                0 => pair.close(&mut network),
                1 => network.close_stream(0, pair.near),
                _ => network.close_stream(exit, far),
            }
        }
        assert_eq!(network.closed, [], "{name}");
    }
}

#[test]
fn clocks_that_jump_by_hours_break_circuits_at_worst() {
    for name in real() {
        for node in 0..4 {
            let mut network = Network::new(&*transport(name), 3);
            let circuit = network.circuit(&[1, 2, 3]);
            let old = pair(&mut network, circuit);
            network.write(old.far.0, old.far.1, pattern(3_000_000, 1), true);
            network.run_for(Duration::from_millis(150));
            network.jump(node, Duration::from_secs(5 * 3600));
            network.run_for(Duration::from_secs(300));
            let heard = network.heard(0, old.near);
            let over = heard.finished && heard.bytes == pattern(3_000_000, 1);
            assert!(over || heard.reset, "{name}: no stream hangs");
            // Neighbours that knew each other before may need to find out.
            let circuit = network.circuit(&[1, 2, 3]);
            let new = pair(&mut network, circuit);
            network.write(0, new.near, pattern(SIZE, 1), true);
            network.write(new.far.0, new.far.1, pattern(SIZE, 2), true);
            network.run_for(Duration::from_secs(10));
            new.assert_whole(&network, name);
        }
    }
}

#[test]
fn data_that_waits_is_counted_and_of_circuits_as_old_the_one_that_holds_most_is_closed() {
    let mut network = Network::new(&*transport("backtap"), 3);
    let [modest, greedy] = [(); 2].map(|()| network.circuit(&[1, 2, 3]));
    let unlimited = Bytes::new(u64::MAX);
    let now = network.clock(0);
    // What links and circuits take themselves.
    let idle = network.engine_mut(0).keep_within(now, unlimited).get();
    for (circuit, streams) in [(modest, 1), (greedy, 5)] {
        for _ in 0..streams {
            let stream = network.stream(circuit, "example.org:80");
            let now = network.clock(0);
            let taken = network
                .engine_mut(0)
                .write(now, stream, &pattern(50_000, 1));
            assert_eq!(taken, 50_000);
        }
    }
    let now = network.clock(0);
    let client = network.engine_mut(0);
    let held = client.keep_within(now, unlimited).get() - idle;
    assert!((300_000..400_000).contains(&held), "{held}");
    let held = client.keep_within(now, Bytes::new(200_000 + idle)).get() - idle;
    assert!((50_000..80_000).contains(&held), "{held}");
    assert_eq!(client.counters().out_of_memory, 1);
    network.run_for(Duration::from_secs(1));
    assert!(network.failure(0, greedy).is_some());
    assert_eq!(network.failure(0, modest), None);
    let now = network.clock(0);
    let held = network.engine_mut(0).keep_within(now, unlimited).get();
    assert!(held < idle, "all that the other circuit held has arrived");
}
