use std::sync::Arc;

use super::*;
use crate::directory::Directory;
use crate::path::Draws;
use crate::testing::{exit, network};
use hopflow_random::Streams;
use hopflow_units::Duration;

/// A pool with what its driver has to remember.
struct Driver {
    pool: Pool,
    now: Instant,
    /// Circuits that are to be built.
    begun: Vec<(PoolCircuit, Path)>,
    /// Paths of legs behind the first.
    further: Vec<Path>,
    attached: Vec<(RequestKey, PoolCircuit)>,
    refused: Vec<(RequestKey, NoCircuit)>,
    closed: Vec<PoolCircuit>,
}

impl Driver {
    fn new(directory: Directory, config: Circuits) -> Self {
        let stream = Streams::new(7).stream("paths", 0);
        let mut driver = Self {
            pool: Pool::new(
                config,
                PathChooser::new(Arc::new(directory), Draws::Repeatable(stream)),
            ),
            now: Instant::ZERO,
            begun: Vec::new(),
            further: Vec::new(),
            attached: Vec::new(),
            refused: Vec::new(),
            closed: Vec::new(),
        };
        driver.pool.handle_timeout(Instant::ZERO);
        driver.act();
        driver
    }

    /// A pool of these circuits in advance over nine relays.
    fn with_spares(spare: u32) -> Self {
        let config = Circuits {
            spare,
            ..Circuits::default()
        };
        Self::new(network(3, 3, 3), config)
    }

    fn act(&mut self) {
        while let Some(action) = self.pool.poll_action() {
            match action {
                PoolAction::Build { circuit, mut paths } => {
                    let first = paths.remove(0);
                    self.further.extend(paths);
                    self.begun.push((circuit, first));
                }
                PoolAction::BuildLeg { path, .. } => self.further.push(path),
                PoolAction::Attach { request, circuit } => self.attached.push((request, circuit)),
                PoolAction::Refuse { request, reason } => self.refused.push((request, reason)),
                PoolAction::Close { circuit } => self.closed.push(circuit),
            }
        }
        assert!(
            self.pool.poll_timeout() > self.now,
            "no timeout is due after its handling"
        );
    }

    /// Lets time pass, with all that is due in it.
    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.pool.poll_timeout() <= end {
            self.now = self.pool.poll_timeout();
            self.pool.handle_timeout(self.now);
            self.act();
        }
        self.now = end;
    }

    fn request(&mut self, user: &str, target: &str) -> RequestKey {
        let target = target.parse().unwrap();
        let request = self
            .pool
            .request(self.now, target, Isolation::user(user, ""));
        self.act();
        request
    }

    /// All circuits that are to be built are.
    fn build_all(&mut self) {
        for (circuit, _) in std::mem::take(&mut self.begun) {
            self.pool.built(self.now, circuit);
        }
        self.act();
    }

    /// The building of the first circuit fails.
    fn fail_first(&mut self, blame: Option<usize>) -> Path {
        let (circuit, path) = self.begun.remove(0);
        self.pool.closed(self.now, circuit, 0, blame);
        self.act();
        path
    }

    fn end_stream(&mut self, circuit: PoolCircuit) {
        self.pool.stream_ended(self.now, circuit);
        self.act();
    }

    /// The circuit that a stream was attached to.
    fn circuit_of(&self, request: RequestKey) -> Option<PoolCircuit> {
        let found = self.attached.iter().find(|(key, _)| *key == request);
        found.map(|(_, circuit)| *circuit)
    }
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[test]
fn circuits_are_built_in_advance_and_replaced_when_they_are_taken() {
    let mut driver = Driver::with_spares(2);
    assert_eq!(driver.begun.len(), 2);
    driver.build_all();
    assert_eq!(driver.pool.counts().spare, 2);
    let request = driver.request("alice", "example.org:80");
    assert!(driver.circuit_of(request).is_some(), "attached at once");
    assert_eq!(driver.begun.len(), 1, "one is built in its place");
    driver.build_all();
    let counts = driver.pool.counts();
    assert_eq!((counts.spare, counts.used, counts.building), (2, 1, 0));
}

