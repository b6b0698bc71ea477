//! What a run of four uploads tells.

use hopflow_results::{Class, Direction, Since, Tables};

use crate::Measured;
use crate::study::percentiles;

/// Weight of the old value in the moving average of the buffer (section 5.1.2).
const GAMMA: f64 = 0.7;
/// Cells in the output buffer of 32 kB.
const SPACE: f64 = 64.0;
/// The hop at which the entry sends: the client's is before it.
const ENTRY: u32 = 1;
/// Bytes of the packets that drops are compared with.
const PACKET: f64 = 1500.0;

/// The cells of each circuit in a buffer, of those that are queued.
type Fill = fn(&[f64]) -> Vec<f64>;
/// The two readings of how a buffer is filled, and what the names of quantities say of them.
const FILLS: [(Fill, &str); 2] = [(in_turns, ""), (in_proportion, " if filled in proportion")];

/// All quantities of a run.
pub(super) fn measure(run: &Tables) -> Vec<Measured> {
    let mut report = Vec::new();
    throughput(&mut report, run);
    by_second(&mut report, run);
    latency(&mut report, run);
    let drops: u64 = run.links.iter().map(|link| link.drops).sum();
    let up = run.links.iter().filter(|l| l.direction == Direction::Up);
    let bytes: u64 = up.filter_map(|link| link.bytes).sum();
    let rate = 100.0 * drops as f64 * PACKET / bytes as f64;
    report.push(Measured::new("drop rate", "%", rate));
    for (fill, how) in FILLS {
        for (number, level) in mean_levels(run, fill).into_iter().enumerate() {
            let quantity = format!("mean EWMA of circuit {}{how}", number + 1);
            report.push(Measured::new(quantity, "", level));
        }
    }
    report
}

/// An upload, as far as it came.
#[derive(Clone, Copy, Debug)]
struct Upload {
    circuit: u32,
    /// When it began, and when it was over or the run ended, in seconds.
    start: f64,
    end: f64,
    /// What arrived of it.
    bytes: f64,
}

/// The uploads: those of the bulk users, who come before all others.
fn uploads(run: &Tables) -> Vec<Upload> {
    let complete = run.downloads.iter().filter(|it| it.class == Class::Bulk);
    let complete = complete.map(|it| Upload {
        circuit: it.circuit,
        start: it.start_s,
        end: it.start_s + it.ttlb_s,
        bytes: it.bytes as f64,
    });
    let open = run
        .open_requests
        .iter()
        .filter(|it| it.class == Class::Bulk);
    let open = open.map(|it| Upload {
        circuit: it.circuit,
        start: it.start_s,
        end: it.start_s + it.waited_s,
        bytes: it.bytes as f64,
    });
    complete.chain(open).collect()
}

/// How many users upload.
fn uploaders(run: &Tables) -> usize {
    let circuits = run.circuits.iter();
    circuits
        .filter(|circuit| circuit.class == Class::Bulk)
        .count()
}

fn throughput(report: &mut Vec<Measured>, run: &Tables) {
    let uploads = uploads(run);
    let first = uploads.iter().map(|u| u.start).fold(f64::MAX, f64::min);
    let last = uploads.iter().map(|u| u.end).fold(0.0, f64::max);
    let bytes: f64 = uploads.iter().map(|upload| upload.bytes).sum();
    let all = bytes / (last - first) / 1e3;
    report.push(Measured::new("throughput of all circuits", "kB/s", all));
    let rates = uploads.iter().map(|u| u.bytes / (u.end - u.start) / 1e3);
    let mean = rates.clone().sum::<f64>() / uploads.len() as f64;
    report.push(Measured::new("throughput of a circuit", "kB/s", mean));
    for (upload, rate) in uploads.iter().zip(rates) {
        let quantity = format!("throughput of circuit {}", upload.circuit + 1);
        report.push(Measured::new(quantity, "kB/s", rate));
    }
    let open = run
        .open_requests
        .iter()
        .filter(|it| it.class == Class::Bulk);
    let open = open.count() as f64;
    report.push(Measured::new("uploads", "", uploads.len() as f64 - open));
    report.push(Measured::new("uploads open at the end", "", open));
}

/// What all circuits got in each second while all uploaded.
fn by_second(report: &mut Vec<Measured>, run: &Tables) {
    let uploads = uploads(run);
    let from = uploads.iter().map(|u| u.start).fold(0.0, f64::max);
    let until = uploads.iter().map(|u| u.end).fold(f64::MAX, f64::min);
    let mut totals: Vec<(f64, u64)> = Vec::new();
    let users = uploaders(run) as u32;
    let of_users = run.samples.iter().filter(|s| s.circuit < users);
    let within = of_users.filter(|s| from <= s.t_s && s.t_s <= until);
    for sample in within {
        match totals.last_mut() {
            Some((t, total)) if *t >= sample.t_s => *total += sample.delivered_bytes,
            _ => totals.push((sample.t_s, sample.delivered_bytes)),
        }
    }
    let rates = totals.windows(2).map(|pair| {
        let [(earlier, before), (later, after)] = [pair[0], pair[1]];
        (after - before) as f64 / (later - earlier) / 1e3
    });
    percentiles(report, "throughput by second", "kB/s", rates);
}

