//! Runs of a scenario that a page looks at.

use std::sync::Arc;

use hopflow_config::InputError;
use hopflow_lab::run::{Job, Needs, Watched};
use hopflow_lab::scenario::{Scenario, Seeds};
use hopflow_picture::{Network, view};
use hopflow_units::{Bytes, Duration};
use serde_json::Value;

/// The name by which messages call the text.
const FILE: &str = "scenario.toml";

/// Copies of a run from which it can begin again, where there is memory for them.
const MOST_COPIES: usize = 16;

/// Bytes that WebAssembly has addresses for: no page has more memory.
const PAGE: u64 = 1 << 32;

/// Of what [`Needs`] counts for a world, a page needs one part in so many: addresses have half the
/// length. Measured were three to four, with `tor` and with 1000 bulk users.
const SMALLER: u64 = 2;

/// Between copies, at first.
const COPY_EVERY: Duration = Duration::from_secs(1);

/// The runs of a scenario, one for each transport, on the same network.
#[derive(Debug)]
pub struct Play {
    scenario: Arc<Scenario>,
    runs: Vec<Run>,
}

/// A run, and copies of it at earlier times.
#[derive(Debug)]
struct Run {
    label: String,
    now: Watched,
    /// In order of time; the first is of the beginning.
    copies: Vec<Watched>,
    most_copies: usize,
    copy_every: Duration,
}

impl Play {
    /// The runs of the scenario with this text, with its first seed, at their beginning.
    ///
    /// # Errors
    /// If the text is no valid scenario, or its runs, with a copy of each, need more memory than a page
    /// has, by an estimate from [`Needs`].
    pub fn new(text: &str) -> Result<Self, InputError> {
        let mut scenario = Scenario::parse(text, FILE)?;
        let seeds = scenario.seeds.list();
        scenario.seeds = Seeds::List(seeds[..1].to_vec());
        let scenario = Arc::new(scenario);
        let jobs = Job::plan(&scenario, "")?;
        let world = Needs::memory_of_world(&scenario);
        let copies = copies_that_fit(jobs.len(), world);
        let copies = copies.map_err(|error| error.in_text(FILE, text))?;
        let runs = jobs.iter().map(|job| Run::new(job, copies));
        Ok(Self {
            runs: runs.collect::<Result<_, _>>()?,
            scenario,
        })
    }

    /// The network, its users and the transports.
    pub fn network(&self) -> Value {
        let labels = self.runs.iter().map(|run| run.label.clone()).collect();
        let Scenario { name, about, .. } = &*self.scenario;
        let network = Network::of_world(name, about, self.runs[0].now.spec(), labels);
        serde_json::to_value(network).expect("a network is plain data")
    }

    /// Lets a run go on or back to a time in seconds; returns how far it has come.
    ///
    /// # Errors
    /// If there is no transport with this number.
    pub fn go_to(&mut self, transport: usize, seconds: f64) -> Result<f64, InputError> {
        let run = self.runs.get_mut(transport);
        let run = run.ok_or_else(|| no_transport(transport))?;
        let time = Duration::from_secs_f64(seconds.max(0.0));
        run.go_to(time.min(run.now.spec().end));
        Ok(run.now.now().as_secs_f64())
    }

    /// What can be seen of a run now, with the downloads that were completed in the last `recent`
    /// seconds.
    ///
    /// # Errors
    /// If there is no transport with this number.
    pub fn view(&self, transport: usize, recent: f64) -> Result<Value, InputError> {
        let run = &self.run(transport)?.now;
        let since = run.now().saturating_sub(Duration::from_secs_f64(recent));
        Ok(view(&run.view(), &run.completed(since)))
    }

    /// Lets a copy of a run go on to its end and returns the hash of its results.
    ///
    /// # Errors
    /// If there is no transport with this number.
    pub fn results(&self, transport: usize) -> Result<String, InputError> {
        let run = self.run(transport)?.now.clone();
        Ok(run.finish().fingerprint().to_string())
    }

    fn run(&self, transport: usize) -> Result<&Run, InputError> {
        let run = self.runs.get(transport);
        run.ok_or_else(|| no_transport(transport))
    }
}

fn no_transport(number: usize) -> InputError {
    InputError::new(format!("the scenario has no transport {number}"))
}

