//! UDP-OR: rates that follow from windows, links and round trips, and repair from end to end.

use hopflow_overlay::{BucketConfig, Factory};
use hopflow_testkit::{Bench, Chain, CircuitNo, Counted, End, Manner, Medium, StreamNo};
use hopflow_units::{Bytes, Duration, Rate};
use hopflow_wire::{CELL_DATA, CellFlags, Frame, Reason};
use toml::Table;

const PRESETS: [&str; 2] = ["udp-or", "udp-or-newreno"];

fn factory(preset: &str, options: &str) -> Box<dyn Factory<Counted>> {
    let options: Table = options.parse().expect("it is TOML");
    hopflow_transports::build(preset, &options).expect("it is allowed")
}

/// A download over two hops of this medium.
fn download(
    factory: &dyn Factory<Counted>,
    medium: Medium,
    len: u64,
) -> (Chain<'_>, CircuitNo, StreamNo) {
    let mut chain = Chain::new(factory, 3, Manner::WireTrue, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1, 2]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(len));
    (chain, circuit, stream)
}

/// Cells per second of a download, from its 10th to its 20th second.
fn cells_per_second(preset: &str, options: &str, medium: Medium) -> f64 {
    let factory = factory(preset, options);
    let (mut chain, _, stream) = download(factory.as_ref(), medium, 20_000_000);
    chain.run_for(Duration::from_secs(10));
    let before = chain.arrived(stream, End::Exit);
    chain.run_for(Duration::from_secs(10));
    (chain.arrived(stream, End::Exit) - before).as_f64() / 10.0 / CELL_DATA as f64
}

#[test]
fn a_small_receive_buffer_is_sent_once_per_round_trip() {
    // Two hops there and back take a second; acknowledgements come with every second cell.
    let medium = Medium::delay(Duration::from_millis(250));
    for preset in PRESETS {
        let options = "receive-buffer = \"49800 B\"";
        let rate = cells_per_second(preset, options, medium);
        assert!((rate / 100.0 - 1.0).abs() < 0.02, "{preset}: {rate}");
    }
}

#[test]
fn a_path_that_loses_nothing_carries_what_its_narrowest_link_does() {
    let rate = Rate::from_kilobytes_per_sec(100);
    let medium = Medium::delay(Duration::from_millis(40)).with_rate(rate);
    for preset in PRESETS {
        let cells = cells_per_second(preset, "receive-buffer = \"200 KiB\"", medium);
        let link = 100_000.0 / 517.0;
        assert!((cells / link - 1.0).abs() < 0.01, "{preset}: {cells}");
    }
}

#[test]
fn the_ends_repair_what_hops_lose_repeat_and_reorder() {
    for (preset, sack) in PRESETS.into_iter().flat_map(|p| [(p, true), (p, false)]) {
        let factory = factory(preset, &format!("sack = {sack}"));
        for (loss, duplicate, jitter) in [(0.0, 0.0, 30), (0.02, 0.05, 0), (0.05, 0.1, 10)] {
            let medium = Medium::delay(Duration::from_millis(10));
            let medium = medium.harmed(loss, duplicate, Duration::from_millis(jitter));
            let (mut chain, _, stream) = download(factory.as_ref(), medium, 200_000);
            chain.write(stream, End::Client, Bytes::new(20_000));
            assert!(
                chain.run_to_arrival(Duration::from_secs(3600)),
                "{preset}, sack = {sack}, loss {loss}: it hangs: {}",
                chain.summary()
            );
            assert!(chain.settle(Duration::from_secs(600)), "it never rests");
            chain.assert_conserved();
            assert_eq!(Counted::live(), 0, "cells are kept without need");
        }
    }
}

/// The far end is asked to pause at 500 cells and holds 4096 at most; what was cut before goes into
/// the receive buffer, and its window closes.
#[test]
fn a_window_that_closes_is_asked_about_and_opens_again() {
    let options = "send-buffer = \"8 MiB\"\nsource-queue = 10000\nreceive-buffer = \"50 KiB\"";
    let factory = factory("udp-or", options);
    for loss in [0.0, 0.05] {
        let medium = Medium::delay(Duration::from_millis(10));
        let medium = medium.harmed(loss, 0.0, Duration::ZERO);
        let (mut chain, circuit, stream) = download(factory.as_ref(), medium, 4_000_000);
        chain.set_reading(stream, End::Client, false);
        chain.run_for(Duration::from_secs(600));
        let view = chain.flow(circuit, 0, hopflow_overlay::Direction::Backward);
        let queued = view.expect("the circuit is open").queued.get();
        assert!((95..=102).contains(&queued), "{queued} cells wait");
        let steps = chain.watch().steps;
        chain.run_for(Duration::from_secs(600));
        let steps = chain.watch().steps - steps;
        assert!((5..500).contains(&steps), "{steps} steps while it is asked");
        chain.set_reading(stream, End::Client, true);
        assert!(chain.run_to_arrival(Duration::from_secs(3600)), "it hangs");
    }
}

#[test]
fn a_circuit_ends_whose_other_end_has_fallen_silent() {
    for reading in [true, false] {
        let options = "send-buffer = \"8 MiB\"\nsource-queue = 10000\nreceive-buffer = \"50 KiB\"";
        let factory = factory("udp-or", options);
        let medium = Medium::delay(Duration::from_millis(10));
        let (mut chain, circuit, stream) = download(factory.as_ref(), medium, 100_000_000);
        chain.set_reading(stream, End::Client, reading);
        // Cells are under way, or the window is closed and asked about.
        chain.run_for(Duration::from_secs(20));
        chain.expect_closures();
        chain.hold_output(0);
        chain.run_for(Duration::from_secs(600));
        assert_eq!(chain.closures(circuit), [None; 3], "reading: {reading}");
        chain.run_for(Duration::from_secs(3 * 3600));
        let gone = Some(Reason::Unreachable);
        assert_eq!(
            chain.closures(circuit)[1..],
            [gone; 2],
            "reading: {reading}"
        );
    }
}

/// Of ten cells with these flags, how many a relay passes on whose bucket has the tokens of three and
/// is not filled again.
fn passed_on(charging: &str, flags: u8) -> usize {
    let factory = factory("udp-or", &format!("charging = \"{charging}\""));
    let mut relay = Bench::relay(factory.as_ref());
    let bucket = BucketConfig {
        rate: Rate::from_bytes_per_sec(1).expect("it is a rate"),
        depth: Bytes::new(3 * 517),
        interval: Duration::from_secs(3600),
        phase: Duration::from_secs(3600),
    };
    relay.host.set_bucket(relay.now, Some(bucket));
    let cells = (0..10).map(|number| {
        let mut frame = Bench::data(number);
        if let Frame::Cell(cell) = &mut frame {
            cell.flags = CellFlags(flags);
        }
        relay.receive(0, frame).cells(1)
    });
    cells.sum()
}

#[test]
fn the_token_bucket_charges_as_published_what_the_ends_send_for_the_first_time() {
    for flags in [0, 1, 15, 127, 0x80, 0x81] {
        assert_eq!(passed_on("everything", flags), 3, "flags {flags}");
    }
    for (flags, cells) in [(0, 3), (1, 10), (15, 10), (127, 10), (0x80, 3), (0x81, 3)] {
        assert_eq!(passed_on("as-published", flags), cells, "flags {flags}");
    }
}
