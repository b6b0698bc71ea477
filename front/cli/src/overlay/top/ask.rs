//! Asking nodes for their metrics.

use std::path::Path;
use std::thread;
use std::time::Instant;

use hopflow_api::Failure;
use hopflow_daemon::config::metrics_address;
use hopflow_live::metrics_page;

use super::page::Page;

/// A node that is asked.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// What the user calls it.
    pub(super) name: String,
    /// Where it serves metrics: a host and a port.
    address: String,
}

/// What a node said, and when.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) at: Instant,
    /// Or why it said nothing.
    pub(super) page: Result<Page, String>,
}

impl Node {
    /// The node that the user means: a configuration, if there is such a file, or an address.
    pub(super) fn named(name: &str) -> Result<Self, Failure> {
        let path = Path::new(name);
        let address = if path.is_file() {
            metrics_address(path)?.to_string()
        } else if is_address(name) {
            name.to_owned()
        } else {
            return Err(Failure::bad_input(format_args!(
                "{name}: is no file; allowed are the configuration of a relay or client, and an \
                 address with a port at which metrics are served, such as 127.0.0.1:9100"
            )));
        };
        Ok(Self {
            name: name.to_owned(),
            address,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "rates are of real time")]
    fn read(&self) -> Reading {
        let page = metrics_page(&self.address);
        Reading {
            at: Instant::now(),
            page: page.and_then(|page| Page::read(&page)),
        }
    }
}

/// Whether a text is a host with a port.
fn is_address(text: &str) -> bool {
    text.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// Asks all nodes at the same time: none waits for one that does not answer.
pub(super) fn ask(nodes: &[Node]) -> Vec<Reading> {
    thread::scope(|scope| {
        let asked: Vec<_> = nodes
            .iter()
            .map(|node| scope.spawn(|| node.read()))
            .collect();
        asked
            .into_iter()
            .map(|reading| reading.join().expect("reading does not panic"))
            .collect()
    })
}
