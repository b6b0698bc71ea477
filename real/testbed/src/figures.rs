//! What measurements come to, in a few numbers, and how far two of them are apart.

use crate::measured::{Download, Measured};

/// A number that a measurement comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Median over the complete downloads of size over time to the last byte, in bytes per second.
    GoodputMedian,
    /// Bytes of all downloads that came, over the time until the last was complete or cut off, in bytes
    /// per second.
    GoodputTotal,
    /// Median time to the first byte, in seconds.
    TtfbMedian,
    /// Longest time to the first byte, in seconds.
    TtfbMax,
    /// Median time to the last byte, in seconds.
    TtlbMedian,
    /// Longest time to the last byte, in seconds.
    TtlbMax,
    /// Mean of R(t) - W(t) over the circuits and the time until the last download was complete or cut
    /// off, in bytes.
    BacklogMean,
}

impl Figure {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::GoodputMedian,
        Self::GoodputTotal,
        Self::TtfbMedian,
        Self::TtfbMax,
        Self::TtlbMedian,
        Self::TtlbMax,
        Self::BacklogMean,
    ];

    /// The name for machines.
    pub const fn key(self) -> &'static str {
        match self {
            Self::GoodputMedian => "goodput_median",
            Self::GoodputTotal => "goodput_total",
            Self::TtfbMedian => "ttfb_median",
            Self::TtfbMax => "ttfb_max",
            Self::TtlbMedian => "ttlb_median",
            Self::TtlbMax => "ttlb_max",
            Self::BacklogMean => "backlog_mean",
        }
    }

    /// The name for readers.
    pub const fn title(self) -> &'static str {
        match self {
            Self::GoodputMedian => "Goodput of a download, median",
            Self::GoodputTotal => "Goodput of all downloads together",
            Self::TtfbMedian => "Time to first byte, median",
            Self::TtfbMax => "Time to first byte, longest",
            Self::TtlbMedian => "Time to last byte, median",
            Self::TtlbMax => "Time to last byte, longest",
            Self::BacklogMean => "Backlog R − W of a circuit, mean",
        }
    }

    /// The unit for readers, and the factor from the figure to it.
    pub const fn readable(self) -> (&'static str, f64) {
        match self {
            Self::GoodputMedian | Self::GoodputTotal => ("kB/s", 1e-3),
            Self::TtfbMedian | Self::TtfbMax | Self::TtlbMedian | Self::TtlbMax => ("ms", 1e3),
            Self::BacklogMean => ("kB", 1e-3),
        }
    }
}

/// All figures of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures([Option<f64>; Figure::ALL.len()]);

impl Figures {
    /// The figures of a measurement; those are missing for which nothing was measured.
    pub fn of(measured: &Measured) -> Self {
        Self(Figure::ALL.map(|figure| figure.of(measured)))
    }

    /// The means over several measurements, each taken over those that have the figure.
    pub fn mean_of(measurements: &[Measured]) -> Self {
        let all: Vec<Self> = measurements.iter().map(Self::of).collect();
        Self(Figure::ALL.map(|figure| {
            let values: Vec<f64> = all.iter().filter_map(|it| it.get(figure)).collect();
            let count = values.len();
            (count > 0).then(|| values.iter().sum::<f64>() / count as f64)
        }))
    }

    /// One of them, in base units.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.0[figure as usize]
    }
}

impl Figure {
    fn of(self, measured: &Measured) -> Option<f64> {
        let over = |of: fn(&Download) -> f64| -> Vec<f64> {
            let mut values: Vec<f64> = measured.downloads.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let ttfb = |it: &Download| it.ttfb.as_secs_f64();
        let ttlb = |it: &Download| it.ttlb.as_secs_f64();
        match self {
            Self::GoodputMedian => median(&over(|it| it.bytes.as_f64() / it.ttlb.as_secs_f64())),
            Self::GoodputTotal => goodput_total(measured),
            Self::TtfbMedian => median(&over(ttfb)),
            Self::TtfbMax => over(ttfb).last().copied(),
            Self::TtlbMedian => median(&over(ttlb)),
            Self::TtlbMax => over(ttlb).last().copied(),
            Self::BacklogMean => {
                let backlog = measured.moments.iter().map(|moment| {
                    let waiting = moment.packaged.saturating_sub(moment.delivered);
                    waiting.as_f64()
                });
                let count = measured.moments.len();
                (count > 0).then(|| backlog.sum::<f64>() / count as f64)
            }
        }
    }
}

fn goodput_total(measured: &Measured) -> Option<f64> {
    let complete = measured.downloads.iter().map(|it| (it.start, it.bytes));
    let unfinished = measured.unfinished.iter().map(|it| (it.start, it.bytes));
    let all = || complete.clone().chain(unfinished.clone());
    let begin = all().map(|(start, _)| start).min()?;
    let bytes: f64 = all().map(|(_, bytes)| bytes.as_f64()).sum();
    let goodput = bytes / measured.span.saturating_sub(begin).as_secs_f64();
    goodput.is_finite().then_some(goodput)
}

/// The median of ascending values.
fn median(values: &[f64]) -> Option<f64> {
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    let is_even = values.len().is_multiple_of(2);
    Some(if is_even {
        f64::midpoint(values[middle - 1], upper)
    } else {
        upper
    })
}

/// The figures of a simulation and of reality, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Errors {
    /// What was measured for real.
    pub real: Figures,
    /// What the simulator says.
    pub simulated: Figures,
}

