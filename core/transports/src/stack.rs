//! From options to a stack of layers, and to nodes of it.

use hopflow_overlay::{
    ConfigError, Factory, Features, Host, Info, Multiplexing, Node, NodeEnv, Plan, Stack,
};
use hopflow_wire::{Carrier, Payload};

use crate::check::check;
use crate::layer::{Around, ConfigureHop, EndEntry, PathEntry};
use crate::link::{self, REPAIRS, Repairs};
use crate::options::Options;
use crate::presets::Family;

/// The names of the carriers.
const CARRIERS: &[(&str, Carrier)] = &[
    ("datagram", Carrier::Datagram),
    ("tcp", Carrier::Stream),
    ("stream", Carrier::Stream),
];

const CONNECTIONS: &[(&str, Multiplexing)] = &[
    ("shared", Multiplexing::Shared),
    ("per-circuit", Multiplexing::PerCircuit),
];

/// The layers that were chosen by name, before their parameters are read.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) family: &'static Family,
    pub(crate) options: Options,
    pub(crate) carrier: Carrier,
    pub(crate) connections: Multiplexing,
    pub(crate) repairs: Repairs,
    pub(crate) end: EndEntry,
    pub(crate) path: PathEntry,
}

type Built<P> = Result<Box<dyn Factory<P>>, ConfigError>;

/// A registered control on hops, for nodes whose cells hold `P`.
#[derive(Debug)]
pub(crate) struct HopEntry<P> {
    pub(crate) info: Info,
    pub(crate) build: fn(Chosen) -> Built<P>,
}

impl<P> Clone for HopEntry<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for HopEntry<P> {}

impl<P: Payload> HopEntry<P> {
    pub(crate) const fn of<H: ConfigureHop>() -> Self {
        Self {
            info: H::INFO,
            build: |chosen| Ok(Box::new(Configured::<H>::new(chosen)?)),
        }
    }
}

/// Reads what carries frames, and how many connections neighbours keep.
pub(crate) fn carrier(
    options: &mut Options,
    family: &Family,
) -> Result<(Carrier, Multiplexing), ConfigError> {
    let carrier = options.choice("carrier", family.carrier, CARRIERS)?;
    let own = match carrier {
        Carrier::Stream => family.connections,
        Carrier::Datagram => Multiplexing::Shared,
    };
    Ok((carrier, options.choice("connections", own, CONNECTIONS)?))
}

/// Reads what repairs losses.
pub(crate) fn repairs(
    options: &mut Options,
    carrier: Carrier,
    end: &Info,
) -> Result<Repairs, ConfigError> {
    let own = match carrier {
        Carrier::Stream => Repairs::None,
        Carrier::Datagram if end.provides.any(Features::END_TCP) => Repairs::EndToEnd,
        Carrier::Datagram => Repairs::PerHop,
    };
    options.choice("repair", own, REPAIRS)
}

/// A stack of layers with a name: a factory of nodes.
#[derive(Debug)]
struct Configured<H: ConfigureHop> {
    name: &'static str,
    stack: Stack<H>,
    resolved: Vec<(&'static str, String)>,
}

impl<H: ConfigureHop> Configured<H> {
    /// Reads the layers' parameters, and checks that the layers fit together.
    fn new(chosen: Chosen) -> Result<Self, ConfigError> {
        let (family, mut options) = (chosen.family, chosen.options);
        let hops_control = H::INFO.provides.any(Features::BOUND);
        let links = (chosen.carrier, chosen.connections);
        let mut around = Around::new(links, hops_control, family.queue_limit);
        let hop = H::configure(&mut options, &mut around)?;
        let end = (chosen.end.configure)(&mut options, &mut around)?;
        let path = (chosen.path.configure)(&mut options, &mut around)?;
        let repair = link::repair(&mut options, chosen.repairs)?;
        let settled = (chosen.repairs, family.refill);
        let link = link::configure(&mut options, &around, settled)?;
        let stack = Stack::new((link, repair), hop, end, path);
        check(&stack.infos()).map_err(|misfit| misfit.error())?;
        Ok(Self {
            name: family.name,
            stack,
            resolved: options.finish()?,
        })
    }
}

impl<H: ConfigureHop, P: Payload> Factory<P> for Configured<H> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn plan(&self) -> Plan {
        self.stack.plan().clone()
    }

    fn driver(&self) -> Features {
        self.stack.driver()
    }

    fn describe(&self) -> String {
        let resolved = self.resolved.iter();
        let lines = resolved.map(|(key, value)| format!("{key} = {value}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn node(&self, env: &NodeEnv) -> Box<dyn Host<P>> {
        Box::new(Node::<H, P>::new(&self.stack, env))
    }
}
