//! A test transport whose every part is a parameter.

use std::sync::Arc;

use hopflow_overlay::{
    EndControl, EndCx, EndGates, EndPlan, EndSignal, EndState, FeedbackPlan, Gates, GatesChoose,
    HopControl, HopCx, HopPlan, HopRepair, HopSignal, Info, LinkPlan, NodeEnv, Repair, Site, Stack,
    Violation,
};
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::{Carrier, RelayCommand};

/// What a node of the test transport does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainConfig {
    pub(crate) carrier: Carrier,
    /// Whether hops report what they forwarded.
    pub(crate) forwarded: bool,
    /// Whether feedback tells what has arrived beyond a gap.
    pub(crate) selective: bool,
    /// The hop's window.
    pub(crate) window: Option<Cells>,
    /// A cell that the sink returns for each that it delivers.
    pub(crate) reply: Option<RelayCommand>,
    /// The pace of a hop, and of what a source packages.
    pub(crate) hop_pace: Option<Duration>,
    pub(crate) end_pace: Option<Duration>,
}

/// Cells that a node queues per circuit.
pub(crate) const QUEUE_LIMIT: Cells = Cells::new(100);

impl PlainConfig {
    /// Reliable datagrams with forward feedback and a window of eight cells per hop.
    pub(crate) fn datagrams() -> Self {
        Self {
            carrier: Carrier::Datagram,
            forwarded: true,
            selective: false,
            window: Some(Cells::new(8)),
            reply: None,
            hop_pace: None,
            end_pace: None,
        }
    }

    /// Streams without feedback or windows.
    pub(crate) fn streams() -> Self {
        Self {
            carrier: Carrier::Stream,
            forwarded: false,
            window: None,
            ..Self::datagrams()
        }
    }

    pub(crate) fn stack<H: HopControl<Config = Self>>(self) -> Stack<H> {
        let refill = Duration::from_millis(10);
        let (scheduling, repair) = match self.carrier {
            Carrier::Datagram => (
                LinkPlan::datagrams(QUEUE_LIMIT, refill),
                Repair::PerHop(HopRepair {
                    selective: self.selective,
                    ..HopRepair::default()
                }),
            ),
            Carrier::Stream => {
                let mut link = LinkPlan::datagrams(QUEUE_LIMIT, refill);
                link.carrier = Carrier::Stream;
                (link, Repair::None)
            }
        };
        let end = Replying(self.reply, Instant::ZERO);
        Stack::new(
            (scheduling, repair),
            self,
            Arc::new(end),
            Arc::new(GatesChoose),
        )
    }

    pub(crate) fn factory(self) -> Stack<Plain> {
        self.stack()
    }
}

/// A window and a pace on each hop that never change.
#[derive(Clone, Debug)]
pub(crate) struct Plain(PlainConfig);

impl HopControl for Plain {
    const INFO: Info = Info::new("plain", "a window and a pace that never change");
    type Config = PlainConfig;
    type Flow = ();

    fn plan(config: &PlainConfig) -> HopPlan {
        hop_plan(config.forwarded)
    }

    fn new(config: &PlainConfig, _: &NodeEnv) -> Self {
        Self(*config)
    }

    fn open(&mut self, _: &Site, gates: &mut Gates<'_>) {
        if let Some(window) = self.0.window {
            gates.hop.set_window(window);
        }
        if let Some(pace) = self.0.hop_pace {
            gates.hop.set_pace(pace, Duration::ZERO);
        }
        if let (Some(pace), Some(end)) = (self.0.end_pace, &mut gates.end) {
            end.set_pace(pace, Duration::ZERO);
        }
    }

    fn on(&mut self, (): &mut (), _: &mut HopCx<'_>, _: HopSignal<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

/// Feedback that waits for a millisecond at most.
pub(crate) fn hop_plan(forwarded: bool) -> HopPlan {
    HopPlan::new(FeedbackPlan::every_cell(
        forwarded,
        Duration::from_millis(1),
    ))
}

/// Sinks that return a command for each cell that they deliver; with the time of the last signal.
#[derive(Clone, Copy, Debug)]
struct Replying(Option<RelayCommand>, Instant);

impl EndControl for Replying {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info::new("replying", "a command for each cell");
        &INFO
    }

    fn plan(&self) -> EndPlan {
        EndPlan {
            source_high_water: Cells::new(4),
            ..EndPlan::default()
        }
    }

    fn open(&self, _: &Site, _: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        Some(Box::new(*self))
    }
}

impl EndState for Replying {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        assert!(cx.now >= self.1, "time goes back");
        self.1 = cx.now;
        if let (EndSignal::Dequeued(stream), Some(command)) = (signal, self.0) {
            cx.send(command, stream);
        }
        Ok(())
    }
}
