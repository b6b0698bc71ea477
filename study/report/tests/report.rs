//! Reports from result folders.

#[allow(dead_code, reason = "each test uses a part of it")]
mod synthetic;

use std::fs;

use hopflow_report::{
    Along, Axis, Block, Cell, Chart, Document, Error, FigurePage, Finding, Map, Mark, Point,
    Reference, Route, Section, Series, Written,
};
use hopflow_results::{
    Class, FailCause, Failure, Fault, FaultKind, Folder, Manifest, Node, OpenRequest, PathNode,
    Tables,
};

fn headings(document: &Document) -> Vec<&str> {
    document
        .sections
        .iter()
        .map(|section| section.heading.as_str())
        .collect()
}

fn charts(document: &Document) -> Vec<&Chart> {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    blocks.flat_map(Block::charts).collect()
}

fn written(document: &Document) -> (tempfile::TempDir, Written) {
    let temporary = tempfile::tempdir().unwrap();
    let written = hopflow_report::write(document, temporary.path()).unwrap();
    (temporary, written)
}

#[test]
fn a_comparison_tells_findings_then_shows_curves_numbers_and_origin() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let expected = [
        "Findings",
        "Network",
        "Downloads",
        "Circuits",
        "Backlog",
        "Hops",
        "Single circuits",
        "Metrics of layers",
        "Relays",
        "Numbers",
        "Origin",
    ];
    assert_eq!(headings(&document), expected);
    // Two classes with two times each, goodput, latency, backlog, three states of three hops, three
    // of three circuits, a metric of three hops.
    assert_eq!(charts(&document).len(), 4 + 2 + 1 + 9 + 9 + 3);
    for chart in charts(&document) {
        let labels: Vec<&str> = chart
            .series
            .iter()
            .map(|series| series.label.as_str())
            .collect();
        let windows = ["n23", "backtap"];
        let all = match chart.id.split('-').next() {
            Some("window") => &windows[..],
            Some("metric") => &["backtap"],
            _ => &synthetic::TRANSPORTS,
        };
        assert_eq!(labels, all, "{}", chart.id);
    }
}

#[test]
fn a_metric_of_a_layer_has_a_chart_for_each_hop_with_its_unit_and_meaning() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let section = section(&document, "Metrics of layers");
    let meaning = "Round trip: the latest round trip of the hop.".to_owned();
    assert!(section.prose.contains(&meaning), "{:?}", section.prose);
    let charts: Vec<&Chart> = section.blocks.iter().flat_map(Block::charts).collect();
    for (number, chart) in (1..).zip(&charts) {
        assert_eq!(chart.title, format!("Round trip of hop {number}"));
        assert_eq!((&*chart.y.label, &*chart.y.unit), ("Round trip", "s"));
        let points = &chart.series[0].points;
        assert!(points.iter().all(|point| point.y > 0.04 && point.y < 0.1));
    }
    assert_eq!(charts.len(), 3);
}

/// The section with this heading.
fn section<'a>(document: &'a Document, heading: &str) -> &'a Section {
    let mut sections = document.sections.iter();
    sections.find(|of| of.heading == heading).unwrap()
}

#[test]
fn findings_are_sentences_for_each_transport() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let prose = &section(&document, "Findings").prose;
    let [first, .., last] = synthetic::TRANSPORTS;
    assert!(prose[0].starts_with(&format!("`{first}`: ")), "{prose:?}");
    let start = format!("`{last}`, compared with `{first}`. Better: the median web download ");
    assert!(
        prose.iter().any(|text| text.starts_with(&start)),
        "{prose:?}"
    );
}

/// The rows of a table of numbers: the quantity and its cells.
fn summary_rows(document: &Document, table: usize) -> Vec<(String, Vec<Cell>)> {
    let Block::Table(table) = &section(document, "Numbers").blocks[table] else {
        panic!("no table")
    };
    let row = |row: &Vec<Cell>| {
        assert_eq!(row.len(), table.columns.len());
        let Cell::Text(quantity) = &row[0] else {
            panic!("no name")
        };
        (quantity.clone(), row[1..].to_vec())
    };
    table.rows.iter().map(row).collect()
}

