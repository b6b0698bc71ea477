//! How many relays and circuits there are: shares of a network, and circuits that arrive over time.

use hopflow_units::Duration;

use super::limits::{Check, LARGEST_COUNT, fail};
use super::network::at_once;
use super::{Circuits, Distribution, Scenario, Source, TorPath};

impl Scenario {
    /// Puts numbers in place of `scale` and `per-second`, so that nothing else needs to know
    /// of them, and what is not given of a group's `count` and `start`.
    pub(super) fn resolve_counts(&mut self) -> Check {
        let scale = self.scale.take();
        if let Some(scale) = scale {
            self.resize(scale)?;
        }
        let (duration, part) = (self.duration.0, self.branch_at().unwrap_or_default());
        for (variant, key, group) in self.groups_mut() {
            let span = variant.map_or(duration, |_| duration.saturating_sub(part));
            group.resolve(&key, span, scale)?;
        }
        Ok(())
    }

    /// Scales all but the groups of circuits.
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
        // What is too few as it is written stays so, for the check to report.
        let least = TorPath::SHORTEST;
        if source.relays >= least {
            source.relays = scaled(source.relays.into(), scale).max(least.into()) as u32;
        }
        for group in &mut self.network.cross {
            group.count = scaled(group.count.into(), scale) as u32;
        }
        Ok(())
    }
}

impl Circuits {
    /// Settles how many circuits there are, and when their users start, of whom some may in `span`.
    fn resolve(&mut self, key: &str, span: Duration, scale: Option<f64>) -> Check {
        match self.per_second.take() {
            Some(rate) => self.resolve_rate(key, rate, span, scale)?,
            None => {
                // Zero is a number that is not given.
                let count = scaled(self.count.into(), scale.unwrap_or(1.0));
                self.count = count.max(1.0) as u32;
            }
        }
        self.start.get_or_insert_with(at_once);
        Ok(())
    }

    fn resolve_rate(&mut self, key: &str, rate: f64, span: Duration, scale: Option<f64>) -> Check {
        let of_rate = format!("{key}.per-second");
        if self.count != 0 {
            let problem =
                "says how many circuits there are: allowed is either this key, or `count`";
            return fail(&of_rate, problem);
        }
        let count = circuits_at(rate, span, scale.unwrap_or(1.0));
        if !(1.0..=LARGEST_COUNT as f64).contains(&count) {
            let scale = scale.map_or(String::new(), |scale| format!(" at a scale of {scale}"));
            return fail(
                &of_rate,
                format!(
                    "{rate} per second are {count} circuits in {span}{scale}; allowed are 1 to \
                     {LARGEST_COUNT}"
                ),
            );
        }
        self.count = count as u32;
        self.check_all_start(key, span)?;
        if self.start.is_none() && self.arrivals.is_none() {
            self.start = Some(Distribution::Uniform(Duration::ZERO, span));
        }
        Ok(())
    }

    /// A rate says how many users start before the end: checks that none starts after it.
    fn check_all_start(&self, key: &str, span: Duration) -> Check {
        let (name, last) = match (&self.arrivals, &self.start) {
            (Some(load), _) => {
                load.check(&format!("{key}.arrivals"))?;
                ("arrivals", load.last())
            }
            (None, Some(start)) => ("start", start.largest()),
            (None, None) => return Ok(()),
        };
        if last > span {
            let problem = format!(
                "lets users start up to \"{last}\"; beside `per-second`, which says how many start \
                 in \"{span}\", allowed are times up to that"
            );
            return fail(&format!("{key}.{name}"), problem);
        }
        Ok(())
    }
}

/// How many circuits a rate makes in a time, in so large a part of the network.
fn circuits_at(rate: f64, span: Duration, scale: f64) -> f64 {
    let whole = rate * span.as_secs_f64();
    if whole.round() >= 1.0 {
        return scaled(whole.round(), scale);
    }
    // Not one circuit, unless the network is enlarged.
    (whole * scale).round()
}

