//! How checks of scenarios fail, and limits that they share.

use super::InputError;

/// The most relays and the most circuits of a scenario.
pub(super) const LARGEST_COUNT: u64 = 1_000_000;

pub(super) type Check = Result<(), InputError>;

pub(super) fn fail(key: &str, problem: impl Into<String>) -> Check {
    Err(InputError::at(key, problem))
}

pub(super) fn check_count(key: &str, count: u64) -> Check {
    if count == 0 || count > LARGEST_COUNT {
        return fail(key, not_a_count(count));
    }
    Ok(())
}

pub(super) fn not_a_count(count: u64) -> String {
    format!("{count} is outside of what is allowed: 1 to {LARGEST_COUNT}")
}
