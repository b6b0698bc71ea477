//! `hopflow top`: what nodes do that run.

mod ask;
mod figures;
mod line;
mod page;
mod screen;
mod text;

use std::io::{self, IsTerminal};
use std::mem;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use clap::Args;
use hopflow_api::{Failure, Kind};
use hopflow_daemon::net::calendar_time;
use serde_json::{Map, Value, json};

use crate::{progress, show};
use ask::{Node, Reading, ask};
use figures::Figures;
use line::Line;
use screen::{Screen, Wish};

/// Where a node serves metrics in the examples of the guide.
const USUAL: &str = "127.0.0.1:9100";
/// How soon an interrupt is heard.
const GLANCE: Duration = Duration::from_millis(100);
/// How soon what nodes say is shown.
const SOON: Duration = Duration::from_millis(10);
/// The least time between two looks: nodes tell what they do ten times a second.
const SHORTEST: hopflow_units::Duration = hopflow_units::Duration::from_millis(100);
/// The longest.
const LONGEST: hopflow_units::Duration = hopflow_units::Duration::from_secs(3600);

/// Which nodes are looked at, and how they are shown.
#[derive(Debug, Args)]
pub(crate) struct TopOptions {
    /// Where nodes serve metrics: addresses with ports, or the nodes' configurations
    #[arg(value_name = "ADDRESS", default_value = USUAL)]
    nodes: Vec<String>,
    /// Look twice, print what there is, and end; fail if a node does not answer
    #[arg(long)]
    once: bool,
    /// Print JSON: a line for each look
    #[arg(long)]
    json: bool,
    /// Time from one look to the next
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: hopflow_units::Duration,
}

fn interval(text: &str) -> Result<hopflow_units::Duration, String> {
    let time: hopflow_units::Duration = text.parse().map_err(|error| format!("{error}"))?;
    if (SHORTEST..=LONGEST).contains(&time) {
        return Ok(time);
    }
    Err("allowed is a time from 100 ms to 3600 s".to_owned())
}

/// Shows what nodes do until the user has seen enough.
pub(crate) fn top(options: &TopOptions) -> Result<(), Failure> {
    let nodes: Result<Vec<Node>, Failure> =
        options.nodes.iter().map(|name| Node::named(name)).collect();
    let mut watch = Watch {
        nodes: nodes?,
        interval: Duration::from_nanos(options.interval.as_nanos()),
        before: Vec::new(),
        now: Vec::new(),
    };
    progress::heed_interrupts();
    if options.once {
        watch.look_twice()?;
        watch.print(options.json)?;
        return watch.check();
    }
    if options.json || !io::stdout().is_terminal() {
        return watch.print_on(options.json);
    }
    watch.on_screen().map_err(Failure::defect)
}

/// Nodes, and what they said last.
#[derive(Debug)]
struct Watch {
    nodes: Vec<Node>,
    interval: Duration,
    before: Vec<Reading>,
    now: Vec<Reading>,
}

impl Watch {
    /// Asks all nodes.
    fn look(&mut self) {
        self.take(ask(&self.nodes));
    }

    /// Asks all nodes, while something else is done.
    fn begin_look(&self) -> Receiver<Vec<Reading>> {
        let (done, looked) = mpsc::channel();
        let nodes = self.nodes.clone();
        // Nobody listens any more if the user has seen enough.
        thread::spawn(move || drop(done.send(ask(&nodes))));
        looked
    }

    /// Takes what all nodes say now.
    fn take(&mut self, now: Vec<Reading>) {
        self.before = mem::replace(&mut self.now, now);
    }

    /// Asks all nodes, and again an interval after the last answer: rates need two looks.
    fn look_twice(&mut self) -> Result<(), Failure> {
        self.look();
        if !wait(due_in(self.interval)) {
            return Err(Failure::new(Kind::Interrupted, "interrupted"));
        }
        self.look();
        Ok(())
    }

    /// Prints what there is again and again, until the user interrupts or nobody reads it.
    fn print_on(mut self, json: bool) -> Result<(), Failure> {
        self.look_twice()?;
        loop {
            let due = due_in(self.interval);
            if !self.print(json)? || !wait(due) {
                return Ok(());
            }
            self.look();
        }
    }

    /// Prints what there is, and says whether somebody reads it.
    fn print(&self, json: bool) -> Result<bool, Failure> {
        if json {
            return show::offer(&format!("{}\n", self.json()));
        }
        let styled = is_styled();
        let lines = self.lines();
        let lines = lines
            .iter()
            .map(|line| line.text(styled, usize::MAX) + "\n");
        show::offer(&(lines.collect::<String>() + "\n"))
    }

