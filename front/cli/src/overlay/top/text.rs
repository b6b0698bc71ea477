//! The figures of nodes as lines of text.

use hopflow_live::Sample;

use super::figures::Figures;
use super::line::Line;

/// Columns of the bar that shows memory.
const BAR: usize = 20;
/// The part of its memory from which on a node is short of it, as in the alert rules.
const FULL: f64 = 0.9;

/// What is counted when something has too many of them.
const COUNTED: [&str; 3] = ["links", "circuits", "connections"];

/// A node that answers, at this time of the calendar in seconds.
pub(super) fn node(figures: &Figures<'_>, now: f64) -> Vec<Line> {
    let mut lines = vec![title(figures, now), rate(figures), moved(figures)];
    lines.extend(accounting(figures, now));
    lines.push(links(figures));
    lines.push(circuits(figures));
    lines.extend(client(figures));
    lines.extend([streams(figures), queues(figures), memory(figures)]);
    lines.extend(cpu(figures));
    lines.extend([
        turned_away(figures, "refused"),
        turned_away(figures, "evicted"),
    ]);
    lines.push(faults(figures));
    lines.extend(transport(figures));
    lines
}

/// A node that does not answer.
pub(super) fn silent(name: &str, why: &str) -> Vec<Line> {
    vec![Line::titled(name).alarming(&format!("  {why}"), true)]
}

fn title(figures: &Figures<'_>, now: f64) -> Line {
    let page = figures.page;
    let (role, network) = (page.info("role"), page.info("network"));
    let (transport, version) = (page.info("transport"), page.info("version"));
    let up = figures
        .uptime(now)
        .map_or(String::new(), |it| format!(", up {}", span(it)));
    Line::titled(&figures.node.name).plain(&format!(
        "  {role} of {network}, transport {transport}, version {version}{up}"
    ))
}

fn rate(figures: &Figures<'_>) -> Line {
    let moved = each_second(figures.bytes_per_second(), bytes);
    let limit = figures.level("bucket_rate_bytes_per_second");
    let limit = limit.map_or(String::new(), |limit| format!(" of {}/s", bytes(limit)));
    let cells = figures.rate("cells_sent").map_or(unknown(), count);
    let again = each_second(figures.rate("cells_resent"), count);
    let twice = each_second(figures.rate("cells_duplicate"), count);
    let dropped = figures.rate("cells_dropped");
    Line::named("rate")
        .plain(&format!("{moved}{limit}, {cells} cells/s; "))
        .plain(&format!("sent again {again}, twice {twice}, "))
        .alarming(
            &format!("dropped {}", each_second(dropped, count)),
            is_some(dropped),
        )
}

fn moved(figures: &Figures<'_>) -> Line {
    let direction = |name| {
        let total = figures.total(name).map_or(unknown(), bytes);
        format!("{} ({total})", each_second(figures.rate(name), bytes))
    };
    let (sent, received) = (direction("bytes_sent"), direction("bytes_received"));
    Line::named("moved").plain(&format!("sent {sent}, received {received}"))
}

/// What was moved of what may be in a period, at this time of the calendar.
fn accounting(figures: &Figures<'_>, now: f64) -> Option<Line> {
    let max = figures.level("accounting_max_bytes")?;
    let [sent, received] =
        ["accounting_sent_bytes", "accounting_received_bytes"].map(|name| figures.level(name));
    let most = sent.unwrap_or(0.0).max(received.unwrap_or(0.0)) / max.max(1.0);
    let [sent, received] = [sent, received].map(|it| it.map_or(unknown(), bytes));
    let left = figures.level("accounting_end_seconds");
    let left = left.map_or(unknown(), |end| span((end - now).max(0.0)));
    let text = format!(
        "sent {sent}, received {received} of {}, {:.1} %",
        bytes(max),
        most * 100.0
    );
    let rests = figures.level("hibernating") == Some(1.0);
    let line = Line::named("accounting").plain(&format!("{text}; ends in {left}"));
    Some(line.alarming(if rests { "; hibernates" } else { "" }, rests))
}

fn links(figures: &Figures<'_>) -> Line {
    let half = of_limit(figures, "half_open_links");
    Line::named("links").plain(&format!("{}, half open {half}", of_limit(figures, "links")))
}

