//! What a neighbour can make a channel hold.

#[path = "datagram/support.rs"]
#[expect(dead_code, reason = "shared with the tests in `datagram`")]
mod support;

use std::alloc::System;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use dimpl::crypto::aws_lc_rs::default_provider;
use dimpl::crypto::{
    Aad, Buf, Cipher, CryptoProvider, Dtls13CipherSuite, Nonce, SupportedDtls13CipherSuite, TmpBuf,
};
use dimpl::{Config, CryptoError, Dtls, DtlsCertificate, HashAlgorithm, NamedGroup, Output};
use hopflow_channel::{DatagramChannel, State};
use hopflow_units::Instant;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use support::{epoch, flush, identity};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What a channel may hold before it is open, in bytes, whatever is sent to the side that was called.
const HALF_OPEN: i64 = 64 * 1024;
/// What it may hold once it is open, and what the plaintext of others can make one hold that calls.
const ELSE: i64 = 192 * 1024;

const NOW: Instant = Instant::from_nanos(1_000_000_000);
const NONCE: [u8; 8] = [7; 8];

/// What is allocated is counted for the whole process, so only one test may run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that are allocated at present.
fn allocated() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Bytes that are allocated for these datagrams.
fn memory_of(datagrams: &Vec<Vec<u8>>) -> i64 {
    let bytes: usize = datagrams.iter().map(Vec::capacity).sum();
    (bytes + datagrams.capacity() * size_of::<Vec<u8>>()) as i64
}

/// Gives `channel` these datagrams; the most that it held meanwhile beyond `before`.
fn most_held(channel: &mut DatagramChannel, before: i64, datagrams: &[Vec<u8>]) -> i64 {
    let mut most = 0;
    for datagram in datagrams {
        channel.receive(NOW, datagram, &mut |_| ());
        flush(channel, NOW);
        most = most.max(allocated() - before);
    }
    most
}

fn accept() -> DatagramChannel {
    DatagramChannel::accept(identity(), epoch())
}

/// A message of a handshake, or a part of it from its beginning on (RFC 9147, section 5.2).
fn message(kind: u8, number: u16, length: u32, part: &[u8]) -> Vec<u8> {
    let length = length.to_be_bytes();
    let part_length = (part.len() as u32).to_be_bytes();
    let number = number.to_be_bytes();
    [
        &[kind],
        &length[1..],
        &number,
        &[0; 3],
        &part_length[1..],
        part,
    ]
    .concat()
}

/// Records of plaintext, each with a message (RFC 9147, section 4).
fn plaintext(messages: &[Vec<u8>]) -> Vec<u8> {
    let record = |message: &Vec<u8>| {
        let length = (message.len() as u16).to_be_bytes();
        [
            &[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1],
            &length[..],
            message,
        ]
        .concat()
    };
    messages.iter().flat_map(record).collect()
}

/// Datagrams with `head`, each of 16 records with a message that is not yet due.
fn of_later_messages(head: &[u8], first: u16) -> Vec<Vec<u8>> {
    let datagram = |number| {
        let later = message(11, number, 0, &[]);
        [head, &plaintext(&vec![later; 16])].concat()
    };
    (first..first + 29).map(datagram).collect()
}

#[test]
fn plaintext_fills_no_channel_that_was_called() {
    let _alone = alone();
    let head = [&[1], &NONCE[..], &[0; 16]].concat();
    let part = plaintext(&[message(1, 0, 2000, &[0; 1200])]);
    let huge = message(11, 40, 60_000, &vec![0; 60_000]);
    let mut datagrams = vec![[&head[..], &part].concat()];
    datagrams.extend(of_later_messages(&head, 1));
    datagrams.extend(vec![[&head[..], &plaintext(&[huge])].concat(); 29]);
    let before = allocated();
    let mut called = accept();
    let held = most_held(&mut called, before, &datagrams);
    assert!(held <= HALF_OPEN, "{held} bytes");
}

#[test]
fn plaintext_fills_no_channel_that_calls() {
    let _alone = alone();
    let before = allocated();
    let mut caller = DatagramChannel::connect(identity().fingerprint(), epoch());
    let hello = flush(&mut caller, NOW).remove(0);
    let head = [&[3], &hello[1..9]].concat();
    // As many records as are taken, too.
    let mut datagrams = of_later_messages(&head, 1);
    let few = plaintext(&vec![message(11, 40, 0, &[]); 8]);
    datagrams.extend((0..3).map(|_| [&head[..], &few].concat()));
    let held = most_held(&mut caller, before + memory_of(&datagrams), &datagrams);
    println!("a caller: {held} bytes");
    assert!(held <= ELSE, "{held} bytes");
}

/// The library's cipher, which makes a message of a handshake of what is sealed as data but reads as a
/// `KeyUpdate` (RFC 8446, section 4.6.3).
#[derive(Debug)]
struct Forger(Box<dyn Cipher>);

impl Cipher for Forger {
    fn encrypt(&mut self, plain: &mut Buf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        if plain.starts_with(&[24, 0, 0, 1])
            && let Some(kind) = plain.last_mut()
        {
            *kind = 22;
        }
        self.0.encrypt(plain, aad, nonce)
    }

