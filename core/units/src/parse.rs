//! Reading quantities with units from text.

use std::fmt;
use std::str::FromStr;

use crate::{Bytes, Duration, Interval, Rate};

/// A text that is not the quantity it should be; the message says what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    problem: String,
    allowed: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\": {}; allowed is {}",
            self.text, self.problem, self.allowed
        )
    }
}

impl std::error::Error for ParseError {}

/// Units with their size in the smallest unit (nanoseconds, bytes, bytes per second).
type Units = &'static [(&'static str, f64)];

const TIME: Units = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
];
const DATA: Units = &[
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const RATE: Units = &[
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
    ("bit/s", 0.125),
    ("kbit/s", 125.0),
    ("Mbit/s", 125e3),
    ("Gbit/s", 125e6),
];

/// Reads "number unit" and returns the amount in the smallest unit, rounded to a whole number.
fn quantity(text: &str, what: &str, units: Units) -> Result<u64, ParseError> {
    let fail = |problem: String| {
        let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
        let allowed = format!("{what}: a number and one of {}", names.join(", "));
        ParseError {
            text: text.to_owned(),
            problem,
            allowed,
        }
    };
    let trimmed = text.trim();
    let starts_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if trimmed.strip_prefix('-').is_some_and(starts_with_digit) {
        return Err(fail("is negative".to_owned()));
    }
    // The parser of numbers takes more than the schema does: "+5", ".5", "inf".
    if !starts_with_digit(trimmed) {
        return Err(fail("does not start with a digit".to_owned()));
    }
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    let Ok(number) = number.parse::<f64>() else {
        return Err(fail("does not start with a number".to_owned()));
    };
    let Some((_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        let problem = match unit {
            "" => "has no unit".to_owned(),
            unit => format!("has the unknown unit \"{unit}\""),
        };
        return Err(fail(problem));
    };
    let amount = (number * scale).round();
    // Every whole number below 2^63 survives the way through f64 to within its rounding.
    if amount >= 9.2e18 {
        return Err(fail("is too large".to_owned()));
    }
    Ok(amount as u64)
}

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, "a time", TIME).map(Self::from_nanos)
    }
}

impl FromStr for Interval {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::new(text.parse()?).ok_or_else(|| ParseError {
            text: text.to_owned(),
            problem: "is zero".to_owned(),
            allowed: "a time longer than zero".to_owned(),
        })
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, "an amount of data", DATA).map(Self::new)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let amount = quantity(text, "a rate", RATE)?;
        Self::from_bytes_per_sec(amount).ok_or_else(|| ParseError {
            text: text.to_owned(),
            problem: "is less than one byte per second".to_owned(),
            allowed: "a positive rate".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_units_of_the_field() {
        assert_eq!("1500 kB/s".parse(), Ok(Rate::from_kilobytes_per_sec(1500)));
        assert_eq!("10 Gbit/s".parse(), Ok(Rate::from_megabits_per_sec(10_000)));
        assert_eq!("40ms".parse(), Ok(Duration::from_millis(40)));
        assert_eq!("2.5 s".parse(), Ok(Duration::from_millis(2500)));
        assert_eq!("5 MiB".parse(), Ok(Bytes::new(5_242_880)));
        let two = Rate::from_bytes_per_sec(2 << 30).unwrap();
        assert_eq!("2 GiB/s".parse(), Ok(two));
        assert_eq!("5_000 B".parse(), Ok(Bytes::new(5000)));
    }

    #[test]
    fn says_what_is_allowed() {
        let message = "1500 kb/s".parse::<Rate>().unwrap_err().to_string();
        assert!(
            message.starts_with("\"1500 kb/s\": has the unknown unit \"kb/s\""),
            "{message}"
        );
        assert!(message.contains("kB/s, MB/s"), "{message}");
        assert!(
            "40".parse::<Duration>()
                .unwrap_err()
                .to_string()
                .contains("has no unit")
        );
        assert!("0 B/s".parse::<Rate>().is_err());
    }

    #[test]
    fn a_quantity_starts_with_a_digit_as_the_schema_says() {
        for (text, problem) in [
            ("-1 s", "is negative"),
            ("-0 s", "is negative"),
            ("+5 ms", "start with a digit"),
            (".5 s", "start with a digit"),
            ("_5 s", "start with a digit"),
            ("-.5 s", "start with a digit"),
            ("- 5 s", "start with a digit"),
            ("", "start with a digit"),
            ("fast", "start with a digit"),
            ("1.2.3 s", "start with a number"),
            ("5-3 s", "has the unknown unit \"-3 s\""),
        ] {
            let message = text.parse::<Duration>().unwrap_err().to_string();
            assert!(message.contains(problem), "{message}");
        }
        assert!("+5 kB".parse::<Bytes>().is_err());
        assert!("+5 kB/s".parse::<Rate>().is_err());
        assert!("+5 ms".parse::<Interval>().is_err());
        assert_eq!(" 5_0. ms ".parse(), Ok(Duration::from_millis(50)));
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for text in ["1500 kB/s", "7 B/s", "3 GB/s"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["40 ms", "1.5 ms", "300 s", "17 ns"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
    }
}
