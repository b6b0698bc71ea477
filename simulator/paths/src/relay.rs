//! A relay, as far as paths and networks depend on it.

use std::str::FromStr;

use hopflow_units::Rate;

use crate::Continent;

/// Hexadecimal digits of a fingerprint.
const FINGERPRINT_DIGITS: usize = 40;

/// A relay of the overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// What identifies the relay: its fingerprint, 40 hexadecimal digits in upper case, where it
    /// comes from a published file, or else a made-up name.
    pub name: String,
    /// Where the relay stands.
    pub continent: Continent,
    /// What the relay is willing to forward.
    pub bandwidth: Rate,
}

impl Relay {
    /// The relay that three fields of a file describe: its fingerprint, the code of its continent,
    /// and its bandwidth in bytes per second; the error is the reason why it is none.
    pub(crate) fn parse(
        fingerprint: &str,
        continent: &str,
        bandwidth: &str,
    ) -> Result<Self, String> {
        let hexadecimal = fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
        if fingerprint.len() != FINGERPRINT_DIGITS || !hexadecimal {
            return Err(format!(
                "has the fingerprint \"{fingerprint}\"; allowed are {FINGERPRINT_DIGITS} \
                 hexadecimal digits"
            ));
        }
        let continent = continent
            .parse::<Continent>()
            .map_err(|error| format!("has a continent that is unknown: {error}"))?;
        let rate = number(bandwidth).and_then(Rate::from_bytes_per_sec);
        let bandwidth = rate.ok_or_else(|| {
            format!(
                "has the bandwidth \"{bandwidth}\"; allowed are whole numbers of bytes per second \
                 from 1 to {}",
                u64::MAX
            )
        })?;
        Ok(Self {
            name: fingerprint.to_ascii_uppercase(),
            continent,
            bandwidth,
        })
    }
}

/// The number that decimal digits are; there is none where something else stands, such as a sign,
/// or where `N` has no room.
pub(crate) fn number<N: FromStr>(digits: &str) -> Option<N> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_alone() {
        assert_eq!(number("007"), Some(7_u8));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        for wrong in ["", "+5", "-5", " 5", "5 ", "256", "\u{665}"] {
            assert_eq!(number::<u8>(wrong), None, "{wrong}");
        }
        let fingerprint = "0".repeat(FINGERPRINT_DIGITS);
        let error = Relay::parse(&fingerprint, "EU", "+5").unwrap_err();
        assert!(
            error.starts_with("has the bandwidth \"+5\"; allowed are whole"),
            "{error}"
        );
    }
}
