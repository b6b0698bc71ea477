//! Joint control: windows on every hop, and rates that nodes tell their predecessors hop by hop.
//!
//! Section 7 of "How (not) to Build a Transport Layer for Anonymity Overlays" asks for control that
//! a node applies to all its circuits together, and that pushes back hop by hop. Here windows
//! follow delay as BackTap's do ([`DelayWindow`](super::DelayWindow)). Besides, every node shares
//! what it has, its token bucket and its access link, among the flows that are busy, max-min fairly
//! ([`Ledger`]), and feedback tells the predecessor the flow's share ([`Word`]), also before the first
//! cell, because requests carry words along. Windows begin at this rate, and are bounded by it; where
//! more would be lost in a network queue, cells are paced. Where delay shows that the rest of the path
//! takes less, windows remember it.
//!
//! Where others compete for the access link of a node that has a [`weight`](JointConfig::weight), this
//! does not hold the node's circuits to any part of it. They then have one congestion window
//! ([`Competition`]), of which predecessors get parts: grants, in place of words. Senders pace cells by
//! grant over round trip where a queue stands on the way ([`Path`]).
//!
//! A word that is too low slows the flows of the neighbour that says it; one that is too high
//! is bounded by the successor's queue limit, as every window is. A predecessor that leaves gaps does
//! not make the others' circuits slower, unless they have losses, too, or next to no cells.
//!
//! `docs/joint.md` has equations, reasons and measurements.
//!
//! What leaks: a predecessor learns its successor's share, hence how busy that node is, to which the limits of
//! all flows there add, the flow's own among them. A guard learns its client's access rate, by the number of
//! the client's busy circuits. Besides, what BackTap leaks. If nodes also pass on what they were told
//! ([`relayed`](JointConfig::relayed)), exits learn of the client's link.

mod compete;
mod config;
mod ledger;
mod path;
mod shares;
mod word;

use hopflow_overlay::{
    AckSample, ConfigError, Features, FeedbackPlan, FlowId, Forwarded, Gates, HopControl, HopCx,
    HopPlan, HopSignal, Info, Metric, NodeEnv, Role, Site, Violation,
};
use hopflow_units::{Cells, Duration, Instant, LinkId, Rate};

use self::compete::Competition;
use self::config::{JointConfig, Jump};
use self::ledger::Ledger;
use self::path::Path;
use self::word::{Word, decode_grant, encode_grant};
use super::shared::ignore;
use crate::layer::LayerOptions;
use crate::round::{BaseRtts, HopWindow};
use crate::waiting::Rule;

/// A flow is busy for so long after a cell: longer than a round trip, so that a flow which waits
/// for feedback is counted.
const BUSY: Duration = Duration::from_millis(300);
/// The round trip of a hop on which none was measured.
const ASSUMED: Duration = Duration::from_millis(100);
/// Cells that are paced may go ahead of time by this, or by the time of one cell if that is longer,
/// so that a timer serves several.
const BURST: Duration = Duration::from_millis(2);
/// Words raise a window to no more than this where the rest of the path may take less: the cells of a page.
const GUESS: Cells = Cells::new(768);
/// A round trip of so many times the smallest shows that the rest of the path takes less; jitter does not
/// make as much of it.
const FAR: u64 = 6;
/// Where the successor granted a window, the pace keeps to it; cells in flight are bounded by so many
/// times as many: a cell that is lost several times holds those behind it for as many round trips.
const AHEAD: f64 = 8.0;
/// 2³² over the golden ratio: multiples of it, of 32 bits, are spread evenly (Knuth, The Art of Computer
/// Programming 3, section 6.4).
const GOLDEN: u32 = 0x9e37_79b9;

/// Joint control at one node.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    config: JointConfig,
    rule: Rule,
    base_rtts: BaseRtts,
    ledger: Ledger,
    /// Round trips of acknowledgements, in which cells wait in the network alone.
    ack_rtts: BaseRtts,
    /// What the access link carries, as far as the operator knows.
    access: Option<Rate>,
    /// Where the node has a weight, and knows what its link carries.
    competition: Option<Competition>,
}

