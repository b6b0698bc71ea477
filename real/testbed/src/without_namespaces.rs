//! Network namespaces are Linux's: elsewhere there are none.

use std::io;
use std::net::Ipv4Addr;

use hopflow_daemon::InputError;
use hopflow_daemon::net::StartError;
use hopflow_netem::LinkConfig;

use crate::lateness::Lateness;
use crate::settings::Congestion;

/// Nothing: they cannot be made.
#[derive(Debug)]
pub(crate) enum Namespaces {}

impl Namespaces {
    pub(crate) fn make(_: usize, _: &LinkConfig, _: Congestion) -> Result<Self, StartError> {
        let problem = "this system has no network namespaces; only Linux has";
        Err(InputError::at("netns", problem).into())
    }

    pub(crate) fn address(&self, _: usize) -> Ipv4Addr {
        match *self {}
    }

    pub(crate) fn enter(&self, _: usize) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn at<T>(&self, _: usize, _: impl FnOnce() -> T) -> io::Result<T> {
        match *self {}
    }

    pub(crate) fn have_failed(&self) -> bool {
        match *self {}
    }

    pub(crate) fn end(self) -> io::Result<Lateness> {
        match self {}
    }
}
