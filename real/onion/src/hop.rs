//! The keys that a client shares with one hop, and what is done with them.

use std::fmt;
use std::sync::OnceLock;

use aes::Aes128Enc;
use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};
use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk};
use hopflow_wire::CELL_PAYLOAD;
use zeroize::Zeroizing;

use crate::setup::{SEALED_SETUP, SETUP_PLAIN};
use crate::{TAG, keys::KEY};

/// A sealed body that was altered, or sealed with another key or index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forged;

impl fmt::Display for Forged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not sealed with this key and index")
    }
}

impl std::error::Error for Forged {}

/// What a client and one of its circuit's hops share after their handshake.
#[derive(Debug)]
pub struct HopKeys {
    /// For what the client sends.
    pub forward: DirectionKeys,
    /// For what the client receives.
    pub backward: DirectionKeys,
}

impl HopKeys {
    /// Keys from the two that the handshake splits into.
    pub(crate) fn derive(forward: &[u8; KEY], backward: &[u8; KEY]) -> Self {
        Self {
            forward: DirectionKeys::derive(forward),
            backward: DirectionKeys::derive(backward),
        }
    }
}

/// The keys between a client and one hop, for one direction.
///
/// There are four pairs of a key and a starting value: layers and seals, for cells and for set-up
/// messages. The pair for layers of cells has its key schedule ready; the one that seals cells is
/// made ready when it is first used, for only the circuit's ends need it.
pub struct DirectionKeys {
    secrets: Box<Secrets>,
    layer: Layer,
    seal: OnceLock<Seal>,
}

impl fmt::Debug for DirectionKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DirectionKeys(..)")
    }
}

impl DirectionKeys {
    fn derive(key: &[u8; KEY]) -> Self {
        let secrets = Box::new(Secrets::derive(key));
        Self {
            layer: Layer::new(secrets.part(0)),
            seal: OnceLock::new(),
            secrets,
        }
    }

    /// Adds or removes this hop's layer of the cell with the given index in its flow. The layer
    /// is an AES-128-CTR key stream, so that adding it twice removes it.
    #[inline]
    pub fn apply_layer(&mut self, index: u64, body: &mut [u8; CELL_PAYLOAD]) {
        self.layer.apply(index, body);
    }

    /// Seals the cell with the given index by AES-128-GCM; the tag fills the first [`TAG`] bytes.
    ///
    /// An index must never be sealed twice with different bytes: that reveals both and allows
    /// forgeries.
    #[inline]
    pub fn seal(&self, index: u64, body: &mut [u8; CELL_PAYLOAD]) {
        self.cell_seal().seal(index, body);
    }

    /// Opens a sealed cell in place.
    ///
    /// # Errors
    /// If the cell was altered or sealed with another key or index; the bytes are then garbage.
    #[inline]
    pub fn open(&self, index: u64, body: &mut [u8; CELL_PAYLOAD]) -> Result<(), Forged> {
        self.cell_seal().open(index, body)
    }

    /// Seals a set-up message for, or from, this hop.
    ///
    /// A counter must never be used for two different messages of one direction: repeat the sealed
    /// bytes.
    pub fn seal_setup(&self, counter: u32, plain: &[u8; SETUP_PLAIN]) -> [u8; SEALED_SETUP] {
        let mut sealed = [0; SEALED_SETUP];
        sealed[TAG..].copy_from_slice(plain);
        Seal::new(self.secrets.part(3)).seal(u64::from(counter), &mut sealed);
        sealed
    }

    /// Opens a set-up message that was sealed with this counter.
    ///
    /// # Errors
    /// If it was altered or sealed with another key or counter.
    pub fn open_setup(
        &self,
        counter: u32,
        sealed: &[u8; SEALED_SETUP],
    ) -> Result<[u8; SETUP_PLAIN], Forged> {
        let mut sealed = *sealed;
        Seal::new(self.secrets.part(3)).open(u64::from(counter), &mut sealed)?;
        let (_, plain) = sealed.split_last_chunk().expect("the tag is before it");
        Ok(*plain)
    }

    /// Adds or removes this hop's layer of a sealed set-up message.
    pub fn apply_setup_layer(&self, counter: u32, sealed: &mut [u8; SEALED_SETUP]) {
        let [piece] = Layer::new(self.secrets.part(2)).pieces(u64::from(counter));
        add(sealed, Block::<Aes128Enc>::slice_as_flattened(&piece));
    }

    #[inline]
    fn cell_seal(&self) -> &Seal {
        self.seal.get_or_init(|| Seal::new(self.secrets.part(1)))
    }
}

/// Bytes of an AES-128 key, and of a block.
const BLOCK: usize = 16;
/// Bytes of a key with its starting value.
const PART: usize = 2 * BLOCK;
const PARTS: usize = 4;

/// Keys and starting values of one direction: layers of cells, seals of cells, layers of set-up
/// messages, seals of set-up messages.
struct Secrets(Zeroizing<[u8; PARTS * PART]>);

