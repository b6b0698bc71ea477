//! The atlas as a page.

use std::fmt::Write as _;

use hopflow_results::Value;

use super::figure::{Figure, deviations, figures};
use super::model::{Atlas, AtlasEntry, AtlasFound, VerdictCounts};
use super::thumbnail;
use crate::page::{self, Frame};
use crate::text::{escape, fixed, prose};

const STYLE: &str = include_str!("../../assets/atlas.css");
const SCRIPT: &str = include_str!("../../assets/atlas.js");

const TITLE: &str = "Atlas of reproductions";

/// The columns by which rows are sorted: the key of the script, and the heading.
const COLUMNS: [(&str, &str); 6] = [
    ("order", "Figure"),
    ("reproduced", "Verdicts"),
    ("deviation", "Deviation"),
    ("networks", "Networks"),
    ("time", "Time"),
    ("made", "Made by"),
];

/// The whole page.
pub(super) fn render(atlas: &Atlas) -> String {
    let rows: Vec<String> = atlas.experiments.iter().flat_map(rows).collect();
    let rows: String = (rows.iter().enumerate())
        .map(|(order, row)| row.replacen("<tr", &format!("<tr data-order=\"{order}\""), 1))
        .collect();
    let body = format!(
        "{title}{facts}{guide}{tools}\
         <div class=\"atlas-table\"><table class=\"atlas\"><thead><tr><th scope=\"col\"><span class=\"hidden\">Picture</span></th>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>\
         <p class=\"nothing\" hidden>No figure matches.</p>",
        title = title(atlas),
        facts = facts(atlas),
        guide = GUIDE,
        tools = tools(atlas),
        head = head(),
    );
    page::framed(&Frame {
        title: TITLE,
        links: "",
        style: STYLE,
        script: SCRIPT,
        body: &body,
        footer: "Made with hopflow. This page needs no network.",
    })
}

/// How to read the rows.
const GUIDE: &str = "<details class=\"code guide\"><summary>How to read this</summary><div>\
    <p>A value of a paper is <b>reproduced</b> if its whole 95 % interval lies in a band that was fixed before the runs, <b>not reproduced</b> if all of the interval lies outside, and <b>undecided</b> otherwise. Claims are what the paper says of two transports, or of a curve.</p>\
    <p>Pictures show the first curve of a figure, hollow where the paper has a value; or values in their bands, each scaled to its own, which is shaded; or claimed differences. Lines are coloured by transport, bars by verdict.</p>\
    <p>The deviation is that of our means from what the paper states, in percent of it: the median, and the largest in brackets. Networks are the most that a value is a mean over; where nothing is simulated, seeds or samples. Time is that of all runs of the experiment, one after the other, on whatever machine made them.</p></div></details>";

fn title(atlas: &Atlas) -> String {
    format!(
        "<div class=\"title\"><h1>{TITLE}</h1><p>{}</p></div>",
        prose(&atlas.subtitle)
    )
}

fn facts(atlas: &Atlas) -> String {
    let [values, claims] = atlas.counts();
    let facts = [
        (
            "Experiments made",
            format!("{} of {}", atlas.made(), atlas.of_papers().count()),
        ),
        (
            "Values reproduced",
            format!("{} of {}", values.reproduced, values.judged()),
        ),
        ("Values undecided", values.undecided.to_string()),
        (
            "Claims reproduced",
            format!("{} of {}", claims.reproduced, claims.judged()),
        ),
        ("Claims undecided", claims.undecided.to_string()),
    ];
    let facts = facts.map(|(label, value)| format!("<div><dt>{label}</dt><dd>{value}</dd></div>"));
    format!("<dl class=\"facts\">{}</dl>", facts.concat())
}

