//! Whose cell goes next: a choice that every transport leaves open.
//!
//! `round-robin` is the transport's own order: circuits take turns cell by cell, and with TCP
//! connections take turns, too. `ewma` prefers the circuit that sent least of late (Tang and
//! Goldberg, CCS '10), within a connection where connections take turns. `kist` does so over all
//! connections of the node, and writes at intervals, no more than TCP sends soon (Jansen et al.,
//! USENIX Security '14; tor 0.4.9, `scheduler_kist.c`).

use hopflow_overlay::{ConfigError, Order, Plan, Scope};
use hopflow_units::Duration;
use hopflow_wire::Carrier;

use crate::options::Options;

/// The names of the schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheduler {
    RoundRobin,
    Ewma,
    Kist,
}

const SCHEDULERS: &[(&str, Scheduler)] = &[
    ("round-robin", Scheduler::RoundRobin),
    ("ewma", Scheduler::Ewma),
    ("kist", Scheduler::Kist),
];

/// Reads the scheduler's options into a transport's plan.
pub(crate) fn configure(options: &mut Options, plan: Plan) -> Result<Plan, ConfigError> {
    let scheduler = options.choice("scheduler", Scheduler::RoundRobin, SCHEDULERS)?;
    if scheduler == Scheduler::RoundRobin {
        return Ok(plan);
    }
    // As tor 0.4.9 has it (circuitmux_ewma.c).
    let half_life = options.interval("half-life", Duration::from_secs(30))?;
    let order = Order::Ewma { half_life };
    if scheduler == Scheduler::Ewma {
        return Ok(Plan { order, ..plan });
    }
    if plan.carrier == Carrier::Datagram {
        let allowed = "round-robin or ewma, for kist limits what is written to TCP connections, \
                       and this transport has none";
        return Err(ConfigError::new("scheduler", "kist", allowed));
    }
    let interval = options.interval("kist-interval", Duration::from_millis(2))?;
    Ok(Plan {
        order,
        scope: Scope::Node,
        kist: Some(interval),
        ..plan
    })
}

#[cfg(test)]
mod tests {
    use hopflow_wire::RawPayload;

    use super::*;
    use crate::build;

    fn plan(preset: &str, options: &str) -> Result<Plan, ConfigError> {
        let options = options.parse().unwrap();
        build::<RawPayload>(preset, &options).map(|factory| factory.plan())
    }

    #[test]
    fn every_transport_takes_a_scheduler() {
        for preset in crate::presets() {
            let plan = plan(preset.name, "scheduler = \"ewma\"\nhalf-life = \"1 s\"").unwrap();
            let half_life = Duration::from_secs(1);
            assert_eq!(plan.order, Order::Ewma { half_life }, "{}", preset.name);
        }
    }

    #[test]
    fn kist_is_for_tcp() {
        let kist = "scheduler = \"kist\"";
        assert_eq!(plan("pctcp", kist).unwrap().scope, Scope::Node);
        let error = plan("backtap", kist).unwrap_err().to_string();
        assert!(error.contains("round-robin or ewma"), "{error}");
    }
}