impl Secrets {
    /// HKDF-Expand (RFC 5869, section 2.3). Its first step, Extract, is for secrets that are not
    /// uniform; the handshake's are.
    fn derive(key: &[u8; KEY]) -> Self {
        let mut secrets = Zeroizing::new([0; PARTS * PART]);
        Prk::new_less_safe(HKDF_SHA256, key)
            .expand(&[b"hopflow circuit 1 keys"], SecretsLen)
            .and_then(|expanded| expanded.fill(&mut *secrets))
            .expect("HKDF-SHA256 gives up to 8160 bytes");
        Self(secrets)
    }

    fn part(&self, place: usize) -> &[u8; PART] {
        let (parts, _) = self.0.as_chunks();
        &parts[place]
    }
}

struct SecretsLen;

impl KeyType for SecretsLen {
    fn len(&self) -> usize {
        PARTS * PART
    }
}

/// Blocks of key stream per index; 509 bytes need all of them.
const BLOCKS: usize = CELL_PAYLOAD.div_ceil(BLOCK);

/// The key stream of one cell.
type Piece = [Block<Aes128Enc>; BLOCKS];

/// A key stream that is cut into pieces of 32 blocks, one for each cell.
struct Layer {
    key: Aes128Enc,
    start: u128,
    ahead: Option<Box<Ahead>>,
}

/// The piece of the cell that probably comes next.
struct Ahead {
    index: u64,
    bytes: Zeroizing<[u8; BLOCKS * BLOCK]>,
}

impl Ahead {
    fn new() -> Box<Self> {
        Box::new(Self {
            index: 0,
            bytes: Zeroizing::new([0; BLOCKS * BLOCK]),
        })
    }
}

impl Layer {
    fn new(part: &[u8; PART]) -> Self {
        let (key, start) = split(part);
        Self {
            key: Aes128Enc::new(key.into()),
            start: u128::from_be_bytes(*start),
            ahead: None,
        }
    }

    /// Cells mostly come one after the other, and two pieces at once cost little more than one:
    /// processors encrypt up to 64 blocks together.
    #[inline]
    fn apply(&mut self, index: u64, bytes: &mut [u8]) {
        if let Some(ahead) = &self.ahead
            && ahead.index == index
        {
            return add(bytes, &*ahead.bytes);
        }
        let [piece, next] = self.pieces(index);
        add(bytes, Block::<Aes128Enc>::slice_as_flattened(&piece));
        let ahead = self.ahead.get_or_insert_with(Ahead::new);
        // Pieces are not numbered modulo 2^64, so nothing is ahead of the last one.
        ahead.index = index.saturating_add(1);
        let next = if ahead.index == index { &piece } else { &next };
        let next = Block::<Aes128Enc>::slice_as_flattened(next);
        ahead.bytes.copy_from_slice(next);
    }

    /// The pieces from an index on. Blocks are numbered from `start` (NIST SP 800-38A, section 6.5 and
    /// appendix B.1).
    #[inline]
    fn pieces<const N: usize>(&self, index: u64) -> [Piece; N] {
        let first = u128::from(index) * BLOCKS as u128;
        let mut number = self.start.wrapping_add(first);
        let mut pieces = [Piece::default(); N];
        let blocks = pieces.as_flattened_mut();
        for block in &mut *blocks {
            *block = number.to_be_bytes().into();
            number = number.wrapping_add(1);
        }
        self.key.encrypt_blocks(blocks);
        pieces
    }
}

/// Adds a key stream to as many bytes.
#[inline]
fn add(bytes: &mut [u8], stream: &[u8]) {
    for (byte, key) in bytes.iter_mut().zip(stream) {
        *byte ^= key;
    }
}

/// AES-128-GCM whose nonce is made from an index.
struct Seal {
    key: LessSafeKey,
    iv: [u8; aead::NONCE_LEN],
}

impl Seal {
    fn new(part: &[u8; PART]) -> Self {
        let (key, start) = split(part);
        let key = UnboundKey::new(&aead::AES_128_GCM, key).expect("the key has 16 bytes");
        let (iv, _) = start.split_first_chunk().expect("a nonce is shorter");
        Self {
            key: LessSafeKey::new(key),
            iv: *iv,
        }
    }

    /// The index, padded on the left, over the secret starting value (as RFC 8446, section 5.3).
    #[inline]
    fn nonce(&self, index: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, index) in nonce[4..].iter_mut().zip(index.to_be_bytes()) {
            *byte ^= index;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    #[inline]
    fn seal(&self, index: u64, body: &mut [u8]) {
        let (tag, plain) = body.split_at_mut(TAG);
        let made = self
            .key
            .seal_in_place_separate_tag(self.nonce(index), Aad::empty(), plain)
            .expect("bodies are short");
        tag.copy_from_slice(made.as_ref());
    }

    #[inline]
    fn open(&self, index: u64, body: &mut [u8]) -> Result<(), Forged> {
        let (tag, sealed) = body.split_at_mut(TAG);
        self.key
            .open_in_place_separate_tag(self.nonce(index), Aad::empty(), tag, sealed)
            .map(|_| ())
            .map_err(|_| Forged)
    }
}

/// A key and its starting value.
fn split(part: &[u8; PART]) -> (&[u8; BLOCK], &[u8; BLOCK]) {
    let (blocks, _) = part.as_chunks();
    (&blocks[0], &blocks[1])
}

#[cfg(test)]
mod tests;
