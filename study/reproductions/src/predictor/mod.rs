//! `PredicTor`, closed loop: its toy of three circuits, and its random networks.
//!
//! C. Döpmann, F. Fiedler, S. Lucia and F. Tschorsch, "Optimization-Based Predictive Congestion
//! Control for the Tor Network: Opportunities and Challenges", ACM TOIT 22(4), 2022, sections 5.2
//! to 5.5. Latency and fairness are measured as that section defines them ([`measure`]); cases and
//! what the paper says stand in the data files, as for every study.

mod measure;
mod networks;
mod toy;

use crate::study::{MeasuredStudy, Study, study};

/// Random networks, unless a figure differs.
const fn networks(study: Study) -> MeasuredStudy {
    MeasuredStudy {
        study,
        measure: networks::measure,
        summarise: networks::change,
        page: networks::page,
    }
}

pub(super) static TOY: MeasuredStudy = MeasuredStudy {
    study: study!(
        "predictor-table1",
        &["predictor-fig4", "predictor-fig5", "predictor-fig6"],
        "toy"
    ),
    measure: toy::measure,
    summarise: |_| None,
    page: toy::page,
};
pub(super) static CIRCUITS: MeasuredStudy =
    networks(study!("predictor-fig7", &["predictor-fig9"], "random"));
pub(super) static SETTINGS: MeasuredStudy = networks(study!("predictor-settings", &[], "random"));
pub(super) static THROTTLING: MeasuredStudy = MeasuredStudy {
    summarise: networks::least,
    ..networks(study!("predictor-fig8", &[], "random"))
};
pub(super) static FUZZINESS: MeasuredStudy = networks(study!(
    "predictor-fig10",
    &["predictor-fig11", "predictor-fig12"],
    "random"
));
pub(super) static TRAFFIC: MeasuredStudy = networks(study!("predictor-fig13", &[], "random"));
