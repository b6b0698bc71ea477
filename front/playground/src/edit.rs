//! Changing a scenario's text.

use hopflow_config::InputError;
use toml_edit::{DocumentMut, Item, Table, Value};

/// The text with another value at a path of keys and indices, which slashes join. Tables that are
/// missing are made.
pub(crate) fn set(text: &str, path: &str, value: &str) -> Result<String, InputError> {
    let unreadable = |error: toml_edit::TomlError| InputError::new(error.to_string());
    let mut document: DocumentMut = text.parse().map_err(unreadable)?;
    let value: Value = value.parse().map_err(unreadable)?;
    let mut at = document.as_item_mut();
    for part in path.split('/') {
        at = step(at, part)
            .ok_or_else(|| InputError::at(path, format!("there is no {part} to change")))?;
    }
    match at.as_value_mut() {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => *at = Item::Value(value),
    }
    Ok(document.to_string())
}

fn step<'a>(at: &'a mut Item, part: &str) -> Option<&'a mut Item> {
    if let Ok(index) = part.parse::<usize>() {
        return at.get_mut(index);
    }
    if at.is_none() {
        *at = Item::Table(Table::new());
    }
    at.is_table_like().then(|| &mut at[part])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# why\na = \"1 ms\" # unit\n\n[[b]]\nc = { d = 1 }\n\n[t.x]\n";

    #[test]
    fn comments_and_order_stay() {
        let set = |path, value| set(TEXT, path, value).unwrap();
        assert_eq!(set("a", "\"2 ms\""), TEXT.replace("1 ms", "2 ms"));
        assert_eq!(set("b/0/c/d", "7"), TEXT.replace("d = 1", "d = 7"));
        let made = set("t/x/options/alpha", "3");
        assert_eq!(made, format!("{TEXT}\n[t.x.options]\nalpha = 3\n"));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(set(TEXT, "b/1/c", "1").is_err(), "no second table");
        assert!(set(TEXT, "a/b", "1").is_err(), "a value has no keys");
        assert!(set(TEXT, "a", "1 2").is_err(), "not a value");
        assert!(set("a = ", "a", "1").is_err(), "not TOML");
    }
}
