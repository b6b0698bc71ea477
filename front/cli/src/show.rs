//! Printing to the standard output.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use hopflow_api::{Evaluated, Failure, comparison_json};
use hopflow_report::{Compared, Comparison, Shown};
use serde_json::{Value, json};

/// Prints text; a reader that has seen enough is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    offer(text)?;
    Ok(())
}

/// Prints text, and says whether somebody still reads: a reader may have seen enough.
pub(crate) fn offer(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::bad_input(format_args!(
            "cannot write to the standard output: {error}"
        ))),
    }
}

/// Writes the report of a result folder anew and says where it is.
pub(crate) fn report(folder: &Path) -> Result<(), Failure> {
    let page = hopflow_api::write_report(folder)?;
    print(&format!("report   {}\n", page.display()))
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Lines above and below the table and its header, none within.
const RULED: TableStyle = {
    let rule = LineStyle::none().fill('─').junction('─');
    TableStyle::new()
        .top_border(rule)
        .header_separator(rule)
        .bottom_border(rule)
};

/// A table whose first column is text and whose others are numbers.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_header(header);
    table.add_rows(rows);
    table
}

/// Lets the numbers of a column stand at its right.
pub(crate) fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Lines of text are broken at this width.
const WIDTH: usize = 100;

/// A comparison for readers: a block per quantity with a line per transport.
pub(crate) fn comparison(comparison: &Comparison) -> String {
    let notes = comparison
        .notes()
        .iter()
        .map(|note| wrapped(note))
        .collect::<Vec<_>>()
        .join("\n");
    let blocks: Vec<Block> = comparison.quantities.iter().map(Block::of).collect();
    let columns = Columns::of(&comparison.transports, &blocks);
    let mut text = notes + "\n";
    if let [_] = comparison.transports.as_slice() {
        let widest = blocks.iter().map(|block| width(&block.heading)).max();
        for block in &blocks {
            let heading = padded(&block.heading, widest.unwrap_or(0));
            text.extend(["\n", &heading, "  ", &block.lines[0].value]);
        }
        return text;
    }
    for block in &blocks {
        text.extend(["\n", &block.heading, "\n"]);
        for (label, line) in comparison.transports.iter().zip(&block.lines) {
            text.extend([columns.line(label, line).trim_end(), "\n"]);
        }
    }
    text.trim_end().to_owned()
}

/// A quantity with the transports' numbers as text.
struct Block {
    heading: String,
    lines: Vec<Shown>,
}

impl Block {
    fn of(compared: &Compared) -> Self {
        let mut lines = compared.shown();
        for line in &mut lines {
            if !line.percent.is_empty() {
                let percent = line.percent.replacen(" [", " % [", 1);
                let bare = !percent.contains('[');
                line.percent = if bare { percent + " %" } else { percent };
            }
        }
        Self {
            heading: compared.heading(),
            lines,
        }
    }
}

/// The widths of columns, the same in all blocks.
struct Columns {
    label: usize,
    value: usize,
    difference: usize,
    percent: usize,
}

impl Columns {
    fn of(labels: &[String], blocks: &[Block]) -> Self {
        let widest = |cell: fn(&Shown) -> &String| {
            let lines = blocks.iter().flat_map(|block| &block.lines);
            lines.map(|line| width(cell(line))).max().unwrap_or(0)
        };
        Self {
            label: labels.iter().map(|label| width(label)).max().unwrap_or(0),
            value: widest(|line| &line.value),
            difference: widest(|line| &line.difference),
            percent: widest(|line| &line.percent),
        }
    }

    fn line(&self, label: &str, line: &Shown) -> String {
        format!(
            "  {}  {}  {}  {}  {}",
            padded(label, self.label),
            padded(&line.value, self.value),
            padded(&line.difference, self.difference),
            padded(&line.percent, self.percent),
            line.finding
        )
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(width(text))))
}

/// Text in lines of at most [`WIDTH`] characters.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        if used > 0 && used + 1 + width(word) > WIDTH {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += width(word);
    }
    lines
}

/// The comparison for machines, in base units.
pub(crate) fn summary_json(evaluated: &Evaluated) -> Value {
    let finished = &evaluated.finished;
    let runs: Vec<_> = finished
        .runs
        .iter()
        .map(|run| {
            json!({
                "transport": run.key.transport,
                "network": run.key.network,
                "seed": run.key.seed,
                "results": run.results.to_string(),
                "wall_seconds": run.wall_seconds,
            })
        })
        .collect();
    let mut summary = comparison_json(&evaluated.comparison);
    summary["folder"] = json!(finished.folder.display().to_string());
    summary["report"] = json!(evaluated.page.display().to_string());
    summary["results"] = json!(finished.results.to_string());
    summary["runs"] = json!(runs);
    summary
}

#[cfg(test)]
mod tests {
    use hopflow_report::{Difference, Entry, Finding, Mean, quantities};

    use super::*;

    #[test]
    fn columns_are_aligned_where_numbers_say_of_how_many_networks_they_are() {
        let mean = |mean, n| Mean {
            mean,
            n,
            half_width: Some(0.25),
        };
        let entry = |value, shared| Entry {
            value: Some(value),
            at_least: false,
            difference: Some(Difference {
                absolute: mean(1.0, shared),
                percent: None,
                finding: Finding::Worse,
            }),
        };
        let first = Entry {
            value: Some(mean(2.0, 4)),
            at_least: false,
            difference: None,
        };
        let some = comparison(&Comparison {
            transports: ["vanilla", "pctcp", "backtap"].map(str::to_owned).to_vec(),
            networks: 4,
            quantities: vec![Compared {
                quantity: quantities().next().unwrap(),
                networks: 4,
                entries: vec![first, entry(mean(3.0, 4), 4), entry(mean(3.0, 3), 3)],
            }],
            downloads: Vec::new(),
        });
        let lines: Vec<&str> = some.lines().rev().take(3).collect();
        let [backtap, pctcp, vanilla] = lines[..] else {
            panic!("{some}")
        };
        assert_eq!(vanilla, "  vanilla  2.00 [1.75, 2.25]");
        for line in [pctcp, backtap] {
            assert_eq!(line.find("worse"), pctcp.find("worse"), "{some}");
            assert_eq!(line.find("+1.00"), pctcp.find("+1.00"), "{some}");
        }
        assert!(
            backtap.contains("3.00 [2.75, 3.25] (3 of 4)  +1.00 [+0.75, +1.25] (3 of 4)  "),
            "{some}"
        );
    }
}
