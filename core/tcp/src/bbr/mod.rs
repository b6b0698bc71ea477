//! BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path says how fast to send and how much to have
//! in flight.
//!
//! The names of the draft's variables stand at those of ours where they differ. Not modelled: undoing
//! what a loss changed once it turns out to be none. What the draft draws at random comes from the time and
//! what was delivered, so that a connection needs no generator.

mod bounds;
mod filter;
mod pacer;
mod path;
mod probe;
mod sampler;

use hopflow_units::{Duration, Instant};

use crate::Config;
use crate::ranges::Range;
use bounds::{BETA, Bounds};
use pacer::Pacer;
use path::{FullPipe, Path, Rounds};
use probe::{Feedback, Probe};
use sampler::{Sample, Sampler};

/// The least window (`MinPipeCwnd`), in segments.
const LEAST: u64 = 4;
/// Ranges that must be lost in a round trip to end the start (`BBRStartupFullLossCnt`).
const LOSSES_AT_START: u32 = 6;
/// How long the window is small so that queues empty (`ProbeRTTDuration`).
const EMPTYING: Duration = Duration::from_millis(200);
/// What the first rate is worked out with before there is a round-trip time.
const ASSUMED: Duration = Duration::from_millis(1);
/// The pacing rate is below the path's by this (`PacingMarginPercent`).
const MARGIN: f64 = 0.99;

/// What a connection is doing (section 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Doubles its rate every round trip.
    Startup,
    /// Lets the queue go that the start has built.
    Drain,
    /// `ProbeBW_DOWN`.
    Down,
    /// `ProbeBW_CRUISE`.
    Cruise,
    /// `ProbeBW_REFILL`.
    Refill,
    /// `ProbeBW_UP`.
    Up,
    /// `ProbeRTT`: lets queues empty, to see the round-trip time without them.
    Empty,
}

impl Phase {
    /// What the rate is multiplied by.
    const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => 2.77,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Up => 1.25,
            Self::Cruise | Self::Refill | Self::Empty => 1.0,
        }
    }

    /// What the bandwidth-delay product is multiplied by for the window.
    const fn window_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::Empty => 0.5,
            _ => 2.0,
        }
    }

    /// Whether the rate is known and looked for again from time to time.
    const fn is_steady(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it tries to send faster.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// What the sender knows when an acknowledgement came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckState {
    pub(crate) now: Instant,
    /// The lowest offset not acknowledged.
    pub(crate) una: u64,
    /// Bytes newly known to have arrived.
    pub(crate) newly: u64,
    /// Bytes in flight.
    pub(crate) in_flight: u64,
    /// Whether the window was filled.
    pub(crate) window_limited: bool,
    /// Whether losses are being repaired.
    pub(crate) recovering: bool,
}

/// The congestion window, and what it was before it became small for a while.
#[derive(Clone, Copy, Debug)]
struct Window {
    mss: u64,
    initial: u64,
    size: u64,
    /// `prior_cwnd`.
    before: u64,
}

impl Window {
    const fn floor(&self) -> u64 {
        LEAST * self.mss
    }

    fn save(&mut self, was_small: bool) {
        self.before = if was_small {
            self.before.max(self.size)
        } else {
            self.size
        };
    }

    fn restore(&mut self) {
        self.size = self.size.max(self.before);
    }
}

/// What is known of times in which the application has nothing to send.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    /// Nothing waited to be sent when the last segment had left.
    dry: bool,
    /// It sends again after such a time (`idle_restart`).
    restarted: bool,
}

/// The time in which queues are to empty.
#[derive(Clone, Copy, Debug, Default)]
struct Emptying {
    /// When it is over; `None`: too much is still in flight.
    until: Option<Instant>,
    round_ended: bool,
}

/// The state of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Bbr {
    sack: bool,
    phase: Phase,
    /// The round trip in which the queue of the start was to go.
    drain_round: u64,
    idle: Idle,
    window: Window,
    sampler: Sampler,
    pacer: Pacer,
    rounds: Rounds,
    path: Path,
    full: FullPipe,
    bounds: Bounds,
    probing: Probing,
}

/// The two ways of probing.
#[derive(Clone, Copy, Debug)]
struct Probing {
    rate: Probe,
    emptying: Emptying,
}

