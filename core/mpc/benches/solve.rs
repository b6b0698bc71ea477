//! What planning a relay costs, beside a general solver in the same run.
//!
//! Instances are busy relays (`draw_busy`); each iteration solves another of eight. `ours` stops at
//! a proven gap of 1e-6 of the mean rate's square per circuit, `clarabel` at its own default
//! tolerances, on the problem as printed with nothing eliminated; setting it up is not counted.

#[path = "../tests/common/mod.rs"]
mod common;

use common::instance::{self, Instance};
use common::oracle;
use divan::Bencher;
use hopflow_mpc::greedy::Greedy;
use hopflow_mpc::{Budget, Config, Form, Solver};
use hopflow_random::Streams;

const FORMS: [Form; 2] = [Form::Coded, Form::Printed];
const INSTANCES: u64 = 8;

fn main() {
    divan::main();
}

fn instances(config: &Config, n: usize) -> Vec<Instance> {
    let streams = Streams::new(1);
    let draw = |case| instance::draw_busy(&mut streams.stream("bench", case), config, n);
    (0..INSTANCES).map(draw).collect()
}

#[divan::bench(args = FORMS, consts = [8, 100, 1_000], sample_count = 24)]
fn ours<const N: usize>(bencher: Bencher<'_, '_>, form: Form) {
    let config = Config::new(form);
    let problems: Vec<_> = instances(&config, N)
        .iter()
        .map(|instance| instance.problem(&config))
        .collect();
    let mut solver = Solver::new(config).expect("the defaults are allowed");
    let mut next = problems.iter().cycle();
    bencher.bench_local(|| solver.solve(next.next().expect("endless"), Budget::default()));
}

#[divan::bench(args = FORMS, consts = [8, 100, 1_000])]
fn greedy<const N: usize>(bencher: Bencher<'_, '_>, form: Form) {
    let config = Config::new(form);
    let problem = instances(&config, N)[0].problem(&config);
    let mut greedy = Greedy::new(&config);
    bencher.bench_local(|| greedy.solve(&problem));
}

#[divan::bench(args = FORMS, consts = [8, 100], sample_count = 8, sample_size = 1)]
fn clarabel<const N: usize>(bencher: Bencher<'_, '_>, form: Form) {
    clarabel_once(bencher, form, N);
}

#[divan::bench(args = FORMS, sample_count = 1, sample_size = 1)]
fn clarabel_1000(bencher: Bencher<'_, '_>, form: Form) {
    clarabel_once(bencher, form, 1_000);
}

fn clarabel_once(bencher: Bencher<'_, '_>, form: Form, n: usize) {
    let config = Config::new(form);
    let instances = instances(&config, n);
    let mut next = instances.iter().cycle();
    bencher
        .with_inputs(|| {
            let settings = clarabel::solver::DefaultSettings {
                verbose: false,
                ..Default::default()
            };
            oracle::prepare(&config, next.next().expect("endless"), settings)
        })
        .bench_local_values(|mut prepared| prepared.solve().objective);
}
