//! Looking up names, which blocks, on threads of its own.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use mio::Waker;

/// Names that are looked up at the same time.
const THREADS: usize = 4;
/// Questions that wait at most.
const MOST_WAITING: usize = 1024;

/// A host's name and a port.
type Question = (String, u16);
/// Whose question it was, and what the system's resolver found; nothing if it knows no such name.
type Answer = (u64, Vec<SocketAddr>);

/// Looks names up by the system's resolver, in the background.
#[derive(Debug)]
pub(super) struct Resolver {
    questions: Arc<Questions>,
    answers: Receiver<Answer>,
}

impl Resolver {
    /// Threads that wait for questions and wake the worker with answers. They end with the
    /// resolver.
    pub(super) fn start(waker: &Arc<Waker>) -> Self {
        let questions = Arc::new(Questions::default());
        let (found, answers) = channel();
        for _ in 0..THREADS {
            let (asked, found, waker) = (questions.clone(), found.clone(), waker.clone());
            thread::spawn(move || answer_all(&asked, &found, &waker));
        }
        Self { questions, answers }
    }

    /// Asks for the addresses of a host; false if too many others wait already. Numbers rise from
    /// question to question.
    pub(super) fn ask(&self, whose: u64, host: &str, port: u16) -> bool {
        self.questions.push(whose, (host.to_owned(), port))
    }

    /// Takes a question back; if it is being answered already, its answer still comes.
    pub(super) fn cancel(&self, whose: u64) {
        self.questions.remove(whose);
    }

    /// An answer that has come.
    pub(super) fn poll(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.questions.end();
    }
}

/// Questions that wait for a thread.
#[derive(Debug, Default)]
struct Questions {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// By their numbers: the first is the oldest.
    questions: BTreeMap<u64, Question>,
    over: bool,
}

impl Questions {
    fn push(&self, whose: u64, question: Question) -> bool {
        let Ok(mut waiting) = self.waiting.lock() else {
            return false;
        };
        if waiting.questions.len() >= MOST_WAITING {
            return false;
        }
        waiting.questions.insert(whose, question);
        self.news.notify_one();
        true
    }

    fn remove(&self, whose: u64) {
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.questions.remove(&whose);
        }
    }

    /// Waits for the next question; nothing if none will follow.
    fn next(&self) -> Option<(u64, Question)> {
        let waiting = self.waiting.lock().ok()?;
        let idle = |waiting: &mut Waiting| waiting.questions.is_empty() && !waiting.over;
        let mut waiting = self.news.wait_while(waiting, idle).ok()?;
        if waiting.over {
            return None;
        }
        waiting.questions.pop_first()
    }

    fn end(&self) {
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.over = true;
        }
        self.news.notify_all();
    }
}

fn answer_all(asked: &Questions, found: &Sender<Answer>, waker: &Waker) {
    while let Some((whose, (host, port))) = asked.next() {
        let addresses = (host.as_str(), port).to_socket_addrs();
        let addresses = addresses.map_or_else(|_| Vec::new(), Iterator::collect);
        if found.send((whose, addresses)).is_err() || waker.wake().is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(port: u16) -> Question {
        ("example.org".to_owned(), port)
    }

    #[test]
    fn questions_beyond_the_limit_are_not_taken_until_one_is_answered() {
        let questions = Questions::default();
        for whose in 0..MOST_WAITING as u64 {
            assert!(questions.push(whose, question(80)));
        }
        assert!(!questions.push(5000, question(80)));
        assert_eq!(questions.next(), Some((0, question(80))));
        assert!(questions.push(5001, question(80)));
    }

    #[test]
    fn a_question_that_is_taken_back_is_not_looked_up() {
        let questions = Questions::default();
        for whose in 1..=3 {
            questions.push(whose, question(whose as u16));
        }
        questions.remove(1);
        assert_eq!(questions.next(), Some((2, question(2))));
        assert_eq!(questions.next(), Some((3, question(3))));
        questions.end();
        assert_eq!(questions.next(), None);
    }
}
