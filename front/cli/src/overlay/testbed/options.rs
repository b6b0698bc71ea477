//! What may stand behind `hopflow testbed`.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use hopflow_api::Failure;
use hopflow_testbed::{Congestion, Settings, Trace};
use hopflow_units::{Bytes, Duration, Rate};

use crate::numbers::positive;
use crate::overlay::transport_options::transport_options;

/// Folder of the traces in that of the results.
pub(crate) const TRACE: &str = "trace";
/// Circuits that a node traces at most.
const MOST_CIRCUITS: u32 = 1000;
/// Longer than anybody keeps a testbed.
const FOR_EVER: Duration = Duration::from_secs(30 * 24 * 3600);

/// What a testbed is like, and what is made of it.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch on the command line"
)]
pub(crate) struct TestbedOptions {
    /// Transport of all nodes, as `hopflow list transports` names it
    #[arg(
        long,
        value_name = "PRESET,...",
        value_delimiter = ',',
        default_value = "backtap"
    )]
    transport: Vec<String>,
    /// Option of the transport, such as tolerance=5ms; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    option: Vec<String>,
    /// Downloads that begin at the same time
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        allow_negative_numbers = true,
        default_value = "10"
    )]
    downloads: Vec<u32>,
    /// Bytes of each download
    #[arg(long, value_name = "BYTES", default_value = "5MB")]
    size: Bytes,
    /// One-way delay between two neighbours
    #[arg(
        long,
        value_name = "TIME,...",
        value_delimiter = ',',
        default_value = "40ms"
    )]
    delay: Vec<Duration>,
    /// Rate of every node's access link, or `none`
    #[arg(long, value_name = "RATE", default_value = "100Mbit/s")]
    rate: Limit,
    /// Rate of the middle relay's token bucket, or `none`
    #[arg(
        long,
        value_name = "RATE,...",
        value_delimiter = ',',
        default_value = "none"
    )]
    middle_rate: Vec<Limit>,
    /// Cut off downloads that are not complete after this time
    #[arg(long, value_name = "TIME")]
    duration: Option<Duration>,
    /// All downloads on one circuit; otherwise each has its own
    #[arg(long, conflicts_with_all = ["compare", "matrix"])]
    shared: bool,
    /// Circuits to the exit that carry a download together, by different relays, from 1 to 4 [default: 1, or 2 where
    /// the transport moves streams among circuits]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    legs: Option<u8>,
    /// Give every node a network namespace of its own (Linux, as root), with links that the kernel's TCP feels; its
    /// congestion control is the kernel's default or, after `=`, cubic, new-reno or bbr
    #[arg(
        long,
        value_name = "TCP",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["keep", "metrics"]
    )]
    netns: Option<Tcp>,
    /// Make the same downloads in the simulator and report both side by side
    #[arg(long)]
    pub(crate) compare: bool,
    /// All combinations of 1, 10 and 50 downloads, delays of 0 and 40 ms, a middle relay with and
    /// without 1500 kB/s, and backtap, vanilla and pctcp
    #[arg(long, conflicts_with_all = ["transport", "downloads", "delay", "middle_rate", "keep"])]
    matrix: bool,
    /// How often each measurement is made
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = positive(NonZeroU32::MAX)
    )]
    pub(crate) repeats: NonZeroU32,
    /// Leave the overlay running after the downloads, for other applications
    #[arg(long)]
    pub(crate) keep: bool,
    /// Let all nodes serve metrics, and print the command that shows them in the browser
    #[arg(long)]
    pub(crate) metrics: bool,
    /// Let nodes write traces, `qlog` or `packets` or both, into `trace` in the folder of the results
    #[arg(long, value_name = "WHAT,...", value_delimiter = ',')]
    trace: Vec<What>,
    /// Bytes of the traces of each node at most
    #[arg(
        long,
        value_name = "BYTES",
        default_value = "100MB",
        requires = "trace"
    )]
    trace_size: Bytes,
    /// Folder for the results [default: results/testbed]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What nodes may trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Circuits as qlog
    Qlog,
    /// Frames of links as pcapng
    Packets,
}

/// A congestion control, or that of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tcp(Option<Congestion>);

impl FromStr for Tcp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        text.parse().map(|tcp| Self(Some(tcp)))
    }
}

impl Tcp {
    /// What is asked for, or else the kernel's default.
    fn chosen(self) -> Result<Congestion, Failure> {
        self.0
            .map_or_else(Congestion::of_kernel, Ok)
            .map_err(|problem| refusal(&problem))
    }
}

/// A rate, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit(Option<Rate>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let rate: Rate = text
            .parse()
            .map_err(|error: <Rate as FromStr>::Err| format!("{error}, or `none`"))?;
        Ok(Self(Some(rate)))
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => rate.fmt(f),
            None => f.write_str("none"),
        }
    }
}

