//! Numbers on the command line.

use std::fmt::Display;
use std::str::FromStr;

/// Takes whole numbers from 1 to `most`.
pub(crate) fn positive<N>(most: N) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: FromStr + Display + Copy + PartialOrd,
{
    move |text| {
        let number = text.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| format!("allowed are whole numbers from 1 to {most}"))
    }
}
