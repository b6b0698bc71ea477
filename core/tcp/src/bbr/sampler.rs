//! Samples of the delivery rate (draft-ietf-ccwg-bbr, section 4.1).

use std::collections::BTreeMap;

use hopflow_units::{Duration, Instant};

use crate::ranges::Range;

/// What was known when a segment was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    end: u64,
    at: Instant,
    /// When the segment was sent that had been delivered last, or this one if nothing was in flight.
    sending_since: Instant,
    delivered: u64,
    delivered_at: Instant,
    limited: bool,
    again: bool,
    /// Bytes lost until then.
    lost: u64,
    /// Bytes in flight with the segment.
    in_flight: u64,
}

/// What an acknowledgement, or a loss, tells of the path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Bytes per second; zero where there is no sample to rely on.
    pub(super) rate: f64,
    /// Bytes that were delivered since the segment was sent which the sample is of.
    pub(super) delivered: u64,
    /// Bytes that had been delivered when that segment was sent; `None` if no segment arrived.
    pub(super) before: Option<u64>,
    /// Bytes that were lost since then.
    pub(super) lost: u64,
    /// Bytes in flight when it was sent.
    pub(super) in_flight: u64,
    /// Its length.
    pub(super) len: u64,
    /// Whether the application, not the path, set the rate.
    pub(super) limited: bool,
    /// The segment's round-trip time, where it was sent once.
    pub(super) round_trip: Option<Duration>,
    /// Bytes newly known to have arrived.
    pub(super) newly: u64,
}

/// Where samples come from: all segments that are outstanding, as they were last sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sampler {
    /// By the segment's first offset.
    segments: BTreeMap<u64, Sent>,
    /// Where what was never sent begins.
    top: u64,
    delivered: u64,
    delivered_at: Instant,
    sending_since: Instant,
    lost: u64,
    /// Until this much was delivered, samples are the application's; zero: they are not.
    limited_until: u64,
    shortest: Option<Duration>,
}

impl Sampler {
    /// Bytes delivered so far.
    pub(super) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether what is sent now will tell of the application.
    pub(super) const fn is_limited(&self) -> bool {
        self.limited_until > 0
    }

