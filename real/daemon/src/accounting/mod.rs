//! A limit on what a relay moves in a month, a week or a day, as Tor's `AccountingMax`.
//!
//! Nothing here reads a clock or counts bytes: both are arguments.

mod period;

use std::fmt;
use std::path::{Path, PathBuf};

use hopflow_units::Bytes;
use serde::{Deserialize, Serialize};
use tracing::warn;

pub use period::Start;

use crate::{InputError, UnixTime, private, read, write_whole};

/// The file of counts, in the folder of keys.
const FILE: &str = "accounting.toml";

/// The most that a file of counts can say.
const MOST: u64 = i64::MAX as u64;

/// A limit, and the periods for which it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Accounting {
    /// What the relay sends at most in a period, and what it receives at most.
    #[serde(with = "read::as_text")]
    pub max: Bytes,
    /// When periods begin, by UTC; "month 1 00:00" by default.
    #[serde(default, with = "read::as_text")]
    pub start: Start,
}

/// How a relay stands to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What was moved in this period.
    pub moved: Traffic,
    /// The limit, in each direction.
    pub max: Bytes,
    /// When the period ends.
    pub end: UnixTime,
    /// Whether the limit is reached: the relay rests until the end.
    pub spent: bool,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Traffic { sent, received }, max) = (self.moved, self.max);
        let (sent, received) = (Bytes::new(sent), Bytes::new(received));
        write!(
            f,
            "sent {sent} and received {received} of {max} until {}",
            self.end
        )?;
        f.write_str(if self.spent { ", hibernates" } else { "" })
    }
}

/// Bytes that were moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
}

impl Traffic {
    /// What was moved since it was `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
        }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, more: Self) -> Self {
        Self {
            sent: self.sent.saturating_add(more.sent),
            received: self.received.saturating_add(more.received),
        }
    }
}

/// What was moved in a period, as its file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// When the period began.
    begin: UnixTime,
    sent: u64,
    received: u64,
}

/// The counts of the present period.
#[derive(Clone, Debug)]
pub struct Ledger {
    accounting: Accounting,
    file: PathBuf,
    counts: Counts,
    /// What the file holds.
    saved: Option<Counts>,
}

impl Ledger {
    /// The ledger of a relay with this folder of keys, at the time `now`.
    ///
    /// # Errors
    /// If there is a file of counts that cannot be read.
    pub fn open(accounting: Accounting, folder: &Path, now: UnixTime) -> Result<Self, InputError> {
        let file = folder.join(FILE);
        let saved: Option<Counts> = if file.exists() {
            let counts = read::file(&file).and_then(|text| read::toml(&text));
            Some(counts.map_err(|error| error.in_file(&file))?)
        } else {
            None
        };
        let begin = accounting.start.period(now).0;
        if let Some(Counts { begin: later, .. }) = saved.filter(|saved| saved.begin > now) {
            warn!(
                begin = %later,
                "the counts of {} are of a later period than the clock's: they hold until that one ends; if the clock \
                 was wrong then, remove the file",
                file.display()
            );
        }
        let counts = saved.unwrap_or(Counts {
            begin,
            sent: 0,
            received: 0,
        });
        let mut ledger = Self {
            accounting,
            file,
            counts,
            saved,
        };
        ledger.advance(now, Traffic::default());
        Ok(ledger)
    }

    /// Counts what was `moved` until `now`.
    ///
    /// A period that is over takes its counts with it. If the clock went back, period and counts are kept, whether it
    /// comes right again or not: a clock that is wrong wins no bytes.
    pub fn advance(&mut self, now: UnixTime, moved: Traffic) {
        let (begin, _) = self.accounting.start.period(now);
        let counts = &mut self.counts;
        if begin > counts.begin {
            (counts.begin, counts.sent, counts.received) = (begin, 0, 0);
        }
        counts.sent = counts.sent.saturating_add(moved.sent).min(MOST);
        counts.received = counts.received.saturating_add(moved.received).min(MOST);
    }

    /// How things stand. The limit is reached when one direction has come to it.
    pub fn standing(&self) -> Standing {
        let Counts { sent, received, .. } = self.counts;
        Standing {
            moved: Traffic { sent, received },
            max: self.accounting.max,
            end: self.accounting.start.period(self.counts.begin).1,
            spent: sent.max(received) >= self.accounting.max.get(),
        }
    }

    /// Writes the counts if they changed since. Others see the file as it was or as it is, and only its
    /// owner can read it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&mut self) -> Result<(), InputError> {
        if self.saved == Some(self.counts) {
            return Ok(());
        }
        let text = toml::to_string(&self.counts).expect("counts have a TOML form");
        write_whole(&self.file, text.as_bytes(), private::OWNERS).map_err(|cause| {
            InputError::new(format!("cannot be written: {cause}")).in_file(&self.file)
        })?;
        self.saved = Some(self.counts);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
