//! Reading the options of a transport's layers from a scenario.

use std::fmt::Display;
use std::str::FromStr;

use hopflow_overlay::ConfigError;
use hopflow_units::{Bytes, Cells, Duration, Rate};
use toml::{Table, Value};

/// Options by key, which also remembers what was asked for and what came of it.
#[derive(Debug)]
pub struct Options {
    table: Table,
    resolved: Vec<(&'static str, String)>,
}

impl Options {
    /// Options from tables; later ones win.
    pub fn new<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Self {
        let mut merged = Table::new();
        for table in tables {
            merged.extend(
                table
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        Self {
            table: merged,
            resolved: Vec::new(),
        }
    }

    /// A whole number of cells of at least `min`.
    ///
    /// # Errors
    /// If the value is none.
    pub fn cells(
        &mut self,
        key: &'static str,
        default: Cells,
        min: Cells,
    ) -> Result<Cells, ConfigError> {
        let allowed = || format!("a whole number of cells, at least {}", min.get());
        let cells = match self.table.get(key) {
            None => default,
            Some(Value::Integer(cells)) if u64::try_from(*cells).is_ok_and(|n| n >= min.get()) => {
                Cells::new(*cells as u64)
            }
            Some(other) => return Err(ConfigError::new(key, other, allowed())),
        };
        Ok(self.resolve(key, cells, cells.get()))
    }

    /// A time such as `"10 ms"`.
    ///
    /// # Errors
    /// If the value is none.
    pub fn duration(
        &mut self,
        key: &'static str,
        default: Duration,
    ) -> Result<Duration, ConfigError> {
        let duration = self
            .parse(key, "a time such as \"10 ms\"")?
            .unwrap_or(default);
        Ok(self.resolve(key, duration, duration))
    }

    /// A positive time such as `"10 ms"`.
    ///
    /// # Errors
    /// If the value is none.
    pub fn interval(
        &mut self,
        key: &'static str,
        default: Duration,
    ) -> Result<Duration, ConfigError> {
        let interval = self.duration(key, default)?;
        if interval.is_zero() {
            return Err(ConfigError::new(key, interval, "a time longer than zero"));
        }
        Ok(interval)
    }

    /// An amount of data such as `"64 KiB"`.
    ///
    /// # Errors
    /// If the value is none.
    pub fn bytes(&mut self, key: &'static str, default: Bytes) -> Result<Bytes, ConfigError> {
        let bytes = self
            .parse(key, "an amount of data such as \"64 KiB\"")?
            .unwrap_or(default);
        Ok(self.resolve(key, bytes, bytes))
    }

    /// A rate such as `"1 MB/s"`.
    ///
    /// # Errors
    /// If the value is none.
    pub fn rate(&mut self, key: &'static str, default: Rate) -> Result<Rate, ConfigError> {
        let rate = self.parse(key, "a rate such as \"1 MB/s\"")?;
        let rate = rate.unwrap_or(default);
        Ok(self.resolve(key, rate, rate))
    }

    /// A whole number within bounds.
    ///
    /// # Errors
    /// If the value is none.
    pub fn count(
        &mut self,
        key: &'static str,
        default: u32,
        (min, max): (u32, u32),
    ) -> Result<u32, ConfigError> {
        let allowed = || format!("a whole number from {min} to {max}");
        let count = match self.table.get(key) {
            None => default,
            Some(given) => {
                let number = given.as_integer().and_then(|n| u32::try_from(n).ok());
                number
                    .filter(|n| (min..=max).contains(n))
                    .ok_or_else(|| ConfigError::new(key, given, allowed()))?
            }
        };
        Ok(self.resolve(key, count, count))
    }

    /// A number within bounds.
    ///
    /// # Errors
    /// If the value is none.
    pub fn number(
        &mut self,
        key: &'static str,
        default: f64,
        (min, max): (f64, f64),
    ) -> Result<f64, ConfigError> {
        let allowed = || format!("a number from {min} to {max}");
        let number = match self.table.get(key) {
            None => default,
            Some(given) => {
                let whole = given.as_integer().map(|n| n as f64);
                let number = given.as_float().or(whole);
                number
                    .filter(|n| (min..=max).contains(n))
                    .ok_or_else(|| ConfigError::new(key, given, allowed()))?
            }
        };
        Ok(self.resolve(key, number, number))
    }

    /// One of several names.
    ///
    /// # Errors
    /// If the value is none of them.
    pub fn choice<V: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        default: V,
        choices: &[(&'static str, V)],
    ) -> Result<V, ConfigError> {
        let value = match self.table.get(key) {
            None => default,
            Some(given) => {
                let name = given.as_str();
                let found = choices.iter().find(|(choice, _)| Some(*choice) == name);
                let Some((_, value)) = found else {
                    let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
                    return Err(ConfigError::new(key, given, names.join(", ")));
                };
                *value
            }
        };
        let name = choices
            .iter()
            .find(|(_, choice)| *choice == value)
            .map_or("", |(name, _)| name);
        Ok(self.resolve(key, value, name))
    }

    /// True or false.
    ///
    /// # Errors
    /// If the value is neither.
    pub fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, ConfigError> {
        let flag = match self.table.get(key) {
            None => default,
            Some(Value::Boolean(flag)) => *flag,
            Some(other) => return Err(ConfigError::new(key, other, "true or false")),
        };
        Ok(self.resolve(key, flag, flag))
    }

    /// Checks that every given key was asked for, and returns all keys with their values.
    ///
    /// # Errors
    /// If a key is unknown; the error suggests the nearest known one.
    pub fn finish(self) -> Result<Vec<(&'static str, String)>, ConfigError> {
        let known: Vec<_> = self.resolved.iter().map(|(key, _)| *key).collect();
        match self.table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(self.resolved),
            Some(unknown) => Err(ConfigError::new(unknown, "", unknown_name(unknown, &known))),
        }
    }

    fn parse<V: FromStr<Err: Display>>(
        &self,
        key: &str,
        allowed: &str,
    ) -> Result<Option<V>, ConfigError> {
        match self.table.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(error) => Err(ConfigError::new(key, "", V::Err::to_string(&error))),
            },
            Some(other) => Err(ConfigError::new(key, other, allowed)),
        }
    }

