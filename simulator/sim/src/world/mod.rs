//! The simulated world: machines on a network, what travels between them, and their users.
//!
//! A [`World`] consists of parts with state of their own. Each part acts on what it owns and on what
//! is passed to it; the world takes the events in their order and routes each to the parts that it
//! concerns.
//!
//! | part | file |
//! | --- | --- |
//! | machines: access links, nodes, who waits for the uplink | `machine.rs`, `reading.rs` |
//! | routers and the links between them | `routers.rs` |
//! | TCP connections, of the overlay and outside it | `connections.rs`, `connection.rs`, `cross.rs` |
//! | users and their servers | `users/` |
//! | what happens at known times | `schedule.rs` |
//! | recorders | `recorders/` |
//! | shared by all: time and pending events, contents of packets | `shared.rs`, `timeline.rs`, `packets.rs` |

mod address;
mod build;
mod connection;
mod connections;
mod cross;
mod deployment;
mod event_loop;
mod machine;
mod packets;
mod pipe;
mod reading;
mod recorders;
mod routers;
mod schedule;
mod share;
mod shared;
mod slots;
mod timeline;
mod users;

use std::ops::ControlFlow;

use hopflow_overlay::Factory;

pub use self::deployment::Deployment;
pub use self::event_loop::{Progress, World};
use crate::outcome::Outcome;
use crate::payload::Simulated;
use crate::spec::{SpecError, WorldSpec};

/// Simulates a world whose nodes all have the transport of `factory`.
///
/// `observer` is called from time to time and may stop the run, which then yields `None`. The
/// outcome is a function of the specification and the factory alone.
///
/// # Errors
/// If the specification makes no sense.
pub fn run(
    spec: &WorldSpec,
    factory: &dyn Factory<Simulated>,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Option<Outcome>, SpecError> {
    let mut world = World::new(spec, factory)?;
    Ok(world.run(observer).then(|| world.into_outcome()))
}
