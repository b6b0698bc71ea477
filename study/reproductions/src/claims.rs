//! What a paper claims of two transports, or of a curve, measured on networks that both met.

use hopflow_results::{Value, Verdict};
use hopflow_stats::PairedDifference;

use crate::description::{Claim, Direction, Expectations, Trend};
use crate::observed::{Observed, Place};

/// The words between the two transports of a difference.
const VERSUS: &str = " vs ";
const DIFFERENCE: &str = Value::DIFFERENCE;
const CHANGE: &str = Value::CHANGE;
/// The unit of a difference of two percentages, which is no ratio.
const POINTS: &str = "points";

/// The names of the two transports, if `value` is the difference of two.
pub(super) fn pair(value: &Value) -> Option<(&str, &str)> {
    value.transport.split_once(VERSUS)
}

/// What a claim is about, without what makes it one.
pub(super) fn subject(value: &Value) -> &str {
    let name = value.quantity.trim_end_matches(DIFFERENCE);
    name.split_once(CHANGE).map_or(name, |(name, _)| name)
}

/// The x of the first of two points of a curve, as text.
pub(super) fn before(value: &Value) -> Option<&str> {
    value.quantity.split_once(CHANGE).map(|(_, x)| x)
}

/// The differences that the claims are about; [`judge`](crate::judge()) says which hold.
///
/// A difference is that of the first transport's value to the other's on the same network, in
/// percent of the other's; in the unit of the quantity, if not all values are above zero, which for a
/// quantity in percent is [`POINTS`]. Its band is the side of zero on which the paper has it; it has none
/// where the paper has a percentage and there is no ratio. A trend is the same for one transport at two
/// successive points of its curve. What no network has both of is a claim with no networks.
pub(super) fn measure(expectations: &Expectations, observed: &Observed) -> Vec<Value> {
    let claims = expectations.claims().iter().flat_map(Compared::of_claim);
    let trends = expectations.trends().iter().flat_map(Compared::of_trend);
    let compared = claims.chain(trends);
    compared.map(|compared| compared.value(observed)).collect()
}

/// Two things that a paper compares.
struct Compared<'a> {
    figure: &'a str,
    quantity: &'a str,
    /// The name of the quantity among values.
    name: String,
    transport: String,
    /// What differs, and what it differs from.
    places: [Place<'a>; 2],
    is: Direction,
}

impl<'a> Compared<'a> {
    fn of_claim(claim: &'a Claim) -> impl Iterator<Item = Self> {
        let places: Vec<Option<f64>> = match claim.x.as_slice() {
            [] => vec![None],
            xs => xs.iter().copied().map(Some).collect(),
        };
        places.into_iter().flat_map(move |x| {
            claim.from.iter().map(move |other| Self {
                figure: &claim.figure,
                quantity: &claim.quantity,
                name: format!("{}{DIFFERENCE}", claim.quantity),
                transport: format!("{}{VERSUS}{other}", claim.first),
                places: [claim.first.as_str(), other].map(|transport| Place { transport, x }),
                is: claim.is,
            })
        })
    }

    fn of_trend(trend: &'a Trend) -> impl Iterator<Item = Self> {
        let steps = trend.x.windows(2).map(|step| [step[1], step[0]]);
        trend.transports.iter().flat_map(move |transport| {
            steps.clone().map(move |step| Self {
                figure: &trend.figure,
                quantity: &trend.quantity,
                name: format!("{}{CHANGE}{}", trend.quantity, step[1]),
                transport: transport.clone(),
                places: step.map(|x| Place {
                    transport,
                    x: Some(x),
                }),
                is: trend.is,
            })
        })
    }