    /// Notes that the path would take more than there is to send.
    pub(super) fn limit(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Notes a transmission; `before` bytes were in the network before it, `in_flight` are after it.
    pub(super) fn on_sent(&mut self, now: Instant, range: Range, (before, in_flight): (u64, u64)) {
        if before == 0 {
            self.sending_since = now;
            self.delivered_at = now;
        }
        let same = self.segments.get(&range.start);
        let sent = Sent {
            end: same.map_or(range.end, |it| it.end.max(range.end)),
            at: now,
            sending_since: self.sending_since,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            limited: self.is_limited(),
            again: range.start < self.top,
            lost: self.lost,
            in_flight,
        };
        self.segments.insert(range.start, sent);
        self.top = self.top.max(range.end);
    }

    /// Counts what was given up without knowing in which segments.
    pub(super) const fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Counts a range as lost, and returns what is known of the segments in it.
    pub(super) fn lose(&mut self, range: Range) -> Vec<Sample> {
        let inside = self.segments.range(range.start..range.end);
        let segments: Vec<(u64, Sent)> = inside.map(|(at, sent)| (*at, *sent)).collect();
        let mut samples = Vec::with_capacity(segments.len());
        let mut start = range.start;
        for (from, sent) in segments {
            let end = sent.end.min(range.end);
            self.lost += end.saturating_sub(start);
            start = start.max(end);
            samples.push(Sample {
                in_flight: sent.in_flight,
                len: sent.end - from,
                lost: self.lost - sent.lost,
                limited: sent.limited,
                ..Sample::default()
            });
        }
        self.lost += range.end - start;
        samples
    }

    /// Takes in an acknowledgement of everything below `una` and of `blocks`, by which `newly` bytes
    /// are known to have arrived.
    pub(super) fn acknowledge(
        &mut self,
        now: Instant,
        (una, blocks): (u64, impl Iterator<Item = Range>),
        newly: u64,
    ) -> Sample {
        let newest = self.take(una, blocks);
        if newly > 0 {
            self.delivered += newly;
            self.delivered_at = now;
        }
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let Some(sent) = newest else {
            return Sample {
                newly,
                ..Sample::default()
            };
        };
        self.sending_since = sent.at;
        let round_trip = (!sent.again).then(|| now.saturating_since(sent.at));
        self.shortest = [self.shortest, round_trip].into_iter().flatten().min();
        let delivered = self.delivered - sent.delivered;
        Sample {
            rate: self.rate(now, &sent, delivered),
            delivered,
            before: Some(sent.delivered),
            lost: self.lost - sent.lost,
            in_flight: sent.in_flight,
            limited: sent.limited,
            round_trip,
            newly,
            ..Sample::default()
        }
    }

    /// Takes out what has arrived, and returns what was sent last of it.
    fn take(&mut self, una: u64, blocks: impl Iterator<Item = Range>) -> Option<Sent> {
        let mut newest: Option<Sent> = None;
        let mut arrived = |sent: Sent| {
            if newest.is_none_or(|it| (it.at, it.end) < (sent.at, sent.end)) {
                newest = Some(sent);
            }
        };
        while let Some(first) = self.segments.first_entry()
            && first.get().end <= una
        {
            arrived(first.remove());
        }
        for block in blocks {
            let inside = self.segments.range(block.start..block.end);
            let whole = inside.filter(|(_, sent)| sent.end <= block.end);
            let starts: Vec<u64> = whole.map(|(start, _)| *start).collect();
            let taken = starts.iter().filter_map(|it| self.segments.remove(it));
            taken.for_each(&mut arrived);
        }
        newest
    }

    /// The slower of how fast data was sent and how fast it arrived. What took less than any round
    /// trip is the answer to an earlier transmission.
    fn rate(&self, now: Instant, sent: &Sent, delivered: u64) -> f64 {
        let sending = sent.at.saturating_since(sent.sending_since);
        let arriving = now.saturating_since(sent.delivered_at);
        let interval = sending.max(arriving);
        if interval.is_zero() || self.shortest.is_some_and(|it| interval < it) {
            return 0.0;
        }
        delivered as f64 / interval.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn none() -> std::iter::Empty<Range> {
        std::iter::empty()
    }

    /// A sampler that has sent ten segments of a hundred bytes, one in each of ten milliseconds.
    fn sampler() -> Sampler {
        let mut sampler = Sampler::default();
        for n in 0..10 {
            let range = Range::new(n * 100, n * 100 + 100);
            sampler.on_sent(at(n), range, (n * 100, n * 100 + 100));
        }
        sampler
    }

    #[test]
    fn the_rate_is_that_of_arrivals_where_the_path_is_slower() {
        let mut sampler = sampler();
        assert!(sampler.acknowledge(at(50), (100, none()), 100).rate > 0.0);
        let mut last = Sample::default();
        for n in 1..10 {
            last = sampler.acknowledge(at(50 + 5 * n), (n * 100 + 100, none()), 100);
        }
        // The tenth was sent when nothing had arrived: a thousand bytes in 95 milliseconds.
        assert!((last.rate - 1000.0 / 0.095).abs() < 1.0, "{last:?}");
        assert_eq!(last.round_trip, Some(Duration::from_millis(86)));
    }

    #[test]
    fn what_arrives_out_of_order_is_sampled_once() {
        let mut sampler = sampler();
        let block = Range::new(500, 700);
        let first = sampler.acknowledge(at(50), (0, [block].into_iter()), 200);
        assert_eq!((first.before, first.in_flight), (Some(0), 700));
        let second = sampler.acknowledge(at(51), (0, [block].into_iter()), 0);
        assert_eq!((second.before, second.rate), (None, 0.0));
    }

    #[test]
    fn a_retransmission_has_no_round_trip() {
        let mut sampler = sampler();
        sampler.on_sent(at(60), Range::new(0, 100), (900, 1000));
        let sample = sampler.acknowledge(at(70), (100, none()), 100);
        assert_eq!(sample.round_trip, None);
    }

    #[test]
    fn neither_has_one_that_begins_within_a_segment() {
        let mut sampler = sampler();
        sampler.on_sent(at(60), Range::new(850, 1000), (1000, 1000));
        let sample = sampler.acknowledge(at(61), (1000, none()), 1000);
        assert_eq!(sample.round_trip, None);
    }

    #[test]
    fn losses_count_from_when_a_segment_was_sent() {
        let mut sampler = sampler();
        let samples = sampler.lose(Range::new(0, 300));
        let lost: Vec<u64> = samples.iter().map(|it| it.lost).collect();
        assert_eq!(lost, [100, 200, 300]);
        assert_eq!(samples[2].in_flight, 300);
    }

    #[test]
    fn a_pause_of_the_application_marks_a_round_trip() {
        let mut sampler = sampler();
        sampler.limit(1000);
        sampler.on_sent(at(20), Range::new(1000, 1100), (1000, 1100));
        assert!(!sampler.acknowledge(at(60), (1000, none()), 1000).limited);
        assert!(sampler.acknowledge(at(70), (1100, none()), 100).limited);
        assert!(!sampler.is_limited());
    }
}