#[test]
fn the_summary_holds_the_numbers_of_the_comparison() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let comparison = hopflow_report::comparison(temporary.path()).unwrap();
    assert_eq!(comparison.transports, synthetic::TRANSPORTS);
    assert_eq!(comparison.networks, synthetic::SEEDS as usize);
    let (values, differences) = (summary_rows(&document, 0), summary_rows(&document, 1));
    for (number, compared) in comparison.quantities.iter().enumerate() {
        let (value, difference) = (&values[number], &differences[number]);
        assert_eq!((&value.0, &difference.0), (&compared.heading(), &value.0));
        for (transport, shown) in compared.shown().into_iter().enumerate() {
            let text = |cell: &Cell| match cell {
                Cell::Figures { text, .. } => text.clone(),
                other => panic!("{other:?}"),
            };
            assert_eq!(text(&value.1[transport]), shown.value);
            if transport > 0 {
                assert_eq!(text(&difference.1[3 * transport - 3]), shown.difference);
                assert_eq!(text(&difference.1[3 * transport - 2]), shown.percent);
            }
        }
    }
}

#[test]
fn a_comparison_pairs_runs_by_network_and_names_what_is_better() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let comparison = hopflow_report::comparison(temporary.path()).unwrap();
    let find = |key| {
        let mut compared = comparison.quantities.iter();
        compared
            .find(|compared| compared.quantity.key == key)
            .unwrap()
    };
    let goodput = find("bulk_goodput");
    let backtap = goodput.entries[3];
    let first = goodput.entries[0].value.unwrap().mean;
    let difference = backtap.difference.unwrap();
    assert!((backtap.value.unwrap().mean - first - difference.absolute.mean).abs() < 1e-6);
    // In percent it is the ratio of a typical network, not that of the means.
    let (low, high) = difference.percent.unwrap().ends.unwrap();
    assert!((low..high).contains(&(100.0 * difference.absolute.mean / first)));
    assert_eq!(difference.absolute.n, synthetic::SEEDS as usize);
    assert_eq!(difference.finding, Finding::Better);
    let delay = find("web_ttlb_median").entries[3].difference.unwrap();
    assert!(delay.absolute.high().unwrap() < 0.0);
    assert_eq!(delay.finding, Finding::Better);
}

/// Adds a web request that was open at the end and a bulk download whose circuit was closed.
fn leave_unfinished(tables: &mut Tables) {
    tables.open_requests.push(OpenRequest {
        circuit: 1,
        class: Class::Web,
        request: 99,
        start_s: 10.0,
        waited_s: 50.0,
        ttfb_s: None,
        bytes: 0,
    });
    tables.failures.push(Failure {
        circuit: 0,
        class: Class::Bulk,
        request: 99,
        start_s: 10.0,
        end_s: 40.0,
        ttfb_s: None,
        bytes: 0,
        endless: false,
        cause: FailCause::Closed,
    });
}

#[test]
fn the_measures_of_a_run_are_those_of_the_comparison_with_unfinished_downloads() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let folder = Folder::open(temporary.path());
    let mut manifest = folder.read_manifest().unwrap();
    manifest.runs.truncate(1);
    let complete = folder.read_run(&manifest.runs[0]).unwrap();
    let mut tables = complete.clone();
    leave_unfinished(&mut tables);
    manifest.runs[0] = folder
        .write_run(&manifest.runs[0].key, &tables, 1.0)
        .unwrap();
    folder.write_manifest(&manifest).unwrap();
    let comparison = hopflow_report::comparison(temporary.path()).unwrap();
    let measures = hopflow_report::measures(&tables);
    for (quantity, measure) in hopflow_report::quantities().zip(&measures) {
        let mut compared = comparison.quantities.iter();
        let compared = compared.find(|compared| compared.quantity == quantity);
        let shown = compared.and_then(|compared| compared.entries[0].value);
        assert_eq!(*measure, shown.map(|mean| mean.mean), "{}", quantity.key);
    }
    let of = |key: &str, measures: &[Option<f64>]| {
        let mut found = hopflow_report::quantities().zip(measures);
        let (_, measure) = found.find(|(quantity, _)| quantity.key == key).unwrap();
        measure.unwrap()
    };
    let without = hopflow_report::measures(&complete);
    assert_eq!(of("web_open_wait", &measures), 50.0);
    for key in ["web_ttlb_mean", "bulk_ttfb_p90", "bulk_ttlb_mean"] {
        assert!(of(key, &measures) > of(key, &without), "{key}");
    }
}

