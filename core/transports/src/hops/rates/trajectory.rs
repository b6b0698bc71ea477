//! Trajectories: as neighbours send them, and as a node reads them at its own times.

use hopflow_overlay::Violation;
use hopflow_units::{Duration, Instant};

/// Steps that a trajectory may have.
pub(super) const LONGEST: usize = 32;

/// The unit of times in messages, of which the longest is above 6 s.
const TICK: Duration = Duration::from_micros(100);
/// Parts of a cell that messages tell apart.
const PARTS: f64 = 256.0;

/// What a node reports to the successor of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Downstream {
    /// How old the successor's plan is, as the node reads it, when cells arrive that leave now.
    pub(super) lead: Duration,
    /// Cells per step that the node will send.
    pub(super) rate: Vec<f64>,
    /// Cells that will wait at the node after each step.
    pub(super) queue: Vec<f64>,
    /// Cells per step that the node could send if it were granted more (eq. 24); printed form only.
    pub(super) potential: Vec<f64>,
}

/// What a node reports to the predecessor of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Upstream {
    /// Cells per step that the node will take.
    pub(super) rate: Vec<f64>,
}

/// A message that arrived.
#[derive(Clone, Debug)]
pub(super) struct Heard<T> {
    /// When.
    pub(super) at: Instant,
    /// The plan's number; one that comes later has a higher one, modulo 256.
    pub(super) number: u8,
    /// What it said.
    pub(super) said: T,
}

/// What neighbours tell each other of their plans.
pub(super) trait Report: Sized {
    /// Reads a message: the plan's number, and what it says.
    fn decode(body: &[u8]) -> Result<(u8, Self), Violation>;

    /// Whether the flow rests.
    fn is_idle(&self) -> bool;

    /// Keeps `memory` of what was said before, `steps` steps ago.
    fn keep(&mut self, old: &Self, memory: f64, steps: f64);
}

/// Lets a trajectory keep `memory` of an older one.
fn blend(new: &mut [f64], memory: f64, old: impl Fn(f64) -> f64) {
    for (k, value) in new.iter_mut().enumerate() {
        *value = *value * (1.0 - memory) + old(k as f64) * memory;
    }
}

impl Downstream {
    /// The plan's number, a byte with the number of steps and whether there are potentials, the
    /// lead, and the trajectories.
    pub(super) fn encode(&self, number: u8) -> Vec<u8> {
        let steps = self.rate.len() as u8;
        let potentials = if self.potential.is_empty() { 0 } else { 0x80 };
        let mut out = vec![number, steps | potentials];
        let ticks = self.lead.as_nanos() / TICK.as_nanos();
        out.extend((ticks.min(u16::MAX.into()) as u16).to_be_bytes());
        for trajectory in [&self.rate, &self.queue, &self.potential] {
            encode(trajectory, &mut out);
        }
        out
    }
}

impl Report for Downstream {
    fn decode(body: &[u8]) -> Result<(u8, Self), Violation> {
        let (&[number, first, hi, lo], rest) = body
            .split_first_chunk()
            .ok_or(Violation::UnreadableMessage)?;
        let steps = usize::from(first & 0x7f);
        let lead = TICK * u64::from(u16::from_be_bytes([hi, lo]));
        let (rate, rest) = decode(rest, steps)?;
        let (queue, rest) = decode(rest, steps)?;
        let (potential, rest) = decode(rest, if first & 0x80 == 0 { 0 } else { steps })?;
        let said = Self {
            lead,
            rate,
            queue,
            potential,
        };
        let whole = rest.is_empty().then_some((number, said));
        whole.ok_or(Violation::UnreadableMessage)
    }

    /// Whether nothing waits and nothing will come.
    fn is_idle(&self) -> bool {
        let mut all = self.rate.iter().chain(&self.queue);
        all.all(|cells| *cells == 0.0)
    }

    fn keep(&mut self, old: &Self, memory: f64, steps: f64) {
        blend(&mut self.rate, memory, |k| mean(&old.rate, steps + k));
        blend(&mut self.queue, memory, |k| {
            state(&old.queue, steps + k + 1.0)
        });
        blend(&mut self.potential, memory, |k| {
            mean(&old.potential, steps + k)
        });
    }
}

impl Upstream {
    /// The plan's number, a byte with the number of steps, and the trajectory.
    pub(super) fn encode(&self, number: u8) -> Vec<u8> {
        let mut out = vec![number, self.rate.len() as u8];
        encode(&self.rate, &mut out);
        out
    }
}

impl Report for Upstream {
    fn decode(body: &[u8]) -> Result<(u8, Self), Violation> {
        let (&[number, steps], rest) = body
            .split_first_chunk()
            .ok_or(Violation::UnreadableMessage)?;
        let (rate, rest) = decode(rest, steps.into())?;
        let whole = rest.is_empty().then_some((number, Self { rate }));
        whole.ok_or(Violation::UnreadableMessage)
    }

    /// Whether there is no plan. One that takes nothing is a plan, and has more than one step.
    fn is_idle(&self) -> bool {
        self.rate == [0.0]
    }

    fn keep(&mut self, old: &Self, memory: f64, steps: f64) {
        blend(&mut self.rate, memory, |k| mean(&old.rate, steps + k));
    }
}

