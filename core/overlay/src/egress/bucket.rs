//! The token bucket with which an operator limits a node's rate.

use hopflow_units::{Bytes, Duration, Instant, Rate};

/// Parameters of a token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketConfig {
    /// Tokens, in bytes, that are added per second.
    pub rate: Rate,
    /// Tokens that the bucket holds at most; it starts full. A node takes a cell's at least.
    pub depth: Bytes,
    /// Time between refills; each adds `rate` times this.
    pub interval: Duration,
    /// When the first refill happens; spreads the refills of different nodes.
    pub phase: Duration,
}

/// What a token bucket holds at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketLevel {
    /// Tokens, in bytes, that are added per second.
    pub rate: Rate,
    /// Tokens that the bucket holds at most.
    pub depth: Bytes,
    /// Tokens; negative while in debt.
    pub tokens: i64,
}

/// A token bucket that is refilled in steps, as Tor's is (BackTap paper, section 4.1).
///
/// It may run into debt: what was sent without asking is paid from later refills.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    config: BucketConfig,
    tokens: i64,
    next_refill: Instant,
    /// Tokens of a refill, and the rest of the division in billionths of a token.
    step: i64,
    step_rest: u64,
    rest: u64,
}

const NANOS: u128 = 1_000_000_000;

impl TokenBucket {
    /// A full bucket.
    pub fn new(config: BucketConfig) -> Self {
        let interval = config.interval.as_nanos().max(1);
        let product = u128::from(config.rate.bytes_per_sec()) * u128::from(interval);
        Self {
            config: BucketConfig {
                interval: Duration::from_nanos(interval),
                ..config
            },
            tokens: capacity(&config),
            next_refill: Instant::ZERO + config.phase,
            step: i64::try_from(product / NANOS).unwrap_or(i64::MAX),
            step_rest: (product % NANOS) as u64,
            rest: 0,
        }
    }

    /// Gives the bucket other parameters from now on. Tokens that it holds stay, as far as they have
    /// room; the next refill comes when it was to come, with the new rate.
    pub fn change(&mut self, now: Instant, config: BucketConfig) {
        let tokens = self.tokens(now).min(capacity(&config));
        let next_refill = self.next_refill;
        *self = Self {
            tokens,
            next_refill,
            ..Self::new(config)
        };
    }

    /// The parameters.
    pub const fn config(&self) -> &BucketConfig {
        &self.config
    }

    /// Tokens at `now`; negative while in debt.
    #[inline]
    pub fn tokens(&mut self, now: Instant) -> i64 {
        if now >= self.next_refill {
            self.refill(now);
        }
        self.tokens
    }

    /// What the bucket holds at `now`.
    pub fn level(&self, now: Instant) -> BucketLevel {
        let tokens = if now >= self.next_refill {
            self.clone().tokens(now)
        } else {
            self.tokens
        };
        BucketLevel {
            rate: self.config.rate,
            depth: self.config.depth,
            tokens,
        }
    }

    /// Tokens as of the last call of [`TokenBucket::tokens`].
    pub const fn balance(&self) -> i64 {
        self.tokens
    }

    /// Takes `amount` tokens, into debt if need be.
    #[inline]
    pub fn pay(&mut self, amount: Bytes) {
        self.tokens -= amount.get() as i64;
    }

    /// The same at `now`: refills of before do not pay for it.
    pub fn pay_at(&mut self, now: Instant, amount: Bytes) {
        self.tokens(now);
        self.pay(amount);
    }

    /// Forgets what it owes beyond what it holds when it is full.
    fn forgive(&mut self) {
        self.tokens = self.tokens.max(-capacity(&self.config));
    }

    /// When at least `amount` tokens will be there, if nothing is taken until then.
    pub fn ready_at(&self, amount: Bytes) -> Instant {
        let missing = amount.get() as i64 - self.tokens;
        if missing <= 0 {
            return Instant::ZERO;
        }
        // In billionths of a token, as refills add up.
        let missing = missing as u128 * NANOS - u128::from(self.rest);
        let step = self.step as u128 * NANOS + u128::from(self.step_rest);
        let refills = missing.div_ceil(step.max(1)).max(1);
        let refills = u64::try_from(refills).unwrap_or(u64::MAX);
        self.next_refill + self.config.interval * (refills - 1)
    }