#[test]
fn a_page_says_of_how_many_networks_a_number_is_if_not_of_all() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let folder = Folder::open(temporary.path());
    let mut manifest = folder.read_manifest().unwrap();
    // The second transport has five of the six networks.
    let missing = synthetic::SEEDS as u32 - 1;
    let second = synthetic::TRANSPORTS[1];
    manifest
        .runs
        .retain(|run| run.key.transport != second || run.key.network != missing);
    folder.write_manifest(&manifest).unwrap();
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let prose = &section(&document, "Findings").prose;
    let note = "Means over 6 sampled networks, or over fewer where (n of 6) says so";
    assert!(prose.iter().any(|text| text.starts_with(note)), "{prose:?}");
    for (number, text) in prose.iter().enumerate().take(synthetic::TRANSPORTS.len()) {
        let counts = text.matches(" over 5 of 6 networks").count();
        assert_eq!(counts > 0, number == 1, "{text}");
    }
    let is_part = |cell: &Cell| match cell {
        Cell::Figures { text, .. } => text.ends_with("] (5 of 6)"),
        _ => false,
    };
    for (quantity, row) in summary_rows(&document, 0) {
        let parts: Vec<bool> = row.iter().map(is_part).collect();
        assert_eq!(parts, [false, true, false, false], "{quantity}");
    }
    for (quantity, row) in summary_rows(&document, 1) {
        let parts = row.iter().step_by(3).map(is_part);
        assert_eq!(
            parts.collect::<Vec<_>>(),
            [true, false, false],
            "{quantity}"
        );
    }
}

#[test]
fn the_same_results_give_the_same_report() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let report = || {
        let document = hopflow_report::from_results(temporary.path()).unwrap();
        let (_guard, written) = written(&document);
        let files = written.plots.iter().chain([&written.page]);
        files
            .map(|file| fs::read_to_string(file).unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(report(), report());
}

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let page = FigurePage {
        x: Some(Axis::new("RTT", "ms")),
        ..FigurePage::default()
    };
    let document = hopflow_report::figure_page(&page, &synthetic::values());
    let (_guard, written) = written(&document);
    let html = fs::read_to_string(written.page).unwrap();
    for outside in ["src=", "@import", "url(http", "//cdn", "https:"] {
        assert!(!html.contains(outside), "{outside}");
    }
    // The namespace of SVG is a name, not an address.
    assert_eq!(html.matches("http:").count(), 1);
}

#[test]
fn plots_are_well_formed_and_need_no_style_sheet() {
    let page = FigurePage {
        title: "a <b> & \"c\"\u{1}".to_owned(),
        ..FigurePage::default()
    };
    let mut document = hopflow_report::figure_page(&page, &synthetic::values());
    document.sections.push(Section::new(
        "Odd",
        odd_charts().into_iter().map(Block::Chart).collect(),
    ));
    let (_guard, written) = written(&document);
    for plot in &written.plots {
        let text = fs::read_to_string(plot).unwrap();
        let parsed = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(
            parsed
                .descendants()
                .any(|node| node.has_tag_name("title") || node.tag_name().name() == "title")
        );
        assert!(
            !text.contains("var(") && !text.contains("NaN") && !text.contains("inf"),
            "{text}"
        );
    }
}

