//! What users write as a number with a unit.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Duration, Interval, ParseError, Rate};

/// A quantity that is written as a number with a unit.
pub trait Quantity: FromStr<Err = ParseError> + fmt::Display + Copy {
    /// The quantity with its article, for messages and the schema.
    const WHAT: &'static str;
    /// An example, for messages and the schema.
    const EXAMPLE: &'static str;
    /// What the text looks like, as a regular expression of JSON Schema.
    const PATTERN: &'static str = r"^\s*[0-9][0-9_.]*\s*[A-Za-z]+(/s)?\s*$";

    /// The amount in the smallest unit.
    fn amount(self) -> u64;

    /// The quantity nearest to an amount of the smallest unit.
    fn of_amount(amount: u64) -> Self;
}

impl Quantity for Duration {
    const WHAT: &'static str = "a time";
    const EXAMPLE: &'static str = "40 ms";

    fn amount(self) -> u64 {
        self.as_nanos()
    }

    fn of_amount(amount: u64) -> Self {
        Self::from_nanos(amount)
    }
}

impl Quantity for Interval {
    const WHAT: &'static str = "a time longer than zero";
    const EXAMPLE: &'static str = "40 ms";
    const PATTERN: &'static str = r"^\s*(0[0-9_.]*)?[1-9][0-9_.]*\s*[A-Za-z]+\s*$";

    fn amount(self) -> u64 {
        self.get().as_nanos()
    }

    fn of_amount(amount: u64) -> Self {
        Self::new(Duration::from_nanos(amount.max(1))).expect("a nanosecond is longer than zero")
    }
}

impl Quantity for Bytes {
    const WHAT: &'static str = "an amount of data";
    const EXAMPLE: &'static str = "5 MiB";

    fn amount(self) -> u64 {
        self.get()
    }

    fn of_amount(amount: u64) -> Self {
        Self::new(amount)
    }
}

impl Quantity for Rate {
    const WHAT: &'static str = "a rate";
    const EXAMPLE: &'static str = "1500 kB/s";

    fn amount(self) -> u64 {
        self.bytes_per_sec()
    }

    fn of_amount(amount: u64) -> Self {
        Self::from_bytes_per_sec(amount.max(1)).expect("one byte per second is a rate")
    }
}
