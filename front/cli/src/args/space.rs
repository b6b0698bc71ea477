//! What may be swept.

use clap::Args;
use hopflow_lab::sweep::{Chosen, Setting};

/// Values of the axes of the design space, and what is made of the points.
#[derive(Debug, Args)]
#[command(next_help_heading = "Design space (each axis: all values by default)")]
pub(crate) struct SpaceOptions {
    /// What carries cells between neighbours: tcp, datagram
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    carrier: Vec<String>,
    /// How circuits share it: shared, per-circuit
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    multiplexing: Vec<String>,
    /// What holds cells back at each hop: none, credit, delay-window, and controls that another program registers for sweeps
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    hop_control: Vec<String>,
    /// What holds cells back at the source: none, window, vegas, tcp, worst-hop, and registered
    /// controls
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    end_to_end: Vec<String>,
    /// Whose cell a node sends next: round-robin, ewma, kist
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    scheduler: Vec<String>,
    /// The metrics that span the trade-off front, two or more of goodput, bulk-goodput,
    /// web-goodput, ttfb, ttlb, latency, fairness, jain, loss, friendliness
    /// [default: goodput,latency]
    #[arg(long, value_name = "A,B,...", value_delimiter = ',')]
    front: Vec<String>,
    /// Time between refills of token buckets, such as `10 ms`, for all points [default: each
    /// transport's own]
    #[arg(long, value_name = "DURATION")]
    refill: Option<String>,
    /// Show which points would be run, and why the others not; run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl SpaceOptions {
    /// What was given.
    pub(crate) fn setting(&self) -> Setting {
        Setting {
            chosen: Chosen {
                carrier: self.carrier.clone(),
                multiplexing: self.multiplexing.clone(),
                hop_control: self.hop_control.clone(),
                end_to_end: self.end_to_end.clone(),
                scheduler: self.scheduler.clone(),
            },
            front: self.front.clone(),
            refill: self.refill.clone(),
            ..Setting::default()
        }
    }
}
