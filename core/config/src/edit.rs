//! Changing values of a TOML text, whose comments and order stay.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TomlError, Value};

use crate::{InputError, allowed};

/// The text with another value at a key; tables that are missing are made.
///
/// A key is names with dots between them. A name with other letters than a bare key of TOML has stands in
/// quotation marks. A member of a list is `[NUMBER]`, counted from 0, or the one whose `name` it is; `[*]` are all. The
/// value is TOML; words that are none, such as `2 MB/s`, are text.
///
/// # Errors
/// If the text is no TOML, the key is none or leads to something that is not there, or the value begins as TOML and is
/// none.
///
/// ```
/// let text = "[[relays]]\nname = \"exit\" # the slow one\nrate = \"1 MB/s\"\n";
/// let changed = hopflow_config::set(text, "relays[exit].rate", "2 MB/s")?;
/// assert_eq!(changed, text.replace("1 MB/s", "2 MB/s"));
/// # Ok::<_, hopflow_config::InputError>(())
/// ```
pub fn set(text: &str, key: &str, value: &str) -> Result<String, InputError> {
    let steps = steps(key)?;
    let refused = |problem| InputError::at(key, problem);
    let value = parse(value).map_err(refused)?;
    let document = text.parse::<DocumentMut>();
    let mut document = document.map_err(|error| InputError::new(one_line(&error)))?;
    put(document.as_item_mut(), &steps, &value).map_err(refused)?;
    Ok(document.to_string())
}

/// A value as TOML or, if it is only words, as text.
fn parse(value: &str) -> Result<Value, String> {
    value.parse().or_else(|error: TomlError| {
        if value.starts_with(['[', '{', '"', '\'']) {
            return Err(format!("{value} is no value of TOML: {}", one_line(&error)));
        }
        Ok(Value::from(value))
    })
}

fn one_line(error: &TomlError) -> String {
    error.message().replace('\n', ", ")
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
                   circuits[1].count or network.relays[exit].bucket.rate; a name with others than \
                   English letters, digits, - and _ stands in quotation marks";
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
            check_table(at, name, rest)?;
            let is_inline = at.is_inline_table();
            // A new table is written like those beside it.
            let is_table = !rest.is_empty()
                || value.is_inline_table() && at.as_table().is_some_and(has_sections);
            let inner = &mut at[name.as_str()];
            if inner.is_none() && is_table {
                *inner = if is_inline {
                    Item::Value(InlineTable::new().into())
                } else {
                    Item::Table(Table::new())
                };
            }
            put(inner, rest, value)
        }
        Step::Member(member) => {
            if rest.is_empty() && at.is_array_of_tables() && !value.is_inline_table() {
                return Err(format!(
                    "[{member}] is a table, and {value} is none; allowed is a table"
                ));
            }
            let mut members = members(at, member)?.into_iter();
            members.try_for_each(|number| put(&mut at[number], rest, value))
        }
    }
}

/// Whether what is of this name can stand in `at`, and the members that are asked for next can be in it.
fn check_table(at: &Item, name: &str, next: &[Step]) -> Result<(), String> {
    let Some(table) = at.as_table_like() else {
        let found = at.as_value().map(|value| value.clone().decorated("", ""));
        let found = found.map_or(String::new(), |value| value.to_string());
        let found = found.lines().next().unwrap_or("a list of tables");
        let is_list = at.is_array_of_tables() || at.is_array();
        let instead = if is_list {
            "a member of it is [NUMBER] or [NAME], and [*] are all".to_owned()
        } else {
            format!(
                "where a table may stand, set that as a whole, such as {{ {name} = … }} with what else it needs"
            )
        };
        return Err(format!(
            "{name} would stand in {found}, which is no table; {instead}"
        ));
    };
    if matches!(next, [Step::Member(_), ..]) && !table.contains_key(name) {
        let keys = table.iter().map(|(key, _)| key);
        return Err(format!(
            "there is no list \"{name}\"; {}",
            allowed(name, keys)
        ));
    }
    Ok(())
}

/// Whether what is in a table are sections of the text.
fn has_sections(table: &Table) -> bool {
    let is_section = |item: &Item| item.as_table().is_some_and(|table| !table.is_dotted());
    let all = || !table.is_empty() && table.iter().all(|(_, item)| is_section(item));
    !table.is_dotted() && (table.is_implicit() || all())
}

