//! The sending half: what may be sent when, and what acknowledgements mean.

mod acks;
mod early;
mod usage;

use hopflow_units::{Duration, Instant};

use crate::Config;
use crate::ranges::Range;
use crate::recovery::Recovery;
use crate::rto::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::stats::Stats;
use crate::window::Window;
use early::{EarlyAlarm, TailProbe};
use usage::WindowUsage;

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

/// The peer's window.
#[derive(Clone, Copy, Debug)]
struct PeerWindow {
    /// Upper edge of what may be sent.
    right: u64,
    largest: u64,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    config: Config,
    mss: u64,
    /// End of what the application wrote.
    written: u64,
    fin: bool,
    board: Scoreboard,
    window: Window,
    usage: WindowUsage,
    recovery: Recovery,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// Whether a retransmission is due whatever the window says.
    urgent: bool,
    /// End of the latest recovery, before which RFC 6582 starts no other.
    recover: u64,
    peer: PeerWindow,
    /// End of the last partial segment, for Nagle's rule.
    partial: u64,
    last_sent: Instant,
    /// The retransmission timer or, with nothing outstanding, the persist timer.
    timer: Instant,
    early: EarlyAlarm,
    tail_probe: Option<TailProbe>,
    due: Due,
    rtt: RttEstimator,
    stats: Stats,
}

