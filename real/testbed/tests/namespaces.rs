//! Downloads over links between network namespaces, with the kernel's TCP.
//!
//! They need Linux, root, `ip` and `/dev/net/tun`. Where one of them is missing the tests pass, unless
//! `HOPFLOW_REQUIRE` in the environment asks for `netns`, as `.ci/run` does.

#![cfg(target_os = "linux")]

use std::fs::OpenOptions;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use hopflow_testbed::{
    Congestion, Figure, Figures, Settings, Testbed, Unwatched, measure, simulate,
};
use hopflow_testkit::skip;
use hopflow_units::{Bytes, Duration, Rate};

/// What this machine lacks.
fn lacking() -> Option<&'static str> {
    let made = Command::new("unshare").args(["--net", "true"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return Some("no right to make network namespaces");
    }
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    if device.is_err() {
        return Some("no /dev/net/tun");
    }
    Command::new("ip").arg("-V").output().err().map(|_| "no ip")
}

/// Network namespaces with a congestion control that every Linux gives them.
fn settings(transport: &str, downloads: u32) -> Settings {
    Settings {
        transport: transport.to_owned(),
        downloads,
        size: Bytes::new(1_000_000),
        netns: Some(Congestion::NewReno),
        ..Settings::default()
    }
}

/// One at a time: they share the machine.
static ALONE: Mutex<()> = Mutex::new(());

fn figures(settings: &Settings) -> Figures {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let testbed = Testbed::start(settings).unwrap();
    let measured = measure(&testbed, &Unwatched).unwrap();
    let late = testbed.end().unwrap().unwrap();
    assert!(late.packets() > 100, "{late}");
    assert_eq!(measured.downloads.len(), settings.downloads as usize);
    Figures::of(&measured)
}

fn goodput(figures: &Figures) -> f64 {
    figures.get(Figure::GoodputMedian).unwrap()
}

#[test]
fn datagrams_and_tcp_pass_the_links_between_namespaces() {
    if let Some(reason) = lacking() {
        return skip("netns", reason);
    }
    for transport in ["backtap", "pctcp"] {
        let settings = Settings {
            delay: Duration::from_millis(10),
            ..settings(transport, 3)
        };
        let figures = figures(&settings);
        let ttfb = figures.get(Figure::TtfbMedian).unwrap();
        // A round trip, and no second link in front of each.
        assert!((0.06..0.1).contains(&ttfb), "{transport}: {figures:?}");
    }
}

/// Over TCP the connections' windows would open within a millisecond on the loopback device. Over `joint` a download
/// begins at the uplink's full rate, which nothing but the uplink may stop.
#[test]
fn a_download_takes_as_long_as_in_the_simulator() {
    if let Some(reason) = lacking() {
        return skip("netns", reason);
    }
    for transport in ["vanilla", "joint"] {
        let settings = settings(transport, 1);
        let real = figures(&settings);
        let simulated = Figures::of(&simulate(&settings, 1, &Unwatched).unwrap().unwrap());
        let ratio = goodput(&real) / goodput(&simulated);
        assert!((0.8..1.25).contains(&ratio), "{real:?}, {simulated:?}");
    }
}

/// Packets have the size that the simulator counts, and a link its rate.
#[test]
fn links_carry_what_they_carry_in_the_simulator() {
    if let Some(reason) = lacking() {
        return skip("netns", reason);
    }
    for transport in ["backtap", "vanilla"] {
        let settings = Settings {
            delay: Duration::from_millis(10),
            rate: Some(Rate::from_kilobytes_per_sec(250)),
            ..settings(transport, 1)
        };
        let real = goodput(&figures(&settings));
        let simulated = goodput(&Figures::of(
            &simulate(&settings, 1, &Unwatched).unwrap().unwrap(),
        ));
        assert!(real < 250_000.0, "{transport}: {real}");
        let ratio = real / simulated;
        assert!(
            (0.9..1.1).contains(&ratio),
            "{transport}: {real}, {simulated}"
        );
    }
}
