//! Tables on the page: numbers aligned at their decimal point, intervals in a column of their own.

use hopflow_results::Verdict;

use crate::model::{Cell, Column, Table};
use crate::text::{decimals, escape, fixed};

/// Columns up to which a table is no wider than it needs to be.
const COMPACT: usize = 3;

/// The table with its caption.
pub(super) fn render(table: &Table) -> String {
    let formats: Vec<Format> = (0..table.columns.len())
        .map(|index| Format::of(table, index))
        .collect();
    let head: String = table
        .columns
        .iter()
        .zip(&formats)
        .map(|(c, f)| heading(c, f))
        .collect();
    let row = |row: &Vec<Cell>| {
        let cells = row.iter().zip(&formats).enumerate();
        let cells: String = cells
            .map(|(index, (cell, format))| self::cell(cell, format, index))
            .collect();
        format!("<tr>{cells}</tr>")
    };
    let body: String = table.rows.iter().map(row).collect();
    let size = if table.columns.len() <= COMPACT {
        "table compact"
    } else {
        "table"
    };
    let caption = escape(&table.caption);
    // Outside of what scrolls, so that a narrow page can break its lines.
    format!(
        "<p class=\"caption\">{caption}</p><div class=\"{size}\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\
         <table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
    )
}

/// How the numbers of a column are written, so that they can be compared at a glance.
struct Format {
    numeric: bool,
    decimals: usize,
    /// Width of the widest interval, in digits.
    interval: usize,
}

impl Format {
    fn of(table: &Table, index: usize) -> Self {
        let cells = || table.rows.iter().filter_map(|row| row.get(index));
        let numeric = |cell: &Cell| {
            use Cell::{Count, Number, Range};
            matches!(cell, Number { .. } | Count(_) | Range(..))
        };
        let largest = cells()
            .map(|cell| match cell {
                Cell::Number { value, .. } => value.abs(),
                Cell::Range(low, high) => low.abs().max(high.abs()),
                _ => 0.0,
            })
            .fold(0.0, f64::max);
        let mut format = Self {
            numeric: table.columns[index].figures || cells().any(numeric),
            decimals: 0,
            interval: 0,
        };
        let half_width = |cell: &Cell| match cell {
            Cell::Number { half_width, .. } => *half_width,
            _ => None,
        };
        let base = decimals(largest);
        let narrowest = cells()
            .filter_map(half_width)
            .filter(|half| *half > 0.0)
            .reduce(f64::min);
        // An interval shows at least one digit, unless it is so narrow that it needs many.
        let needed = narrowest.map_or(0, |half| decimals(half).saturating_sub(2));
        format.decimals = needed.clamp(base, base + 2);
        let widths = cells()
            .filter_map(half_width)
            .map(|half| format.interval(half).chars().count());
        format.interval = widths.max().unwrap_or(0);
        format
    }

    fn number(&self, value: f64) -> String {
        fixed(value, self.decimals)
    }

    fn interval(&self, half_width: f64) -> String {
        format!("±\u{202f}{}", self.number(half_width))
    }
}

fn heading(column: &Column, format: &Format) -> String {
    let class = if format.numeric { " class=\"n\"" } else { "" };
    let unit = match column.unit.as_str() {
        "" => String::new(),
        unit => format!(" <span class=\"unit\">{}</span>", escape(unit)),
    };
    format!(
        "<th scope=\"col\"{class}>{}{unit}</th>",
        escape(&column.heading)
    )
}

fn cell(cell: &Cell, format: &Format, index: usize) -> String {
    let content = match cell {
        Cell::Empty if format.numeric => {
            return format!("<td class=\"n none\">\u{2013}{}</td>", padding(format));
        }
        Cell::Empty => String::new(),
        Cell::Text(text) => escape(text),
        Cell::Link { text, path } => {
            format!("<a href=\"{}\">{}</a>", escape(path), escape(text))
        }
        Cell::Label { text, colour } => {
            format!(
                "<span class=\"dot\" style=\"background:var(--s{})\"></span>{}",
                colour % 8,
                escape(text)
            )
        }
        Cell::Count(count) => return format!("<td class=\"n\">{}</td>", fixed(*count as f64, 0)),
        Cell::Number { value, half_width } => return number(*value, *half_width, format),
        Cell::Figures { text, faint } => {
            let class = if *faint { "n none" } else { "n" };
            return format!("<td class=\"{class}\">{}</td>", escape(text));
        }
        Cell::Range(low, high) => {
            let (low, high) = (format.number(*low), format.number(*high));
            return format!("<td class=\"n\">{low}\u{2009}\u{2013}\u{2009}{high}</td>");
        }
        Cell::Verdict(verdict) => verdict_badge(*verdict),
    };
    // The first column names the row.
    if index == 0 {
        format!("<th scope=\"row\">{content}</th>")
    } else {
        format!("<td>{content}</td>")
    }
}

fn number(value: f64, half_width: Option<f64>, format: &Format) -> String {
    let number = format.number(value);
    let interval = match half_width {
        Some(half) => {
            let width = format.interval;
            format!(
                "<span class=\"ci\" style=\"min-width:{width}ch\">{}</span>",
                format.interval(half)
            )
        }
        None => padding(format),
    };
    format!("<td class=\"n\">{number}{interval}</td>")
}

/// Keeps a number without an interval in line with those that have one.
fn padding(format: &Format) -> String {
    match format.interval {
        0 => String::new(),
        width => format!("<span class=\"ci\" style=\"min-width:{width}ch\"></span>"),
    }
}

fn verdict_badge(verdict: Verdict) -> String {
    let (class, sign) = match verdict {
        Verdict::Reproduced => ("good", "\u{2713}"),
        Verdict::NotReproduced => ("bad", "\u{2717}"),
        Verdict::Undecided => ("near", "?"),
        Verdict::NotJudged => ("open", "\u{2013}"),
    };
    format!(
        "<span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {verdict}</span>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cells: Vec<Cell>) -> Table {
        Table {
            caption: "<c>".to_owned(),
            columns: vec![Column::with_unit("Goodput", "kB/s")],
            rows: cells.into_iter().map(|cell| vec![cell]).collect(),
        }
    }

    #[test]
    fn numbers_of_a_column_share_their_decimals() {
        let html = render(&table(vec![
            Cell::Number {
                value: 61.25,
                half_width: Some(1.5),
            },
            Cell::Number {
                value: 7.0,
                half_width: None,
            },
        ]));
        assert!(
            html.contains(">61.2<span class=\"ci\" style=\"min-width:5ch\">±\u{202f}1.5</span>"),
            "{html}"
        );
        assert!(html.contains(">7.0<"), "{html}");
        assert!(
            html.contains("&lt;c&gt;") && html.contains("kB/s"),
            "{html}"
        );
    }

    #[test]
    fn what_is_not_known_is_a_dash_among_numbers() {
        let html = render(&table(vec![Cell::Empty, Cell::Count(12_345)]));
        assert!(
            html.contains("\u{2013}</td>") && html.contains("12\u{202f}345"),
            "{html}"
        );
    }
}
