//! The sending half: what may be sent when, and what acknowledgements mean.

mod acks;
mod buffer;
mod congestion;
mod early;
mod loss;
mod small;
mod timer;
mod usage;

use hopflow_units::{Duration, Instant};

use crate::bbr::Bbr;
use crate::ranges::Range;
use crate::rto::RttEstimator;
use crate::scoreboard::{Delivery, Scoreboard};
use crate::stats::Stats;
use crate::window::Window;
use crate::{Algorithm, Config};
use buffer::SendBuffer;
use congestion::Congestion;
use early::{Alarm, EarlyDetection, TailProbe};
use loss::LossRecovery;
use small::{PeerWindow, SmallSegments};
use timer::RetransmissionTimer;

/// What the sender wants on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// Offsets of the stream; the one behind its last byte is FIN.
    Data(Range),
    /// A question whether the window is still closed.
    Probe,
}

/// What a timer has made due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    /// Whatever the peer's window takes or, if that is nothing, a question for its window.
    Persist,
    /// A tail loss probe.
    Tail,
}

/// The sending half of a connection: routes between the parts that keep its state.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    mss: u64,
    buffer: SendBuffer,
    peer: PeerWindow,
    small: SmallSegments,
    board: Scoreboard,
    congestion: Congestion,
    loss: LossRecovery,
    timer: RetransmissionTimer,
    early: EarlyDetection,
    due: Due,
    stats: Stats,
}

