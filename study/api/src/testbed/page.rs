//! The report of a testbed, and of several.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use hopflow_report::{Block, Cell, Column, Document, Fact, Section, Table};
use hopflow_results::{Folder, Manifest};
use hopflow_testbed::{Figure, SCENARIO, Settings, read};

use super::figures::{
    CUT_OFF, SETTINGS, SHOWN, cut_off_sides, error, heading, is_cut_off, names, unfinished, value,
};
use super::made::Made;
use crate::failure::Failure;

/// The name that the manifest of a folder of several testbeds gives as its scenario.
pub(super) const MATRIX: &str = "testbeds";

/// How the caption of the table begins that says by how much transports differ.
const DIFFERENCES: &str = "Differences to ";

/// What simulation and reality have in common, and what not.
const SAME: [&str; 3] = [
    "Both sides have the same relays, access links, token bucket and transport, and the same \
     downloads begin at the same time on circuits that were used once before. Times count from the \
     moment at which the HTTP request is sent over an open connection: one round trip along the \
     circuit on both sides. The error is that of the simulation, relative to the real value.",
    "R and W are the application bytes packaged at the exit and delivered to the application. On the \
     real overlay they are taken ten times a second, first at the start, when nothing waits; R is the \
     exit’s count of cells, interpolated between readings a tenth of a second apart. The simulator takes \
     them about fifty times where the last download ends within five seconds, and otherwise ten times a \
     second, too. Mean backlogs of short downloads differ by this as well.",
    "Differences: real cells carry 488 bytes of data and simulated ones 498, datagrams on real links \
     have 22 more bytes for cryptography (records of TLS are simulated), and real processing takes \
     time, which matters when this machine has other load.",
];

/// What they have in common where the nodes are on the loopback device.
const ON_LOOPBACK: &str = "Transports over TCP: on the real overlay the emulated link delays bytes \
     at the receiver, each connection has the whole rate of the link, and the kernel’s TCP uses the \
     loopback device, so its slow start takes no time and nothing is lost; the simulator models a \
     TCP over the whole path, which connections share. Only datagram transports can be expected to \
     agree.";

/// What simulation and reality have in common, and what not, in paragraphs.
fn same(settings: &Settings) -> Vec<String> {
    let tcp = settings.netns.map_or_else(
        || ON_LOOPBACK.to_owned(),
        |tcp| {
            format!(
                "Transports over TCP: every node has a network namespace of its own, and all \
                 packets of the kernel’s TCP pass the emulated links, whose rate, delay and queues \
                 it meets; connections share them on both sides. The simulator models TCP with the \
                 same congestion control, {}.",
                tcp.name()
            )
        },
    );
    let same = SAME.iter().map(|paragraph| (*paragraph).to_owned());
    same.chain([tcp]).collect()
}

/// The folder of one testbed's results.
pub fn place(folder: &Path, settings: &Settings, one_of_several: bool) -> PathBuf {
    if one_of_several {
        folder.join(name(settings))
    } else {
        folder.to_owned()
    }
}

fn name(settings: &Settings) -> String {
    let middle = settings.middle_rate;
    let middle = middle.map_or("no-limit".to_owned(), |rate| rate.to_string());
    let name = format!(
        "{}-{}-{}-{middle}",
        settings.transport, settings.downloads, settings.delay
    );
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().filter(|c| *c != ' ').map(plain).collect()
}

