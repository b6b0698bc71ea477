//! Circuits of the live Tor network: hidden Markov models of their streams and of the packets in
//! these (Jansen, Traudt and Hopper, *Privacy-Preserving Dynamic Learning of Tor Network Traffic*,
//! CCS '18, sections 4 and 5).
//!
//! Each stream is an object with the pause that the model has before it; packets toward the server
//! are its request, those toward the client its response. When packets are sent within a stream is
//! left to the network.
//!
//! The description has `packet`, the bytes of a packet, and the symbols that `streams` and
//! `packets` emit. Tensors, for each of the two: `NAME.start`, `NAME.transition` and
//! `NAME.emission`, probabilities of states and of symbols in them; and `NAME.gaps`, for each state
//! and symbol the rate, in events per microsecond, of an exponential pause, and the mean and the
//! deviation of the logarithm of a lognormal one in microseconds, flattened. The symbol `F`, and a
//! state with no transitions, end a sequence.

use hopflow_random::Stream;
use hopflow_sim::spec::Class;
use hopflow_units::Duration;
use serde::Deserialize;

use super::source::Source;
use crate::ModelError;
use crate::step::{Object, upload};
use crate::tensors::{Matrix, Tensors};

/// The symbol that ends a sequence.
const END: &str = "F";

/// The most streams of a circuit, and packets of a stream: guards against endless chains.
const MOST: [usize; 2] = [1_000, 200_000];

/// The longest pause in microseconds: Tor takes no new streams on a circuit that is ten minutes
/// old (tor-spec, `MaxCircuitDirtiness`).
const LONGEST_GAP: f64 = 600e6;

/// How far probabilities may be from summing up to one: they are rounded in files.
const SLACK: f64 = 1e-6;

/// The least probability that a circuit has a stream: one without is drawn again.
const LEAST_USED: f64 = 1e-3;

/// What the chains emit, as the description has it.
#[derive(Deserialize)]
pub(super) struct Symbols {
    packet: u32,
    streams: Vec<String>,
    packets: Vec<String>,
}

/// The two chains.
#[derive(Clone, Debug)]
pub(super) struct Markov {
    streams: Chain,
    packets: Chain,
    /// Bytes of a packet.
    packet: f64,
}

/// A hidden Markov model: each state emits a symbol.
#[derive(Clone, Debug)]
struct Chain {
    symbols: Vec<String>,
    /// Cumulative probabilities.
    start: Vec<f64>,
    transition: Vec<Vec<f64>>,
    emission: Vec<Vec<f64>>,
    /// Rate, mean and deviation, for each symbol of each state.
    gaps: Matrix<f64>,
    most: usize,
}

impl Markov {
    pub(super) fn read(tensors: &Tensors<'_>, symbols: &Symbols) -> Result<Self, ModelError> {
        let streams = Chain::read(tensors, "streams", &symbols.streams, MOST[0])?;
        let used = streams.goes_on();
        if used < LEAST_USED {
            return Err(tensors.error(format!(
                "the chain \"streams\" has a stream with probability {used}; allowed are \
                 {LEAST_USED} to 1"
            )));
        }
        Ok(Self {
            streams,
            packets: Chain::read(tensors, "packets", &symbols.packets, MOST[1])?,
            packet: f64::from(symbols.packet),
        })
    }

    /// A stream that begins after a pause.
    fn stream(&self, gap: Duration, random: &mut Stream) -> Object {
        let [mut up, mut down] = [0.0, 0.0];
        self.packets.run(random, |symbol, _, _| match symbol {
            "+" => up += self.packet,
            _ => down += self.packet,
        });
        let mut object = Object {
            gap,
            ..Object::of(down)
        };
        if up > 0.0 {
            upload(std::slice::from_mut(&mut object), [up]);
        }
        object
    }
}

impl Source for Markov {
    /// A circuit with a stream or more.
    fn draw(&self, _: Class, random: &mut Stream) -> Vec<Object> {
        let mut gaps = Vec::new();
        while gaps.is_empty() {
            self.streams
                .run(random, |_, gap, random| gaps.push(pause(gap, random)));
        }
        gaps.into_iter()
            .map(|gap| self.stream(gap, random))
            .collect()
    }
}

