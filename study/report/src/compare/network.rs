//! The network as a drawing: relays, or groups of them, the users' paths, and the bottleneck.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hopflow_results::{Class, Node};

use super::detail::Detail;
use super::load::Transport;
use super::names::{decade, decade_text, heading, plural, rank, rate_text, region_name};
use super::paths::{self, Bounds, UserPath, rate};
use crate::model::{Block, Map, MapColumn, Route, RouteStyle, Section, Stop};
use crate::text::fixed;

/// Relays up to which each is drawn, in all and below each other.
const RELAYS: usize = 24;
const ROWS: usize = 10;
/// Paths up to which each is drawn.
const PATHS: usize = 40;
/// Transports whose use of the relays is drawn.
const BARS: usize = 4;
/// Regions up to which relays are grouped by them.
const REGIONS: usize = 8;
/// Relays that prose names.
const NAMED: usize = 3;
/// Share of its rate from which the most used relay is marked where no bottleneck is known.
const BUSY: f64 = 0.5;

/// The network, where the results tell it.
pub(super) fn section(detail: &Detail, transports: &[Transport]) -> Section {
    let paths = paths::of(detail, transports);
    let heading = "Network";
    let run = detail.runs(transports).next();
    let Some((_, run)) = run.filter(|_| !paths.is_empty()) else {
        return Section::new(heading, Vec::new());
    };
    let network = Network {
        detail,
        bounds: Bounds::of(run, detail),
        used: paths::used(detail, transports),
        ways: Ways::new(&paths),
        grouping: Grouping::of(detail, &paths),
        paths,
    };
    let map = network.map(transports);
    Section::new(heading, vec![Block::Map(map)]).with_prose(network.prose(transports))
}

/// What relays are drawn as.
enum Grouping {
    /// Each on its own, in the column of the position that it has most often.
    Single(BTreeMap<u32, usize>),
    /// By region, at each position, in the order of these.
    Regions(Vec<String>),
    /// By rate, at each position.
    Rates,
}

impl Grouping {
    fn of(detail: &Detail, paths: &[UserPath]) -> Self {
        let mut counts: BTreeMap<u32, BTreeMap<usize, u32>> = BTreeMap::new();
        for path in paths {
            for (position, relay) in path.relays.iter().enumerate() {
                *counts
                    .entry(*relay)
                    .or_default()
                    .entry(position)
                    .or_default() += 1;
            }
        }
        let most = |counts: &BTreeMap<usize, u32>| {
            // Of positions that are as frequent, the first one.
            let best = counts.iter().rev().max_by_key(|(_, count)| **count);
            best.map_or(0, |(position, _)| *position)
        };
        let columns: BTreeMap<u32, usize> = counts
            .iter()
            .map(|(relay, of)| (*relay, most(of)))
            .collect();
        let mut rows: BTreeMap<usize, usize> = BTreeMap::new();
        for column in columns.values() {
            *rows.entry(*column).or_default() += 1;
        }
        if columns.len() <= RELAYS && rows.values().all(|rows| *rows <= ROWS) {
            return Self::Single(columns);
        }
        let regions: BTreeSet<&str> = columns
            .keys()
            .filter_map(|relay| detail.nodes.get(*relay as usize))
            .map(|node| &*node.region)
            .collect();
        if (2..=REGIONS).contains(&regions.len()) {
            let mut regions: Vec<String> = regions.into_iter().map(str::to_owned).collect();
            regions.sort_by_key(|region| rank(region));
            Self::Regions(regions)
        } else {
            Self::Rates
        }
    }
}

/// Where paths lead, whatever relays are drawn as.
struct Ways {
    /// Classes of users, with how many users each has.
    classes: Vec<(Class, u32)>,
    /// All relays on paths.
    relays: BTreeSet<u32>,
}

impl Ways {
    fn new(paths: &[UserPath]) -> Self {
        let of = |class: Class| {
            let of_class = paths.iter().filter(|path| path.class == class);
            let users: BTreeSet<u32> = of_class.map(|path| path.circuit).collect();
            users.len() as u32
        };
        let classes = Class::ALL.iter().map(|class| (*class, of(*class)));
        Self {
            classes: classes.filter(|(_, count)| *count > 0).collect(),
            relays: paths
                .iter()
                .flat_map(|path| &path.relays)
                .copied()
                .collect(),
        }
    }
}