    fn decrypt(&mut self, sealed: &mut TmpBuf, aad: Aad, nonce: Nonce) -> Result<(), CryptoError> {
        self.0.decrypt(sealed, aad, nonce)
    }
}

/// `TLS_AES_128_GCM_SHA256` with that cipher.
#[derive(Debug)]
struct ForgingSuite;

static BASE: LazyLock<&'static dyn SupportedDtls13CipherSuite> = LazyLock::new(|| {
    let provider = default_provider();
    let mut suites = provider.dtls13_cipher_suites.iter();
    let suite = suites.find(|suite| suite.suite() == Dtls13CipherSuite::AES_128_GCM_SHA256);
    *suite.expect("every implementation has this suite")
});

impl SupportedDtls13CipherSuite for ForgingSuite {
    fn suite(&self) -> Dtls13CipherSuite {
        BASE.suite()
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        BASE.hash_algorithm()
    }

    fn key_len(&self) -> usize {
        BASE.key_len()
    }

    fn iv_len(&self) -> usize {
        BASE.iv_len()
    }

    fn tag_len(&self) -> usize {
        BASE.tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn Cipher>, CryptoError> {
        Ok(Box::new(Forger(BASE.create_cipher(key)?)))
    }

    fn encrypt_sn(&self, sn_key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        BASE.encrypt_sn(sn_key, sample)
    }
}

/// A caller that seals what it likes.
struct Attacker(Dtls);

impl Attacker {
    /// One whose handshake with `called` is over but for its last flight; returns that, too.
    fn call(called: &mut DatagramChannel) -> (Self, Vec<Vec<u8>>) {
        let provider = CryptoProvider {
            dtls13_cipher_suites: &[&ForgingSuite],
            ..default_provider()
        };
        let config = Config::builder()
            .with_crypto_provider(provider)
            .mtu(1397)
            .kx_groups(&[NamedGroup::X25519])
            .dtls12_cipher_suites(&[])
            .build();
        let certificate = DtlsCertificate {
            certificate: identity().certificate_der().to_vec(),
            private_key: identity().key_der().to_vec(),
        };
        let config = Arc::new(config.expect("the configuration is sound"));
        let mut dtls = Dtls::new_13(config, certificate, epoch());
        dtls.set_active(true);
        let mut attacker = Self(dtls);
        attacker.0.handle_timeout(epoch()).expect("it begins");
        for hello in attacker.said() {
            let opening = [&[1], &NONCE[..], &[0; 16], &hello].concat();
            called.receive(NOW, &opening, &mut |_| ());
        }
        for answer in flush(called, NOW) {
            attacker.0.handle_packet(&answer[9..]).expect("an answer");
        }
        let last_flight = attacker.said();
        (attacker, last_flight)
    }

    fn said(&mut self) -> Vec<Vec<u8>> {
        let (mut said, mut buffer) = (Vec::new(), vec![0; 2048]);
        loop {
            match self.0.poll_output(&mut buffer) {
                Output::Packet(packet) => said.push(packet.to_vec()),
                Output::Timeout(_) => return said,
                _ => {}
            }
        }
    }

    /// `count` datagrams of `records` each, with keys' renewals in them that are not yet due, padded to `len`.
    fn later_renewals(&mut self, count: u16, records: usize, len: usize) -> Vec<Vec<u8>> {
        let mut datagram = |number| {
            let renewal = |_| {
                let mut renewal = message(24, number, 1, &[0]);
                renewal.resize(len, 0);
                self.0.send_application_data(&renewal).expect("it is open");
                self.said().concat()
            };
            (0..records).flat_map(renewal).collect()
        };
        (40..40 + count).map(&mut datagram).collect()
    }
}

#[test]
fn records_of_its_caller_fill_no_channel_that_is_not_open() {
    let _alone = alone();
    for (records, len) in [(16, 13), (3, 13), (1, 13), (1, 1400)] {
        let before = allocated();
        let mut called = accept();
        let own = allocated() - before;
        let (mut attacker, _) = Attacker::call(&mut called);
        let datagrams = attacker.later_renewals(29, records, len);
        drop(attacker);
        let held = most_held(&mut called, before + memory_of(&datagrams), &datagrams);
        println!("not open, {records} records of {len}: {held} bytes, {own} at first");
        assert!(held <= HALF_OPEN, "{held} bytes by {records} of {len}");
    }
}

#[test]
fn records_of_its_caller_fill_no_open_channel() {
    let _alone = alone();
    for (records, len) in [(16, 13), (8, 13), (8, 1400), (1, 1400)] {
        let before = allocated();
        let mut called = accept();
        let (mut attacker, last_flight) = Attacker::call(&mut called);
        for datagram in &last_flight {
            called.receive(NOW, datagram, &mut |_| ());
        }
        flush(&mut called, NOW);
        assert_eq!(*called.state(), State::Open);
        let datagrams = attacker.later_renewals(29, records, len);
        drop(attacker);
        drop(last_flight);
        let held = most_held(&mut called, before + memory_of(&datagrams), &datagrams);
        println!("open, {records} records of {len}: {held} bytes");
        assert!(held <= ELSE, "{held} bytes by {records} of {len}");
    }
}
