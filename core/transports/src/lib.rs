//! The transports and their registry.
//!
//! Each transport is one file that implements [`Transport`](hopflow_overlay::Transport) and
//! [`Configure`], its `mod` line here, and one line in `registry.rs`. [`presets`] lists what
//! scenarios may name, [`build`] makes a factory of nodes from a preset and options.

mod backtap;
mod circuit_ack;
mod delay_window;
mod edge;
mod ends;
mod marut;
mod marut_dctcp;
mod marut_timely;
mod n23;
mod options;
mod predictor;
mod registry;
mod scheduling;
mod switching;
mod udp_or;
mod vanilla;
mod worst_hop;

pub use backtap::{BackTap, BackTapConfig, Control};
pub use delay_window::{Growth, Rule};
pub use edge::Edge;
pub use ends::{Deliveries, EndState, Ends, Local, Vegas, VegasConfig, VegasEnd, Windows};
pub use marut::{Counts, Marut, MarutConfig, MarutFlow, Update};
pub use marut_dctcp::{DctcpFlow, MarutDctcp, MarutDctcpConfig};
pub use marut_timely::{MarutTimely, MarutTimelyConfig, TimelyFlow};
pub use n23::{Enforce, N23, N23Config};
pub use options::{Configure, Options};
pub use predictor::{EnforcePlan, Feedback, Grant, Predictor, PredictorConfig, PredictorFlow};
pub use registry::{Configured, Preset, build, presets};
pub use switching::{BaseConfig, SwitchFlow, Switching, SwitchingConfig};
pub use udp_or::{UdpOr, UdpOrConfig};
pub use vanilla::{Vanilla, VanillaConfig};
