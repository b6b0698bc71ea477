//! A network: stops in columns, and what leads over them.

use std::fmt::Write as _;

use super::Shape;
use super::canvas::{Canvas, Spoken};
use super::frame::text_width;
use crate::model::{Map, Route, RouteStyle, Stop};
use crate::style::{Ink, Medium};
use crate::text::{escape, fixed};

/// The widest that a stop is drawn, and the narrowest; a drawing grows rather than go below.
const WIDEST: f64 = 176.0;
const NARROWEST: f64 = 70.0;
/// The least space between columns, on a wide drawing and on a narrow one.
const GAPS: (f64, f64) = (64.0, 16.0);
/// Space between stops of a column.
const BETWEEN: f64 = 14.0;
/// Height of a line of text in a stop, of a bar, and of what is above, between and below them.
const LINE: f64 = 16.0;
const BAR: f64 = 4.0;
const MARGIN: f64 = 7.0;
/// Room beside the text of a stop.
const ASIDE: f64 = 6.0;
/// Room for the headings of columns.
const HEADING: f64 = 30.0;
/// Height of a line of the legend.
const LEGEND: f64 = 24.0;
/// The widest stroke of one path, and the share of a stop's side that all of them may take.
const STROKE: f64 = 2.5;
const SIDE: f64 = 0.8;

/// The drawing as an SVG element, or as the content of an SVG file.
pub(crate) fn render_map(map: &Map, shape: Shape, medium: Medium) -> String {
    let layout = Layout::new(map, shape);
    let spoken = Spoken {
        title: &map.title,
        caption: &map.caption,
        elsewhere: "The table of relays has the most used.",
    };
    let mut out = Canvas::new(medium, shape, (layout.width, layout.height), &spoken);
    layout.draw_legend(&mut out);
    layout.draw_headings(&mut out);
    layout.draw_routes(&mut out);
    for (column, stops) in map.columns.iter().enumerate() {
        for (row, stop) in stops.stops.iter().enumerate() {
            layout.draw_stop(&mut out, (column, row), stop);
        }
    }
    out.finish()
}

/// A stop, by its column and its place there.
type At = (usize, usize);

/// A piece of a route between two stops.
struct Piece {
    route: usize,
    from: At,
    to: At,
    /// Where it leaves the one and reaches the other, from the middle of their sides.
    offsets: [f64; 2],
}

/// Where things are.
struct Layout<'a> {
    map: &'a Map,
    width: f64,
    height: f64,
    /// Where stops begin.
    top: f64,
    /// Width of a stop, and from the left end of one to that of the next column.
    stop_width: f64,
    step: f64,
    stop_height: f64,
    /// Width of the stroke for one path.
    unit: f64,
}

impl<'a> Layout<'a> {
    fn new(map: &'a Map, shape: Shape) -> Self {
        let columns = map.columns.len().max(1) as f64;
        let gap = if shape == Shape::Narrow {
            GAPS.1
        } else {
            GAPS.0
        };
        let room = (shape.width() - 2.0 - (columns - 1.0) * gap) / columns;
        let stop_width = room.clamp(NARROWEST, WIDEST);
        let width = shape
            .width()
            .max(columns * stop_width + (columns - 1.0) * gap + 2.0);
        let step = if columns > 1.0 {
            (width - 2.0 - stop_width) / (columns - 1.0)
        } else {
            0.0
        };
        let stops = || map.columns.iter().flat_map(|column| &column.stops);
        let marked = stops().any(|stop| !stop.mark.is_empty());
        let details = stops().map(|stop| stop.details.len()).max();
        let lines = 1 + details.unwrap_or(0) + usize::from(marked);
        let bars = map.bars.len() as f64;
        let stop_height = 2.0 * MARGIN + lines as f64 * LINE + bars * (BAR + 2.0);
        let rows = map.columns.iter().map(|column| column.stops.len()).max();
        let rows = rows.unwrap_or(0) as f64;
        let top = HEADING + if map.bars.is_empty() { 0.0 } else { LEGEND };
        let busiest = busiest(map).max(1);
        Self {
            map,
            width,
            height: top + rows * (stop_height + BETWEEN),
            top,
            stop_width,
            step,
            stop_height,
            unit: (SIDE * stop_height / f64::from(busiest)).min(STROKE),
        }
    }

