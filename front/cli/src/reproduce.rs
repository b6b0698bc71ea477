//! `hopflow reproduce`.

use std::path::Path;

use hopflow_api::{AllReproduced, Caller, Failure, Reproduced, Runner};
use hopflow_results::Verdict;
use serde_json::{Map, json};

use crate::args::RunOptions;
use crate::progress::Progress;
use crate::show;

/// Makes an experiment, or all of them, again.
pub(crate) fn reproduce(id: &str, options: &RunOptions, caller: &Caller) -> Result<(), Failure> {
    let progress = Progress::new();
    let runner = Runner {
        order: &options.order.order(),
        caller,
        monitor: &progress,
    };
    if id == "all" {
        let all = hopflow_api::reproduce_all(&runner, &|why| progress.say(why));
        progress.clear();
        let all = all?;
        print_all(&all, options.json)?;
        return all.check(runner.order);
    }
    let made = hopflow_api::reproduce(id, &runner);
    progress.clear();
    print(&[made?], options.json)
}

/// Writes the atlas of a folder with results or records.
pub(crate) fn atlas(folder: &Path, out: Option<&Path>) -> Result<(), Failure> {
    let atlas = hopflow_api::atlas(folder, out.unwrap_or(folder))?;
    show::print(&format!("atlas    {}\n", atlas.display()))
}

fn print(made: &[Reproduced], as_json: bool) -> Result<(), Failure> {
    if as_json {
        return show::print_json(&made.iter().map(json).collect());
    }
    made.iter().try_for_each(|made| show::print(&text(made)))
}

/// Prints what was made, what was not, and where the atlas is.
fn print_all(all: &AllReproduced, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let failed = all.failed.iter();
        let failed = failed.map(|(id, failure)| ((*id).to_owned(), json!(failure.message())));
        return show::print_json(&json!({
            "made": all.made.iter().map(json).collect::<Vec<_>>(),
            "failed": failed.collect::<Map<_, _>>(),
            "atlas": all.atlas.display().to_string(),
        }));
    }
    print(&all.made, false)?;
    show::print(&format!("atlas    {}\n", all.atlas.display()))
}

/// How many values of each curve have which verdict, for curves that the paper tells about.
fn verdicts(made: &Reproduced) -> Vec<(String, [usize; 3])> {
    let mut rows: Vec<(String, [usize; 3])> = Vec::new();
    for value in &made.values {
        let column = match value.verdict {
            Verdict::Reproduced => 0,
            Verdict::NotReproduced => 1,
            Verdict::Undecided => 2,
            Verdict::NotJudged => continue,
        };
        let name = format!("{}, {}", value.quantity, value.transport);
        if rows.last().is_none_or(|(last, _)| *last != name) {
            rows.push((name, [0; 3]));
        }
        let (_, counts) = rows.last_mut().expect("a row was added if there was none");
        counts[column] += 1;
    }
    rows
}

fn text(made: &Reproduced) -> String {
    let header = [
        "values by verdict",
        "reproduced",
        "not reproduced",
        "undecided",
    ];
    let rows = verdicts(made).into_iter().map(|(name, counts)| {
        let counts = counts.iter().map(|count| match count {
            0 => String::new(),
            count => count.to_string(),
        });
        std::iter::once(name).chain(counts).collect()
    });
    let not_judged = made
        .values
        .iter()
        .filter(|value| value.verdict == Verdict::NotJudged);
    format!(
        "{}{}\n\n{}\n{} more values have no reference in the paper.\n\nvalues   {}\nreport   {}\nhash     {}\n",
        made.title,
        made.provisional
            .as_ref()
            .map_or(String::new(), |text| format!("\n{text}")),
        show::table(&header, rows),
        not_judged.count(),
        made.folder.join("values.csv").display(),
        made.page.display(),
        made.hash,
    )
}

fn json(made: &Reproduced) -> serde_json::Value {
    let values = made.values.iter().map(|value| {
        json!({
            "figure": value.figure,
            "quantity": value.quantity,
            "unit": value.unit,
            "transport": value.transport,
            "x": value.x,
            "n": value.n,
            "mean": value.mean,
            "ci_low": value.ci_low,
            "ci_high": value.ci_high,
            "paper": value.paper,
            "band_low": value.band_low,
            "band_high": value.band_high,
            "verdict": value.verdict.to_string(),
            "wanted": value.wanted,
        })
    });
    json!({
        "experiment": made.id,
        "provisional": made.provisional,
        "folder": made.folder.display().to_string(),
        "report": made.page.display().to_string(),
        "results": made.hash,
        "values": values.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_what_readers_must_know_of_values_from_too_few_networks() {
        let made = |provisional: Option<&str>| Reproduced {
            id: "joint",
            title: String::new(),
            provisional: provisional.map(str::to_owned),
            values: Vec::new(),
            folder: "out".into(),
            page: "out/report.html".into(),
            hash: String::new(),
        };
        let said = json(&made(Some("Provisional: 1 of 20")));
        assert_eq!(said["provisional"], "Provisional: 1 of 20");
        assert_eq!(json(&made(None)).get("provisional"), Some(&json!(null)));
    }
}
