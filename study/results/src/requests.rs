//! How long downloads take, those included that are not complete at the end of a run or were broken
//! off.

use hopflow_stats::Lasted;

use crate::rows::{Class, Download, FailCause, Failure, OpenRequest};

/// The downloads of a run, those that were open at its end, and those that were broken off.
///
/// What is open has lasted at least as long as it was seen. Left out, a transport that stops
/// answering would look as good as its last answers. What was broken off because the circuit was
/// closed never ends, and lasts from its request to the last that the tables tell of the run, as one
/// does that hangs: a transport that closes the circuits of slow downloads must not look fast. Where
/// the user left, which no transport has a part in, it has lasted at least until then.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'a> {
    /// Those that are complete.
    pub downloads: &'a [Download],
    /// Those that were not complete at the end.
    pub open: &'a [OpenRequest],
    /// Those that were broken off.
    pub failed: &'a [Failure],
}

impl Requests<'_> {
    /// Times to first byte of the requests of circuits that are wanted, in seconds.
    pub fn first_bytes(&self, wanted: impl Fn(u32, Class) -> bool) -> Vec<Lasted> {
        let complete = self.downloads.iter();
        let complete = complete.filter(|it| wanted(it.circuit, it.class));
        let open = self.open.iter().filter(|it| wanted(it.circuit, it.class));
        let complete = complete.map(|it| Lasted::ended(it.ttfb_s));
        let open = open.map(|it| it.ttfb_s.map_or(Lasted::open(it.waited_s), Lasted::ended));
        let end_s = self.end_s();
        let failed = self.failed(&wanted);
        let failed = failed.map(|it| {
            it.ttfb_s
                .map_or_else(|| broken_off(it, end_s), Lasted::ended)
        });
        complete.chain(open).chain(failed).collect()
    }

    /// Times to last byte of the requests of circuits that are wanted, in seconds.
    pub fn last_bytes(&self, wanted: impl Fn(u32, Class) -> bool) -> Vec<Lasted> {
        let all = self.each_last_byte();
        let all = all.filter(|(circuit, class, _)| wanted(*circuit, *class));
        all.map(|(_, _, lasted)| lasted).collect()
    }

    /// Times to last byte of all requests, in seconds, each with the circuit's number and class.
    pub fn each_last_byte(&self) -> impl Iterator<Item = (u32, Class, Lasted)> {
        let complete = self.downloads.iter();
        let complete = complete.map(|it| (it.circuit, it.class, Lasted::ended(it.ttlb_s)));
        let open = self.open.iter();
        let open = open.map(|it| (it.circuit, it.class, Lasted::open(it.waited_s)));
        let end_s = self.end_s();
        let failed = self.failed(|_, _| true);
        let failed = failed.map(move |it| (it.circuit, it.class, broken_off(it, end_s)));
        complete.chain(open).chain(failed)
    }

    /// The last that the tables tell of the run, in seconds of simulated time: its end, if a download
    /// was open then.
    fn end_s(&self) -> f64 {
        let complete = self.downloads.iter().map(|it| it.start_s + it.ttlb_s);
        let open = self.open.iter().map(|it| it.start_s + it.waited_s);
        let failed = self.failed.iter().map(|it| it.end_s);
        complete.chain(open).chain(failed).fold(0.0, f64::max)
    }

    /// Those that were broken off and would have ended.
    fn failed(&self, wanted: impl Fn(u32, Class) -> bool) -> impl Iterator<Item = &Failure> {
        let failed = self.failed.iter().filter(|it| !it.endless);
        failed.filter(move |it| wanted(it.circuit, it.class))
    }
}

/// How long a download lasted that was broken off, in a run that ended at `end_s`.
fn broken_off(failure: &Failure, end_s: f64) -> Lasted {
    match failure.cause {
        FailCause::Left => Lasted::open(failure.end_s - failure.start_s),
        FailCause::Closed => Lasted::never(end_s - failure.start_s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_request_may_have_its_first_byte() {
        let open = |circuit, ttfb_s| OpenRequest {
            circuit,
            class: Class::Web,
            request: 4,
            start_s: 50.0,
            waited_s: 10.0,
            ttfb_s,
            bytes: 0,
        };
        let requests = Requests {
            downloads: &[],
            open: &[open(0, None), open(1, Some(0.3)), open(2, None)],
            failed: &[],
        };
        let wanted = |circuit, class| circuit < 2 && class == Class::Web;
        assert_eq!(
            requests.first_bytes(wanted),
            [Lasted::open(10.0), Lasted::ended(0.3)]
        );
        assert_eq!(requests.last_bytes(wanted), [Lasted::open(10.0); 2]);
        assert!(
            requests
                .last_bytes(|_, class| class == Class::Bulk)
                .is_empty()
        );
    }

    #[test]
    fn what_a_closed_circuit_broke_off_never_ends_and_what_a_user_left_may_have() {
        let failure = |ttfb_s, endless, cause| Failure {
            circuit: 0,
            class: Class::Bulk,
            request: 0,
            start_s: 5.0,
            end_s: 7.0,
            ttfb_s,
            bytes: 0,
            endless,
            cause,
        };
        let (closed, left) = (FailCause::Closed, FailCause::Left);
        let requests = Requests {
            downloads: &[],
            open: &[],
            failed: &[
                failure(None, false, closed),
                failure(Some(0.5), false, closed),
                failure(None, false, left),
                failure(Some(0.1), true, closed),
            ],
        };
        let (never, open) = (Lasted::never(2.0), Lasted::open(2.0));
        let any = |_, _| true;
        let first = requests.first_bytes(any);
        assert_eq!(first, [never, Lasted::ended(0.5), open]);
        assert_eq!(requests.last_bytes(any), [never, never, open]);
        // Another user waits until the run ends.
        let waits = OpenRequest {
            circuit: 1,
            class: Class::Web,
            request: 0,
            start_s: 8.0,
            waited_s: 52.0,
            ttfb_s: None,
            bytes: 0,
        };
        let longer = Requests {
            open: &[waits],
            ..requests
        };
        let never = Lasted::never(55.0);
        let bulk = longer.last_bytes(|_, class| class == Class::Bulk);
        assert_eq!(bulk, [never, never, open]);
    }
}
