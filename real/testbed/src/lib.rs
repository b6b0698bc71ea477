//! A real overlay on one machine, measured, and beside its simulation.
//!
//! A [`Testbed`] is a directory, three relays, a client and a web server in one process, with the
//! relays' and the client's access links emulated. [`measure`] downloads through it by SOCKS, like
//! any application; with [`Settings::netns`] each node has the kernel's TCP over a link of its own. [`simulate`] makes the same downloads in the simulator. Both yield a
//! [`Measured`], so that [`Errors`] can set them side by side and result folders hold either.
//!
//! The crate reads clocks, opens sockets and starts threads; whoever watches it ([`Watch`]) is told
//! how far it has come.

mod clock;
mod fetch;
mod figures;
mod lateness;
mod measure;
mod measured;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(not(target_os = "linux"))]
#[path = "without_namespaces.rs"]
mod namespaces;
mod network;
mod places;
mod record;
mod server;
mod settings;
mod simulate;
mod tables;
mod watch;

pub use hopflow_daemon::config::{Trace, What};

pub use figures::{Errors, Figure, Figures};
pub use lateness::Lateness;
pub use measure::{Error, keep, measure};
pub use measured::{Download, HopState, Measured, Moment, RelayTotals, Unfinished};
pub use network::Testbed;
pub use settings::{Congestion, Settings, SettingsError};
pub use simulate::simulate;
pub use tables::{Origin, SCENARIO, read, write};
pub use watch::{RelayNow, Snapshot, Unwatched, Watch};
