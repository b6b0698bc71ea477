use std::io::Write;

use hopflow_units::Rate;

use super::*;
use crate::Continent;

const A: &str = "00000000000000000000000000000000000000AA";
const B: &str = "00000000000000000000000000000000000000BB";
const C: &str = "00000000000000000000000000000000000000CC";
const D: &str = "00000000000000000000000000000000000000DD";

/// Two circuits, of three and of four relays.
fn example() -> String {
    format!(
        "0\t{A} EU 1000\t{B} NA 2000\t{C} SA 3000\n1\t{B} EU 2000\t{D} AS 1\t{A} EU 1000\t{C} SA 3000\n"
    )
}

fn relay(name: &str, continent: Continent, rate: u64) -> Relay {
    Relay {
        name: name.to_owned(),
        continent,
        bandwidth: Rate::from_bytes_per_sec(rate).unwrap(),
    }
}

fn message(content: impl AsRef<[u8]>) -> String {
    let error = CircuitFile::parse(content.as_ref(), "x.dat").unwrap_err();
    assert_eq!(error.file(), "x.dat");
    error.to_string()
}

#[test]
fn relays_are_in_the_order_of_their_first_occurrence_and_paths_refer_to_them() {
    let file = CircuitFile::parse(example().as_bytes(), "x.dat").unwrap();
    assert_eq!(
        file.relays,
        [
            relay(A, Continent::Europe, 1000),
            relay(B, Continent::NorthAmerica, 2000),
            relay(C, Continent::SouthAmerica, 3000),
            relay(D, Continent::Asia, 1),
        ]
    );
    assert_eq!(file.paths, [vec![0, 1, 2], vec![1, 3, 0, 2]]);
}

fn compressed(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_file_is_unpacked_up_to_a_limit() {
    let members = [compressed(&[b'0'; 600]), compressed(&[b'1'; 400])].concat();
    assert_eq!(decompressed(&members, 1000).unwrap().len(), 1000);
    let error = decompressed(&members, 999).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(
        PathsError::read("x.dat.gz", error).to_string(),
        "cannot read x.dat.gz: it holds more than 999 bytes; allowed are up to 999"
    );
    assert!(
        decompressed(&[b'0'; 1000], 999).is_ok(),
        "what is not compressed is in memory already"
    );
}

#[test]
fn compressed_and_plain_files_say_the_same() {
    let compressed = compressed(example().as_bytes());
    assert_eq!(
        CircuitFile::parse(&compressed, "x.dat.gz").unwrap(),
        CircuitFile::parse(example().as_bytes(), "x.dat").unwrap()
    );
    let cut = &compressed[..compressed.len() - 9];
    assert!(message(cut).starts_with("cannot read x.dat: "));
}

#[test]
fn line_ends_of_other_systems_empty_lines_and_lower_case_are_read_alike() {
    let other = example().replace("AA", "aa").replace('\n', "\r\n\r\n");
    assert_eq!(
        CircuitFile::parse(other.as_bytes(), "x.dat").unwrap(),
        CircuitFile::parse(example().as_bytes(), "x.dat").unwrap()
    );
}

#[test]
fn errors_name_file_line_field_and_what_is_allowed() {
    for (line, expected) in [
        (
            format!("x\t{A} EU 1\t{B} EU 1"),
            "x.dat, line 3: field 1, the circuit's number, is \"x\"; allowed is a whole number",
        ),
        (
            format!("2\t{A} EU 1000"),
            "x.dat, line 3: has a path of 1 relays; allowed are 2 or more",
        ),
        (
            format!("2\t{A} EU 1000\t{B} 2000"),
            "x.dat, line 3: field 3, a relay, is \"00000000000000000000000000000000000000BB 2000\"; \
             expected are fingerprint, continent and bandwidth",
        ),
        (
            format!("2\t{A} EU 1000\tB EU 2000"),
            "x.dat, line 3: field 3, a relay, has the fingerprint \"B\"; allowed are 40",
        ),
        (
            format!("2\t{A} XX 1000\t{B} EU 2000"),
            "x.dat, line 3: field 2, a relay, has a continent that is unknown: \"XX\" is not the \
             code of a continent; allowed are AF, AS, EU, NA, OC, SA",
        ),
        (
            format!("2\t{A} EU 1000\t{B} EU 0"),
            "x.dat, line 3: field 3, a relay, has the bandwidth \"0\"; allowed are whole numbers",
        ),
        (
            format!("2\t{A} EU 7\t{B} EU 2000"),
            "x.dat, line 3: field 2, a relay, gives 00000000000000000000000000000000000000AA a \
             bandwidth of 7 B/s after 1000 B/s on an earlier line",
        ),
        (
            format!("2\t{A} EU 1000\t{B} EU 2000\t{A} EU 1000"),
            "x.dat, line 3: has relay 00000000000000000000000000000000000000AA twice",
        ),
    ] {
        let got = message(example() + &line);
        assert!(got.starts_with(expected), "{got}");
    }
    assert!(message("\n").starts_with("x.dat: holds no circuit"));
    assert!(message([0xff]).starts_with("x.dat, line 1: is not text"));
    let missing = CircuitFile::read(Path::new("/nowhere/x.dat")).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("cannot read /nowhere/x.dat: ")
    );
}
