//! What theory says about a window over a token bucket: closed forms, and a small event model.
//!
//! The event model knows three places and no TCP, no buffers and no simulator: cells leave the exit
//! while the window is open, wait at the middle relay for tokens, and reach the client, which
//! returns a SENDME for every `increment` cells; SENDMEs wait for tokens, too. It explains the
//! levels of backlog that the paper describes in words (section 4.1), and the tests hold the
//! packet-level simulator against it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopflow_units::{Duration, Rate};

/// Bytes by which the paper counts a cell, and which a cell of `vanilla` has (section 3.1).
pub const CELL: u64 = hopflow_wire::CELL as u64;

/// A window over the bottleneck of Figure 5.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Cells that may be under way.
    pub cells: u64,
    /// Cells that a SENDME gives back.
    pub increment: u64,
}

impl Window {
    /// Bytes per second of data and SENDMEs: what the bucket grants, or a window per round trip
    /// (section 4.1).
    pub fn rate(&self, bucket: Rate, rtt: Duration) -> f64 {
        let bucket = bucket.as_f64();
        if rtt.is_zero() {
            return bucket;
        }
        bucket.min((self.cells * CELL) as f64 / rtt.as_secs_f64())
    }

    /// Cells that pass the bucket for a delivered data cell: SENDMEs pay, too.
    pub fn with_sendmes(&self) -> f64 {
        1.0 + 1.0 / self.increment as f64
    }

    /// The round-trip time at which a window per round trip is what the bucket grants.
    pub fn knee(&self, bucket: Rate) -> Duration {
        Duration::from_secs_f64((self.cells * CELL) as f64 / bucket.as_f64())
    }
}

/// Time that a link of 10 Gbit/s takes for a cell, with its share of headers: a segment has 1448
/// bytes of cells and 1502 on the link.
const SERIALISATION: Duration = Duration::from_nanos(425);

/// The circuit as the event model sees it.
#[derive(Clone, Copy, Debug)]
pub struct Circuit {
    /// The end-to-end window.
    pub window: Window,
    /// End-to-end round-trip time.
    pub rtt: Duration,
    /// What the middle relay's bucket grants; it holds one second's worth and starts full.
    pub bucket: Rate,
    /// Time between refills.
    pub refill: Duration,
    /// Time that a link takes to serialise a cell.
    pub serialisation: Duration,
}

impl Circuit {
    /// The circuit of Figure 5 with Tor's refill interval: every 100 ms (section 4.1).
    pub fn of_figure(window: Window, bucket: Rate, rtt: Duration) -> Self {
        Self {
            window,
            rtt,
            bucket,
            refill: Duration::from_millis(100),
            serialisation: SERIALISATION,
        }
    }
}

/// What the event model predicts for the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes of delivered data cells per second.
    pub rate: f64,
    /// Bytes of data cells that are packaged and not delivered, averaged over time.
    pub backlog: f64,
}

/// Places in [`Model::busy`].
const EXIT: usize = 0;
const MIDDLE: usize = 1;

/// When the averages begin, and when they end.
const STEADY: (u64, u64) = (10_000_000_000, 40_000_000_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Refill,
    DataAtMiddle,
    SendmeAtMiddle,
    DataAtClient,
    SendmeAtExit,
}

struct Model {
    circuit: Circuit,
    agenda: BinaryHeap<Reverse<(u64, u64, Event)>>,
    scheduled: u64,
    now: u64,
    tokens: u64,
    open: u64,
    data: u64,
    sendmes: u64,
    delivered: u64,
    under_way: u64,
    /// When the links of the exit and the middle relay have sent what they were given.
    busy: [u64; 2],
    averages: Averages,
}

/// Sums since the averages begin.
#[derive(Default)]
struct Averages {
    /// Delivered cells.
    counted: u64,
    /// The integral of the backlog.
    area: f64,
}

/// Runs the event model.
pub fn predict(circuit: &Circuit) -> Prediction {
    let mut model = Model {
        circuit: *circuit,
        agenda: BinaryHeap::new(),
        scheduled: 0,
        now: 0,
        tokens: circuit.bucket.bytes_per_sec(),
        open: circuit.window.cells,
        data: 0,
        sendmes: 0,
        delivered: 0,
        under_way: 0,
        busy: [0; 2],
        averages: Averages::default(),
    };
    model.after(circuit.refill.as_nanos(), Event::Refill);
    model.package();
    while let Some(Reverse((time, _, event))) = model.agenda.pop() {
        if time >= STEADY.1 {
            break;
        }
        let steady = time.saturating_sub(model.now.max(STEADY.0));
        model.averages.area += model.under_way as f64 * steady as f64;
        model.now = time;
        model.handle(event);
    }
    let span = (STEADY.1 - STEADY.0) as f64;
    Prediction {
        rate: (model.averages.counted * CELL) as f64 / span * 1e9,
        backlog: model.averages.area / span * CELL as f64,
    }
}

impl Model {
    fn handle(&mut self, event: Event) {
        match event {
            Event::Refill => {
                let Circuit { bucket, refill, .. } = self.circuit;
                let depth = bucket.bytes_per_sec();
                self.tokens = depth.min(self.tokens + bucket.bytes_in(refill).get());
                self.after(refill.as_nanos(), Event::Refill);
            }
            Event::DataAtMiddle => self.data += 1,
            Event::SendmeAtMiddle => self.sendmes += 1,
            Event::DataAtClient => self.deliver(),
            Event::SendmeAtExit => {
                self.open += self.circuit.window.increment;
                self.package();
            }
        }
        self.forward();
    }

    /// The exit sends all that the window allows.
    fn package(&mut self) {
        for _ in 0..std::mem::take(&mut self.open) {
            self.under_way += 1;
            self.send(EXIT, 6, Event::DataAtMiddle);
        }
    }

    /// The middle relay sends all that its bucket allows.
    fn forward(&mut self) {
        while self.tokens >= CELL && self.sendmes + self.data > 0 {
            self.tokens -= CELL;
            if self.sendmes > 0 {
                self.sendmes -= 1;
                self.send(MIDDLE, 6, Event::SendmeAtExit);
            } else {
                self.data -= 1;
                self.send(MIDDLE, 3, Event::DataAtClient);
            }
        }
    }

    fn deliver(&mut self) {
        self.delivered += 1;
        self.under_way -= 1;
        self.averages.counted += u64::from(self.now >= STEADY.0);
        if self.delivered.is_multiple_of(self.circuit.window.increment) {
            self.after(self.share(3), Event::SendmeAtMiddle);
        }
    }

    /// A fraction of the round trip: a hop, one way, is a sixth.
    fn share(&self, part: u64) -> u64 {
        self.circuit.rtt.as_nanos() / part
    }

    fn send(&mut self, from: usize, part: u64, arrival: Event) {
        let sent = self.busy[from].max(self.now) + self.circuit.serialisation.as_nanos();
        self.busy[from] = sent;
        self.after(sent - self.now + self.share(part), arrival);
    }

    fn after(&mut self, nanos: u64, event: Event) {
        let entry = (self.now + nanos, self.scheduled, event);
        self.scheduled += 1;
        self.agenda.push(Reverse(entry));
    }
}