/// The key of a stop: its column, from 1 on, and what orders stops of a column.
type Key = (usize, u64);

/// What a stop stands for.
#[derive(Default)]
struct Group {
    relays: BTreeSet<u32>,
    /// Circuits whose bottleneck is one of them at this place of the path.
    limits: BTreeSet<u32>,
}

struct Network<'a> {
    detail: &'a Detail,
    paths: Vec<UserPath>,
    ways: Ways,
    bounds: Bounds,
    /// Shares of rates, by transport and name.
    used: Vec<BTreeMap<String, f64>>,
    grouping: Grouping,
}

impl Network<'_> {
    fn node(&self, relay: u32) -> &Node {
        &self.detail.nodes[relay as usize]
    }

    /// The stop of a relay at a position of a path.
    fn key(&self, position: usize, relay: u32) -> Key {
        match &self.grouping {
            Grouping::Single(columns) => (columns[&relay] + 1, u64::from(relay)),
            Grouping::Regions(regions) => {
                let region = &self.node(relay).region;
                let place = regions.iter().position(|known| known == region);
                (position + 1, place.unwrap_or(regions.len()) as u64)
            }
            // The fastest first.
            Grouping::Rates => (position + 1, (100 - decade(rate(self.node(relay)))) as u64),
        }
    }

    fn map(&self, transports: &[Transport]) -> Map {
        let groups = self.groups();
        let order = self.order(&groups);
        let bars = transports.iter().take(BARS);
        Map {
            id: "network".to_owned(),
            title: format!("Network {}: users, relays and paths", self.detail.network),
            caption: self.caption(transports),
            bars: bars.map(|it| (it.label.clone(), it.colour)).collect(),
            columns: self.columns(&groups, &order),
            routes: self.routes(&order),
        }
    }

    fn groups(&self) -> BTreeMap<Key, Group> {
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        for path in &self.paths {
            let bottleneck = self.bounds.bottleneck.get(&path.circuit);
            for (position, relay) in path.relays.iter().enumerate() {
                let group = groups.entry(self.key(position, *relay)).or_default();
                group.relays.insert(*relay);
                if bottleneck == Some(relay) {
                    group.limits.insert(path.circuit);
                }
            }
        }
        groups
    }

    /// Where each stop stands: its column among those that have stops, and its place in it.
    fn order(&self, groups: &BTreeMap<Key, Group>) -> BTreeMap<Key, (usize, usize)> {
        let columns: BTreeSet<usize> = groups.keys().map(|key| key.0).collect();
        let mut places: BTreeMap<Key, (usize, usize)> = BTreeMap::new();
        for (number, column) in (1..).zip(columns) {
            let mut keys: Vec<Key> = groups
                .keys()
                .copied()
                .filter(|key| key.0 == column)
                .collect();
            if let Grouping::Single(_) = self.grouping {
                let height = |key: &Key| self.height_before(*key, &places);
                let mut heights: Vec<(f64, Key)> = keys.iter().map(|k| (height(k), *k)).collect();
                heights.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                keys = heights.into_iter().map(|(_, key)| key).collect();
            }
            for (row, key) in keys.into_iter().enumerate() {
                places.insert(key, (number, row));
            }
        }
        places
    }

    /// How far below the stops stand from which paths come to this one, on average.
    fn height_before(&self, key: Key, places: &BTreeMap<Key, (usize, usize)>) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for path in &self.paths {
            for (position, pair) in path.relays.windows(2).enumerate() {
                if self.key(position + 1, pair[1]) != key {
                    continue;
                }
                if let Some((_, row)) = places.get(&self.key(position, pair[0])) {
                    sum += *row as f64;
                    count += 1.0;
                }
            }
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }

    fn columns(
        &self,
        groups: &BTreeMap<Key, Group>,
        order: &BTreeMap<Key, (usize, usize)>,
    ) -> Vec<MapColumn> {
        let mut columns = vec![MapColumn {
            heading: "Users".to_owned(),
            stops: self.ways.classes.iter().map(|of| self.users(*of)).collect(),
        }];
        let count = order.values().map(|(column, _)| *column).max().unwrap_or(0);
        for number in 1..=count {
            let mut stops: Vec<(usize, Stop)> = Vec::new();
            for (key, (_, row)) in order.iter().filter(|(_, place)| place.0 == number) {
                stops.push((*row, self.stop(&groups[key])));
            }
            stops.sort_by_key(|(row, _)| *row);
            columns.push(MapColumn {
                heading: heading(number, count),
                stops: stops.into_iter().map(|(_, stop)| stop).collect(),
            });
        }
        columns
    }

    /// The users of a class.
    fn users(&self, (class, count): (Class, u32)) -> Stop {
        let of_class = || self.paths.iter().filter(|path| path.class == class);
        let clients: BTreeSet<u32> = of_class().filter_map(|path| path.client).collect();
        let own = |path: &&UserPath| {
            let bottleneck = self.bounds.bottleneck.get(&path.circuit);
            bottleneck.is_some() && bottleneck == path.client.as_ref()
        };
        let limited = of_class().filter(own).count();
        Stop {
            label: format!("{count} {class}"),
            details: self.rates(&clients),
            mark: if limited > 0 {
                format!("limits {limited}")
            } else {
                String::new()
            },
            used: Vec::new(),
            begins: Some(style(class)),
        }
    }

    /// A relay, or several of a group.
    fn stop(&self, group: &Group) -> Stop {
        let relays = &group.relays;
        let first = relays.first().map(|relay| self.node(*relay));
        let count = relays.len() as u32;
        let (label, details) = match (&self.grouping, first) {
            (_, None) => (String::new(), Vec::new()),
            (Grouping::Single(_), Some(node)) => {
                let mut detail = rate_text(rate(node));
                // Codes of continents are short.
                if node.region.len() == 2 {
                    detail = format!("{detail}, {}", node.region);
                }
                (node.name.clone(), vec![detail])
            }
            (grouping, Some(node)) => {
                let label = match grouping {
                    Grouping::Regions(_) => region_name(&node.region),
                    _ => decade_text(decade(rate(node))),
                };
                let sum: f64 = relays.iter().map(|relay| rate(self.node(*relay))).sum();
                let relays = format!("{count} {}", plural(count, "relay"));
                (label, vec![relays, rate_text(sum)])
            }
        };
        Stop {
            label,
            details,
            mark: self.mark(group),
            used: self.used_by(relays),
            begins: None,
        }
    }

    /// Mean share of the rates of relays, for each transport that is drawn.
    fn used_by(&self, relays: &BTreeSet<u32>) -> Vec<Option<f64>> {
        let of = |used: &BTreeMap<String, f64>| {
            let shares = relays
                .iter()
                .filter_map(|relay| used.get(&self.node(*relay).name));
            let shares: Vec<f64> = shares.copied().collect();
            (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
        };
        self.used.iter().take(BARS).map(of).collect()
    }

    fn mark(&self, group: &Group) -> String {
        let limited = group.limits.len();
        if limited > 0 && limited == self.bounds.bottleneck.len() {
            return "bottleneck".to_owned();
        }
        if limited > 0 {
            return format!("limits {limited}");
        }
        match self.busiest() {
            Some((relay, share)) if group.relays.contains(&relay) => {
                format!("busiest: {} %", fixed(100.0 * share, 0))
            }
            _ => String::new(),
        }
    }

    /// The most used relay, where no bottleneck is known and one has much to do.
    fn busiest(&self) -> Option<(u32, f64)> {
        if !self.bounds.bottleneck.is_empty() {
            return None;
        }
        let most = |relay: u32| {
            let name = &self.node(relay).name;
            let shares = self.used.iter().filter_map(|used| used.get(name));
            shares.copied().fold(0.0, f64::max)
        };
        let relays = self.ways.relays.iter().map(|relay| (*relay, most(*relay)));
        let busiest = relays.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        busiest.filter(|(_, share)| *share >= BUSY)
    }

    fn routes(&self, order: &BTreeMap<Key, (usize, usize)>) -> Vec<Route> {
        let place = |position: usize, relay: u32| order[&self.key(position, relay)];
        let users = |class: Class| {
            let mut classes = self.ways.classes.iter();
            (0, classes.position(|(of, _)| *of == class).unwrap_or(0))
        };
        let stops = |path: &UserPath| {
            let relays = path.relays.iter().enumerate();
            let relays = relays.map(|(position, relay)| place(position, *relay));
            std::iter::once(users(path.class))
                .chain(relays)
                .collect::<Vec<_>>()
        };
        if self.paths.len() <= PATHS {
            let route = |path: &UserPath| Route {
                label: self.told(path),
                style: style(path.class),
                paths: 1,
                stops: stops(path),
            };
            return self.paths.iter().map(route).collect();
        }
        let mut counts: BTreeMap<(Class, [(usize, usize); 2]), u32> = BTreeMap::new();
        for path in &self.paths {
            for pair in stops(path).windows(2) {
                *counts.entry((path.class, [pair[0], pair[1]])).or_default() += 1;
            }
        }
        let route = |((class, pair), count): ((Class, [(usize, usize); 2]), u32)| Route {
            label: format!("{count} {class} {}", plural(count, "path")),
            style: style(class),
            paths: count,
            stops: pair.to_vec(),
        };
        counts.into_iter().map(route).collect()
    }

    fn told(&self, path: &UserPath) -> String {
        let names = path.relays.iter().map(|relay| &*self.node(*relay).name);
        let names = names.collect::<Vec<_>>().join(" – ");
        format!("circuit {}, {}: {names}", path.circuit, path.class)
    }

    /// The rates of nodes as a range.
    fn rates(&self, nodes: &BTreeSet<u32>) -> Vec<String> {
        let rates = || nodes.iter().map(|node| rate(self.node(*node)));
        let low = rates().fold(f64::INFINITY, f64::min);
        let high = rates().fold(0.0, f64::max);
        if nodes.is_empty() {
            Vec::new()
        } else if low == high {
            vec![rate_text(low)]
        } else {
            vec![format!("{} to", rate_text(low)), rate_text(high)]
        }
    }

    fn caption(&self, transports: &[Transport]) -> String {
        let what = match &self.grouping {
            Grouping::Single(_) => "Each box is a relay with its rate: that of its token bucket or of its access link, whichever is lower.".to_owned(),
            Grouping::Regions(_) => "Boxes are the relays that have this place on a path, by region, with the sum of their rates.".to_owned(),
            Grouping::Rates => "Boxes are the relays that have this place on a path, by rate, with the sum of their rates.".to_owned(),
        };
        let bars = match (&self.grouping, transports.len()) {
            (Grouping::Single(_), 0..=BARS) => "Bars: share of the rate that was used.".to_owned(),
            (_, 0..=BARS) => "Bars: mean share of their rates that was used.".to_owned(),
            _ => {
                format!("Bars: share of the rate that was used, under the first {BARS} transports.")
            }
        };
        format!(
            "{what} {bars} Red boxes bound so many circuits, or are the most used. Strong lines belong to bulk users, faint ones to web users. Data of downloads come from the right, those of uploads from the left."
        )
    }

    /// What would bound the circuits whose users take all they get.
    fn bottlenecks(&self) -> String {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for node in self.bounds.bottleneck.values() {
            *counts.entry(*node).or_default() += 1;
        }
        let mut limits: Vec<(u32, u32)> = counts
            .into_iter()
            .map(|(node, count)| (count, node))
            .collect();
        limits.sort_by_key(|(count, node)| (Reverse(*count), *node));
        let named = limits.iter().take(NAMED);
        let named = named.map(|(count, node)| format!("`{}` ({count})", self.node(*node).name));
        let mut nodes = named.collect::<Vec<_>>().join(", ");
        if limits.len() > NAMED {
            nodes = format!("{nodes} and {} more nodes", limits.len() - NAMED);
        }
        format!(
            " If rates were max-min fair, the circuits of users who take all they get ({}) would be \
             bounded by {nodes}.",
            self.bounds.bottleneck.len()
        )
    }

    fn prose(&self, transports: &[Transport]) -> String {
        let relays = self.ways.relays.len();
        let mut text = format!(
            "{} {} over {relays} relays in network {}.",
            self.paths.len(),
            plural(self.paths.len() as u32, "path"),
            self.detail.network,
        );
        if transports
            .iter()
            .any(|it| it.runs.iter().any(|run| run.network != self.detail.network))
        {
            text.push_str(" The other sampled networks differ in what the scenario draws.");
        }
        if !self.bounds.bottleneck.is_empty() {
            text.push_str(&self.bottlenecks());
        } else if let Some((relay, share)) = self.busiest() {
            text = format!(
                "{text} No bottleneck is known; the most used relay is `{}`, with {} % of its rate.",
                self.node(relay).name,
                fixed(100.0 * share, 0)
            );
        }
        text
    }
}

const fn style(class: Class) -> RouteStyle {
    match class {
        Class::Bulk => RouteStyle::Strong,
        Class::Web => RouteStyle::Faint,
    }
}
