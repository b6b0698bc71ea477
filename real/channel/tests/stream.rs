//! Links over streams of bytes.

use std::sync::OnceLock;

use hopflow_channel::{Error, Identity, State, StreamChannel};
use hopflow_units::{Duration, Instant};

const NOW: Instant = Instant::from_nanos(1_000_000_000);

fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(Identity::generate)
}

/// A caller, a called, and what each has read.
struct Pair {
    caller: StreamChannel,
    called: StreamChannel,
    read_by_caller: Vec<u8>,
    read_by_called: Vec<u8>,
}

impl Pair {
    fn new() -> Self {
        Self {
            caller: StreamChannel::connect(identity().fingerprint()),
            called: StreamChannel::accept(identity()),
            read_by_caller: Vec::new(),
            read_by_called: Vec::new(),
        }
    }

    fn open() -> Self {
        let mut pair = Self::new();
        pair.settle(usize::MAX);
        assert_eq!(*pair.caller.state(), State::Open);
        assert_eq!(*pair.called.state(), State::Open);
        pair
    }

    /// Exchanges what the ends have to say, cut into pieces of at most `piece` bytes.
    fn settle(&mut self, piece: usize) {
        loop {
            let (mut sent, mut answered) = (Vec::new(), Vec::new());
            self.caller.poll_transmit(NOW, &mut sent);
            self.called.poll_transmit(NOW, &mut answered);
            if sent.is_empty() && answered.is_empty() {
                return;
            }
            sent.chunks(piece)
                .for_each(|bytes| self.reach_called(bytes));
            answered
                .chunks(piece)
                .for_each(|bytes| self.reach_caller(bytes));
        }
    }

    fn reach_called(&mut self, bytes: &[u8]) {
        let read = &mut self.read_by_called;
        self.called
            .receive(NOW, bytes, &mut |plain| read.extend_from_slice(plain));
    }

    fn reach_caller(&mut self, bytes: &[u8]) {
        let read = &mut self.read_by_caller;
        self.caller
            .receive(NOW, bytes, &mut |plain| read.extend_from_slice(plain));
    }
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 % 251) as u8).collect()
}

#[test]
fn both_ends_open_and_read_what_the_other_seals() {
    let mut pair = Pair::open();
    let mut wire = Vec::new();
    assert!(pair.caller.seal(NOW, b"there", &mut wire));
    pair.reach_called(&wire);
    wire.clear();
    assert!(pair.called.seal(NOW, b"and back", &mut wire));
    pair.reach_caller(&wire);
    assert_eq!(pair.read_by_called, b"there");
    assert_eq!(pair.read_by_caller, b"and back");
}

#[test]
fn the_stream_may_be_cut_anywhere() {
    for piece in [1, 2, 3, 7, 100, 1000] {
        let mut pair = Pair::new();
        pair.settle(piece);
        let plain = text(40_000);
        let mut wire = Vec::new();
        assert!(pair.caller.seal(NOW, &plain, &mut wire));
        wire.chunks(piece)
            .for_each(|bytes| pair.reach_called(bytes));
        assert_eq!(pair.read_by_called, plain, "in pieces of {piece}");
    }
}

#[test]
fn half_a_record_in_one_direction_does_not_hinder_the_other() {
    let mut pair = Pair::open();
    let (mut there, mut back) = (Vec::new(), Vec::new());
    assert!(pair.caller.seal(NOW, b"in two halves", &mut there));
    let (one, other) = there.split_at(17);
    pair.reach_called(one);
    assert!(pair.called.seal(NOW, b"meanwhile", &mut back));
    pair.reach_caller(&back);
    pair.reach_called(other);
    assert_eq!(pair.read_by_caller, b"meanwhile");
    assert_eq!(pair.read_by_called, b"in two halves");
}