impl Sender {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            mss: config.mss.get(),
            buffer: SendBuffer::new(config),
            peer: PeerWindow::default(),
            small: SmallSegments::new(config),
            board: Scoreboard::new(config.mss.get(), config.rack && config.sack)
                .telling(config.algorithm == Algorithm::Bbr),
            congestion: Congestion::new(config),
            loss: LossRecovery::new(config),
            timer: RetransmissionTimer::new(config),
            early: EarlyDetection::new(config),
            due: Due::Nothing,
            stats: Stats::default(),
        }
    }

    pub(crate) const fn window(&self) -> &Window {
        self.congestion.window()
    }

    pub(crate) const fn rtt(&self) -> &RttEstimator {
        self.timer.rtt()
    }

    pub(crate) const fn rtt_mut(&mut self) -> &mut RttEstimator {
        self.timer.rtt_mut()
    }

    pub(crate) const fn board(&self) -> &Scoreboard {
        &self.board
    }

    pub(crate) const fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(crate) const fn limits_unsent(&self) -> bool {
        self.buffer.limits_unsent()
    }

    pub(crate) const fn written(&self) -> u64 {
        self.buffer.written()
    }

    pub(crate) const fn is_fin_acknowledged(&self) -> bool {
        self.buffer.is_fin_acknowledged(self.board.una())
    }

    pub(crate) fn space(&self) -> u64 {
        self.buffer.space(self.board.una(), self.board.nxt())
    }

    pub(crate) fn write(&mut self, len: u64) -> u64 {
        self.buffer.write(len, self.board.una(), self.board.nxt())
    }

    pub(crate) const fn close(&mut self) {
        self.buffer.close();
    }

    /// Takes the peer's window; returns whether its edge moved.
    pub(crate) fn offered(&mut self, ack: u64, window: u32) -> bool {
        self.peer.update(ack, window)
    }

    /// Whether something was never sent.
    const fn has_new(&self) -> bool {
        self.board.nxt() < self.buffer.end()
    }

    /// What goes onto the wire next.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Outgoing> {
        if self.is_idle() {
            return None;
        }
        let before = self.board.pipe();
        let data = if self.due == Due::Tail {
            self.next_tail_probe(now)
        } else if self.keeps_back(now) {
            None
        } else if self.board.has_lost() {
            self.next_lost(now)
        } else {
            self.next_new(now, false).or_else(|| self.next_guess(now))
        };
        if let Some(range) = data {
            self.on_sent(now, range, before);
            return Some(Outgoing::Data(range));
        }
        if self.due == Due::Persist {
            self.due = Due::Nothing;
            return Some(Outgoing::Probe);
        }
        self.note_rest();
        // What pacing keeps back has a time of its own.
        let is_kept = self.congestion.held_until().is_some();
        if !self.timer.is_running() && self.has_new() && !is_kept {
            self.timer.start(now);
        }
        None
    }

    /// Whether there is nothing to send, again or for the first time; never with BBR, which is to hear of it. A sender that
    /// only receives is asked after each segment.
    fn is_idle(&self) -> bool {
        let nothing = self.due == Due::Nothing && !self.has_new() && !self.board.has_lost();
        nothing && !self.loss.may_guess() && !self.congestion.is_modelled()
    }

    /// Whether pacing keeps something back for now; notes it, so that it is let go in time.
    fn keeps_back(&mut self, now: Instant) -> bool {
        let waits = || self.board.has_lost() || (self.has_new() && self.fits(1));
        let keeps = self.congestion.is_early(now) && waits();
        if keeps {
            self.congestion.tell(Bbr::hold);
        }
        keeps
    }

    /// Nothing leaves for now: perhaps because nothing waits.
    fn note_rest(&mut self) {
        if self.congestion.is_modelled() && !self.has_new() && !self.board.has_lost() {
            self.congestion.tell(Bbr::on_nothing_to_send);
        }
    }

    /// Notes a transmission, before which `before` bytes were in the network.
    fn on_sent(&mut self, now: Instant, range: Range, before: u64) {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let pipe = self.board.pipe();
        self.congestion.on_sent(now, una, nxt, pipe);
        self.congestion
            .tell(|bbr| bbr.on_sent(now, range, (before, pipe)));
        self.loss.on_sent(range.len());
        if !self.timer.is_running() || self.due == Due::Persist {
            self.timer.start(now);
        }
        self.due = Due::Nothing;
        self.set_early_alarm(now);
        self.stats.segments_sent += 1;
    }

    fn set_early_alarm(&mut self, now: Instant) {
        let open = self.loss.is_open();
        self.early.set(now, open, &self.board, &self.timer);
    }

    /// Whether the congestion window has room for `len` more.
    const fn fits(&self, len: u64) -> bool {
        self.congestion.fits(self.board.pipe(), len)
    }

    /// The next retransmission (RFC 6675, `NextSeg` rule 1).
    fn next_lost(&mut self, now: Instant) -> Option<Range> {
        let range = self.board.next_lost(self.mss)?;
        if !self.loss.take_urgent() && !self.fits(range.len()) {
            return None;
        }
        self.resend(range, now);
        Some(range)
    }

    fn resend(&mut self, range: Range, now: Instant) {
        self.board.retransmitted(range, now);
        self.stats.segments_retransmitted += 1;
    }

    /// The next new segment (`NextSeg` rule 2), if the peer's window and, unless it is forced, the
    /// congestion window and Nagle's rule let it go.
    fn next_new(&mut self, now: Instant, forced: bool) -> Option<Range> {
        let (una, start) = (self.board.una(), self.board.nxt());
        let room = self.peer.room(start);
        let data = self.buffer.at(start, self.mss.min(room))?;
        let worth = || self.due == Due::Persist || self.small.may_send(&data, una, &self.peer);
        if !(forced || (self.fits(data.len) && worth())) {
            return None;
        }
        if self.board.outstanding() == 0 {
            self.congestion.after_idle(now, self.timer.rto());
        }
        self.small.on_sent(&data);
        let range = Range::new(start, data.end());
        self.board.sent_new(range.len());
        Some(range)
    }

    /// What is sent when nothing else can be: `NextSeg` rules 3 and 4.
    fn next_guess(&mut self, now: Instant) -> Option<Range> {
        if !(self.loss.may_guess() && self.fits(self.mss)) {
            return None;
        }
        if self.board.lose_next_below_top() {
            self.report_losses(now);
            return self.next_lost(now);
        }
        if !self.loss.take_rescue() {
            return None;
        }
        let tail = self.board.tail()?;
        self.resend(tail, now);
        Some(tail)
    }

    /// Sends a probe: new data if the peer has room, else the last segment again (RFC 8985,
    /// section 7.3).
    fn next_tail_probe(&mut self, now: Instant) -> Option<Range> {
        self.due = Due::Nothing;
        let new = self.next_new(now, true);
        let range = new.or_else(|| self.board.tail().inspect(|tail| self.resend(*tail, now)))?;
        self.stats.tail_probes += 1;
        self.early.on_probe(TailProbe {
            range,
            sent: now,
            again: new.is_none(),
        });
        self.timer.start(now);
        Some(range)
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub(crate) fn deadline(&self) -> Instant {
        let departure = self.congestion.held_until();
        let at = self.timer.at().min(self.early.at());
        departure.map_or(at, |departure| departure.min(at))
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.congestion.tell(|bbr| bbr.release(now));
        if !self.timer.expire(now) {
            self.on_early_alarm(now);
        } else if self.board.outstanding() > 0 {
            self.on_retransmission_timeout(now);
        } else if self.has_new() {
            self.due = Due::Persist;
            self.timer.start(now);
        }
    }

    fn on_retransmission_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.report_losses(now);
        let (recovering, before) = (!self.loss.is_open(), self.board.pipe());
        let window = self.congestion.window_mut();
        self.loss.on_timeout(&mut self.board, window);
        // What arrived out of order stays known: all that was in flight is lost, and nothing else.
        self.board.take_news();
        let pipe = self.board.pipe();
        self.congestion
            .tell(|bbr| bbr.on_timeout(pipe, before, recovering));
        self.early.clear();
        self.due = Due::Nothing;
    }

    /// Does what the alarm was set for, if it goes off.
    fn on_early_alarm(&mut self, now: Instant) {
        match self.early.take_alarm(now) {
            Some(Alarm::Reordering) => {
                self.board.lose_below_top();
                self.recover(&Delivery::default(), true);
                self.report_losses(now);
            }
            Some(Alarm::Tail) => self.due = Due::Tail,
            None => {}
        }
    }

    /// The retransmission timeout with all its backing off.
    pub(crate) fn rto(&self) -> Duration {
        self.timer.rto()
    }
}