#[test]
fn streams_of_a_user_share_a_circuit_and_those_of_others_do_not() {
    let mut driver = Driver::with_spares(2);
    driver.build_all();
    let first = driver.request("alice", "example.org:80");
    let second = driver.request("alice", "example.com:443");
    let other = driver.request("bob", "example.org:80");
    let circuits = [first, second, other].map(|request| driver.circuit_of(request).unwrap());
    assert_eq!(circuits[0], circuits[1]);
    assert_ne!(circuits[0], circuits[2]);
    for circuit in circuits {
        driver.end_stream(circuit);
    }
    let third = driver.request("bob", "example.org:80");
    assert_eq!(
        driver.circuit_of(third),
        Some(circuits[2]),
        "bob's, also after a pause"
    );
}

#[test]
fn streams_of_a_user_wait_for_the_same_circuit() {
    let mut driver = Driver::with_spares(0);
    assert!(driver.begun.is_empty());
    let requests = ["alice", "alice", "bob"].map(|user| driver.request(user, "example.org:80"));
    assert_eq!(driver.begun.len(), 2);
    assert_eq!(driver.pool.counts().waiting, 3);
    driver.build_all();
    let circuits = requests.map(|request| driver.circuit_of(request).unwrap());
    assert_eq!(circuits[0], circuits[1]);
    assert_ne!(circuits[0], circuits[2]);
    assert_eq!(driver.pool.counts().waiting, 0);
}

#[test]
fn a_circuit_whose_streams_were_cancelled_is_for_anybody() {
    let mut driver = Driver::with_spares(0);
    let request = driver.request("alice", "example.org:80");
    driver.pool.cancel(request);
    driver.build_all();
    assert_eq!(driver.pool.counts().spare, 1);
    let other = driver.request("bob", "example.org:80");
    assert!(driver.circuit_of(other).is_some());
    assert_eq!(driver.circuit_of(request), None);
}

#[test]
fn an_exit_that_refuses_the_target_is_not_used() {
    let mut directory = network(3, 3, 3);
    directory.relays[6].exit = Some(exit(&["accept *:80"]));
    let mut driver = Driver::new(
        directory,
        Circuits {
            spare: 4,
            ..Circuits::default()
        },
    );
    driver.build_all();
    for number in 0..20 {
        let request = driver.request(&format!("user-{number}"), "example.org:443");
        let paths = driver.begun.clone();
        driver.build_all();
        let circuit = driver.circuit_of(request).unwrap();
        if let Some((_, path)) = paths.iter().find(|(key, _)| *key == circuit) {
            assert_ne!(path[2], 6);
        }
        let exits: Vec<_> = paths.iter().map(|(_, path)| path[2]).collect();
        assert!(
            number == 0 || exits.iter().all(|&exit| exit != 6),
            "{exits:?}"
        );
    }
}

#[test]
fn a_port_that_few_exits_allow_does_not_choose_where_circuits_of_others_end() {
    let mut directory = network(3, 3, 3);
    for relay in &mut directory.relays[6..8] {
        relay.exit = Some(exit(&["accept *:80"]));
    }
    let config = Circuits {
        spare: 16,
        ..Circuits::default()
    };
    let mut driver = Driver::new(directory, config);
    driver.build_all();
    let request = driver.request("alice", "example.org:6666");
    driver.build_all();
    assert!(driver.circuit_of(request).is_some());
    driver.pass(secs(600));
    let exits: Vec<_> = driver.begun.iter().map(|(_, path)| path[2]).collect();
    assert_eq!(exits.len(), 16);
    assert!(exits.iter().any(|&exit| exit != 8), "{exits:?}");
}

