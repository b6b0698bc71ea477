//! What leaves a node: links to neighbours, the scheduler that picks the next cell, the token bucket
//! that pays for it.

mod activity;
mod bucket;
mod control;
mod link;
mod reports;
mod scheduler;

use std::collections::VecDeque;
use std::sync::Arc;

use hopflow_units::{Bytes, Instant, LinkId};
use hopflow_wire::{Carrier, Cell, Frame, Payload};

use bucket::Buckets;
pub use bucket::{BucketConfig, BucketLevel, TokenBucket};
pub(crate) use link::Link;
use scheduler::Scheduler;

use crate::site::Port;
use crate::slots::make_room;
use crate::{Charging, FeedbackPlan, FlowId, Hold, Plan, Scope, Turn};

/// Datagrams of feedback alone take some 80 bytes with their headers: so many are as long as a full one.
const MOST_LATE: u32 = 64;

/// Links, scheduler and token bucket of a node.
#[derive(Clone, Debug)]
pub(crate) struct Egress<P> {
    plan: Arc<Plan>,
    links: Vec<Link<P>>,
    numbers: Numbers,
    pub(crate) scheduler: Scheduler,
    bucket: Option<Buckets>,
    /// When a cell may leave that waits for the token bucket, or for KIST's next run.
    resume_at: Instant,
    /// When KIST ran last.
    last_run: Option<Instant>,
    /// Links with frames that are to leave although their datagram is not full, and since when, in
    /// this order.
    flush: VecDeque<(Instant, LinkId)>,
    /// How many of these left in a row because they were late.
    late: u32,
    /// Links whose datagram is full, or whose turn on a stream is over.
    complete: VecDeque<LinkId>,
    /// When links' feedback leaves at the latest, the earliest first. All wait equally long, unless
    /// options have just changed, so that a queue holds them. What left before stays until its time.
    feedback_due: VecDeque<(Instant, LinkId)>,
    /// Room for the cells of links, for those that begin to fill a datagram or a turn: most links have
    /// nothing to send most of the time.
    spare: Vec<Vec<Frame<P>>>,
}

/// Which numbers belong to a link at present; those of links that are gone are used again.
#[derive(Clone, Debug, Default)]
struct Numbers {
    there: Vec<bool>,
    free: Vec<LinkId>,
}

impl Numbers {
    fn take(&mut self) -> LinkId {
        let link = self.free.pop().unwrap_or_else(|| {
            self.there.push(false);
            LinkId::new(self.there.len() as u32 - 1)
        });
        self.there[link.index()] = true;
        link
    }

    #[inline]
    fn has(&self, link: LinkId) -> bool {
        self.there.get(link.index()).is_some_and(|there| *there)
    }

    fn give_back(&mut self, link: LinkId) {
        self.there[link.index()] = false;
        self.free.push(link);
    }
}

