//! What the parts of a network are called.

use crate::text::significant;

/// A word for one or for several.
pub(super) fn plural(count: u32, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}

/// What a column of relays is called.
pub(super) fn heading(number: usize, count: usize) -> String {
    match (number, count) {
        (1, 1) => "Relays".to_owned(),
        (1, _) => "Entry".to_owned(),
        (last, count) if last == count => "Exit".to_owned(),
        (2, 3) => "Middle".to_owned(),
        (middle, _) => format!("Middle {}", middle - 1),
    }
}

/// A rate for people.
pub(super) fn rate_text(rate: f64) -> String {
    let (value, unit) = match rate {
        r if r >= 1e9 => (r / 1e9, "GB/s"),
        r if r >= 1e6 => (r / 1e6, "MB/s"),
        r => (r / 1e3, "kB/s"),
    };
    let digits = significant(value);
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{digits} {unit}")
}

/// The power of ten of a rate in bytes per second.
pub(super) fn decade(rate: f64) -> i32 {
    libm::log10(rate.max(1.0)).floor() as i32
}

/// A power of ten of rates as a range.
pub(super) fn decade_text(decade: i32) -> String {
    let low = libm::pow(10.0, f64::from(decade));
    format!("{} – {}", rate_text(low), rate_text(10.0 * low))
}

/// The names of continents, by their codes.
const CONTINENTS: [(&str, &str); 6] = [
    ("EU", "Europe"),
    ("NA", "North America"),
    ("AS", "Asia"),
    ("SA", "South America"),
    ("AF", "Africa"),
    ("OC", "Oceania"),
];

/// What orders regions: continents first, then others by their names.
pub(super) fn rank(region: &str) -> (usize, String) {
    let known = CONTINENTS.iter().position(|(code, _)| *code == region);
    (known.unwrap_or(CONTINENTS.len()), region.to_owned())
}

/// What a region is called.
pub(super) fn region_name(region: &str) -> String {
    let known = CONTINENTS.iter().find(|(code, _)| *code == region);
    match known {
        Some((_, name)) => (*name).to_owned(),
        None if region.is_empty() => "elsewhere".to_owned(),
        None => region.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_as_short_as_can_be() {
        let shown = [3e6, 1.25e9, 453_210.0, 0.0].map(rate_text);
        assert_eq!(shown, ["3 MB/s", "1.25 GB/s", "453 kB/s", "0 kB/s"]);
        assert_eq!(decade_text(decade(2.5e6)), "1 MB/s – 10 MB/s");
    }

    #[test]
    fn continents_come_before_other_regions() {
        let mut regions = ["", "router-1", "NA", "EU"];
        regions.sort_by_key(|region| rank(region));
        assert_eq!(
            regions.map(region_name),
            ["Europe", "North America", "elsewhere", "router-1"]
        );
    }
}