#[test]
fn who_may_get_no_circuit_waits_while_others_are_served_and_then_gets_one() {
    let config = Circuits {
        spare: 0,
        most: 2,
        ..Circuits::default()
    };
    let mut driver = Driver::new(network(3, 3, 3), config);
    let requests = ["alice", "bob"].map(|user| driver.request(user, "example.org:80"));
    driver.build_all();
    let [alice, bob] = requests.map(|request| driver.circuit_of(request).unwrap());
    let waiting = ["carol", "carol", "dave"].map(|user| driver.request(user, "example.org:80"));
    let more = driver.request("alice", "example.org:80");
    assert_eq!(driver.circuit_of(more), Some(alice));
    assert_eq!(driver.pool.counts().waiting, 3);
    driver.end_stream(bob);
    assert_eq!((driver.closed.clone(), driver.begun.len()), (vec![bob], 1));
    driver.build_all();
    let circuits = waiting.map(|request| driver.circuit_of(request));
    assert!(circuits[0].is_some() && circuits[0] == circuits[1]);
    assert_eq!(circuits[2], None);
}

#[test]
fn the_stream_that_has_waited_longest_is_due_first() {
    let config = Circuits {
        spare: 0,
        build_timeout: secs(100),
        ..Circuits::default()
    };
    let mut driver = Driver::new(network(3, 3, 3), config);
    let first = driver.request("alice", "example.org:80");
    driver.pass(secs(5));
    let second = driver.request("alice", "example.org:80");
    assert_eq!(driver.pool.poll_timeout(), Instant::ZERO + secs(30));
    driver.pool.cancel(first);
    assert_eq!(driver.pool.poll_timeout(), Instant::ZERO + secs(35));
    driver.pass(secs(30));
    assert_eq!(driver.refused, [(second, NoCircuit::Timeout)]);
}

#[test]
fn a_target_that_no_exit_allows_is_refused_at_once() {
    let mut directory = network(3, 3, 1);
    directory.relays[6].exit = Some(exit(&["accept *:80"]));
    let mut driver = Driver::new(directory, Circuits::default());
    driver.build_all();
    let name = driver.request("alice", "example.org:443");
    let private = driver.request("alice", "127.0.0.1:80");
    assert_eq!(
        driver.refused,
        [(name, NoCircuit::NoPath), (private, NoCircuit::NoPath)]
    );
    assert_eq!(NoCircuit::NoPath.reply(), Reply::NotAllowed);
}

#[test]
fn a_circuit_of_age_takes_no_new_streams_and_is_closed_after_its_last() {
    let mut driver = Driver::with_spares(1);
    driver.build_all();
    driver.pass(secs(300));
    let old = driver.request("alice", "example.org:80");
    let circuit = driver.circuit_of(old).unwrap();
    driver.build_all();
    driver.pass(secs(599));
    let same = driver.request("alice", "example.org:80");
    assert_eq!(
        driver.circuit_of(same),
        Some(circuit),
        "its age counts from its first stream"
    );
    driver.pass(secs(1));
    driver.build_all();
    let new = driver.request("alice", "example.org:80");
    assert_ne!(driver.circuit_of(new), Some(circuit));
    driver.end_stream(circuit);
    assert!(!driver.closed.contains(&circuit), "one stream is left");
    driver.end_stream(circuit);
    assert!(driver.closed.contains(&circuit));
}

#[test]
fn a_circuit_that_left_a_stream_without_an_answer_takes_no_others() {
    let mut driver = Driver::with_spares(1);
    driver.build_all();
    let first = driver.request("alice", "example.org:80");
    let circuit = driver.circuit_of(first).unwrap();
    driver.pool.doubt(circuit);
    driver.end_stream(circuit);
    assert_eq!(driver.closed, [circuit]);
    driver.build_all();
    let second = driver.request("alice", "example.org:80");
    driver.build_all();
    let other = driver.circuit_of(second);
    assert!(other.is_some() && other != Some(circuit));
}

