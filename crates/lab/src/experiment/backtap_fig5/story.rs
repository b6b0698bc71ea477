//! What the page says in words.

use super::page::Values;

pub(super) const RATE: &str = "TODO";
pub(super) const BACKLOG: &str = "TODO";
pub(super) const DELAY: &str = "TODO";

pub(super) fn result(_values: Values) -> Vec<String> {
    Vec::new()
}

pub(super) fn advantage(_values: Values) -> Vec<String> {
    Vec::new()
}

pub(super) fn settling(_values: Values) -> Vec<String> {
    Vec::new()
}

/// The text with its first letter as a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
