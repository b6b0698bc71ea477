use super::*;
use crate::experiment::observed::Observed;

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