    /// The left upper corner of a stop; short columns stand in the middle.
    fn corner(&self, (column, row): At) -> (f64, f64) {
        let stops = self.map.columns[column].stops.len() as f64;
        let all = self.height - self.top;
        let own = stops * (self.stop_height + BETWEEN);
        let y = self.top + (all - own) / 2.0 + row as f64 * (self.stop_height + BETWEEN);
        (1.0 + column as f64 * self.step, y)
    }

    fn middle(&self, at: At) -> f64 {
        self.corner(at).1 + self.stop_height / 2.0
    }

    fn draw_legend(&self, out: &mut Canvas) {
        if self.map.bars.is_empty() {
            return;
        }
        let mut x = 1.0;
        for (label, colour) in &self.map.bars {
            let fill = out.ink(Ink::Series(*colour));
            out.raw(format_args!(
                "<rect x=\"{x:.1}\" y=\"7\" width=\"18\" height=\"{BAR}\" fill=\"{fill}\"/>"
            ));
            out.text((x + 25.0, 14.0), "start", Ink::Text, label);
            x += 25.0 + text_width(label) + 18.0;
        }
    }

    fn draw_headings(&self, out: &mut Canvas) {
        for (number, column) in self.map.columns.iter().enumerate() {
            let x = self.corner((number, 0)).0 + self.stop_width / 2.0;
            let heading = fitting(&column.heading, self.stop_width);
            out.text((x, self.top - 12.0), "middle", Ink::Muted, &heading);
        }
    }

    fn draw_routes(&self, out: &mut Canvas) {
        let mut drawn = vec![String::new(); self.map.routes.len()];
        for piece in self.pieces() {
            self.draw_piece(&mut drawn[piece.route], &piece);
        }
        for (route, path) in self.map.routes.iter().zip(drawn) {
            let (ink, opacity) = appearance(route.style);
            let colour = out.ink(ink);
            let stops = route.stops.iter().map(|(c, r)| format!("{c}.{r}"));
            let stops = stops.collect::<Vec<_>>().join(" ");
            let width = (self.unit * f64::from(route.paths)).max(0.7);
            out.raw(format_args!(
                "<path class=\"route\" data-at=\"{stops}\" d=\"{path}\" fill=\"none\" stroke=\"{colour}\" \
                 stroke-width=\"{width:.2}\" stroke-opacity=\"{opacity}\"><title>{}</title></path>",
                escape(&route.label)
            ));
        }
    }