    #[cold]
    fn refill(&mut self, now: Instant) {
        let interval = self.config.interval.as_nanos();
        let count = (now - self.next_refill).as_nanos() / interval + 1;
        let rest = u128::from(self.rest) + u128::from(self.step_rest) * u128::from(count);
        let added = i128::from(self.step) * i128::from(count) + (rest / NANOS) as i128;
        self.rest = (rest % NANOS) as u64;
        let depth = i128::from(self.config.depth.get()).min(i128::from(i64::MAX));
        self.tokens = (i128::from(self.tokens) + added).min(depth) as i64;
        self.next_refill += Duration::from_nanos(interval * count);
    }
}

/// A node's token bucket, and a smaller one for what leaves without asking the first: so much that may take from
/// cells.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    all: TokenBucket,
    unasked: TokenBucket,
}

/// While cells wait, what leaves without asking has one of so many parts of the rate.
const UNASKED_PARTS: u64 = 20;
/// Bytes per second that it has at least, if that is no more than half of the rate: a few messages.
const LEAST_UNASKED: u64 = 4096;
/// Bytes of it that may leave at once at least, if the bucket holds twice as much.
const LEAST_AT_ONCE: u64 = 16 * 1024;

impl Buckets {
    pub(super) fn new(config: BucketConfig) -> Self {
        Self {
            all: TokenBucket::new(config),
            unasked: TokenBucket::new(unasked(config)),
        }
    }

    /// Gives both other parameters from now on.
    pub(super) fn change(&mut self, now: Instant, config: BucketConfig) {
        self.all.change(now, config);
        self.unasked.change(now, unasked(config));
    }

    /// The node's token bucket.
    #[inline]
    pub(super) const fn all(&self) -> &TokenBucket {
        &self.all
    }

    /// The node's token bucket, to take from.
    #[inline]
    pub(super) const fn all_mut(&mut self) -> &mut TokenBucket {
        &mut self.all
    }

    /// Takes from the node's bucket, into debt if need be, and from the other one while cells may wait.
    pub(super) fn pay_unasked(&mut self, now: Instant, amount: Bytes) {
        if !self.has_plenty(now) {
            self.unasked.pay_at(now, amount);
            // What was taken while nothing could be refused is not held against what comes later for long.
            self.unasked.forgive();
        }
        self.all.pay_at(now, amount);
    }

    /// What is left of what may leave without asking; `None` while nothing limits that.
    pub(super) fn unasked(&self, now: Instant) -> Option<BucketLevel> {
        (!self.has_plenty(now)).then(|| self.unasked.level(now))
    }

    /// Whether the node's bucket owes more than it holds when it is full.
    pub(super) fn owes_much(&self, now: Instant) -> bool {
        let all = self.all.level(now);
        all.tokens.saturating_add_unsigned(all.depth.get()) < 0
    }

    /// Whether the node's bucket is more than half full, so that no cell waits for it.
    fn has_plenty(&self, now: Instant) -> bool {
        let all = self.all.level(now);
        all.tokens > (all.depth.get() / 2).min(i64::MAX as u64) as i64
    }
}

/// A part of the rate, and no more at once than cells can wait for: what the whole rate brings in a tenth of a second,
/// or a part of a refill.
fn unasked(config: BucketConfig) -> BucketConfig {
    let rate = config.rate.bytes_per_sec();
    let part = rate.div_ceil(UNASKED_PARTS);
    let part = part.max(LEAST_UNASKED.min(rate.div_ceil(2)));
    let part = Rate::from_bytes_per_sec(part).unwrap_or(config.rate);
    let at_once = Bytes::new(rate.div_ceil(10).max(LEAST_AT_ONCE));
    let at_once = at_once.max(part.bytes_in(config.interval));
    BucketConfig {
        rate: part,
        depth: at_once.min(Bytes::new(config.depth.get().div_ceil(2))),
        ..config
    }
}

