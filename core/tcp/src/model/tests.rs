use hopflow_units::Duration;

use super::*;

const FORMS: [Form; 2] = [Form::Full, Form::Approximate];

fn reno() -> Reno {
    Reno {
        round_trip: Duration::from_millis(200),
        timeout: Duration::from_millis(200),
        per_ack: 2.0,
        window: None,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn rare_losses_give_the_square_root_law() {
    // Section 2.1: B tends to sqrt(3 / (2 b p)) / RTT.
    for b in [1.0, 2.0] {
        let reno = Reno {
            per_ack: b,
            ..reno()
        };
        let p = 1e-10;
        let law = (3.0 / (2.0 * b * p)).sqrt() / 0.2;
        for form in FORMS {
            let ratio = reno.rate(form, p) / law;
            assert!((ratio - 1.0).abs() < 1e-4, "{form:?}: {ratio}");
        }
    }
}

#[test]
fn the_forms_agree_with_their_terms_worked_out_by_hand() {
    // b = 2 and p = 2/3: E[W] = 2/3 + sqrt(2/3 + 4/9) = (2 + sqrt(10)) / 3, below 3, so that every
    // loss ends in a timeout.
    let p: f64 = 2.0 / 3.0;
    let window = (2.0 + 10.0_f64.sqrt()) / 3.0;
    let powers = (1..=6).map(|k| p.powi(k) * f64::from(1 << (k - 1)));
    let backed_off = 1.0 + powers.sum::<f64>();
    let full = (0.5 + window + 3.0) / (0.2 * (window + 1.0) + 3.0 * 0.2 * backed_off);
    assert!(close(reno().rate(Form::Full, p), full));
    // 3 b p / 8 = 1/2, of which three times the root is above 1.
    let waiting = 0.2 * p * (1.0 + 32.0 * 4.0 / 9.0);
    let approximate = 1.0 / (0.2 * (8.0_f64 / 9.0).sqrt() + waiting);
    assert!(close(reno().rate(Form::Approximate, p), approximate));
}

#[test]
fn a_bound_on_the_window_bounds_the_rate_to_window_over_round_trip() {
    let reno = Reno {
        window: Some(10.0),
        ..reno()
    };
    for form in FORMS {
        let rate = reno.rate(form, 1e-9);
        assert!((rate / 50.0 - 1.0).abs() < 1e-6, "{form:?}: {rate}");
    }
}

#[test]
fn a_bound_joins_smoothly_where_it_ceases_to_bind() {
    let bounded = Reno {
        window: Some(10.0),
        ..reno()
    };
    let p = inverse::solve(|p| unbounded_window(2.0, p), 10.0).unwrap();
    let [below, above] = [p * (1.0 - 1e-9), p * (1.0 + 1e-9)];
    let rates = [below, above].map(|p| bounded.rate(Form::Full, p));
    assert!((rates[0] / rates[1] - 1.0).abs() < 1e-6, "{rates:?}");
    assert!(close(rates[1], reno().rate(Form::Full, above)));
}

#[test]
fn more_losses_give_less_and_longer_times_give_less() {
    for form in FORMS {
        for window in [None, Some(20.0)] {
            let reno = Reno { window, ..reno() };
            let steps = (1..200).map(|step| libm::pow(10.0, -6.0 + 0.03 * f64::from(step)));
            let rates: Vec<f64> = steps
                .filter(|p| *p < 1.0)
                .map(|p| reno.rate(form, p))
                .collect();
            assert!(rates.windows(2).all(|pair| pair[0] >= pair[1]), "{form:?}");
        }
        for p in [1e-3, 0.1, 0.5] {
            let slower = Reno {
                timeout: Duration::from_secs(1),
                ..reno()
            };
            assert!(slower.rate(form, p) < reno().rate(form, p));
        }
    }
}

#[test]
fn the_loss_of_a_rate_gives_the_rate() {
    for form in FORMS {
        for rate in [0.5, 0.833, 8.33, 83.3, 4000.0] {
            let p = reno().loss(form, rate).unwrap();
            assert!(close(reno().rate(form, p), rate), "{form:?}: {rate} {p}");
        }
        for p in [1e-6, 0.01, 8.0 / 54.0, 0.3, 0.7] {
            let rate = reno().rate(form, p);
            assert!(close(reno().loss(form, rate).unwrap(), p), "{form:?}: {p}");
        }
    }
}

#[test]
fn a_rate_that_no_loss_gives_has_none() {
    let reno = Reno {
        window: Some(10.0),
        ..reno()
    };
    for form in FORMS {
        assert_eq!(reno.loss(form, 51.0), None);
        assert_eq!(reno.loss(form, 0.01), None);
        assert_eq!(reno.loss(form, -1.0), None);
    }
}
