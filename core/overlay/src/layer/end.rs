//! Control from end to end: how much data a circuit's source may have under way.

use std::any::Any;
use std::fmt::Debug;

use dyn_clone::DynClone;
use hopflow_units::{Cells, Instant, StreamId};
use hopflow_wire::{RelayCommand, RelayHeader};

use super::{HopReport, Info};
use crate::circuit::QueueView;
use crate::edge::StreamWindow;
use crate::{ConfigError, EndPlan, Gate, SendmeWindow, Site, Violation};

/// How much data a circuit's source may have under way: the parameters, shared by all circuits.
///
/// Ends of circuits alone have control from end to end; at a relay it costs nothing.
pub trait EndControl: Any + Debug + Send + Sync {
    /// The name, and what the control needs of other layers and of the driver.
    fn info(&self) -> &'static Info;

    /// What the control needs of the edges of circuits.
    fn plan(&self) -> EndPlan;

    /// A circuit begins or ends at this node, which is the source of the flow at `site` and the
    /// sink of its reverse: sets up the gates of the source. `None`: nothing is to be known.
    fn open(&self, site: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>>;

    /// A stream begins at this end, or goes on with new options: sets the window of what it sends.
    fn open_stream(&self, gate: &mut Gate) {
        let _ = gate;
    }

    /// Whether ends of circuits that run with the options `old` can go on with these: `old` is a
    /// control of the same name. What both ends have agreed on cannot change, for what is under way
    /// counts by it.
    ///
    /// # Errors
    /// Names an option that stays as it is; by default all of them do.
    fn check_change(&self, old: &dyn EndControl) -> Result<(), ConfigError> {
        ConfigError::if_changed(self.info().name, &old, &self)
    }

    /// The state of an end goes on with these options, which
    /// [`check_change`](Self::check_change) allows: a control of the same name made it. Options that
    /// are as they were change nothing.
    fn reconfigure(&self, state: &mut dyn EndState, gates: &mut EndGates<'_>) {
        let _ = (state, gates);
    }
}

/// What an end of a circuit knows.
pub trait EndState: Any + DynClone + Debug + Send {
    /// Something happened at this end.
    ///
    /// # Errors
    /// If the other end broke the protocol; the circuit is then closed.
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation>;

    /// The values of the metrics that [`EndControl::info`] declares, in that order, of the flow
    /// that has its source here; NaN for what was not measured yet.
    fn sample(&self, out: &mut Vec<f64>) {
        let _ = out;
    }
}

dyn_clone::clone_trait_object!(EndState);

/// What happens at an end of a circuit.
#[derive(Clone, Copy, Debug)]
pub enum EndSignal<'a> {
    /// At the source, a cell of data was packaged: it has passed the end-to-end gate and waits in
    /// the queue.
    Packaged,
    /// A cell left the source for the first time.
    Departed,
    /// At the sink, a cell of a stream left the circuit's queue.
    Dequeued(StreamId),
    /// At the sink, a cell was delivered: the application took it, at once or later if it did not
    /// read.
    Delivered(StreamId),
    /// At the source, the other end sent a relay command about the circuit or a stream.
    Command(&'a RelayHeader),
    /// At the source, the hop control reports what happened on the first hop.
    Hop(HopReport),
}

/// The gates of a circuit's source.
#[derive(Debug)]
pub struct EndGates<'a> {
    /// Lets cells out to the successor.
    pub hop: &'a mut Gate,
    /// Lets data be packaged into cells. The end control releases it: [`EndCx::release`].
    pub end: &'a mut Gate,
    /// Which of a stream's circuits packages its next cell.
    pub preference: &'a mut Preference,
}

/// How a circuit stands among those of its stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Preference {
    /// Of the circuits that may package a cell, the one of the least rank does. While it is zero,
    /// as at first, the circuit packages what it can.
    pub rank: u64,
    /// Whether a circuit of greater rank waits for one of less even while that may package none.
    pub wait_for_best_leg: bool,
}

/// What an end's control may see and set.
#[derive(Debug)]
pub struct EndCx<'a> {
    /// The time.
    pub now: Instant,
    /// Where the flow is that has its source here.
    pub site: &'a Site,
    /// The gates of the source.
    pub gates: EndGates<'a>,
    /// The source's queue.
    pub queue: QueueView,
    /// The load that the hop control reports, see [`HopControl::load`](super::HopControl::load).
    pub load: u64,
    /// The circuit's streams with their places, in the order of their names.
    pub(crate) streams: &'a [(StreamId, u32)],
    pub(crate) stream_windows: &'a mut [StreamWindow],
    pub(crate) commands: &'a mut Vec<RelayHeader>,
    pub(crate) jumped: &'a mut bool,
}

impl EndCx<'_> {
    /// The gate of one stream; `None` if there is no such stream.
    pub fn stream_gate(&mut self, stream: StreamId) -> Option<&mut Gate> {
        Some(&mut self.stream_window(stream)?.gate)
    }

    fn stream_window(&mut self, stream: StreamId) -> Option<&mut StreamWindow> {
        let found = self.streams.binary_search_by_key(&stream, |(id, _)| *id);
        let (_, place) = self.streams[found.ok()?];
        self.stream_windows.get_mut(place as usize)
    }

    /// Counts a cell that was delivered of a stream, over all circuits of the stream; true if a SENDME
    /// about the stream is due now.
    pub fn count_delivered(&mut self, stream: StreamId, window: &SendmeWindow) -> bool {
        let found = self.stream_window(stream);
        found.is_some_and(|found| found.delivered.on_delivered(window))
    }

    /// Releases cells from the gate of a stream, or from that of the circuit, which is stream 0.
    ///
    /// # Errors
    /// If so many are not outstanding, or there is no such stream.
    pub fn release(&mut self, stream: StreamId, cells: Cells) -> Result<(), Violation> {
        if stream == StreamId::CIRCUIT {
            return self.gates.end.release(cells);
        }
        let gate = self.stream_gate(stream);
        gate.ok_or(Violation::UnknownStream)?.release(cells)
    }

    /// Sends a command to the other end of the circuit, as a cell of the flow that begins here. It
    /// waits and pays like every cell, but passes the gates of data.
    pub fn send(&mut self, command: RelayCommand, stream: StreamId) {
        self.commands.push(RelayHeader::control(command, stream));
    }

    /// Tells the hop control that the window has become much smaller, see
    /// [`HopSignal::EndJumped`](super::HopSignal::EndJumped).
    pub fn note_jump(&mut self) {
        *self.jumped = true;
    }
}

impl SendmeWindow {
    /// Releases what a SENDME about a stream gives back; stream 0 means the circuit.
    ///
    /// # Errors
    /// If less is outstanding: then the far end acknowledges cells that it never got. If there is no
    /// such stream.
    pub fn on_sendme(&self, cx: &mut EndCx<'_>, stream: StreamId) -> Result<(), Violation> {
        cx.release(stream, self.increment)
    }
}

/// No control from end to end: the hops do.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoEndControl;

impl EndControl for NoEndControl {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            requires: &[(
                super::Features::BOUND,
                "Nothing bounds what a source has under way: relays would queue whole downloads.",
            )],
            ..Info::new("none", "no control from end to end")
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        EndPlan::default()
    }

    fn open(&self, _: &Site, _: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        None
    }
}