impl Chain {
    fn read(
        tensors: &Tensors<'_>,
        name: &str,
        symbols: &[String],
        most: usize,
    ) -> Result<Self, ModelError> {
        let start_name = format!("{name}.start");
        let start: Vec<f64> = tensors.list(&start_name)?;
        let [states, count] = [start.len(), symbols.len()];
        if states == 0 || !symbols.iter().any(|symbol| symbol == END) {
            let problem =
                format!("the chain \"{name}\" never ends; needed is the symbol \"{END}\"");
            return Err(tensors.error(problem));
        }
        let table = |part: &str, shape, ends| -> Result<Vec<Vec<f64>>, ModelError> {
            let name = format!("{name}.{part}");
            let matrix: Matrix<f64> = tensors.matrix_of(&name, shape)?;
            let rows = matrix.iter_rows();
            rows.map(|row| cumulative(tensors, &name, row, ends))
                .collect()
        };
        Ok(Self {
            symbols: symbols.to_vec(),
            start: cumulative(tensors, &start_name, &start, false)?,
            transition: table("transition", [states, states], true)?,
            emission: table("emission", [states, count], false)?,
            gaps: tensors.matrix_of(&format!("{name}.gaps"), [states, 3 * count])?,
            most,
        })
    }

    /// The probability that a sequence has a symbol before its end.
    fn goes_on(&self) -> f64 {
        let steps = |sums: &[f64], at: usize| sums[at] - if at > 0 { sums[at - 1] } else { 0.0 };
        let emits = |state: usize| {
            let symbols = self.symbols.iter().enumerate();
            let others = symbols.filter(|(_, symbol)| *symbol != END);
            others.fold(0.0, |sum, (at, _)| sum + steps(&self.emission[state], at))
        };
        (0..self.start.len()).fold(0.0, |sum, state| {
            sum + steps(&self.start, state) * emits(state)
        })
    }

    /// Tells each symbol of a sequence and the parameters of the pause before it.
    fn run(&self, random: &mut Stream, mut tell: impl FnMut(&str, &[f64], &mut Stream)) {
        let mut state = choose(&self.start, random);
        for _ in 0..self.most {
            let symbol = choose(&self.emission[state], random);
            if self.symbols[symbol] == END {
                return;
            }
            let gap = &self.gaps.row(state)[3 * symbol..3 * symbol + 3];
            tell(&self.symbols[symbol], gap, random);
            let following = &self.transition[state];
            if following.last() == Some(&0.0) {
                return;
            }
            state = choose(following, random);
        }
    }
}

/// Sums of the first probabilities of a row of a tensor; all may be zero where `ends` says so.
fn cumulative(
    tensors: &Tensors<'_>,
    name: &str,
    probabilities: &[f64],
    ends: bool,
) -> Result<Vec<f64>, ModelError> {
    let sums = probabilities.iter().scan(0.0, |sum, probability| {
        *sum += probability;
        Some(*sum)
    });
    let sums: Vec<f64> = sums.collect();
    let total = sums.last().copied().unwrap_or(0.0);
    let sums_up = (total - 1.0).abs() <= SLACK || (ends && total == 0.0);
    if sums_up && probabilities.iter().all(|it| *it >= 0.0) {
        return Ok(sums);
    }
    let or = if ends { ", or are all 0" } else { "" };
    Err(tensors.error(format!(
        "the tensor \"{name}\" has a row with the sum {total}; allowed are probabilities from 0 \
         on that sum up to 1{or}"
    )))
}

/// The number of what is chosen; the last where rounding leaves the sum below one.
fn choose(cumulative: &[f64], random: &mut Stream) -> usize {
    let drawn = random.unit();
    let chosen = cumulative.partition_point(|sum| *sum <= drawn);
    chosen.min(cumulative.len() - 1)
}

/// A pause: exponential where there is a rate, else lognormal where there is a deviation.
fn pause(gap: &[f64], random: &mut Stream) -> Duration {
    let &[rate, mean, deviation] = gap else {
        unreachable!("a pause has three parameters");
    };
    let micros = if rate > 0.0 {
        -libm::log(1.0 - random.unit()) / rate
    } else if deviation > 0.0 {
        libm::exp(mean + deviation * random.normal())
    } else {
        0.0
    };
    Duration::from_nanos((micros.min(LONGEST_GAP) * 1e3) as u64)
}
