//! Numbers and text as they are shown.

use std::fmt::Write as _;

/// Text with the characters escaped that mean something in HTML and SVG; characters that XML does
/// not allow are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A number with `decimals` places, a real minus sign, and thin spaces between groups of three.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let grouped = group(whole);
    let nonzero = digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    let sign = if value < 0.0 && nonzero {
        "\u{2212}"
    } else {
        ""
    };
    format!("{sign}{grouped}{rest}")
}

/// Digits in groups of three, from five digits on.
fn group(whole: &str) -> String {
    if whole.len() < 5 {
        return whole.to_owned();
    }
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push('\u{202f}');
        }
        grouped.push(digit);
    }
    grouped
}

/// Decimal places that give `value` three significant digits, at most six.
pub(crate) fn decimals(value: f64) -> usize {
    let value = value.abs();
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    (2.0 - libm::log10(value).floor()).clamp(0.0, 6.0) as usize
}

/// A number on its own, with three significant digits or all before the point, as tables show it.
pub fn significant(value: f64) -> String {
    fixed(value, decimals(value))
}

/// Decimal places that tell ticks apart.
pub(crate) fn tick_decimals(ticks: &[f64]) -> usize {
    let needed = |tick: f64| {
        let exact = |places: &usize| {
            let unit = libm::pow(10.0, *places as f64);
            ((tick * unit).round() - tick * unit).abs() < 1e-6 * (tick * unit).abs().max(1e-3)
        };
        (0..9).find(exact).unwrap_or(9)
    };
    ticks.iter().copied().map(needed).max().unwrap_or(0)
}

/// The ticks of a linear axis, all with the places that tell them apart; numbers of more than 18
/// digits have an exponent, for they leave no room.
pub(crate) fn linear_ticks(ticks: &[f64]) -> Vec<String> {
    let greatest = ticks
        .iter()
        .fold(0.0, |most: f64, tick| most.max(tick.abs()));
    if greatest < 1e18 {
        let decimals = tick_decimals(ticks);
        return ticks.iter().map(|tick| fixed(*tick, decimals)).collect();
    }
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]);
    let step = step.fold(greatest, f64::min);
    let ticks = ticks.iter().copied();
    ticks.map(|tick| with_exponent(tick, step / 1e3)).collect()
}

/// A number with an exponent, as few digits as give it but for `error`, and a real minus sign.
fn with_exponent(value: f64, error: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let size = value.abs();
    let close = |text: &String| {
        let shown: Result<f64, _> = text.parse();
        shown.is_ok_and(|shown| (shown - size).abs() <= error)
    };
    let mut texts = (0..=16_usize).map(|places| format!("{size:.places$e}"));
    let text = texts.find(close).unwrap_or_else(|| format!("{size:e}"));
    let sign = if value < 0.0 { "\u{2212}" } else { "" };
    format!("{sign}{text}")
}

/// A tick of a logarithmic axis, each with the places that it needs itself.
pub(crate) fn log_tick(value: f64) -> String {
    let magnitude = libm::log10(value);
    if (-4.0..6.0).contains(&magnitude) {
        return fixed(value, tick_decimals(&[value]));
    }
    let power = (magnitude + 1e-9).floor();
    let factor = value / libm::pow(10.0, power);
    format!("{factor:.0}e{power}")
}

/// A number rounded for data that scripts read: five significant digits.
pub(crate) fn data(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// Text as a JSON string that may also stand inside a script element.
pub(crate) fn json(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') => {
                write!(quoted, "\\u{:04x}", c as u32).expect("a string takes every text");
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name for files and links: lower-case letters, digits and single hyphens.
pub(crate) fn slug(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            ' '
        }
    };
    let words: String = text.chars().map(plain).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    if words.is_empty() {
        "plot".to_owned()
    } else {
        words.join("-")
    }
}

/// Text in which what stands between backticks is set as code.
pub(crate) fn prose(text: &str) -> String {
    let mut html = String::new();
    for (index, part) in text.split('`').enumerate() {
        let part = escape(part);
        let is_code = index % 2 == 1;
        let (open, close) = if is_code {
            ("<code>", "</code>")
        } else {
            ("", "")
        };
        html.extend([open, &part, close]);
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_escaped_and_sets_code() {
        assert_eq!(prose("a `b<c` & d"), "a <code>b&lt;c</code> &amp; d");
    }

    #[test]
    fn numbers_are_grouped_and_signed_for_readers() {
        assert_eq!(fixed(1_234_567.0, 0), "1\u{202f}234\u{202f}567");
        assert_eq!(fixed(1234.5, 1), "1234.5");
        assert_eq!(fixed(-0.25, 2), "\u{2212}0.25");
        assert_eq!(fixed(-0.001, 1), "0.0");
    }

    #[test]
    fn decimals_give_three_significant_digits() {
        let places = [1234.0, 123.0, 12.0, 1.0, 0.123, 0.001_23, 0.0, 1e-300].map(decimals);
        assert_eq!(places, [0, 0, 1, 2, 3, 5, 0, 6]);
    }

    #[test]
    fn a_number_on_its_own_has_three_significant_digits_or_all_before_the_point() {
        let shown = [12345.0, 123.4, 12.34, -1.234, 0.0, 0.012_34].map(significant);
        let expected = [
            "12\u{202f}345",
            "123",
            "12.3",
            "\u{2212}1.23",
            "0",
            "0.0123",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn ticks_have_the_places_they_need() {
        assert_eq!(tick_decimals(&[0.0, 0.5, 1.0]), 1);
        assert_eq!(tick_decimals(&[0.0, 0.25]), 2);
        assert_eq!(tick_decimals(&[0.0, 2000.0]), 0);
        assert_eq!(
            [0.01, 1.0, 50.0, 1e9].map(log_tick),
            ["0.01", "1", "50", "1e9"]
        );
    }

    #[test]
    fn long_ticks_of_a_linear_axis_have_an_exponent() {
        assert_eq!(linear_ticks(&[0.0, 0.25, 0.5]), ["0.00", "0.25", "0.50"]);
        let ticks = linear_ticks(&[-2.5e59, 0.0, 2.5e59, 5e59, 1e60]);
        assert_eq!(ticks, ["\u{2212}2.5e59", "0", "2.5e59", "5e59", "1e60"]);
        assert_eq!(linear_ticks(&[1e20, 1.001e20]), ["1e20", "1.001e20"]);
    }

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(
            escape("<a href=\"x\">&\u{0}"),
            "&lt;a href=&quot;x&quot;&gt;&amp;\u{fffd}"
        );
        assert_eq!(
            json("</script>\"\\\n"),
            "\"\\u003c/script\\u003e\\\"\\\\\\u000a\""
        );
        assert_eq!(slug("TTFB, web & bulk/../"), "ttfb-web-bulk");
        assert_eq!(slug("…"), "plot");
    }

    #[test]
    fn data_keep_five_digits() {
        assert_eq!(
            [1.0 / 3.0, 1e6, f64::NAN].map(data),
            ["0.33333", "1000000", "null"]
        );
    }
}
