//! The simulated world: machines on a network, what travels between them, and their users.
//!
//! A [`World`] consists of lanes: each is a machine with all that happens there. The world runs them
//! over one window of time after the other.
//!
//! | part | file |
//! | --- | --- |
//! | the world | `world.rs`, built by `build.rs`, changed between windows by `change.rs` |
//! | windows of time, and threads that run them | `windows.rs`, `gate.rs`, `grid.rs` |
//! | partitions: lanes that one thread runs | `partition.rs`, `agenda.rs`, `sorter.rs`, `mail.rs`; which lanes: `balance.rs` |
//! | a lane: the events of one machine | `lane.rs`, `schedule.rs`; what leaves it: `outbox.rs` |
//! | what becomes of machines by their faults | `faults.rs`, `stops.rs` |
//! | its access links, its nodes, who waits for the uplink | `machine.rs`, `pipe.rs`, `reading.rs` |
//! | its TCP connections, of the overlay and outside it | `connections.rs`, `connection.rs`, `cross.rs` |
//! | its users and servers | `users/` |
//! | its recorders, and the results of all | `recorders/`; cells that they follow: `marks/` |
//! | traces of circuits and packets | `recorders/tracer.rs` |
//! | what can be seen of it between windows | `view.rs`, `watched.rs` |
//! | routers and the links between them | `routes.rs`, `trunks.rs` |
//! | what the lanes of a partition use in turn | `shared.rs`, `packets.rs` |

mod address;
mod agenda;
mod balance;
mod build;
mod change;
mod connection;
mod connections;
mod cross;
mod deployment;
mod faults;
mod gate;
mod grid;
mod lane;
mod machine;
mod mail;
mod marks;
mod meter;
mod outbox;
mod packets;
mod partition;
mod pipe;
mod reading;
mod recorders;
mod records;
mod routes;
mod schedule;
mod share;
mod shared;
mod sorter;
mod stops;
mod trunks;
mod users;
mod view;
mod watched;
mod windows;
#[expect(clippy::module_inception, reason = "it is what the folder is about")]
mod world;

use std::ops::ControlFlow;

use hopflow_overlay::Factory;

pub use self::deployment::Deployment;
pub use self::meter::Parallelism;
pub use self::view::{
    HopView, LinkView, MachineView, PacketView, TransferView, UserView, WorldView,
};
pub use self::world::{Progress, World};
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
