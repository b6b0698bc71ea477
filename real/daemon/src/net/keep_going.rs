//! A worker that panics begins anew, so that a fault costs its circuits and not the node.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tracing::error;

/// How often a worker tries to begin anew: others may have taken its descriptors, and give them back.
const TRIES: u32 = 60;

/// Runs `first`; after a panic it is dropped, and what `build` makes runs in its place, `pause`
/// later. `restarts` counts that. If `build` fails it is tried again after as long; if it makes nothing, no
/// worker is wanted any more.
///
/// # Errors
/// Those of `run`, and of `build` after many tries.
pub(super) fn keep_going<W>(
    first: W,
    build: impl Fn() -> io::Result<Option<W>>,
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
                match begin_anew(&build, pause)? {
                    Some(other) => worker = other,
                    None => return Ok(()),
                }
            }
        }
    }
}

fn begin_anew<W>(
    build: impl Fn() -> io::Result<Option<W>>,
    pause: Duration,
) -> io::Result<Option<W>> {
    for _ in 1..TRIES {
        thread::park_timeout(pause);
        match build() {
            Err(error) => error!(%error, "a worker cannot begin anew, and tries again"),
            built => return built,
        }
    }
    thread::park_timeout(pause);
    build()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(1);

    #[test]
    fn who_panics_begins_anew_until_it_ends() {
        let (restarts, built) = (AtomicU64::new(0), AtomicU64::new(0));
        let build = || Ok(Some(built.fetch_add(1, Ordering::Relaxed) + 1));
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
        assert!(keep_going((), || Ok(Some(())), fail, (&restarts, PAUSE)).is_err());
        assert_eq!(restarts.load(Ordering::Relaxed), 0);
        let no_socket = || Err(io::Error::other("no socket"));
        let panics = |()| panic!("for the test");
        assert!(keep_going((), no_socket, panics, (&restarts, PAUSE)).is_err());
        assert!(keep_going((), || Ok(None), panics, (&restarts, PAUSE)).is_ok());
    }

    #[test]
    fn who_cannot_begin_anew_at_first_tries_again() {
        let (restarts, tries) = (AtomicU64::new(0), AtomicU64::new(0));
        let build = || match tries.fetch_add(1, Ordering::Relaxed) {
            0..3 => Err(io::Error::other("no descriptor")),
            _ => Ok(Some(true)),
        };
        let run = |built: bool| {
            assert!(built, "the first one panics");
            Ok(())
        };
        keep_going(false, build, run, (&restarts, PAUSE)).unwrap();
        assert_eq!((restarts.into_inner(), tries.into_inner()), (1, 4));
    }
}
