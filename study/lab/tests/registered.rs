//! A control of another crate is a value of its axis, and is swept where it fits the other layers.

#[path = "../../../front/own-transport/src/delay_aimd.rs"]
mod delay_aimd;

use hopflow_lab::sweep::{Chosen, SCENARIO, Setting, Sweep};
use hopflow_sim::Simulated;

#[test]
fn a_registered_control_is_swept_without_a_change_here() {
    hopflow_transports::register_hop::<delay_aimd::DelayAimd, Simulated>().unwrap();
    hopflow_transports::register_preset(&delay_aimd::PRESET).unwrap();
    let chosen = Chosen {
        hop_control: vec!["delay-aimd".to_owned()],
        ..Chosen::default()
    };
    let setting = Setting {
        chosen,
        ..Setting::default()
    };
    let sweep = Sweep::plan(SCENARIO, &setting).unwrap();
    let labels: Vec<_> = sweep
        .points()
        .iter()
        .map(|(point, _)| point.label())
        .collect();
    let ends = ["none", "window", "vegas"];
    let expected: Vec<_> = ends
        .iter()
        .flat_map(|end| ["round-robin", "ewma"].map(|it| format!("{end}+{it}")))
        .map(|rest| format!("datagram+shared+delay-aimd+{rest}"))
        .collect();
    assert_eq!(labels, expected);
    let (_, choice) = &sweep.points()[0];
    assert_eq!(choice.preset.as_deref(), Some("delay-aimd"));
    assert!(sweep.skipped().iter().all(|(_, reason)| !reason.is_empty()));
}
