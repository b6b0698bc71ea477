//! A large file through three relays, by the testbed's own downloads and by curl.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use hopflow_testbed::{
    Figure, Figures, Settings, Snapshot, Testbed, Trace, Unwatched, Watch, measure, simulate,
};
use hopflow_units::{Bytes, Duration, Rate};

const SIZE: u64 = 50_000_000;

/// A testbed as fast as the machine.
fn fast(transport: &str, downloads: u32, size: u64) -> Settings {
    Settings {
        transport: transport.to_owned(),
        downloads,
        size: Bytes::new(size),
        delay: Duration::ZERO,
        rate: None,
        ..Settings::default()
    }
}

/// What the web server answers to whoever asks it without an overlay.
fn direct(testbed: &Testbed, size: u64) -> Vec<u8> {
    let mut socket = TcpStream::connect(testbed.server()).unwrap();
    write!(socket, "GET /{size} HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    let head = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    answer.split_off(head + 4)
}

fn by_curl(testbed: &Testbed, size: u64) -> Vec<u8> {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "60"])
        .args(["--socks5-hostname", &testbed.socks().to_string()])
        .arg(format!("http://{}/{size}", testbed.server()))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    output.stdout
}

fn has_curl() -> bool {
    Command::new("curl").arg("--version").output().is_ok()
}

#[test]
fn a_large_file_comes_through_three_relays_as_it_was_served() {
    let testbed = Testbed::start(&fast("backtap", 1, SIZE)).unwrap();
    // Every byte is checked where it is received.
    let measured = measure(&testbed, &Unwatched).unwrap();
    assert_eq!(
        (measured.downloads.len(), measured.unfinished.len()),
        (1, 0)
    );
    assert_eq!(measured.downloads[0].bytes.get(), SIZE);
    let carried = SIZE / 498;
    assert!(measured.relays.iter().all(|relay| relay.sent >= carried));
    if has_curl() {
        assert!(by_curl(&testbed, SIZE) == direct(&testbed, SIZE));
    }
    testbed.end().unwrap();
}

#[test]
fn downloads_over_tcp_and_on_one_circuit_come_through() {
    for transport in ["vanilla", "pctcp"] {
        let settings = Settings {
            shared: transport == "vanilla",
            ..fast(transport, 3, 2_000_000)
        };
        let testbed = Testbed::start(&settings).unwrap();
        let measured = measure(&testbed, &Unwatched).unwrap();
        assert_eq!(measured.downloads.len(), 3, "{transport}");
        testbed.end().unwrap();
    }
}

#[test]
fn a_download_takes_a_round_trip_to_its_first_byte_and_leaves_samples() {
    let settings = Settings {
        delay: Duration::from_millis(10),
        ..fast("backtap", 2, 1_000_000)
    };
    let testbed = Testbed::start(&settings).unwrap();
    let measured = measure(&testbed, &Unwatched).unwrap();
    testbed.end().unwrap();
    for download in &measured.downloads {
        assert!(download.ttfb >= Duration::from_millis(60), "{download:?}");
        assert!(download.ttlb > download.ttfb, "{download:?}");
    }
    assert!(
        measured
            .moments
            .iter()
            .all(|it| it.packaged >= it.delivered)
    );
    assert!(measured.moments.iter().any(|it| it.packaged > it.delivered));
    for hop in 0..3 {
        let mut states = measured.hops.iter().filter(|it| it.hop == hop);
        assert!(states.any(|it| it.outstanding.get() > 0), "hop {hop}");
    }
    let figures = Figures::of(&measured);
    let all = Figure::ALL.iter();
    assert!(all.copied().all(|figure| figures.get(figure).is_some()));
}

#[test]
fn downloads_over_several_paths_use_all_for_real_and_in_the_simulator() {
    let settings = Settings {
        legs: Some(2),
        rate: Some(Rate::from_megabits_per_sec(20)),
        delay: Duration::from_millis(10),
        ..fast("backtap", 2, 1_000_000)
    };
    let testbed = Testbed::start(&settings).unwrap();
    let measured = measure(&testbed, &Unwatched).unwrap();
    testbed.end().unwrap();
    let simulated = simulate(&settings, 1, &Unwatched).unwrap().unwrap();
    let names = ["guard", "middle", "exit", "guard-2", "middle-2"];
    for outcome in [&measured, &simulated] {
        assert_eq!(outcome.downloads.len(), 2);
        let relays: Vec<_> = outcome.relays.iter().map(|relay| &relay.name[..]).collect();
        assert_eq!(relays, names);
        for relay in &outcome.relays {
            assert!(relay.sent > 300, "{relay:?}");
        }
    }
}