#[test]
fn many_records_may_come_at_once() {
    let mut pair = Pair::open();
    let plain = text(5_000);
    let mut wire = Vec::new();
    for cell in plain.chunks(517) {
        assert!(pair.called.seal(NOW, cell, &mut wire));
    }
    pair.reach_caller(&wire);
    assert_eq!(pair.read_by_caller, plain);
}

#[test]
fn a_record_adds_the_stated_overhead() {
    let mut pair = Pair::open();
    for (size, records) in [(1, 1), (517, 1), (4048, 1), (4049, 2), (20_000, 5)] {
        let mut wire = Vec::new();
        assert!(pair.caller.seal(NOW, &text(size), &mut wire));
        assert_eq!(wire.len(), size + records * StreamChannel::OVERHEAD);
    }
}

/// What is sealed together is read piece by piece: its first cells need not wait for the last.
#[test]
fn the_first_cells_are_read_before_all_have_arrived() {
    let mut pair = Pair::open();
    let mut wire = Vec::new();
    assert!(pair.called.seal(NOW, &text(60_000), &mut wire));
    // A connection's first window (RFC 6928).
    pair.reach_caller(&wire[..10 * 1448]);
    assert_eq!(pair.read_by_caller.len(), 3 * StreamChannel::RECORD);
}

#[test]
fn the_end_of_the_handshake_goes_before_the_first_record() {
    let mut pair = Pair::new();
    let mut wire = Vec::new();
    assert!(pair.caller.poll_transmit(NOW, &mut wire));
    pair.reach_called(&wire);
    wire.clear();
    assert!(pair.called.poll_transmit(NOW, &mut wire));
    pair.reach_caller(&wire);
    assert_eq!(*pair.caller.state(), State::Open);
    wire.clear();
    assert!(pair.caller.seal(NOW, b"first", &mut wire));
    assert!(!pair.caller.poll_transmit(NOW, &mut Vec::new()));
    pair.reach_called(&wire);
    assert_eq!(*pair.called.state(), State::Open);
    assert_eq!(pair.read_by_called, b"first");
}

#[test]
fn a_caller_does_not_talk_to_another_certificate() {
    let mut pair = Pair::new();
    pair.caller = StreamChannel::connect(Identity::generate().fingerprint());
    pair.settle(usize::MAX);
    assert_eq!(*pair.caller.state(), State::Closed(Error::WrongFingerprint));
    assert!(matches!(
        pair.called.state(),
        State::Closed(Error::Protocol(_))
    ));
    assert!(!pair.caller.seal(NOW, b"secret", &mut Vec::new()));
}

#[test]
fn nothing_is_sealed_before_the_channel_is_open_nor_after_it_is_closed() {
    let mut pair = Pair::new();
    let mut wire = Vec::new();
    assert!(!pair.caller.seal(NOW, b"early", &mut wire));
    assert!(!pair.called.seal(NOW, b"early", &mut wire));
    pair.settle(usize::MAX);
    assert!(!pair.caller.seal(NOW, b"", &mut wire));
    pair.caller.close();
    assert!(!pair.caller.seal(NOW, b"late", &mut wire));
    assert!(wire.is_empty());
}

#[test]
fn closing_tells_the_other_end() {
    let mut pair = Pair::open();
    let mut wire = Vec::new();
    assert!(pair.caller.seal(NOW, b"last words", &mut wire));
    pair.caller.close();
    assert_eq!(*pair.caller.state(), State::Closed(Error::ClosedHere));
    pair.reach_called(&wire);
    pair.settle(usize::MAX);
    assert_eq!(pair.read_by_called, b"last words");
    assert_eq!(*pair.called.state(), State::Closed(Error::ClosedByPeer));
    pair.called.close();
    assert_eq!(*pair.called.state(), State::Closed(Error::ClosedByPeer));
}

