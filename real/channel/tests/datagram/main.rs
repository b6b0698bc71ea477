//! Links over datagrams, in virtual time.

mod any;
#[path = "../../../../fuzz/explore.rs"]
mod explore;
mod hostile;
mod joined;
mod lossy;
mod orderly;
mod support;

use support::Dice;

#[test]
fn fuzzing_channels_finds_nothing() {
    explore::explore("channel", |bytes| {
        any::any_bytes(bytes);
    });
}

#[test]
fn random_networks_let_channels_open() {
    let mut dice = Dice(9);
    let opened = (0..300).filter(|_| {
        let len = dice.roll(600);
        let bytes: Vec<u8> = (0..len).map(|_| dice.roll(256) as u8).collect();
        any::any_bytes(&bytes)
    });
    let opened = opened.count();
    assert!(opened > 30, "{opened}");
}
