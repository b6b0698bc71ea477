//! A relay, as far as paths and networks depend on it.

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
        let rate = bandwidth.parse().ok().and_then(Rate::from_bytes_per_sec);
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