/// A flow's control.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    hop: HopWindow,
    /// When the last cell departed.
    departed: Option<Instant>,
    /// Whether the window has begun at the rate since the last pause.
    begun: bool,
    /// The window to which it fell when nearly all of it waited, or to which it grew since: words raise
    /// it no further.
    found: Option<Cells>,
    /// When the predecessor was told a word ahead of cells.
    told: Option<Instant>,
    paced: bool,
    /// Whether that is by a grant.
    granted: bool,
    /// The word that counts, for measurement.
    word: Option<Word>,
    path: Path,
    /// Cells that arrived, modulo 2³².
    arrived: u32,
}

impl HopControl for Joint {
    const INFO: Info = Info {
        provides: Features::BOUND,
        requires: &[
            (
                Features::DATAGRAMS,
                "Joint control reads the delay until a cell is forwarded; over TCP this is mostly \
                 TCP's own queue and its retransmissions.",
            ),
            (
                Features::HOP_REPAIR,
                "Joint control counts on every cell to be reported as forwarded; nothing brings \
                 back a lost datagram.",
            ),
        ],
        metrics: &[Metric {
            name: "told_rate",
            unit: "bytes_per_second",
            about: "the rate that the successor told last, in bytes of cells",
        }],
        // With rates or without, it is a variant of the delay window.
        swept: false,
        ..Info::new(
            "joint",
            "a window from delay, and rates that nodes tell hop by hop",
        )
    };
    type Config = JointConfig;
    type Flow = Flow;

    fn plan(config: &JointConfig) -> HopPlan {
        HopPlan {
            busy: config.hints.then_some(BUSY),
            ..HopPlan::new(FeedbackPlan {
                ahead: config.hints && config.ahead,
                ..FeedbackPlan::every_cell(true, config.feedback_delay)
            })
        }
    }

    fn new(config: &JointConfig, env: &NodeEnv) -> Self {
        Self {
            config: *config,
            rule: config.rule(),
            base_rtts: BaseRtts::default(),
            ledger: Ledger::new(config, env),
            ack_rtts: BaseRtts::default(),
            access: env.access,
            competition: competition(config, env.access),
        }
    }

    fn open(&mut self, site: &Site, gates: &mut Gates<'_>) -> Flow {
        gates.hop.set_window(self.rule.initial);
        self.ledger.open(site);
        Flow {
            hop: HopWindow::new(&self.rule),
            departed: None,
            begun: false,
            found: None,
            told: None,
            paced: false,
            granted: false,
            word: None,
            path: Path::default(),
            arrived: 0,
        }
    }

    fn check_change(old: &JointConfig, new: &JointConfig) -> Result<(), ConfigError> {
        let reason = "windows and paces follow what neighbours say";
        new.keeps(old, &["hints", "ahead"], reason)
    }

    fn reconfigure(&mut self, config: &JointConfig) {
        match &mut self.competition {
            Some(known) if config.weight > 0.0 => known.weigh(config.weight),
            known => *known = competition(config, self.access),
        }
        self.config = *config;
        self.rule = config.rule();
        self.ledger.reconfigure(config);
    }

    #[inline]
    fn on(
        &mut self,
        flow: &mut Flow,
        cx: &mut HopCx<'_>,
        signal: HopSignal<'_>,
    ) -> Result<(), Violation> {
        match signal {
            HopSignal::Arrived => self.on_arrival(flow, cx),
            HopSignal::Missing(cells) => self.on_missing(flow, cx, cells.get()),
            HopSignal::Acked(sample) => self.on_acked(flow, cx, sample),
            HopSignal::Departed => self.on_departure(flow, cx),
            HopSignal::Returning => self.on_returning(flow, cx),
            HopSignal::Forwarded(sample) => self.on_forwarded(flow, cx, sample),
            _ => return ignore(signal),
        }
        Ok(())
    }

    fn close(&mut self, flow: FlowId) {
        if let Some(competition) = &mut self.competition {
            competition.close(flow.index());
        }
    }