impl Bbr {
    pub(crate) fn new(config: &Config) -> Self {
        let mss = config.mss.get();
        let initial = mss * u64::from(config.initial_window_segments);
        Self {
            sack: config.sack,
            phase: Phase::Startup,
            drain_round: 0,
            idle: Idle::default(),
            window: Window {
                mss,
                initial,
                size: initial,
                before: 0,
            },
            sampler: Sampler::default(),
            pacer: Pacer::new(mss, first_rate(initial, ASSUMED)),
            rounds: Rounds::new(),
            path: Path::new(),
            full: FullPipe::default(),
            bounds: Bounds::new(),
            probing: Probing {
                rate: Probe::new(),
                emptying: Emptying::default(),
            },
        }
    }

    /// The congestion window.
    pub(crate) const fn cwnd(&self) -> u64 {
        self.window.size
    }

    /// Whether nothing is to leave yet.
    #[cold]
    pub(crate) fn is_early(&self, now: Instant) -> bool {
        self.pacer.is_early(now)
    }

    /// Notes that something is kept back.
    pub(crate) const fn hold(&mut self) {
        self.pacer.hold();
    }

    /// Lets go what was kept back until now.
    pub(crate) fn release(&mut self, now: Instant) {
        self.pacer.release(now);
    }

    /// When what is kept back may leave; `None`: nothing is.
    pub(crate) const fn held_until(&self) -> Option<Instant> {
        self.pacer.held_until()
    }

    /// Begins with one segment, after a SYN that had to be repeated (RFC 6928, section 2).
    pub(crate) const fn collapse(&mut self) {
        self.window.size = self.window.mss;
    }

    /// The first round-trip time says how fast the first window leaves.
    pub(crate) fn see_round_trip(&mut self, now: Instant, round_trip: Duration) {
        if self.path.round_trip().is_none() {
            self.path.begin(now, round_trip);
            self.pacer
                .set_rate(first_rate(self.window.initial, round_trip));
        }
    }

    /// Notes a transmission; `before` bytes were in the network before it, `in_flight` are after it.
    #[cold]
    pub(crate) fn on_sent(&mut self, now: Instant, range: Range, (before, in_flight): (u64, u64)) {
        self.check_application(now, before);
        self.idle.dry = false;
        if before == 0 && self.sampler.is_limited() {
            self.restart(now);
        }
        self.sampler.on_sent(now, range, (before, in_flight));
        self.pacer.on_sent(now, range.len());
    }

    /// Sends again after an idle time (section 5.4).
    fn restart(&mut self, now: Instant) {
        self.idle.restarted = true;
        self.path.restart_bunch(now);
        if self.phase.is_steady() {
            self.pace(1.0);
        } else if self.phase == Phase::Empty {
            self.leave_empty(now);
        }
    }

    /// Notes that nothing waits to be sent.
    pub(crate) const fn on_nothing_to_send(&mut self) {
        self.idle.dry = true;
    }

    /// Looks whether the application limits the rate: nothing waits though window and pacing would let it
    /// leave (`CheckIfApplicationLimited`).
    pub(crate) fn check_application(&mut self, now: Instant, in_flight: u64) {
        if self.idle.dry && in_flight < self.window.size && self.pacer.is_through(now) {
            self.sampler.limit(in_flight);
        }
    }

    /// Notes that the repair of losses begins.
    pub(crate) fn on_recovery(&mut self) {
        self.save_window(false);
    }

    /// Notes that losses are repaired.
    pub(crate) fn on_recovered(&mut self) {
        self.window.restore();
    }

    /// Notes that the retransmission timer expired, and `lost` bytes more are taken for lost.
    pub(crate) fn on_timeout(&mut self, in_flight: u64, lost: u64, recovering: bool) {
        self.save_window(recovering);
        self.sampler.on_lost(lost);
        self.bounds.on_loss(self.sampler.delivered());
        self.window.size = in_flight + self.window.mss;
    }

    fn save_window(&mut self, recovering: bool) {
        self.window.save(recovering || self.phase == Phase::Empty);
    }

    /// Notes that a range was lost (section 5.5.10.2).
    pub(crate) fn on_lost(&mut self, now: Instant, range: Range) {
        self.bounds.on_loss(self.sampler.delivered());
        for sample in self.sampler.lose(range) {
            if self.probing.rate.is_sample && Bounds::is_too_high(&sample, self.sack) {
                let in_flight = Self::at_loss(&sample);
                self.on_too_high(
                    now,
                    &Sample {
                        in_flight,
                        ..sample
                    },
                );
            }
        }
    }

