//! A worker that panics begins anew, so that a fault costs its circuits and not the node.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tracing::error;

/// Runs `first`; after a panic it is dropped, and what `build` makes runs in its place, `pause`
/// later. `restarts` counts that.
///
/// # Errors
/// Those of `run`, and of `build`.
pub(super) fn keep_going<W>(
    first: W,
    build: impl Fn() -> io::Result<W>,
    run: impl Fn(W) -> io::Result<()>,
    (restarts, pause): (&AtomicU64, Duration),
) -> io::Result<()> {
    let mut worker = first;
    loop {
        // What a panic leaves half done is dropped with the worker.
        match catch_unwind(AssertUnwindSafe(|| run(worker))) {
            Ok(ended) => return ended,
            Err(_) => {
                error!("a worker panicked: its circuits are lost, and it begins anew");
                restarts.fetch_add(1, Ordering::Relaxed);
                thread::park_timeout(pause);
                worker = build()?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn who_panics_begins_anew_until_it_ends() {
        let (restarts, built) = (AtomicU64::new(0), AtomicU64::new(0));
        let build = || Ok(built.fetch_add(1, Ordering::Relaxed) + 1);
        let run = |life| {
            assert!(life == 3, "the panic of life {life}");
            Ok(())
        };
        keep_going(0, build, run, (&restarts, PAUSE)).unwrap();
        assert_eq!((restarts.into_inner(), built.into_inner()), (3, 3));
    }

    #[test]
    fn who_fails_or_cannot_begin_anew_ends() {
        let restarts = AtomicU64::new(0);
        let fail = |()| Err(io::Error::other("the poll fails"));
        assert!(keep_going((), || Ok(()), fail, (&restarts, PAUSE)).is_err());
        assert_eq!(restarts.load(Ordering::Relaxed), 0);
        let no_socket = || Err(io::Error::other("no socket"));
        let panics = |()| panic!("for the test");
        assert!(keep_going((), no_socket, panics, (&restarts, PAUSE)).is_err());
    }
}
