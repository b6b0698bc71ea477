//! Showing how far the runs are, and stopping them.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Instant;

use hopflow_lab::run::Monitor;
use hopflow_results::RunEntry;
use hopflow_units::Duration;
use indicatif::{ProgressBar, ProgressStyle};

/// Set by the first Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// What is undone before the second Ctrl-C ends the program.
static UNDO: OnceLock<fn()> = OnceLock::new();

/// How long that may take: a terminal that takes no text must not keep the program from ending.
const UNDOING: std::time::Duration = std::time::Duration::from_millis(200);

/// Lets the first Ctrl-C be asked for by [`interrupted`], and the second one end the program.
pub(crate) fn heed_interrupts() {
    // It fails only if there is a handler already, which does the same.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            if let Some(undo) = UNDO.get() {
                let (done, undone) = mpsc::channel::<()>();
                thread::spawn(move || {
                    undo();
                    drop(done);
                });
                // Either way the program ends.
                let _ = undone.recv_timeout(UNDOING);
            }
            std::process::exit(130);
        }
    });
}

/// Has something undone before the second Ctrl-C ends the program, which nothing else hears of.
#[cfg(feature = "overlay")]
pub(crate) fn undo_at_exit(undo: fn()) {
    UNDO.get_or_init(|| undo);
}

/// Whether the user pressed Ctrl-C.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Waits until the user presses Ctrl-C.
#[cfg(feature = "live")]
#[expect(
    clippy::disallowed_methods,
    reason = "there is nothing to do meanwhile"
)]
pub(crate) fn wait_for_interrupt() {
    while !interrupted() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

/// Prints a line to standard error.
pub(crate) fn tell(text: &str) {
    // What runs goes on if nobody can be told.
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A progress bar on a terminal; nothing elsewhere.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    planned: AtomicU64,
    finished: AtomicU64,
    begun: Instant,
}

impl Progress {
    /// A progress bar that Ctrl-C stops; the second Ctrl-C ends the program at once.
    #[expect(
        clippy::disallowed_methods,
        reason = "the wall time of runs is shown and recorded"
    )]
    pub(crate) fn new() -> Self {
        heed_interrupts();
        let style = "{spinner} {bar:32} {percent:>3} %  {msg}  {eta} left";
        let style = ProgressStyle::with_template(style).expect("the template is valid");
        Self {
            bar: ProgressBar::no_length().with_style(style),
            planned: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            begun: Instant::now(),
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a line above the bar.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| tell(text));
    }

    fn show_count(&self) {
        let (finished, planned) = (&self.finished, &self.planned);
        let (finished, planned) = (
            finished.load(Ordering::Relaxed),
            planned.load(Ordering::Relaxed),
        );
        self.bar
            .set_message(format!("{finished} of {planned} runs"));
    }
}

impl Monitor for Progress {
    fn begin(&self, planned: usize, kept: usize, simulated: Duration) {
        self.planned.store(planned as u64, Ordering::Relaxed);
        self.finished.store(kept as u64, Ordering::Relaxed);
        if kept > 0 {
            self.say(&format!("{kept} of {planned} runs are finished already"));
        }
        // Work may begin several times, for the parts of an experiment.
        self.bar.reset();
        self.bar.set_length(simulated.as_nanos());
        self.show_count();
    }

    fn advanced(&self, simulated: Duration) {
        self.bar.inc(simulated.as_nanos());
    }

    fn finished(&self, _: &RunEntry) {
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.show_count();
    }

    fn interrupted(&self) -> bool {
        interrupted()
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}