/// Each value, in whole parts of a cell, as the upper half of its 32-bit float: two bytes, within a
/// third of a per cent. What a solver leaves of rates that are zero is no news.
fn encode(trajectory: &[f64], out: &mut Vec<u8>) {
    for value in trajectory {
        let bits = ((value * PARTS).round() as f32 / PARTS as f32).to_bits();
        // To the nearest; what is finite and below 1e38 stays so.
        let half = (bits.saturating_add(0x8000) >> 16) as u16;
        out.extend(half.to_be_bytes());
    }
}

fn decode(bytes: &[u8], steps: usize) -> Result<(Vec<f64>, &[u8]), Violation> {
    if steps > LONGEST {
        return Err(Violation::UnreadableMessage);
    }
    let (head, rest) = bytes
        .split_at_checked(2 * steps)
        .ok_or(Violation::UnreadableMessage)?;
    let values = head.chunks_exact(2).map(|pair| {
        let half = u16::from_be_bytes([pair[0], pair[1]]);
        f64::from(f32::from_bits(u32::from(half) << 16))
    });
    let values: Vec<f64> = values.collect();
    let sane = values
        .iter()
        .all(|value| value.is_finite() && *value >= 0.0);
    sane.then_some((values, rest))
        .ok_or(Violation::UnreadableMessage)
}

/// The mean of a piecewise constant trajectory from `from` on, for one step. Before its beginning
/// it is as at its beginning, and behind its end as at its end.
pub(super) fn mean(trajectory: &[f64], from: f64) -> f64 {
    let Some(last) = trajectory.len().checked_sub(1) else {
        return 0.0;
    };
    // Casts of negative numbers give zero, those of large ones the largest.
    let first = from.max(0.0) as usize;
    let share = from.max(0.0) - first as f64;
    let at = |k: usize| trajectory[k.min(last)];
    at(first) * (1.0 - share) + at(first.saturating_add(1)) * share
}

/// The sum of a piecewise constant trajectory over its first `steps` steps.
pub(super) fn sum(trajectory: &[f64], steps: f64) -> f64 {
    let Some(&last) = trajectory.last() else {
        return 0.0;
    };
    let whole = (steps.max(0.0) as usize).min(trajectory.len());
    let rest = steps.max(0.0) - whole as f64;
    let next = trajectory.get(whole).copied().unwrap_or(last);
    trajectory[..whole].iter().sum::<f64>() + rest * next
}

/// The value of a state after `steps` steps, of which the trajectory has that after each whole one.
pub(super) fn state(trajectory: &[f64], steps: f64) -> f64 {
    mean(trajectory, steps - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_keep_what_they_say_within_a_third_of_a_per_cent() {
        let down = Downstream {
            lead: Duration::from_micros(80_100),
            rate: vec![0.0, 1.0, 33.2],
            queue: vec![100.0, 1e-4, 7e6],
            potential: vec![4.0, 5.0, 6.0],
        };
        let (number, read) = Downstream::decode(&down.encode(200)).unwrap();
        assert_eq!(number, 200);
        assert_eq!(read.lead, down.lead);
        let all = |it: &Downstream| [&it.rate[..], &it.queue, &it.potential].concat();
        for (read, said) in all(&read).iter().zip(all(&down)) {
            assert!((read - said).abs() <= said / 300.0 + 0.002, "{read} {said}");
        }
        let up = Upstream {
            rate: vec![2.0, 0.5],
        };
        assert_eq!(Upstream::decode(&up.encode(7)), Ok((7, up)));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let good = Downstream {
            rate: vec![1.0; 3],
            queue: vec![2.0; 3],
            ..Downstream::default()
        };
        let good = good.encode(0);
        assert!(Downstream::decode(&good).is_ok());
        for len in 0..good.len() {
            assert!(Downstream::decode(&good[..len]).is_err(), "{len}");
        }
        assert!(Downstream::decode(&[&good[..], &[0]].concat()).is_err());
        // Not a number, negative, too many steps.
        assert!(Upstream::decode(&[0, 1, 0x7f, 0xc0]).is_err());
        assert!(Upstream::decode(&[0, 1, 0xbf, 0x80]).is_err());
        assert!(Upstream::decode(&[[0, 33].as_slice(), &[0; 66]].concat()).is_err());
        assert!(Upstream::decode(&[]).is_err());
    }

    #[test]
    fn trajectories_are_read_between_their_steps() {
        let plan = [4.0, 2.0, 1.0];
        assert_eq!(mean(&plan, 0.0), 4.0);
        assert_eq!(mean(&plan, 0.5), 3.0);
        assert_eq!(mean(&plan, 1.75), 1.25);
        assert_eq!(mean(&plan, 9.0), 1.0);
        assert_eq!(mean(&plan, -1.0), 4.0);
        assert_eq!(mean(&[], 1.0), 0.0);
        assert_eq!(sum(&plan, 2.5), 6.5);
        assert_eq!(sum(&plan, 5.0), 9.0);
        assert_eq!(sum(&plan, -1.0), 0.0);
        assert_eq!(state(&plan, 1.0), 4.0);
        assert_eq!(state(&plan, 2.5), 1.5);
    }
}
