//! What real hosts can do is built, and what they cannot is refused.

use hopflow_real_hosts::build;
use toml::Table;

#[track_caller]
fn refused(preset: &str, options: &str, reason: &str) {
    let options = options.parse().expect("it is TOML");
    let error = build(preset, &options).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn what_real_hosts_cannot_do_is_refused_with_the_reason() {
    let out_of_band = "feedback = \"out-of-band\"\nhop-delay = \"10 ms\"";
    refused("predictor", out_of_band, "outside of all links");
}

#[test]
fn what_real_hosts_can_do_is_built() {
    for preset in [
        "vanilla",
        "tor-vegas",
        "pctcp",
        "n23",
        "backtap",
        "marut",
        "switching",
        "switching-backtap",
        "udp-or",
        "udp-or-newreno",
    ] {
        build(preset, &Table::new()).unwrap();
    }
}