    /// What was in flight when the loss of a segment made it too much.
    fn at_loss(sample: &Sample) -> u64 {
        let before = sample.in_flight.saturating_sub(sample.len) as f64;
        let lost = sample.lost.saturating_sub(sample.len) as f64;
        let of_segment = (bounds::TOLERATED * before - lost) / (1.0 - bounds::TOLERATED);
        (before + of_segment).max(0.0) as u64
    }

    /// Too much was in flight: that is the bound from now on.
    fn on_too_high(&mut self, now: Instant, sample: &Sample) {
        self.probing.rate.was_too_high = true;
        self.probing.rate.is_sample = false;
        if !sample.limited {
            let least = (BETA * self.target() as f64) as u64;
            self.bounds.long = sample.in_flight.max(least);
        }
        if self.phase == Phase::Up {
            self.go_down(now);
        }
    }

    /// Takes in an acknowledgement, with what it says to have arrived out of order (section 5.2.3).
    pub(crate) fn on_ack(&mut self, ack: &AckState, blocks: impl Iterator<Item = Range>) {
        let sample = self
            .sampler
            .acknowledge(ack.now, (ack.una, blocks), ack.newly);
        if let Some(round_trip) = sample.round_trip {
            self.see_round_trip(ack.now, round_trip);
        }
        self.update_model(ack, &sample);
        self.change_phase(ack, &sample);
        self.bounds.end(&sample);
        self.pace(self.phase.pacing_gain());
        self.update_window(&sample);
    }

    /// Updates what is known of the path.
    fn update_model(&mut self, ack: &AckState, sample: &Sample) {
        let delivered = self.sampler.delivered();
        self.bounds.begin(sample, delivered);
        self.rounds.update(sample, delivered);
        self.probing.rate.rounds += u64::from(self.rounds.ended);
        self.path.update_rate(sample);
        if self.bounds.rounds.ended {
            if self.bounds.losses > 0 && !self.phase.is_probing() {
                self.bounds.slow_down(self.path.rate(), self.window.size);
            }
            self.check_losses_at_start(ack, sample);
            self.bounds.losses = 0;
        }
        let (rate, starting) = (self.rate(), !self.full.ever);
        let round = (self.rounds.count, starting);
        self.path
            .update_bunches(ack.now, (rate, self.window.size), ack.newly, round);
        self.full.check(sample, self.rounds.ended);
    }

    /// Ends the start if a round trip lost too much (section 5.3.1.3).
    fn check_losses_at_start(&mut self, ack: &AckState, sample: &Sample) {
        let enough = self.bounds.losses >= LOSSES_AT_START || !self.sack;
        let counts = !self.full.ever && ack.recovering && enough;
        if counts && Bounds::is_too_high(sample, self.sack) {
            self.full.ever = true;
            self.bounds.long = self.product(1.0).max(self.bounds.latest_delivered());
        }
    }

    /// Goes from phase to phase.
    fn change_phase(&mut self, ack: &AckState, sample: &Sample) {
        if self.phase == Phase::Startup && self.full.ever {
            self.phase = Phase::Drain;
            self.drain_round = self.rounds.count;
        }
        if self.phase == Phase::Drain {
            let is_empty = ack.in_flight <= self.inflight(1.0);
            if is_empty || self.rounds.count > self.drain_round + 3 {
                self.go_down(ack.now);
            }
        }
        if self.full.ever && !self.adapt_bound(ack, sample) {
            self.change_steady_phase(ack, sample);
        }
        self.probe_round_trip(ack, sample);
    }

    /// The rate that losses allow.
    fn rate(&self) -> f64 {
        self.path.rate().min(self.bounds.rate)
    }

    /// A multiple of the bandwidth-delay product.
    fn product(&self, gain: f64) -> u64 {
        self.product_at(self.rate(), gain)
    }

    fn product_at(&self, rate: f64, gain: f64) -> u64 {
        let of_path = |it: Duration| (gain * rate * it.as_secs_f64()) as u64;
        self.path.round_trip().map_or(self.window.initial, of_path)
    }