/// The latency of all cells of uploads.
fn latency(report: &mut Vec<Measured>, run: &Tables) {
    let classes = run.latency_classes.iter();
    let users = uploaders(run) as u32;
    let classes = classes.filter(|c| c.since == Since::Packaged && c.circuit < users);
    let cells = classes.flat_map(|class| {
        let middle = f64::midpoint(class.from_s, class.below_s);
        std::iter::repeat_n(middle, class.cells as usize)
    });
    percentiles(report, "latency", "s", cells);
}

/// The moving averages of the circuits' shares of the entry's output buffer, as the transport keeps
/// them, in the mean over the samples at which all uploaded.
fn mean_levels(run: &Tables, fill: Fill) -> Vec<f64> {
    let until = uploads(run)
        .into_iter()
        .map(|upload| upload.end)
        .fold(f64::MAX, f64::min);
    let circuits = uploaders(run);
    let mut levels = vec![0.0; circuits];
    let mut sums = vec![0.0; circuits];
    let mut samples = 0;
    let users = circuits as u32;
    let entry = run.hops.iter();
    let entry = entry.filter(|h| h.hop == ENTRY && h.circuit < users && h.t_s <= until);
    let queued: Vec<f64> = entry.map(|hop| hop.queue_cells as f64).collect();
    // What is sampled together comes circuit by circuit.
    for queued in queued.chunks_exact(circuits.max(1)) {
        for (place, cells) in fill(queued).into_iter().enumerate() {
            levels[place] = GAMMA * levels[place] + (1.0 - GAMMA) * cells / SPACE;
            sums[place] += levels[place];
        }
        samples += 1;
    }
    sums.iter()
        .map(|sum| sum / f64::from(samples.max(1)))
        .collect()
}

/// A buffer that takes a cell of each circuit by turns: it holds as much of every long queue.
fn in_turns(queued: &[f64]) -> Vec<f64> {
    let mut shortest_first = queued.to_vec();
    shortest_first.sort_by(f64::total_cmp);
    let (mut left, mut others) = (SPACE, queued.len() as f64);
    for cells in shortest_first {
        if cells * others > left {
            break;
        }
        left -= cells;
        others -= 1.0;
    }
    let part = if others > 0.0 {
        left / others
    } else {
        f64::MAX
    };
    queued.iter().map(|cells| cells.min(part)).collect()
}

/// A buffer that holds the same part of every queue.
fn in_proportion(queued: &[f64]) -> Vec<f64> {
    let total: f64 = queued.iter().sum();
    let fits = SPACE / total.max(SPACE);
    queued.iter().map(|cells| cells * fits).collect()
}

#[cfg(test)]
mod tests {
    use hopflow_results::HopSample;

    use super::*;

    #[test]
    fn levels_follow_the_shares_of_the_buffer() {
        assert_eq!(in_proportion(&[96.0, 32.0, 128.0]), [24.0, 8.0, 32.0]);
        assert_eq!(in_turns(&[96.0, 4.0, 128.0]), [30.0, 4.0, 30.0]);
        assert_eq!(in_turns(&[3.0, 0.0]), [3.0, 0.0]);
        let hop = |t_s, hop, circuit, queue_cells| HopSample {
            circuit,
            hop,
            t_s,
            queue_cells,
            outstanding_cells: 0,
            window_cells: None,
        };
        let circuit =
            |number| hopflow_results::Circuit::idle(number, 4, hopflow_results::Class::Bulk);
        let run = Tables {
            circuits: vec![circuit(0), circuit(1)],
            hops: vec![
                hop(0.0, ENTRY, 0, 128),
                hop(0.0, ENTRY, 1, 384),
                hop(0.0, 0, 1, 9),
                hop(15.0, ENTRY, 0, 0),
                hop(15.0, ENTRY, 1, 500),
            ],
            ..Tables::default()
        };
        let [first, second] = mean_levels(&run, in_proportion)[..] else {
            panic!("two circuits");
        };
        assert!(
            (first - f64::midpoint(0.075, 0.0525)).abs() < 1e-9,
            "{first}"
        );
        assert!(
            (second - f64::midpoint(0.225, 0.4575)).abs() < 1e-9,
            "{second}"
        );
    }
}
