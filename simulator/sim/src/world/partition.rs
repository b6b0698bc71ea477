//! Partitions: lanes that one thread runs, window by window.

use std::sync::Arc;

use hopflow_units::{Duration, Instant};

use super::address::ConnectionAt;
use super::agenda::{Agenda, Work};
use super::grid::{Grid, Place};
use super::lane::Lane;
use super::mail::Mail;
use super::outbox::{Arrival, Envelope, Outbox, Written};
use super::shared::Shared;
use super::sorter::{Sorted, Sorter};
use super::trunks::Trunks;

/// Lanes that are run in turn, and what they use in turn.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    /// The partition's number.
    number: u32,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) shared: Shared,
    /// Where all lanes are.
    places: Arc<Vec<Place>>,
    pending: Pending,
    sorter: Sorter,
    /// What is for other partitions, by partition, and behind them what is for the links between
    /// routers.
    pub(crate) mail: Vec<Mail>,
    /// Events so far.
    pub(crate) events: u64,
}

/// What is to be done in which window.
#[derive(Clone, Debug, Default)]
struct Pending {
    agenda: Agenda,
    /// When each lane must be run.
    times: Vec<Instant>,
    /// The window to which each lane was added last, while that is to come.
    added: Vec<u64>,
    /// The first window in which something can still be planned: the one after that at work, or that
    /// one itself if it is cut.
    next: u64,
    strides: Vec<Stride>,
    /// Vectors to be used again. Windows far ahead have timers and no packets, so the two are kept
    /// apart.
    spare_lanes: Vec<Vec<u32>>,
    spare_arrivals: Vec<Vec<Arrival>>,
    width: u64,
}

/// The windows that a lane runs at once.
#[derive(Clone, Copy, Debug)]
struct Stride {
    /// How long packets take to the lane from its router, at least.
    delay: Duration,
    /// How many windows.
    windows: u32,
    /// How far the first of them is from a multiple of this number. With different ones, lanes that
    /// run as many windows do so in different windows.
    phase: u32,
}

impl Stride {
    fn new(lane: &Lane, grid: &Grid) -> Self {
        let delay = lane.down_delay();
        let windows = grid.windows_at_once(delay);
        Self {
            delay,
            windows,
            phase: lane.number % windows,
        }
    }

    /// How many windows at once precede a window.
    #[inline]
    fn passed(&self, window: u64) -> u64 {
        if self.windows == 1 {
            return 0;
        }
        (window + u64::from(self.phase)) % u64::from(self.windows)
    }

    /// The first of the windows that are run at once with a window.
    #[inline]
    fn first(&self, window: u64) -> u64 {
        window.saturating_sub(self.passed(window))
    }

    /// The first window that is not run at once with a window.
    #[inline]
    fn end(&self, window: u64) -> u64 {
        window + u64::from(self.windows) - self.passed(window)
    }
}

/// No window.
const NONE: u64 = u64::MAX;

impl Pending {
    fn new(lanes: &mut [Lane], grid: &Grid) -> Self {
        let mut pending = Self {
            width: grid.window.as_nanos(),
            times: vec![Instant::FAR_FUTURE; lanes.len()],
            added: vec![NONE; lanes.len()],
            strides: lanes.iter().map(|lane| Stride::new(lane, grid)).collect(),
            ..Self::default()
        };
        for (index, lane) in lanes.iter_mut().enumerate() {
            pending.wake(index, lane.wake_at());
        }
        pending
    }

    /// The window in which a lane is run for what is due at `at`.
    #[inline]
    fn window_of(&self, lane: usize, at: Instant) -> u64 {
        self.strides[lane].first(at.as_nanos() / self.width)
    }

    /// The time up to which a lane is run in a window.
    #[inline]
    fn limit(&self, lane: usize, window: u64) -> Instant {
        Instant::from_nanos(self.strides[lane].end(window) * self.width)
    }

