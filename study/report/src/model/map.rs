//! What a drawing of a network says.

/// A network: where paths lead, how many there are, and what bounds them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// The name of the file made from it: lower-case letters, digits and hyphens.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The names of the bars in stops, each with the number of its colour, as in
    /// [`Series::colour`](super::Series::colour).
    pub bars: Vec<(String, usize)>,
    /// What stands side by side, the users first.
    pub columns: Vec<MapColumn>,
    /// What leads from stop to stop.
    pub routes: Vec<Route>,
}

/// What stands below each other in a drawing of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MapColumn {
    /// What the stops have in common.
    pub heading: String,
    /// The stops from above.
    pub stops: Vec<Stop>,
}

/// A node, or several of a kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stop {
    /// Its name.
    pub label: String,
    /// What is known of it, such as its rate, line by line.
    pub details: Vec<String>,
    /// What distinguishes it, such as that it is the bottleneck; empty for most.
    pub mark: String,
    /// The share of its rate that was used, from 0 to 1, for each of [`Map::bars`].
    pub used: Vec<Option<f64>>,
    /// How the routes that begin here are drawn, if they do.
    pub begins: Option<RouteStyle>,
}

/// How a route is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteStyle {
    /// Stands back.
    #[default]
    Faint,
    /// Stands out.
    Strong,
}

/// One or more paths over the same stops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// What it is.
    pub label: String,
    /// How it is drawn.
    pub style: RouteStyle,
    /// How many paths it stands for.
    pub paths: u32,
    /// The stops, each by the numbers of its column and its place there.
    pub stops: Vec<(usize, usize)>,
}