/// Refuses a folder that holds anything but results of testbeds.
///
/// # Errors
/// If there is such a folder, or it cannot be read.
pub fn check_folder(folder: &Path, several: bool) -> Result<(), Failure> {
    let occupied = |contents: &str| {
        Failure::bad_input(format_args!(
            "{} holds {contents}, which is left as it is; allowed is a folder that is new, empty, \
             or holds results of the same kind: choose another with --out",
            folder.display()
        ))
    };
    match Folder::open(folder).read_manifest() {
        Ok(found) if found.scenario == if several { MATRIX } else { SCENARIO } => Ok(()),
        Ok(found) if is_claim(&found) => Ok(()),
        Ok(found) => Err(occupied(&format!("results of \"{}\"", found.scenario))),
        Err(hopflow_results::Error::Missing { .. }) => {
            let occupants = fs::read_dir(folder).map_or(0, Iterator::count);
            if occupants > 0 || folder.is_file() {
                return Err(occupied("files but no results of hopflow"));
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a folder is one for results of testbeds and holds none.
fn is_claim(manifest: &Manifest) -> bool {
    match manifest.scenario.as_str() {
        SCENARIO => manifest.runs.is_empty(),
        MATRIX => manifest.scenario_toml.is_empty(),
        _ => false,
    }
}

/// Makes a folder one for results of testbeds before anything is measured, so that
/// [`check_folder`] allows it again however the measurements end. A folder that is one already stays as it is.
///
/// # Errors
/// If the folder cannot be written.
pub fn claim(folder: &Path, command: &str, cells: &[Settings]) -> Result<(), Failure> {
    if Folder::open(folder).read_manifest().is_ok() {
        return Ok(());
    }
    match cells {
        [one] => Ok(hopflow_testbed::write(folder, one, command, &[], 0)?),
        several => list(folder, command, &[], several.len()),
    }
}

/// Writes the report of one testbed; returns the page's path.
///
/// # Errors
/// If the folder holds no results of a testbed, or a file cannot be written.
pub fn write_one(folder: &Path) -> Result<PathBuf, Failure> {
    Ok(hopflow_report::write(&one(folder)?, folder)?.page)
}

fn one(folder: &Path) -> Result<Document, Failure> {
    let (settings, [real, simulated]) = read(folder)?;
    let made = Made {
        settings,
        real,
        simulated,
    };
    let mut document = hopflow_report::from_results(folder)?;
    document.title = format!("Testbed: {}", made.settings.transport);
    if !made.simulated.is_empty() {
        drop_ranking(&mut document);
    }
    let mut section = side_by_side(&made);
    if let Some(note) = unfinished(&made) {
        section.blocks.insert(0, Block::Note(note));
    }
    let manifest = Folder::open(folder).read_manifest()?;
    note_missing(
        &mut section,
        &manifest,
        "measurements and simulations that are missing",
    );
    document.sections.insert(0, section);
    for section in &mut document.sections {
        if section.heading == "Origin" {
            section.prose = vec![
                "Real measurements depend on the machine and its load. The results of the \
                 simulation are bit-identical on every machine."
                    .to_owned(),
            ];
        }
    }
    Ok(document)
}

/// Takes away what says which of several transports is better: a simulation does not compete with reality, and runs of
/// the same number have nothing in common.
fn drop_ranking(document: &mut Document) {
    let sections = &mut document.sections;
    sections.retain(|section| section.heading != "Findings");
    for section in sections {
        section.blocks.retain(
            |block| !matches!(block, Block::Table(table) if table.caption.starts_with(DIFFERENCES)),
        );
    }
}

/// Says how much of a command is missing, and what is meant.
fn note_missing(section: &mut Section, manifest: &Manifest, what: &str) {
    if let Some(missing) = manifest.missing {
        let note = format!("The command was interrupted, or failed: {what}: {missing}.");
        section.blocks.insert(0, Block::Note(note));
    }
}

/// What stands above figures.
const fn above(compared: bool) -> &'static str {
    if compared {
        "Real and simulated"
    } else {
        "Measured"
    }
}

fn side_by_side(made: &Made) -> Section {
    let errors = made.errors();
    let compared = !made.simulated.is_empty();
    let mut columns = vec![Column::new(""), Column::figures("Real")];
    if compared {
        columns.extend(["Simulated", "Error"].map(Column::figures));
    }
    let rows = Figure::ALL.map(|figure| {
        let mut row = vec![
            Cell::Text(figure.title().to_owned()),
            figures(value(&errors, figure, true, true)),
        ];
        if compared {
            row.push(figures(value(&errors, figure, false, true)));
            row.push(figures(error(&errors, figure)));
        }
        row
    });
    let table = Table {
        caption: "What was measured".to_owned(),
        columns,
        rows: rows.to_vec(),
    };
    let mut section = Section::new(above(compared), vec![Block::Table(table)]);
    if compared {
        section.prose = same(&made.settings);
    }
    section
}

/// Lists the testbeds whose results lie below `folder`, and how many of the command lack measurements.
///
/// # Errors
/// If the list cannot be written.
pub fn list(
    folder: &Path,
    command: &str,
    made: &[Settings],
    missing: usize,
) -> Result<(), Failure> {
    let folders: Vec<String> = made.iter().map(name).collect();
    let mut manifest = Manifest::new(env!("CARGO_PKG_VERSION"), MATRIX, &folders.join("\n"));
    manifest.command = Some(command.to_owned());
    manifest.missing = NonZeroUsize::new(missing);
    Ok(Folder::create(folder)?.write_manifest(&manifest)?)
}

/// Writes the report of the testbeds that are [listed](list) in `folder`; returns the page's path.
///
/// # Errors
/// If results are missing, or a file cannot be written.
pub fn write_matrix(folder: &Path) -> Result<PathBuf, Failure> {
    rewrite_matrix(folder, &Folder::open(folder).read_manifest()?)
}

/// Writes the report of several testbeds from their results.
pub(super) fn rewrite_matrix(folder: &Path, manifest: &Manifest) -> Result<PathBuf, Failure> {
    let mut made = Vec::new();
    for name in manifest.scenario_toml.lines() {
        let folder = folder.join(name);
        write_one(&folder)?;
        let (settings, [real, simulated]) = read(&folder)?;
        made.push(Made {
            settings,
            real,
            simulated,
        });
    }
    let mut section = matrix(&made);
    note_missing(
        &mut section,
        manifest,
        "testbeds without some or all of their measurements",
    );
    let document = Document {
        title: "Testbeds".to_owned(),
        subtitle: "Measurements of real overlays on one machine.".to_owned(),
        facts: vec![
            Fact::new("Testbeds", made.len()),
            Fact::new("hopflow", &manifest.hopflow),
        ],
        sections: vec![section, origin(manifest)],
    };
    Ok(hopflow_report::write(&document, folder)?.page)
}

fn matrix(made: &[Made]) -> Section {
    let mut columns: Vec<Column> = SETTINGS.into_iter().map(Column::new).collect();
    let compared = made.iter().any(|made| !made.simulated.is_empty());
    for figure in SHOWN {
        columns.push(Column::figures(heading(figure)));
        if compared {
            columns.extend(["simulated", "error"].map(Column::figures));
        }
    }
    let any_cut_off = made.iter().any(is_cut_off);
    columns.extend(any_cut_off.then(|| Column::figures(CUT_OFF)));
    let row = |made: &Made| {
        let errors = made.errors();
        let mut row: Vec<Cell> = names(made).into_iter().map(Cell::Text).collect();
        for figure in SHOWN {
            row.push(figures(value(&errors, figure, true, false)));
            if compared {
                row.push(figures(value(&errors, figure, false, false)));
                row.push(figures(error(&errors, figure)));
            }
        }
        row.extend(any_cut_off.then(|| figures(cut_off_sides(made))));
        row
    };
    let table = Table {
        caption: "What was measured".to_owned(),
        columns,
        rows: made.iter().map(row).collect(),
    };
    let mut section = Section::new(above(compared), vec![Block::Table(table)]);
    // All have the same --netns.
    if let Some(first) = made.first().filter(|_| compared) {
        section.prose = same(&first.settings);
    }
    section
}

fn origin(manifest: &Manifest) -> Section {
    let prose = format!(
        "Each testbed’s results and report are in a subfolder next to this page. Command: \
         `{}`.",
        manifest.command.as_deref().unwrap_or("hopflow testbed")
    );
    Section::new("Origin", Vec::new()).with_prose(prose)
}

fn figures(text: String) -> Cell {
    Cell::Figures { text, faint: false }
}

#[cfg(test)]
mod tests {
    use hopflow_testbed::{Congestion, Origin, Unwatched, simulate, write};

    use super::*;

    const COMMAND: &str = "hopflow testbed";

    /// A small testbed with so many downloads.
    fn settings(downloads: u32) -> Settings {
        let text = Settings::default().to_toml();
        let small = Settings::from_toml(&text.replace("\"5 MB\"", "\"50 kB\"")).unwrap();
        Settings { downloads, ..small }
    }

    #[test]
    fn a_simulation_and_reality_are_not_ranked() {
        let settings = settings(1);
        let measured = [simulate(&settings, 1, &Unwatched).unwrap().unwrap()];
        let both = [Origin::Real, Origin::Simulated].map(|origin| (origin, measured.as_slice()));
        for measurements in [&both[..1], &both[..]] {
            let folder = tempfile::tempdir().unwrap();
            write(folder.path(), &settings, COMMAND, measurements, 0).unwrap();
            let document = one(folder.path()).unwrap();
            let sections = document.sections.iter();
            let headings: Vec<_> = sections.map(|section| &section.heading[..]).collect();
            let compared = measurements.len() > 1;
            assert_eq!(headings[0], above(compared));
            assert!(headings.contains(&"Numbers"), "{headings:?}");
            assert_eq!(headings.contains(&"Findings"), !compared, "{headings:?}");
            let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
            assert!(!blocks.any(|block| {
                matches!(block, Block::Table(table) if table.caption.starts_with(DIFFERENCES))
            }));
        }
    }

    #[test]
    fn what_was_measured_before_an_interruption_is_reported_and_the_folder_stays_usable() {
        let [one, two] = [1, 2].map(settings);
        let measured = [simulate(&one, 1, &Unwatched).unwrap().unwrap()];
        let cells = [one, two];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        claim(path, COMMAND, &cells).unwrap();
        let first = place(path, &cells[0], true);
        write(
            &first,
            &cells[0],
            COMMAND,
            &[(Origin::Real, measured.as_slice())],
            3,
        )
        .unwrap();
        let page = fs::read_to_string(write_one(&first).unwrap()).unwrap();
        assert!(page.contains("measurements and simulations that are missing: 3."));
        check_folder(path, true).unwrap();
        list(path, COMMAND, &cells[..1], 1).unwrap();
        claim(path, COMMAND, &cells).unwrap();
        let page = fs::read_to_string(write_matrix(path).unwrap()).unwrap();
        assert!(page.contains("some or all of their measurements: 1."));
        assert!(page.contains("Measured") && !page.contains("Real and simulated"));
        let single = tempfile::tempdir().unwrap();
        claim(single.path(), COMMAND, &cells[..1]).unwrap();
        for several in [false, true] {
            check_folder(single.path(), several).unwrap();
        }
        assert!(check_folder(path, false).is_err());
    }

    #[test]
    fn what_tcp_meets_depends_on_where_the_nodes_are() {
        let loopback = same(&Settings::default()).concat();
        assert!(loopback.contains("loopback device"), "{loopback}");
        let namespaces = same(&Settings {
            netns: Some(Congestion::NewReno),
            ..Settings::default()
        });
        let namespaces = namespaces.concat();
        assert!(!namespaces.contains("loopback"), "{namespaces}");
        assert!(namespaces.contains("new-reno"), "{namespaces}");
    }
}