/// How many copies of each of so many runs fit into a page's memory, if [`Needs`] counts so much for a world.
///
/// # Errors
/// If not even one does.
fn copies_that_fit(runs: usize, world: Bytes) -> Result<usize, InputError> {
    let (runs, world) = (runs as u64, (world.get() / SMALLER).max(1));
    let room = PAGE - Needs::PROGRAM.get();
    // A run that goes on to its end, for the hash of its results, is one more.
    let (worlds, least) = (room / world, 2 * runs + 1);
    if worlds >= least {
        // Runs that are made in place of these, with a copy of each, exist beside them for a while.
        let copies = (worlds / runs).saturating_sub(3);
        return Ok((copies as usize).clamp(1, MOST_COPIES));
    }
    let needed = least * world;
    Err(InputError::at(
        "circuits",
        format!(
            "{runs} runs, each with a copy, need about {:.1} GB of memory, and a page has {:.1} GB; \
             allowed is what fits: fewer transports, fewer circuits or a smaller `scale` ({:.2} times \
             as many would fit), or longer intervals in `[record]`; `hopflow run` and `hopflow live` \
             can use all memory of the machine",
            needed as f64 / 1e9,
            PAGE as f64 / 1e9,
            room as f64 / needed as f64,
        ),
    ))
}

impl Run {
    fn new(job: &Job, most_copies: usize) -> Result<Self, InputError> {
        let run = Watched::new(job);
        let run = run.map_err(|error| InputError::new(error.to_string()))?;
        Ok(Self {
            label: job.key.transport.clone(),
            copies: vec![run.clone()],
            now: run,
            most_copies,
            copy_every: COPY_EVERY,
        })
    }

    fn go_to(&mut self, time: Duration) {
        if time < self.now.now() {
            self.go_back(time);
        }
        while self.now.now() < time {
            let last = self.copies.last().expect("the first one stays");
            let due = last.now() + self.copy_every;
            self.now.advance(due.min(time));
            if self.now.now() >= due {
                self.keep_copy();
            }
        }
    }

    /// Begins again from the last copy before a time.
    fn go_back(&mut self, time: Duration) {
        let before = self.copies.partition_point(|copy| copy.now() <= time);
        self.copies.truncate(before.max(1));
        self.now = self.copies.last().expect("the first one stays").clone();
    }

