//! Lines of the format `OpenMetrics`, in which nodes serve their metrics.

/// A value of a metric, and what it is a value of.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values of labels, in the order of the line.
    pub labels: Vec<(String, String)>,
    /// The value, which may be infinite or not a number.
    pub value: f64,
}

impl Sample {
    /// Name and sample of a line `NAME{LABEL="VALUE",...} NUMBER`, perhaps with a time behind it;
    /// `None` if it is something else. Names are of letters, digits, `_` and `:`; values of labels may have any
    /// characters, which who shows them on a terminal must replace.
    pub fn read(line: &str) -> Option<(&str, Self)> {
        let end = line.find(['{', ' '])?;
        let (name, mut rest) = line.split_at(end);
        if !is_name(name) {
            return None;
        }
        let mut labels = Vec::new();
        if let Some(open) = rest.strip_prefix('{') {
            rest = open;
            while !rest.starts_with('}') {
                let (label, behind) = rest.split_once("=\"")?;
                if !is_name(label) {
                    return None;
                }
                let (value, behind) = quoted(behind)?;
                labels.push((label.to_owned(), value));
                rest = behind.strip_prefix(',').unwrap_or(behind);
            }
            rest = &rest[1..];
        }
        let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
        Some((name, Self { labels, value }))
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        let mut named = self.labels.iter().filter(|(label, _)| label == name);
        named.next().map(|(_, value)| value.as_str())
    }
}

/// Whether a metric or a label may be called so.
fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    !text.is_empty() && text.bytes().all(fits)
}

/// The text up to the closing quotation mark, and what is behind that.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_nothing_that_commands_a_terminal() {
        let (name, sample) = Sample::read("a_b:c9{d=\"x\\n\"} 1").unwrap();
        assert_eq!((name, sample.label("d")), ("a_b:c9", Some("x\n")));
        for line in ["a\u{1b}[31m 1", "a{d\u{9b}31m=\"x\"} 1", " 1"] {
            assert_eq!(Sample::read(line), None, "{line:?}");
        }
    }
}
