//! Regular calls and messages out of band, through a test transport.

use std::any::Any;
use std::sync::{Arc, Mutex};

use hopflow_overlay::{
    Factory, Features, FeedbackPlan, Gates, GatesChoose, HopControl, HopCx, HopPlan, HopRepair,
    HopSignal, Host, Info, LinkPlan, NoEndControl, Node, NodeCx, NodeEnv, Plan, Repair, Site,
    Stack, Tick, Violation, Way,
};
use hopflow_sim::Simulated;
use hopflow_units::{Cells, Duration, Instant};
use hopflow_wire::Neighbour;

use crate::world::{circuit, node, run, world};

/// Sends its neighbours the time at every tick.
#[derive(Clone, Debug)]
struct Gossip {
    config: GossipConfig,
    node: u32,
}

#[derive(Clone, Debug)]
struct GossipConfig {
    in_phase: bool,
    way: Way,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// When each node ticked.
    ticks: Vec<(u32, Instant)>,
    /// When messages were sent, and when they arrived.
    messages: Vec<(Instant, Instant)>,
}

const INTERVAL: Duration = Duration::from_millis(40);
const DELAY: Duration = Duration::from_millis(15);
/// What two access links take at least.
const LEAST: Duration = Duration::from_millis(1);

impl HopControl for Gossip {
    const INFO: Info = Info::new("gossip", "sends the time");
    type Config = GossipConfig;
    type Flow = ();

    fn plan(config: &GossipConfig) -> HopPlan {
        HopPlan {
            feedback: FeedbackPlan::every_cell(true, Duration::from_millis(1)),
            out_of_band: match config.way {
                Way::OutOfBand(delay) => Some(delay),
                Way::InBand => None,
            },
            tick: Some(Tick {
                interval: INTERVAL,
                in_phase: config.in_phase,
            }),
            ..HopPlan::default()
        }
    }

    fn new(config: &GossipConfig, env: &NodeEnv) -> Self {
        Self {
            config: config.clone(),
            node: env.node.get(),
        }
    }

    fn open(&mut self, _: &Site, gates: &mut Gates<'_>) {
        gates.hop.set_window(Cells::new(10));
    }

    fn on_tick(&mut self, cx: &mut NodeCx<'_, ()>) {
        let mut flows = Vec::new();
        cx.for_each_flow(|entry| {
            assert!(entry.queue.unsent <= entry.queue.held);
            assert!(entry.gates.hop.outstanding() <= Cells::new(10));
            flows.push(entry.site.flow);
        });
        for flow in flows {
            let now = cx.now.as_nanos().to_be_bytes();
            for to in [Neighbour::Predecessor, Neighbour::Successor] {
                cx.send(flow, to, now.to_vec(), self.config.way);
            }
        }
        let mut seen = self.config.seen.lock().expect("nobody panicked");
        seen.ticks.push((self.node, cx.now));
    }

    fn on(
        &mut self,
        (): &mut (),
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        let HopSignal::Message(sender, body) = signal else {
            return Ok(());
        };
        let known = match sender {
            Neighbour::Predecessor => cx.site.prev,
            Neighbour::Successor => cx.site.next,
        };
        assert!(known.is_some(), "the sender is a neighbour");
        let sent = body.try_into().map_err(|_| Violation::UnreadableMessage)?;
        let sent = Instant::from_nanos(u64::from_be_bytes(sent));
        let mut seen = self.config.seen.lock().expect("nobody panicked");
        seen.messages.push((sent, cx.now));
        Ok(())
    }
}

/// Nodes with BackTap's links and repair.
#[derive(Debug)]
struct Gossips(Arc<Stack<Gossip>>);

impl Gossips {
    fn new(config: GossipConfig) -> Self {
        let link = LinkPlan::datagrams(Cells::new(4000), Duration::from_millis(10));
        let repair = Repair::PerHop(HopRepair::default());
        let (end, path) = (Arc::new(NoEndControl), Arc::new(GatesChoose));
        Self(Arc::new(Stack::new((link, repair), config, end, path)))
    }
}

impl Factory<Simulated> for Gossips {
    fn name(&self) -> &'static str {
        "gossip"
    }

    fn plan(&self) -> Plan {
        self.0.plan().clone()
    }

    fn driver(&self) -> Features {
        self.0.driver()
    }

    fn describe(&self) -> String {
        String::new()
    }

    fn stack(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.0) as _
    }

    fn node(&self, env: &NodeEnv) -> Box<dyn Host<Simulated>> {
        Box::new(Node::<Gossip, Simulated>::new(&self.0, env))
    }
}

fn simulate(in_phase: bool, way: Way) -> Arc<Mutex<Seen>> {
    let seen = Arc::default();
    let factory = Gossips::new(GossipConfig {
        in_phase,
        way,
        seen: Arc::clone(&seen),
    });
    let circuits = vec![circuit(&[0, 1, 2], None)];
    let spec = world((0..3).map(node).collect(), circuits, Duration::from_secs(1));
    let outcome = run(&spec, &factory);
    assert!(outcome.circuits[0].delivered.get() > 0);
    seen
}

/// When a node ticked.
fn ticks(seen: &Seen, node: u32) -> Vec<Instant> {
    let ticks = seen.ticks.iter().filter(|(other, _)| *other == node);
    ticks.map(|(_, at)| *at).collect()
}

#[test]
fn nodes_in_phase_tick_at_the_same_times() {
    let seen = simulate(true, Way::InBand);
    let seen = seen.lock().unwrap();
    let expected: Vec<_> = (1..=25).map(|n| Instant::ZERO + INTERVAL * n).collect();
    for node in 0..3 {
        assert_eq!(ticks(&seen, node), expected);
    }
}

#[test]
fn nodes_out_of_phase_tick_at_their_own_times() {
    let seen = simulate(false, Way::InBand);
    let seen = seen.lock().unwrap();
    let mut first = Vec::new();
    for node in 0..3 {
        let ticks = ticks(&seen, node);
        assert!(ticks[0] < Instant::ZERO + INTERVAL);
        assert!(ticks.windows(2).all(|pair| pair[1] - pair[0] == INTERVAL));
        first.push(ticks[0]);
    }
    first.sort();
    first.dedup();
    assert_eq!(first.len(), 3, "phases differ");
}

#[test]
fn messages_in_band_travel_with_cells() {
    let seen = simulate(false, Way::InBand);
    let seen = seen.lock().unwrap();
    assert!(seen.messages.len() >= 8 * 23, "{}", seen.messages.len());
    let delays = seen.messages.iter().map(|(sent, arrived)| *arrived - *sent);
    assert!(delays.clone().min() >= Some(LEAST), "{:?}", delays.min());
}

#[test]
fn messages_out_of_band_arrive_after_the_delay_they_ask_for() {
    let seen = simulate(false, Way::OutOfBand(DELAY));
    let seen = seen.lock().unwrap();
    // On both hops, both flows have something to say in both directions every 40 ms, but for the
    // last 15 ms.
    assert!(seen.messages.len() >= 8 * 24, "{}", seen.messages.len());
    assert!(
        seen.messages
            .iter()
            .all(|(sent, arrived)| *arrived == *sent + DELAY)
    );
}
