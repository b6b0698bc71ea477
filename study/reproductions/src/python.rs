//! Experiments that are made in Python: those that need neural networks.
//!
//! The Python package has a function for each, in `python/hopflow/experiments.py`; a test of it
//! compares the names.

/// An experiment that is made in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPython {
    /// The name on the command line.
    pub id: &'static str,
    /// What it makes.
    pub title: &'static str,
}

impl InPython {
    /// Which commands make the experiment.
    pub fn how(&self) -> String {
        format!(
            "`pip install '.[adversarial]'`, then `python -m hopflow reproduce {}`",
            self.id
        )
    }
}

const fn experiment(id: &'static str, title: &'static str) -> InPython {
    InPython { id, title }
}

const ALL: &[InPython] = &[
    experiment(
        "gan-fig1",
        "Adversarial nets, Figure 1: the generator's distribution moves to that of the data",
    ),
    experiment(
        "gan-theorem1",
        "Adversarial nets, Theorem 1: the minimum of the criterion",
    ),
    experiment(
        "gan-table1",
        "Adversarial nets, Table 1: log-likelihoods by Parzen windows",
    ),
    experiment("gan-fig2", "Adversarial nets, Figure 2: samples"),
    experiment(
        "gan-fig3",
        "Adversarial nets, Figure 3: images between two samples",
    ),
    experiment(
        "gan-faces",
        "Adversarial nets, Table 1 and Figure 2 b: a public set of faces in place of the paper's",
    ),
    experiment(
        "gan-sec7",
        "Adversarial nets, section 7: conditions, inference of the noise, few labels",
    ),
    experiment(
        "traffic-table",
        "Traffic models compared with held-out sessions",
    ),
    experiment(
        "observer-games",
        "What an observer of links learns, transport by transport",
    ),
    experiment(
        "observer-feedback",
        "What BackTap's feedback leaks when it is delayed and aggregated, and the cost",
    ),
    experiment(
        "observer-words",
        "What relays learn of clients from the rates that nodes tell, and the cost of telling less",
    ),
];

/// The experiments that are made in Python.
pub const fn in_python() -> &'static [InPython] {
    ALL
}
