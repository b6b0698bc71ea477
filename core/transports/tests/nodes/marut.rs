//! Two readings of Marut's report over BackTap, where the narrow hop is a later one.

use hopflow_sim::spec::WorldSpec;
use hopflow_sim::{HopSample, Outcome};
use hopflow_units::{Duration, Instant, Rate};
use toml::Table;

use crate::world::{circuit, node, run, world};

/// An endless download over two relays, of which the one next to the client has a slow access link.
fn chain() -> WorldSpec {
    let mut nodes: Vec<_> = (0..4).map(node).collect();
    nodes[1].access.rate = Rate::from_megabits_per_sec(8);
    let mut spec = world(
        nodes,
        vec![circuit(&[0, 1, 2, 3], None)],
        Duration::from_secs(60),
    );
    spec.sampling.hops = Some(Duration::from_millis(100));
    spec
}

fn simulate(windows: &str) -> Outcome {
    let options: Table = format!("windows = \"{windows}\"")
        .parse()
        .expect("it is TOML");
    let factory = hopflow_transports::build("backtap-as-printed", &options);
    run(&chain(), factory.expect("the options are allowed").as_ref())
}

/// The samples of a hop, counted from the exit, once windows had time to grow.
fn late(outcome: &Outcome, hop: u32) -> impl Iterator<Item = &HopSample> {
    let from = Instant::ZERO + Duration::from_secs(20);
    let samples = outcome.hops.iter();
    samples.filter(move |it| it.hop == hop && it.at > from)
}

/// The cells under way on the first hop, in the mean.
fn under_way(outcome: &Outcome) -> f64 {
    let cells: Vec<u64> = late(outcome, 0).map(|it| it.outstanding.get()).collect();
    cells.iter().sum::<u64>() as f64 / cells.len() as f64
}

#[test]
fn relays_have_a_window_where_they_keep_backtaps() {
    let windowed = |windows| {
        let outcome = simulate(windows);
        [0, 1, 2].map(|hop| late(&outcome, hop).all(|it| it.window.is_some()))
    };
    assert_eq!(windowed("own-hop"), [true; 3]);
    assert_eq!(windowed("source-by-worst-hop"), [true; 3]);
    assert_eq!(windowed("source-alone"), [true, false, false]);
}

/// The first hop holds nothing back where relays have no window: without `c_diff` the source's window
/// would grow by a cell with each of 3000 round trips of 20 ms.
#[test]
fn the_source_hears_of_a_later_hop() {
    for windows in ["source-by-worst-hop", "source-alone"] {
        let outcome = simulate(windows);
        let cells = under_way(&outcome);
        println!("{windows}: {cells} {}", outcome.circuits[0].delivered);
        assert!((1.0..100.0).contains(&cells), "{windows}: {cells}");
        let delivered = outcome.circuits[0].delivered.as_f64();
        assert!(delivered > 0.5 * 60.0 * 1e6, "{windows}: {delivered}");
    }
}
