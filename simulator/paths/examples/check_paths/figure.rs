//! The figure: relay use and path bandwidth, published and chosen.

use std::fmt::Write;

use hopflow_paths::check::path_bandwidths;

use super::Compared;

/// Edge of a panel in pixels.
const PANEL: f64 = 300.0;
/// From one panel to the next, to the right and down: the edge and room for its texts.
const STEP: (f64, f64) = (400.0, 400.0);
/// The upper left corner of the first panel.
const ORIGIN: (f64, f64) = (70.0, 50.0);
/// Positions with the colours of their marks (Okabe and Ito).
const POSITIONS: [(&str, &str); 3] = [
    ("entry", "#0072b2"),
    ("middle", "#e69f00"),
    ("exit", "#009e73"),
];
/// The decades of the axes of relay use: shares of all paths.
const USE_DECADES: (f64, f64) = (-4.0, 0.0);
/// The decades of the axis of bandwidth: bytes per second.
const RATE_DECADES: (f64, f64) = (5.0, 7.2);

/// One row of panels for each file.
pub(super) fn draw(compared: &[Compared]) -> String {
    let (width, height) = (
        ORIGIN.0 + 2.0 * STEP.0,
        ORIGIN.1 + compared.len() as f64 * STEP.1,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Published and chosen paths</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (row, one) in compared.iter().enumerate() {
        let top = ORIGIN.1 + row as f64 * STEP.1;
        Panel::new(&mut svg, ORIGIN.0, top).relay_use(one);
        Panel::new(&mut svg, ORIGIN.0 + STEP.0, top).path_bandwidth(one);
    }
    svg + "</svg>\n"
}

/// A panel with its axes, into which marks are drawn.
struct Panel<'a> {
    svg: &'a mut String,
    left: f64,
    top: f64,
}

impl<'a> Panel<'a> {
    fn new(svg: &'a mut String, left: f64, top: f64) -> Self {
        let panel = Self { svg, left, top };
        panel.push(format_args!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{PANEL}\" height=\"{PANEL}\" fill=\"none\" \
             stroke=\"#888888\"/>"
        ))
    }

    fn push(self, element: std::fmt::Arguments) -> Self {
        writeln!(self.svg, "{element}").expect("writing to a string does not fail");
        self
    }

    /// A text whose anchor is `x` and `y` pixels from the upper left corner.
    fn text(self, x: f64, y: f64, anchor: &str, text: &str) -> Self {
        let (x, y) = (self.left + x, self.top + y);
        self.push(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ))
    }

    /// The same text turned upwards, left of the panel.
    fn title_of_y(self, text: &str) -> Self {
        let (x, y) = (self.left - 45.0, self.top + PANEL / 2.0);
        self.push(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{text}</text>"
        ))
    }

    /// How often each relay is used for each position: published to the right, chosen upwards.
    fn relay_use(self, one: &Compared) -> Self {
        let place = |share: f64| PANEL * decades(share, USE_DECADES);
        let (left, top) = (self.left, self.top);
        let mut panel = self
            .text(0.0, -10.0, "start", &one.name)
            .text(
                PANEL / 2.0,
                PANEL + 35.0,
                "middle",
                "share of published paths",
            )
            .title_of_y("share of chosen paths")
            .push(format_args!(
                "<path d=\"M{left} {}L{} {top}\" stroke=\"#bbbbbb\"/>",
                top + PANEL,
                left + PANEL
            ));
        for (exponent, label) in [(-4, "0.01 %"), (-3, "0.1 %"), (-2, "1 %"), (-1, "10 %")] {
            let at = place(libm::exp10(f64::from(exponent)));
            panel = panel.text(at, PANEL + 16.0, "middle", label);
            panel = panel.text(-5.0, PANEL - at + 4.0, "end", label);
        }
        for (position, (name, colour)) in POSITIONS.into_iter().enumerate() {
            let row = 20.0 + 16.0 * position as f64;
            let sets = [&one.file.paths, &one.chosen];
            let [published, chosen] =
                sets.map(|paths| shares(paths, position, one.file.relays.len()));
            let uses = published.into_iter().zip(chosen);
            panel = panel
                .push(format_args!("<g fill=\"{colour}\">"))
                .text(22.0, row, "start", name);
            panel = panel.circle((12.0, PANEL - row + 4.0));
            for (x, y) in uses.filter(|&(x, y)| x > 0.0 && y > 0.0) {
                panel = panel.circle((place(x), place(y)));
            }
            panel = panel.push(format_args!("</g>"));
        }
        panel
    }

    /// A mark, right of and above the lower left corner.
    fn circle(self, (x, y): (f64, f64)) -> Self {
        let (x, y) = (self.left + x, self.top + PANEL - y);
        self.push(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill-opacity=\"0.7\"/>"
        ))
    }

    /// The distribution of the slowest relay's bandwidth.
    fn path_bandwidth(self, one: &Compared) -> Self {
        let mut panel = self
            .text(
                PANEL / 2.0,
                PANEL + 35.0,
                "middle",
                "slowest relay of a path",
            )
            .title_of_y("share of paths");
        for (rate, label) in [(1e5, "0.1 MB/s"), (1e6, "1 MB/s"), (1e7, "10 MB/s")] {
            let at = PANEL * decades(rate, RATE_DECADES);
            panel = panel.text(at, PANEL + 16.0, "middle", label);
        }
        for (share, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
            panel = panel.text(-5.0, PANEL * (1.0 - share) + 4.0, "end", label);
        }
        let lines = [
            ("published", &one.file.paths, "#000000", "none"),
            ("chosen", &one.chosen, "#d55e00", "5 3"),
        ];
        for (row, (name, paths, colour, dashes)) in lines.into_iter().enumerate() {
            let steps = panel.steps(&path_bandwidths(&one.file.relays, paths));
            let below = 20.0 + 16.0 * row as f64;
            let (x, y) = (panel.left + 10.0, panel.top + below - 4.0);
            panel = panel
                .push(format_args!(
                    "<path d=\"{steps}M{x} {y}h25\" fill=\"none\" stroke=\"{colour}\" \
                     stroke-width=\"1.5\" stroke-dasharray=\"{dashes}\"/>"
                ))
                .text(42.0, below, "start", name);
        }
        panel
    }

    /// The path of the cumulative distribution of `values`, which ascend.
    fn steps(&self, values: &[u64]) -> String {
        let mut path = format!("M{} {}", self.left, self.top + PANEL);
        for (at, &value) in values.iter().enumerate() {
            if values.get(at + 1) == Some(&value) {
                continue;
            }
            let x = self.left + PANEL * decades(value as f64, RATE_DECADES);
            let y = self.top + PANEL * (1.0 - (at + 1) as f64 / values.len() as f64);
            write!(path, "H{x:.1}V{y:.1}").expect("writing to a string does not fail");
        }
        path
    }
}

/// Where a value stands between two powers of ten, from 0 to 1.
fn decades(value: f64, (low, high): (f64, f64)) -> f64 {
    ((libm::log10(value) - low) / (high - low)).clamp(0.0, 1.0)
}

/// How often each relay is at `position`, as a share of the paths.
fn shares(paths: &[Vec<u32>], position: usize, relays: usize) -> Vec<f64> {
    let mut shares = vec![0.0; relays];
    for path in paths {
        shares[path[position] as usize] += 1.0 / paths.len() as f64;
    }
    shares
}
