//! Looking up names, which blocks, on threads of its own.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use mio::Waker;

/// Names that are looked up at the same time.
const THREADS: usize = 4;

/// A question: whose it is, a name and a port.
type Question = (u64, String, u16);
/// What the system's resolver found; nothing if it knows no such name.
type Answer = (u64, Vec<SocketAddr>);

/// Looks names up by the system's resolver, in the background.
#[derive(Debug)]
pub(super) struct Resolver {
    questions: Sender<Question>,
    answers: Receiver<Answer>,
}

impl Resolver {
    /// Threads that wait for questions and wake the worker with answers. They end with the
    /// resolver.
    pub(super) fn start(waker: &Arc<Waker>) -> Self {
        let (questions, asked) = channel::<Question>();
        let (found, answers) = channel();
        let asked = Arc::new(Mutex::new(asked));
        for _ in 0..THREADS {
            let (asked, found, waker) = (asked.clone(), found.clone(), waker.clone());
            thread::spawn(move || answer_all(&asked, &found, &waker));
        }
        Self { questions, answers }
    }

    /// Asks for the addresses of a host.
    pub(super) fn ask(&self, whose: u64, host: &str, port: u16) {
        // The threads live as long as we do.
        let _ = self.questions.send((whose, host.to_owned(), port));
    }

    /// An answer that has come.
    pub(super) fn poll(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn answer_all(asked: &Mutex<Receiver<Question>>, found: &Sender<Answer>, waker: &Waker) {
    loop {
        let question = asked.lock().map(|asked| asked.recv());
        let Ok(Ok((whose, host, port))) = question else {
            return;
        };
        let addresses = (host.as_str(), port).to_socket_addrs();
        let addresses = addresses.map_or_else(|_| Vec::new(), Iterator::collect);
        if found.send((whose, addresses)).is_err() || waker.wake().is_err() {
            return;
        }
    }
}
