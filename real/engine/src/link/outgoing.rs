//! Sealed bytes on their way to the driver.

use std::collections::VecDeque;
use std::ops::Range;

/// Datagrams that the kernel splits one buffer into at most.
const MAX_SEGMENTS: usize = 64;
/// Bytes that it takes at once: those of the longest UDP datagram.
const MAX_BATCH: usize = 65_000;

/// Sealed bytes that wait for the driver, which takes them where they lie.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    /// Bytes at the front that the driver has taken.
    taken: usize,
    /// Lengths of the datagrams in it; empty for a stream.
    lens: VecDeque<usize>,
}

/// Some of these bytes; they lie still until more are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Taken(Range<usize>);

impl Outgoing {
    /// Lets `write` append a datagram.
    #[inline]
    pub(crate) fn push_datagram(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let before = self.make_room();
        write(&mut self.bytes);
        let len = self.bytes.len() - before;
        if len > 0 {
            self.lens.push_back(len);
        }
    }

    /// Lets `write` append bytes of a stream.
    #[inline]
    pub(crate) fn push_bytes(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.make_room();
        write(&mut self.bytes);
    }

    /// Forgets what was taken, if that is the greater part; returns the bytes that are there.
    #[inline]
    fn make_room(&mut self) -> usize {
        if self.is_empty() {
            self.bytes.clear();
            self.taken = 0;
        } else if self.taken > self.len() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// The bytes that wait.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The memory that they take.
    pub(crate) const fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives memory back that nothing waits in.
    pub(crate) fn shrink(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// The last datagram that waits.
    pub(crate) fn last_datagram(&self) -> Option<&[u8]> {
        let len = self.lens.back()?;
        self.bytes.get(self.bytes.len() - len..)
    }

    /// The bytes that were taken last.
    pub(crate) fn get(&self, taken: &Taken) -> &[u8] {
        &self.bytes[taken.0.clone()]
    }

    /// Takes all bytes of a stream.
    pub(crate) const fn take_bytes(&mut self) -> Taken {
        let start = self.taken;
        self.taken = self.bytes.len();
        Taken(start..self.taken)
    }

    /// Takes datagrams of one length, of which only the last may be shorter; returns that length,
    /// too.
    pub(crate) fn take_datagrams(&mut self) -> Option<(usize, Taken)> {
        let segment = *self.lens.front()?;
        let (mut count, mut total) = (0, 0);
        for &len in &self.lens {
            if len > segment || count == MAX_SEGMENTS || total + len > MAX_BATCH {
                break;
            }
            count += 1;
            total += len;
            if len < segment {
                break;
            }
        }
        self.lens.drain(..count);
        let start = self.taken;
        self.taken += total;
        Some((segment, Taken(start..self.taken)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_taken_together_while_they_are_alike() {
        let mut out = Outgoing::default();
        for (len, byte) in [(3, 1), (3, 2), (2, 3), (3, 4), (0, 5)] {
            out.push_datagram(|bytes| bytes.resize(bytes.len() + len, byte));
        }
        let (segment, taken) = out.take_datagrams().unwrap();
        assert_eq!(
            (segment, out.get(&taken)),
            (3, &[1, 1, 1, 2, 2, 2, 3, 3][..])
        );
        let (segment, taken) = out.take_datagrams().unwrap();
        assert_eq!((segment, out.get(&taken)), (3, &[4, 4, 4][..]));
        assert!(out.is_empty());
        assert_eq!(out.take_datagrams(), None);
    }

    #[test]
    fn what_was_taken_makes_room_while_something_always_waits() {
        let mut out = Outgoing::default();
        let (mut written, mut read) = (0_u8, 0_u8);
        for _ in 0..1000 {
            for len in [1, 2] {
                out.push_datagram(|bytes| {
                    for _ in 0..len {
                        bytes.push(written);
                        written = written.wrapping_add(1);
                    }
                });
            }
            let (_, taken) = out.take_datagrams().unwrap();
            for byte in out.get(&taken) {
                assert_eq!(*byte, read);
                read = read.wrapping_add(1);
            }
            assert_eq!(out.len(), 2);
            assert!(out.bytes.len() <= 12, "{}", out.bytes.len());
        }
    }

    #[test]
    fn bytes_of_a_stream_are_taken_once() {
        let mut out = Outgoing::default();
        out.push_bytes(|bytes| bytes.extend([1, 2]));
        let taken = out.take_bytes();
        assert_eq!(out.get(&taken), [1, 2]);
        out.push_bytes(|bytes| bytes.extend([3]));
        let taken = out.take_bytes();
        assert_eq!(out.get(&taken), [3]);
    }
}