/// Charts with nothing, with one point, with values that have no place, and with odd names.
fn odd_charts() -> Vec<Chart> {
    let chart = |points: Vec<Point>, mark, log| Chart {
        id: "../odd".to_owned(),
        title: "</script><b>&".to_owned(),
        caption: String::new(),
        x: Axis::new("x", "").log(log),
        y: Axis::new("y", "").log(log),
        along: Along::X,
        wide: false,
        series: vec![Series {
            label: "<&>\"".to_owned(),
            colour: 99,
            mark,
            points,
        }],
        references: vec![
            Reference::Horizontal {
                label: "<limit>".to_owned(),
                y: 3.0,
            },
            Reference::Vertical {
                label: "knee".to_owned(),
                x: 2.0,
            },
            Reference::Band {
                label: "paper".to_owned(),
                low: 1.0,
                high: 2.0,
            },
        ],
    };
    let none = Point {
        x: f64::NAN,
        y: f64::INFINITY,
        interval: Some((f64::NEG_INFINITY, f64::NAN)),
    };
    let low = Point {
        x: -1.0,
        y: 0.0,
        interval: Some((-5.0, 5.0)),
    };
    let mut charts = Vec::new();
    for mark in [
        Mark::Line,
        Mark::Steps,
        Mark::Curve,
        Mark::Points,
        Mark::Paper,
    ] {
        for log in [false, true] {
            charts.push(chart(vec![], mark, log));
            charts.push(chart(vec![Point::new(1.0, 1.0)], mark, log));
            charts.push(chart(
                vec![none, low, Point::new(10.0, 100.0), none],
                mark,
                log,
            ));
        }
    }
    charts
}

#[test]
fn charts_with_one_name_become_different_files() {
    let document = Document {
        sections: vec![Section::new(
            "Odd",
            odd_charts().into_iter().map(Block::Chart).collect(),
        )],
        ..Document::default()
    };
    let (guard, written) = written(&document);
    let mut names = written.plots.clone();
    names.dedup();
    assert_eq!(names.len(), odd_charts().len());
    assert!(
        names
            .iter()
            .all(|name| name.starts_with(guard.path().join("plots")))
    );
}

#[test]
fn a_folder_with_values_only_becomes_a_page_with_verdicts() {
    let temporary = tempfile::tempdir().unwrap();
    Folder::open(temporary.path())
        .write_values(&synthetic::values())
        .unwrap();
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    assert_eq!(document.title, "backtap-fig5a");
    let facts: Vec<&str> = document
        .facts
        .iter()
        .map(|fact| fact.value.as_str())
        .collect();
    assert_eq!(facts, ["20", "14", "2", "2", "2"]);
    assert_eq!(charts(&document)[0].series.len(), 4);
}

#[test]
fn values_beside_runs_get_their_own_section_and_the_same_colours() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    Folder::open(temporary.path())
        .write_values(&synthetic::values())
        .unwrap();
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    assert_eq!(headings(&document)[1], "Compared with the paper");
    let colour_of = |chart: &Chart| {
        chart
            .series
            .iter()
            .find(|s| s.label == "backtap")
            .unwrap()
            .colour
    };
    let colours: Vec<usize> = charts(&document).into_iter().map(colour_of).collect();
    assert!(colours.iter().all(|colour| *colour == 3), "{colours:?}");
}

#[test]
fn a_folder_without_results_says_what_is_missing() {
    let temporary = tempfile::tempdir().unwrap();
    let error = hopflow_report::from_results(temporary.path()).unwrap_err();
    assert!(
        error.to_string().contains("manifest.json does not exist"),
        "{error}"
    );
    let folder = Folder::create(temporary.path()).unwrap();
    folder
        .write_manifest(&Manifest::new("0.1.0", "star", ""))
        .unwrap();
    let error = hopflow_report::from_results(temporary.path()).unwrap_err();
    assert!(matches!(error, Error::NoRuns { .. }));
    assert!(
        error.to_string().contains("holds no finished run"),
        "{error}"
    );
}

#[test]
fn a_page_says_what_it_is_about_and_which_runs_are_missing() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let folder = Folder::open(temporary.path());
    let mut manifest = folder.read_manifest().unwrap();
    manifest.about = Some("Who waits for how long?".to_owned());
    manifest.runs.truncate(23);
    folder.write_manifest(&manifest).unwrap();
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    assert_eq!(document.subtitle, "Who waits for how long?");
    let Block::Note(note) = &document.sections[0].blocks[0] else {
        panic!("no note")
    };
    assert!(note.contains("23 of 24 runs are finished"), "{note}");
}

/// The drawing of the network.
fn map(document: &Document) -> &Map {
    let [Block::Map(map)] = &section(document, "Network").blocks[..] else {
        panic!("no map")
    };
    map
}

