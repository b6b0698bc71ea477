//! Reading a layer's parameters, and what it may know of the layers around it.

use std::sync::Arc;

use hopflow_overlay::{
    ConfigError, EndControl, HopControl, Info, Multiplexing, NoEndControl, PathChoice,
};
use hopflow_units::Cells;
use hopflow_wire::Carrier;

use crate::options::Options;

/// A control on hops whose parameters are read from options.
pub trait ConfigureHop: HopControl {
    /// Reads the parameters.
    ///
    /// # Errors
    /// If a value cannot be used; the error says what is allowed.
    fn configure(options: &mut Options, around: &mut Around) -> Result<Self::Config, ConfigError>;
}

/// A control from end to end that is read from options.
pub trait ConfigureEnd: EndControl + Sized {
    /// What [`EndControl::info`] returns.
    fn layer() -> &'static Info;

    /// Reads the control's parameters.
    ///
    /// # Errors
    /// If a value cannot be used; the error says what is allowed.
    fn configure(options: &mut Options, around: &mut Around) -> Result<Self, ConfigError>;
}

/// A choice among circuits that is read from options.
pub(crate) trait ConfigurePath: PathChoice + Sized {
    /// What [`PathChoice::info`] returns.
    fn layer() -> &'static Info;

    /// Reads the choice's parameters.
    ///
    /// # Errors
    /// If a value cannot be used; the error says what is allowed.
    fn configure(options: &mut Options, around: &mut Around) -> Result<Self, ConfigError>;
}

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

    /// Reads how many cells a node queues per circuit.
    ///
    /// # Errors
    /// If that is fewer than a layer needs.
    pub fn queue_limit(&self, options: &mut Options) -> Result<Cells, ConfigError> {
        options.cells("queue-limit", self.queue, self.least_queue)
    }
}

impl ConfigureEnd for NoEndControl {
    fn layer() -> &'static Info {
        Self.info()
    }

    fn configure(_: &mut Options, _: &mut Around) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}

type Configured<T> = Result<Arc<T>, ConfigError>;

/// A registered control from end to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndEntry {
    pub(crate) info: fn() -> &'static Info,
    pub(crate) configure: fn(&mut Options, &mut Around) -> Configured<dyn EndControl>,
}

/// A registered choice among circuits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEntry {
    pub(crate) info: fn() -> &'static Info,
    pub(crate) configure: fn(&mut Options, &mut Around) -> Configured<dyn PathChoice>,
}

impl EndEntry {
    pub(crate) const fn of<E: ConfigureEnd>() -> Self {
        Self {
            info: E::layer,
            configure: |options, around| Ok(Arc::new(E::configure(options, around)?)),
        }
    }
}

impl PathEntry {
    pub(crate) const fn of<C: ConfigurePath>() -> Self {
        Self {
            info: C::layer,
            configure: |options, around| Ok(Arc::new(C::configure(options, around)?)),
        }
    }
}