impl<P: Payload> Egress<P> {
    /// Without links.
    pub(crate) fn new(plan: &Arc<Plan>, bucket: Option<BucketConfig>) -> Self {
        let scheduler = Scheduler::new(plan.link.scheduler.scope, plan.link.scheduler.order);
        Self {
            plan: Arc::clone(plan),
            links: Vec::new(),
            numbers: Numbers::default(),
            scheduler,
            bucket: bucket.map(|bucket| Buckets::new(usable(bucket, plan))),
            resume_at: Instant::FAR_FUTURE,
            last_run: None,
            flush: VecDeque::new(),
            late: 0,
            complete: VecDeque::new(),
            feedback_due: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    pub(crate) fn add_link(&mut self) -> LinkId {
        let link = self.numbers.take();
        if link.index() == self.links.len() {
            make_room(&mut self.links);
            self.links.push(self.fresh_link());
            self.scheduler.add_link();
        }
        link
    }

    fn fresh_link(&self) -> Link<P> {
        Link::new(self.plan.link.carrier, self.plan.feedback_len())
    }

    /// Whether the number belongs to a link.
    #[inline]
    pub(crate) fn has(&self, link: LinkId) -> bool {
        self.numbers.has(link)
    }

    /// Forgets a link without circuits, whose number may be given to another one.
    pub(crate) fn remove_link(&mut self, link: LinkId) {
        self.links[link.index()] = self.fresh_link();
        self.flush.retain(|&(_, other)| other != link);
        self.complete.retain(|&other| other != link);
        self.scheduler.unblock(link);
        self.numbers.give_back(link);
    }

    #[inline]
    pub(crate) fn link(&mut self, link: LinkId) -> &mut Link<P> {
        &mut self.links[link.index()]
    }

    #[inline]
    pub(crate) fn link_ref(&self, link: LinkId) -> &Link<P> {
        &self.links[link.index()]
    }

    /// Puts a link on the list of those that send what they have.
    #[inline]
    pub(crate) fn flush_link(&mut self, now: Instant, link: LinkId) {
        let state = &mut self.links[link.index()];
        if !state.flushing {
            state.flushing = true;
            self.flush.push_back((now, link));
        }
    }

    /// Notes how many bytes a link's stream takes, and lets flows go on that found it full.
    pub(crate) fn set_room(&mut self, now: Instant, link: LinkId, room: Bytes) {
        if !self.has(link) {
            return;
        }
        let cell = self.plan.link.cell_len();
        let state = &mut self.links[link.index()];
        state.set_room(room, cell);
        if state.starved && state.fits(cell) {
            state.starved = false;
            self.unblock(link);
        }
        if std::mem::take(&mut self.links[link.index()].stuck) {
            self.flush_link(now, link);
        }
    }

    /// Lets the flows of a link go on that found it full.
    fn unblock(&mut self, link: LinkId) {
        self.scheduler.unblock(link);
        let mut parked = std::mem::take(&mut self.links[link.index()].parked);
        for id in parked.drain(..) {
            self.scheduler.push(id, link);
        }
        self.links[link.index()].parked = parked;
    }

    /// Puts a flow into the scheduler.
    #[inline]
    pub(crate) fn schedule(&mut self, flow: FlowId, link: LinkId) {
        self.scheduler.push(flow, link);
    }

    /// Takes the front flow out of the scheduler because it cannot send. If that ends the turn of
    /// its link, what the link was given leaves before the cells of the next link.
    #[inline]
    pub(crate) fn retire_front(&mut self, link: Option<LinkId>) {
        let ended = self.scheduler.remove_front();
        if let Some(link) = link.filter(|_| ended)
            && !self.links[link.index()].outbox.is_empty()
        {
            self.complete.push_back(link);
        }
    }

    /// Whether the link of the front flow takes another cell. If not, the flow, or with it the
    /// link's turn, waits for room.
    #[inline]
    pub(crate) fn fits(&mut self, front: FlowId, link: LinkId) -> bool {
        let state = &mut self.links[link.index()];
        if state.fits(self.plan.link.cell_len()) {
            return true;
        }
        state.starved = true;
        if self.scheduler.scope() == Scope::Node {
            state.parked.push(front);
            self.retire_front(Some(link));
        } else {
            self.scheduler.block_front();
        }
        false
    }

    /// The token bucket.
    #[inline]
    pub(crate) fn bucket(&self) -> Option<&TokenBucket> {
        self.bucket.as_ref().map(Buckets::all)
    }

    /// Changes the token bucket. What waits for it asks again with the next call.
    pub(crate) fn set_bucket(&mut self, now: Instant, config: Option<BucketConfig>) {
        self.resume_at = Instant::FAR_FUTURE;
        let config = config.map(|config| usable(config, &self.plan));
        match (&mut self.bucket, config) {
            (Some(bucket), Some(config)) => bucket.change(now, config),
            (bucket, config) => *bucket = config.map(Buckets::new),
        }
    }

    /// Whether KIST and the token bucket let a cell leave now; if not, notes when they will.
    #[inline]
    pub(crate) fn may_send(&mut self, now: Instant) -> bool {
        if let (Some(interval), Some(last)) = (self.plan.link.scheduler.kist, self.last_run)
            && last != now
            && last + interval > now
        {
            self.resume_at = last + interval;
            return false;
        }
        if let Some(bucket) = self.bucket.as_mut().map(Buckets::all_mut) {
            let cell = self.plan.link.cell_len();
            if bucket.tokens(now) < cell.get() as i64 {
                self.resume_at = bucket.ready_at(cell);
                return false;
            }
        }
        self.last_run = self.plan.link.scheduler.kist.map(|_| now);
        true
    }

    /// What keeps a cell from a link that its gates would let go, if anything here does.
    pub(crate) fn hold(&self, now: Instant, link: LinkId) -> Option<Hold> {
        if !self.links[link.index()].fits(self.plan.link.cell_len()) {
            return Some(Hold::Room);
        }
        if self.resume_at <= now || self.resume_at == Instant::FAR_FUTURE {
            return None;
        }
        let run = self.plan.link.scheduler.kist.zip(self.last_run);
        let waits = run.is_some_and(|(interval, last)| last + interval == self.resume_at);
        Some(if waits { Hold::Run } else { Hold::Bucket })
    }

    /// Pays for a cell, which was perhaps sent before, by this node or by the circuit's end.
    #[inline]
    pub(crate) fn pay_cell(&mut self, again: bool) {
        if let Some(bucket) = &mut self.bucket
            && (!again || self.plan.link.charging == Charging::Everything)
        {
            bucket.all_mut().pay(self.plan.link.cell_len());
        }
    }

    /// Pays for something else than cells, which leaves without asking the bucket, into debt if need be.
    pub(crate) fn pay(&mut self, now: Instant, len: Bytes) {
        if let Some(bucket) = self.bucket.as_mut().map(Buckets::all_mut) {
            bucket.pay_at(now, len);
        }
    }

    /// The same for what may be left out.
    pub(crate) fn pay_unasked(&mut self, now: Instant, len: Bytes) {
        if let Some(bucket) = &mut self.bucket {
            bucket.pay_unasked(now, len);
        }
    }

    /// What is left of what may leave without asking the bucket; `None` while nothing limits that.
    pub(crate) fn unasked(&self, now: Instant) -> Option<BucketLevel> {
        self.bucket.as_ref()?.unasked(now)
    }

    /// Whether the bucket owes more than it holds when it is full.
    pub(crate) fn owes_much(&self, now: Instant) -> bool {
        let bucket = self.bucket.as_ref();
        bucket.is_some_and(|bucket| bucket.owes_much(now))
    }

    /// Puts a chosen cell into its link's outbox and ends the front flow's turn.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, link: LinkId, cell: Cell<P>) {
        let len = self.plan.link.cell_len();
        let state = &mut self.links[link.index()];
        if state.outbox.capacity() == 0 {
            state.outbox = self.spare.pop().unwrap_or_default();
        }
        state.outbox.push(Frame::Cell(cell));
        state.room -= len.get() as i64;
        let full = state.outbox_is_full(len);
        let (turn, bucket) = (self.plan.link.scheduler.turn, &self.bucket);
        let goes_on = self.scheduler.served(now, || match turn {
            Turn::Cells(cells) => cells,
            Turn::EighthOfBucket => {
                let tokens = bucket.as_ref().map_or(i64::MAX, |it| it.all().balance());
                (tokens / 8 / len.get() as i64).clamp(4, 32) as u32
            }
        });
        if full || !goes_on {
            self.complete.push_back(link);
        } else {
            self.flush_link(now, link);
        }
    }

    /// A link whose datagram is full, or whose turn is over.
    #[inline]
    pub(crate) fn next_complete(&mut self) -> Option<LinkId> {
        self.complete.pop_front()
    }

    /// Whether no link has a full datagram or a turn that is over.
    #[inline]
    pub(crate) fn none_complete(&self) -> bool {
        self.complete.is_empty()
    }

    /// A link with frames that wait since before `now`, because the driver took other packets. They
    /// leave first, full or not, or a busy uplink would hold them for as long as it is busy. After
    /// [`MOST_LATE`] in a row it is the others' turn, which small frames of neighbours that provoke them
    /// would hold.
    #[inline]
    pub(crate) fn next_late(&mut self, now: Instant) -> Option<LinkId> {
        let link = if self.late < MOST_LATE {
            self.next_flush_if(|since| since < now)
        } else {
            None
        };
        self.late = if link.is_some() { self.late + 1 } else { 0 };
        link
    }

    /// A link with frames that are to leave although their datagram is not full.
    #[inline]
    pub(crate) fn next_flush(&mut self) -> Option<LinkId> {
        self.next_flush_if(|_| true)
    }

    #[inline]
    fn next_flush_if(&mut self, leaves: impl Fn(Instant) -> bool) -> Option<LinkId> {
        while let Some(&(since, link)) = self.flush.front()
            && leaves(since)
        {
            self.flush.pop_front();
            let state = &mut self.links[link.index()];
            state.flushing = false;
            if state.has_output() {
                return Some(link);
            }
        }
        None
    }

    /// Sees to what a link could not send with what it just sent.
    #[inline]
    pub(crate) fn after_flush(&mut self, now: Instant, link: LinkId) {
        let state = &mut self.links[link.index()];
        if state.carrier == Carrier::Stream {
            state.stuck = state.has_output();
        } else if state.has_output() {
            self.flush_link(now, link);
        }
    }

    /// Removes the flows that shall wait to send no more.
    pub(crate) fn retain_scheduled(&mut self, waits: &impl Fn(FlowId) -> bool) {
        self.scheduler.retain(waits);
        for link in &mut self.links {
            link.parked.retain(|&flow| waits(flow));
        }
    }

    /// Fills `out`, which is empty, with a link's cells and control frames, and with feedback of flows that owe it,
    /// which `feedback` makes; returns their length.
    #[inline]
    pub(crate) fn pack(
        &mut self,
        link: LinkId,
        out: &mut Vec<Frame<P>>,
        feedback: impl FnMut(FlowId) -> Option<Frame<P>>,
    ) -> Bytes {
        let state = &mut self.links[link.index()];
        if !state.outbox.is_empty() {
            let cells = std::mem::take(&mut state.outbox);
            self.spare.push(std::mem::replace(out, cells));
        }
        let cells = self.plan.link.cell_len() * out.len() as u64;
        let most = state.capacity(cells);
        let used = state.control.take(out, cells, most);
        let room = (used, most);
        let used = state.reports.take(state.carrier, out, room, feedback);
        if state.carrier == Carrier::Stream {
            state.room -= (used - cells).get() as i64;
        }
        if let (Some(bucket), Charging::Everything) = (&mut self.bucket, self.plan.link.charging) {
            bucket.all_mut().pay(used - cells);
        }
        // Nobody is to wake up for feedback that left with cells.
        if let Some((_, first)) = self.feedback_due.front()
            && *first == link
        {
            self.forget_stale();
        }
        used
    }

    /// Forgets everything about a flow towards its successor; `scheduled` says whether it waits to send.
    pub(crate) fn forget_flow(
        &mut self,
        id: FlowId,
        Port { link, circuit }: Port,
        scheduled: bool,
    ) {
        self.scheduler.forget(id);
        let cell = self.plan.link.cell_len();
        let state = &mut self.links[link.index()];
        if scheduled {
            self.scheduler.remove(id, link);
            state.parked.retain(|&other| other != id);
        }
        // The name may be given to another circuit before they leave.
        state.drop_cells(circuit, cell);
        self.unblock(link);
    }

    /// Notes that a flow owes a link's neighbour feedback, which leaves at once or with others.
    #[inline]
    pub(crate) fn owe(&mut self, now: Instant, link: LinkId, flow: FlowId, plan: &FeedbackPlan) {
        let reports = &mut self.links[link.index()].reports;
        reports.owe(flow);
        let hold = !plan.hold.is_zero();
        if !hold && (plan.delay.is_zero() || reports.fill_a_datagram()) {
            return self.flush_link(now, link);
        }
        let at = if hold {
            let hold = plan.hold.as_nanos();
            Instant::from_nanos((now.as_nanos() / hold + 1).saturating_mul(hold))
        } else {
            now + plan.delay
        };
        if reports.leave_at(at, hold) {
            let due = &mut self.feedback_due;
            let later = due.iter().rev().take_while(|(other, _)| *other > at);
            let place = due.len() - later.count();
            due.insert(place, (at, link));
        }
    }

    /// Lets feedback leave that waited long enough.
    pub(crate) fn flush_due(&mut self, now: Instant) {
        while let Some((at, link)) = self.feedback_due.pop_front() {
            if at > now {
                return self.feedback_due.push_front((at, link));
            }
            if self.links[link.index()].reports.are_due(at) {
                self.flush_link(now, link);
            }
        }
    }

    /// Forgets when feedback was due that has left before.
    pub(crate) fn forget_stale(&mut self) {
        while let Some((at, link)) = self.feedback_due.front()
            && self.links[link.index()].reports.at() != Some(*at)
        {
            self.feedback_due.pop_front();
        }
    }

    /// When something may leave that waits for the bucket, for KIST or for company.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        let feedback = self.feedback_due.front();
        feedback.map_or(self.resume_at, |(at, _)| self.resume_at.min(*at))
    }