impl What {
    const fn daemon(self) -> hopflow_testbed::What {
        match self {
            Self::Qlog => hopflow_testbed::What::Qlog,
            Self::Packets => hopflow_testbed::What::Packets,
        }
    }
}

impl TestbedOptions {
    /// The testbeds to be made, one after the other.
    pub(crate) fn cells(&self) -> Result<Vec<Settings>, Failure> {
        let mut cells = Vec::new();
        let options = transport_options(&self.option)?;
        let netns = self.netns.map(Tcp::chosen).transpose()?;
        self.check_lists()?;
        let (transports, downloads, delays, middles) = self.lists();
        for transport in &transports {
            for delay in &delays {
                for middle in &middles {
                    for downloads in &downloads {
                        cells.push(Settings {
                            transport: transport.clone(),
                            downloads: *downloads,
                            size: self.size,
                            delay: *delay,
                            rate: self.rate.0,
                            middle_rate: middle.0,
                            shared: self.shared,
                            legs: self.legs,
                            netns,
                            duration: self.duration,
                            options: options.clone(),
                        });
                    }
                }
            }
        }
        for cell in &cells {
            cell.check().map_err(|error| refusal(&error))?;
        }
        if self.trace_size < Trace::LEAST_SIZE {
            let (found, least) = (self.trace_size, Trace::LEAST_SIZE);
            let problem = format!("trace-size: {found}; allowed are sizes from {least} on");
            return Err(refusal(&problem));
        }
        if self.keep && (cells.len() > 1 || self.repeats.get() > 1) {
            return Err(refusal(&"keep: allowed with one testbed, not with several"));
        }
        Ok(cells)
    }

    /// Whether nodes trace.
    pub(crate) const fn traces(&self) -> bool {
        !self.trace.is_empty()
    }

    /// What the nodes of a testbed trace, whose results are in this folder, in the measurement of this number.
    pub(crate) fn trace(&self, settings: &Settings, folder: &Path, number: u32) -> Option<Trace> {
        self.traces().then(|| Trace {
            what: self.trace.iter().copied().map(What::daemon).collect(),
            size: self.trace_size,
            circuits: traced(settings),
            time: FOR_EVER,
            ..Trace::into_folder(folder.join(TRACE).join(number.to_string()))
        })
    }

    /// What to say where a node of a testbed has more circuits for downloads than it traces.
    pub(crate) fn untraced(&self, settings: &Settings) -> Option<String> {
        let circuits = circuits(settings);
        (self.trace.contains(&What::Qlog) && circuits > MOST_CIRCUITS).then(|| {
            format!("--trace: nodes trace the first {MOST_CIRCUITS} of {circuits} circuits at most")
        })
    }

    /// Refuses values that are listed twice: their results would have the same folder.
    fn check_lists(&self) -> Result<(), Failure> {
        once("transport", &self.transport)?;
        once("downloads", &self.downloads)?;
        once("delay", &self.delay)?;
        once("middle-rate", &self.middle_rate)
    }

    fn lists(&self) -> (Vec<String>, Vec<u32>, Vec<Duration>, Vec<Limit>) {
        if !self.matrix {
            return (
                self.transport.clone(),
                self.downloads.clone(),
                self.delay.clone(),
                self.middle_rate.clone(),
            );
        }
        let transports = ["backtap", "vanilla", "pctcp"].map(str::to_owned);
        let limit = Limit(Some(Rate::from_kilobytes_per_sec(1500)));
        (
            transports.to_vec(),
            vec![1, 10, 50],
            vec![Duration::ZERO, Duration::from_millis(40)],
            vec![Limit(None), limit],
        )
    }
}

/// Circuits that carry downloads, at the ends of their paths: all legs.
fn circuits(settings: &Settings) -> u32 {
    settings.circuits() * settings.legs() as u32
}

/// Circuits that each node traces at most: some more than carry downloads, for what is done by hand.
fn traced(settings: &Settings) -> u32 {
    (circuits(settings) + 16).min(MOST_CIRCUITS)
}

/// Refuses a list that holds a value twice.
fn once<T: Display>(option: &str, values: &[T]) -> Result<(), Failure> {
    let mut listed = BTreeSet::new();
    for value in values.iter().map(T::to_string) {
        if !listed.insert(value.clone()) {
            let problem = format!(
                "{option}: {value} is listed twice; allowed is once, and --repeats N measures N times"
            );
            return Err(refusal(&problem));
        }
    }
    Ok(())
}

/// The settings' names are the options'.
fn refusal(error: &dyn Display) -> Failure {
    Failure::bad_input(format_args!("--{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_legs_of_downloads_are_traced() {
        for (downloads, legs, expected) in [(30, None, 46), (30, Some(2), 76), (600, Some(4), 1000)]
        {
            let settings = Settings {
                downloads,
                legs,
                ..Settings::default()
            };
            assert_eq!(traced(&settings), expected);
        }
    }
}
