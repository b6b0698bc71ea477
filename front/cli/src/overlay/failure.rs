//! Why nodes fail.

use hopflow_api::Failure;
use hopflow_daemon::net::StartError;

/// Why a node did not start.
pub(crate) fn not_started(error: &StartError) -> Failure {
    match error {
        StartError::Input(_) | StartError::Socket { .. } => Failure::bad_input(error),
        StartError::System(_) => Failure::defect(error),
    }
}
