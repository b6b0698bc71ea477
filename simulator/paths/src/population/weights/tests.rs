use super::*;

/// Totals of guards, others, exits and both, with the case of the specification they fall into.
const CASES: [(&str, [i128; 4]); 9] = [
    ("1: nothing is scarce", [400, 200, 400, 90]),
    (
        "2a: exits are scarcer, and few are both",
        [300, 700, 100, 20],
    ),
    (
        "2a: guards are scarcer, and few are both",
        [100, 700, 300, 20],
    ),
    (
        "2b: scarce, but with many that are both",
        [300, 200, 260, 300],
    ),
    ("2b: too much in the middle", [100, 700, 150, 300]),
    ("3a: guards are scarce", [100, 400, 500, 50]),
    ("3a: exits are scarce", [500, 230, 280, 1]),
    ("3b: guards are scarce", [300, 200, 500, 200]),
    ("3b: exits are scarce", [500, 200, 300, 200]),
];

fn totals([guard, middle, exit, both]: [i128; 4]) -> Totals {
    Totals {
        guard,
        middle,
        exit,
        both,
    }
}

/// The load of the three positions under `weights`, as shares.
fn loads(of: [i128; 4], weights: BandwidthWeights) -> [f64; 3] {
    let [guard, middle, exit, both] = of.map(|total| total as f64);
    let load = |parts: [(u32, f64); 4]| {
        parts
            .iter()
            .map(|&(weight, total)| f64::from(weight) * total)
            .sum::<f64>()
            / 1e4
    };
    let total = guard + middle + exit + both;
    let w = weights;
    [
        load([(w.wgg, guard), (w.wgd, both), (0, 0.0), (0, 0.0)]),
        load([
            (w.wmg, guard),
            (w.wmd, both),
            (w.wmm, middle),
            (w.wme, exit),
        ]),
        load([(w.wee, exit), (w.wed, both), (0, 0.0), (0, 0.0)]),
    ]
    .map(|load| load / total)
}

#[test]
fn every_class_is_shared_out_in_full() {
    for (case, of) in CASES {
        let w = totals(of).balance().weights();
        assert_eq!(w.wgg + w.wmg, 10_000, "{case}: {w:?}");
        assert_eq!(w.wee + w.wme, 10_000, "{case}: {w:?}");
        assert_eq!(w.wgd + w.wmd + w.wed, 10_000, "{case}: {w:?}");
        assert_eq!(w.wmm, 10_000, "{case}: {w:?}");
    }
}

#[test]
fn the_load_is_balanced_where_that_is_possible() {
    for (case, of) in CASES {
        if !(case.starts_with('1') || case.starts_with("2b: scarce") || case.starts_with("3b")) {
            continue;
        }
        for load in loads(of, totals(of).balance().weights()) {
            assert!((load - 1.0 / 3.0).abs() < 1e-3, "{case}: {load}");
        }
    }
}

#[test]
fn a_scarce_class_serves_its_position_only() {
    let weights = |case: &str| {
        let (_, of) = CASES.into_iter().find(|(name, _)| *name == case).unwrap();
        totals(of).balance().weights()
    };
    let w = weights("2a: exits are scarcer, and few are both");
    assert_eq!((w.wee, w.wed, w.wgg), (10_000, 10_000, 10_000));
    let w = weights("2a: guards are scarcer, and few are both");
    assert_eq!((w.wgg, w.wgd, w.wee), (10_000, 10_000, 10_000));
    let w = weights("2b: too much in the middle");
    assert_eq!((w.wmd, w.wgg, w.wee), (0, 10_000, 10_000));
    let w = weights("3a: guards are scarce");
    assert_eq!((w.wgg, w.wgd), (10_000, 10_000));
    assert_eq!(w.wme, 1_000, "half of what exits have more than the middle");
    let w = weights("3a: exits are scarce");
    assert_eq!((w.wee, w.wed), (10_000, 10_000));
    assert_eq!(
        w.wmg, 2_700,
        "half of what guards have more than the middle"
    );
}

#[test]
fn a_population_without_relays_has_weights() {
    let w = BandwidthWeights::balancing(&std::iter::empty());
    assert!(w.wgg <= 10_000 && w.wed <= 10_000);
}

#[test]
fn weights_that_would_be_out_of_range_are_all_equal() {
    // The exits' position alone would get more than all of those that are both.
    for of in [[1, 10_000_001, 1, 3_000_001], [100, 700, 100, 200]] {
        assert_eq!(totals(of).balance().weights(), BandwidthWeights::EQUAL);
    }
    // Of none that is both, nothing is to be shared out: guards and exits serve their positions only.
    let w = totals([301, 501, 301, NOBODY]).balance().weights();
    assert_eq!((w.wgg, w.wmg, w.wee, w.wme), (10_000, 0, 10_000, 0));
}
