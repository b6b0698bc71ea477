//! What is solved, and how much work may be spent on it.

use std::error::Error;
use std::fmt;

/// Which of the two published problems is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The journal's problem (25), with the misprint in (23) mended: `r_out = r^max - Δr_out`.
    /// It has the virtual rate (16)-(18), which asks the successor for more than it grants.
    Printed,
    /// The problem in the authors' public code: no virtual rate, the incoming rate weighted ten
    /// times the outgoing one, and the first incoming rates pinned to what the source announced.
    Coded,
}

/// The longest horizon that is accepted, in steps.
const MAX_HORIZON: usize = 32;

/// The parameters of the problem and of its solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Which problem is solved.
    pub form: Form,
    /// Steps planned ahead, 2 to 32. Both the paper and the code plan 10.
    pub horizon: usize,
    /// Weight of a step in relation to the step before it, above 0 and at most 1; the paper's d.
    pub discount: f64,
    /// The rate r^max that every circuit is drawn to, in multiples of the capacity of its side; at
    /// least 1. The code uses 1; the printed form needs 4/3 for one circuit to fill a relay.
    pub r_max: f64,
    /// For how many steps the incoming rates are held to what the source announced, at most the
    /// horizon. Printed: bounded by it. Coded: equal to it, or water-filled where the sum of what
    /// sources announced exceeds the capacity. Circuits whose source is an edge are free. Where
    /// successors' plans are read from step 2 on this must be 2: with less circuits can stall,
    /// with more they stop.
    pub pin: usize,
    /// The part of a fair share (the capacity over the busy circuits), 0 to 1, that the circuits
    /// keep of a step whose rates are not pinned in it; they share it. Coded form only. Where pins
    /// leave less, it comes on top of the capacity: a source that announces what it does not send
    /// cannot stop the others. The paper and the code keep nothing.
    pub reserve: f64,
    /// Longest queue of a circuit, in cells; the paper's s^max. Soft: exceeded only where it must
    /// be, at a price above that of any rate. Below two steps of the capacity a circuit that is
    /// alone does not fill a relay; more than that only makes queues longer.
    pub queue_limit: f64,
    /// The proven gap at which the solver stops, relative to the square of the mean rate, per
    /// circuit: with 1e-6 and `n` circuits a rate of the first step is within `1e-3 * sqrt(n)` of a
    /// mean rate even if all of the gap is in this one; later steps count less.
    pub tolerance: f64,
    /// Most iterations of a solve, 1 to 200.
    pub max_iterations: u32,
}

impl Config {
    /// The defaults for `form`.
    pub fn new(form: Form) -> Self {
        Self {
            form,
            horizon: 10,
            discount: 1.0 / 3.0,
            r_max: match form {
                Form::Printed => 2.0,
                Form::Coded => 1.0,
            },
            pin: 2,
            reserve: 0.0,
            queue_limit: 100.0,
            tolerance: 1e-6,
            max_iterations: 60,
        }
    }

    /// Whether every value is allowed.
    ///
    /// # Errors
    /// Names the first key whose value is not, and what is allowed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self {
            discount,
            r_max,
            reserve,
            queue_limit,
            tolerance,
            ..
        } = *self;
        check(
            "horizon",
            self.horizon,
            (2..=MAX_HORIZON).contains(&self.horizon),
            "2 to 32",
        )?;
        check(
            "discount",
            discount,
            discount > 0.0 && discount <= 1.0,
            "above 0, at most 1",
        )?;
        check("r_max", r_max, (1.0..=1e3).contains(&r_max), "1 to 1000")?;
        check(
            "pin",
            self.pin,
            self.pin <= self.horizon,
            "0 to the horizon",
        )?;
        check("reserve", reserve, (0.0..=1.0).contains(&reserve), "0 to 1")?;
        check(
            "queue_limit",
            queue_limit,
            (0.0..=1e9).contains(&queue_limit),
            "0 to 1e9 cells",
        )?;
        check(
            "tolerance",
            tolerance,
            (1e-12..=1.0).contains(&tolerance),
            "1e-12 to 1",
        )?;
        let iterations = self.max_iterations;
        check(
            "max_iterations",
            iterations,
            (1..=200).contains(&iterations),
            "1 to 200",
        )
    }
}

/// An error that names `key` unless `valid`.
fn check(
    key: &'static str,
    value: impl fmt::Display,
    valid: bool,
    allowed: &'static str,
) -> Result<(), ConfigError> {
    if valid {
        Ok(())
    } else {
        Err(ConfigError {
            key,
            value: value.to_string(),
            allowed,
        })
    }
}

/// A value of [`Config`] that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    key: &'static str,
    value: String,
    allowed: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} = {} is not allowed (allowed: {})",
            self.key, self.value, self.allowed
        )
    }
}

impl Error for ConfigError {}

/// How much work a solve may do. It is counted and not timed, so that results do not depend on how
/// fast a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Most iterations; the work of one is linear in the circuits. With 0 the plans are greedy.
    pub iterations: u32,
}

impl Default for Budget {
    /// No bound but the configuration's.
    fn default() -> Self {
        Self {
            iterations: u32::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_allowed() {
        assert_eq!(Config::new(Form::Printed).validate(), Ok(()));
        assert_eq!(Config::new(Form::Coded).validate(), Ok(()));
    }

    #[test]
    fn errors_name_the_key_the_value_and_what_is_allowed() {
        let config = Config {
            r_max: f64::NAN,
            ..Config::new(Form::Coded)
        };
        let error = config.validate().unwrap_err().to_string();
        assert_eq!(error, "r_max = NaN is not allowed (allowed: 1 to 1000)");
    }
}
