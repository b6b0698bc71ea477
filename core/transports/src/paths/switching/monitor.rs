//! The relay's part: what circuits have in the output buffers, and which of them are bulk.

use hopflow_overlay::{Direction, FlowId, Multiplexing, QueueView, Role, Site};
use hopflow_units::{Bytes, Duration, LinkId};
use hopflow_wire::{Carrier, Frame, RawPayload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Below this a moving average, or its distance from another one, counts as zero.
const NOTHING: f64 = 1e-6;
/// Bytes that a connection must take for a cell.
const CELL: Bytes = Frame::<RawPayload>::cell_len(Carrier::Stream);

/// How a relay watches its output buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    /// Time between samples.
    pub(super) interval: Duration,
    /// Weight of the old value in the moving average (eq. 1).
    pub(super) gamma: f64,
    /// The share of the buffer above which circuits are switched.
    pub(super) beta: f64,
    /// Cells that an output buffer holds.
    pub(super) space: u64,
    /// Which cells it holds when it is full.
    pub(super) fill: Fill,
    /// Whether circuits share connections.
    pub(super) multiplexing: Multiplexing,
}

/// Which cells a full output buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Fill {
    /// What circuits get by turns, cell by cell: as much of every circuit, or its whole queue if
    /// that is less.
    InTurns,
    /// The same part of every queue.
    InProportion,
}

/// What a relay remembers of a circuit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// The moving average of the circuit's share of the output buffer.
    level: f64,
    /// Cells that it had sent at the last sample.
    sent: u64,
    /// Whether it was to be switched, and nothing waited since.
    ordered: bool,
}

/// A circuit at a relay, in the direction away from the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub(super) flow: FlowId,
    link: LinkId,
    /// Cells that wait for the connection.
    queued: u64,
    /// Whether the connection takes no cell.
    full: bool,
    /// Whether the circuit sent anything since the last sample.
    moved: bool,
    pub(super) memory: Memory,
}

impl Watched {
    /// Whether a flow is watched.
    pub(super) fn is_watched(site: &Site) -> bool {
        site.role == Role::Relay && site.direction == Direction::Forward
    }

    /// A flow, if it is watched.
    pub(super) fn of(
        site: &Site,
        (queue, room): (QueueView, Option<Bytes>),
        memory: Memory,
    ) -> Option<Self> {
        let link = site.next.filter(|_| Self::is_watched(site))?;
        let sent = queue.sent.get();
        Some(Self {
            flow: site.flow,
            link,
            queued: queue.unsent.get(),
            full: room.is_some_and(|room| room < CELL),
            moved: sent > memory.sent,
            memory: Memory {
                sent,
                ordered: memory.ordered && queue.unsent.is_zero(),
                ..memory
            },
        })
    }

    /// Whether nothing of the circuit was seen for long.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_active() && self.memory.level <= 0.0
    }

    /// Whether the circuit counts among those of its connection. One that went elsewhere does not:
    /// its average, which still falls, would make bulk of those that stayed.
    fn is_active(&self) -> bool {
        self.queued > 0 || (self.moved && !self.memory.ordered)
    }

    /// Notes that the circuit is to be switched.
    pub(super) fn order(&mut self) {
        self.memory.ordered = true;
    }
}

impl Watch {
    /// Takes a sample of every circuit's share of the output buffer into its moving average.
    pub(super) fn sample(&self, circuits: &mut [Watched]) {
        circuits.sort_by_key(|circuit| (circuit.link, circuit.flow));
        for connection in circuits.chunk_by_mut(|a, b| a.link == b.link) {
            let queued: Vec<u64> = connection.iter().map(|circuit| circuit.queued).collect();
            let cells = self.fill.cells(&queued, self.space);
            for (circuit, cells) in connection.iter_mut().zip(cells) {
                let share = cells / self.space as f64;
                let level = self.gamma * circuit.memory.level + (1.0 - self.gamma) * share;
                circuit.memory.level = if level < NOTHING { 0.0 } else { level };
            }
        }
        circuits.sort_by_key(|circuit| circuit.flow);
    }

    /// The circuits to be switched: those above the mean on congested connections. Where
    /// each circuit has its own connection the mean is that of all.
    pub(super) fn bulk(&self, circuits: &[Watched]) -> Vec<FlowId> {
        let mut sorted = circuits.to_vec();
        sorted.sort_by_key(|circuit| (circuit.link, circuit.flow));
        let of_all = mean(&sorted);
        let mut found = Vec::new();
        for connection in sorted.chunk_by(|a, b| a.link == b.link) {
            let level: f64 = connection.iter().map(|circuit| circuit.memory.level).sum();
            if level <= self.beta && !connection.iter().any(|circuit| circuit.full) {
                continue;
            }
            let mean = match self.multiplexing {
                Multiplexing::Shared => mean(connection),
                Multiplexing::PerCircuit => of_all,
            };
            let bulk = connection
                .iter()
                .filter(|circuit| circuit.memory.level > mean + NOTHING);
            found.extend(bulk.map(|circuit| circuit.flow));
        }
        found
    }
}

/// The mean level of the circuits that sent anything of late.
fn mean(circuits: &[Watched]) -> f64 {
    let active = circuits.iter().filter(|circuit| circuit.is_active());
    let levels: Vec<f64> = active.map(|circuit| circuit.memory.level).collect();
    levels.iter().sum::<f64>() / levels.len().max(1) as f64
}

impl Fill {
    /// The cells of each circuit in a buffer of `space` cells.
    fn cells(self, queued: &[u64], space: u64) -> Vec<f64> {
        match self {
            Self::InTurns => in_turns(queued, space),
            Self::InProportion => in_proportion(queued, space),
        }
    }
}

/// Circuits with short queues leave what they do not need to the others, who have equal parts.
fn in_turns(queued: &[u64], space: u64) -> Vec<f64> {
    let mut shortest_first = queued.to_vec();
    shortest_first.sort_unstable();
    let (mut left, mut others) = (space, queued.len() as u64);
    for cells in shortest_first {
        if cells * others > left {
            break;
        }
        left -= cells;
        others -= 1;
    }
    let part = match others {
        0 => f64::MAX,
        _ => left as f64 / others as f64,
    };
    let cells = queued.iter().map(|cells| *cells as f64);
    cells.map(|cells| cells.min(part)).collect()
}

fn in_proportion(queued: &[u64], space: u64) -> Vec<f64> {
    let total: u64 = queued.iter().sum();
    let fits = space as f64 / total.max(space).max(1) as f64;
    queued.iter().map(|cells| *cells as f64 * fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_the_same_part_of_every_queue() {
        let fill = |queued| Fill::InProportion.cells(queued, 64);
        assert_eq!(fill(&[]), Vec::<f64>::new());
        assert_eq!(fill(&[3, 0, 7]), [3.0, 0.0, 7.0]);
        assert_eq!(fill(&[96, 32, 128]), [24.0, 8.0, 32.0]);
    }

    #[test]
    fn a_buffer_that_is_filled_in_turns_holds_as_much_of_every_long_queue() {
        let fill = |queued| Fill::InTurns.cells(queued, 64);
        assert_eq!(fill(&[]), Vec::<f64>::new());
        assert_eq!(fill(&[3, 0, 7]), [3.0, 0.0, 7.0]);
        assert_eq!(fill(&[100, 4, 1000]), [30.0, 4.0, 30.0]);
        assert_eq!(fill(&[64]), [64.0]);
        let third = 64.0 / 3.0;
        assert_eq!(fill(&[22, 500, 40]), [third; 3]);
    }
}