impl Sender {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            config: *config,
            mss: config.mss.get(),
            written: 0,
            fin: false,
            board: Scoreboard::new(config.mss.get(), config.rack && config.sack),
            window: Window::new(config),
            usage: WindowUsage::default(),
            recovery: Recovery::Open,
            duplicates: 0,
            urgent: false,
            recover: 0,
            peer: PeerWindow {
                right: 0,
                largest: 0,
            },
            partial: 0,
            last_sent: Instant::ZERO,
            timer: Instant::FAR_FUTURE,
            early: EarlyAlarm::OFF,
            tail_probe: None,
            due: Due::Nothing,
            rtt: RttEstimator::new(config),
            stats: Stats::default(),
        }
    }

    pub(crate) const fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) const fn rtt_mut(&mut self) -> &mut RttEstimator {
        &mut self.rtt
    }

    pub(crate) const fn board(&self) -> &Scoreboard {
        &self.board
    }

    pub(crate) const fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// End of the sequence space in use: the data and, after closing, FIN.
    const fn end(&self) -> u64 {
        self.written + self.fin as u64
    }

    pub(crate) const fn is_fin_acknowledged(&self) -> bool {
        self.fin && self.board.una() > self.written
    }

    pub(crate) const fn space(&self) -> u64 {
        if self.fin {
            return 0;
        }
        self.config.send_buffer.get() - (self.written - self.board.una())
    }

    pub(crate) fn write(&mut self, len: u64) -> u64 {
        let accepted = len.min(self.space());
        self.written += accepted;
        accepted
    }

    pub(crate) const fn close(&mut self) {
        self.fin = true;
    }

    /// Takes the peer's window from any segment with an acknowledgement. A receiver never takes
    /// back what it offered, so an old segment cannot mislead.
    pub(crate) fn offered(&mut self, ack: u64, window: u32) -> bool {
        let window = u64::from(window);
        let grew = ack + window > self.peer.right;
        self.peer.right = self.peer.right.max(ack + window);
        self.peer.largest = self.peer.largest.max(window);
        grew
    }

    /// What goes onto the wire next.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Outgoing> {
        let data = if self.due == Due::Tail {
            self.next_tail_probe(now)
        } else if self.board.has_lost() {
            self.next_lost(now)
        } else {
            self.next_new(now, false).or_else(|| self.next_guess(now))
        };
        if let Some(range) = data {
            self.on_sent(now, range);
            return Some(Outgoing::Data(range));
        }
        if self.due == Due::Persist {
            self.due = Due::Nothing;
            return Some(Outgoing::Probe);
        }
        if self.timer == Instant::FAR_FUTURE && self.board.nxt() < self.end() {
            self.timer = now + self.rtt.rto();
        }
        None
    }

    fn on_sent(&mut self, now: Instant, range: Range) {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        self.usage.on_sent(una, nxt, !self.fits(self.mss));
        if let Recovery::Fast {
            reduction: Some(reduction),
            ..
        } = &mut self.recovery
        {
            reduction.on_sent(range.len());
        }
        if self.timer == Instant::FAR_FUTURE || self.due == Due::Persist {
            self.timer = now + self.rtt.rto();
        }
        self.due = Due::Nothing;
        self.set_early_alarm(now);
        self.last_sent = now;
        self.stats.segments_sent += 1;
    }

    /// Whether the congestion window has room for `len` more.
    const fn fits(&self, len: u64) -> bool {
        self.board.pipe() + len <= self.window.cwnd()
    }

    /// The next retransmission (RFC 6675, `NextSeg` rule 1).
    fn next_lost(&mut self, now: Instant) -> Option<Range> {
        let range = self.board.next_lost(self.mss)?;
        if !std::mem::take(&mut self.urgent) && !self.fits(range.len()) {
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
        let start = self.board.nxt();
        if start >= self.end() {
            return None;
        }
        let room = self.peer.right.saturating_sub(start);
        let len = (self.written - start).min(self.mss).min(room);
        let last = start + len == self.written;
        let fin = u64::from(last && self.fin);
        let allowed = forced || (self.fits(len) && self.worth_sending(start, len, last));
        if len + fin == 0 || !allowed {
            return None;
        }
        if self.board.outstanding() == 0 {
            self.after_idle(now);
        }
        let end = start + len + fin;
        if len < self.mss {
            self.partial = end;
        }
        self.board.sent_new(len + fin);
        Some(Range::new(start, end))
    }

    /// Avoids silly windows (RFC 9293, section 3.8.6.2.1) and, by Nagle's rule, small segments.
    const fn worth_sending(&self, start: u64, len: u64, last: bool) -> bool {
        if len >= self.mss || matches!(self.due, Due::Persist) {
            return true;
        }
        if !last {
            return len * 2 >= self.peer.largest;
        }
        let partial_outstanding = self.partial > self.board.una() && self.partial <= start;
        self.fin || !self.config.nagle || !partial_outstanding
    }

    /// What is sent when nothing else can be: `NextSeg` rules 3 and 4.
    fn next_guess(&mut self, now: Instant) -> Option<Range> {
        if !(self.config.sack && self.recovery.is_fast() && self.fits(self.mss)) {
            return None;
        }
        if self.board.lose_next_below_top() {
            return self.next_lost(now);
        }
        if !self.recovery.take_rescue() {
            return None;
        }
        let tail = self.board.tail()?;
        self.resend(tail, now);
        Some(tail)
    }

    /// Shrinks the window after idle time.
    fn after_idle(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_sent);
        let rto = self.rtt.rto();
        self.window.skip(idle);
        if self.config.slow_start_after_idle && idle > rto && self.stats.segments_sent > 0 {
            let timeouts = idle.as_nanos() / rto.as_nanos();
            self.window.on_idle(timeouts.min(64) as u32);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called.
    pub(crate) fn deadline(&self) -> Instant {
        self.timer.min(self.early.at())
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if now < self.timer {
            if now >= self.early.at() {
                self.on_early_alarm();
            }
            return;
        }
        self.rtt.back_off();
        self.timer = Instant::FAR_FUTURE;
        if self.board.outstanding() > 0 {
            self.on_retransmission_timeout();
        } else if self.board.nxt() < self.end() {
            self.due = Due::Persist;
            self.timer = now + self.rtt.rto();
        }
    }

    /// RFC 6298, section 5, and RFC 5681, section 3.1; RFC 6675, section 5.1, keeps what SACK
    /// told.
    fn on_retransmission_timeout(&mut self) {
        self.stats.timeouts += 1;
        // One reduction per window of data: a repeated timeout takes no further half.
        if self.recovery == Recovery::Open {
            self.window.on_congestion();
        }
        self.window.collapse();
        self.board.lose_all();
        self.urgent = true;
        self.early = EarlyAlarm::OFF;
        self.tail_probe = None;
        self.due = Due::Nothing;
        self.duplicates = 0;
        self.recover = self.board.nxt();
        self.recovery = Recovery::Timeout {
            point: self.board.nxt(),
        };
    }

    /// The retransmission timeout with all its backing off.
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }
}