/// The whole number nearest to a multiple of another; 1 at least, but of none there is none.
fn scaled(count: f64, scale: f64) -> f64 {
    (count * scale).round().max(count.min(1.0))
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
        assert_eq!(group.start, Some(span));
        let at_once = parse("", "per-second = 2.0\nstart = \"0 s\"").unwrap();
        let group = &at_once.circuits[0];
        assert_eq!((group.count, &group.start), (40, &Some(super::at_once())));
    }

    #[test]
    fn limits_are_those_of_the_network_that_is_simulated() {
        let count = |head: &str, rate: &str| {
            let found = parse(head, &format!("per-second = {rate}"));
            found.map(|scenario| scenario.circuits[0].count)
        };
        // 2,000,000 circuits of the whole network, and 0.4.
        assert_eq!(count("scale = 0.01", "1e5"), Ok(20_000));
        assert_eq!(count("scale = 10", "0.02"), Ok(4));
        // The whole network's number is rounded first: 3 of it, not 2.6.
        assert_eq!(count("scale = 10", "0.13"), Ok(30));
        assert_eq!(count("scale = 0.001", "0.13"), Ok(1));
        for (head, rate, expected) in [
            (
                "scale = 10",
                "1e4",
                "circuits[0].per-second: 10000 per second are 2000000 circuits in 20 s at a scale of \
                 10; allowed are 1 to 1000000",
            ),
            (
                "scale = 0.1",
                "0.02",
                "are 0 circuits in 20 s at a scale of 0.1",
            ),
            ("scale = 10", "-1.0", "are -200 circuits"),
            ("scale = 10", "nan", "are NaN circuits"),
        ] {
            let error = count(head, rate).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_not_given_is_the_default() {
        let scenario = parse("", "").unwrap();
        assert_eq!(
            scenario.circuits,
            parse("", "count = 1\nstart = \"0 s\"").unwrap().circuits
        );
        let arrive = parse("", "arrivals = [[\"0 s\", 1], [\"20 s\", 1]]").unwrap();
        assert_eq!(arrive.circuits[0].start, Some(at_once()));
        for scenario in [scenario, arrive] {
            let again = Scenario::parse(&scenario.to_toml(), "again.toml").unwrap();
            assert_eq!(again, scenario);
        }
    }

    #[test]
    fn all_users_of_a_rate_start_before_the_end() {
        let rate = |times: &str| parse("", &format!("per-second = 4.0\n{times}"));
        for times in [
            "arrivals = [[\"0 s\", 1], [\"20 s\", 1]]",
            "arrivals = [[\"0 s\", 1], [\"20 s\", 0], [\"50 s\", 0]]",
            "start = { uniform = [\"5 s\", \"20 s\"] }",
        ] {
            let scenario = rate(times).unwrap();
            assert_eq!(scenario.circuits[0].count, 80, "{times}");
        }
        for (times, expected) in [
            (
                "arrivals = [[\"0 s\", 1], [\"50 s\", 1]]",
                "circuits[0].arrivals: lets users start up to \"50 s\"; beside `per-second`, which \
                 says how many start in \"20 s\", allowed are times up to that",
            ),
            (
                "start = { uniform = [\"5 s\", \"21 s\"] }",
                "circuits[0].start: lets users start up to \"21 s\"",
            ),
            (
                "arrivals = [[\"9 s\", 1], [\"5 s\", 1]]",
                "circuits[0].arrivals[1]: ",
            ),
        ] {
            let error = rate(times).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn all_users_of_a_variants_rate_start_before_the_end() {
        let crowd = "[branch]\nat = \"15 s\"\n[[branch.variants]]\nname = \"crowd\"\n\
                     [[branch.variants.circuits]]\nper-second = 4.0\npath = { tor = 3 }\n\
                     workload = \"web\"\n";
        let with = |start: &str| parse("", &format!("{crowd}{start}"));
        assert_eq!(
            with("start = \"5 s\"")
                .unwrap_err()
                .matches("nobody")
                .count(),
            1
        );
        assert_eq!(with("").unwrap().circuit_count(), 21);
        let error = with("start = { uniform = [\"0 s\", \"6 s\"] }").unwrap_err();
        let expected = "branch.variants[0].circuits[0].start: lets users start up to \"6 s\"";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn numbers_that_are_errors_stay_so_at_every_scale() {
        for scale in [0.1, 1.0, 100.0] {
            let error = |relays: u32, servers: u32| {
                let text = format!(
                    "scale = {scale:?}\nname = \"none\"\nduration = \"1 s\"\nseeds = 1\n\
                     [transports.vanilla]\n\
                     [network]\nsource = {{ population = {{ relays = {relays} }} }}\n\
                     [[network.relays]]\nname = \"a\"\n\
                     [[network.cross]]\ncount = {servers}\nto = \"a\"\n\
                     [[circuits]]\npath = {{ random = 2 }}\nworkload = \"web\"\n"
                );
                let found = Scenario::parse(&text, "none.toml").unwrap_err();
                found.to_string()
            };
            for relays in [0, 2] {
                let found = error(relays, 1);
                let expected = format!(
                    "network.source.population.relays: {relays} is outside of what is allowed: 3"
                );
                assert!(found.contains(&expected), "{found}");
            }
            let found = error(10, 0);
            let expected = "network.cross[0].count: 0 is outside of what is allowed: 1";
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn errors_name_the_key_and_what_is_allowed() {
        for (head, keys, expected) in [
            ("scale = 0.0", "", "scale: is 0; allowed is above 0 to 1000"),
            (
                "",
                "per-second = 5.0\ncount = 1",
                "circuits[0].per-second: says how many circuits there are",
            ),
            (
                "scale = 0.5",
                "count = 0",
                "circuits[0].count: 0 is outside of what is allowed: 1 to 1000000",
            ),
            (
                "",
                "start = \"1 s\"\narrivals = [[\"0 s\", 1], [\"20 s\", 1]]",
                "circuits[0].start: conflicts with `arrivals`",
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