#[test]
fn a_small_network_is_drawn_relay_by_relay_with_its_circuits_and_the_bottleneck() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let map = map(&document);
    let sizes: Vec<usize> = map.columns.iter().map(|of| of.stops.len()).collect();
    assert_eq!(sizes, [2, 3, 3, 3]);
    let stops = || map.columns.iter().flat_map(|column| &column.stops);
    let marked: Vec<_> = stops().filter(|stop| !stop.mark.is_empty()).collect();
    let [bottleneck] = marked[..] else {
        panic!("{marked:?}")
    };
    assert_eq!(
        (&*bottleneck.label, &*bottleneck.mark),
        ("relay-3", "bottleneck")
    );
    assert_eq!(bottleneck.details, ["2 MB/s, EU"]);
    assert_eq!(bottleneck.used, [Some(0.97); 4]);
    assert_eq!(map.routes.len(), 30);
    let leads = |route: &Route| route.stops.len() == 4 && route.paths == 1;
    assert!(map.routes.iter().all(leads), "{:?}", map.routes[0]);
}

/// The results of `synthetic` over two networks, after a change of the tables of every run.
fn changed(change: impl Fn(&mut Tables)) -> Document {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let folder = Folder::open(temporary.path());
    let mut manifest = folder.read_manifest().unwrap();
    manifest.runs.retain(|run| run.key.network < 2);
    for entry in &mut manifest.runs {
        let mut tables = folder.read_run(entry).unwrap();
        change(&mut tables);
        *entry = folder.write_run(&entry.key, &tables, 1.0).unwrap();
    }
    folder.write_manifest(&manifest).unwrap();
    hopflow_report::from_results(temporary.path()).unwrap()
}

/// Puts `relays` relays in the place of those of a network, in regions by turns.
fn enlarge(tables: &mut Tables, relays: u32, regions: &[&str]) {
    let template = tables.nodes[0].clone();
    let client = tables.nodes[9].clone();
    let number = |node: u32, name: String| Node {
        node,
        name,
        region: regions[node as usize % regions.len()].to_owned(),
        ..template.clone()
    };
    tables.nodes = (0..relays).map(|n| number(n, format!("r{n}"))).collect();
    tables.nodes.push(Node {
        node: relays,
        ..client
    });
    tables.paths.clear();
    for circuit in 0..30 {
        for position in 0..4 {
            tables.paths.push(PathNode {
                circuit,
                leg: 0,
                position,
                node: match position {
                    0 => relays,
                    _ => (circuit * 7 + position) % relays,
                },
            });
        }
    }
    for circuit in &mut tables.circuits {
        circuit.bottleneck = None;
    }
}

#[test]
fn a_large_network_is_drawn_by_region_or_by_rate() {
    let by_region = changed(|tables| enlarge(tables, 400, &["NA", "EU", "AS"]));
    let labels = |document: &Document| -> Vec<String> {
        let stops = map(document).columns[1].stops.iter();
        stops.map(|stop| stop.label.clone()).collect()
    };
    assert_eq!(labels(&by_region), ["Europe", "North America", "Asia"]);
    let by_rate = changed(|tables| enlarge(tables, 400, &[""]));
    assert_eq!(labels(&by_rate), ["1 MB/s – 10 MB/s"]);
    for document in [by_region, by_rate] {
        let (_guard, written) = written(&document);
        assert!(fs::metadata(&written.page).unwrap().len() < 1_500_000);
    }
}

