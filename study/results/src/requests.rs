//! How long downloads take, those that are not complete at the end of a run included.

use hopflow_stats::Lasted;

use crate::rows::{Class, Download, OpenRequest};

/// The downloads of a run, and those that were open at its end.
///
/// What is open has lasted at least as long as it was seen. Left out, a transport that stops
/// answering would look as good as its last answers.
#[derive(Clone, Copy, Debug)]
pub struct Requests<'a> {
    /// Those that are complete.
    pub downloads: &'a [Download],
    /// Those that are not.
    pub open: &'a [OpenRequest],
}

impl Requests<'_> {
    /// Times to first byte of the requests of circuits that are wanted, in seconds.
    pub fn first_bytes(&self, wanted: impl Fn(u32, Class) -> bool) -> Vec<Lasted> {
        let complete = self.downloads.iter();
        let complete = complete.filter(|it| wanted(it.circuit, it.class));
        let open = self.open.iter().filter(|it| wanted(it.circuit, it.class));
        let complete = complete.map(|it| Lasted::ended(it.ttfb_s));
        let open = open.map(|it| it.ttfb_s.map_or(Lasted::open(it.waited_s), Lasted::ended));
        complete.chain(open).collect()
    }

    /// Times to last byte of the requests of circuits that are wanted, in seconds.
    pub fn last_bytes(&self, wanted: impl Fn(u32, Class) -> bool) -> Vec<Lasted> {
        let complete = self.downloads.iter();
        let complete = complete.filter(|it| wanted(it.circuit, it.class));
        let open = self.open.iter().filter(|it| wanted(it.circuit, it.class));
        let complete = complete.map(|it| Lasted::ended(it.ttlb_s));
        complete
            .chain(open.map(|it| Lasted::open(it.waited_s)))
            .collect()
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
}