/// What a script makes work: without it, all rows stand in the order of the papers.
fn tools(atlas: &Atlas) -> String {
    let mut papers: Vec<&str> = Vec::new();
    for entry in &atlas.experiments {
        if !papers.contains(&entry.paper()) {
            papers.push(entry.paper());
        }
    }
    let option = |value: &str, text: &str| {
        format!(
            "<option value=\"{}\">{}</option>",
            escape(value),
            escape(text)
        )
    };
    let papers: String = papers
        .into_iter()
        .map(|paper| option(paper, paper))
        .collect();
    let verdicts: String = [
        ("", "All verdicts"),
        ("bad", "Something not reproduced"),
        ("near", "Something undecided"),
        ("good", "All reproduced"),
        ("unjudged", "Nothing judged"),
        ("missing", "Not made"),
    ]
    .map(|(value, text)| option(value, text))
    .concat();
    let orders: String = COLUMNS
        .map(|(key, text)| option(key, &format!("Sort by {}", text.to_lowercase())))
        .concat();
    format!(
        "<form class=\"atlas-tools\" role=\"search\" hidden>\
         <input type=\"search\" name=\"words\" placeholder=\"Search\" aria-label=\"Search figures, titles and transports\">\
         <select name=\"paper\" aria-label=\"Paper\">{}{papers}</select>\
         <select name=\"verdict\" aria-label=\"Verdict\">{verdicts}</select>\
         <select name=\"sort\" aria-label=\"Order\">{orders}</select>\
         <output aria-live=\"polite\"></output></form>",
        option("", "All papers"),
    )
}

fn head() -> String {
    let column = |(key, text): (&str, &str)| {
        format!(
            "<th scope=\"col\"><button type=\"button\" data-sort=\"{key}\">{text}</button></th>"
        )
    };
    COLUMNS.map(column).concat()
}

/// A row for each figure of an experiment, or one that says why there are none.
fn rows(entry: &AtlasEntry) -> Vec<String> {
    match &entry.found {
        Ok(found) => {
            let figures = figures(&found.values);
            figures
                .iter()
                .map(|figure| row(entry, found, figure))
                .collect()
        }
        Err(why) => vec![format!(
            "<tr class=\"missing\" data-paper=\"{paper}\" data-state=\"missing\" data-words=\"{words}\">\
             <td class=\"picture\"></td><th scope=\"row\">{id}<span class=\"what\">{title}</span></th>\
             <td class=\"why\" colspan=\"5\">{why}</td></tr>\n",
            paper = escape(entry.paper()),
            words = escape(&words(entry, &[])),
            id = escape(&entry.id),
            title = escape(&entry.title),
            why = prose(why),
        )],
    }
}

fn row(entry: &AtlasEntry, found: &AtlasFound, figure: &Figure<'_>) -> String {
    let of = |claims: bool| {
        let values = figure.values.iter().copied();
        VerdictCounts::of(values.filter(|value| value.is_claim() == claims))
    };
    let [values, claims] = [false, true].map(of);
    let all = VerdictCounts::of(figure.values.iter().copied());
    let picture = thumbnail::of(figure, entry.percentiles);
    let link = |text: &str| match &found.page {
        Some(page) => format!("<a href=\"{}\">{text}</a>", escape(page)),
        None => text.to_owned(),
    };
    let networks = figure.values.iter().map(|value| value.n).max().unwrap_or(0);
    let deviations = deviations(&figure.values);
    let (deviation, sorted_by) = deviation(&deviations);
    let share = (all.judged() > 0).then(|| all.reproduced as f64 / all.judged() as f64);
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.4}"));
    format!(
        "<tr data-paper=\"{paper}\" data-state=\"{state}\" data-words=\"{words}\" data-reproduced=\"{share}\" \
         data-deviation=\"{sorted_by}\" data-networks=\"{networks}\" data-time=\"{seconds}\" data-made=\"{made}\">\
         <td class=\"picture\">{picture}<span class=\"shows\">{shows}</span></td>\
         <th scope=\"row\">{name}<span class=\"what\">{title}</span></th>\
         <td data-label=\"Verdicts\">{bar}{values}{claims}</td>\
         <td data-label=\"Deviation\">{deviation}</td><td data-label=\"Networks\">{networks}</td>\
         <td data-label=\"Time\">{time}</td><td data-label=\"Made by\">{made}</td></tr>\n",
        paper = escape(entry.paper()),
        state = state(all),
        words = escape(&words(entry, &figure.values)),
        share = number(share),
        sorted_by = number(sorted_by),
        seconds = number(found.seconds),
        made = escape(&found.made_by),
        picture = link(&picture.svg),
        shows = escape(&picture.shows),
        name = link(&escape(figure.name)),
        title = escape(&entry.title),
        bar = bar(all),
        values = counts(values, "value"),
        claims = counts(claims, "claim"),
        time = found.seconds.map_or(NONE.to_owned(), time),
    )
}