#[test]
fn hops_that_repair_nothing_carry_downloads_for_real_and_in_the_simulator() {
    for transport in ["udp-or", "udp-or-newreno"] {
        let settings = Settings {
            rate: Some(Rate::from_megabits_per_sec(20)),
            middle_rate: Some(Rate::from_kilobytes_per_sec(1000)),
            delay: Duration::from_millis(10),
            ..fast(transport, 2, 2_000_000)
        };
        let testbed = Testbed::start(&settings).unwrap();
        let measured = measure(&testbed, &Unwatched).unwrap();
        testbed.end().unwrap();
        let simulated = simulate(&settings, 1, &Unwatched).unwrap().unwrap();
        for outcome in [&measured, &simulated] {
            assert_eq!((outcome.downloads.len(), outcome.unfinished.len()), (2, 0));
            for download in &outcome.downloads {
                assert_eq!(download.bytes.get(), 2_000_000, "{transport}");
            }
        }
    }
}

#[test]
fn every_node_of_a_testbed_writes_traces() {
    let folder = tempfile::tempdir().unwrap();
    let trace = Trace::into_folder(folder.path().to_owned());
    let testbed = Testbed::start_with(&fast("backtap", 2, 200_000), false, Some(&trace)).unwrap();
    let measured = measure(&testbed, &Unwatched).unwrap();
    assert_eq!(measured.downloads.len(), 2);
    testbed.end().unwrap();
    for node in ["guard", "middle", "exit", "client"] {
        let packets = folder.path().join(node).join("packets.pcapng");
        // A cell takes some 150 bytes with all that stands around it.
        assert!(packets.metadata().unwrap().len() > 10_000, "{node}");
        for circuit in 0..2 {
            let name = format!("circuit-{circuit}.qlog");
            let text = std::fs::read_to_string(folder.path().join(node).join(name)).unwrap();
            assert!(text.matches("hopflow:cell_").count() > 400, "{node}");
            assert!(text.ends_with("\n]}\n]}\n"), "{node}");
        }
    }
}

#[test]
fn downloads_that_take_too_long_are_cut_off_for_real_and_in_the_simulator() {
    let limit = Duration::from_secs(1);
    let settings = Settings {
        delay: Duration::from_millis(20),
        rate: Some(Rate::from_megabits_per_sec(20)),
        duration: Some(limit),
        ..fast("backtap", 2, 100_000_000)
    };
    let testbed = Testbed::start(&settings).unwrap();
    let measured = measure(&testbed, &Unwatched).unwrap();
    testbed.end().unwrap();
    let simulated = simulate(&settings, 1, &Unwatched).unwrap().unwrap();
    assert_eq!(simulated.span, limit);
    for outcome in [&measured, &simulated] {
        assert_eq!(outcome.downloads.len(), 0);
        let numbers: Vec<u32> = outcome.unfinished.iter().map(|it| it.number).collect();
        assert_eq!(numbers, [0, 1]);
        for download in &outcome.unfinished {
            assert_eq!(download.start + download.waited, outcome.span);
            assert!(download.ttfb.is_some(), "{download:?}");
            assert!(download.bytes.get() > 100_000, "{download:?}");
        }
        // Machines that are busy cut off late.
        assert!((limit..limit * 2).contains(&outcome.span), "{outcome:?}");
        let last = outcome.moments.last().unwrap();
        assert!(last.at + Duration::from_millis(200) > outcome.span);
        assert!(last.delivered.get() > 100_000, "{last:?}");
    }
}

#[test]
fn a_limit_that_no_download_meets_changes_nothing_in_the_simulator() {
    let free = Settings {
        delay: Duration::from_millis(20),
        ..fast("backtap", 2, 500_000)
    };
    let limited = Settings {
        duration: Some(Duration::from_secs(60)),
        ..free.clone()
    };
    let [free, limited] = [free, limited].map(|it| simulate(&it, 1, &Unwatched).unwrap());
    assert_eq!(free, limited);
}

#[test]
fn a_simulation_can_be_interrupted() {
    struct Impatient;
    impl Watch for Impatient {
        fn building(&self, _: u32, _: u32) {}

        fn show(&self, _: &Snapshot) {}

        fn interrupted(&self) -> bool {
            true
        }
    }
    let outcome = simulate(&fast("backtap", 2, SIZE), 1, &Impatient).unwrap();
    assert_eq!(outcome, None);
}

#[test]
fn many_downloads_come_over_one_circuit() {
    let settings = Settings {
        shared: true,
        ..fast("backtap", 150, 1000)
    };
    let testbed = Testbed::start(&settings).unwrap();
    let measured = measure(&testbed, &Unwatched).unwrap();
    assert_eq!(measured.downloads.len(), 150);
    testbed.end().unwrap();
}
