//! Topologies of scenarios, and the sources of their relays and paths.

mod messages;
mod sources;
mod tables;
mod topologies;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use hopflow_lab::scenario::Scenario;
use hopflow_sim::spec::CircuitSpec;

/// A scenario with this `[network]` and the tables after it.
fn text(network: &str, circuits: &str) -> String {
    format!(
        "name = \"net\"\nduration = \"10 s\"\nseeds = 2\n[transports.vanilla]\n\
         [network]\n{network}\n{circuits}\n"
    )
}

fn circuits(count: u32, path: &str) -> String {
    format!("[[circuits]]\ncount = {count}\npath = {path}\nworkload = \"web\"\n")
}

fn group(name: &str, count: u32, more: &str) -> String {
    format!("[[network.relays]]\nname = \"{name}\"\ncount = {count}\n{more}\n")
}

fn parse(text: &str) -> Result<Scenario, String> {
    parse_beside(text, Path::new("net.toml"), None)
}

fn parse_beside(text: &str, file: &Path, circuits: Option<&Path>) -> Result<Scenario, String> {
    Scenario::parse_with(text, &file.display().to_string(), circuits).map_err(|e| e.to_string())
}

/// The message about a scenario, which holds all of `parts`.
fn assert_refused(text: &str, parts: &[&str]) {
    let found = parse(text).expect_err(text);
    for part in parts {
        assert!(found.contains(part), "expected {part}\n   found {found}");
    }
}

/// The relays of a circuit, without its client.
fn relays(circuit: &CircuitSpec) -> Vec<usize> {
    circuit.path[1..].iter().map(|node| node.index()).collect()
}

/// Lines of a circuit file over 12 relays: guards 0 to 3, exits 4 to 7, others.
fn published(lines: usize) -> String {
    let continents = ["EU", "NA"];
    let relay = |number: usize| {
        format!(
            "{number:040X} {} {}",
            continents[number % 2],
            1_000_000 + 1_000 * number
        )
    };
    let mut file = String::new();
    for line in 0..lines {
        let (entry, exit, middle) = (line % 4, 4 + (line / 4) % 4, 8 + line % 3 + line / 16 % 2);
        let fields = [relay(entry), relay(middle), relay(exit)].join("\t");
        writeln!(file, "{line}\t{fields}").unwrap();
    }
    file
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn paths(scenario: &Scenario, seed: u64) -> Vec<Vec<usize>> {
    let world = scenario.sample(seed);
    world.validate().unwrap();
    world.circuits.iter().map(relays).collect()
}

fn population(relays: u32, path: &str) -> String {
    let source = format!("source = {{ population = {{ relays = {relays} }} }}");
    let bucket = "bucket = { refill = \"10 ms\" }\ntopology = { dumbbell = {} }";
    text(&format!("{source}\n{bucket}"), &circuits(80, path))
}
