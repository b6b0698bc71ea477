//! Where a testbed's nodes are.

use std::io;
use std::net::SocketAddr;

use hopflow_daemon::net::{StartError, free_address};

use crate::lateness::Lateness;
use crate::namespaces::Namespaces;
use crate::settings::Settings;

/// The client's number; relays have the following, in the order of their names.
pub(crate) const CLIENT: usize = 0;

/// Where a testbed's nodes are: all on the loopback device, or each in a network namespace of its own.
#[derive(Debug)]
pub(crate) struct Places(Option<Namespaces>);

impl Places {
    /// Makes what nodes with these settings need.
    ///
    /// # Errors
    /// If the system does not give the namespaces.
    pub(crate) fn make(settings: &Settings) -> Result<Self, StartError> {
        let nodes = 1 + settings.relays().len();
        let made = settings
            .netns
            .map(|tcp| Namespaces::make(nodes, &settings.access_link().model(), tcp));
        made.transpose().map(Self)
    }

    /// Whether each node has a real link: the nodes then emulate none.
    pub(crate) const fn have_links(&self) -> bool {
        self.0.is_some()
    }

    /// Does something on a thread where a node is. Sockets that it opens, and threads that it starts, stay there.
    ///
    /// # Errors
    /// If the thread does not get there.
    pub(crate) fn at<T: Send>(
        &self,
        node: usize,
        work: impl FnOnce() -> T + Send,
    ) -> io::Result<T> {
        match &self.0 {
            Some(namespaces) => namespaces.at(node, work),
            None => Ok(work()),
        }
    }

    /// Moves the calling thread to where a node is.
    ///
    /// # Errors
    /// If it does not get there.
    pub(crate) fn enter(&self, node: usize) -> io::Result<()> {
        let namespaces = self.0.as_ref();
        namespaces.map_or(Ok(()), |namespaces| namespaces.enter(node))
    }

    /// An address that nobody uses, at which the other nodes reach this one.
    ///
    /// # Errors
    /// If no port can be had.
    pub(crate) fn free_address(&self, node: usize) -> io::Result<SocketAddr> {
        let mut address = self.at(node, free_address)??;
        if let Some(namespaces) = &self.0 {
            address.set_ip(namespaces.address(node).into());
        }
        Ok(address)
    }

    /// Whether the network between the places has failed.
    pub(crate) fn have_failed(&self) -> bool {
        self.0.as_ref().is_some_and(Namespaces::have_failed)
    }

    /// Takes the places away. Returns how late packets came from place to place, where there are links between.
    ///
    /// # Errors
    /// If the network between them has failed.
    pub(crate) fn end(self) -> io::Result<Option<Lateness>> {
        self.0.map(Namespaces::end).transpose()
    }
}
