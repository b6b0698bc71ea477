//! What an atlas says, independent of how it looks.

use hopflow_results::{Value, Verdict};

/// What an atlas shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Atlas {
    /// One sentence below the title.
    pub subtitle: String,
    /// All experiments, in the order of the papers.
    pub experiments: Vec<AtlasEntry>,
}

/// An experiment of an atlas.
#[derive(Clone, Debug, PartialEq)]
pub struct AtlasEntry {
    /// Its name on the command line.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// The paper that it is from, in a word; `None` of an evaluation of ours, whose verdicts are of
    /// goals and do not count as a paper's.
    pub paper: Option<String>,
    /// Whether its curves are distributions, over percentiles.
    pub percentiles: bool,
    /// What it found, or why nothing is known.
    pub found: Result<AtlasFound, String>,
}

/// What an experiment found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AtlasFound {
    /// Its values beside the paper's.
    pub values: Vec<Value>,
    /// Its own page, relative to the atlas.
    pub page: Option<String>,
    /// How long its runs took, one after the other, in seconds.
    pub seconds: Option<f64>,
    /// Which version of the program made it.
    pub made_by: String,
}

/// How many values, or claims, have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// Their intervals lie in their bands.
    pub reproduced: usize,
    /// Their intervals lie outside of their bands.
    pub not_reproduced: usize,
    /// Their intervals lie across an end of their bands.
    pub undecided: usize,
}

impl VerdictCounts {
    /// The verdicts of some values.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut counts = Self::default();
        for value in values {
            match value.verdict {
                Verdict::Reproduced => counts.reproduced += 1,
                Verdict::NotReproduced => counts.not_reproduced += 1,
                Verdict::Undecided => counts.undecided += 1,
                Verdict::NotJudged => (),
            }
        }
        counts
    }

    /// How many have a verdict.
    pub const fn judged(self) -> usize {
        self.reproduced + self.not_reproduced + self.undecided
    }
}

impl AtlasEntry {
    /// Whose experiment it is, in a word.
    pub(super) fn paper(&self) -> &str {
        self.paper.as_deref().unwrap_or("hopflow")
    }
}

impl Atlas {
    /// The experiments of papers.
    pub fn of_papers(&self) -> impl Iterator<Item = &AtlasEntry> {
        self.experiments.iter().filter(|it| it.paper.is_some())
    }

    /// How many experiments of papers were made.
    pub fn made(&self) -> usize {
        self.of_papers().filter(|it| it.found.is_ok()).count()
    }

    /// The verdicts of all values of papers, and of all claims.
    pub fn counts(&self) -> [VerdictCounts; 2] {
        let found = self.of_papers().filter_map(|it| it.found.as_ref().ok());
        let values: Vec<&Value> = found.flat_map(|found| &found.values).collect();
        [false, true].map(|claims| {
            let of = values.iter().copied();
            VerdictCounts::of(of.filter(|value| value.is_claim() == claims))
        })
    }
}