    fn resolve<V>(&mut self, key: &'static str, value: V, shown: impl Display) -> V {
        // Two layers may read the same option.
        if !self.resolved.iter().any(|(known, _)| *known == key) {
            self.resolved.push((key, shown.to_string()));
        }
        value
    }
}

/// Says that a name is unknown, which one may have been meant, and which there are.
pub(crate) fn unknown_name(name: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .min_by_key(|other| strsim::damerau_levenshtein(name, other));
    let near = nearest.filter(|other| strsim::jaro_winkler(name, other) > 0.75);
    let hint = near.map_or(String::new(), |near| format!(" did you mean `{near}`?"));
    format!("unknown;{hint} allowed is one of {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        Options::new([&text.parse::<Table>().unwrap()])
    }

    #[test]
    fn what_is_not_given_keeps_its_default() {
        let mut options = options("alpha = 3");
        assert_eq!(
            options.cells("alpha", Cells::new(2), Cells::ZERO),
            Ok(Cells::new(3))
        );
        assert_eq!(
            options.cells("beta", Cells::new(4), Cells::ZERO),
            Ok(Cells::new(4))
        );
        let resolved = options.finish().unwrap();
        assert_eq!(
            resolved,
            [("alpha", "3".to_owned()), ("beta", "4".to_owned())]
        );
    }

    #[test]
    fn errors_name_key_value_and_what_is_allowed() {
        let error = options("alpha = -1")
            .cells("alpha", Cells::ZERO, Cells::ZERO)
            .unwrap_err();
        let text = "`alpha` is -1; allowed is a whole number of cells, at least 0";
        assert_eq!(error.to_string(), text);
        let error = options("refill = \"10 mss\"")
            .duration("refill", Duration::ZERO)
            .unwrap_err();
        assert!(
            error.to_string().contains("unknown unit \"mss\""),
            "{error}"
        );
        let mut misspelt = options("alhpa = 3");
        misspelt.cells("alpha", Cells::ZERO, Cells::ZERO).unwrap();
        let error = misspelt.finish().unwrap_err();
        assert!(
            error.to_string().contains("did you mean `alpha`?"),
            "{error}"
        );
    }
}
