//! Changing values of a TOML text, whose comments and order stay.

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

use crate::{InputError, allowed};

/// The text with another value at a key; tables that are missing are made.
///
/// A key is names with dots between them. A name with other letters than a bare key of TOML has stands in
/// quotation marks. A member of a list is `[NUMBER]`, counted from 0, or the one whose `name` it is; `[*]` are all. The
/// value is TOML; what is none, such as `2 MB/s`, is text.
///
/// # Errors
/// If the text is no TOML, or the key is none or leads to something that is not there.
///
/// ```
/// let text = "[[relays]]\nname = \"exit\" # the slow one\nrate = \"1 MB/s\"\n";
/// let changed = hopflow_config::set(text, "relays[exit].rate", "2 MB/s")?;
/// assert_eq!(changed, text.replace("1 MB/s", "2 MB/s"));
/// # Ok::<_, hopflow_config::InputError>(())
/// ```
pub fn set(text: &str, key: &str, value: &str) -> Result<String, InputError> {
    let steps = steps(key)?;
    let value = value.parse().unwrap_or_else(|_| Value::from(value));
    let document = text.parse::<DocumentMut>();
    let mut document = document.map_err(|error| InputError::new(error.to_string()))?;
    let refused = |problem| InputError::at(key, problem);
    put(document.as_item_mut(), &steps, &value).map_err(refused)?;
    Ok(document.to_string())
}

/// A part of a key.
#[derive(Debug, PartialEq)]
enum Step {
    /// A key of a table.
    Name(String),
    /// What stands in brackets behind a list's.
    Member(String),
}

/// The parts of a key.
fn steps(key: &str) -> Result<Vec<Step>, InputError> {
    let (mut steps, mut rest) = (Vec::new(), key);
    let parts = || {
        loop {
            let (name, behind) = name(rest)?;
            steps.push(Step::Name(name.to_owned()));
            rest = behind;
            while let Some(inside) = rest.strip_prefix('[') {
                let (member, behind) = inside.split_once(']')?;
                steps.push(Step::Member(member.to_owned()));
                rest = behind;
            }
            if rest.is_empty() {
                return Some(steps);
            }
            rest = rest.strip_prefix('.')?;
        }
    };
    let problem = "it is no key; allowed are names with dots between them, such as network.bucket.rate, \
                   circuits[1].count or network.relays[exit].bucket.rate";
    parts().ok_or_else(|| InputError::at(key, problem))
}

/// The name with which a key begins, and what follows it.
fn name(key: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = key.strip_prefix('"') {
        return quoted.split_once('"');
    }
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let end = key.find(|letter| !is_bare(letter)).unwrap_or(key.len());
    (end > 0).then(|| key.split_at(end))
}

/// Puts a value where the steps lead to, or says why they do not.
fn put(at: &mut Item, steps: &[Step], value: &Value) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        replace(at, value.clone());
        return Ok(());
    };
    match step {
        Step::Name(name) => {
            if !at.is_table_like() {
                let found = at.type_name();
                return Err(format!(
                    "{name} would stand in a value of type {found}; allowed is a key of a table"
                ));
            }
            let is_inline = at.is_inline_table();
            let inner = &mut at[name.as_str()];
            if inner.is_none() && !rest.is_empty() {
                *inner = if is_inline {
                    Item::Value(InlineTable::new().into())
                } else {
                    Item::Table(Table::new())
                };
            }
            put(inner, rest, value)
        }
        Step::Member(member) => {
            let mut members = members(at, member)?.into_iter();
            members.try_for_each(|number| put(&mut at[number], rest, value))
        }
    }
}

/// Puts a value in the place of another, with what stands around it.
fn replace(at: &mut Item, mut value: Value) {
    if let Some(old) = at.as_value() {
        *value.decor_mut() = old.decor().clone();
    }
    *at = Item::Value(value);
}

/// Which members of a list are meant.
fn members(list: &Item, wanted: &str) -> Result<Vec<usize>, String> {
    let len = match list {
        Item::ArrayOfTables(tables) => tables.len(),
        Item::Value(Value::Array(values)) => values.len(),
        other => {
            let found = other.type_name();
            return Err(format!(
                "[{wanted}] stands behind a value of type {found}; allowed is a list"
            ));
        }
    };
    if wanted == "*" {
        return Ok((0..len).collect());
    }
    if let Ok(number) = wanted.parse::<usize>() {
        let problem =
            || format!("there is no [{wanted}]; allowed are numbers from 0, less than {len}");
        return (number < len).then(|| vec![number]).ok_or_else(problem);
    }
    let name = |number: &usize| list[*number].get("name")?.as_str();
    let named = (0..len).find(|number| name(number) == Some(wanted));
    named.map(|number| vec![number]).ok_or_else(|| {
        let names: Vec<_> = (0..len).filter_map(|number| name(&number)).collect();
        let names = names.into_iter().chain(["numbers from 0 on", "*"]);
        format!("nothing is called [{wanted}]; {}", allowed(wanted, names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# why\na = \"1 ms\" # unit\n\n[[b]]\nname = \"x\"\nc = { d = 1 }\n\n[[b]]\nc = { d = 2 }\n\n[t.x]\n";

    fn refusal(text: &str, key: &str) -> String {
        set(text, key, "1").unwrap_err().to_string()
    }

    #[test]
    fn comments_and_order_stay() {
        let set = |key, value| set(TEXT, key, value).unwrap();
        assert_eq!(set("a", "\"2 ms\""), TEXT.replace("1 ms", "2 ms"));
        assert_eq!(set("b[1].c.d", "7"), TEXT.replace("d = 2", "d = 7"));
        assert_eq!(set("b[x].c.d", "7"), TEXT.replace("d = 1", "d = 7"));
        let all = TEXT.replace("d = 1", "d = 7").replace("d = 2", "d = 7");
        assert_eq!(set("b[*].c.d", "7"), all);
        let made = set("t.x.options.alpha", "3");
        assert_eq!(made, format!("{TEXT}\n[t.x.options]\nalpha = 3\n"));
        let made = set("t.\"x y\".z", "3");
        assert_eq!(made, format!("{TEXT}\n[t.\"x y\"]\nz = 3\n"));
        let made = set("b[0].c.e.f", "3");
        assert_eq!(made, TEXT.replace("d = 1 }", "d = 1 , e = { f = 3 } }"));
    }

    #[test]
    fn what_is_no_value_is_text() {
        let set = |value| set("a = 1\n", "a", value).unwrap();
        for value in ["2", "0.5", "true", "[1, 2]", "{ b = 1 }", "\"2\""] {
            assert_eq!(set(value), format!("a = {value}\n"));
        }
        for text in ["2 MB/s", "joint", "5..40", ""] {
            assert_eq!(set(text), format!("a = \"{text}\"\n"));
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(refusal(TEXT, "b[2].c").contains("b[2].c: there is no [2]; allowed"));
        assert!(refusal(TEXT, "b[xx].c").contains("did you mean \"x\"?"));
        assert!(refusal(TEXT, "a[0]").contains("allowed is a list"));
        assert!(refusal(TEXT, "a.b").contains("a key of a table"));
        for key in ["", ".a", "a.", "a b", "[0]", "b[0", "b[0]c", "\"a"] {
            assert!(refusal(TEXT, key).contains("it is no key"), "{key}");
        }
        assert!(!refusal("a = ", "a").is_empty(), "no TOML");
    }
}