#[test]
fn a_changed_byte_closes_the_channel_before_it_is_read() {
    for at in [0, 3, 5, 20, 60] {
        let mut pair = Pair::open();
        let mut wire = Vec::new();
        assert!(pair.caller.seal(NOW, &text(100), &mut wire));
        wire[at] ^= 0x40;
        pair.reach_called(&wire);
        assert!(pair.read_by_called.is_empty(), "byte {at}");
        if *pair.called.state() == State::Open {
            // A length that grew: the channel waits for the rest, then sees the forgery.
            pair.reach_called(&vec![0; 17_000]);
        }
        assert!(
            matches!(pair.called.state(), State::Closed(Error::Protocol(_))),
            "byte {at}: {:?}",
            pair.called.state()
        );
        pair.settle(usize::MAX);
        assert!(matches!(
            pair.caller.state(),
            State::Closed(Error::Protocol(_))
        ));
    }
}

#[test]
fn replayed_and_reordered_records_close_the_channel() {
    let mut pair = Pair::open();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    assert!(pair.caller.seal(NOW, b"one", &mut one));
    assert!(pair.caller.seal(NOW, b"two", &mut two));
    pair.reach_called(&one);
    pair.reach_called(&one);
    assert!(matches!(
        pair.called.state(),
        State::Closed(Error::Protocol(_))
    ));
    pair.reach_called(&two);
    assert_eq!(pair.read_by_called, b"one");
}

#[test]
fn garbage_in_place_of_a_handshake_closes_the_channel() {
    for first in [0, 20, 21, 22, 23, 255] {
        let mut pair = Pair::new();
        let mut noise = text(20_000);
        noise[0] = first;
        pair.reach_called(&noise);
        pair.reach_caller(&noise);
        for end in [&pair.caller, &pair.called] {
            assert!(
                matches!(end.state(), State::Closed(Error::Protocol(_))),
                "{end:?}"
            );
        }
    }
}

#[test]
fn a_handshake_that_does_not_end_is_given_up() {
    let mut pair = Pair::new();
    for end in [&mut pair.caller, &mut pair.called] {
        assert_eq!(end.poll_timeout(), Instant::ZERO);
        end.handle_timeout(NOW);
        let deadline = end.poll_timeout();
        assert!(deadline > NOW + Duration::from_secs(5));
        end.handle_timeout(deadline);
        assert_eq!(*end.state(), State::Closed(Error::TimedOut));
        assert_eq!(end.poll_timeout(), Instant::FAR_FUTURE);
    }
}

#[test]
fn an_open_channel_wants_no_timer() {
    let mut pair = Pair::open();
    assert_eq!(pair.caller.poll_timeout(), Instant::FAR_FUTURE);
    pair.caller
        .handle_timeout(NOW + Duration::from_secs(1_000_000));
    assert_eq!(*pair.caller.state(), State::Open);
}

#[test]
fn a_message_of_a_handshake_whose_end_does_not_come_is_not_kept() {
    // A ClientHello of nearly 64 KiB, in records of 8000 bytes.
    let mut message = vec![1, 0, 0xff, 0xf0];
    message.resize(60_000, 0);
    let mut called = StreamChannel::accept(identity());
    let mut taken = 0;
    for piece in message.chunks(8000) {
        let [high, low] = (piece.len() as u16).to_be_bytes();
        let record = [&[22, 3, 1, high, low], piece].concat();
        called.receive(NOW, &record, &mut |_| panic!("there is no plaintext"));
        if matches!(called.state(), State::Closed(_)) {
            break;
        }
        taken += piece.len();
    }
    assert!((8000..=24_000).contains(&taken), "{taken} bytes");
}

#[test]
fn much_data_in_records_of_the_greatest_length_arrives() {
    let mut pair = Pair::open();
    let data = text(1 << 20);
    let mut wire = Vec::new();
    assert!(pair.caller.seal(NOW, &data, &mut wire));
    for bytes in wire.chunks(1000) {
        pair.reach_called(bytes);
    }
    assert!(pair.read_by_called == data);
    assert_eq!(*pair.called.state(), State::Open);
}
