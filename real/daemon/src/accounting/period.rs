//! When periods begin.

use std::fmt;
use std::str::FromStr;

use time::{Date, Duration};

use crate::UnixTime;

/// When periods begin, by UTC. Days are at most the 28th, which every month has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// On a day of each month.
    Month {
        /// From 1 to 28.
        day: u8,
        /// The minute of the day.
        minute: u16,
    },
    /// On a day of each week.
    Week {
        /// From 1, which is Monday, to 7.
        day: u8,
        /// The minute of the day.
        minute: u16,
    },
    /// Each day.
    Day {
        /// The minute of the day.
        minute: u16,
    },
}

impl Default for Start {
    fn default() -> Self {
        Self::Month { day: 1, minute: 0 }
    }
}

impl Start {
    /// The period in which `now` lies: its beginning, and that of the next.
    pub fn period(self, now: UnixTime) -> (UnixTime, UnixTime) {
        let minute = self.minute();
        let today = now.date();
        // Periods that begin today or before are never more than one too late.
        let first = self.begins_by(today);
        let begin = if UnixTime::of(first, minute) > now {
            self.begins_by(before(first))
        } else {
            first
        };
        let next = self.next(begin);
        (UnixTime::of(begin, minute), UnixTime::of(next, minute))
    }

    const fn minute(self) -> u16 {
        match self {
            Self::Month { minute, .. } | Self::Week { minute, .. } | Self::Day { minute } => minute,
        }
    }

    /// The last day up to this one on which a period begins.
    fn begins_by(self, day: Date) -> Date {
        match self {
            Self::Day { .. } => day,
            Self::Week { day: wanted, .. } => {
                let behind = (7 + day.weekday().number_from_monday() - wanted) % 7;
                day.saturating_sub(Duration::days(behind.into()))
            }
            Self::Month { day: wanted, .. } => {
                let behind = if day.day() >= wanted {
                    day.day() - wanted
                } else {
                    day.day() + day.month().previous().length(previous_year(day)) - wanted
                };
                day.saturating_sub(Duration::days(behind.into()))
            }
        }
    }

    /// The day on which the period ends that begins on this one.
    fn next(self, begin: Date) -> Date {
        let days = match self {
            Self::Day { .. } => 1,
            Self::Week { .. } => 7,
            Self::Month { .. } => begin.month().length(begin.year()),
        };
        begin.saturating_add(Duration::days(days.into()))
    }
}

fn before(day: Date) -> Date {
    day.saturating_sub(Duration::days(1))
}

/// The year of the month before that of a day.
fn previous_year(day: Date) -> i32 {
    day.year() - i32::from(day.month() == time::Month::January)
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Month { day, .. } => write!(f, "month {day} ")?,
            Self::Week { day, .. } => write!(f, "week {day} ")?,
            Self::Day { .. } => f.write_str("day ")?,
        }
        let minute = self.minute();
        write!(f, "{:02}:{:02}", minute / 60, minute % 60)
    }
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let day = |text: &str, most| text.parse().ok().filter(|day| (1..=most).contains(day));
        let start = match words[..] {
            ["month", on, at] => day(on, 28)
                .zip(minute(at))
                .map(|(day, minute)| Self::Month { day, minute }),
            ["week", on, at] => day(on, 7)
                .zip(minute(at))
                .map(|(day, minute)| Self::Week { day, minute }),
            ["day", at] => minute(at).map(|minute| Self::Day { minute }),
            _ => None,
        };
        start.ok_or_else(|| {
            format!(
                "\"{text}\": allowed are \"month DAY HH:MM\" with a day from 1 to 28, \
                 \"week DAY HH:MM\" with a day from 1 (Monday) to 7, and \"day HH:MM\""
            )
        })
    }
}

/// The minute of the day of a time like 23:59.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, most| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|it| digits && *it <= most)
    };
    Some(number(hour, 23)? * 60 + number(minute, 59)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn periods_begin_when_they_are_said_to() {
        for (start, now, begin, end) in [
            (
                "month 1 00:00",
                "2026-11-25T10:00:00Z",
                "2026-11-01T00:00:00Z",
                "2026-12-01T00:00:00Z",
            ),
            (
                "month 25 10:00",
                "2026-11-25T10:00:00Z",
                "2026-11-25T10:00:00Z",
                "2026-12-25T10:00:00Z",
            ),
            (
                "month 25 10:00",
                "2026-11-25T09:59:59Z",
                "2026-10-25T10:00:00Z",
                "2026-11-25T10:00:00Z",
            ),
            (
                "month 28 23:59",
                "2027-01-05T00:00:00Z",
                "2026-12-28T23:59:00Z",
                "2027-01-28T23:59:00Z",
            ),
            (
                "month 1 12:00",
                "2028-03-01T11:00:00Z",
                "2028-02-01T12:00:00Z",
                "2028-03-01T12:00:00Z",
            ),
            (
                "week 1 00:00",
                "2026-11-25T10:00:00Z",
                "2026-11-23T00:00:00Z",
                "2026-11-30T00:00:00Z",
            ),
            (
                "week 3 10:30",
                "2026-11-25T10:00:00Z",
                "2026-11-18T10:30:00Z",
                "2026-11-25T10:30:00Z",
            ),
            (
                "day 10:30",
                "2026-11-25T10:00:00Z",
                "2026-11-24T10:30:00Z",
                "2026-11-25T10:30:00Z",
            ),
        ] {
            let start: Start = start.parse().unwrap();
            let time = |text: &str| text.parse::<UnixTime>().unwrap();
            assert_eq!(
                start.period(time(now)),
                (time(begin), time(end)),
                "{start} {now}"
            );
        }
    }

    #[test]
    fn what_says_no_beginning_is_refused_with_what_is_allowed() {
        for text in [
            "",
            "month",
            "month 1",
            "month 0 00:00",
            "month 29 00:00",
            "week 8 00:00",
            "day 24:00",
            "day 1:00",
            "day 00:60",
            "day 1 00:00",
            "year 1 00:00",
            "month 1 00:00 UTC",
            "day +1:00",
        ] {
            let error = text.parse::<Start>().unwrap_err();
            assert!(error.contains("month DAY HH:MM"), "{text}: {error}");
        }
    }

    fn starts() -> impl Strategy<Value = Start> {
        let minute = 0..1440_u16;
        prop_oneof![
            (1..=28_u8, minute.clone()).prop_map(|(day, minute)| Start::Month { day, minute }),
            (1..=7_u8, minute.clone()).prop_map(|(day, minute)| Start::Week { day, minute }),
            minute.prop_map(|minute| Start::Day { minute }),
        ]
    }

    proptest! {
        #[test]
        fn every_time_lies_in_its_period_and_the_next_one_follows(
            start in starts(),
            secs in 40 * 86_400..200_000_000_000_u64,
        ) {
            let now = UnixTime::from_secs(secs);
            let (begin, end) = start.period(now);
            prop_assert!(begin <= now && now < end, "{begin} {now} {end}");
            prop_assert_eq!(start.period(begin), (begin, end));
            prop_assert_eq!(start.period(end).0, end);
            prop_assert_eq!(start.to_string().parse(), Ok(start));
        }
    }
}
