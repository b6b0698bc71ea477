//! Prints the hash of the results of every transport of a built-in scenario, with its first seed, as
//! this machine's own program makes them: `hashes NAME`.

use std::sync::{Arc, Mutex};

use hopflow_lab::run::{Job, Silent, execute_one};
use hopflow_lab::scenario::{Scenario, Seeds};
use hopflow_results::RunEntry;

fn main() {
    let name = std::env::args().nth(1).expect("needs a scenario");
    let (mut scenario, _) = Scenario::load(&name).expect("the scenario can be read");
    scenario.seeds = Seeds::List(scenario.seeds.list()[..1].to_vec());
    let jobs = Job::plan(&Arc::new(scenario), "").expect("the scenario can be run");
    for job in &jobs {
        println!("{} {}", job.key.transport, hash(job));
    }
}

fn hash(job: &Job) -> String {
    let found = Mutex::new(String::new());
    execute_one(job, 1, &Silent, &|key, tables, wall_seconds| {
        let results = tables.fingerprint();
        *found.lock().expect("one thread") = results.to_string();
        Ok(RunEntry {
            key: key.clone(),
            folder: String::new(),
            results,
            wall_seconds,
            files: std::collections::BTreeMap::new(),
            traces: std::collections::BTreeMap::new(),
        })
    })
    .expect("the run is made");
    found.into_inner().expect("one thread")
}