    /// An amount in flight with what it takes to send it in bursts.
    fn quantised(&self, amount: u64) -> u64 {
        let amount = amount
            .max(3 * self.pacer.quantum())
            .max(self.window.floor());
        let extra = if self.phase == Phase::Up { 2 } else { 0 };
        amount + extra * self.window.mss
    }

    fn inflight(&self, gain: f64) -> u64 {
        self.quantised(self.product(gain))
    }

    /// The amount in flight that is wanted (`TargetInflight`).
    fn target(&self) -> u64 {
        self.product(1.0).min(self.window.size)
    }

    /// Sets the pacing rate; during the start it never falls. At least a segment leaves in a second: a path
    /// that lost nearly all for a while is tried again.
    fn pace(&mut self, gain: f64) {
        let rate = gain * self.rate() * MARGIN;
        if rate > 0.0 && (self.full.ever || rate > self.pacer.rate()) {
            self.pacer.set_rate(rate.max(self.window.mss as f64));
        }
    }

    /// Sets the window (section 5.6.4.6).
    fn update_window(&mut self, sample: &Sample) {
        let wanted = self.product(self.phase.window_gain()) + self.path.extra();
        let most = self.quantised(wanted);
        let size = self.window.size;
        let grown = size + sample.newly;
        let size = if self.full.ever {
            grown.min(most)
        } else if size < most || self.sampler.delivered() < self.window.initial {
            grown
        } else {
            size
        };
        let mut size = size.max(self.window.floor());
        if self.phase == Phase::Empty {
            size = size.min(self.emptying_window());
        }
        self.window.size = size.min(self.bound());
    }

    /// What losses allow in flight (section 5.6.4.7).
    fn bound(&self) -> u64 {
        let (mss, floor) = (self.window.mss, self.window.floor());
        let long = match self.phase {
            Phase::Startup | Phase::Drain => u64::MAX,
            Phase::Down | Phase::Refill | Phase::Up => self.bounds.long,
            Phase::Cruise | Phase::Empty => self.bounds.with_headroom(mss, floor),
        };
        long.min(self.bounds.short).max(floor)
    }
}

/// The phases in which the rate is known.
impl Bbr {
    /// Begins to leave room to others, and to wait for the next probing.
    fn go_down(&mut self, now: Instant) {
        self.bounds.forget_round();
        let delivered = self.sampler.delivered();
        let round_trip = self.path.round_trip().map_or(0, Duration::as_nanos);
        self.probing.rate.end(now, delivered ^ round_trip);
        self.rounds.start(delivered);
        self.phase = Phase::Down;
    }

    fn refill(&mut self) {
        self.bounds.lift();
        self.probing.rate.refill();
        self.rounds.start(self.sampler.delivered());
        self.phase = Phase::Refill;
    }

    fn go_up(&mut self, sample: &Sample) {
        let (window, mss) = (self.window.size, self.window.mss);
        self.probing.rate.is_sample = true;
        self.rounds.start(self.sampler.delivered());
        self.full.reset(sample.rate);
        self.phase = Phase::Up;
        self.probing.rate.rise_faster(window, mss);
    }

    /// Follows the feedback of a probing, and raises the bound where losses are few
    /// (`AdaptLongTermModel`); true if that began another phase.
    fn adapt_bound(&mut self, ack: &AckState, sample: &Sample) -> bool {
        if self.rounds.ended && self.end_feedback(sample) {
            self.refill();
            return true;
        }
        if Bounds::is_too_high(sample, self.sack) || self.bounds.long == u64::MAX {
            return false;
        }
        self.bounds.long = self.bounds.long.max(sample.in_flight);
        if self.phase == Phase::Up {
            self.raise_bound(ack, sample);
        }
        false
    }

    /// A round trip has ended: what acknowledgements are about from now on; true if the pipe is to be
    /// filled again at once, after a probing that was careful and lost little.
    fn end_feedback(&mut self, sample: &Sample) -> bool {
        if self.probing.rate.feedback == Feedback::Current {
            return false;
        }
        self.probing.rate.feedback = Feedback::Current;
        self.probing.rate.is_sample = false;
        if !self.phase.is_steady() {
            return false;
        }
        if !sample.limited {
            self.path.end_cycle();
        }
        self.probing.rate.was_careful && !self.probing.rate.was_too_high
    }

