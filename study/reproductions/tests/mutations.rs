//! Whether the judge can say no: what was recorded is falsified, and must lose its "reproduced".
//!
//! The values are those of the committed records (`study/reproductions/records`).

use std::path::{Path, PathBuf};

use hopflow_reproductions::judge;
use hopflow_results::{Folder, Value, Verdict};

/// The share of falsified values that must not be called reproduced.
const LOST: f64 = 0.95;
/// Bands whose papers' values differ by less, relative to the larger, are not told apart.
const DISTINCT: f64 = 0.1;

fn records() -> Vec<(PathBuf, Vec<Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let entries = std::fs::read_dir(folder).expect("there are records");
    let mut records: Vec<_> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .map(|path| (path.clone(), Folder::open(&path).read_values().unwrap()))
        .collect();
    records.sort_by(|a, b| a.0.cmp(&b.0));
    records
}

fn is_reproduced(value: &Value) -> bool {
    value.verdict == Verdict::Reproduced
}

/// Whether a value compares two transports.
fn is_claim(value: &Value) -> bool {
    value.transport.contains(" vs ")
}

/// Falsified values, and how many of them are still called reproduced.
#[derive(Debug, Default)]
struct Count {
    all: usize,
    kept: usize,
}

impl Count {
    fn add(&mut self, falsified: &[usize], mut values: Vec<Value>) {
        judge(&mut values);
        self.all += falsified.len();
        self.kept += falsified
            .iter()
            .filter(|place| is_reproduced(&values[**place]))
            .count();
    }

    fn assert_lost(&self, what: &str, least: usize) {
        assert!(self.all >= least, "{what}: {self:?} is too few to tell");
        let lost = 1.0 - self.kept as f64 / self.all as f64;
        assert!(lost >= LOST, "{what}: {self:?}, only {lost:.3} lost");
    }
}

/// Whether two values have bands that the paper tells apart.
fn distinct(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.paper, b.paper) else {
        return false;
    };
    (a - b).abs() > DISTINCT * a.abs().max(b.abs())
}

fn give_band(from: &Value, to: &mut Value) {
    (to.paper, to.band_low, to.band_high) = (from.paper, from.band_low, from.band_high);
}

#[test]
fn records_have_the_verdicts_of_the_present_rule() {
    for (path, values) in records() {
        let mut again = values.clone();
        judge(&mut again);
        assert_eq!(again, values, "{} must be recorded anew", path.display());
    }
}

#[test]
fn shuffled_values_of_the_paper_are_not_reproduced() {
    let mut count = Count::default();
    for (_, values) in records() {
        let banded = values.iter().filter(|value| value.paper.is_some());
        let banded: Vec<&Value> = banded.filter(|value| !is_claim(value)).collect();
        // Every rotation gives each value the band of another one, of any quantity.
        for step in 1..banded.len() {
            let mut falsified = Vec::new();
            for (number, value) in banded.iter().enumerate() {
                let other = banded[(number + step) % banded.len()];
                if is_reproduced(value) && distinct(other, value) {
                    let mut shuffled = (*value).clone();
                    give_band(other, &mut shuffled);
                    falsified.push(shuffled);
                }
            }
            let all: Vec<usize> = (0..falsified.len()).collect();
            count.add(&all, falsified);
        }
    }
    count.assert_lost("shuffled", 1000);
}

#[test]
fn swapped_transports_are_not_reproduced() {
    let mut count = Count::default();
    for (_, values) in records() {
        for (first, a) in values.iter().enumerate() {
            let same = |b: &Value| b.quantity == a.quantity && b.x == a.x && distinct(a, b);
            let others = (first + 1..values.len()).filter(|place| same(&values[*place]));
            for second in others {
                let pair = [a, &values[second]];
                let mut swapped = pair.map(Value::clone).to_vec();
                give_band(pair[1], &mut swapped[0]);
                give_band(pair[0], &mut swapped[1]);
                let falsified = (0..2).filter(|place| is_reproduced(pair[*place]));
                count.add(&falsified.collect::<Vec<_>>(), swapped);
            }
        }
        // A claim of two transports the other way round.
        let mut swapped = values.clone();
        let claims = |place: &usize| is_claim(&values[*place]) && is_reproduced(&values[*place]);
        let claims: Vec<usize> = (0..values.len()).filter(claims).collect();
        for place in &claims {
            swap(&mut swapped[*place]);
        }
        count.add(&claims, swapped);
    }
    count.assert_lost("swapped", 30);
}

/// Exchanges the two transports of a difference.
fn swap(value: &mut Value) {
    let inverse = |percent: f64| 100.0 / (1.0 + percent / 100.0) - 100.0;
    let other = |number: f64| {
        if value.unit == "%" {
            inverse(number)
        } else {
            -number
        }
    };
    let (low, high) = (value.ci_high.map(other), value.ci_low.map(other));
    (value.mean, value.ci_low, value.ci_high) = (other(value.mean), low, high);
}

#[test]
fn values_within_noise_of_twice_the_band_are_not_reproduced() {
    let mut count = Count::default();
    for (_, values) in records() {
        let mut noisy = values.clone();
        let mut falsified = Vec::new();
        for (place, value) in noisy.iter_mut().enumerate() {
            let Some((low, high)) = value.band_low.zip(value.band_high) else {
                continue;
            };
            // The mean stays where it was: a judge that looks at it alone sees nothing.
            value.ci_low = Some(value.mean - (high - low));
            value.ci_high = Some(value.mean + (high - low));
            if is_reproduced(&values[place]) && high > low {
                falsified.push(place);
            }
        }
        count.add(&falsified, noisy);
    }
    count.assert_lost("noisy", 50);
}

#[test]
fn doubled_noise_is_told_from_the_recorded_one() {
    for (path, values) in records() {
        let mut noisy = values.clone();
        for value in &mut noisy {
            let (Some(low), Some(high)) = (value.ci_low, value.ci_high) else {
                continue;
            };
            value.ci_low = Some(2.0 * low - value.mean);
            value.ci_high = Some(2.0 * high - value.mean);
        }
        judge(&mut noisy);
        for (before, after) in values
            .iter()
            .zip(&noisy)
            .filter(|(value, _)| !is_claim(value))
        {
            let (Some(low), Some(high)) = (before.band_low, before.band_high) else {
                continue;
            };
            let sticks_out = |value: &Value| {
                value.ci_low.is_none_or(|end| end < low)
                    || value.ci_high.is_none_or(|end| end > high)
            };
            let lost = is_reproduced(before) && !is_reproduced(after);
            let expected = is_reproduced(before) && sticks_out(after);
            assert_eq!(lost, expected, "{}: {after:?}", path.display());
        }
    }
}
