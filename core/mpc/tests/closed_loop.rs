//! Networks in which every relay plans come to fair rates, and never to a standstill.

mod common;

use common::fluid::{self, Fluid, Network, Outcome, Scheme};
use hopflow_mpc::{Config, Form};
use hopflow_random::Streams;

const STEPS: usize = 90;

/// The defaults, chosen in docs/spec/predictor-mpc.md.
fn scheme() -> Scheme {
    Scheme::new(Config::new(Form::Coded))
}

fn run(network: &Network, scheme: &Scheme, seed: u64) -> Outcome {
    Fluid::new(network, scheme).run(STEPS, 3, 20, &mut Streams::new(seed).stream("loss", 0))
}

fn check_random_networks(networks: u64, scheme: &Scheme) {
    let (mut loose, mut solves) = (0, 0);
    for index in 0..networks {
        let network = fluid::random(&mut Streams::new(2).stream("network", index));
        let outcome = run(&network, scheme, index);
        let fairness = outcome.fairness(&network);
        assert_eq!(outcome.starved(&network), 0, "network {index}: {outcome:?}");
        assert!(fairness > 0.7, "network {index}: F = {fairness}");
        assert!(
            outcome.throughput(&network) > 0.75,
            "network {index}: {outcome:?}"
        );
        loose += outcome.loose;
        solves += outcome.solves;
    }
    assert_eq!(loose, 0, "of {solves} solves are far from the optimum");
}

#[test]
fn a_lone_circuit_uses_its_relays_fully() {
    let network = fluid::lone();
    assert!(run(&network, &scheme(), 1).throughput(&network) > 0.99);
}

#[test]
fn small_networks_come_to_max_min_fairness() {
    for network in [
        fluid::toy(),
        fluid::entry_bottleneck(),
        fluid::parking_lot(),
    ] {
        let outcome = run(&network, &scheme(), 1);
        assert!(
            outcome.fairness(&network) > 0.97,
            "{network:?}: {outcome:?}"
        );
    }
}

#[test]
fn random_networks_starve_no_circuit() {
    check_random_networks(12, &scheme());
}

#[test]
fn lost_and_late_plans_starve_no_circuit() {
    check_random_networks(
        8,
        &Scheme {
            loss: 0.3,
            ..scheme()
        },
    );
}

/// Half a minute: `make test-nightly` runs it.
#[test]
#[ignore = "takes half a minute: make test-nightly"]
fn two_hundred_random_networks_starve_no_circuit() {
    check_random_networks(200, &scheme());
}

#[test]
fn without_pins_front_loaded_plans_stop_circuits_at_an_entry_bottleneck() {
    let config = Config {
        r_max: 1.0,
        pin: 0,
        ..Config::new(Form::Printed)
    };
    let network = fluid::entry_bottleneck();
    let outcome = run(&network, &Scheme::new(config), 1);
    assert!(outcome.starved(&network) > 0, "{outcome:?}");
}

#[test]
fn the_printed_form_leaves_a_fifth_of_a_lone_circuits_rate_unless_it_is_drawn_to_more() {
    let network = fluid::lone();
    let throughput = |r_max: f64| {
        let config = Config {
            r_max,
            ..Config::new(Form::Printed)
        };
        run(&network, &Scheme::new(config), 1).throughput(&network)
    };
    assert!((throughput(1.0) - 0.8).abs() < 0.01);
    assert!(throughput(2.0) > 0.99);
}

/// Cells per step of a circuit that meets `liars` at a relay of `capacity`, which pins up to eight steps, as in the
/// transport; relays that tell the truth say that two are decided. Perhaps it begins there: an `edge`.
fn beside_liars(
    reserve: f64,
    liars: usize,
    (capacity, queue_limit): (f64, f64),
    edge: bool,
) -> f64 {
    let config = Config {
        pin: 8,
        reserve,
        queue_limit,
        ..Config::new(Form::Coded)
    };
    let scheme = Scheme {
        decided: 2,
        liars,
        ..Scheme::new(config)
    };
    // All circuits meet at relay 0.
    let lies = (0..liars).map(|number| vec![2 * number + 3, 0, 2 * number + 4]);
    let mut circuits: Vec<_> = lies.collect();
    circuits.push(if edge { vec![0, 2] } else { vec![1, 0, 2] });
    let network = Network {
        capacities: vec![capacity; 2 * circuits.len() + 1],
        circuits,
    };
    run(&network, &scheme, 1).rates[liars]
}

#[test]
fn sources_that_announce_and_do_not_send_stop_nobody_where_plans_have_a_reserve() {
    // Where a step carries more than queues may hold, a circuit that comes from another relay gets no more than its queue
    // holds when it is alone. One that begins at the relay keeps so much: plans send what was announced before queues
    // grow longer.
    for (relay, edge) in [
        ((30.0, 100.0), false),
        ((30.0, 100.0), true),
        ((300.0, 50.0), false),
        ((300.0, 50.0), true),
        ((300.0, 600.0), false),
    ] {
        let get = |reserve, liars| beside_liars(reserve, liars, relay, edge);
        for liars in [1, 5] {
            let fair = relay.0 / (liars + 1) as f64;
            let due = get(0.5, 0).min(fair).min(relay.1);
            let (without, with) = (get(0.0, liars), get(0.5, liars));
            assert!(
                without < 0.05 * due,
                "{relay:?}, {liars}: {without} of {due}"
            );
            assert!(with > 0.45 * due, "{relay:?}, {liars}: {with} of {due}");
        }
    }
}
