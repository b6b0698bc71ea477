//! How many descriptors the process may have, and what a node's limits may be with them.

use hopflow_engine::Limits;
use hopflow_overlay::{LinkPlan, Multiplexing};
use hopflow_wire::Carrier;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use crate::config::RelayLimits;

/// Descriptors of a worker that are no links and no connections: sockets, timers, names that are looked up.
const OF_WORKER: u64 = 64;
/// Those of the process: metrics, files but for those of traces.
const OF_PROCESS: u64 = 64;

/// Raises the process's limit on descriptors as far as it may be raised, and returns it; `None` is no limit.
pub(super) fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return current;
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(error) => {
            warn!(%error, ?current, ?maximum, "the limit on descriptors cannot be raised");
            current
        }
    }
}

/// Whether the process, or the system, has no descriptor left.
pub(super) fn is_out(error: &std::io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(Errno::MFILE.raw_os_error()) || code == Some(Errno::NFILE.raw_os_error())
}

/// What a node needs descriptors for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// For each link that others open: none with datagrams, two where it is passed on by a link of its own.
    pub(super) of_link: u32,
    /// Links that it may open itself, apart from those that are in `of_link`: one to each relay.
    pub(super) opened: u32,
    /// Whether it connects to servers.
    pub(super) exit: bool,
    pub(super) workers: usize,
    /// Files that are open for long.
    pub(super) files: u32,
    /// How many there are; `None` is no limit.
    pub(super) descriptors: Option<u64>,
}

impl Needs {
    /// What a node needs of so many workers, with the links of its transport to so many relays.
    pub(super) fn of(
        exit: bool,
        workers: usize,
        (link, relays): (&LinkPlan, usize),
        files: u32,
    ) -> Self {
        let of_link = match (link.carrier, link.multiplexing) {
            (Carrier::Datagram, _) => 0,
            (Carrier::Stream, Multiplexing::Shared) => 1,
            (Carrier::Stream, Multiplexing::PerCircuit) => 2,
        };
        Self {
            of_link,
            opened: 0,
            exit,
            workers,
            files,
            descriptors: raise(),
        }
        .with_relays(relays)
    }

    /// The same with a directory of so many relays.
    pub(super) const fn with_relays(self, relays: usize) -> Self {
        let opened = if self.of_link == 1 { relays as u32 } else { 0 };
        Self { opened, ..self }
    }

    /// The limits of each worker's engine.
    pub(super) fn share(self, limits: &RelayLimits) -> Limits {
        let limits = limits.share(self.workers);
        let opened = if self.of_link > 1 {
            limits.opened.min(limits.links)
        } else {
            limits.opened
        };
        Limits { opened, ..limits }
    }

    /// The limits, lowered as far as they must be for the descriptors that there are: links and connections
    /// in the same proportion.
    pub(super) fn fit(self, limits: RelayLimits) -> RelayLimits {
        let connections = if self.exit { limits.connections } else { 0 };
        let wanted = u64::from(self.of_link) * u64::from(limits.links) + u64::from(connections);
        let held = u64::from(self.files) + u64::from(self.opened);
        let others = OF_PROCESS + held + OF_WORKER * self.workers as u64;
        let left = self
            .descriptors
            .map_or(wanted, |all| all.saturating_sub(others));
        if wanted <= left {
            return limits;
        }
        let part = |limit: u32| (u64::from(limit) * left / wanted).max(1) as u32;
        let links = if self.of_link > 0 {
            part(limits.links)
        } else {
            limits.links
        };
        let connections = if self.exit {
            part(limits.connections)
        } else {
            limits.connections
        };
        warn!(
            allowed = left + others,
            needed = wanted + others,
            "the limit on descriptors (RLIMIT_NOFILE, LimitNOFILE of the service) is too low: limits.links is \
             {links} instead of {}, limits.connections {connections} instead of {}",
            limits.links,
            limits.connections,
        );
        RelayLimits {
            links,
            connections,
            ..limits
        }
    }

