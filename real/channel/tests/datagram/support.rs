//! Two ends of a datagram link, in virtual time.

use std::sync::OnceLock;

use hopflow_channel::{DatagramChannel, Identity, State};
use hopflow_units::{Duration, Instant};

/// The identity of the side that is called; making one takes time.
pub(crate) fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(Identity::generate)
}

/// The origin of virtual time.
#[expect(
    clippy::disallowed_methods,
    reason = "the origin's value does not matter"
)]
pub(crate) fn epoch() -> std::time::Instant {
    static EPOCH: OnceLock<std::time::Instant> = OnceLock::new();
    *EPOCH.get_or_init(std::time::Instant::now)
}

/// What a network does with a datagram: hands on as many copies as it likes, changed or not.
pub(crate) type Network<'a> = &'a mut dyn FnMut(Vec<u8>) -> Vec<Vec<u8>>;

/// A caller, a called, and what each has read.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) caller: DatagramChannel,
    pub(crate) called: DatagramChannel,
    pub(crate) read_by_caller: Vec<Vec<u8>>,
    pub(crate) read_by_called: Vec<Vec<u8>>,
}

impl Pair {
    /// Two ends that have not spoken yet.
    pub(crate) fn new() -> Self {
        let expected = identity().fingerprint();
        Self {
            now: Instant::from_nanos(1_000_000_000),
            caller: DatagramChannel::connect(expected, epoch()),
            called: DatagramChannel::accept(identity(), epoch()),
            read_by_caller: Vec::new(),
            read_by_called: Vec::new(),
        }
    }

    /// Two ends with an open channel.
    pub(crate) fn open() -> Self {
        let mut pair = Self::new();
        pair.settle();
        assert!(pair.is_open(), "{pair:?}");
        pair
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.caller.state() == State::Open && *self.called.state() == State::Open
    }

    /// One exchange over `network`; whether anything was sent.
    pub(crate) fn exchange(&mut self, network: Network<'_>) -> bool {
        let sent = flush(&mut self.caller, self.now);
        let answered = flush(&mut self.called, self.now);
        let any = !sent.is_empty() || !answered.is_empty();
        for datagram in sent.into_iter().flat_map(&mut *network) {
            self.reach_called(&datagram);
        }
        for datagram in answered.into_iter().flat_map(&mut *network) {
            self.reach_caller(&datagram);
        }
        any
    }

    /// Exchanges over a perfect network until nobody has anything to say.
    pub(crate) fn settle(&mut self) {
        while self.exchange(&mut |datagram| vec![datagram]) {}
    }

    /// Exchanges over `network` for at most `span`, waiting for timers.
    pub(crate) fn run(&mut self, span: Duration, network: Network<'_>) {
        let end = self.now + span;
        loop {
            while self.exchange(network) {}
            let next = self.caller.poll_timeout().min(self.called.poll_timeout());
            if next > end || self.is_open() && next == Instant::FAR_FUTURE {
                return;
            }
            self.now = next.max(self.now + Duration::from_nanos(1));
            self.caller.handle_timeout(self.now);
            self.called.handle_timeout(self.now);
        }
    }

    pub(crate) fn reach_called(&mut self, datagram: &[u8]) {
        let read = &mut self.read_by_called;
        self.called
            .receive(self.now, datagram, &mut |plain| read.push(plain.to_vec()));
    }

    pub(crate) fn reach_caller(&mut self, datagram: &[u8]) {
        let read = &mut self.read_by_caller;
        self.caller
            .receive(self.now, datagram, &mut |plain| read.push(plain.to_vec()));
    }

    /// A datagram of the caller with `plain` in it.
    pub(crate) fn sealed(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut datagram = Vec::new();
        assert!(self.caller.seal(self.now, plain, &mut datagram));
        datagram
    }
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}\n{:?}\n{:?}", self.now, self.caller, self.called)
    }
}

/// All that `channel` has to say.
pub(crate) fn flush(channel: &mut DatagramChannel, now: Instant) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    let mut datagram = Vec::new();
    while channel.poll_transmit(now, &mut datagram) {
        datagrams.push(std::mem::take(&mut datagram));
    }
    datagrams
}

/// Numbers that look random, the same in every run (the generator `SplitMix64`).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// The next number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }
}
