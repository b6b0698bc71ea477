//! How many relays and circuits there are: shares of a network, and circuits that arrive over time.

use hopflow_units::Duration;

use super::limits::{Check, LARGEST_COUNT, fail};
use super::network::at_once;
use super::{Circuits, Distribution, Scenario, Source, TorPath};

impl Scenario {
    /// Puts numbers in place of `scale` and `per-second`, so that nothing else needs to know
    /// of them.
    pub(super) fn resolve_counts(&mut self) -> Check {
        let (duration, part) = (self.duration.0, self.branch_at().unwrap_or_default());
        for (variant, key, group) in self.groups_mut() {
            let span = variant.map_or(duration, |_| duration.saturating_sub(part));
            group.resolve_rate(&key, span)?;
        }
        match self.scale.take() {
            Some(scale) => self.resize(scale),
            None => Ok(()),
        }
    }

    fn resize(&mut self, scale: f64) -> Check {
        if !(scale > 0.0 && scale <= 1000.0) {
            return fail(
                "scale",
                format!(
                    "is {scale}; allowed is above 0 to 1000: 1 is the network as it is written"
                ),
            );
        }
        let Some(Source::Population(source)) = &mut self.network.source else {
            let problem = "is for networks whose relays come from a population; needed is \
                           `network.source = { population = { relays = ... } }`";
            return fail("scale", problem);
        };
        source.relays = scaled(source.relays, scale).max(TorPath::SHORTEST);
        for (_, _, group) in self.groups_mut() {
            group.count = scaled(group.count, scale);
        }
        for group in &mut self.network.cross {
            group.count = scaled(group.count, scale);
        }
        Ok(())
    }
}

impl Circuits {
    fn resolve_rate(&mut self, key: &str, duration: Duration) -> Check {
        let Some(rate) = self.per_second.take() else {
            return Ok(());
        };
        let key = format!("{key}.per-second");
        if self.count != 1 {
            let problem =
                "says how many circuits there are: allowed is either this key, or `count`";
            return fail(&key, problem);
        }
        let count = (rate * duration.as_secs_f64()).round();
        if !(1.0..=LARGEST_COUNT as f64).contains(&count) {
            return fail(
                &key,
                format!(
                    "{rate} per second are {count} circuits in {duration}; allowed are 1 to \
                     {LARGEST_COUNT}"
                ),
            );
        }
        self.count = count as u32;
        if self.start == at_once() && self.arrivals.is_none() {
            self.start = Distribution::Uniform(Duration::ZERO, duration);
        }
        Ok(())
    }
}

/// The number nearest to a multiple of another; 1 at least.
fn scaled(count: u32, scale: f64) -> u32 {
    (f64::from(count) * scale).round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str, keys: &str) -> Result<Scenario, String> {
        let text = format!(
            "{head}\nname = \"part\"\nduration = \"20 s\"\nseeds = 1\n\
             [transports.vanilla]\n\
             [network]\nsource = {{ population = {{ relays = 1000 }} }}\n\
             [[circuits]]\npath = {{ tor = 3 }}\nworkload = \"web\"\n{keys}\n"
        );
        Scenario::parse(&text, "part.toml").map_err(|error| error.to_string())
    }

    fn numbers(scenario: &Scenario) -> (u64, u32) {
        (scenario.relay_count(), scenario.circuits[0].count)
    }

    #[test]
    fn relays_and_circuits_are_scaled_alike() {
        let whole = parse("", "count = 400").unwrap();
        assert_eq!(numbers(&whole), (1000, 400));
        let tenth = parse("scale = 0.1", "count = 400").unwrap();
        assert_eq!(numbers(&tenth), (100, 40));
        let least = parse("scale = 0.001", "count = 400").unwrap();
        assert_eq!(numbers(&least), (3, 1), "the fewest that have a path");
        let written = parse("", "count = 40").unwrap();
        assert_eq!(tenth.circuits, written.circuits, "it is as if written so");
    }

    #[test]
    fn circuits_arrive_over_the_whole_duration() {
        let scenario = parse("scale = 0.5", "per-second = 12.5").unwrap();
        let group = &scenario.circuits[0];
        assert_eq!(group.count, 125);
        let span = Distribution::Uniform(Duration::ZERO, Duration::from_secs(20));
        assert_eq!(group.start, span);
    }

    #[test]
    fn errors_name_the_key_and_what_is_allowed() {
        for (head, keys, expected) in [
            ("scale = 0.0", "", "scale: is 0; allowed is above 0 to 1000"),
            (
                "",
                "per-second = 5.0\ncount = 3",
                "circuits[0].per-second: says how many circuits there are",
            ),
            (
                "",
                "per-second = 1e9",
                "1000000000 per second are 20000000000 circuits in 20 s; allowed are 1 to 1000000",
            ),
        ] {
            let error = parse(head, keys).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let text = "scale = 0.5\nname = \"star\"\nduration = \"1 s\"\nseeds = 1\n\
                    [transports.vanilla]\n[network]\n[[network.relays]]\nname = \"a\"\ncount = 3\n\
                    [[circuits]]\npath = { random = 3 }\nworkload = \"web\"\n";
        let error = Scenario::parse(text, "star.toml").unwrap_err().to_string();
        assert!(
            error.contains("scale: is for networks whose relays come from a population"),
            "{error}"
        );
    }
}
