//! Rates that follow from windows and round trips.

use hopflow_testkit::{Chain, Counted, End, Manner, Medium};
use hopflow_units::{Bytes, Duration};
use hopflow_wire::CELL_DATA;
use toml::Table;

/// Cells per second of a download whose round trip over two hops is one second.
fn cells_per_second(preset: &str, options: &str) -> f64 {
    let options: Table = options.parse().expect("it is TOML");
    let factory = hopflow_transports::build::<Counted>(preset, &options).expect("it is allowed");
    let medium = Medium::delay(Duration::from_millis(250)).with_buffer(Bytes::new(1 << 24));
    let mut chain = Chain::new(factory.as_ref(), 3, Manner::Orderly, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(20_000_000));
    chain.run_for(Duration::from_secs(5));
    let before = chain.arrived(stream, End::Exit);
    chain.run_for(Duration::from_secs(10));
    (chain.arrived(stream, End::Exit) - before).as_f64() / 10.0 / CELL_DATA as f64
}

#[test]
fn a_window_with_sendmes_allows_itself_once_per_round_trip() {
    for (preset, window) in [
        ("vanilla", 500.0),
        ("vanilla-stream-window", 500.0),
        ("vanilla-circuit-window", 1000.0),
    ] {
        let rate = cells_per_second(preset, "");
        assert!((rate / window - 1.0).abs() < 0.02, "{preset}: {rate}");
    }
}

#[test]
fn the_smaller_of_two_windows_counts() {
    let rate = cells_per_second("vanilla", "circuit-window = 200");
    assert!((rate / 200.0 - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn pctcp_has_the_rate_of_its_windows() {
    for (preset, window) in [("pctcp", 500.0), ("pctcp-stream-window", 500.0)] {
        let rate = cells_per_second(preset, "");
        assert!((rate / window - 1.0).abs() < 0.02, "{preset}: {rate}");
    }
}

/// A hop's round trip is half a second. Reports come every 20 cells, and no cell waits.
#[test]
fn n23_sends_its_credit_once_per_round_trip_of_a_hop() {
    for (options, credit) in [("", 90.0), ("n3 = 180", 200.0), ("n2 = 1\nn3 = 9", 10.0)] {
        for preset in ["n23", "n23-as-published"] {
            let rate = cells_per_second(preset, options);
            assert!(
                (rate / (2.0 * credit) - 1.0).abs() < 0.02,
                "{preset}: {rate}"
            );
        }
    }
}

/// An end-to-end window beside a control on hops: the smaller one counts.
#[test]
fn an_end_to_end_window_limits_what_hops_would_allow() {
    let window = "end-to-end = \"window\"\nstream-window = 0\ncircuit-window = 200";
    let rate = cells_per_second("n23", &format!("{window}\nn3 = 400"));
    assert!((rate / 200.0 - 1.0).abs() < 0.02, "{rate}");
    let alone = cells_per_second("backtap", "");
    let rate = cells_per_second("backtap", window);
    assert!(alone > 1000.0 && rate < 204.0, "{alone}, {rate}");
}
