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

    /// The day in which the time lies.
    pub(crate) fn date(self) -> time::Date {
        calendar_day(self.0 / DAY)
    }

    /// A minute of a day; the first of all times if the day lies before it.
    pub(crate) fn of(day: time::Date, minute: u16) -> Self {
        let days = u64::try_from(day.to_julian_day() - EPOCH).unwrap_or(0);
        Self::from_secs(days * DAY + u64::from(minute) * 60)
    }

    fn datetime(self) -> Datetime {
        let second = (self.0 % DAY) as u32;
        Datetime {
            date: Some(date_of(self.0 / DAY)),
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
        // Leap seconds are not counted, nor fractions: what is read must be written as the same time.
        if time.nanosecond.unwrap_or(0) > 0 || time.second.unwrap_or(0) > 59 {
            return None;
        }
        let offset = match datetime.offset? {
            Offset::Z => 0,
            Offset::Custom { minutes } => 60 * i64::from(minutes),
        };
        let day = i64::try_from(day_of(date)?).ok()?;
        let minute = i64::from(time.hour) * 60 + i64::from(time.minute);
        let second = minute * 60 + i64::from(time.second.unwrap_or(0));
        let secs = day * DAY as i64 + second - offset;
        let time = u64::try_from(secs).ok().map(Self);
        time.filter(|time| *time <= Self::MAX)
    }
}

/// The day 1970-01-01, as astronomers count days.
const EPOCH: i32 = 2_440_588;

/// A day since 1970-01-01.
fn calendar_day(day: u64) -> time::Date {
    let day = time::Date::from_julian_day(EPOCH + day as i32);
    day.expect("the year is at most 9999")
}

/// Year, month and day of a day since 1970-01-01.
fn date_of(day: u64) -> Date {
    let (year, month, day) = calendar_day(day).to_calendar_date();
    Date {
        year: year as u16,
        month: month.into(),
        day,
    }
}

/// The day since 1970-01-01 of a date; none if there is no such day or it lies before.
fn day_of(date: Date) -> Option<u64> {
    let month = date.month.try_into().ok()?;
    let day = time::Date::from_calendar_date(date.year.into(), month, date.day).ok()?;
    u64::try_from(day.to_julian_day() - EPOCH).ok()
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
    format!(
        "{text}: allowed is a time in whole seconds from 1970 to 9999 with its zone, such as 2026-08-01T12:00:00Z"
    )
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
    fn a_time_without_zone_or_day_or_that_would_be_written_as_another_is_refused() {
        for text in [
            "2026-08-01T12:00:00",
            "2026-08-01",
            "12:00:00",
            "2025-02-29T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-08-01T12:00:00.5Z",
            "2026-08-01T12:00:60Z",
            "9999-12-31T23:59:59-01:00",
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
