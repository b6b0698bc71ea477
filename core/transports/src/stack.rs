//! From options to a stack of layers, and to nodes of it.

use std::any::{Any, type_name};
use std::sync::Arc;

use hopflow_overlay::{
    ConfigError, Factory, Features, HopControl, Host, Info, Multiplexing, Node, NodeEnv, Plan,
    Stack,
};
use hopflow_wire::{Carrier, Payload};

use crate::check::check;
use crate::choice::{LayerChoice, Repairs};
use crate::entry::{EndEntry, PathEntry};
use crate::layer::{Around, LayerOptions};
use crate::link;
use crate::presets::Family;
use crate::read::{Properties, Reader, Settled, properties};
use crate::shown::shown;

/// The layers that were chosen by name, before their parameters are read.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) family: &'static Family,
    pub(crate) reader: Reader,
    pub(crate) carrier: Carrier,
    pub(crate) connections: Multiplexing,
    pub(crate) repairs: Repairs,
    pub(crate) end: EndEntry,
    pub(crate) path: PathEntry,
}

type Built<P> = Result<Box<dyn Factory<P>>, ConfigError>;

/// A registered control on hops, whatever cells hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HopLayer {
    pub(crate) info: Info,
    /// The name of its type.
    pub(crate) made_by: fn() -> &'static str,
    pub(crate) options: fn() -> Properties,
    /// All options of a transport with this control, as they are settled.
    pub(crate) settled: fn(Chosen) -> Result<Settled, ConfigError>,
}

impl HopLayer {
    pub(crate) const fn of<H: HopControl<Config: LayerOptions>>() -> Self {
        Self {
            info: H::INFO,
            made_by: type_name::<H>,
            options: properties::<H::Config>,
            settled: |chosen| Ok(Configured::<H>::new(chosen)?.settled),
        }
    }
}

/// A registered control on hops, for nodes whose cells hold `P`.
#[derive(Debug)]
pub(crate) struct HopEntry<P> {
    pub(crate) layer: HopLayer,
    pub(crate) build: fn(Chosen) -> Built<P>,
}

impl<P> Clone for HopEntry<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for HopEntry<P> {}

impl<P: Payload> HopEntry<P> {
    pub(crate) const fn of<H: HopControl<Config: LayerOptions>>() -> Self {
        Self {
            layer: HopLayer::of::<H>(),
            build: |chosen| Ok(Box::new(Configured::<H>::new(chosen)?)),
        }
    }
}

/// Settles what carries frames, how many connections neighbours keep, and what repairs losses.
pub(crate) fn settle_links(
    choice: &mut LayerChoice,
    family: &Family,
    end: &Info,
) -> (Carrier, Multiplexing, Repairs) {
    let carrier = *choice.carrier.get_or_insert(family.carrier.into());
    let carrier = Carrier::from(carrier);
    let connections = match carrier {
        Carrier::Stream => family.connections,
        Carrier::Datagram => Multiplexing::Shared,
    };
    let connections = *choice.connections.get_or_insert(connections.into());
    let repairs = match carrier {
        Carrier::Stream => Repairs::None,
        Carrier::Datagram if end.provides.any(Features::END_TCP) => Repairs::EndToEnd,
        Carrier::Datagram => Repairs::PerHop,
    };
    let repairs = *choice.repair.get_or_insert(repairs);
    (carrier, connections.into(), repairs)
}

/// A stack of layers with a name: a factory of nodes.
#[derive(Clone, Debug)]
struct Configured<H: HopControl> {
    name: &'static str,
    stack: Arc<Stack<H>>,
    settled: Settled,
}

impl<H: HopControl<Config: LayerOptions>> Configured<H> {
    /// Reads the layers' parameters, and checks that the layers fit together.
    fn new(chosen: Chosen) -> Result<Self, ConfigError> {
        let (family, mut reader) = (chosen.family, chosen.reader);
        let hops_control = H::INFO.provides.any(Features::BOUND);
        let links = (chosen.carrier, chosen.connections);
        let mut around = Around::new(links, hops_control, family.queue_limit);
        let hop: H::Config = reader.layer(&mut around)?;
        let end = (chosen.end.read)(&mut reader, &mut around)?;
        let path = (chosen.path.read)(&mut reader, &mut around)?;
        let repair = link::read_repair(&mut reader, chosen.repairs)?;
        let link = link::read(&mut reader, &around, (chosen.repairs, family.refill))?;
        let stack = Stack::new((link, repair), hop, end, path);
        check(&stack.infos()).map_err(|misfit| misfit.error())?;
        Ok(Self {
            name: family.name,
            stack: Arc::new(stack),
            settled: reader.finish()?,
        })
    }
}

impl<H: HopControl, P: Payload> Factory<P> for Configured<H> {
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
        let resolved = self.settled.resolved.iter();
        let lines = resolved.map(|(key, value)| format!("{key} = {}", shown(value)));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn stack(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.stack) as _
    }

    fn node(&self, env: &NodeEnv) -> Box<dyn Host<P>> {
        Box::new(Node::<H, P>::new(&self.stack, env))
    }
}
