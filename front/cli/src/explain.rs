//! `hopflow explain`.

use hopflow_api::{Caller, Choice, ExplainedDownload, ExplainedTransport, Failure, Runner, Source};

use crate::args::{ExplainOptions, OrderOptions};
use crate::progress::Progress;
use crate::show;

/// Tells where the time of downloads went.
pub(crate) fn explain(
    target: &Source,
    options: &ExplainOptions,
    order: &OrderOptions,
    caller: &Caller,
) -> Result<(), Failure> {
    let progress = Progress::new();
    let runner = Runner {
        order: &order.order(),
        caller,
        monitor: &progress,
    };
    let choice = Choice {
        transport: options.transport.clone(),
        class: options.class,
        circuit: options.circuit,
        slowest: options.slowest.get().into(),
    };
    let explained = hopflow_api::explain(target, &choice, &runner);
    progress.clear();
    let explained = explained?;
    if options.json {
        return show::print_json(&explained.to_json());
    }
    let transports = &explained.transports;
    let mut findings: Vec<_> = transports.iter().map(findings).collect();
    findings.extend(explained.left_out.iter().map(|label| left_out(label)));
    let downloads = transports.iter().flat_map(|transport| {
        let download = |download| self::download(&transport.label, download);
        transport.downloads.iter().map(download)
    });
    let downloads: Vec<_> = downloads.collect();
    show::print(&format!(
        "{}\n\n{}\n\nresults  {}\n",
        findings.join("\n\n"),
        downloads.join("\n\n"),
        explained.folder.display()
    ))
}

fn findings(transport: &ExplainedTransport) -> String {
    let text = transport.findings.join(" ");
    show::wrapped(&format!("{}: {text}", transport.label))
}

fn left_out(label: &str) -> String {
    format!("{label}: no download that fits was completed")
}

fn download(label: &str, download: &ExplainedDownload) -> String {
    let rows = download.rows.iter().map(|row| {
        vec![
            row.way.clone(),
            row.node.clone(),
            row.reason.clone(),
            format!("{:.3}", row.time_ns as f64 / 1e6),
            format!("{:.1}", 100.0 * row.share),
        ]
    });
    let header = ["way", "node", "the last byte waits", "ms", "%"];
    let mut table = show::table(&header, rows);
    for number in [3, 4] {
        show::align_right(&mut table, number);
    }
    format!("{label}. {}\n{table}", download.title())
}
