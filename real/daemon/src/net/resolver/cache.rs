//! What names were found to be, for a while.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use hopflow_units::{Duration, Instant};

/// How long an answer is kept. The system's resolver does not tell how long it is good for; Tor's
/// exits keep answers for at least five minutes.
const KEPT: Duration = Duration::from_secs(300);
/// How long it is remembered that there was no answer.
const NONE_KEPT: Duration = Duration::from_secs(10);
/// Names that are remembered at most.
const MOST: usize = 4096;

/// Addresses of names.
#[derive(Debug, Default)]
pub(super) struct Cache {
    known: BTreeMap<String, Known>,
    /// Names in the order in which they were learned, and when.
    order: VecDeque<(Instant, String)>,
}

#[derive(Debug)]
struct Known {
    addresses: Vec<IpAddr>,
    learned: Instant,
}

impl Known {
    const fn kept(&self) -> Duration {
        if self.addresses.is_empty() {
            NONE_KEPT
        } else {
            KEPT
        }
    }
}

impl Cache {
    /// The addresses of a name, if they are known.
    pub(super) fn get(&self, now: Instant, host: &str) -> Option<&[IpAddr]> {
        let known = self.known.get(host)?;
        (now.saturating_since(known.learned) < known.kept()).then_some(&known.addresses)
    }

    /// Notes the addresses of a name; those that were learned first are forgotten.
    pub(super) fn put(&mut self, now: Instant, host: &str, addresses: Vec<IpAddr>) {
        let learned = now;
        self.known
            .insert(host.to_owned(), Known { addresses, learned });
        self.order.push_back((now, host.to_owned()));
        while let Some((learned, host)) = self.order.front()
            && (self.order.len() > MOST || now.saturating_since(*learned) >= KEPT)
        {
            // It may have been learned again since.
            if self
                .known
                .get(host)
                .is_some_and(|it| it.learned == *learned)
            {
                self.known.remove(host);
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1);

    fn address(last: u8) -> Vec<IpAddr> {
        vec![[192, 0, 2, last].into()]
    }

    #[test]
    fn an_answer_is_known_for_a_while_and_none_for_a_short_one() {
        let mut cache = Cache::default();
        cache.put(START, "a", address(1));
        cache.put(START, "b", Vec::new());
        assert_eq!(cache.get(START, "a"), Some(&address(1)[..]));
        assert_eq!(cache.get(START, "b"), Some(&[][..]));
        assert_eq!(cache.get(START, "c"), None);
        let later = START + NONE_KEPT;
        assert!(cache.get(later, "a").is_some() && cache.get(later, "b").is_none());
        assert_eq!(cache.get(START + KEPT, "a"), None);
    }

    #[test]
    fn the_oldest_answers_are_forgotten() {
        let mut cache = Cache::default();
        for name in 0..2 * MOST {
            cache.put(START, &name.to_string(), address(1));
        }
        assert_eq!((cache.known.len(), cache.order.len()), (MOST, MOST));
        let later = START + Duration::from_secs(60);
        cache.put(later, &(2 * MOST - 1).to_string(), address(2));
        cache.put(START + KEPT, "z", address(3));
        assert_eq!(cache.known.len(), 2, "what was learned again is known");
    }
}
