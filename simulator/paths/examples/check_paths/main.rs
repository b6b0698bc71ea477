//! Compares chosen paths with published ones.
//!
//! `cargo run -p hopflow-paths --example check_paths -- DIR [FIGURE.svg]` reads each
//! `circuits-*.dat.gz` of the folder DIR, takes the population from its paths, chooses as many
//! paths anew in different ways, and prints how far they agree, as a table in Markdown. The last
//! way is drawn into FIGURE.svg.

mod figure;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hopflow_paths::check::{BandwidthTest, UseTest};
use hopflow_paths::{CircuitFile, PathSelector, Population};
use hopflow_random::{Stream, Streams};
use hopflow_units::Rate;

/// A way of choosing paths; each adds to the one before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// By bandwidth.
    Plain,
    /// No weight is above 10 MB/s.
    Capped,
    /// Each path is that of a new client, which has three guards and uses one of them.
    Guards,
    /// Guards are chosen as middles with a weight of 0.24, which fits both files.
    Fitted,
}

impl Way {
    const ALL: [Self; 4] = [Self::Plain, Self::Capped, Self::Guards, Self::Fitted];

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "by bandwidth",
            Self::Capped => "and weights end at 10 MB/s",
            Self::Guards => "and clients have 3 guards",
            Self::Fitted => "and Wmg is 0.24",
        }
    }
}

/// Chosen paths per published one: with more, chance in the choice hides less.
const TIMES: usize = 10;

/// Paths of a file, as they were published and as they are chosen here.
struct Compared {
    name: String,
    file: CircuitFile,
    chosen: Vec<Vec<u32>>,
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let ([folder], figure) = arguments.split_at(arguments.len().min(1)) else {
        eprintln!("usage: check_paths DIR [FIGURE.svg]");
        return ExitCode::FAILURE;
    };
    match run(folder, figure.first().map(PathBuf::as_path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, figure: Option<&Path>) -> Result<(), Box<dyn Error>> {
    println!("| file | way | compared | distance | statistic | degrees | p |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut compared = Vec::new();
    for path in circuit_files(folder)? {
        let file = CircuitFile::read(&path)?;
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut chosen = Vec::new();
        let many = TIMES * file.paths.len();
        for way in Way::ALL {
            chosen = choose(&file, way, many)?;
            print_rows(&name, way.name(), &file, [&file.paths, &chosen]);
        }
        let (some, others) = chosen.split_at(file.paths.len());
        print_rows(&name, "the last way with itself", &file, [some, others]);
        compared.push(Compared { name, file, chosen });
    }
    if let Some(path) = figure {
        fs::write(path, figure::draw(&compared))?;
    }
    Ok(())
}

/// The circuit files of a folder, by name.
fn circuit_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read the folder {}: {error}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("circuits-") && name.ends_with(".dat.gz") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("{} holds no circuits-*.dat.gz", folder.display()).into());
    }
    Ok(files)
}

/// `many` paths over the population of `file`, chosen in a certain way.
fn choose(file: &CircuitFile, way: Way, many: usize) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let mut population = Population::from_circuits(file);
    if way >= Way::Capped {
        population = population.with_weight_cap(Rate::from_kilobytes_per_sec(10_000));
    }
    if way >= Way::Fitted {
        population.weights.wmg = 2_400;
    }
    let selector = PathSelector::new(&population, file.paths[0].len())?;
    let mut stream = Streams::new(1).stream("check_paths", 0);
    let draw = |stream: &mut Stream| {
        if way >= Way::Guards {
            selector.draw_for(&selector.client(3, stream), stream)
        } else {
            selector.draw(stream)
        }
    };
    let paths = (0..many).map(|_| draw(&mut stream));
    let paths: Option<_> = paths.collect();
    paths.ok_or_else(|| "the constraints leave no path".into())
}

fn print_rows(name: &str, way: &str, file: &CircuitFile, sets: [&[Vec<u32>]; 2]) {
    for (position, what) in ["entry", "middle", "exit"].into_iter().enumerate() {
        let test = UseTest::at(position, file.relays.len(), sets);
        println!(
            "| {name} | {way} | {what} | {:.3} | {:.1} | {} | {:.3} |",
            test.distance, test.chi_square, test.degrees, test.p_value
        );
    }
    let test = BandwidthTest::of(&file.relays, sets);
    println!(
        "| {name} | {way} | slowest relay | {:.3} | | | {:.3} |",
        test.distance, test.p_value
    );
}
