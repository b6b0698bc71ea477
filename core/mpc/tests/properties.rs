//! What holds for every plan, whatever the data and the budget.

mod common;

use common::instance::{self, Circuit, Instance};
use hopflow_mpc::{Budget, Config, Form, Method, Solver};
use hopflow_random::{Stream, Streams};

const FORMS: [Form; 2] = [Form::Coded, Form::Printed];

fn draw(form: Form, case: u64) -> (Config, Instance) {
    let mut stream = Streams::new(9).stream("property", case);
    let config = Config {
        horizon: stream.integer(2, 14) as usize,
        r_max: 1.0 + stream.unit(),
        discount: 0.2 + 0.8 * stream.unit(),
        pin: stream.integer(0, 2) as usize,
        queue_limit: [1.0, 20.0, 100.0][stream.integer(0, 2) as usize],
        reserve: [0.0, 0.5, 1.0][case as usize % 3],
        ..Config::new(form)
    };
    let n = stream.integer(1, 20) as usize;
    let instance = instance::draw(&mut stream, &config, n);
    (config, instance)
}

/// Asserts that the solver's plans keep every hard constraint to `1e-9`.
fn check_feasible(config: &Config, instance: &Instance, solver: &Solver, case: u64) {
    let slack = 1e-9 * (1.0 + instance.capacity_in.max(instance.capacity_out));
    for k in 0..config.horizon {
        let sum = |rate: &dyn Fn(usize) -> f64| (0..instance.circuits.len()).map(rate).sum::<f64>();
        let plan = |circuit: usize| solver.plan(circuit);
        let pinned = |circuit: &Circuit| circuit.is_pinned(k, config);
        let all = instance.circuits.len() as f64;
        let free = instance.circuits.iter().filter(|it| !pinned(it)).count() as f64;
        // What is kept comes on top of the capacity where pins leave less.
        let kept = match config.form {
            Form::Coded if free < all => config.reserve * instance.capacity_in,
            _ => 0.0,
        };
        let most = instance.capacity_in + kept + slack;
        assert!(sum(&|circuit| plan(circuit).r_in(k)) <= most, "{case}");
        assert!(
            sum(&|circuit| plan(circuit).r_out(k)) <= instance.capacity_out + slack,
            "{case}"
        );
        let virtual_sum = sum(&|circuit| plan(circuit).r_virtual(k));
        assert!(virtual_sum <= instance.capacity_out + slack, "{case}");
    }
    for (index, circuit) in instance.circuits.iter().enumerate() {
        check_circuit(config, circuit, solver, index, slack);
    }
}

fn check_circuit(config: &Config, circuit: &Circuit, solver: &Solver, index: usize, slack: f64) {
    let plan = solver.plan(index);
    let (mut queue, mut virtual_queue) = (circuit.queue, circuit.queue);
    let (mut arrived, mut announced, mut possible) = (0.0, 0.0, 0.0);
    for k in 0..config.horizon {
        let (r_in, r_out, r_virtual) = (plan.r_in(k), plan.r_out(k), plan.r_virtual(k));
        assert!(r_in >= 0.0 && r_out >= 0.0 && r_virtual >= 0.0);
        assert!(r_out <= circuit.sink_rate[k] + slack);
        arrived += r_in;
        announced += circuit.source_rate[k];
        possible += circuit.source_potential[k];
        assert!(arrived <= announced + circuit.source_queue[k] + slack);
        if config.form == Form::Printed {
            assert!(arrived <= possible + slack);
        }
        if circuit.is_pinned(k, config) {
            assert!(r_in <= circuit.source_rate[k] + slack);
        }
        queue += r_in - r_out;
        virtual_queue += r_in - r_virtual;
        assert!(queue >= -slack && virtual_queue >= -slack);
        assert!((plan.queue(k + 1) - queue).abs() <= 1e-6);
    }
}

#[test]
fn plans_keep_all_hard_constraints_at_any_budget() {
    for form in FORMS {
        for case in 0..150 {
            let (config, instance) = draw(form, case);
            let mut solver = Solver::new(config.clone()).unwrap();
            for iterations in [0, 3, 60] {
                let report = solver.solve(&instance.problem(&config), Budget { iterations });
                assert!(report.iterations <= iterations);
                check_feasible(&config, &instance, &solver, case);
            }
        }
    }
}

#[test]
fn the_gap_bounds_how_far_early_plans_are_from_the_optimum() {
    for form in FORMS {
        for case in 0..60 {
            let (config, instance) = draw(form, case);
            let problem = instance.problem(&config);
            let mut solver = Solver::new(config.clone()).unwrap();
            let best = solver.solve(&problem, Budget::default());
            for iterations in [4, 8, 12] {
                let report = solver.solve(&problem, Budget { iterations });
                // The gap is per busy circuit, in squares of the mean rate of the busy ones.
                let mean = instance.capacity_in.max(instance.capacity_out);
                let above = report.objective - best.objective;
                let bound = report.gap * mean * mean + 1e-9 * best.objective;
                assert!(above <= bound, "{case}: {report:?} {best:?}");
                assert!(report.gap > config.tolerance || report.method == Method::Optimal);
            }
        }
    }
}

