//! Points in time of the calendar.

use std::fmt;
use std::str::FromStr;

use hopflow_units::Duration;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::value::{Date, Datetime, Offset, Time};

const DAY: u64 = 24 * 60 * 60;

/// A point in time: seconds since 1970-01-01 00:00 UTC, leap seconds not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixTime(u64);

impl UnixTime {
    /// The last second of the year 9999.
    pub const MAX: Self = Self(253_402_300_799);

    /// The time `secs` seconds after the beginning of 1970, or [`MAX`](Self::MAX).
    pub fn from_secs(secs: u64) -> Self {
        Self(secs).min(Self::MAX)
    }

    /// Seconds since the beginning of 1970.
    pub const fn as_secs(self) -> u64 {
        self.0
    }

    /// The time `span` later, in whole seconds.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self::from_secs(self.0.saturating_add(span.as_nanos() / 1_000_000_000))
    }

    fn datetime(self) -> Datetime {
        let (year, month, day) = date_of(self.0 / DAY);
        let second = (self.0 % DAY) as u32;
        Datetime {
            date: Some(Date { year, month, day }),
            time: Some(Time {
                hour: (second / 3600) as u8,
                minute: (second / 60 % 60) as u8,
                second: Some((second % 60) as u8),
                nanosecond: None,
            }),
            offset: Some(Offset::Z),
        }
    }

    fn from_datetime(datetime: &Datetime) -> Option<Self> {
        let (date, time) = (datetime.date?, datetime.time?);
        let offset = match datetime.offset? {
            Offset::Z => 0,
            Offset::Custom { minutes } => 60 * i64::from(minutes),
        };
        let day = i64::try_from(day_of(date)?).ok()?;
        let minute = i64::from(time.hour) * 60 + i64::from(time.minute);
        let second = minute * 60 + i64::from(time.second.unwrap_or(0));
        let secs = day * DAY as i64 + second - offset;
        u64::try_from(secs).ok().map(Self::from_secs)
    }
}

/// Days in the 400 years after which the Gregorian calendar repeats.
const CYCLE: u64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01. Years that begin in March have their leap day at the end.
const EPOCH: u64 = 719_468;

/// Year, month and day of a day since 1970-01-01.
fn date_of(day: u64) -> (u16, u8, u8) {
    let since = day + EPOCH;
    let of_cycle = since % CYCLE;
    let year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    // Five months from March on, and from August on, have 153 days.
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = 400 * (since / CYCLE) + year_of_cycle + u64::from(month <= 2);
    let day_of_month = of_year - (153 * from_march + 2) / 5 + 1;
    (year as u16, month as u8, day_of_month as u8)
}

/// The day since 1970-01-01 of a date; none if there is no such day or it lies before.
fn day_of(date: Date) -> Option<u64> {
    let month = u64::from(date.month);
    let year = u64::from(date.year).checked_sub(u64::from(month <= 2))?;
    let from_march = (month + 9) % 12;
    let of_year = (153 * from_march + 2) / 5 + u64::from(date.day).checked_sub(1)?;
    let of_cycle = year % 400 * 365 + year % 400 / 4 - year % 400 / 100 + of_year;
    let day = (year / 400 * CYCLE + of_cycle).checked_sub(EPOCH)?;
    (date_of(day) == (date.year, date.month, date.day)).then_some(day)
}

impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.datetime(), f)
    }
}

impl FromStr for UnixTime {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let datetime = text.parse().ok();
        datetime
            .as_ref()
            .and_then(Self::from_datetime)
            .ok_or_else(|| not_a_time(text))
    }
}

fn not_a_time(text: impl fmt::Display) -> String {
    format!("{text}: allowed is a time from 1970 on with its zone, such as 2026-08-01T12:00:00Z")
}

impl Serialize for UnixTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.datetime().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UnixTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let datetime = Datetime::deserialize(deserializer)?;
        Self::from_datetime(&datetime).ok_or_else(|| D::Error::custom(not_a_time(datetime)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times_are_read_and_written() {
        for (text, secs) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-08-01T12:00:00Z", 1_785_585_600),
            ("9999-12-31T23:59:59Z", UnixTime::MAX.as_secs()),
        ] {
            assert_eq!(UnixTime::from_secs(secs).to_string(), text);
            assert_eq!(text.parse(), Ok(UnixTime(secs)), "{text}");
        }
        assert_eq!(
            "2026-08-01T14:30:00+02:30".parse(),
            Ok(UnixTime(1_785_585_600))
        );
    }

    #[test]
    fn a_time_without_zone_or_day_is_refused() {
        for text in [
            "2026-08-01T12:00:00",
            "2026-08-01",
            "12:00:00",
            "2025-02-29T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "soon",
        ] {
            assert!(text.parse::<UnixTime>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(secs in 0..=UnixTime::MAX.as_secs()) {
            let time = UnixTime::from_secs(secs);
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}
