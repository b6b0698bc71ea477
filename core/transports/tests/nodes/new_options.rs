//! Nodes that run take new options, and refuse those that their neighbours count on.

use hopflow_overlay::{Direction, Factory};
use hopflow_testkit::{Chain, Counted, End, Manner, Medium};
use hopflow_units::{Bytes, Cells, Duration};
use toml::Table;

fn factory(preset: &str, options: &str) -> Box<dyn Factory<Counted>> {
    let options: Table = options.parse().expect("it is TOML");
    hopflow_transports::build(preset, &options).expect("the options are allowed")
}

/// Options from one list to the next, and those with which the transport starts.
const CHANGES: &[(&str, &str, &[&str])] = &[
    (
        "backtap",
        "",
        &[
            "alpha = 8\nbeta = 12",
            "smallest-window = 6",
            "growth = \"one-cell\"",
        ],
    ),
    (
        "backtap",
        "",
        &[
            "feedback-delay = \"4 ms\"",
            "feedback-hold = \"20 ms\"",
            "tolerance = \"9 ms\"",
        ],
    ),
    (
        "backtap",
        "end-to-end = \"window\"",
        &["circuit-window = 200", "stream-window = 60"],
    ),
    (
        "joint",
        "",
        &[
            "slack = 2\nbound = \"hard\"",
            "weight = 0.5",
            "sharing = \"equal\"\nrelayed = true",
            "pace = \"everywhere\"\njump = \"never\"",
        ],
    ),
    ("n23", "", &["n3 = 1", "enforce = \"source\"", "n3 = 40"]),
    (
        "vanilla",
        "",
        &[
            "circuit-window = 100",
            "stream-window = 50",
            "source-queue = 2",
        ],
    ),
    (
        "tor-vegas",
        "",
        &[
            "vegas-max = 500",
            "vegas-alpha = 0\nvegas-beta = 1",
            "source-queue = 31",
        ],
    ),
    (
        "marut",
        "",
        &[
            "beta = 20",
            "expiry = \"20 ms\"",
            "update-every = \"circuit-rtt\"",
        ],
    ),
    (
        "marut-timely",
        "",
        &["low = \"1 ms\"", "delta = 5", "expiry = \"10 ms\""],
    ),
    (
        "marut-dctcp",
        "",
        &["threshold = 1", "feedback-delay = \"3 ms\""],
    ),
    (
        "predictor",
        "",
        &[
            "margin = 0.5",
            "queue-target = 10.0",
            "memory = 0.0\nforget = 3",
        ],
    ),
    ("udp-or", "", &["source-queue = 2", "source-queue = 40"]),
];

#[test]
fn all_arrives_whatever_the_options_become() {
    for (preset, first, changes) in CHANGES {
        let start = factory(preset, first);
        let medium = Medium::delay(Duration::from_millis(10)).with_buffer(Bytes::new(20_000));
        let mut chain = Chain::new(start.as_ref(), 4, Manner::WireTrue, 1).with_medium(medium);
        let streams = [900_000, 90_000].map(|len| {
            let circuit = chain.circuit(&[0, 1, 2, 3]);
            let stream = chain.stream(&[circuit]);
            chain.write(stream, End::Exit, Bytes::new(len));
            stream
        });
        for (change, back) in changes
            .iter()
            .cycle()
            .zip([false, true].into_iter().cycle())
            .take(12)
        {
            chain.run_for(Duration::from_millis(90));
            let options = if back {
                first.to_string()
            } else {
                format!("{first}\n{change}")
            };
            let next = factory(preset, &options);
            chain
                .reconfigure(next.as_ref())
                .unwrap_or_else(|error| panic!("{preset}: {error}"));
            chain.write(streams[1], End::Client, Bytes::new(1000));
        }
        assert!(
            chain.run_to_arrival(Duration::from_secs(600)),
            "{preset} {changes:?} hangs"
        );
        chain.run_for(Duration::from_secs(600));
        chain.assert_conserved();
    }
}

#[test]
fn windows_are_those_of_the_new_options() {
    let (start, next) = (factory("n23", ""), factory("n23", "n3 = 10"));
    let mut chain = Chain::new(start.as_ref(), 3, Manner::Orderly, 1);
    let circuit = chain.circuit(&[0, 1, 2]);
    let window = |chain: &Chain<'_>| chain.flow(circuit, 1, Direction::Backward).unwrap().window;
    assert_eq!(window(&chain), Some(Cells::new(90)));
    chain.reconfigure(next.as_ref()).unwrap();
    assert_eq!(window(&chain), Some(Cells::new(30)));
}

/// A preset and its options, another preset and its options, and how the refusal begins.
const REFUSED: &[(&str, &str, &str, &str, &str)] = &[
    (
        "backtap",
        "",
        "vanilla",
        "",
        "`hop-control` is another one, of vanilla; allowed is delay-window",
    ),
    ("vanilla", "", "tor-vegas", "", "`scheduler`"),
    (
        "vanilla",
        "",
        "vanilla",
        "end-to-end = \"vegas\"",
        "`end-to-end` is vegas; allowed is window",
    ),
    (
        "backtap",
        "",
        "backtap",
        "selective-acknowledgements = true",
        "`options`: `repair`",
    ),
    ("vanilla", "", "pctcp", "", "`connections`: differs"),
    (
        "vanilla",
        "",
        "vanilla",
        "scheduler = \"ewma\"",
        "`scheduler`: differs",
    ),
    (
        "vanilla",
        "",
        "vanilla",
        "circuit-increment = 50",
        "`circuit-increment` is 50; allowed is 100",
    ),
    (
        "vanilla",
        "",
        "vanilla",
        "stream-window = 0",
        "`stream-window` is 0; allowed is 500",
    ),
    (
        "tor-vegas",
        "",
        "tor-vegas",
        "vegas-increment = 20",
        "`vegas-increment` is 20; allowed is 31",
    ),
    ("n23", "", "n23", "n2 = 10", "`n2` is 10; allowed is 20"),
    ("n23", "", "n23", "n3 = 20000", "`queue-limit` is "),
    (
        "marut",
        "",
        "marut",
        "ack-every = 4",
        "`ack-every` is 4; allowed is 16",
    ),
    (
        "predictor",
        "",
        "predictor",
        "step = \"10 ms\"",
        "`step` is 10 ms; allowed is 40 ms",
    ),
    ("udp-or", "", "udp-or", "sack = false", "`options`"),
    (
        "switching-backtap",
        "",
        "switching-backtap",
        "switch-beta = 0.9",
        "`options`: `switching`",
    ),
];

#[test]
fn what_neighbours_count_on_is_refused() {
    for (preset, first, other, options, expected) in REFUSED {
        let (start, next) = (factory(preset, first), factory(other, options));
        let mut chain = Chain::new(start.as_ref(), 1, Manner::Orderly, 1);
        let error = chain.reconfigure(next.as_ref()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{preset} {options}: {error}");
    }
}