    /// When a cell may leave that waits for the bucket or for KIST; the far future if none waits.
    pub(crate) const fn resume_at(&self) -> Instant {
        self.resume_at
    }

    /// Ends the wait that is over.
    pub(crate) fn resume(&mut self, now: Instant) {
        if self.resume_at <= now {
            self.resume_at = Instant::FAR_FUTURE;
        }
    }
}

/// A bucket in which the tokens of a cell have room: no cell would ever leave otherwise.
fn usable(config: BucketConfig, plan: &Plan) -> BucketConfig {
    BucketConfig {
        depth: config.depth.max(plan.link.cell_len()),
        ..config
    }
}

#[cfg(test)]
mod tests {
    use hopflow_units::{Cells, Duration, Rate};
    use hopflow_wire::RawPayload;

    use super::*;
    use crate::{Direction, EndPlan, HopPlan, LinkPlan, PathPlan, Repair};

    fn plan() -> Plan {
        Plan {
            link: LinkPlan::datagrams(Cells::new(9), Duration::from_millis(1)),
            repair: Repair::None,
            hop: HopPlan::default(),
            end: EndPlan::default(),
            path: PathPlan::default(),
        }
    }

    #[test]
    fn a_bucket_that_is_smaller_than_a_cell_lets_cells_leave() {
        let config = |depth| BucketConfig {
            rate: Rate::from_bytes_per_sec(1000).unwrap(),
            depth: Bytes::new(depth),
            interval: Duration::from_millis(10),
            phase: Duration::ZERO,
        };
        let mut egress = Egress::<RawPayload>::new(&Arc::new(plan()), Some(config(100)));
        assert!(egress.may_send(Instant::ZERO));
        egress.pay_cell(false);
        assert!(!egress.may_send(Instant::ZERO));
        egress.set_bucket(Instant::ZERO, Some(config(1)));
        assert!(egress.may_send(Instant::from_nanos(1_000_000_000)));
    }

