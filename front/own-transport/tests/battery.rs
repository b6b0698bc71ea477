//! The controls pass the battery, and do what closed forms say.

#[path = "../src/delay_aimd.rs"]
mod delay_aimd;
#[path = "../src/source_window.rs"]
mod source_window;

use delay_aimd::DelayAimd;
use hopflow_overlay::Factory;
use hopflow_testkit::{Chain, Counted, End, Manner, Medium, conformance};
use hopflow_transports::{build, register_end, register_hop, register_preset};
use hopflow_units::{Bytes, Duration};
use source_window::SourceWindow;

/// A factory of nodes of a preset with options, which are TOML.
fn factory(preset: &str, options: &str) -> Box<dyn Factory<Counted>> {
    register_hop::<DelayAimd, Counted>().expect("its name is new");
    register_end::<SourceWindow>().expect("its name is new");
    for preset in [&delay_aimd::PRESET, &source_window::PRESET] {
        register_preset(preset).expect("its name is new");
    }
    let options = options.parse().expect("it is TOML");
    build(preset, &options).expect("the options are allowed")
}

#[test]
fn delay_aimd_passes_the_battery() {
    conformance::check(factory("delay-aimd", "").as_ref());
}

#[test]
fn source_window_passes_the_battery() {
    conformance::check(factory("source-window", "").as_ref());
}

/// Cells per second that a download gets over two nodes, from the first second to the eleventh.
fn cells_per_second(factory: &dyn Factory<Counted>, medium: Medium) -> f64 {
    let mut chain = Chain::new(factory, 2, Manner::Orderly, 1).with_medium(medium);
    let circuit = chain.circuit(&[0, 1]);
    let stream = chain.stream(&[circuit]);
    chain.write(stream, End::Exit, Bytes::new(100_000_000));
    chain.run_for(Duration::from_secs(1));
    let first = chain.arrived(stream, End::Exit).as_f64();
    chain.run_for(Duration::from_secs(10));
    (chain.arrived(stream, End::Exit).as_f64() - first) / 498.0 / 10.0
}

/// From a window of 10 cells it grows by one per round trip of 100 ms: 10 after a second, and the
/// mean of the next ten seconds is 10 + 10 + 50 cells per round trip.
#[test]
fn delay_aimd_grows_by_a_cell_per_round_trip() {
    let medium = Medium::delay(Duration::from_micros(49_500));
    let rate = cells_per_second(factory("delay-aimd", "").as_ref(), medium);
    assert!((650.0..750.0).contains(&rate), "{rate} cells/s");
}

/// A window per round trip.
#[test]
fn the_rate_of_source_window_is_its_window_over_the_round_trip() {
    let medium = Medium::delay(Duration::from_millis(50));
    let rate = cells_per_second(factory("source-window", "window = 100").as_ref(), medium);
    assert!((950.0..1010.0).contains(&rate), "{rate} cells/s");
}
