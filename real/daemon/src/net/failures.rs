//! Links that failed, as far as the log tells of them.

use std::collections::BTreeMap;

use hopflow_engine::LostLink;
use hopflow_units::{Duration, Instant};
use tracing::warn;

use crate::Hex;
use crate::directory::Directory;

/// Time between two lines about one relay at least: clients have links opened to it as often as they may extend
/// circuits.
const PAUSE: Duration = Duration::from_secs(60);

/// Of which relays the log has told, in the form that the directory has their identities in. Only its relays are
/// linked to, so there are as many as it lists.
#[derive(Debug, Default)]
pub(super) struct Failures {
    told: BTreeMap<[u8; 32], Told>,
}

#[derive(Debug)]
struct Told {
    at: Instant,
    /// Failures since then.
    since: u64,
}

impl Failures {
    /// Logs a link that failed, once in a minute for each relay.
    pub(super) fn log(&mut self, now: Instant, directory: &Directory, lost: &LostLink) {
        let identity = lost.to.to_bytes();
        let Some(failures) = self.note(now, identity) else {
            return;
        };
        let relay = directory.relay(&Hex(identity));
        let relay = relay.map_or("unknown", |relay| &relay.nickname);
        match &lost.why {
            Some(why) => warn!(relay, %why, failures, "a link failed"),
            None => warn!(
                relay,
                why = "silence, or its connection is gone",
                failures,
                "a link failed"
            ),
        }
    }

    /// Notes a failure; how many there were since the log told of the last one, if it tells of this one.
    fn note(&mut self, now: Instant, identity: [u8; 32]) -> Option<u64> {
        let told = self.told.get_mut(&identity);
        let mut failures = 1;
        if let Some(told) = told {
            told.since += 1;
            if now.saturating_since(told.at) < PAUSE {
                return None;
            }
            failures = told.since;
        }
        self.told.insert(identity, Told { at: now, since: 0 });
        Some(failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_of_each_relay_once_a_minute_and_how_often_it_failed() {
        let mut failures = Failures::default();
        let start = Instant::from_nanos(1);
        assert_eq!(failures.note(start, [1; 32]), Some(1));
        for _ in 0..100 {
            assert_eq!(failures.note(start, [1; 32]), None);
        }
        assert_eq!(failures.note(start, [2; 32]), Some(1));
        assert_eq!(failures.note(start + PAUSE, [1; 32]), Some(101));
        assert_eq!(failures.note(start + PAUSE * 2, [1; 32]), Some(1));
    }
}