/// Tokens that a bucket holds at most.
fn capacity(config: &BucketConfig) -> i64 {
    config.depth.get().min(i64::MAX as u64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(rate: u64, interval: Duration) -> TokenBucket {
        TokenBucket::new(BucketConfig {
            rate: Rate::from_bytes_per_sec(rate).unwrap(),
            depth: Bytes::new(rate),
            interval,
            phase: Duration::from_millis(3),
        })
    }

    #[test]
    fn starts_full_and_refills_in_steps() {
        let mut bucket = bucket(1_500_000, Duration::from_millis(100));
        assert_eq!(bucket.tokens(Instant::ZERO), 1_500_000);
        bucket.pay(Bytes::new(1_500_000));
        assert_eq!(bucket.tokens(Instant::from_nanos(2_999_999)), 0);
        assert_eq!(bucket.tokens(Instant::from_nanos(3_000_000)), 150_000);
        assert_eq!(bucket.tokens(Instant::from_nanos(203_000_000)), 450_000);
        assert_eq!(
            bucket.tokens(Instant::from_nanos(60_000_000_000)),
            1_500_000
        );
    }

    #[test]
    fn loses_nothing_to_rounding() {
        let mut bucket = bucket(1_000_003, Duration::from_millis(7));
        bucket.pay(Bytes::new(1_000_003));
        let mut earned = 0;
        let steps: u64 = 100_000;
        for step in 0..steps {
            let now = Instant::ZERO + Duration::from_millis(3 + 7 * step);
            let tokens = bucket.tokens(now);
            bucket.pay(Bytes::new(tokens as u64));
            earned += tokens;
        }
        assert_eq!(earned as u64, 1_000_003 * 7 * steps / 1000);
    }

    #[test]
    fn a_change_keeps_the_tokens_and_the_time_of_the_next_refill() {
        let mut bucket = bucket(1_000_000, Duration::from_millis(10));
        bucket.pay(Bytes::new(900_000));
        let now = Instant::from_nanos(8_000_000);
        assert_eq!(bucket.tokens(now), 110_000);
        let config = BucketConfig {
            rate: Rate::from_bytes_per_sec(50_000).unwrap(),
            depth: Bytes::new(50_000),
            interval: Duration::from_millis(10),
            phase: Duration::ZERO,
        };
        bucket.change(now, config);
        assert_eq!(bucket.tokens(now), 50_000, "more has no room");
        bucket.pay(Bytes::new(50_000));
        assert_eq!(bucket.tokens(Instant::from_nanos(12_999_999)), 0);
        assert_eq!(bucket.tokens(Instant::from_nanos(13_000_000)), 500);
    }

    #[test]
    fn its_level_counts_refills_that_nobody_has_asked_for() {
        let mut bucket = bucket(1_000_000, Duration::from_millis(10));
        bucket.pay(Bytes::new(900_000));
        assert_eq!(bucket.level(Instant::ZERO).tokens, 100_000);
        let now = Instant::from_nanos(13_000_000);
        let level = bucket.level(now);
        assert_eq!((level.tokens, bucket.balance()), (120_000, 100_000));
        assert_eq!(level.tokens, bucket.tokens(now));
        assert_eq!(level.rate.bytes_per_sec(), 1_000_000);
    }

    #[test]
    fn tells_when_it_can_pay_again() {
        let mut bucket = bucket(1_000_000, Duration::from_millis(10));
        bucket.pay(Bytes::new(1_000_500));
        let ready = bucket.ready_at(Bytes::new(512));
        assert_eq!(ready, Instant::from_nanos(3_000_000));
        assert!(bucket.tokens(ready) >= 512);
        bucket.pay(Bytes::new(50_000));
        let ready = bucket.ready_at(Bytes::new(512));
        let just_before = Instant::from_nanos(ready.as_nanos() - 1);
        assert!(bucket.tokens(just_before) < 512);
        assert!(bucket.tokens(ready) >= 512);
    }

    #[test]
    fn tells_so_to_the_refill_where_each_brings_a_part_of_a_token() {
        for rate in [701, 333_333, 1_000_001, 1_234_567, 1_999_999] {
            let mut bucket = bucket(rate, Duration::from_millis(1));
            bucket.pay(Bytes::new(rate));
            for amount in 1..600 {
                let ready = bucket.ready_at(Bytes::new(amount));
                let just_before = Instant::from_nanos(ready.as_nanos() - 1);
                assert!(bucket.tokens(just_before) < amount as i64, "{rate}: early");
                let tokens = bucket.tokens(ready);
                assert!(tokens >= amount as i64, "{rate}: {tokens} of {amount}");
                bucket.pay(Bytes::new(tokens as u64));
            }
        }
    }
}
