use hopflow_units::Rate;

use super::*;
use crate::Continent;

fn relay(number: u64, flags: Flags) -> PopulationRelay {
    PopulationRelay {
        relay: Relay {
            name: format!("{number:040X}"),
            continent: Continent::ALL[number as usize % 6],
            bandwidth: Rate::from_bytes_per_sec(1 + number).unwrap(),
        },
        flags,
        weight: 7 * number,
        family: number.is_multiple_of(2).then_some(number as u32),
        network: number.is_multiple_of(3).then_some(0xc000 + number as u16),
    }
}

fn population() -> Population {
    let fast = Flags::FAST;
    let flags = [
        Flags::NONE,
        fast | Flags::GUARD | Flags::STABLE,
        fast | Flags::EXIT,
        fast | Flags::GUARD | Flags::EXIT,
    ];
    Population::new((0..).zip(flags).map(|(n, flags)| relay(n, flags)).collect())
}

#[test]
fn a_population_comes_back_from_its_table_as_it_was() {
    let mut population = population();
    population.weights.wmg = 240;
    let table = population.to_table();
    let line = "0000000000000000000000000000000000000001,AS,2,7,Fast Guard Stable,,\n";
    assert!(table.contains(line), "{table}");
    assert!(table.contains(",EU,3,14,Exit Fast,2,\n"), "{table}");
    assert!(
        table.contains(",NA,4,21,Exit Fast Guard,,192.3\n"),
        "{table}"
    );
    assert_eq!(Population::from_table(&table, "t.csv").unwrap(), population);
}

#[test]
fn weights_are_computed_where_a_table_has_none() {
    let table = population().to_table();
    let (_, rest) = table.split_once('\n').unwrap();
    assert_eq!(Population::from_table(rest, "t.csv").unwrap(), population());
}

#[test]
fn errors_name_the_file_the_line_and_what_is_allowed() {
    let good = population().to_table();
    let first = "0000000000000000000000000000000000000000,AF,1,0,,0,192.0";
    let second = "0000000000000000000000000000000000000001";
    for (old, new, expected) in [
        (
            "Wed=",
            "Wxx=",
            "t.csv, line 1: has the bandwidth weight \"Wxx=",
        ),
        (
            "Wee=",
            "Wed=",
            "t.csv, line 1: has the bandwidth weight Wed again; allowed is each",
        ),
        (
            " Wmm=10000",
            "",
            "t.csv, line 1: lacks the bandwidth weight Wmm; allowed is a line with all of Wed, Wee,",
        ),
        (
            COLUMNS,
            "name",
            "t.csv: is not a table of relays; expected are the columns f",
        ),
        (
            first,
            "0,1",
            "t.csv, line 3: has 2 fields; expected are fingerprint,",
        ),
        (
            ",AF,",
            ",XX,",
            "t.csv, line 3: has a continent that is unknown: \"XX\"",
        ),
        (
            ",AF,1,0,",
            ",AF,0,0,",
            "line 3: has the bandwidth \"0\"; allowed are whole",
        ),
        (
            ",AF,1,0,",
            ",AF,1,-1,",
            "line 3: has the weight \"-1\"; allowed are whole",
        ),
        (
            ",AF,1,0,",
            ",AF,1,+1,",
            "line 3: has the weight \"+1\"; allowed are whole",
        ),
        (
            ",AF,1,0,",
            ",AF,+1,0,",
            "line 3: has the bandwidth \"+1\"; allowed are whole",
        ),
        (
            "Wed=",
            "Wed=+",
            "t.csv, line 1: has the bandwidth weight \"Wed=+",
        ),
        (
            "Exit Fast Guard",
            "Exit Quick",
            "line 6: has the flag \"Quick\"; allowed are Exit",
        ),
        (
            ",0,192.0",
            ",x,192.0",
            "line 3: has the family \"x\"; allowed are whole",
        ),
        (
            ",0,192.0",
            ",+0,192.0",
            "line 3: has the family \"+0\"; allowed are whole",
        ),
        (
            ",192.0",
            ",192.+0",
            "line 3: has the network \"192.+0\"; allowed is the first half",
        ),
        (
            ",192.0",
            ",192",
            "line 3: has the network \"192\"; allowed is the first half",
        ),
        (second, &first[..40], "line 4: has relay 0000"),
    ] {
        let broken = good.replacen(old, new, 1);
        assert_ne!(broken, good, "{old}");
        let error = Population::from_table(&broken, "t.csv")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(expected),
            "expected {expected}\n   found {error}"
        );
    }
}
