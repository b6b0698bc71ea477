//! A test transport whose every part is a parameter.

use std::sync::{Arc, Mutex};

use hopflow_overlay::{FlowCx, Gates, LinkCx, LinkSample, NodeEnv, Plan, Site, Transport};
use hopflow_testkit::Made;
use hopflow_units::{Cells, Duration, StreamId};
use hopflow_wire::{Carrier, RelayCommand, RelayHeader};

/// Does what its configuration says.
#[derive(Debug)]
pub(crate) struct Plain {
    config: PlainConfig,
}

/// What a node with [`Plain`] does.
#[derive(Clone, Debug)]
pub(crate) struct PlainConfig {
    pub(crate) plan: Plan,
    /// The hop's window.
    pub(crate) window: Option<Cells>,
    /// The window of each link, set with the first sample; it grows by one with each later one.
    pub(crate) link_window: Option<Cells>,
    /// The pace of each link, set with the first sample.
    pub(crate) link_pace: Option<Duration>,
    /// What `on_link` was told, and how many cells its gate had outstanding then.
    pub(crate) samples: Arc<Mutex<Vec<(LinkSample, Cells)>>>,
    /// A cell that the sink returns for each that it delivers.
    pub(crate) reply: Option<RelayCommand>,
    /// The pace of a hop, and of what a source cuts.
    pub(crate) hop_pace: Option<Duration>,
    pub(crate) end_pace: Option<Duration>,
}

impl PlainConfig {
    /// Reliable datagrams with forward feedback and a window of eight cells per hop.
    pub(crate) fn datagrams() -> Self {
        Self {
            plan: plan(Carrier::Datagram),
            window: Some(Cells::new(8)),
            link_window: None,
            link_pace: None,
            samples: Arc::default(),
            reply: None,
            hop_pace: None,
            end_pace: None,
        }
    }

    /// Streams without feedback or windows.
    pub(crate) fn streams() -> Self {
        Self {
            plan: plan(Carrier::Stream),
            window: None,
            ..Self::datagrams()
        }
    }

    pub(crate) fn factory(self) -> Made<Plain> {
        Made::new(self)
    }
}

fn plan(carrier: Carrier) -> Plan {
    let datagrams = carrier == Carrier::Datagram;
    let (feedback_delay, refill) = (Duration::from_millis(1), Duration::from_millis(10));
    Plan {
        carrier,
        reliable: datagrams,
        forward_feedback: datagrams,
        ahead: Cells::new(4),
        ..Plan::datagrams(Cells::new(100), feedback_delay, refill)
    }
}

impl Transport for Plain {
    const NAME: &'static str = "plain";
    type Config = PlainConfig;
    type Flow = ();

    fn plan(config: &PlainConfig) -> Plan {
        config.plan.clone()
    }

    fn new(config: &PlainConfig, _: &NodeEnv) -> Self {
        Self {
            config: config.clone(),
        }
    }

    fn open(&mut self, _: &Site, gates: &mut Gates) {
        if let Some(window) = self.config.window {
            gates.hop.set_window(window);
        }
        if let Some(pace) = self.config.hop_pace {
            gates.hop.set_pace(pace, Duration::ZERO);
        }
        if let Some(pace) = self.config.end_pace {
            gates.end.set_pace(pace, Duration::ZERO);
        }
    }

    fn on_taken(&mut self, (): &mut (), cx: &mut FlowCx<'_>, stream: StreamId) {
        if let Some(command) = self.config.reply {
            cx.send_far_end(command, stream);
        }
    }

    fn on_far_end(
        &mut self,
        (): &mut (),
        _: &mut FlowCx<'_>,
        _: &RelayHeader,
    ) -> Result<(), hopflow_overlay::Violation> {
        Ok(())
    }

    fn on_link(&mut self, cx: &mut LinkCx<'_>, sample: &LinkSample) {
        let mut samples = self.config.samples.lock().expect("nobody panicked");
        samples.push((*sample, cx.gate.outstanding()));
        if let Some(window) = self.config.link_window {
            let window = cx.gate.window().map_or(window, |last| last + Cells::new(1));
            cx.gate.set_window(window.min(Cells::new(6)));
        }
        if let (Some(pace), None) = (self.config.link_pace, cx.gate.opens_at()) {
            cx.gate.set_pace(pace, Duration::ZERO);
        }
    }
}
