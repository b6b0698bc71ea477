//! Names that wait to be looked up: circuits take turns.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex};

use hopflow_engine::CircuitKey;

/// Questions that wait at most.
const MOST_WAITING: usize = 1024;
/// Questions of one circuit that are looked up at the same time.
const MOST_AT_ONCE: usize = 2;

/// A question: its number, whose circuit asks it, and the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    pub(super) number: u64,
    pub(super) circuit: CircuitKey,
    pub(super) host: String,
}

/// Questions that wait for a thread.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Of each circuit, in their order.
    of: BTreeMap<CircuitKey, VecDeque<Question>>,
    /// How many of a circuit are being looked up.
    busy: BTreeMap<CircuitKey, usize>,
    /// Circuits with questions; the first is next.
    turns: VecDeque<CircuitKey>,
    len: usize,
    over: bool,
}

impl Waiting {
    /// The next question of a circuit that has not too many under way.
    fn take(&mut self) -> Option<Question> {
        let free = |circuit: &CircuitKey| {
            let busy = self.busy.get(circuit);
            busy.is_none_or(|busy| *busy < MOST_AT_ONCE)
        };
        let turn = self.turns.iter().position(free)?;
        let circuit = self.turns.remove(turn)?;
        let questions = self.of.get_mut(&circuit)?;
        let question = questions.pop_front()?;
        if questions.is_empty() {
            self.of.remove(&circuit);
        } else {
            self.turns.push_back(circuit);
        }
        self.len -= 1;
        *self.busy.entry(circuit).or_default() += 1;
        Some(question)
    }

    /// Takes the last question of a circuit back.
    fn drop_last(&mut self, circuit: CircuitKey) -> Option<Question> {
        let last = self.of.get_mut(&circuit)?.pop_back();
        self.len -= usize::from(last.is_some());
        self.forget_if_empty(circuit);
        last
    }

    fn forget_if_empty(&mut self, circuit: CircuitKey) {
        if self.of.get(&circuit).is_some_and(VecDeque::is_empty) {
            self.of.remove(&circuit);
            self.turns.retain(|other| *other != circuit);
        }
    }

    fn done(&mut self, circuit: CircuitKey) {
        if let Some(busy) = self.busy.get_mut(&circuit) {
            *busy -= 1;
            if *busy == 0 {
                self.busy.remove(&circuit);
            }
        }
    }
}

impl Questions {
    /// Adds a question. Returns the number of the one that gives way if there are too many: the
    /// last of the circuit that asks most.
    pub(super) fn push(&self, question: Question) -> Option<u64> {
        let Ok(mut waiting) = self.waiting.lock() else {
            return Some(question.number);
        };
        let circuit = question.circuit;
        let questions = waiting.of.entry(circuit).or_default();
        questions.push_back(question);
        if questions.len() == 1 {
            waiting.turns.push_back(circuit);
        }
        waiting.len += 1;
        self.news.notify_one();
        if waiting.len <= MOST_WAITING {
            return None;
        }
        let most = waiting.of.iter().max_by_key(|(_, asked)| asked.len());
        let circuit = *most?.0;
        Some(waiting.drop_last(circuit)?.number)
    }

    /// Takes a question back.
    pub(super) fn remove(&self, circuit: CircuitKey, number: u64) {
        let Ok(mut waiting) = self.waiting.lock() else {
            return;
        };
        let Some(questions) = waiting.of.get_mut(&circuit) else {
            return;
        };
        let before = questions.len();
        questions.retain(|question| question.number != number);
        let removed = before - questions.len();
        waiting.len -= removed;
        waiting.forget_if_empty(circuit);
    }

    /// Waits for the next question; nothing if none will follow. `done` is whose question was
    /// answered before.
    pub(super) fn next(&self, done: Option<CircuitKey>) -> Option<Question> {
        let mut waiting = self.waiting.lock().ok()?;
        if let Some(circuit) = done {
            waiting.done(circuit);
            // Others of this circuit may go on, which no other thread could.
            self.news.notify_one();
        }
        loop {
            if waiting.over {
                return None;
            }
            if let Some(question) = waiting.take() {
                return Some(question);
            }
            waiting = self.news.wait(waiting).ok()?;
        }
    }

    pub(super) fn end(&self) {
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.over = true;
        }
        self.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotmap::SlotMap;

    fn circuits() -> [CircuitKey; 3] {
        let mut keys = SlotMap::<CircuitKey, ()>::with_key();
        [(); 3].map(|()| keys.insert(()))
    }

    fn question(circuit: CircuitKey, number: u64) -> Question {
        Question {
            number,
            circuit,
            host: number.to_string(),
        }
    }

    /// The numbers of the questions that are taken next while none is answered.
    fn taken(questions: &Questions, most: usize) -> Vec<u64> {
        let mut waiting = questions.waiting.lock().unwrap();
        std::iter::from_fn(|| waiting.take())
            .map(|question| question.number)
            .take(most)
            .collect()
    }

    #[test]
    fn circuits_take_turns_and_none_takes_all_threads() {
        let [many, one, other] = circuits();
        let questions = Questions::default();
        for number in 0..100 {
            assert_eq!(questions.push(question(many, number)), None);
        }
        questions.push(question(one, 100));
        questions.push(question(other, 101));
        assert_eq!(taken(&questions, 10), [0, 100, 101, 1]);
        let next = questions.next(Some(many)).unwrap();
        assert_eq!(next.number, 2);
        assert!(taken(&questions, 10).is_empty());
    }

    #[test]
    fn the_circuit_that_asks_most_gives_way() {
        let [many, one, _] = circuits();
        let questions = Questions::default();
        for number in 0..MOST_WAITING as u64 {
            assert_eq!(questions.push(question(many, number)), None);
        }
        let last = MOST_WAITING as u64 - 1;
        assert_eq!(questions.push(question(one, 5000)), Some(last));
        assert_eq!(questions.push(question(many, 5001)), Some(5001));
        assert_eq!(taken(&questions, 3), [0, 5000, 1]);
    }

    #[test]
    fn a_question_that_is_taken_back_is_not_looked_up() {
        let [one, other, _] = circuits();
        let questions = Questions::default();
        for (circuit, number) in [(one, 1), (one, 2), (other, 3)] {
            questions.push(question(circuit, number));
        }
        questions.remove(one, 1);
        questions.remove(other, 3);
        questions.remove(other, 4);
        assert_eq!(taken(&questions, 3), [2]);
        assert_eq!(questions.waiting.lock().unwrap().len, 0);
        questions.end();
        assert_eq!(questions.next(None), None);
    }
}