    /// A node whose bucket gets 1000 bytes every 10 ms and holds 20,000.
    fn limited() -> Egress<RawPayload> {
        let config = BucketConfig {
            rate: Rate::from_bytes_per_sec(100_000).unwrap(),
            depth: Bytes::new(20_000),
            interval: Duration::from_millis(10),
            phase: Duration::from_millis(10),
        };
        Egress::new(&Arc::new(plan()), Some(config))
    }

    fn millis(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn what_leaves_without_asking_has_a_twentieth_of_a_bucket_that_cells_wait_for() {
        let mut egress = limited();
        let tokens = |egress: &Egress<RawPayload>, at| Some(egress.unasked(millis(at))?.tokens);
        egress.pay_unasked(Instant::ZERO, Bytes::new(9999));
        assert_eq!(tokens(&egress, 0), None, "no cell waits");
        egress.pay_unasked(Instant::ZERO, Bytes::new(1));
        let level = egress.unasked(Instant::ZERO).unwrap();
        assert_eq!((level.rate.bytes_per_sec(), level.tokens), (5000, 10_000));
        egress.pay_unasked(Instant::ZERO, Bytes::new(9900));
        assert_eq!(tokens(&egress, 0), Some(100));
        for _ in 0..4 {
            egress.pay_cell(false);
        }
        // Refills bring 1000 bytes each, of which 50 are for the like.
        assert_eq!(tokens(&egress, 10), Some(150));
        // Something else is paid for, and counts not.
        egress.pay(millis(10), Bytes::new(500));
        assert_eq!(tokens(&egress, 10), Some(150));
        egress.set_bucket(Instant::ZERO, None);
        assert_eq!(tokens(&egress, 0), None);
    }

    #[test]
    fn what_left_while_no_cell_waited_is_not_held_against_what_comes_later() {
        let mut egress = limited();
        for at in 0..100 {
            egress.pay_unasked(millis(100 * at), Bytes::new(9000));
        }
        egress.pay_unasked(millis(10_000), Bytes::new(10_000));
        let level = egress.unasked(millis(10_000)).unwrap();
        assert_eq!(level.tokens, 10_000);
        // Nor is all of what could not be refused.
        egress.pay_unasked(millis(10_000), Bytes::new(500_000));
        assert!(egress.owes_much(millis(10_000)));
        assert_eq!(egress.unasked(millis(10_000)).unwrap().tokens, -10_000);
    }

    #[test]
    fn feedback_with_a_delay_that_became_shorter_does_not_wait_for_what_was_noted_before() {
        let mut egress = Egress::<RawPayload>::new(&Arc::new(plan()), None);
        let at = Instant::from_nanos;
        for (delay, circuit) in [(7, 0), (9, 1), (3, 2), (9, 3)] {
            let link = egress.add_link();
            let plan = FeedbackPlan::every_cell(false, Duration::from_nanos(delay));
            egress.owe(at(0), link, FlowId::new(circuit, Direction::Forward), &plan);
        }
        assert_eq!(egress.next_timeout(), at(3));
        egress.flush_due(at(9));
        let flushed: Vec<_> = std::iter::from_fn(|| egress.next_flush()).collect();
        assert_eq!(
            flushed.iter().map(|link| link.index()).collect::<Vec<_>>(),
            [2, 0, 1, 3]
        );
        assert_eq!(egress.next_timeout(), Instant::FAR_FUTURE);
    }
}
