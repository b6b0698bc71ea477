//! Whose circuits left exits that have no route to a target.

use std::collections::VecDeque;

use hopflow_units::{Duration, Instant};

use crate::socks::Isolation;

/// Users that are remembered at most: as many as circuits may be.
const MOST: usize = 4096;

/// Users one of whose circuits takes no new streams because of its exit's routes.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// Until when they leave no other exit for that; the first that may comes first.
    until: VecDeque<(Instant, Isolation)>,
}

impl Leaving {
    /// Whether a user may leave an exit. Then he may leave no other for so long, which is always the same.
    pub(super) fn may(&mut self, now: Instant, user: &Isolation, span: Duration) -> bool {
        while self.until.front().is_some_and(|(until, _)| *until <= now) {
            self.until.pop_front();
        }
        if self.until.iter().any(|(_, other)| other == user) {
            return false;
        }
        if self.until.len() >= MOST {
            self.until.pop_front();
        }
        self.until.push_back((now + span, user.clone()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(30);

    #[test]
    fn each_user_leaves_one_exit_in_a_time_and_as_many_as_circuits_are_remembered() {
        let mut leaving = Leaving::default();
        let now = Instant::ZERO;
        let user = |number: usize| Isolation::user(number.to_string(), "");
        for number in 0..MOST {
            assert!(leaving.may(now, &user(number), SPAN));
            assert!(!leaving.may(now, &user(0), SPAN));
        }
        assert!(leaving.may(now, &user(MOST), SPAN));
        assert_eq!(leaving.until.len(), MOST);
        assert!(!leaving.may(now, &user(1), SPAN));
        assert!(leaving.may(now + SPAN, &user(1), SPAN));
        assert_eq!(leaving.until.len(), 1);
    }
}
