//! What a layer's options are, and what it may know of the layers around it.

use hopflow_overlay::{ConfigError, Multiplexing};
use hopflow_units::{Cells, Duration, Interval};
use hopflow_wire::Carrier;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::shown::shown;

/// The options of a layer: a plain struct with a default for every field.
///
/// A control on hops has it as its [`Config`](hopflow_overlay::HopControl::Config); a control from
/// end to end, or a choice among circuits, is such a struct itself. Users write a field under its
/// name in kebab case. Its comment, its type and the `range` of its `schemars` attribute are its
/// description in the JSON Schema of scenarios; numbers beyond the range are refused.
///
/// ```
/// use hopflow_transports::LayerOptions;
/// use hopflow_units::{Cells, Duration};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
/// #[serde(default, rename_all = "kebab-case")]
/// struct Config {
///     /// Cells that may be under way.
///     #[schemars(range(min = 1))]
///     window: Cells,
///     /// How long feedback may wait for company.
///     feedback_delay: Duration,
/// }
///
/// impl Default for Config {
///     fn default() -> Self {
///         Self {
///             window: Cells::new(50),
///             feedback_delay: Duration::from_millis(1),
///         }
///     }
/// }
///
/// impl LayerOptions for Config {}
/// ```
pub trait LayerOptions: Serialize + DeserializeOwned + JsonSchema + Default {
    /// Checks what no range can say, and fills in what depends on other values or layers: fields
    /// that are an `Option`, which is `None` where the user left it open.
    ///
    /// # Errors
    /// If a value cannot be used; the error says what is allowed.
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        let _ = around;
        Ok(())
    }

    /// Whether nodes that run with the options `old` can go on with these, of which those at `keys`
    /// must not differ, for the `reason`. What `check_change` of a control may answer with.
    ///
    /// # Errors
    /// Names the option that differs.
    fn keeps(&self, old: &Self, keys: &[&str], reason: &str) -> Result<(), ConfigError> {
        let [old, new] =
            [old, self].map(|options| Table::try_from(options).expect("options are a table"));
        let differs = keys.iter().find(|key| old.get(**key) != new.get(**key));
        let Some(key) = differs else { return Ok(()) };
        let [old, new] =
            [old, new].map(|options| options.get(*key).map_or("none".to_owned(), shown));
        let allowed = format!("{old}, as before, in nodes that run: {reason}");
        Err(ConfigError::new(key, new, allowed))
    }
}

/// The largest number of cells in options of which others are made: sums of such numbers are numbers
/// of TOML, too.
pub(crate) const MOST_CELLS: u64 = 1_000_000_000;

/// The shortest interval at which a node does something, whatever it carries: each time is work.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Refuses an interval at which a node would have too much to do.
pub(crate) fn check_interval(key: &'static str, interval: Interval) -> Result<(), ConfigError> {
    if interval.get() < SHORTEST_INTERVAL {
        let allowed = format!("a time of {SHORTEST_INTERVAL} or more");
        return Err(ConfigError::new(key, interval, allowed));
    }
    Ok(())
}

/// The options of a layer that has none.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct NoOptions {}

impl LayerOptions for NoOptions {}

/// What a layer may know of those around it, and what it needs of the queues.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// What carries frames between neighbours.
    pub carrier: Carrier,
    /// How many links two neighbours keep.
    pub multiplexing: Multiplexing,
    /// Whether control on hops bounds what is under way, and so holds sources back, too.
    pub hops_control: bool,
    /// Cells that a node queues per circuit, unless the options say otherwise.
    queue: Cells,
    /// Cells that a node must be able to queue per circuit.
    least_queue: Cells,
}

impl Around {
    pub(crate) const fn new(
        (carrier, multiplexing): (Carrier, Multiplexing),
        hops_control: bool,
        queue: Cells,
    ) -> Self {
        Self {
            carrier,
            multiplexing,
            hops_control,
            queue,
            least_queue: Cells::new(1),
        }
    }

    /// A node must be able to queue `least` cells per circuit; where the options leave it open it
    /// queues `default` or more.
    pub fn need_queue(&mut self, least: Cells, default: Cells) {
        self.least_queue = self.least_queue.max(least);
        self.queue = self.queue.max(default);
    }

    /// How many cells a node queues per circuit, by the option `queue-limit` as it was given.
    ///
    /// # Errors
    /// If that is fewer than a layer needs.
    pub fn queue_limit(&self, given: Option<Cells>) -> Result<Cells, ConfigError> {
        let Some(limit) = given else {
            return Ok(self.queue);
        };
        if limit < self.least_queue {
            let least = self.least_queue.get();
            let allowed = format!("a whole number of cells, at least {least}");
            return Err(ConfigError::new("queue-limit", limit.get(), allowed));
        }
        Ok(limit)
    }
}