#[test]
fn a_circuit_whose_exit_has_no_route_takes_no_others_but_not_circuit_after_circuit() {
    let mut driver = Driver::with_spares(1);
    driver.build_all();
    let circuit_after = |driver: &mut Driver, span| {
        driver.pass(span);
        let request = driver.request("alice", "example.org:80");
        driver.build_all();
        let circuit = driver.circuit_of(request).unwrap();
        driver.pool.exit_had_no_route(driver.now, circuit);
        driver.end_stream(circuit);
        driver.build_all();
        circuit
    };
    let [first, second, third] = [0, 1, 28].map(|span| circuit_after(&mut driver, secs(span)));
    assert!(first != second && second == third);
    assert_eq!(driver.closed, [first]);
    // Half a minute after the first.
    let [fourth, fifth] = [1, 0].map(|span| circuit_after(&mut driver, secs(span)));
    assert!(fourth == third && fifth != fourth);
    assert_eq!(driver.closed, [first, fourth]);
}

#[test]
fn each_user_leaves_exits_without_a_route_and_a_circuit_that_is_left_already_does_not_count() {
    let mut driver = Driver::with_spares(0);
    let circuit_of = |driver: &mut Driver, user| {
        let request = driver.request(user, "example.org:80");
        driver.build_all();
        driver.circuit_of(request).unwrap()
    };
    let leave: [fn(&mut Driver, PoolCircuit); 4] = [
        |_, _| {},
        |driver, circuit| driver.pool.doubt(circuit),
        |driver, _| driver.pass(secs(600)),
        |driver, circuit| {
            driver.pool.closed(driver.now, circuit, 0, None);
            driver.act();
        },
    ];
    for (user, leave) in ["alice", "bob", "carol", "dave"].into_iter().zip(leave) {
        let first = circuit_of(&mut driver, user);
        leave(&mut driver, first);
        driver.pool.exit_had_no_route(driver.now, first);
        let second = circuit_of(&mut driver, user);
        assert_ne!(first, second, "{user}");
        driver.pool.exit_had_no_route(driver.now, second);
        let third = circuit_of(&mut driver, user);
        assert_eq!(second == third, user == "alice", "{user}");
    }
}

#[test]
fn a_stream_for_which_a_circuit_has_no_room_gets_another_one() {
    let mut driver = Driver::with_spares(0);
    let first = driver.request("alice", "example.org:80");
    driver.build_all();
    let full = driver.circuit_of(first).unwrap();
    let second = driver.request("alice", "example.org:80");
    assert_eq!(driver.circuit_of(second), Some(full));
    driver.pool.doubt(full);
    driver.end_stream(full);
    let again = driver.request("alice", "example.org:80");
    driver.build_all();
    let other = driver.circuit_of(again);
    assert!(other.is_some() && other != Some(full));
    assert!(driver.closed.is_empty(), "the first stream stays");
}

#[test]
fn spare_circuits_are_renewed() {
    let mut driver = Driver::with_spares(2);
    driver.build_all();
    driver.pass(secs(599));
    assert!(driver.closed.is_empty());
    driver.pass(secs(1));
    assert_eq!((driver.closed.len(), driver.begun.len()), (2, 2));
}

#[test]
fn a_stream_whose_circuit_fails_gets_one_without_the_relay_that_failed() {
    for _ in 0..10 {
        let mut driver = Driver::with_spares(0);
        let request = driver.request("alice", "example.org:80");
        let mut blamed = Vec::new();
        for hop in [0, 1, 2, 0, 1, 2] {
            let path = driver.fail_first(Some(hop));
            assert!(
                blamed.iter().all(|relay| !path.contains(relay)),
                "{path:?} {blamed:?}"
            );
            blamed.push(path[hop]);
            assert!(driver.begun.is_empty(), "not at once");
            driver.pass(secs(8));
            assert_eq!(driver.begun.len(), 1);
            if blamed.len() == 3 {
                break;
            }
        }
        driver.build_all();
        assert!(driver.circuit_of(request).is_some());
    }
}

/// Whether any of the three guards is to be avoided after this time.
fn avoids_guards(driver: &Driver, span: Duration) -> bool {
    let suspects = &driver.pool.suspects;
    (0..3).any(|guard| suspects.contain(driver.now + span, guard))
}