fn circuits(figures: &Figures<'_>) -> Line {
    let (all, nascent) = (
        of_limit(figures, "circuits"),
        of_limit(figures, "nascent_circuits"),
    );
    let made = each_second(figures.rate("handshakes"), count);
    let failed = figures.rate("handshakes_failed");
    Line::named("circuits")
        .plain(&format!("{all}, nascent {nascent}; handshakes {made}, "))
        .plain(&format!("failed {}", each_second(failed, count)))
}

/// A client's circuits.
fn client(figures: &Figures<'_>) -> Option<Line> {
    let state = |state| figures.page.labelled("client_circuits", ("state", state));
    let [building, spare, used] = ["building", "spare", "used"].map(state).map(known);
    let waiting = figures.level("client_waiting_streams")?;
    let text = format!("building {building}, spare {spare}, used {used}; ");
    Some(
        Line::named("paths")
            .plain(&text)
            .plain(&format!("streams that wait {}", count(waiting))),
    )
}

fn streams(figures: &Figures<'_>) -> Line {
    let (streams, connections) = (
        known(figures.level("streams")),
        of_limit(figures, "connections"),
    );
    let most = known(figures.level("most_connections_per_circuit"));
    let most_of = figures.limit("connections_per_circuit");
    let most = most_of.map_or(most.clone(), |limit| format!("{most} of {}", count(limit)));
    Line::named("streams").plain(&format!(
        "{streams}; connections {connections}, most of a circuit {most}"
    ))
}

fn queues(figures: &Figures<'_>) -> Line {
    let [queued, longest, ever, out_of_order, outstanding] = [
        "queued_cells",
        "largest_queue_cells",
        "highest_queue_cells",
        "out_of_order_cells",
        "outstanding_cells",
    ]
    .map(|name| known(figures.level(name)));
    let window = figures.mean_window();
    let window = window.map_or(String::new(), |it| format!(", mean window {}", count(it)));
    Line::named("queues").plain(&format!(
        "{queued} cells, longest {longest}, ever {ever}; \
         outstanding {outstanding}, out of order {out_of_order}{window}"
    ))
}

fn memory(figures: &Figures<'_>) -> Line {
    let share = figures.memory_share().unwrap_or(0.0);
    let fullest = figures.fullest_memory();
    let of_worker = fullest.map_or(String::new(), |it| {
        format!(", {:.1} % of the fullest worker's", it * 100.0)
    });
    let held = figures.level("memory_held_bytes").map_or(unknown(), bytes);
    let limit = figures.level("memory_limit_bytes").map_or(unknown(), bytes);
    let closed = figures.rate("out_of_memory");
    let filled = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let bar = "#".repeat(filled) + &".".repeat(BAR - filled);
    Line::named("memory")
        .alarming(&format!("[{bar}] "), fullest.unwrap_or(share) > FULL)
        .plain(&format!(
            "{held} of {limit}, {:.1} %{of_worker}; ",
            share * 100.0
        ))
        .alarming(
            &format!("closed for want of it {}", total(figures, "out_of_memory")),
            is_some(closed),
        )
}

fn cpu(figures: &Figures<'_>) -> Option<Line> {
    let whole = figures.total("cpu_seconds")?;
    let share = figures.rate("cpu_seconds");
    let share = share.map_or(unknown(), |share| format!("{:.1} %", share * 100.0));
    let text = format!("{share} of a core, {whole:.1} s since the start");
    Some(Line::named("CPU").plain(&text))
}

/// What was refused or evicted, by what there was too much of.
fn turned_away(figures: &Figures<'_>, how: &str) -> Line {
    let mut line = Line::named(how);
    for (place, what) in COUNTED.iter().enumerate() {
        let name = format!("{what}_{how}");
        let separator = if place == 0 { "" } else { ", " };
        let text = format!("{separator}{what} {}", total(figures, &name));
        line = line.alarming(&text, is_some(figures.rate(&name)));
    }
    line
}

fn faults(figures: &Figures<'_>) -> Line {
    let mut line = Line::named("faults");
    for (name, shown) in [
        ("violations", "violations"),
        ("strays", "; strays"),
        ("forged", "; forged"),
        ("garbage", "; garbage"),
    ] {
        line = line.plain(&format!("{shown} {}", total(figures, name)));
    }
    let failed = figures.total("worker_restarts").unwrap_or(0.0);
    let text = format!(
        "; workers that failed {}",
        total(figures, "worker_restarts")
    );
    line.alarming(&text, failed > 0.0)
}