    /// All pieces, each with its place on the sides of its stops: in the order of the stops at the
    /// other ends, so that few cross.
    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for (route, of) in self.map.routes.iter().enumerate() {
            pieces.extend(of.stops.windows(2).map(|pair| Piece {
                route,
                from: pair[0],
                to: pair[1],
                offsets: [0.0; 2],
            }));
        }
        let mut ends: Vec<(At, f64, usize, usize)> = Vec::new();
        for (number, piece) in pieces.iter().enumerate() {
            ends.push((piece.from, self.middle(piece.to), number, 0));
            ends.push((piece.to, self.middle(piece.from), number, 1));
        }
        for side in 0..2 {
            let mut of_side: Vec<_> = ends.iter().filter(|end| end.3 == side).collect();
            of_side.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
            for stop in of_side.chunk_by(|a, b| a.0 == b.0) {
                let width = |number: usize| {
                    let route: &Route = &self.map.routes[pieces[number].route];
                    self.unit * f64::from(route.paths)
                };
                let widths: Vec<f64> = stop.iter().map(|end| width(end.2)).collect();
                // Strokes that have room keep apart.
                let all: f64 = widths.iter().sum();
                let spare = (SIDE * self.stop_height - all).max(0.0) / widths.len() as f64;
                let spare = spare.min(5.0);
                let mut y = -(all + spare * widths.len() as f64) / 2.0;
                for (end, width) in stop.iter().zip(widths) {
                    pieces[end.2].offsets[side] = y + f64::midpoint(width, spare);
                    y += width + spare;
                }
            }
        }
        pieces
    }

    fn draw_piece(&self, path: &mut String, piece: &Piece) {
        let right = |at: At| self.corner(at).0 + self.stop_width;
        let (y0, y1) = (
            self.middle(piece.from) + piece.offsets[0],
            self.middle(piece.to) + piece.offsets[1],
        );
        let gap = (self.step - self.stop_width).max(12.0);
        let (x0, c0, c1, x1) = match piece.to.0.cmp(&piece.from.0) {
            std::cmp::Ordering::Greater => {
                let (x0, x1) = (right(piece.from), self.corner(piece.to).0);
                let bend = (x1 - x0) * 0.5;
                (x0, x0 + bend, x1 - bend, x1)
            }
            std::cmp::Ordering::Equal => {
                let x = right(piece.from);
                (x, x + gap, x + gap, x)
            }
            std::cmp::Ordering::Less => {
                let (x0, x1) = (self.corner(piece.from).0, right(piece.to));
                let bend = (x0 - x1) * 0.5;
                (x0, x0 - bend, x1 + bend, x1)
            }
        };
        write!(
            path,
            "M{x0:.1} {y0:.1}C{c0:.1} {y0:.1} {c1:.1} {y1:.1} {x1:.1} {y1:.1}"
        )
        .expect("a string takes every text");
    }

    fn draw_stop(&self, out: &mut Canvas, at: At, stop: &Stop) {
        let (x, y) = self.corner(at);
        let marked = !stop.mark.is_empty();
        let (edge, stroke) = if marked {
            (Ink::Alert, 2.0)
        } else {
            (Ink::Axis, 1.0)
        };
        let (edge, paper) = (out.ink(edge), out.ink(Ink::Paper));
        out.raw(format_args!(
            "<g class=\"stop\" data-stop=\"{}.{}\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\" rx=\"6\" fill=\"{paper}\" stroke=\"{edge}\" stroke-width=\"{stroke}\"/>",
            at.0,
            at.1,
            escape(&self.told(stop)),
            self.stop_width,
            self.stop_height,
        ));
        if let Some(style) = stop.begins {
            let (ink, opacity) = appearance(style);
            let colour = out.ink(ink);
            out.raw(format_args!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"4\" height=\"{:.1}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>",
                x + self.stop_width - 6.0,
                y + 5.0,
                self.stop_height - 10.0
            ));
        }
        let room = self.stop_width - 2.0 * ASIDE;
        let details = stop.details.iter().map(|text| (Ink::Muted, text));
        let lines = std::iter::once((Ink::Text, &stop.label)).chain(details);
        let mut line = y + MARGIN + 12.0;
        for (ink, text) in lines.chain([(Ink::Alert, &stop.mark)]) {
            out.text((x + ASIDE, line), "start", ink, &fitting(text, room));
            line += LINE;
        }
        self.draw_bars(out, (x + ASIDE, y + self.stop_height), stop);
        out.raw(format_args!("</g>"));
    }

    /// The bars of a stop, above its lower edge.
    fn draw_bars(&self, out: &mut Canvas, (x, bottom): (f64, f64), stop: &Stop) {
        let room = self.stop_width - 2.0 * ASIDE;
        let mut y = bottom - MARGIN - self.map.bars.len() as f64 * (BAR + 2.0) + 2.0;
        for ((_, colour), share) in self.map.bars.iter().zip(&stop.used) {
            if let Some(share) = share {
                let (ground, fill) = (out.ink(Ink::Grid), out.ink(Ink::Series(*colour)));
                for (width, fill) in [(room, ground), (room * share.clamp(0.0, 1.0), fill)] {
                    out.raw(format_args!(
                        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{fill}\"/>"
                    ));
                }
            }
            y += BAR + 2.0;
        }
    }

    /// All that is known of a stop, as text.
    fn told(&self, stop: &Stop) -> String {
        let mut parts = vec![stop.label.clone()];
        parts.extend(stop.details.iter().cloned());
        parts.push(stop.mark.clone());
        for ((label, _), share) in self.map.bars.iter().zip(&stop.used) {
            parts.extend(share.map(|share| format!("{label} used {} %", fixed(100.0 * share, 0))));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(", ")
    }
}