const NONE: &str = "<span class=\"none\">\u{2013}</span>";

/// By which verdicts a row is found.
const fn state(counts: VerdictCounts) -> &'static str {
    match counts {
        VerdictCounts {
            not_reproduced: 1..,
            undecided: 1..,
            ..
        } => "bad near",
        VerdictCounts {
            not_reproduced: 1..,
            ..
        } => "bad",
        VerdictCounts { undecided: 1.., .. } => "near",
        VerdictCounts {
            reproduced: 1.., ..
        } => "good",
        _ => "unjudged",
    }
}

/// What the search looks at.
fn words(entry: &AtlasEntry, values: &[&Value]) -> String {
    let mut words = vec![entry.id.as_str(), &entry.title, entry.paper()];
    for value in values {
        for word in [value.figure.as_str(), &value.quantity, &value.transport] {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words.join(" ").to_lowercase()
}

/// The shares of the verdicts.
fn bar(counts: VerdictCounts) -> String {
    if counts.judged() == 0 {
        return NONE.to_owned();
    }
    let parts = [
        ("good", counts.reproduced),
        ("near", counts.undecided),
        ("bad", counts.not_reproduced),
    ];
    let part = |(class, count): (&str, usize)| match count {
        0 => String::new(),
        count => format!("<i class=\"{class}\" style=\"flex:{count}\"></i>"),
    };
    format!(
        "<span class=\"verdict-bar\" aria-hidden=\"true\">{}</span>",
        parts.map(part).concat()
    )
}

/// The verdicts in words.
fn counts(counts: VerdictCounts, what: &str) -> String {
    let judged = counts.judged();
    if judged == 0 {
        return String::new();
    }
    let plural = if judged == 1 { "" } else { "s" };
    let mut text = format!("<span class=\"counts\">{judged} {what}{plural}: ");
    let parts = [
        ("good", counts.reproduced, "reproduced"),
        ("bad", counts.not_reproduced, "not reproduced"),
        ("near", counts.undecided, "undecided"),
    ];
    let parts = parts.iter().filter(|(_, count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(class, count, verdict)| format!("<span class=\"{class}\">{count} {verdict}</span>"))
        .collect();
    text.push_str(&parts.join(", "));
    text.push_str("</span>");
    text
}

/// The median and the largest of deviations that rise, and by what to sort.
fn deviation(deviations: &[f64]) -> (String, Option<f64>) {
    let Some(largest) = deviations.last() else {
        return (NONE.to_owned(), None);
    };
    let median = f64::midpoint(
        deviations[(deviations.len() - 1) / 2],
        deviations[deviations.len() / 2],
    );
    let mut text = format!("{} %", percent(median));
    if deviations.len() > 1 {
        write!(text, " <span class=\"ci\">({} %)</span>", percent(*largest))
            .expect("a string takes every text");
    }
    (text, Some(median))
}

/// A percentage with two digits or all before the point.
fn percent(percent: f64) -> String {
    fixed(percent, usize::from(percent < 10.0))
}

/// A time in the unit that suits it.
fn time(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        90.0..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