    /// How many connections of applications a client may have, of `most`, whose circuits may open so many links. Links
    /// come first, but leave half of the descriptors.
    pub(super) fn connections(self, most: usize, circuits: u32) -> usize {
        let links = match self.of_link {
            0 => 0,
            1 => self.opened.min(circuits),
            _ => circuits,
        };
        let others = OF_PROCESS + OF_WORKER * self.workers as u64 + u64::from(self.files);
        let wanted = most as u64 + u64::from(links);
        let left = self
            .descriptors
            .map_or(wanted, |all| all.saturating_sub(others));
        if wanted <= left {
            return most;
        }
        let connections = left.saturating_sub(links.into()).max(left / 2).max(1);
        let connections = most.min(connections as usize);
        let what_follows = if connections < most {
            format!("the client takes {connections} connections of applications instead of {most}")
        } else {
            "the client may have none left for links of its circuits".to_owned()
        };
        warn!(
            allowed = left + others,
            needed = wanted + others,
            "the limit on descriptors (RLIMIT_NOFILE, LimitNOFILE of the service) is too low: {what_follows}",
        );
        connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: fn() -> RelayLimits = || RelayLimits {
        links: 1000,
        connections: 500,
        ..RelayLimits::default()
    };

    const NEEDS: Needs = Needs {
        of_link: 0,
        opened: 0,
        exit: false,
        workers: 2,
        files: 0,
        descriptors: None,
    };

    fn fitted(of_link: u32, exit: bool, descriptors: Option<u64>) -> (u32, u32) {
        let needs = Needs {
            of_link,
            exit,
            descriptors,
            ..NEEDS
        };
        let limits = needs.fit(LIMITS());
        (limits.links, limits.connections)
    }

    #[test]
    fn links_that_the_relay_opens_need_descriptors_too() {
        let links = |free| {
            let needs = Needs {
                of_link: 1,
                opened: 500,
                descriptors: Some(OF_PROCESS + 2 * OF_WORKER + free),
                ..NEEDS
            };
            needs.fit(LIMITS()).links
        };
        assert_eq!([links(1500), links(1000)], [1000, 500]);
    }

    #[test]
    fn each_relay_of_a_directory_may_need_a_descriptor_where_circuits_share_links() {
        let opened = |of_link, relays| Needs { of_link, ..NEEDS }.with_relays(relays).opened;
        assert_eq!([opened(1, 3), opened(0, 3), opened(2, 3)], [3, 0, 0]);
        let grown = Needs {
            of_link: 1,
            descriptors: Some(OF_PROCESS + 2 * OF_WORKER + 1000),
            ..NEEDS
        };
        assert_eq!(grown.fit(LIMITS()).links, 1000);
        assert_eq!(grown.with_relays(500).fit(LIMITS()).links, 500);
    }

    #[test]
    fn limits_stay_where_descriptors_suffice() {
        for (of_link, exit, needed) in [(0, false, 0), (1, false, 1000), (2, true, 2500)] {
            let others = OF_PROCESS + 2 * OF_WORKER;
            assert_eq!(fitted(of_link, exit, Some(others + needed)), (1000, 500));
        }
        assert_eq!(fitted(2, true, None), (1000, 500));
    }

    #[test]
    fn limits_are_lowered_in_proportion_where_they_do_not() {
        let half = OF_PROCESS + 2 * OF_WORKER + 750;
        assert_eq!(fitted(1, true, Some(half)), (500, 250));
        assert_eq!(fitted(0, true, Some(half)), (1000, 500));
        assert_eq!(fitted(2, false, Some(half)), (375, 500));
        assert_eq!(fitted(1, true, Some(5)), (1, 1));
    }

    #[test]
    fn a_client_takes_as_many_connections_as_its_links_leave_descriptors_for() {
        let fitted = |of_link, free: Option<u64>| {
            let needs = Needs {
                of_link,
                opened: 20,
                workers: 1,
                files: 6,
                descriptors: free.map(|free| OF_PROCESS + OF_WORKER + 6 + free),
                ..NEEDS
            };
            needs.connections(1000, 300)
        };
        for (of_link, links) in [(0, 0), (1, 20), (2, 300)] {
            assert_eq!(fitted(of_link, Some(1000 + links)), 1000);
            assert_eq!(fitted(of_link, Some(900)), 900 - links as usize);
        }
        assert_eq!(fitted(2, Some(400)), 200, "links leave half");
        assert_eq!(fitted(2, None), 1000);
        let links_are_short = Needs {
            of_link: 2,
            descriptors: Some(OF_PROCESS + 2 * OF_WORKER + 300),
            ..NEEDS
        };
        assert_eq!(links_are_short.connections(100, 300), 100);
        let needs = Needs {
            descriptors: Some(5),
            ..NEEDS
        };
        assert_eq!(needs.connections(1000, 300), 1);
    }

    #[test]
    fn the_limit_is_raised_as_far_as_it_may_be() {
        let raised = raise();
        assert_eq!(raised, getrlimit(Resource::Nofile).maximum);
        assert_eq!(raised, getrlimit(Resource::Nofile).current);
    }
}
