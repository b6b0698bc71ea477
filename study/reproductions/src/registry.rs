//! The experiments that there are.

use hopflow_lab::scenario::{InputError, allowed};

use crate::experiment::Experiment;
use crate::python::in_python;
use crate::{backtap_fig5, fig3, guidelines, joint, predictor, study, switching, theorem1};

/// All experiments.
pub fn experiments() -> &'static [&'static dyn Experiment] {
    ALL
}

/// Each experiment, in the order of the papers.
static ALL: &[&dyn Experiment] = &[
    &study::BACKTAP_FIG4,
    &backtap_fig5::BacktapFig5,
    &study::BACKTAP_FIG6A,
    &study::BACKTAP_FIG6B,
    &study::BACKTAP_FIG6C,
    &study::BACKTAP_FIG7,
    &study::BACKTAP_NSTOR,
    &study::BACKTAP_NSTOR_LONG,
    &study::MARUT_FIG7,
    &study::MARUT_FIG8,
    &study::MARUT_FIG9,
    &study::MARUT_FIG11,
    &study::MARUT_FIG12,
    &study::MARUT_FIG13,
    &study::MARUT_FIG14,
    &predictor::TOY,
    &predictor::CIRCUITS,
    &predictor::SETTINGS,
    &predictor::THROTTLING,
    &predictor::FUZZINESS,
    &predictor::TRAFFIC,
    &theorem1::Theorem1,
    &fig3::Fig3,
    &switching::UPLOADS,
    &switching::Moves,
    &switching::PUBLIC,
    &guidelines::Losses,
    &guidelines::START,
    &guidelines::QUEUES,
    &guidelines::SHARES,
    &joint::EVALUATION,
    &joint::NETWORKS,
    &joint::TOR,
    &joint::SHARES,
];

/// The experiment of this name.
///
/// # Errors
/// If there is none.
pub fn find(id: &str) -> Result<&'static dyn Experiment, InputError> {
    let found = experiments()
        .iter()
        .find(|experiment| experiment.id() == id || experiment.also().contains(&id));
    found.copied().ok_or_else(|| {
        if let Some(experiment) = in_python().iter().find(|experiment| experiment.id == id) {
            let how = experiment.how();
            return InputError::new(format!("{id} needs the Python package: {how}"));
        }
        let names = experiments().iter().flat_map(|experiment| {
            std::iter::once(experiment.id()).chain(experiment.also().iter().copied())
        });
        let names = names.chain(in_python().iter().map(|experiment| experiment.id));
        InputError::new(format!(
            "there is no experiment \"{id}\"; {}",
            allowed(id, names)
        ))
    })
}
