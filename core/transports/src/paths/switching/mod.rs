//! Circuit switching (Kale, Ohzahata, Wu and Kato, "Reducing Congestion in the Tor Network with
//! Circuit Switching", Journal of Information Processing 23(5), 2015): a bulk circuit whose entry is
//! congested goes on by another circuit.
//!
//! The client builds spare circuits. Each relay samples, at intervals, what every circuit has in
//! the output buffer of its connection to the next relay, keeps a moving average of it, and looks
//! whether the connection takes more (sections 4.1 and 4.2). Where the buffer is too full or the
//! connection takes nothing, circuits above the mean are bulk, and their clients hear of it.
//! The client asks the end of the spare circuit (SWITCH-CONN), waits for its answer (SWITCH-ACK), says
//! to the end of the old one that nothing follows (SWITCH), and goes on by the new one (section 4.3).
//!
//! What flows on each circuit is the other layers' matter. `docs/spec/switching.md` says what the paper leaves open and where this departs from it.
//!
//! What leaks: a client's entry reports to it when it judges a circuit as bulk; the ends of the circuits
//! learn which two belong together, which they must to restore the order.

mod client;
mod config;
mod monitor;

use hopflow_overlay::{
    Direction, Features, FlowId, Info, LegUse, PathChoice, PathCx, PathPlan, PathSignal, PathState,
    Tick, Violation, WatchedFlow,
};
use hopflow_wire::{Neighbour, RelayCommand, RelayHeader};

use client::{Client, Patience};
pub(crate) use config::Switching;
use monitor::{Memory, Watch, Watched};

/// What a relay sends to the predecessor of a circuit that is bulk.
const ORDER: &[u8] = &[1];

/// Circuit switching at one node.
#[derive(Clone, Debug)]
struct State {
    watch: Watch,
    patience: Patience,
    client: Client,
    /// By the numbers of flows.
    flows: Vec<Notes>,
}

/// What a node notes of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Notes {
    /// At a relay, what it has in the output buffer.
    memory: Memory,
    /// At the end of the circuit, whether streams were announced to go on by it.
    announced: bool,
    /// At the end of the circuit, whether nothing follows on it.
    left: bool,
}

impl PathChoice for Switching {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::TICK,
            excludes: &[(
                Features::END_REPAIR,
                "Circuits are switched by relay commands, which a connection between the ends of \
                 a circuit does not carry.",
            )],
            driver: Features::LEGS,
            ..Info::new(
                "switching",
                "entries move bulk circuits to spare ones when they are congested",
            )
        };
        &INFO
    }

    fn plan(&self) -> PathPlan {
        PathPlan {
            legs: LegUse::First,
            tick: Some(Tick {
                interval: self.watch().interval,
                in_phase: false,
            }),
        }
    }

    fn state(&self) -> Option<Box<dyn PathState>> {
        Some(Box::new(State {
            watch: self.watch(),
            patience: self.patience(),
            client: Client::default(),
            flows: Vec::new(),
        }))
    }
}

impl PathState for State {
    fn on(&mut self, cx: &mut PathCx<'_>, signal: PathSignal<'_>) -> Result<(), Violation> {
        match signal {
            PathSignal::Command(header) => return self.on_command(cx, header),
            PathSignal::Message(sender, body) => return self.on_message(cx, sender, body),
            PathSignal::Timer => self.client.on_timer(cx),
        }
        Ok(())
    }

    fn takes(&self, command: RelayCommand) -> bool {
        matches!(
            command,
            RelayCommand::SwitchAck | RelayCommand::SwitchConn | RelayCommand::Switch
        )
    }

    fn on_tick(&mut self, flows: &[WatchedFlow]) -> (Vec<(FlowId, Vec<u8>)>, bool) {
        let watched = flows.iter().filter_map(|flow| {
            let memory = self.flows.get(flow.site.flow.index());
            let memory = memory.map_or_else(Memory::default, |notes| notes.memory);
            Watched::of(&flow.site, (flow.queue, flow.room), memory)
        });
        let mut circuits: Vec<Watched> = watched.collect();
        self.watch.sample(&mut circuits);
        let bulk = self.watch.bulk(&circuits);
        for circuit in &mut circuits {
            if bulk.contains(&circuit.flow) {
                circuit.order();
            }
            self.notes(circuit.flow).memory = circuit.memory;
        }
        let idle = circuits.iter().all(Watched::is_idle);
        let orders = bulk.into_iter().map(|flow| (flow, ORDER.to_vec()));
        (orders.collect(), idle)
    }

    fn close(&mut self, flow: FlowId) {
        self.client.forget(flow);
        if let Some(notes) = self.flows.get_mut(flow.index()) {
            *notes = Notes::default();
        }
    }
}

impl State {
    fn on_command(&mut self, cx: &mut PathCx<'_>, header: &RelayHeader) -> Result<(), Violation> {
        let here = cx.site.flow;
        let at_exit = cx.site.direction == Direction::Backward;
        match header.command {
            RelayCommand::SwitchAck if !at_exit => self.client.on_ack(cx),
            RelayCommand::SwitchConn if at_exit => {
                once(header.command, &mut self.notes(here).announced, cx)?;
                cx.send_along(here, RelayCommand::SwitchAck);
                Ok(())
            }
            RelayCommand::Switch if at_exit => once(header.command, &mut self.notes(here).left, cx),
            _ => Err(Violation::Unexpected(header.command)),
        }
    }

    fn on_message(
        &mut self,
        cx: &mut PathCx<'_>,
        sender: Neighbour,
        body: &[u8],
    ) -> Result<(), Violation> {
        let forward = cx.site.direction == Direction::Forward;
        if !forward || sender != Neighbour::Successor || body != ORDER {
            return Err(Violation::UnexpectedMessage);
        }
        // A relay cannot know whether its predecessor is a client, so each relay measures and sends
        // orders. Only a client listens, and only its entry reaches it.
        if cx.site.prev.is_none() {
            self.client.on_order(&self.patience, cx);
        }
        Ok(())
    }

    fn notes(&mut self, flow: FlowId) -> &mut Notes {
        if self.flows.len() <= flow.index() {
            self.flows.resize(flow.index() + 1, Notes::default());
        }
        &mut self.flows[flow.index()]
    }
}

/// Notes what may be said once of a circuit that shares a stream with others, or did: the stream may
/// have ended while the other end spoke.
fn once(command: RelayCommand, said: &mut bool, cx: &PathCx<'_>) -> Result<(), Violation> {
    if !cx.had_legs() || std::mem::replace(said, true) {
        return Err(Violation::Unexpected(command));
    }
    Ok(())
}
