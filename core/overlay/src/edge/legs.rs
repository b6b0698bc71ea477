//! Several circuits that carry streams together, as an end of one of them knows them.

use hopflow_wire::Payload;

use super::Stream;

/// What an end of a circuit keeps of the circuits with which it shares streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Legs {
    /// All circuits of the first stream that has several, this one among them.
    pub(crate) all: Vec<u32>,
    /// Whether there ever was such a stream, or the exit linked the circuit.
    pub(crate) had_any: bool,
    /// The circuit to which the choice among circuits moved the streams.
    pub(crate) pinned: Option<u32>,
    /// Circuits to which this one leaves what they may take, too.
    pub(crate) better: Vec<u32>,
    /// At an exit, the circuits that carry what begins here together with this one.
    pub(crate) linked: Option<Box<LinkedSet>>,
}

/// Circuits of one client that end at this exit and carry its streams together.
#[derive(Clone, Debug)]
pub(crate) struct LinkedSet {
    /// The circuits; streams begin on the first.
    pub(crate) circuits: Vec<u32>,
    /// Cells of a stream that are held at most because others must come first.
    pub(crate) hold: u32,
}

impl Legs {
    /// Whether the next cell of a stream is left to a better circuit.
    #[inline]
    pub(crate) fn leave<P: Payload>(&self, stream: &Stream<P>) -> bool {
        let has_legs = stream.legs.len() > 1;
        has_legs && self.better.iter().any(|&leg| stream.is_open_to(leg))
    }

    /// The circuits of a stream that begins on this one at an exit; none if streams begin on another.
    pub(crate) fn of_stream_on(&self, circuit: u32) -> Option<LinkedSet> {
        match &self.linked {
            None => Some(LinkedSet {
                circuits: vec![circuit],
                hold: 0,
            }),
            Some(set) if set.circuits.first() == Some(&circuit) => Some((**set).clone()),
            Some(_) => None,
        }
    }
}
