//! Names that wait to be looked up: networks and circuits take turns.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex};

use hopflow_engine::{CircuitKey, Network};

use crate::net::ranks::{Owner, Ranks};

/// Questions that wait at most.
const MOST_WAITING: usize = 1024;
/// Questions of one circuit that are looked up at the same time.
const MOST_AT_ONCE: usize = 2;
/// The same of all circuits of a network, or of a relay before us: half of the threads.
pub(super) const MOST_OF_NETWORK: usize = 8;

/// A question: its number, who asks it, and the name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Question {
    pub(super) number: u64,
    pub(super) owner: Owner,
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
    /// How many of all circuits of a network are.
    busy_of: BTreeMap<Network, usize>,
    /// Circuits with questions; of those whose network has the fewest under way, the first is next.
    turns: VecDeque<Owner>,
    /// How many each has that wait.
    ranks: Ranks,
    len: usize,
    over: bool,
}

impl Waiting {
    /// Whether a circuit has not too many under way, nor its network.
    fn may_begin(&self, owner: &Owner) -> bool {
        let of_circuit = self.busy.get(&owner.circuit).copied().unwrap_or(0);
        of_circuit < MOST_AT_ONCE && self.busy_of(owner) < MOST_OF_NETWORK
    }

    /// How many the network of a circuit has under way.
    fn busy_of(&self, owner: &Owner) -> usize {
        self.busy_of.get(&owner.network).copied().unwrap_or(0)
    }

    /// The next question of a circuit that has not too many under way, nor its network.
    fn take(&mut self) -> Option<Question> {
        let turns = self.turns.iter().enumerate();
        let free = turns.filter(|(_, owner)| self.may_begin(owner));
        let (turn, _) = free.min_by_key(|(_, owner)| self.busy_of(owner))?;
        let owner = self.turns.remove(turn)?;
        let questions = self.of.get_mut(&owner.circuit)?;
        let question = questions.pop_front()?;
        let left = questions.len();
        self.ranks.change(owner, left + 1, left);
        if left == 0 {
            self.of.remove(&owner.circuit);
        } else {
            self.turns.push_back(owner);
        }
        self.len -= 1;
        *self.busy.entry(owner.circuit).or_default() += 1;
        *self.busy_of.entry(owner.network).or_default() += 1;
        Some(question)
    }

    /// Of the network that asks most, the circuit that does.
    fn asks_most(&self) -> Option<CircuitKey> {
        let (_, network) = self.ranks.heaviest_network()?;
        let (_, circuit) = self.ranks.heaviest_of(network)?;
        Some(circuit)
    }

    /// Takes the last question of a circuit back.
    fn drop_last(&mut self, circuit: CircuitKey) -> Option<Question> {
        let questions = self.of.get_mut(&circuit)?;
        let last = questions.pop_back()?;
        let left = questions.len();
        self.removed(last.owner, left);
        Some(last)
    }

    /// A question was taken back, and so many are left of its circuit.
    fn removed(&mut self, owner: Owner, left: usize) {
        self.len -= 1;
        self.ranks.change(owner, left + 1, left);
        if left == 0 {
            self.of.remove(&owner.circuit);
            self.turns.retain(|other| *other != owner);
        }
    }

    fn done(&mut self, owner: Owner) {
        take_one(&mut self.busy, &owner.circuit);
        take_one(&mut self.busy_of, &owner.network);
    }
}

/// Counts one less; what has none is forgotten.
fn take_one<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

impl Questions {
    /// Adds a question. Returns the number of the one that gives way if there are too many: the
    /// last of the circuit that asks most, of the network that does.
    pub(super) fn push(&self, question: Question) -> Option<u64> {
        let Ok(mut waiting) = self.waiting.lock() else {
            return Some(question.number);
        };
        let owner = question.owner;
        let questions = waiting.of.entry(owner.circuit).or_default();
        questions.push_back(question);
        let count = questions.len();
        if count == 1 {
            waiting.turns.push_back(owner);
        }
        waiting.ranks.change(owner, count - 1, count);
        waiting.len += 1;
        // A thread that is woken looks at all turns: only for a question that it may take.
        if waiting.may_begin(&owner) {
            self.news.notify_one();
        }
        if waiting.len <= MOST_WAITING {
            return None;
        }
        let circuit = waiting.asks_most()?;
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
        let place = questions.iter().position(|it| it.number == number);
        if let Some(question) = place.and_then(|place| questions.remove(place)) {
            let left = questions.len();
            waiting.removed(question.owner, left);
        }
    }

    /// Waits for the next question; nothing if none will follow. `done` is whose question was
    /// answered before.
    pub(super) fn next(&self, done: Option<Owner>) -> Option<Question> {
        let mut waiting = self.waiting.lock().ok()?;
        if let Some(owner) = done {
            waiting.done(owner);
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

    /// Three circuits, each of a network of its own.
    fn circuits() -> [Owner; 3] {
        let mut keys = SlotMap::<CircuitKey, ()>::with_key();
        [1, 2, 3].map(|network| owner(keys.insert(()), network))
    }

    fn owner(circuit: CircuitKey, network: u8) -> Owner {
        let network = Network::of([10, 0, network, 1].into());
        Owner { network, circuit }
    }

    fn question(owner: Owner, number: u64) -> Question {
        Question {
            number,
            owner,
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
    fn many_circuits_of_a_network_take_half_of_the_threads() {
        let mut keys = SlotMap::<CircuitKey, ()>::with_key();
        let mut circuit = |network| owner(keys.insert(()), network);
        let questions = Questions::default();
        for number in 0..50 {
            questions.push(question(circuit(1), number));
        }
        for number in 100..150 {
            questions.push(question(circuit(2), number));
        }
        let first = taken(&questions, 4);
        assert_eq!(first, [0, 100, 1, 101], "networks take turns");
        let more = taken(&questions, 100);
        assert_eq!(first.len() + more.len(), 2 * MOST_OF_NETWORK);
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
        questions.remove(one.circuit, 1);
        questions.remove(other.circuit, 3);
        questions.remove(other.circuit, 4);
        assert_eq!(taken(&questions, 3), [2]);
        let waiting = questions.waiting.lock().unwrap();
        assert!(waiting.len == 0 && waiting.ranks.is_empty() && waiting.turns.is_empty());
        drop(waiting);
        questions.end();
        assert_eq!(questions.next(None), None);
    }
}
