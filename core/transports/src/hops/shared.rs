//! What several controls on hops say and do.

use hopflow_overlay::{
    Condition, ConfigError, Features, HopCx, HopReport, HopSignal, Info, Role, Violation,
};
use hopflow_units::Duration;

/// What controls need that report the state of hops to the source.
const REPORTS_NEED: &[Condition] = &[
    (
        Features::HOP_REPAIR,
        "Marut's loads travel with the forward feedback of datagrams, which hops repair.",
    ),
    (
        Features::LOAD_READER,
        "Hops report to the source, which must have a control that reads this.",
    ),
];

/// A control that reports the state of hops to the source.
pub(super) const fn reporting(name: &'static str, about: &'static str, provides: Features) -> Info {
    Info {
        provides,
        requires: REPORTS_NEED,
        ..Info::new(name, about)
    }
}

/// Lets the predecessor know the state of the hops from here on, or at the source the end control
/// what happened.
pub(super) fn report(cx: &mut HopCx<'_>, state: u16, happened: HopReport) {
    if cx.site.role == Role::Relay {
        *cx.feedback_ext = Some(state);
    } else {
        *cx.report = Some(happened);
    }
}

/// Answers a signal that a control has no use for: one that sends no messages gets none.
#[inline]
pub(super) fn ignore(signal: HopSignal<'_>) -> Result<(), Violation> {
    match signal {
        HopSignal::Message(..) => Err(Violation::UnexpectedMessage),
        _ => Ok(()),
    }
}

/// The longest time for which feedback may wait: longer, and hops with long ways would take it for lost cells (RFC
/// 6298: 1 s).
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Refuses a time for which feedback would wait too long.
pub(super) fn check_wait(key: &'static str, wait: Duration) -> Result<(), ConfigError> {
    if wait > LONGEST_WAIT {
        let allowed = format!("a time up to {LONGEST_WAIT}");
        return Err(ConfigError::new(key, wait, allowed));
    }
    Ok(())
}