    fn close_link(&mut self, link: LinkId) {
        self.base_rtts.forget(link);
        self.ack_rtts.forget(link);
        if let Some(competition) = &mut self.competition {
            competition.close_link(link);
        }
    }

    fn sample(&self, flow: &Flow, out: &mut Vec<f64>) {
        out.push(
            flow.word
                .map_or(f64::NAN, |word| word.rate * ledger::CELL_BYTES),
        );
    }
}

/// What a node watches of competition: nothing where it tells nobody.
fn competition(config: &JointConfig, access: Option<Rate>) -> Option<Competition> {
    let weight = if config.hints { config.weight } else { 0.0 };
    Competition::new(weight, access)
}

impl Joint {
    fn on_missing(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, cells: u64) {
        if let Some(competition) = &mut self.competition
            && let Some(link) = cx.site.prev
        {
            competition.on_missing(cx.now, link, cells);
            self.say(flow, cx);
        }
    }

    fn on_acked(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &AckSample) {
        let Some(rtt) = sample.rtt.filter(|_| self.config.hints) else {
            return;
        };
        let base = self.ack_rtts.with(cx.now, cx.site, Some(rtt));
        let base = base.max(self.config.feedback_delay).as_secs_f64();
        flow.path.on_acked(cx.now, rtt.as_secs_f64(), base);
    }

    fn on_arrival(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>) {
        if !self.config.hints {
            return;
        }
        let waiting = cx.queue.unsent.get();
        self.ledger.note_arrival(cx.site.flow, waiting);
        if let Some(competition) = &mut self.competition
            && let Some(link) = cx.site.prev
        {
            competition.on_arrival(cx.now, cx.site.flow.index(), link);
            flow.arrived = flow.arrived.wrapping_add(1);
        }
        self.say(flow, cx);
    }

    fn on_departure(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>) {
        if !self.config.hints {
            return;
        }
        flow.end_pause(cx.now, cx.gate.outstanding() <= Cells::new(1));
        flow.departed = Some(cx.now);
        if cx.site.role == Role::Source {
            let held = !cx.gate.is_open(cx.now);
            self.ledger.note_departure(cx.site.flow, held);
        } else {
            self.ledger
                .note_waiting(cx.site.flow, cx.queue.unsent.get());
            self.say(flow, cx);
        }
    }

    /// A cell leaves for the predecessor, which may soon have cells for this flow.
    fn on_returning(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>) {
        let recent = flow
            .told
            .is_some_and(|at| cx.now.saturating_since(at) <= BUSY);
        if cx.site.prev.is_none() || recent || cx.node.is_busy(cx.site.flow) {
            return;
        }
        flow.told = Some(cx.now);
        self.say_word(cx);
        cx.tell();
    }

    /// Lets feedback say what the predecessor may use.
    fn say(&mut self, flow: &Flow, cx: &mut HopCx<'_>) {
        self.say_word(cx);
        // Of the cells that arrive half, at no regular distance, bring a grant in place of a word: the
        // predecessor needs both, and hears of some cells only.
        if let Some(competition) = &self.competition
            && flow.arrived.wrapping_mul(GOLDEN) >> 31 == 1
            && let Some(grant) = competition.grant(cx.now)
        {
            *cx.feedback_ext = Some(encode_grant(grant));
        }
    }

    fn say_word(&mut self, cx: &mut HopCx<'_>) {
        let word = self.ledger.word(&cx.node, cx.now, cx.site.flow);
        *cx.feedback_ext = word.map(Word::encode);
    }