#[test]
fn while_no_guard_answers_none_is_avoided_for_longer_and_longer() {
    let mut driver = Driver::with_spares(0);
    driver.request("alice", "example.org:80");
    while driver.refused.is_empty() {
        if !driver.begun.is_empty() {
            driver.fail_first(Some(0));
        }
        driver.pass(Duration::from_millis(1));
    }
    assert!(!avoids_guards(&driver, secs(60)));
}

#[test]
fn a_host_without_a_route_tries_others_after_a_pause_and_blames_nobody() {
    let mut driver = Driver::with_spares(0);
    driver.request("alice", "example.org:80");
    let mut tried = Vec::new();
    while driver.refused.is_empty() {
        if let Some((circuit, path)) = driver.begun.pop() {
            driver.pool.had_no_route(driver.now, circuit, 0);
            driver.act();
            assert!(driver.begun.is_empty(), "not at once");
            tried.push(path[0]);
        }
        driver.pass(Duration::from_millis(1));
    }
    tried.truncate(3);
    tried.sort_unstable();
    assert_eq!(tried, [0, 1, 2]);
    assert!(!avoids_guards(&driver, secs(10)));
}

#[test]
fn attempts_become_rarer_and_the_stream_is_refused_in_the_end() {
    let mut driver = Driver::with_spares(0);
    let request = driver.request("alice", "example.org:80");
    let mut times = Vec::new();
    while driver.refused.is_empty() {
        while !driver.begun.is_empty() {
            times.push(driver.now);
            driver.fail_first(None);
        }
        driver.pass(Duration::from_millis(1));
    }
    assert_eq!(driver.refused, [(request, NoCircuit::Timeout)]);
    assert_eq!(driver.now, Instant::ZERO + secs(30));
    let pauses: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let expected = [250, 500, 1000, 2000, 4000, 8000, 8000].map(Duration::from_millis);
    assert_eq!(pauses, expected);
    driver.pass(secs(600));
    assert!(driver.begun.is_empty(), "nobody waits");
    assert_eq!(driver.pool.poll_timeout(), Instant::FAR_FUTURE);
}

#[test]
fn a_circuit_that_takes_too_long_is_given_up() {
    let mut driver = Driver::with_spares(0);
    let request = driver.request("alice", "example.org:80");
    let (slow, _) = driver.begun[0];
    driver.pass(secs(10));
    assert_eq!(driver.closed, [slow]);
    driver.pass(secs(1));
    assert_eq!(driver.begun.len(), 2, "another one is tried");
    driver.build_all();
    assert_ne!(driver.circuit_of(request), Some(slow), "it came too late");
    assert!(driver.circuit_of(request).is_some());
}

#[test]
fn after_a_circuit_is_gone_its_user_gets_another() {
    let mut driver = Driver::with_spares(1);
    driver.build_all();
    let request = driver.request("alice", "example.org:80");
    let gone = driver.circuit_of(request).unwrap();
    driver.build_all();
    driver.pool.closed(driver.now, gone, 0, Some(1));
    driver.pool.stream_ended(driver.now, gone);
    driver.act();
    let again = driver.request("alice", "example.org:80");
    assert!(
        driver
            .circuit_of(again)
            .is_some_and(|circuit| circuit != gone),
        "the spare one"
    );
    assert!(driver.closed.is_empty(), "it was gone already");
}

#[test]
fn circuits_and_waiting_streams_are_bounded() {
    let config = Circuits {
        spare: 0,
        most: 3,
        ..Circuits::default()
    };
    let mut driver = Driver::new(network(3, 3, 3), config);
    let requests: Vec<_> = (0..4)
        .map(|number| driver.request(&format!("user-{number}"), "example.org:80"))
        .collect();
    assert_eq!(driver.begun.len(), 3);
    driver.build_all();
    assert_eq!(driver.circuit_of(requests[3]), None);
    let idle = driver.circuit_of(requests[1]).unwrap();
    driver.end_stream(idle);
    assert_eq!(driver.closed, [idle], "it made room");
    driver.build_all();
    assert!(driver.circuit_of(requests[3]).is_some());
    for number in 0..MOST_WAITING {
        driver.request(&format!("more-{number}"), "example.org:80");
    }
    assert!(driver.refused.is_empty());
    let last = driver.request("last", "example.org:80");
    assert_eq!(driver.refused, [(last, NoCircuit::TooMany)]);
    driver.pass(secs(30));
    assert_eq!(driver.pool.counts().waiting, 0);
}