    fn raise_bound(&mut self, ack: &AckState, sample: &Sample) {
        if !ack.window_limited || self.window.size < self.bounds.long {
            return;
        }
        let (window, mss) = (self.window.size, self.window.mss);
        self.bounds.long += self.probing.rate.steps(sample) * mss;
        if self.rounds.ended {
            self.probing.rate.rise_faster(window, mss);
        }
    }

    fn change_steady_phase(&mut self, ack: &AckState, sample: &Sample) {
        match self.phase {
            Phase::Down | Phase::Cruise => {
                let window = self.target().div_ceil(self.window.mss);
                if self.probing.rate.is_due(ack.now, window) {
                    self.refill();
                } else if self.phase == Phase::Down && self.has_left_room(ack.in_flight) {
                    self.phase = Phase::Cruise;
                }
            }
            Phase::Refill if self.rounds.ended => self.go_up(sample),
            Phase::Up => {
                if self.has_seen_enough(ack, sample) {
                    self.probing.rate.was_too_high = false;
                    self.go_down(ack.now);
                }
            }
            Phase::Refill | Phase::Startup | Phase::Drain | Phase::Empty => {}
        }
    }

    /// Whether little enough is in flight to go on at the path's rate.
    fn has_left_room(&self, in_flight: u64) -> bool {
        let (mss, floor) = (self.window.mss, self.window.floor());
        let product = self.quantised(self.product_at(self.path.rate(), 1.0));
        in_flight <= self.bounds.with_headroom(mss, floor).min(product)
    }

    /// Whether a probing is to end.
    fn has_seen_enough(&mut self, ack: &AckState, sample: &Sample) -> bool {
        if self.probing.rate.was_too_high && ack.in_flight >= self.bounds.long {
            self.probing.rate.was_careful = true;
            return true;
        }
        if ack.window_limited && self.window.size >= self.bounds.long {
            self.full.reset(sample.rate);
            return false;
        }
        self.full.now
    }
}

/// Letting queues empty, to measure the round-trip time without them (section 5.3.4).
impl Bbr {
    fn probe_round_trip(&mut self, ack: &AckState, sample: &Sample) {
        self.path.update_round_trip(ack.now, sample);
        if self.phase != Phase::Empty && self.path.wants_probe && !self.idle.restarted {
            self.phase = Phase::Empty;
            self.save_window(ack.recovering);
            self.probing.emptying.until = None;
            self.probing.rate.feedback = Feedback::LastProbing;
            self.rounds.start(self.sampler.delivered());
        }
        if self.phase == Phase::Empty {
            self.wait_for_empty(ack);
        }
        if sample.delivered > 0 {
            self.idle.restarted = false;
        }
    }

    /// The window meanwhile (`BBRProbeRTTCwnd`).
    fn emptying_window(&self) -> u64 {
        let window = self.product(Phase::Empty.window_gain());
        window.max(self.window.floor())
    }

    /// Waits until little is in flight, then for a while and a round trip.
    fn wait_for_empty(&mut self, ack: &AckState) {
        self.sampler.limit(ack.in_flight);
        let window = self.emptying_window();
        let emptying = &mut self.probing.emptying;
        if emptying.until.is_none() {
            if ack.in_flight <= window {
                emptying.until = Some(ack.now + EMPTYING);
                emptying.round_ended = false;
                self.rounds.start(self.sampler.delivered());
            }
            return;
        }
        emptying.round_ended |= self.rounds.ended;
        if emptying.round_ended {
            self.leave_empty(ack.now);
        }
    }

    /// Goes on as before, if queues had the time to empty.
    fn leave_empty(&mut self, now: Instant) {
        if self.probing.emptying.until.is_none_or(|until| now <= until) {
            return;
        }
        self.path.end_probe(now);
        self.window.restore();
        self.bounds.lift();
        if self.full.ever {
            self.go_down(now);
            self.phase = Phase::Cruise;
        } else {
            self.phase = Phase::Startup;
        }
    }
}

/// The pacing rate that sends the first window in a round trip, and leaves as much room as the start does.
fn first_rate(window: u64, round_trip: Duration) -> f64 {
    let round_trip = round_trip.as_secs_f64().max(1e-9);
    Phase::Startup.pacing_gain() * window as f64 / round_trip
}
