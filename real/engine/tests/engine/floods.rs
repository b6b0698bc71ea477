//! Neighbours who send too much, or never answer: they cost a bounded amount, and nobody else.

use std::sync::Arc;

use hopflow_engine::{CircuitKey, Failure, StreamHandle};
use hopflow_onion::OnionPayload;
use hopflow_overlay::{
    Factory, FeedbackPlan, Gates, GatesChoose, HopControl, HopCx, HopPlan, HopSignal, Info,
    NoEndControl, NodeEnv, Repair, Site, Stack, Violation,
};
use hopflow_units::{Cells, Duration};
use hopflow_wire::{Carrier, Reason};

use crate::network::{Network, bucket};
use crate::support::{configured, pattern, transport};

/// What the middle relay may forward, in kilobytes per second.
const RATE: u64 = 1500;
/// Cells that relays queue per circuit.
const QUEUE: u64 = 1000;

/// A transport that lets everything pass at once.
#[derive(Clone, Debug)]
struct Reckless;

impl HopControl for Reckless {
    const INFO: Info = Info::new("reckless", "no control at all");
    type Config = HopPlan;
    type Flow = ();

    fn plan(config: &HopPlan) -> HopPlan {
        *config
    }

    fn new(_: &HopPlan, _: &NodeEnv) -> Self {
        Self
    }

    fn open(&mut self, _: &Site, _: &mut Gates<'_>) {}

    fn on(&mut self, (): &mut (), _: &mut HopCx<'_>, _: HopSignal<'_>) -> Result<(), Violation> {
        Ok(())
    }
}

fn backtap() -> Box<dyn Factory<OnionPayload>> {
    configured("backtap", &format!("queue-limit = {QUEUE}"))
}

/// A node that sends `BackTap`'s frames and follows no window.
fn reckless(repair: Repair, source_queue: Option<Cells>) -> Stack<Reckless> {
    let plan = backtap().plan();
    let hop = HopPlan {
        feedback: FeedbackPlan {
            forwarded: false,
            ..plan.hop.feedback
        },
        source_queue,
        ..plan.hop
    };
    let layers = (Arc::new(NoEndControl), Arc::new(GatesChoose));
    Stack::new((plan.link, repair), hop, layers.0, layers.1)
}

/// A node that repairs its hops, and packages as much as it can.
fn flood() -> Stack<Reckless> {
    let repair = backtap().plan().repair;
    reckless(repair, Some(Cells::new(1_000_000)))
}

/// A node that sends cells and never acknowledges any.
fn mute() -> Stack<Reckless> {
    reckless(Repair::None, None)
}

/// An honest client's download, and neighbours that are not.
struct Scene {
    network: Network,
    honest: StreamHandle,
    /// The most cells that any relay ever held for one circuit.
    longest: u64,
}

/// Another client's stream.
struct Intruder {
    client: usize,
    circuit: CircuitKey,
    near: StreamHandle,
    far: (usize, StreamHandle),
}

impl Scene {
    fn new(factory: &dyn Factory<OnionPayload>) -> Self {
        let bucket = bucket(RATE, factory.plan().link.refill);
        let mut network = Network::limited(factory, 3, &[None, Some(bucket)]);
        // A round trip that is no multiple of the refills, or they would keep step.
        network.weather.delay = Duration::from_micros(10_700);
        let circuit = network.circuit(&[1, 2, 3]);
        let (honest, (exit, far)) = network.stream_pair(0, circuit);
        network.write(exit, far, pattern(12_000_000, 3), true);
        network.run_for(Duration::from_secs(1));
        Self {
            network,
            honest,
            longest: 0,
        }
    }

    /// Lets time pass and returns what the honest client got meanwhile.
    fn run_for(&mut self, span: Duration) -> f64 {
        let before = self.network.heard(0, self.honest).bytes.len();
        let end = self.network.now + span;
        while self.network.now < end {
            self.network.run_for(Duration::from_millis(100));
            for relay in 1..4 {
                self.longest = self.longest.max(self.network.longest_queue(relay));
            }
        }
        (self.network.heard(0, self.honest).bytes.len() - before) as f64
    }

    /// A client whose node is made by `factory`, with a circuit and a stream.
    fn intruder(&mut self, factory: &dyn Factory<OnionPayload>) -> Intruder {
        let client = self.network.add_client(factory);
        let circuit = self.network.circuit_of(client, &[1, 2, 3]);
        let (near, far) = self.network.stream_pair(client, circuit);
        Intruder {
            client,
            circuit,
            near,
            far,
        }
    }