    fn value(self, observed: &Observed) -> Value {
        let pairs = observed.pairs(self.quantity, self.places);
        let difference = PairedDifference::of(&pairs.others, &pairs.firsts);
        let absolute = difference.map(|it| it.absolute);
        let percent = difference.and_then(|it| it.percent);
        let (unit, mean, ends) = match (absolute, percent) {
            (_, Some(percent)) => ("%", percent.mean, percent.ends),
            (Some(absolute), None) => {
                let unit = if pairs.unit == "%" {
                    POINTS
                } else {
                    pairs.unit
                };
                (unit, absolute.mean, absolute.low().zip(absolute.high()))
            }
            (None, None) => ("%", 0.0, None),
        };
        let [band_low, band_high] = self.is.band(unit == "%");
        Value {
            figure: self.figure.to_owned(),
            quantity: self.name,
            unit: unit.to_owned(),
            transport: self.transport,
            x: self.places[0].x,
            n: absolute.map_or(0, |it| it.n as u64),
            mean,
            ci_low: ends.map(|(low, _)| low),
            ci_high: ends.map(|(_, high)| high),
            paper: None,
            band_low,
            band_high,
            verdict: Verdict::NotJudged,
            wanted: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measured, judge};

    fn expectations(text: &str) -> Expectations {
        let head = "[experiment]\ntitle = ''\nsource = ''\nnotes = []\n\
                    sources = { figure = '' }\n\
                    x = { label = '', unit = '', values = [1, 2, 4] }\n";
        Expectations::parse(&format!("{head}{text}"), "").unwrap()
    }

    fn claim(is: &str) -> Expectations {
        expectations(&format!(
            "[[claims]]\nfigure = 'figure'\nquantity = 'rate'\nfirst = 'a'\nfrom = ['b']\nis = '{is}'"
        ))
    }

    fn observed(pairs: &[(f64, f64)]) -> Observed {
        observed_in("kB/s", pairs)
    }

    fn observed_in(unit: &'static str, pairs: &[(f64, f64)]) -> Observed {
        let mut observed = Observed::default();
        for (network, (a, b)) in pairs.iter().enumerate() {
            for (transport, value) in [("a", a), ("b", b)] {
                let measured = Measured::new("rate", unit, *value);
                observed.add(transport, network as u64, None, measured);
            }
        }
        observed
    }

    fn tested(expectations: &Expectations, observed: &Observed) -> Vec<Value> {
        let mut values = measure(expectations, observed);
        judge(&mut values);
        values
    }

    #[test]
    fn a_claim_holds_if_the_ratio_of_pairs_lies_on_its_side() {
        let clear = observed(&[(11.0, 10.0), (22.0, 20.0), (33.0, 30.0)]);
        let higher = &tested(&claim("higher"), &clear)[0];
        assert!((higher.mean - 10.0).abs() < 1e-9, "{}", higher.mean);
        assert_eq!(pair(higher), Some(("a", "b")));
        assert_eq!(higher.verdict, Verdict::Reproduced);
        let noisy = observed(&[(11.0, 10.0), (18.0, 20.0), (41.0, 40.0)]);
        let verdict = |is, observed| tested(&claim(is), observed)[0].verdict;
        assert_eq!(verdict("higher", &noisy), Verdict::Undecided);
        assert_eq!(verdict("lower", &clear), Verdict::NotReproduced);
    }

    #[test]
    fn zeros_are_compared_in_the_quantity_s_own_unit() {
        let none = observed(&[(0.0, 10.0), (0.0, 11.0), (0.0, 9.0)]);
        let lower = &tested(&claim("lower"), &none)[0];
        assert_eq!((lower.unit.as_str(), lower.mean), ("kB/s", -10.0));
        assert_eq!(lower.verdict, Verdict::Reproduced);
    }

    #[test]
    fn differences_of_percentages_with_zeros_are_points_and_no_ratios() {
        let none = observed_in("%", &[(0.0, 100.0), (0.0, 100.0), (0.0, 60.0)]);
        let lower = &tested(&claim("lower"), &none)[0];
        assert_eq!(lower.unit, "points");
        assert!((lower.mean + 260.0 / 3.0).abs() < 1e-9, "{}", lower.mean);
        assert_eq!(lower.verdict, Verdict::Reproduced);
        let some = observed_in("%", &[(10.0, 20.0), (20.0, 40.0), (30.0, 61.0)]);
        let lower = &tested(&claim("lower"), &some)[0];
        assert_eq!(lower.unit, "%");
    }

    #[test]
    fn networks_that_only_one_transport_met_do_not_count() {
        let mut observed = observed(&[(11.0, 10.0), (11.0, 10.1), (11.0, 9.9)]);
        observed.add("a", 9, None, Measured::new("rate", "kB/s", 1e6));
        assert_eq!(tested(&claim("higher"), &observed)[0].n, 3);
    }

    #[test]
    fn a_claim_that_no_network_tells_of_is_undecided_and_stays_in_its_family() {
        let mut apart = Observed::default();
        apart.add("a", 1, None, Measured::new("rate", "kB/s", 10.0));
        apart.add("b", 2, None, Measured::new("rate", "kB/s", 20.0));
        for observed in [apart, Observed::default()] {
            let values = tested(&claim("higher"), &observed);
            assert_eq!(values.len(), 1);
            let claim = &values[0];
            assert_eq!((claim.n, claim.mean, claim.ci_low), (0, 0.0, None));
            assert_eq!((claim.band_low, claim.band_high), (Some(0.0), None));
            assert_eq!((claim.verdict, claim.wanted), (Verdict::Undecided, None));
            assert!(claim.is_unmeasured_claim());
        }
        let rising = expectations(
            "[[trends]]\nfigure = 'figure'\nquantity = 'rate'\ntransports = ['a']\n\
             x = [1, 2, 4]\nis = 'higher'",
        );
        assert_eq!(tested(&rising, &Observed::default()).len(), 2);
    }

    #[test]
    fn a_percentage_is_undecided_where_there_is_no_ratio() {
        let zero = observed(&[(0.0, 0.0), (0.0, 0.0), (5.0, 5.0)]);
        for is in ["{ within = 2 }", "{ not-below = 2 }"] {
            let claim = expectations(&format!(
                "[[claims]]\nfigure = 'figure'\nquantity = 'rate'\nfirst = 'a'\nfrom = ['b']\nis = {is}"
            ));
            let claim = &tested(&claim, &zero)[0];
            assert_eq!((claim.unit.as_str(), claim.n), ("kB/s", 3));
            assert_eq!((claim.band_low, claim.band_high), (None, None));
            assert_eq!((claim.verdict, claim.wanted), (Verdict::Undecided, None));
        }
    }

    #[test]
    fn a_trend_has_a_verdict_for_every_step() {
        let rising = expectations(
            "[[trends]]\nfigure = 'figure'\nquantity = 'rate'\ntransports = ['a']\n\
             x = [1, 2, 4]\nis = 'higher'",
        );
        let mut observed = Observed::default();
        for (network, noise) in [(1, 0.995), (2, 1.0), (3, 1.005)] {
            for (x, value) in [(1.0, 10.0), (2.0, 15.0 * noise), (4.0, 14.0)] {
                observed.add("a", network, Some(x), Measured::new("rate", "kB/s", value));
            }
        }
        let steps = tested(&rising, &observed);
        assert_eq!(steps[0].quantity, "rate: change from 1");
        assert_eq!(subject(&steps[0]), "rate");
        assert_eq!(
            steps.iter().map(|s| s.x).collect::<Vec<_>>(),
            [Some(2.0), Some(4.0)]
        );
        assert_eq!(steps[0].verdict, Verdict::Reproduced);
        assert_eq!(steps[1].verdict, Verdict::NotReproduced);
    }
}