/// What the layers of the transport measure: least, mean and greatest value over all flows.
fn transport(figures: &Figures<'_>) -> Vec<Line> {
    let names = figures.page.samples().map(|(name, _)| name);
    let names = names.filter_map(|name| name.strip_prefix("hopflow_transport_"));
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    let mut lines = Vec::new();
    for name in names {
        let samples = figures.page.all(&format!("transport_{name}"));
        let (what, show) = in_unit(name);
        let text = statistics(samples, show);
        let name = if lines.is_empty() { "transport" } else { "" };
        lines.push(Line::named(name).plain(&format!("{what}: {text}")));
    }
    lines
}

fn statistics(samples: &[Sample], show: Show) -> String {
    let shown = samples.iter().map(|sample| {
        let statistic = sample.label("statistic").unwrap_or("value");
        format!("{statistic} {}", show(sample.value))
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// How a value is written.
type Show = fn(f64) -> String;

/// What a metric is of, without its unit, and how its values are written.
fn in_unit(name: &str) -> (String, Show) {
    let units: [(&str, Show); 3] = [
        ("_bytes_per_second", |value| bytes(value) + "/s"),
        ("_seconds", seconds),
        ("_cells", |value| count(value) + " cells"),
    ];
    let unit = units
        .iter()
        .find_map(|(unit, show)| Some((name.strip_suffix(unit)?, *show)));
    let (what, show) = unit.unwrap_or((name, count));
    (what.replace('_', " "), show)
}

/// A level, and its limit if it has one.
fn of_limit(figures: &Figures<'_>, name: &str) -> String {
    let level = known(figures.level(name));
    let limit = figures.limit(name);
    limit.map_or(level.clone(), |limit| {
        format!("{level} of {}", count(limit))
    })
}

/// A counter, and its growth if there was any.
fn total(figures: &Figures<'_>, name: &str) -> String {
    let total = known(figures.total(name));
    let grew = figures.rate(name).filter(|rate| *rate > 0.0);
    grew.map_or(total.clone(), |rate| {
        format!("{total} (+{}/s)", count(rate))
    })
}

/// Whether a counter grew.
fn is_some(rate: Option<f64>) -> bool {
    rate.is_some_and(|rate| rate > 0.0)
}

fn unknown() -> String {
    "?".to_owned()
}

fn known(value: Option<f64>) -> String {
    value.map_or(unknown(), count)
}

fn each_second(rate: Option<f64>, show: Show) -> String {
    rate.map_or(unknown(), show) + "/s"
}

/// A number in as many digits as a reader wants.
pub(super) fn count(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 {
        return format!("{value:.0}");
    }
    format!("{value:.1}")
}

/// Bytes in three digits or more.
pub(super) fn bytes(value: f64) -> String {
    for (unit, size) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if value >= size {
            return format!("{:.2} {unit}", value / size);
        }
    }
    format!("{value:.0} B")
}

fn seconds(value: f64) -> String {
    if value < 1.0 {
        return format!("{:.1} ms", value * 1e3);
    }
    format!("{value:.1} s")
}

/// A long time, in its two greatest units.
fn span(seconds: f64) -> String {
    let whole = seconds as u64;
    let (minutes, hours, days) = (whole / 60, whole / 3600, whole / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{whole} s"),
        (0, 0, _) => format!("{minutes} min {} s", whole % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_readers_want_them() {
        for (value, text) in [(0.0, "0"), (3.0, "3"), (3.25, "3.2"), (1234.5, "1234")] {
            assert_eq!(count(value), text);
        }
        for (value, text) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1.5e6, "1.50 MB"),
            (2e12, "2000.00 GB"),
        ] {
            assert_eq!(bytes(value), text);
        }
        for (value, text) in [(0.0251, "25.1 ms"), (2.0, "2.0 s")] {
            assert_eq!(seconds(value), text);
        }
        let times = [
            (59.9, "59 s"),
            (61.0, "1 min 1 s"),
            (7300.0, "2 h 1 min"),
            (90_000.0, "1 d 1 h"),
        ];
        for (value, text) in times {
            assert_eq!(span(value), text);
        }
    }
}
