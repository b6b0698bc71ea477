//! Lines of text, parts of which stand out.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

/// A line: pieces with their styles.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line {
    pieces: Vec<(Style, String)>,
}

/// The name of a figure.
const NAME: Style = Style::new().dimmed();
/// What names a node.
const TITLE: Style = Style::new().bold();
/// What its operator should look at.
const ALARM: Style = Style::new()
    .bold()
    .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));

/// Columns of a figure's name.
const INDENT: usize = 13;

impl Line {
    /// A line that begins with what names a node.
    pub(super) fn titled(title: &str) -> Self {
        let mut line = Self::default();
        line.pieces.push((TITLE, title.to_owned()));
        line
    }

    /// A line of a figure with this name.
    pub(super) fn named(name: &str) -> Self {
        let mut line = Self::default();
        line.pieces.push((NAME, format!("  {name:INDENT$}")));
        line
    }

    /// Text behind what there is.
    pub(super) fn plain(mut self, text: &str) -> Self {
        self.pieces.push((Style::new(), text.to_owned()));
        self
    }

    /// Text that stands out if there is cause for `alarm`.
    pub(super) fn alarming(mut self, text: &str, alarm: bool) -> Self {
        let style = if alarm { ALARM } else { Style::new() };
        self.pieces.push((style, text.to_owned()));
        self
    }

    /// The line with the styles' codes, or without; cut at `width` columns. Control characters, which a node may have
    /// sent to command the terminal, are replaced.
    pub(super) fn text(&self, styled: bool, width: usize) -> String {
        let mut text = String::new();
        let mut room = width;
        for (style, piece) in &self.pieces {
            let piece = piece.replace(char::is_control, "\u{fffd}");
            let piece: String = piece.chars().take(room).collect();
            room -= piece.chars().count();
            let written = if styled && *style != Style::new() && !piece.is_empty() {
                write!(text, "{style}{piece}{style:#}")
            } else {
                text.write_str(&piece)
            };
            written.expect("a string takes every text");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_command_a_terminal_is_replaced() {
        let line = Line::titled("a\u{1b}]0;b\u{7}").plain("\r\n\u{9b}31mc");
        let shown = "a\u{fffd}]0;b\u{fffd}\u{fffd}\u{fffd}\u{fffd}31mc";
        assert_eq!(line.text(false, usize::MAX), shown);
        assert_eq!(line.text(false, 2), "a\u{fffd}");
    }

    #[test]
    fn lines_are_cut_at_the_width_and_have_codes_only_where_they_may() {
        let line = Line::named("links")
            .plain("3 of 4, ")
            .alarming("refused 9", true);
        assert_eq!(
            line.text(false, usize::MAX),
            "  links        3 of 4, refused 9"
        );
        assert_eq!(line.text(false, 20), "  links        3 of ");
        let styled = line.text(true, 26);
        assert!(
            styled.ends_with("\u{1b}[1m\u{1b}[31mref\u{1b}[0m"),
            "{styled:?}"
        );
        assert!(!line.text(true, 20).contains("[31m"));
    }
}
