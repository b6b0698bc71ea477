//! The battery of checks that every registered transport passes.
//!
//! Each check takes a factory of nodes and panics with what went wrong. All of them run over
//! [`Chain`](crate::Chain), which compares every delivered byte and checks gates, queues, lengths
//! and conservation at every step, or over [`Bench`](crate::Bench) with a hostile neighbour.

mod closing;
mod delivery;
mod hostile;
mod legs;
mod liveness;
mod metrics;
mod options;
mod sharing;

use hopflow_overlay::Factory;

use crate::Counted;

/// A check's name and what it does.
pub type Check = (&'static str, fn(&dyn Factory<Counted>));

macro_rules! checks {
    ($($module:ident :: $name:ident),* $(,)?) => {
        /// All checks, by name.
        pub const CHECKS: &[Check] = &[$((stringify!($name), $module::$name)),*];
    };
}

checks! {
    delivery::every_byte_arrives_once_and_in_order,
    delivery::a_harmed_path_delivers_everything,
    delivery::an_adversarial_driver_changes_nothing,
    delivery::equal_seeds_give_equal_traces,
    liveness::no_single_feedback_message_is_vital,
    liveness::no_single_packet_is_vital,
    liveness::a_paused_application_resumes,
    liveness::a_stalled_sink_holds_bounded_memory_and_closes_nothing,
    liveness::an_idle_node_asks_for_nothing,
    closing::a_circuit_closed_in_flight_is_forgotten_by_all,
    closing::other_circuits_outlive_a_closed_one,
    closing::every_neighbour_is_told_of_many_closures,
    sharing::a_lone_flow_fills_its_bottleneck,
    sharing::equal_flows_share_equally,
    sharing::a_token_bucket_limits_what_a_node_sends,
    legs::two_legs_keep_the_order_of_a_stream,
    legs::a_lossy_slow_leg_does_not_block_the_stream,
    legs::a_pinned_stream_uses_one_leg,
    legs::a_short_pause_ends,
    legs::a_closed_leg_ends_its_stream_and_nothing_else,
    metrics::metrics_are_as_declared,
    options::the_same_options_again_change_nothing,
    hostile::excess_is_dropped_unacknowledged_and_closes_the_circuit,
    hostile::feedback_that_lies_closes_the_circuit,
    hostile::a_neighbour_that_never_acknowledges_gets_a_bounded_number_of_cells,
    hostile::commands_for_a_deaf_neighbour_are_bounded,
    hostile::any_bytes_leave_a_node_sane,
}

/// Runs all checks.
///
/// # Panics
/// If one fails.
pub fn check(factory: &dyn Factory<Counted>) {
    for (_, check) in CHECKS {
        check(factory);
    }
}
