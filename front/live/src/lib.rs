//! A page that shows a simulation in progress, a finished run or real relays, and its server.
//!
//! A source writes events into a [`Stream`]: a [`Simulation`], a [`Recording`] of a result folder, or a
//! [`Watch`] that scrapes metrics. A [`Server`] serves the page, and the stream by server-sent events to
//! everyone who has it open. Nothing can be changed through it: it answers GET alone, and reads no file.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use hopflow_lab::scenario::Scenario;
//! use hopflow_live::{Pace, Server, Simulation};
//!
//! let (scenario, _) = Scenario::load("quickstart")?;
//! let simulation = Simulation::new(scenario, None, Pace::REAL_TIME)?;
//! let stream = simulation.stream();
//! let server = Server::start("127.0.0.1:8734".parse()?, Arc::clone(&stream))?;
//! simulation.run(&stream, &|| false);
//! # Ok(())
//! # }
//! ```

mod clock;
mod metrics;
mod page;
mod recording;
mod request;
mod sample;
mod scrape;
mod server;
mod simulation;
mod stream;
mod watch;

pub use recording::Recording;
pub use sample::Sample;
pub use scrape::metrics_page;
pub use server::{MOST_CONNECTIONS, Server};
pub use simulation::{Pace, Simulation};
pub use stream::Stream;
pub use watch::{Target, Watch};
