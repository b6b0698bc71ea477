use super::*;
use crate::observed::Observed;

fn planned(name: &str) -> (Settings, Solved, Vec<Planned>) {
    let settings = Fig3.settings();
    let mut forms = settings.forms.iter();
    let solved = forms.find(|solved| solved.name == name).unwrap().clone();
    let plans = settings.solve(&solved);
    (settings, solved, plans)
}

fn seen(name: &str) -> Vec<bool> {
    let (settings, solved, plans) = planned(name);
    let behaviours = behaviours(&settings, &solved, &plans);
    behaviours.iter().map(|seen| seen.met() == 1.0).collect()
}

/// The plans of another solver, Clarabel 0.11, for the same problems in cells per second.
#[test]
fn the_plans_are_those_of_another_solver() {
    let expected = [
        ("printed", 0, [22.50, 17.50, 15.00], [19.99, 19.96, 19.88]),
        ("printed", 1, [27.50, 32.50, 35.00], [20.01, 20.04, 20.12]),
        ("coded", 0, [0.00, 0.00, 24.37], [19.97, 19.91, 19.72]),
        ("coded", 1, [50.00, 50.00, 25.63], [20.05, 20.15, 20.44]),
    ];
    for (name, circuit, r_in, r_out) in expected {
        let (_, _, plans) = planned(name);
        let plan = &plans[circuit];
        for (found, expected) in [(&plan.r_in, r_in), (&plan.r_out, r_out)] {
            let close = found.iter().zip(expected);
            let close = close.into_iter().all(|(a, b)| (a - b).abs() < 0.03);
            assert!(
                close,
                "{name}, {circuit}: {found:?} instead of {expected:?}"
            );
        }
    }
}

#[test]
fn the_printed_problem_has_all_behaviours_of_the_figure() {
    assert_eq!(seen("printed"), [true; 7]);
    assert_eq!(seen("printed, target 2 C"), [true; 7]);
}

#[test]
fn the_coded_problem_has_no_virtual_rate_and_cannot_ask_its_source_for_more_at_once() {
    assert_eq!(
        seen("coded"),
        [true, true, true, false, false, false, false]
    );
}

#[test]
fn every_behaviour_is_judged_in_every_form() {
    let settings = Fig3.settings();
    let data = Expectations::parse(Fig3.data(), "").unwrap();
    let mut observed = Observed::default();
    for value in Fig3.compute(&data, &[1]) {
        observed.add(&value.curve, value.seed, None, value.measured);
    }
    let judged = observed.series().iter().filter(|series| {
        let mut curves = data.curves().iter();
        curves.any(|curve| curve.quantity == series.quantity && curve.transport == series.transport)
    });
    assert_eq!(judged.count(), 7 * settings.forms.len());
    assert_eq!(data.curves().len(), 7 * settings.forms.len());
}