    fn on_forwarded(&mut self, flow: &mut Flow, cx: &mut HopCx<'_>, sample: &Forwarded) {
        // Feedback that waits for company is no queue, so no round trip counts as shorter.
        let base = self.base_rtts.with(cx.now, cx.site, sample.rtt);
        let base = base.max(self.config.feedback_delay) + self.config.tolerance;
        // What waits in a network queue that stands is not the successor's.
        let crowded = flow.path.crowded(cx.now, self.config.weight > 0.0);
        let unjudged = crowded.map_or(base, |crowded| base.max(crowded));
        flow.hop.note(cx, sample);
        if self.config.hints
            && let Some(word) = sample.ext
        {
            self.hear(flow, cx, word);
        }
        let before = flow.hop.window.cells();
        let load = flow.hop.window.load(&self.rule);
        if let Some(trip) = flow.hop.trip(&self.rule, (load, unjudged), cx.queue.sent) {
            let far = trip.actual > trip.base * FAR;
            let jumped = flow.hop.decide(&self.rule, &trip.finding(), cx.queue.sent);
            flow.note_found(jumped && far);
        }
        if let Some(word) = flow.word {
            let grew = flow.hop.window.cells() > before;
            flow.end_pause(cx.now, cx.gate.outstanding() == Cells::ZERO);
            // Of that queue a grant may use its part; a word gives what the path holds without it.
            let granted = flow.path.granted(cx.now).is_some();
            let base = if granted { unjudged } else { base };
            let base = (base < Duration::MAX).then_some(base);
            self.follow(flow, cx, word, (base, grew));
        }
        flow.hop.set(&self.rule, cx.gate);
    }

    fn hear(&mut self, flow: &mut Flow, cx: &HopCx<'_>, word: u16) {
        if let Some(cells) = decode_grant(word) {
            flow.path.on_grant(cells);
        } else {
            flow.word = Some(Word::decode(word));
            flow.path.on_rate();
        }
        if let Some(mut word) = flow.word {
            if let Some(rate) = flow.path.granted(cx.now) {
                word.rate = word.rate.min(rate.max(1.0));
            }
            self.ledger.hear(cx.site.flow, word);
        }
    }

    /// Lets a window and a pace follow what the successor said.
    fn follow(
        &self,
        flow: &mut Flow,
        cx: &mut HopCx<'_>,
        word: Word,
        (base, grew): (Option<Duration>, bool),
    ) {
        let in_flight = word.rate * base.unwrap_or(ASSUMED).as_secs_f64();
        let jumps = match self.config.jump {
            Jump::Never => false,
            Jump::Start => !flow.begun,
            Jump::Growth => !flow.begun || grew,
        };
        if jumps {
            let unknown = if word.hard { Cells::MAX } else { GUESS };
            let most = flow.found.unwrap_or(unknown);
            flow.hop.window.raise(most.get().min(in_flight as u64));
            // Until a round trip is measured the start is a guess.
            flow.begun = base.is_some();
        }
        if base.is_some() && self.config.bound.holds(word) {
            let most = in_flight * self.config.slack + self.rule.beta.get() as f64;
            flow.hop.window.lower(most as u64);
        }
        let granted = flow.path.granted(cx.now).map(|rate| rate.min(word.rate));
        if let Some(rate) = granted {
            let most = AHEAD * in_flight * rate / word.rate + self.rule.beta.get() as f64;
            flow.hop.window.lower(most as u64);
        }
        match granted.or_else(|| self.config.pace.holds(word).then_some(word.rate)) {
            Some(rate) => {
                // What a word let go ahead of time is many cells of a grant.
                if granted.is_some() && !flow.granted {
                    cx.gate.clear_pace();
                }
                let interval = Duration::from_nanos((1e9 / rate) as u64);
                cx.gate.set_pace(interval, interval.max(BURST));
                flow.paced = true;
            }
            None if flow.paced => {
                cx.gate.clear_pace();
                flow.paced = false;
            }
            None => {}
        }
        flow.granted = granted.is_some();
    }
}

impl Flow {
    /// Remembers what the window may have, once delay has said that words give too much.
    fn note_found(&mut self, too_much: bool) {
        let cells = self.hop.window.cells();
        if too_much {
            self.found = Some(cells);
        } else if let Some(found) = &mut self.found {
            *found = cells.max(*found);
        }
    }

    /// After a pause in which no cell was under way the window begins at the rate again.
    fn end_pause(&mut self, now: Instant, idle: bool) {
        let late = |at| now.saturating_since(at) > BUSY;
        if idle && self.departed.is_some_and(late) {
            self.begun = false;
        }
    }
}