    /// Keeps a copy; when there are too many, every second one goes.
    fn keep_copy(&mut self) {
        self.copies.push(self.now.clone());
        if self.copies.len() > self.most_copies {
            let mut keep = false;
            self.copies.retain(|_| {
                keep = !keep;
                keep
            });
            self.copy_every = self.copy_every + self.copy_every;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use hopflow_lab::run::{Silent, execute_one};
    use hopflow_results::{RunEntry, RunKey, Tables};

    use super::*;

    const TEXT: &str = r#"
        name = "test"
        duration = "3 s"
        seeds = [4]

        [transports.backtap]

        [transports.vanilla]

        [network]
        access = { rate = "10 MB/s", delay = "10 ms" }

        [[network.relays]]
        name = "relay"
        count = 3

        [[circuits]]
        count = 2
        path = ["relay", "relay", "relay"]
        workload = "bulk"
    "#;

    /// Application bytes of a cell.
    const DATA: u64 = 498;

    /// Cells of a datagram.
    const MOST_CELLS: u64 = 2;

    fn play() -> Play {
        Play::new(TEXT).unwrap()
    }

    #[test]
    fn going_back_and_on_again_shows_the_same() {
        for transport in 0..2 {
            let (mut straight, mut wandering) = (play(), play());
            for seconds in [0.4, 2.5, 1.3, 0.2, 1.7] {
                wandering.go_to(transport, seconds).unwrap();
            }
            assert_eq!(
                straight.go_to(transport, 1.7).unwrap(),
                wandering.go_to(transport, 1.7).unwrap()
            );
            assert_eq!(
                straight.view(transport, 3.0).unwrap(),
                wandering.view(transport, 3.0).unwrap()
            );
            assert_eq!(
                straight.results(transport).unwrap(),
                play().results(transport).unwrap()
            );
        }
    }

    #[test]
    fn results_are_those_of_a_run_that_nobody_looks_at() {
        let scenario = Arc::new(Scenario::parse(TEXT, FILE).unwrap());
        for (transport, job) in Job::plan(&scenario, "").unwrap().iter().enumerate() {
            let unseen = Mutex::new(String::new());
            let keep = |key: &RunKey, tables: &Tables, wall_seconds| {
                let results = tables.fingerprint();
                *unseen.lock().unwrap() = results.to_string();
                Ok(RunEntry {
                    key: key.clone(),
                    folder: String::new(),
                    results,
                    wall_seconds,
                    files: BTreeMap::new(),
                    traces: BTreeMap::new(),
                })
            };
            execute_one(job, 1, &Silent, &keep).unwrap();
            let results = play().results(transport).unwrap();
            assert_eq!(results, unseen.into_inner().unwrap());
        }
    }

    /// Cells do not vanish from what is drawn: what the source has packaged waits somewhere, is under
    /// way, or was delivered.
    #[test]
    fn what_is_packaged_is_queued_under_way_or_delivered() {
        let mut play = play();
        for tenths in 1..30 {
            play.go_to(0, f64::from(tenths) / 10.0).unwrap();
            let view = play.runs[0].now.view();
            let (mut cells, mut known) = (0, 0);
            for user in &view.users {
                cells += user.packaged.get().div_ceil(DATA);
                known += user.delivered.get() / DATA;
                let queued = user.hops.iter().map(|hop| hop.flow.queued.get());
                known += queued.sum::<u64>();
            }
            let under_way = view.packets.iter().map(|packet| u64::from(packet.cells));
            known += under_way.sum::<u64>();
            // One packet leaves a machine, and others wait for it.
            let leaving = view.machines.iter().map(|it| it.up.packets as u64 + 1);
            let unseen = MOST_CELLS * leaving.sum::<u64>();
            assert!(known <= cells, "{known} of {cells} after {tenths} tenths");
            assert!(
                known + unseen + 2 >= cells,
                "{known} of {cells} after {tenths} tenths"
            );
        }
    }

    #[test]
    fn runs_have_the_copies_that_fit_into_a_page() {
        let copies = |runs, world| copies_that_fit(runs, Bytes::new(SMALLER * world));
        assert_eq!(copies(2, 0), Ok(MOST_COPIES));
        assert_eq!(copies(2, 100_000_000), Ok(MOST_COPIES));
        assert_eq!(copies(2, 200_000_000), Ok(7));
        assert_eq!(copies(2, 800_000_000), Ok(1));
        assert!(copies(2, 900_000_000).is_err());
        assert!(copies(3, 800_000_000).is_err());
    }

    #[test]
    fn a_scenario_that_does_not_fit_into_a_page_is_refused() {
        let large = TEXT.replace("count = 2", "count = 16000");
        let error = Play::new(&large).unwrap_err().to_string();
        for part in [
            "scenario.toml:",
            "circuits: 2 runs, each with a copy, need about ",
            "and a page has 4.3 GB",
            "times as many would fit",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    /// A copy needs what the world of a run needs, without the program.
    #[test]
    fn the_estimate_of_needs_counts_the_program_once() {
        let scenario =
            |count: &str| Scenario::parse(&TEXT.replace("count = 2", count), FILE).unwrap();
        let memory = |count: &str| Needs::of(&scenario(count)).memory.get() as f64;
        let (few, many) = (memory("count = 2"), memory("count = 1002"));
        let world = few - Needs::PROGRAM.get() as f64;
        // Three relays, and two circuits of 1002.
        let per_circuit = (many - few) / 1000.0;
        assert!((world - 2.0 * per_circuit - 60e3).abs() < 1.0, "{world}");
    }

    #[test]
    fn few_copies_are_enough_to_go_back() {
        let mut play = play();
        play.runs[0].most_copies = 1;
        for seconds in [2.9, 1.5, 2.1] {
            assert_eq!(play.go_to(0, seconds), self::play().go_to(0, seconds));
            assert_eq!(play.runs[0].copies.len(), 1);
        }
    }

    #[test]
    fn a_run_ends_and_stays_there() {
        let mut play = play();
        let end = play.go_to(0, 10.0).unwrap();
        assert_eq!(end, 3.0);
        assert_eq!(play.go_to(0, 20.0).unwrap(), end);
    }

    #[test]
    fn a_transport_that_is_not_there_is_an_error() {
        let mut play = play();
        let gone = play.go_to(2, 1.0).unwrap_err().to_string();
        assert!(gone.contains("no transport 2"), "{gone}");
        assert!(play.view(2, 0.0).is_err());
        assert!(play.results(2).is_err());
    }

    #[test]
    fn the_network_says_who_uploads() {
        let upload = r#"workload = { class = "bulk", direction = "upload" }"#;
        let text = TEXT.replace(r#"workload = "bulk""#, upload);
        let uploads =
            |text: &str| Play::new(text).unwrap().network()["users"][0]["uploads"].clone();
        assert_eq!(uploads(TEXT), false);
        assert_eq!(uploads(&text), true);
    }
}
