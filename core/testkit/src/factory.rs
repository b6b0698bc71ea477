//! A factory for transports that are in no registry.

use hopflow_overlay::{Factory, Host, Node, NodeEnv, Plan, Transport};
use hopflow_wire::Payload;

/// Makes nodes of a transport from a configuration: for test transports.
#[derive(Debug)]
pub struct Made<T: Transport>(T::Config);

impl<T: Transport> Made<T> {
    /// A factory with this configuration.
    pub const fn new(config: T::Config) -> Self {
        Self(config)
    }
}

impl<T: Transport, P: Payload> Factory<P> for Made<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn plan(&self) -> Plan {
        T::plan(&self.0)
    }

    fn describe(&self) -> String {
        format!("{:?}", self.0)
    }

    fn node(&self, env: &NodeEnv) -> Box<dyn Host<P>> {
        Box::new(Node::<T, P>::new(&self.0, env))
    }
}