#[test]
fn relays_that_only_share_a_name_are_shown_of_one_network() {
    let table = |limit: f64| {
        let temporary = tempfile::tempdir().unwrap();
        synthetic::write(temporary.path());
        let folder = Folder::open(temporary.path());
        let mut manifest = folder.read_manifest().unwrap();
        for entry in &mut manifest.runs {
            let mut tables = folder.read_run(entry).unwrap();
            if entry.key.network == 1 {
                tables.nodes[4].bucket_bytes_per_s = Some(limit);
            }
            *entry = folder.write_run(&entry.key, &tables, 1.0).unwrap();
        }
        folder.write_manifest(&manifest).unwrap();
        let document = hopflow_report::from_results(temporary.path()).unwrap();
        let section = section(&document, "Relays");
        let Block::Table(table) = &section.blocks[0] else {
            panic!("no table")
        };
        let half_width = match table.rows[0][1] {
            Cell::Number { half_width, .. } => half_width,
            ref other => panic!("{other:?}"),
        };
        (table.caption.clone(), section.prose.len(), half_width)
    };
    let (caption, remarks, half_width) = table(2e6);
    assert!(caption.contains("means over networks"), "{caption}");
    assert_eq!((remarks, half_width.is_some()), (0, true));
    let (caption, remarks, half_width) = table(3e6);
    assert!(caption.contains(" in network 0: share"), "{caption}");
    assert_eq!((remarks, half_width.is_some()), (1, false));
}

#[test]
fn results_without_a_network_and_courses_have_no_such_sections() {
    let document = changed(|tables| {
        tables.nodes.clear();
        tables.samples.clear();
        tables.hops.clear();
    });
    let headings = headings(&document);
    assert!(!headings.contains(&"Network") && !headings.contains(&"Single circuits"));
    assert!(headings.contains(&"Relays") && headings.contains(&"Origin"));
}

#[test]
fn circuits_of_each_class_can_be_chosen_and_have_all_transports() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let [Block::Choices(choices)] = &section(&document, "Single circuits").blocks[..] else {
        panic!("no choices")
    };
    let names: Vec<&str> = choices
        .choices
        .iter()
        .map(|choice| choice.label.split(" circuit").next().unwrap())
        .collect();
    assert_eq!(names, ["The only bulk", "Slowest web", "Fastest web"]);
    let each: Vec<usize> = choices.choices.iter().map(|choice| choice.charts).collect();
    assert_eq!(each, [3; 3]);
    let about = &choices.choices[0].about;
    assert!(
        about.starts_with(
            "Path at first: client-0 – relay-0 – relay-3 – relay-6. Goodput: vanilla "
        ),
        "{about}"
    );
}

#[test]
fn faults_are_listed_and_marked_on_axes_of_time_alone() {
    let fault = |name: &str| Fault {
        name: name.to_owned(),
        what: FaultKind::Outage,
        from_s: 20.0,
        until_s: Some(25.0),
        rate_bytes_per_s: None,
        delay_s: None,
    };
    let document = changed(|tables| tables.faults = vec![fault("relay-3"), fault("relay-8")]);
    let marks = |chart: &Chart| {
        let spans = chart.references.iter();
        spans
            .filter(|of| matches!(of, Reference::Span { .. }))
            .count()
    };
    for chart in charts(&document) {
        let expected = match (chart.x.label.as_str(), chart.id.contains("circuit-0")) {
            // Its path leads over relay 3, and not over relay 8.
            ("Time", true) => 1,
            ("Time", false) if chart.id.contains("-circuit-") => continue,
            ("Time", false) => 2,
            _ => 0,
        };
        assert_eq!(marks(chart), expected, "{}", chart.id);
    }
    let Block::Table(table) = &section(&document, "Faults").blocks[0] else {
        panic!("no table")
    };
    assert_eq!(table.rows.len(), 2);
}

#[test]
fn the_origin_says_how_to_make_the_runs_again_and_with_what() {
    let temporary = tempfile::tempdir().unwrap();
    synthetic::write(temporary.path());
    let folder = Folder::open(temporary.path());
    let mut manifest = folder.read_manifest().unwrap();
    manifest.commit = Some("0123abc".to_owned());
    manifest.build = Some("fedcba9876543210".to_owned());
    folder.write_manifest(&manifest).unwrap();
    let document = hopflow_report::from_results(temporary.path()).unwrap();
    let origin = section(&document, "Origin");
    let again = "`hopflow run dumbbell-100-relays.toml --seeds 6` to hopflow 0.1.0, commit 0123abc";
    assert!(origin.prose[0].contains(again), "{:?}", origin.prose);
    let (_guard, written) = written(&document);
    let page = fs::read_to_string(written.page).unwrap();
    assert!(page.contains("data-file=\"dumbbell-100-relays.toml\""));
    assert!(page.contains("fedcba9876543210"));
}
