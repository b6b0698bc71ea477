use hopflow_paths::{BandwidthWeights, Flags, PathSelector, Population};
use hopflow_random::{Stream, Streams};
use hopflow_units::Rate;

use super::*;

fn stream() -> Stream {
    Streams::new(1).stream("consensus", 0)
}

/// Weights as they stand in a document, with a scale of their own.
const WEIGHTS: &str = "bandwidth-weights Wed=800 Wee=1000 Wgd=100 Wgg=600 Wmd=100 Wme=0 \
                       Wmg=400 Wmm=1000\n";

/// Identity, flags, address and weight of made-up relays.
const RELAYS: [(&str, &str, &str, u32); 5] = [
    (
        "AAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "Fast Guard Running Stable Valid",
        "192.0.2.1",
        5_000,
    ),
    (
        "AAAAAAAAAAAAAAAAAAAAAAAAAAE",
        "Exit Fast Running Valid",
        "198.51.100.1",
        3_000,
    ),
    (
        "AAAAAAAAAAAAAAAAAAAAAAAAAAI",
        "BadExit Exit Fast Running Valid",
        "203.0.113.1",
        70,
    ),
    (
        "AAAAAAAAAAAAAAAAAAAAAAAAAAM",
        "Fast Running Valid",
        "192.0.3.1",
        1_000,
    ),
    (
        "AAAAAAAAAAAAAAAAAAAAAAAAAAQ",
        "Running Valid",
        "203.0.113.2",
        0,
    ),
];

fn document(flavour: &str, weights: &str) -> String {
    let mut text = format!(
        "network-status-version 3{flavour}\nvote-status consensus\nconsensus-method 28\n\
         valid-after 2015-08-04 12:00:00\nfresh-until 2015-08-04 13:00:00\n\
         valid-until 2015-08-04 15:00:00\nvoting-delay 300 300\nclient-versions \n\
         server-versions \nknown-flags BadExit Exit Fast Guard Running Stable Valid\n\
         params bwweightscale=1000\n\
         dir-source madeup 00000000000000000000000000000000000000FF made.up 192.0.2.9 80 443\n\
         contact nobody\nvote-digest 00000000000000000000000000000000000000EE\n"
    );
    let digest = "BBBBBBBBBBBBBBBBBBBBBBBBBBA";
    let (plain, microdesc) = if flavour.is_empty() {
        (format!("{digest} "), String::new())
    } else {
        (String::new(), format!("m {}A\n", "C".repeat(42)))
    };
    let entry = |(identity, flags, address, weight)| {
        format!(
            "r relay {identity} {plain}2015-08-04 11:00:00 {address} 9001 0\n{microdesc}\
             s {flags}\nv Tor 0.2.6.10\npr Link=1-4 Relay=1-2\nw Bandwidth={weight}\n"
        )
    };
    text.push_str(&RELAYS.map(entry).concat());
    text + "directory-footer\n"
        + weights
        + "directory-signature 00000000000000000000000000000000000000FF \
           00000000000000000000000000000000000000DD\n\
           -----BEGIN SIGNATURE-----\nAAAA\n-----END SIGNATURE-----\n"
}

fn read(text: &str) -> Population {
    population(text, &mut stream()).unwrap()
}

#[test]
fn relays_have_the_flags_weights_and_networks_of_the_document() {
    for flavour in ["", " microdesc"] {
        let population = read(&document(flavour, WEIGHTS));
        assert_eq!(population.relays.len(), 5);
        let [guard, exit, bad_exit, middle, slow] = &population.relays[..] else {
            panic!("five relays");
        };
        assert_eq!(guard.flags, Flags::FAST | Flags::GUARD | Flags::STABLE);
        assert_eq!(exit.flags, Flags::FAST | Flags::EXIT);
        assert_eq!(bad_exit.flags, Flags::FAST, "a bad exit is no exit");
        assert_eq!(slow.flags, Flags::NONE);
        assert_eq!(exit.relay.name, "0000000000000000000000000000000000000001");
        assert_eq!(exit.relay.bandwidth, Rate::from_kilobytes_per_sec(3_000));
        assert_eq!(exit.weight, 3_000_000);
        assert_eq!(slow.weight, 0);
        assert_eq!(guard.network, middle.network, "one /16");
        assert_ne!(guard.network, exit.network);
        assert_eq!(population.weights.wmg, 400);
        assert_eq!(population.weights.wed, 800);
    }
}

#[test]
fn weights_are_equal_where_a_document_lacks_some_and_computed_where_it_has_none() {
    for (given, other) in [(" Wmm=1000", ""), ("Wme=0", "Wme=-1")] {
        let some = WEIGHTS.replace(given, other);
        assert_ne!(some, WEIGHTS);
        let population = read(&document("", &some));
        assert_eq!(population.weights, BandwidthWeights::EQUAL, "{some}");
    }
    let none = read(&document("", ""));
    assert_eq!(none.weights, Population::new(none.relays.clone()).weights);
    assert_ne!(none.weights, BandwidthWeights::EQUAL);
}

#[test]
fn paths_can_be_chosen_over_a_consensus_of_an_archive() {
    let archived = format!(
        "@type network-status-consensus-3 1.0\n{}",
        document("", WEIGHTS)
    );
    let selector = PathSelector::new(&read(&archived), 3).unwrap();
    // The other middles are in the guard's network, or too slow.
    assert_eq!(selector.draw(&mut stream()), Some(vec![0, 2, 1]));
}

#[test]
fn errors_name_the_file_and_what_is_allowed() {
    for text in ["", "@type\n", "0\tA EU 1\n", "network-status-version 2\n"] {
        let message = table(text, "x.txt").unwrap_err();
        assert!(
            message.starts_with("x.txt: is not a consensus document: "),
            "{message}"
        );
        assert!(message.contains("of version 3, plain or of"), "{message}");
    }
    let broken = document("", WEIGHTS).replace("Bandwidth=3000", "Bandwidth=fast");
    let error = table(&broken, "x.txt").unwrap_err();
    assert!(error.contains("line"), "{error}");
}

#[test]
fn the_table_holds_what_the_document_says() {
    let text = document("", WEIGHTS);
    let table = table(&text, "made-up").unwrap();
    let mut stream = Streams::new(0).stream("continents of a consensus", 0);
    let expected = population(&text, &mut stream).unwrap();
    assert_eq!(
        Population::from_table(&table, "relays.csv").unwrap(),
        expected
    );
}
