//! Files that grow, and how much all of them may hold.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::private;

/// Bytes that are kept before they are written.
const BUFFER: usize = 32 * 1024;

/// A file that is whole after each write: what is behind its last element is written again each time.
#[derive(Debug)]
pub(super) struct Growing {
    file: File,
    /// Where the next element goes.
    at: u64,
    waiting: Vec<u8>,
    end: &'static [u8],
}

impl Growing {
    /// A file that did not exist before, with its end.
    pub(super) fn create(path: &Path, end: &'static [u8]) -> io::Result<Self> {
        Ok(Self {
            file: private::create(path, private::OWNERS)?,
            at: 0,
            waiting: Vec::with_capacity(BUFFER),
            end,
        })
    }

    /// Appends an element. It must not be shorter than the file's end, except with the first one.
    pub(super) fn push(&mut self, element: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(element);
        if self.waiting.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let len = self.waiting.len();
        self.waiting.extend_from_slice(self.end);
        let written = self.write_at_end();
        if written.is_err() {
            self.waiting.truncate(len);
            // What was whole before is whole again, if the disk still takes that.
            let _ = self.restore();
            return written;
        }
        self.waiting.clear();
        self.at += len as u64;
        Ok(())
    }

    fn write_at_end(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.at))?;
        self.file.write_all(&self.waiting)
    }

    fn restore(&mut self) -> io::Result<()> {
        self.file.set_len(self.at)?;
        self.file.seek(SeekFrom::Start(self.at))?;
        self.file
            .write_all(if self.at == 0 { b"" } else { self.end })
    }
}

/// Bytes that may still be written into all files together.
#[derive(Debug)]
pub(super) struct Budget(pub(super) u64);

impl Budget {
    /// Takes so many bytes; false if there are not that many.
    pub(super) const fn take(&mut self, len: usize) -> bool {
        match self.0.checked_sub(len as u64) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}
