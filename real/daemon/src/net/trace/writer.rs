//! The thread that writes traces.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use hopflow_trace::link::{Packet, encode, neighbour_address, neighbour_name, own_address};
use hopflow_trace::qlog::{self, Vantage};
use hopflow_trace::{Event, Place, Step, pcapng};
use hopflow_units::{Bytes, Duration, Instant, Rate};
use tracing::{info, warn};

use super::files::{Budget, Growing};
use super::noted::{Noted, Zero};
use crate::InputError;
use crate::config::{Trace, What};
use crate::net::clock::Clock;

/// How long something may wait to be written while nothing else comes.
const REST: Duration = Duration::from_millis(200);
/// What stands behind the events of a circuit.
pub(super) const END_OF_QLOG: &[u8] = b"\n]}\n]}\n";

/// Writes what workers noted.
#[derive(Debug)]
pub(super) struct Writer {
    folder: PathBuf,
    node: String,
    clock: Clock,
    zero: Zero,
    /// When tracing ends.
    end: Instant,
    size: Bytes,
    budget: Budget,
    circuits: BTreeMap<u32, Circuit>,
    packets: Option<Packets>,
}

/// The file of a circuit.
#[derive(Debug)]
struct Circuit {
    file: Growing,
    events: usize,
}

/// The file of all packets.
#[derive(Debug)]
struct Packets {
    file: Growing,
    /// Links whose neighbours have names in it.
    links: u32,
}

/// Why nothing more is written.
#[derive(Debug)]
enum Stop {
    /// The files hold as much as they may.
    Size,
    /// It took as long as it may.
    Time,
    /// A file cannot be written.
    File(io::Error),
}

impl From<io::Error> for Stop {
    fn from(cause: io::Error) -> Self {
        Self::File(cause)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size => f.write_str("the files hold as much as trace.size allows"),
            Self::Time => f.write_str("it took as long as trace.time allows"),
            Self::File(cause) => write!(f, "a file cannot be written: {cause}"),
        }
    }
}

impl Writer {
    pub(super) fn new(
        config: &Trace,
        node: &str,
        rate: Option<Rate>,
        (clock, zero): (Clock, Zero),
    ) -> Result<Self, InputError> {
        let mut writer = Self {
            folder: config.folder.clone(),
            node: node.to_owned(),
            clock,
            zero,
            end: Instant::ZERO + config.time,
            size: config.size,
            budget: Budget(config.size.get()),
            circuits: BTreeMap::new(),
            packets: None,
        };
        if config.what.contains(&What::Packets) {
            writer.begin_packets(rate).map_err(|cause| {
                let folder = writer.folder.display();
                InputError::at("trace.folder", format!("{folder}: {cause}"))
            })?;
        }
        Ok(writer)
    }

    fn begin_packets(&mut self, rate: Option<Rate>) -> Result<(), Stop> {
        let mut file = Growing::create(&self.folder.join("packets.pcapng"), b"")?;
        let mut begin = pcapng::begin(&self.node, rate);
        pcapng::names([(own_address(), &*self.node)], &mut begin);
        push(&mut self.budget, &mut file, &begin)?;
        file.flush()?;
        self.packets = Some(Packets { file, links: 0 });
        Ok(())
    }

    /// Writes until no worker is left, or it must stop; `waiting` counts what waits.
    pub(super) fn run(&mut self, notes: &Receiver<Noted>, waiting: &AtomicUsize) {
        let why = self.write_all(notes, waiting);
        let flushed = self.flush();
        let written = Bytes::new(self.size.get() - self.budget.0);
        let folder = self.folder.display();
        match why.and(flushed) {
            Ok(()) => info!(%folder, %written, "tracing has ended"),
            Err(why) => warn!(%folder, %written, "tracing has ended early: {why}"),
        }
        self.circuits.clear();
        self.packets = None;
    }

    fn write_all(&mut self, notes: &Receiver<Noted>, waiting: &AtomicUsize) -> Result<(), Stop> {
        loop {
            let left = self.end.saturating_since(self.clock.now());
            if left.is_zero() {
                return Err(Stop::Time);
            }
            let rest = std::time::Duration::from_nanos(left.min(REST).as_nanos());
            match notes.recv_timeout(rest) {
                Ok(noted) => {
                    let memory = noted.memory;
                    let written = self.write(noted);
                    waiting.fetch_sub(memory, Ordering::Relaxed);
                    written?;
                }
                Err(RecvTimeoutError::Timeout) => self.flush()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Writes what waits into all files; one that cannot be written keeps no other from it.
    fn flush(&mut self) -> Result<(), Stop> {
        let circuits = self.circuits.values_mut().map(|circuit| &mut circuit.file);
        let packets = self.packets.iter_mut().map(|packets| &mut packets.file);
        let flushed = circuits.chain(packets).map(Growing::flush);
        Ok(flushed.fold(Ok(()), io::Result::and)?)
    }

    fn write(&mut self, noted: Noted) -> Result<(), Stop> {
        let since = noted.since;
        for (number, place) in noted.circuits {
            self.begin_circuit(number, place)?;
        }
        for packet in &noted.turn.packets {
            self.write_packet(since, packet)?;
        }
        for (number, event) in noted.turn.events {
            let at = event.at + since;
            self.write_event(number, &Event { at, ..event })?;
        }
        Ok(())
    }

    fn begin_circuit(&mut self, number: u32, place: Place) -> Result<(), Stop> {
        let title = format!("circuit {number} at {}", self.node);
        let vantage = Vantage {
            circuit: number,
            node: &self.node,
            place,
            wall_clock_time: Some(&self.zero.text),
        };
        let begin = qlog::begin_file(&title) + &qlog::begin_trace(0, &vantage);
        let path = self.folder.join(format!("circuit-{number}.qlog"));
        if !self.budget.take(begin.len() + END_OF_QLOG.len()) {
            return Err(Stop::Size);
        }
        let mut file = Growing::create(&path, END_OF_QLOG)?;
        file.push(begin.as_bytes())?;
        self.circuits.insert(number, Circuit { file, events: 0 });
        Ok(())
    }

    fn write_event(&mut self, number: u32, event: &Event) -> Result<(), Stop> {
        let Some(circuit) = self.circuits.get_mut(&number) else {
            return Ok(());
        };
        let line = qlog::event(circuit.events, event);
        push(&mut self.budget, &mut circuit.file, line.as_bytes())?;
        circuit.events += 1;
        if matches!(event.step, Step::Closed(_)) {
            circuit.file.flush()?;
            self.circuits.remove(&number);
        }
        Ok(())
    }

    fn write_packet(&mut self, since: Duration, packet: &Packet) -> Result<(), Stop> {
        let Some(packets) = &mut self.packets else {
            return Ok(());
        };
        let mut blocks = Vec::new();
        while packets.links <= packet.link {
            let name = neighbour_name(packets.links);
            let named = (neighbour_address(packets.links), &*name);
            pcapng::names([named], &mut blocks);
            packets.links += 1;
        }
        let time = self.zero.since_1970 + (packet.at + since).as_nanos();
        for part in encode(packet) {
            pcapng::packet(time, packet.way, &part, &mut blocks);
        }
        push(&mut self.budget, &mut packets.file, &blocks)
    }
}

/// Appends to a file, if there is room.
fn push(budget: &mut Budget, file: &mut Growing, bytes: &[u8]) -> Result<(), Stop> {
    if !budget.take(bytes.len()) {
        return Err(Stop::Size);
    }
    Ok(file.push(bytes)?)
}
