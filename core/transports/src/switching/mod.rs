//! Circuit switching (Kale, Ohzahata, Wu and Kato, "Reducing Congestion in the Tor Network with
//! Circuit Switching", Journal of Information Processing 23(5), 2015): a bulk circuit whose entry is
//! congested goes on by another circuit.
//!
//! The client builds spare circuits. Each relay samples, at intervals, what every circuit has in
//! the output buffer of its connection to the next relay, keeps a moving average of it, and looks
//! whether the connection takes more (sections 4.1 and 4.2). Where the buffer is too full or the
//! connection takes nothing, circuits above the mean are bulk, and their clients are told. The
//! client asks the end of the spare circuit (SWITCH-CONN), waits for its answer (SWITCH-ACK), tells
//! the end of the old one that nothing follows (SWITCH), and goes on by the new one (section 4.3).
//!
//! It is a layer over another transport, which controls what flows on each circuit.
//! `docs/spec/switching.md` tells what the paper leaves open and where this departs from it.
//!
//! What leaks: a client's entry tells it when it judges a circuit as bulk; the ends of the circuits
//! learn which two belong together, which they must to restore the order.

mod client;
mod config;
mod monitor;

use hopflow_overlay::{
    AckSample, Direction, FlowCx, Forwarded, Gate, Gates, LegUse, LinkCx, LinkSample, LossSample,
    NodeCx, NodeEnv, Plan, Site, Tick, Transport, Violation, Way,
};
use hopflow_units::StreamId;
use hopflow_wire::{Neighbour, RelayCommand, RelayHeader};

use client::Client;
pub use config::{BaseConfig, SwitchingConfig};
use monitor::{Memory, Watched};

/// What a relay tells the predecessor of a circuit that shall be switched.
const ORDER: &[u8] = &[1];

/// Circuit switching over the transport that `C` configures, at one node.
#[derive(Debug)]
pub struct Switching<C: BaseConfig> {
    base: C::Transport,
    config: SwitchingConfig<C>,
    client: Client,
}

/// A flow under circuit switching.
#[derive(Debug)]
pub struct SwitchFlow<S> {
    base: S,
    /// At a relay, what it has in the output buffer.
    memory: Memory,
    /// At the end of the circuit, whether streams were announced to go on by it.
    announced: bool,
    /// At the end of the circuit, whether nothing follows on it.
    left: bool,
}

impl<C: BaseConfig> Transport for Switching<C> {
    const NAME: &'static str = C::NAME;
    type Config = SwitchingConfig<C>;
    type Flow = SwitchFlow<<C::Transport as Transport>::Flow>;

    fn plan(config: &SwitchingConfig<C>) -> Plan {
        Plan {
            legs: LegUse::First,
            tick: Some(Tick {
                interval: config.watch.interval,
                in_phase: false,
            }),
            ..C::Transport::plan(&config.base)
        }
    }

    fn new(config: &SwitchingConfig<C>, env: &NodeEnv) -> Self {
        Self {
            base: C::Transport::new(&config.base, env),
            config: config.clone(),
            client: Client::default(),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates) -> Self::Flow {
        SwitchFlow {
            base: self.base.open(site, gates),
            memory: Memory::default(),
            announced: false,
            left: false,
        }
    }

    fn open_stream(&mut self, gate: &mut Gate) {
        self.base.open_stream(gate);
    }

    fn close_stream(&mut self, flow: &mut Self::Flow, stream: StreamId) {
        self.base.close_stream(&mut flow.base, stream);
    }

    fn close(&mut self, site: &Site, flow: &mut Self::Flow) {
        self.client.forget(site.flow);
        self.base.close(site, &mut flow.base);
    }

    fn on_cut(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        self.base.on_cut(&mut flow.base, cx);
    }

    fn on_arrival(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        self.base.on_arrival(&mut flow.base, cx);
    }

    fn on_departure(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        self.base.on_departure(&mut flow.base, cx);
    }

    fn on_taken(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, stream: StreamId) {
        self.base.on_taken(&mut flow.base, cx, stream);
    }

    fn on_consumed(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, stream: StreamId) {
        self.base.on_consumed(&mut flow.base, cx, stream);
    }

    fn on_forwarded(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, sample: &Forwarded) {
        self.base.on_forwarded(&mut flow.base, cx, sample);
    }

    fn on_ack(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, sample: &AckSample) {
        self.base.on_ack(&mut flow.base, cx, sample);
    }

    fn on_loss(&mut self, flow: &mut Self::Flow, cx: &mut FlowCx<'_>, sample: &LossSample) {
        self.base.on_loss(&mut flow.base, cx, sample);
    }

    fn on_link(&mut self, cx: &mut LinkCx<'_>, sample: &LinkSample) {
        self.base.on_link(cx, sample);
    }

    fn on_far_end(
        &mut self,
        flow: &mut Self::Flow,
        cx: &mut FlowCx<'_>,
        header: &RelayHeader,
    ) -> Result<(), Violation> {
        let at_exit = cx.site.direction == Direction::Backward;
        match header.command {
            RelayCommand::SwitchAck if !at_exit => self.client.on_ack(cx),
            RelayCommand::SwitchConn if at_exit => {
                once(&mut flow.announced, cx)?;
                cx.send_along(cx.site.flow, RelayCommand::SwitchAck);
                Ok(())
            }
            RelayCommand::Switch if at_exit => once(&mut flow.left, cx),
            _ => self.base.on_far_end(&mut flow.base, cx, header),
        }
    }

    fn on_message(
        &mut self,
        _: &mut Self::Flow,
        cx: &mut FlowCx<'_>,
        sender: Neighbour,
        body: &[u8],
    ) -> Result<(), Violation> {
        let forward = cx.site.direction == Direction::Forward;
        if !forward || sender != Neighbour::Successor || body != ORDER {
            return Err(Violation::Unexpected);
        }
        // A relay cannot tell whether its predecessor is a client, so each relay measures and
        // tells. Only a client listens, and only its entry reaches it.
        if cx.site.prev.is_none() {
            self.client.on_order(&self.config.patience, cx);
        }
        Ok(())
    }

    fn on_timer(&mut self, _: &mut Self::Flow, cx: &mut FlowCx<'_>) {
        self.client.on_timer(cx);
    }

    fn on_tick(&mut self, cx: &mut NodeCx<'_, Self::Flow>) {
        let mut circuits = Vec::new();
        cx.for_each_flow(|entry| {
            let memory = entry.state.memory;
            circuits.extend(Watched::of(entry.site, (entry.queue, entry.room), memory));
        });
        let watch = &self.config.watch;
        watch.sample(&mut circuits);
        let bulk = watch.bulk(&circuits);
        for circuit in &mut circuits {
            if bulk.contains(&circuit.flow) {
                circuit.order();
            }
        }
        let mut found = circuits.iter();
        cx.for_each_flow(|entry| {
            if Watched::is_watched(entry.site)
                && let Some(circuit) = found.next()
            {
                entry.state.memory = circuit.memory;
            }
        });
        if circuits.iter().all(Watched::is_idle) {
            cx.rest();
        }
        for flow in bulk {
            cx.tell(flow, Neighbour::Predecessor, ORDER.to_vec(), Way::InBand);
        }
    }
}

/// Notes what may be said once of a circuit that shares a stream with others.
fn once(said: &mut bool, cx: &FlowCx<'_>) -> Result<(), Violation> {
    if cx.legs().is_empty() || std::mem::replace(said, true) {
        return Err(Violation::Unexpected);
    }
    Ok(())
}