#[test]
fn a_network_without_paths_is_asked_rarely_and_refuses() {
    let mut driver = Driver::new(network(1, 0, 1), Circuits::default());
    driver.pass(secs(600));
    assert!(driver.begun.is_empty());
    let request = driver.request("alice", "example.org:80");
    driver.pass(secs(30));
    assert_eq!(driver.refused.len(), 1);
    assert_eq!(driver.refused[0].0, request);
}

#[test]
fn a_circuit_that_is_said_to_be_built_again_keeps_its_user() {
    let mut driver = Driver::with_spares(1);
    driver.build_all();
    let request = driver.request("alice", "example.org:80");
    let circuit = driver.circuit_of(request).unwrap();
    driver.pool.built(driver.now, circuit);
    driver.act();
    driver.build_all();
    let other = driver.request("bob", "example.org:80");
    assert!(driver.circuit_of(other).is_some_and(|it| it != circuit));
}

/// A pool whose circuits have two legs.
fn with_legs(relays: [usize; 3]) -> Driver {
    let config = Circuits {
        legs: Some(2),
        spare: 1,
        ..Circuits::default()
    };
    let [guards, middles, exits] = relays;
    Driver::new(network(guards, middles, exits), config)
}

#[test]
fn legs_have_one_exit_and_no_other_relay_in_common() {
    let mut driver = with_legs([3, 3, 3]);
    for user in 0..20 {
        driver.request(&format!("user {user}"), "example.org:80");
    }
    assert_eq!(driver.begun.len(), driver.further.len());
    for ((_, first), second) in driver.begun.iter().zip(&driver.further) {
        assert_eq!(first[2], second[2]);
        assert!(first[..2].iter().all(|relay| !second.contains(relay)));
    }
}

#[test]
fn where_there_is_one_path_a_circuit_has_one_leg() {
    let driver = with_legs([1, 1, 1]);
    assert_eq!((driver.begun.len(), driver.further.len()), (1, 0));
}

#[test]
fn a_leg_that_the_exit_does_not_link_is_replaced_a_few_times() {
    let mut driver = with_legs([20, 20, 1]);
    let (circuit, first) = driver.begun[0].clone();
    let mut replaced = 0;
    while driver.pool.replace_leg(driver.now, circuit, 1) {
        driver.act();
        replaced += 1;
        let [.., before, leg] = &driver.further[..] else {
            panic!("a leg is to be built");
        };
        assert_eq!((leg[0], leg[2]), (before[0], first[2]), "guard and exit");
        assert!(leg[1] != before[1] && !first.contains(&leg[1]));
    }
    assert_eq!(replaced, 4);
    driver.pool.one_leg(circuit);
    driver.build_all();
    assert_eq!(driver.pool.counts().spare, 1, "it works with one");
}

#[test]
fn legs_are_replaced_for_half_of_the_time_that_a_circuit_has() {
    let mut driver = with_legs([20, 20, 1]);
    let (circuit, _) = driver.begun[0].clone();
    driver.pass(secs(5));
    assert!(!driver.pool.replace_leg(driver.now, circuit, 1));
}

#[test]
fn of_a_circuit_the_leg_that_failed_is_to_blame() {
    let mut driver = with_legs([2, 2, 1]);
    let (circuit, first) = driver.begun.remove(0);
    let second = driver.further.remove(0);
    driver.pool.closed(driver.now, circuit, 1, Some(0));
    driver.act();
    driver.pass(secs(1));
    assert_ne!(first[0], second[0]);
    assert_eq!(driver.begun[0].1[0], first[0], "the other guard");
    assert_eq!(
        driver.further,
        [] as [Path; 0],
        "and no leg by the one that failed"
    );
}