    /// Makes sure that a lane is run in the window of `at`, or before.
    #[inline]
    fn wake(&mut self, lane: usize, at: Instant) {
        if at < self.times[lane] {
            self.times[lane] = at;
            let window = self.window_of(lane, at);
            if self.added[lane] != window {
                self.added[lane] = window;
                let work = self.agenda.work_of(window);
                if work.lanes.capacity() == 0 {
                    work.lanes = self.spare_lanes.pop().unwrap_or_default();
                }
                work.lanes.push(lane as u32);
            }
        }
    }

    /// Takes a packet that will be at the router of a lane.
    #[inline]
    fn accept(&mut self, lane: usize, arrival: Arrival) {
        let window = self.window_of(lane, arrival.at + self.strides[lane].delay);
        debug_assert!(
            window >= self.next || self.width == 1,
            "it has run what comes after"
        );
        let work = self.agenda.work_of(window);
        if work.arrivals.capacity() == 0 {
            work.arrivals = self.spare_arrivals.pop().unwrap_or_default();
        }
        work.arrivals.push(arrival);
    }

    /// The first window in which something is to be done.
    fn first(&self) -> Option<u64> {
        self.agenda.first()
    }

    /// Takes what is to be done in a window before a time.
    fn take(&mut self, window: u64, until: Instant) -> Work {
        let mut work = self.agenda.take(window);
        let cut = until.as_nanos() < (window + 1).saturating_mul(self.width);
        self.next = if cut { window } else { window + 1 };
        for lane in &work.lanes {
            let added = &mut self.added[*lane as usize];
            if *added == window {
                *added = NONE;
            }
        }
        work.lanes.retain(|lane| {
            let lane = *lane as usize;
            self.times[lane] < self.limit(lane, window).min(until)
        });
        work
    }

    /// Keeps vectors to be used again, unless they are far larger than what they held: a burst at the
    /// beginning would hold its memory for ever.
    fn give_back(&mut self, mut work: Work) {
        work.lanes.clear();
        if work.lanes.capacity() > 0 {
            self.spare_lanes.push(work.lanes);
        }
        let capacity = work.arrivals.capacity();
        if capacity > 0 && capacity <= 4 * work.arrivals.len().max(64) {
            work.arrivals.clear();
            self.spare_arrivals.push(work.arrivals);
        }
    }
}

impl Partition {
    /// Partition `number` of so many.
    pub(crate) fn new(
        (number, count): (u32, usize),
        mut lanes: Vec<Lane>,
        grid: &Grid,
        shared: Shared,
    ) -> Self {
        Self {
            number,
            pending: Pending::new(&mut lanes, grid),
            shared,
            places: Arc::clone(&grid.places),
            sorter: Sorter::default(),
            mail: (0..=count).map(|_| Mail::default()).collect(),
            events: 0,
            lanes,
        }
    }

    /// Plans anew what is to be done in which window, because windows are no longer the same.
    pub(crate) fn renew(&mut self, grid: &Grid) {
        let arrivals = self.take_arrivals();
        self.pending = Pending::new(&mut self.lanes, grid);
        for arrival in arrivals {
            self.accept(arrival);
        }
    }

    /// Lets all lanes begin.
    pub(crate) fn begin(&mut self) {
        for lane in 0..self.lanes.len() {
            self.lanes[lane].begin(&mut self.shared);
            let at = self.lanes[lane].wake_at();
            self.pending.wake(lane, at);
            self.post();
        }
    }

