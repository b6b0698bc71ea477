//! Writes the reports on invented results, to look at: `cargo run --example synthetic -- DIR`.

#[allow(dead_code, reason = "shared with tests")]
#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use std::path::Path;

use hopflow_report::{Axis, Code, FigurePage};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: synthetic DIR")?;
    let dir = Path::new(&dir);
    synthetic::write(&dir.join("compare"));
    let document = hopflow_report::from_results(&dir.join("compare"))?;
    let report = hopflow_report::write(&document, &dir.join("compare"))?;
    println!("{}", report.page.display());
    let page = FigurePage {
        title: "backtap-fig5a".to_owned(),
        subtitle: "Rate of one circuit over the round-trip time (BackTap, NSDI 2016, figure 5a)"
            .to_owned(),
        x: Some(Axis::new("End-to-end round-trip time", "ms").including(0.0)),
        prose: vec![
            "The rate is `min(1500 kB/s, window / RTT)` where a window limits it.".to_owned(),
        ],
        origin: vec![Code {
            caption: "Command".to_owned(),
            text: "hopflow reproduce backtap-fig5a\n".to_owned(),
            file: None,
        }],
    };
    let document = hopflow_report::figure_page(&page, &synthetic::values());
    let report = hopflow_report::write(&document, &dir.join("figure"))?;
    println!("{}", report.page.display());
    Ok(())
}