/// The most paths over one side of a stop.
fn busiest(map: &Map) -> u32 {
    let mut sums: Vec<Vec<[u32; 2]>> = map
        .columns
        .iter()
        .map(|column| vec![[0; 2]; column.stops.len()])
        .collect();
    for route in &map.routes {
        for pair in route.stops.windows(2) {
            for (side, at) in pair.iter().enumerate() {
                sums[at.0][at.1][side] += route.paths;
            }
        }
    }
    sums.into_iter()
        .flatten()
        .flatten()
        .max()
        .unwrap_or_default()
}

/// Colour and opacity of a route.
const fn appearance(style: RouteStyle) -> (Ink, f64) {
    match style {
        RouteStyle::Faint => (Ink::Axis, 0.5),
        RouteStyle::Strong => (Ink::Text, 0.65),
    }
}

/// As much of a text as there is room for.
fn fitting(text: &str, room: f64) -> String {
    // Widths are estimates on the safe side.
    if 0.92 * text_width(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if 0.92 * (text_width(&kept) + text_width(&c.to_string())) + 9.0 > room {
            break;
        }
        kept.push(c);
    }
    format!("{}\u{2026}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MapColumn;

    /// Users, `relays` entries and an exit; every user has another entry.
    fn map(relays: usize) -> Map {
        let stop = |label: String| Stop {
            label,
            details: vec!["3 MB/s".to_owned()],
            used: vec![Some(0.5)],
            ..Stop::default()
        };
        let mut exit = stop("<exit> with a name that is much too long for it".to_owned());
        exit.mark = "bottleneck".to_owned();
        let column = |heading: &str, stops| MapColumn {
            heading: heading.to_owned(),
            stops,
        };
        Map {
            id: "network".to_owned(),
            title: "Network".to_owned(),
            caption: String::new(),
            bars: vec![("vanilla".to_owned(), 0)],
            columns: vec![
                column("Users", vec![stop("2 users".to_owned())]),
                column(
                    "Entry",
                    (0..relays).map(|n| stop(format!("entry-{n}"))).collect(),
                ),
                column("Exit", vec![exit]),
            ],
            routes: (0..relays)
                .map(|n| Route {
                    label: format!("circuit {n}"),
                    style: RouteStyle::Strong,
                    paths: 1,
                    stops: vec![(0, 0), (1, n), (2, 0)],
                })
                .collect(),
        }
    }

    fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
        let start = format!(" {attribute}=\"");
        let parts = svg.split(&start).skip(1);
        parts
            .filter_map(|part| part.split('"').next()?.parse().ok())
            .collect()
    }

    #[test]
    fn everything_is_within_the_drawing_for_few_relays_and_for_many() {
        for relays in [1, 3, 30] {
            for shape in [Shape::Wide, Shape::Narrow] {
                let layout = Layout::new(&map(relays), shape).height;
                let svg = render_map(&map(relays), shape, Medium::Page);
                assert_eq!(svg.matches("class=\"stop\"").count(), relays + 2);
                assert_eq!(svg.matches("class=\"route\"").count(), relays);
                assert!(numbers(&svg, "y").iter().all(|y| (0.0..layout).contains(y)));
                let right = |x: &f64| (0.0..shape.width()).contains(x);
                assert!(numbers(&svg, "x").iter().all(right), "{svg}");
            }
        }
    }

    #[test]
    fn strokes_of_many_paths_stay_within_their_stops() {
        let mut map = map(2);
        map.routes[0].paths = 30_000;
        map.routes[1].paths = 1;
        let layout = Layout::new(&map, Shape::Wide);
        assert!(30_001.0 * layout.unit <= SIDE * layout.stop_height + 1e-9);
        for piece in layout.pieces() {
            for offset in piece.offsets {
                assert!(offset.abs() <= layout.stop_height / 2.0);
            }
        }
    }

    #[test]
    fn names_are_shortened_and_cannot_leave_their_place() {
        let svg = render_map(&map(1), Shape::Wide, Medium::File);
        assert!(svg.contains("&lt;exit&gt;") && !svg.contains("<exit>"));
        assert!(svg.contains("\u{2026}</text>") && !svg.contains("var(--"));
        assert_eq!(fitting("relay", 80.0), "relay");
    }
}