    /// Fills the terminal with what there is, until the user has seen enough. Keys are heard while
    /// nodes are asked: one may take seconds to answer.
    fn on_screen(mut self) -> io::Result<()> {
        let mut screen = Screen::open(is_styled())?;
        screen.show(&self.lines())?;
        loop {
            let due = due_in(self.interval);
            let mut looked = Some(self.begin_look());
            while looked.is_some() || !left(due).is_zero() {
                let time = looked.as_ref().map_or(left(due).min(GLANCE), |_| SOON);
                match screen.listen(time)? {
                    Wish::Nothing if !progress::interrupted() => {}
                    Wish::Redraw => screen.show(&self.lines())?,
                    Wish::Nothing | Wish::Quit => return Ok(()),
                }
                if let Some(now) = looked.as_ref().and_then(|it| it.try_recv().ok()) {
                    looked = None;
                    self.take(now);
                    screen.show(&self.lines())?;
                }
            }
        }
    }

    /// Fails if a node does not answer.
    fn check(&self) -> Result<(), Failure> {
        let silent = self.nodes.iter().zip(&self.now);
        let silent = silent.filter_map(|(node, reading)| {
            Some(format!("{}: {}", node.name, reading.page.as_ref().err()?))
        });
        let silent: Vec<_> = silent.collect();
        if silent.is_empty() {
            return Ok(());
        }
        Err(Failure::bad_input(silent.join("\n")))
    }

    /// The figures of each node, or why there are none; of no node before the first look.
    fn figures(&self) -> impl Iterator<Item = (&Node, Result<Figures<'_>, &str>)> {
        let nodes = self.nodes.iter().zip(&self.now).enumerate();
        nodes.map(|(place, (node, now))| {
            let before = self.before.get(place);
            (node, Figures::of(node, before, now))
        })
    }

    fn lines(&self) -> Vec<Line> {
        let time = calendar_time().as_secs() as f64;
        let mut lines = Vec::new();
        for (node, figures) in self.figures() {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.extend(match figures {
                Ok(figures) => text::node(&figures, time),
                Err(why) => text::silent(&node.name, why),
            });
        }
        lines
    }

    fn json(&self) -> Value {
        let nodes = self.figures().map(|(node, figures)| match figures {
            Ok(figures) => json!({
                "node": node.name,
                "error": null,
                "metrics": metrics(&figures),
                "per_second": rates(&figures),
            }),
            Err(why) => json!({ "node": node.name, "error": why }),
        });
        json!({ "nodes": nodes.collect::<Vec<_>>() })
    }
}

/// All that a node says, by the metrics' names.
fn metrics(figures: &Figures<'_>) -> Map<String, Value> {
    let samples = figures.page.samples();
    let named = samples.map(|(name, sample)| {
        let labels = sample.labels.iter();
        let labels: Vec<_> = labels
            .map(|(label, value)| format!("{label}={value:?}"))
            .collect();
        let labels = labels.join(",");
        let name = if labels.is_empty() {
            name.to_owned()
        } else {
            format!("{name}{{{labels}}}")
        };
        (name, json!(sample.value))
    });
    named.collect()
}

/// The growth of its counters per second, where it is known.
fn rates(figures: &Figures<'_>) -> Map<String, Value> {
    let names = figures.page.samples().map(|(name, _)| name);
    let counters = names.filter_map(|name| {
        let counter = name.strip_prefix("hopflow_")?.strip_suffix("_total")?;
        Some((name.to_owned(), json!(figures.rate(counter)?)))
    });
    counters.collect()
}

/// Whether styles are wanted where the standard output leads: not in a file, nor where `NO_COLOR` is
/// set.
fn is_styled() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

#[expect(
    clippy::disallowed_methods,
    reason = "what runs is looked at in real time"
)]
fn due_in(interval: Duration) -> Instant {
    Instant::now() + interval
}

#[expect(
    clippy::disallowed_methods,
    reason = "what runs is looked at in real time"
)]
fn left(due: Instant) -> Duration {
    due.saturating_duration_since(Instant::now())
}

/// Waits; false if the user interrupted.
fn wait(due: Instant) -> bool {
    while !left(due).is_zero() && !progress::interrupted() {
        thread::park_timeout(left(due).min(GLANCE));
    }
    !progress::interrupted()
}
