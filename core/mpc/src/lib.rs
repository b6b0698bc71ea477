//! PredicTor's optimal control problem and a solver made for its structure.
//!
//! A relay that runs PredicTor (Döpmann, Fiedler, Lucia and Tschorsch, "Optimization-based
//! predictive congestion control for the Tor network", ACM TOIT 22(4), 2022) solves one quadratic
//! program per time step: how fast to take and to forward the cells of each circuit, over a horizon
//! of some steps, given what the circuit's predecessor and successor plan. This crate holds the
//! program in two [`Form`]s, a [`Solver`] that gives an optimum with a proven gap within a bounded
//! amount of work, and the [`greedy`] plans it falls back to.
//!
//! Everything is a pure function of trajectories: rates are cells per step, queues are cells. The
//! arithmetic is `+ - * / sqrt` in a fixed order, so plans have the same bits on every machine.
//!
//! ```
//! use hopflow_mpc::{Budget, CircuitData, Config, Form, Problem, Solver};
//!
//! let config = Config::new(Form::Coded);
//! let mut problem = Problem::new(&config);
//! problem.clear(30.0, 30.0);
//! problem.push(&CircuitData {
//!     queue: 4.0,
//!     source_queue: &[200.0; 10],
//!     source_rate: &[20.0; 10],
//!     source_potential: &[30.0; 10],
//!     sink_rate: &[30.0; 10],
//!     edge: false,
//! });
//! let mut solver = Solver::new(config)?;
//! let report = solver.solve(&problem, Budget::default());
//! assert!(solver.plan(0).r_out(0) <= 30.0);
//! assert!(report.gap < 1e-6);
//! # Ok::<(), hopflow_mpc::ConfigError>(())
//! ```
//!
//! The derivations are in `docs/spec/predictor-mpc.md`.

mod config;
pub mod greedy;
mod objective;
mod plan;
mod problem;
mod solver;

pub use config::{Budget, Config, ConfigError, Form};
pub use plan::Plan;
pub use problem::{CircuitData, Problem};
pub use solver::{Method, Report, Solver};