    fn circuits(&self) -> [u64; 3] {
        [1, 2, 3].map(|relay| self.network.engine(relay).counters().circuits)
    }
}

#[test]
fn a_client_that_ignores_windows_loses_its_circuit_and_slows_nobody_down() {
    let span = Duration::from_secs(5);
    let alone = Scene::new(&*backtap()).run_for(span);
    let mut scene = Scene::new(&*backtap());
    let flood = scene.intruder(&flood());
    let network = &mut scene.network;
    network.write(flood.client, flood.near, pattern(4_000_000, 4), true);
    let beside = scene.run_for(span);
    let failure = scene.network.failure(flood.client, flood.circuit);
    assert_eq!(failure, Some(Failure::Closed(Reason::Excess)));
    let broken = scene.network.engine_mut(1).poll_violation();
    assert_eq!(
        broken,
        Some(Violation::Excess),
        "the entry says what was broken"
    );
    assert_eq!(scene.circuits(), [1, 1, 1], "only the honest one is left");
    assert!(scene.longest <= QUEUE, "{} cells", scene.longest);
    let dropped = scene.network.engine(1).counters().node.cells_dropped;
    println!("{alone} bytes alone, {beside} beside a flood; {dropped} cells dropped");
    assert!(dropped > QUEUE, "{dropped} cells are dropped");
    assert!(beside >= 0.9 * alone, "{beside} bytes instead of {alone}");
}

#[test]
fn a_short_flood_is_dropped_and_what_was_sent_arrives_all_the_same() {
    let mut scene = Scene::new(&*backtap());
    let flood = scene.intruder(&flood());
    let network = &mut scene.network;
    // One and a half queues full.
    let sent = pattern(QUEUE as usize * 488 * 3 / 2, 4);
    network.write(flood.client, flood.near, sent.clone(), true);
    scene.run_for(Duration::from_secs(30));
    let network = &scene.network;
    let dropped = network.engine(1).counters().node.cells_dropped;
    assert!(dropped > 0, "some cells are beyond the limit");
    assert_eq!(network.failure(flood.client, flood.circuit), None);
    let (exit, far) = flood.far;
    assert!(network.heard(exit, far).bytes == sent, "all arrives");
    assert!(scene.longest <= QUEUE, "{} cells", scene.longest);
}

#[test]
fn a_client_that_falls_silent_amid_a_download_is_given_up() {
    let span = Duration::from_secs(5);
    let alone = Scene::new(&*backtap()).run_for(span);
    let mut scene = Scene::new(&*backtap());
    let Intruder { client, far, .. } = scene.intruder(&*backtap());
    scene
        .network
        .write(far.0, far.1, pattern(5_000_000, 5), true);
    scene.network.tamper = Some(Box::new(move |passing| {
        if passing.from == client {
            passing.bytes.clear();
        }
    }));
    let beside = scene.run_for(span);
    println!("{alone} bytes alone, {beside} beside one who never answers");
    assert!(beside >= 0.9 * alone, "{beside} bytes instead of {alone}");
    scene.run_for(Duration::from_secs(60));
    assert_eq!(scene.circuits(), [1, 1, 1], "only the honest one is left");
    assert!(scene.longest <= QUEUE, "{} cells", scene.longest);
}

#[test]
fn a_client_that_sends_but_never_acknowledges_is_given_up() {
    let mut scene = Scene::new(&*backtap());
    let mute = scene.intruder(&mute());
    let far = mute.far;
    scene
        .network
        .write(far.0, far.1, pattern(5_000_000, 5), true);
    for second in 0..900_u64 {
        // What it sends keeps its link alive.
        let bytes = pattern(400, second as u8);
        scene.network.write(mute.client, mute.near, bytes, false);
        scene.run_for(Duration::from_secs(1));
        if scene.circuits() == [1, 1, 1] {
            println!("given up after {second} s");
            break;
        }
    }
    assert_eq!(scene.circuits(), [1, 1, 1], "only the honest one is left");
    assert!(scene.longest <= QUEUE, "{} cells", scene.longest);
}

#[test]
fn a_client_that_reads_no_more_from_its_connection_costs_a_bounded_amount() {
    for name in ["vanilla", "pctcp", "vanilla-stream-window"] {
        let factory = transport(name);
        assert_eq!(factory.plan().link.carrier, Carrier::Stream);
        let span = Duration::from_secs(5);
        let alone = Scene::new(&*factory).run_for(span);
        let mut scene = Scene::new(&*factory);
        let Intruder { client, far, .. } = scene.intruder(&*factory);
        scene
            .network
            .write(far.0, far.1, pattern(5_000_000, 5), true);
        scene.network.clogged.insert((1, client));
        let beside = scene.run_for(span);
        println!("{name}: {alone} bytes alone, {beside} beside a clogged connection");
        assert!(beside >= 0.9 * alone, "{beside} bytes instead of {alone}");
        let limit = factory.plan().link.queue_limit.get();
        assert!(scene.longest <= limit, "{} cells", scene.longest);
    }
}
