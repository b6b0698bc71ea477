//! A node and its place among links and streams.

use hopflow_overlay::{Event, Host, StreamHandle};
use hopflow_units::LinkId;

use super::streams::End;
use crate::Counted;

/// A node: the pipes of its links, the streams that end at it, and its output that waits.
#[derive(Debug)]
pub(super) struct NodeState {
    pub(super) host: Box<dyn Host<Counted>>,
    /// The pipe that leaves on each link.
    out: Vec<usize>,
    /// The ends of streams here, by their handle.
    ends: Vec<Option<(usize, End)>>,
    /// Whether the medium is busy, so that output waits.
    pub(super) busy: bool,
    /// Events to handle once its output is sent.
    pub(super) events: Vec<Event<Counted>>,
}

impl NodeState {
    pub(super) fn new(host: Box<dyn Host<Counted>>) -> Self {
        Self {
            host,
            out: Vec::new(),
            ends: Vec::new(),
            busy: false,
            events: Vec::new(),
        }
    }

    /// Adds the pipe that leaves on the next link.
    pub(super) fn add_out(&mut self, pipe: usize) {
        self.out.push(pipe);
    }

    /// The pipe that leaves on a link.
    pub(super) fn out(&self, link: LinkId) -> usize {
        self.out[link.index()]
    }

    /// Notes which stream's end has this handle.
    pub(super) fn add_stream(&mut self, handle: StreamHandle, number: usize, end: End) {
        if self.ends.len() <= handle.index() {
            self.ends.resize(handle.index() + 1, None);
        }
        self.ends[handle.index()] = Some((number, end));
    }

    pub(super) fn remove_stream(&mut self, handle: StreamHandle) {
        self.ends[handle.index()] = None;
    }

    /// The stream and its end that have this handle.
    pub(super) fn stream_end(&self, handle: StreamHandle) -> Option<(usize, End)> {
        self.ends.get(handle.index()).copied().flatten()
    }
}