impl Errors {
    /// Sets the means of two sets of measurements side by side.
    pub fn of(real: &[Measured], simulated: &[Measured]) -> Self {
        Self {
            real: Figures::mean_of(real),
            simulated: Figures::mean_of(simulated),
        }
    }

    /// How far the simulation is off, as a share of what is real: 0.1 is 10 % too much.
    pub fn relative(&self, figure: Figure) -> Option<f64> {
        let (real, simulated) = (self.real.get(figure)?, self.simulated.get(figure)?);
        (real != 0.0).then(|| simulated / real - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Moment, Unfinished};
    use hopflow_units::{Bytes, Duration};

    fn measured(times: &[(u64, u64)]) -> Measured {
        let download = |(number, (ttfb, ttlb)): (u32, &(u64, u64))| Download {
            number,
            start: Duration::ZERO,
            ttfb: Duration::from_millis(*ttfb),
            ttlb: Duration::from_millis(*ttlb),
            bytes: Bytes::new(1000),
        };
        let moment = |packaged| Moment {
            at: Duration::ZERO,
            circuit: 0,
            packaged: Bytes::new(packaged),
            delivered: Bytes::new(100),
        };
        Measured {
            downloads: (0..).zip(times).map(download).collect(),
            moments: vec![moment(300), moment(500)],
            span: Duration::from_secs(2),
            ..Measured::default()
        }
    }

    #[test]
    fn figures_are_those_of_downloads_and_circuits() {
        let figures = Figures::of(&measured(&[(100, 500), (300, 1000), (200, 2000)]));
        let get = |figure| figures.get(figure).unwrap();
        assert_eq!(get(Figure::GoodputMedian), 1000.0);
        assert_eq!(get(Figure::GoodputTotal), 1500.0);
        assert_eq!(get(Figure::TtfbMedian), 0.2);
        assert_eq!(get(Figure::TtfbMax), 0.3);
        assert_eq!(get(Figure::TtlbMax), 2.0);
        assert_eq!(get(Figure::BacklogMean), 300.0);
    }

    #[test]
    fn what_came_of_downloads_that_were_cut_off_counts_for_the_goodput_of_all() {
        let unfinished = Unfinished {
            number: 1,
            start: Duration::ZERO,
            waited: Duration::from_secs(2),
            ttfb: None,
            bytes: Bytes::new(500),
        };
        let cut = Measured {
            unfinished: vec![unfinished],
            ..measured(&[(100, 1000)])
        };
        let figures = Figures::of(&cut);
        assert_eq!(figures.get(Figure::GoodputTotal), Some(750.0));
        assert_eq!(figures.get(Figure::GoodputMedian), Some(1000.0));
        let none = Measured {
            downloads: Vec::new(),
            ..cut
        };
        assert_eq!(Figures::of(&none).get(Figure::GoodputTotal), Some(250.0));
    }

    #[test]
    fn errors_are_shares_of_what_is_real() {
        let real = [measured(&[(90, 1000)]), measured(&[(110, 1000)])];
        let errors = Errors::of(&real, &[measured(&[(110, 800)])]);
        let percent = |figure| (errors.relative(figure).unwrap() * 100.0).round();
        assert_eq!(percent(Figure::TtfbMedian), 10.0);
        assert_eq!(percent(Figure::GoodputMedian), 25.0);
    }

    #[test]
    fn where_nothing_was_measured_there_are_no_figures() {
        let figures = Figures::of(&Measured::default());
        assert!(
            Figure::ALL
                .iter()
                .all(|figure| figures.get(*figure).is_none())
        );
    }
}