    /// Changes lanes between windows, each of which is run when it asks for it then.
    ///
    /// # Errors
    /// The first that a change returns; lanes behind it are not changed.
    pub(crate) fn change_lanes<E>(
        &mut self,
        mut change: impl FnMut(&mut Lane) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            change(lane)?;
            let at = lane.wake_at();
            if at <= self.shared.end {
                self.pending.wake(index, at);
            }
        }
        Ok(())
    }

    /// Hands over what is for the links between routers.
    pub(crate) fn mail_trunks(&mut self, trunks: &mut Trunks) {
        trunks.receive(self.mail.last_mut().expect("the links have a place"));
    }

    /// The first window in which a lane has something to do.
    pub(crate) fn first_window(&self) -> Option<u64> {
        self.pending.first()
    }

    /// Runs all lanes that have something to do in a window, up to a time. If that cuts the window,
    /// the partition must be [renewed](Self::renew) before it runs on.
    pub(crate) fn run_window(&mut self, window: u64, until: Instant) {
        let mut work = self.pending.take(window, until);
        let later = if self.pending.next == window {
            self.take_later(&mut work, until)
        } else {
            Vec::new()
        };
        let mut sorted = self.sort(&mut work);
        for (&lane, arrivals) in work.lanes.iter().zip(sorted.parts()) {
            let index = lane as usize;
            let limit = self.pending.limit(index, window).min(until);
            let delay = self.pending.strides[index].delay.as_nanos();
            let at_router = Instant::from_nanos(limit.as_nanos().saturating_sub(delay));
            let lane = &mut self.lanes[index];
            let before = lane.events;
            let next = lane.run((limit, at_router), arrivals, &mut self.shared);
            let next = next.max(limit);
            self.events += lane.events - before;
            self.pending.times[index] = Instant::FAR_FUTURE;
            if next <= self.shared.end {
                self.pending.wake(index, next);
            }
            self.post();
        }
        self.sorter.give_back(sorted);
        self.pending.give_back(work);
        for arrival in later {
            self.accept(arrival);
        }
    }

    /// Takes from what is to be done in a window the packets that cannot be delivered before a time.
    fn take_later(&self, work: &mut Work, until: Instant) -> Vec<Arrival> {
        let is_later = |arrival: &mut Arrival| {
            let lane = self.places[arrival.packet.to.node.machine()].index as usize;
            arrival.at + self.pending.strides[lane].delay >= until
        };
        work.arrivals.extract_if(.., is_later).collect()
    }

    /// Sorts packets by lane, and notes that these lanes are to be run, in order.
    fn sort(&mut self, work: &mut Work) -> Sorted {
        let places = &self.places;
        let lanes = (self.lanes.len(), &mut work.lanes);
        self.sorter.sort(&work.arrivals, lanes, |arrival| {
            places[arrival.packet.to.node.machine()].index
        })
    }

    /// All packets that will be at the routers of lanes.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = &Arrival> {
        self.pending.agenda.iter().flat_map(|work| &work.arrivals)
    }

    /// Takes all packets that will be at the routers of lanes, with their contents in the packets of
    /// this partition.
    pub(crate) fn take_arrivals(&mut self) -> Vec<Arrival> {
        let agenda = std::mem::take(&mut self.pending.agenda);
        agenda.into_works().flat_map(|work| work.arrivals).collect()
    }

    /// Takes a packet whose content is among the packets of this partition.
    pub(crate) fn accept(&mut self, arrival: Arrival) {
        let machine = arrival.packet.to.node.machine();
        let lane = self.places[machine].index as usize;
        self.pending.accept(lane, arrival);
    }

    /// Offers all that reaches routers before the end.
    pub(crate) fn finish(&mut self) {
        let limit = Instant::from_nanos(self.shared.end.as_nanos() + 1);
        let mut work = Work {
            arrivals: self.take_arrivals(),
            lanes: (0..self.lanes.len() as u32).collect(),
        };
        let mut sorted = self.sort(&mut work);
        for (lane, arrivals) in self.lanes.iter_mut().zip(sorted.parts()) {
            lane.run((Instant::ZERO, limit), arrivals, &mut self.shared);
            lane.machine.sample_up(limit);
        }
    }

    /// Delivers what a lane has put into the outbox to lanes of this partition, and mails the rest.
    pub(crate) fn post(&mut self) {
        let mut out = std::mem::take(&mut self.shared.out);
        let Outbox {
            arrivals,
            entries,
            written,
            requests,
            messages,
            left,
        } = &mut out;
        for arrival in arrivals.drain(..) {
            let place = self.places[arrival.packet.to.node.machine()];
            if place.partition == self.number {
                self.pending.accept(place.index as usize, arrival);
            } else {
                let mail = &mut self.mail[place.partition as usize];
                mail.add(arrival, &mut self.shared.packets);
            }
        }
        for entry in entries.drain(..) {
            let trunks = self.mail.last_mut().expect("the links have a place");
            trunks.add(entry, &mut self.shared.packets);
        }
        self.post_written(written);
        for (to, request) in requests.drain(..) {
            match self.find(to.machine) {
                Ok((_, lane)) => lane.expect_request(to.index, request),
                Err(mail) => mail.requests.push((to, request)),
            }
        }
        for message in messages.drain(..) {
            self.post_message(message);
        }
        for (to, at) in left.drain(..) {
            match self.find(to.machine) {
                Ok((_, lane)) => lane.note_left((to.end, to.index), at),
                Err(mail) => mail.left.push((to, at)),
            }
        }
        self.shared.out = out;
    }

    /// Passes frames that connections have taken on to their peers.
    fn post_written(&mut self, written: &mut Vec<(ConnectionAt, Written)>) {
        let mut written = written.drain(..).peekable();
        while let Some((to, frame)) = written.next() {
            match self.find(to.machine) {
                Ok((_, lane)) => {
                    // Those of a write are for one connection, which is looked up once.
                    let others = std::iter::from_fn(|| written.next_if(|(other, _)| *other == to));
                    let frames = std::iter::once(frame).chain(others.map(|(_, frame)| frame));
                    lane.connections.expect(to.end, frames);
                }
                Err(mail) => mail.written.push((to, frame)),
            }
        }
    }

    /// Delivers what another partition has mailed.
    pub(crate) fn receive(&mut self, mail: &mut Mail) {
        let (places, pending) = (&self.places, &mut self.pending);
        mail.take_arrivals(&mut self.shared.packets, |arrival| {
            let machine = arrival.packet.to.node.machine();
            pending.accept(places[machine].index as usize, arrival);
        });
        let out = &mut self.shared.out;
        out.written.append(&mut mail.written);
        out.requests.append(&mut mail.requests);
        out.messages.append(&mut mail.messages);
        out.left.append(&mut mail.left);
        self.post();
    }

    fn post_message(&mut self, message: Envelope) {
        let at = message.at;
        match self.find(message.to.node.machine() as u32) {
            Ok((index, lane)) => {
                lane.schedule.deliver(message);
                // In windows that hold one time, what is due at once is done in the same window.
                assert!(
                    self.pending.window_of(index, at) >= self.pending.next
                        || self.pending.width == 1,
                    "a message takes less than `HopPlan::out_of_band` says, or the plan has none"
                );
                self.pending.wake(index, at);
            }
            Err(mail) => mail.messages.push(message),
        }
    }

    /// The lane of a machine with its position, or what is mailed to the lane's partition.
    #[inline]
    fn find(&mut self, machine: u32) -> Result<(usize, &mut Lane), &mut Mail> {
        let Place { partition, index } = self.places[machine as usize];
        if partition == self.number {
            Ok((index as usize, &mut self.lanes[index as usize]))
        } else {
            Err(&mut self.mail[partition as usize])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_run_once_with_its_neighbours() {
        for (windows, phase) in [(1, 0), (2, 0), (2, 1), (5, 3)] {
            let stride = Stride {
                delay: Duration::ZERO,
                windows,
                phase,
            };
            let mut next = 0;
            while next < 40 {
                let end = stride.end(next);
                assert!(end > next && end <= next + u64::from(windows));
                for window in next..end {
                    assert_eq!([stride.first(window), stride.end(window)], [next, end]);
                }
                next = end;
            }
        }
    }
}