#[test]
fn plans_do_not_depend_on_what_was_solved_before() {
    for form in FORMS {
        let config = Config::new(form);
        let mut used = Solver::new(config.clone()).unwrap();
        for case in 0..20 {
            let mut stream = Streams::new(5).stream("instance", case);
            let n = stream.integer(1, 30) as usize;
            let instance = instance::draw(&mut stream, &config, n);
            let problem = instance.problem(&config);
            let mut fresh = Solver::new(config.clone()).unwrap();
            assert_eq!(
                used.solve(&problem, Budget::default()),
                fresh.solve(&problem, Budget::default())
            );
            for circuit in 0..n {
                for k in 0..config.horizon {
                    let (a, b) = (used.plan(circuit), fresh.plan(circuit));
                    assert_eq!(a.r_in(k).to_bits(), b.r_in(k).to_bits());
                    assert_eq!(a.r_out(k).to_bits(), b.r_out(k).to_bits());
                    assert_eq!(a.r_virtual(k).to_bits(), b.r_virtual(k).to_bits());
                }
            }
        }
    }
}

/// If these change without a change of the method, results depend on the machine.
#[test]
fn plans_have_the_same_bits_on_every_machine() {
    let digests = FORMS.map(|form| {
        let config = Config::new(form);
        let mut stream = Streams::new(6).stream("instance", 0);
        let instance = instance::draw_busy(&mut stream, &config, 13);
        let mut solver = Solver::new(config.clone()).unwrap();
        solver.solve(&instance.problem(&config), Budget::default());
        let mut digest = 0_u64;
        for circuit in 0..13 {
            for k in 0..config.horizon {
                let plan = solver.plan(circuit);
                for rate in [plan.r_in(k), plan.r_out(k), plan.r_virtual(k)] {
                    digest = digest
                        .rotate_left(7)
                        .wrapping_mul(31)
                        .wrapping_add(rate.to_bits());
                }
            }
        }
        digest
    });
    assert_eq!(
        digests,
        [14_687_616_635_061_470_155, 12_998_831_922_332_522_595]
    );
}

#[test]
fn idle_circuits_get_nothing_and_change_nothing() {
    let config = Config::new(Form::Coded);
    let mut stream = Streams::new(7).stream("instance", 0);
    let mut instance = instance::draw_busy(&mut stream, &config, 5);
    let mut solver = Solver::new(config.clone()).unwrap();
    solver.solve(&instance.problem(&config), Budget::default());
    let before: Vec<f64> = (0..5)
        .map(|circuit| solver.plan(circuit).r_out(0))
        .collect();
    let nothing = vec![0.0; config.horizon];
    let idle = Circuit {
        queue: 0.0,
        source_queue: nothing.clone(),
        source_rate: nothing.clone(),
        source_potential: nothing,
        sink_rate: vec![50.0; config.horizon],
        edge: false,
        pinned: config.pin,
    };
    instance.circuits.insert(0, idle);
    solver.solve(&instance.problem(&config), Budget::default());
    assert!((0..config.horizon).all(|k| solver.plan(0).r_in(k) + solver.plan(0).r_out(k) == 0.0));
    let after: Vec<f64> = (1..6)
        .map(|circuit| solver.plan(circuit).r_out(0))
        .collect();
    assert_eq!(before, after);
}

#[test]
fn bad_numbers_neither_panic_nor_come_out() {
    const BAD: [f64; 8] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -1.0,
        1e300,
        1e-300,
        0.0,
        5.0,
    ];
    for form in FORMS {
        for case in 0..200 {
            let mut stream = Streams::new(8).stream("bad", case);
            let any = |stream: &mut Stream| {
                if stream.bernoulli(0.5) {
                    BAD[stream.integer(0, 7) as usize]
                } else {
                    30.0 * stream.unit()
                }
            };
            let several = |stream: &mut Stream| -> Vec<f64> {
                (0..stream.integer(0, 12)).map(|_| any(stream)).collect()
            };
            let circuits = (0..4)
                .map(|_| Circuit {
                    queue: several(&mut stream).first().copied().unwrap_or(f64::NAN),
                    source_queue: several(&mut stream),
                    source_rate: several(&mut stream),
                    source_potential: several(&mut stream),
                    sink_rate: several(&mut stream),
                    edge: stream.bernoulli(0.5),
                    pinned: 2,
                })
                .collect();
            let capacity_in = several(&mut stream).first().copied().unwrap_or(20.0);
            let instance = Instance {
                capacity_in,
                capacity_out: 20.0,
                circuits,
            };
            let config = Config::new(form);
            let mut solver = Solver::new(config.clone()).unwrap();
            let report = solver.solve(&instance.problem(&config), Budget::default());
            assert!(
                report.objective.is_finite() && !report.gap.is_nan(),
                "{case}: {report:?}"
            );
            for circuit in 0..4 {
                for k in 0..config.horizon {
                    let plan = solver.plan(circuit);
                    let sum = plan.r_in(k) + plan.r_out(k) + plan.r_virtual(k) + plan.queue(k);
                    assert!(sum.is_finite(), "{case}");
                }
            }
        }
    }
}