/// Puts a value in the place of another, with what stands around it. A section of the text stays one if it can.
fn replace(at: &mut Item, value: Value) {
    *at = match (&*at, value) {
        // Of dotted keys nothing is left in an empty table.
        (Item::Table(old), Value::InlineTable(new)) if !old.is_dotted() || !new.is_empty() => {
            let mut table = new.into_table();
            *table.decor_mut() = old.decor().clone();
            table.set_position(old.position());
            table.set_dotted(old.is_dotted());
            Item::Table(table)
        }
        (Item::Value(old), mut new) => {
            *new.decor_mut() = old.decor().clone();
            Item::Value(new)
        }
        (_, new) => Item::Value(new),
    };
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
        let problem = || match len {
            0 => format!("there is no [{wanted}]: the list is empty"),
            _ => format!("there is no [{wanted}]; allowed are numbers from 0, less than {len}"),
        };
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

    fn refusal_of(key: &str, value: &str) -> String {
        set(TEXT, key, value).unwrap_err().to_string()
    }

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
    fn members_and_sections_are_replaced_where_they_stand() {
        let set = |key, value| set(TEXT, key, value).unwrap();
        let first = "name = \"x\"\nc = { d = 1 }\n";
        assert_eq!(set("b[0]", "{ e = 5 }"), TEXT.replace(first, "e = 5\n"));
        assert_eq!(set("b[x]", "{ e = 5 }"), TEXT.replace(first, "e = 5\n"));
        let all = set("b[*]", "{ e = 5 }");
        assert_eq!(all.matches("[[b]]\ne = 5\n").count(), 2, "{all}");
        for value in ["5", "x", "[1]"] {
            assert!(refusal_of("b[0]", value).contains("allowed is a table"));
        }
        assert_eq!(set("t.x", "{ e = 5 }"), format!("{TEXT}e = 5\n"));
    }

    #[test]
    fn sections_keep_their_order_and_new_ones_come_last() {
        let text = "a = 1\n[t.x]\nb = 1\n[t.y]\n[u]\nc.d = 1\n";
        let set = |key, value| set(text, key, value).unwrap();
        let changed = text.replace("[t.y]\n", "[t.y]\nb = 2\n");
        assert_eq!(set("t.y", "{ b = 2 }"), changed);
        let made = set("t.z", "{}");
        let order: Vec<_> = made.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(order, ["[t.x]", "[t.y]", "[t.z]", "[u]"], "{made}");
        assert_eq!(set("u.c.d", "2"), text.replace("c.d = 1", "c.d = 2"));
        let made = set("u.e", "{ f = 1 }");
        assert_eq!(made, format!("{text}e = {{ f = 1 }}\n"));
        let changed = text.replace("c.d = 1\n", "c.d = 1\nc.e = { f = 1 }\n");
        assert_eq!(set("u.c.e", "{ f = 1 }"), changed);
        assert_eq!(set("u.c", "{ e = 2 }"), text.replace("c.d = 1", "c.e = 2"));
        assert_eq!(set("u.c", "{}"), text.replace("c.d = 1", "c = {}"));
        let list = "l = [{ name = \"x\", m = 1 }]\n";
        let changed = super::set(list, "l[x].m", "2").unwrap();
        assert_eq!(changed, list.replace("m = 1", "m = 2"));
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
        for wrong in ["[x, y]", "[1, 2", "{ b }", "\"x"] {
            let message = refusal_of("a", wrong);
            assert!(message.contains("is no value of TOML"), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(refusal(TEXT, "b[2].c").contains("b[2].c: there is no [2]; allowed"));
        assert!(refusal(TEXT, "b[xx].c").contains("did you mean \"x\"?"));
        assert!(refusal(TEXT, "a[0]").contains("allowed is a list"));
        assert!(refusal(TEXT, "a.b").contains("b would stand in \"1 ms\", which is no table"));
        assert!(refusal(TEXT, "b.c").contains("c would stand in a list of tables"));
        assert!(refusal(TEXT, "b.c").contains("a member of it is [NUMBER]"));
        for key in ["", ".a", "a.", "a b", "[0]", "b[0", "b[0]c", "\"a"] {
            assert!(refusal(TEXT, key).contains("it is no key"), "{key}");
        }
        assert!(refusal(TEXT, "bb[0].c").contains("no list \"bb\"; did you mean \"b\"?"));
        assert!(refusal("b = []", "b[0]").contains("the list is empty"));
        assert_eq!(refusal("a = ", "a").lines().count(), 1, "no TOML");
    }
}
