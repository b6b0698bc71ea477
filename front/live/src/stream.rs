//! What pages follow: events that a source writes and every page reads from the first one on.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use serde::Serialize;

/// Events that a source writes once and any number of pages read, each in its own time.
///
/// A page that opens late reads the first event and all events that are kept. Events that are only shown
/// replace each other, so that a slow page misses some of these, and holds up nobody.
#[derive(Debug)]
pub struct Stream {
    /// How many events are kept besides the first one.
    most: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    head: Arc<str>,
    kept: VecDeque<Arc<str>>,
    /// The number of the first of them.
    first: u64,
    /// The newest event that is only shown, unless a newer one is kept.
    shown: Option<Arc<str>>,
    /// How many events were only shown so far.
    shows: u64,
}

/// How far one page has read.
#[derive(Debug, Default)]
pub(crate) struct Place {
    began: bool,
    kept: u64,
    shows: u64,
}

impl Stream {
    /// A stream that begins with this event and keeps up to `most` others, the newest.
    pub(crate) fn new(name: &str, data: &impl Serialize, most: usize) -> Self {
        Self {
            most,
            state: Mutex::new(State {
                head: event(name, data),
                kept: VecDeque::new(),
                first: 0,
                shown: None,
                shows: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Writes an event that is kept for pages that open later.
    pub(crate) fn keep(&self, name: &str, data: &impl Serialize) {
        let event = event(name, data);
        let mut state = self.lock();
        if state.kept.len() == self.most {
            state.kept.pop_front();
            state.first += 1;
        }
        state.kept.push_back(event);
        state.shown = None;
        self.changed.notify_all();
    }

    /// Writes an event for the pages that are open now and keep up.
    pub(crate) fn show(&self, name: &str, data: &impl Serialize) {
        let event = event(name, data);
        let mut state = self.lock();
        state.shown = Some(event);
        state.shows += 1;
        self.changed.notify_all();
    }

    /// The events behind a place, in order, which moves on; empty if none came for a while.
    pub(crate) fn read(&self, place: &mut Place, patience: Duration) -> Vec<Arc<str>> {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, patience, |state| !state.has_more(place));
        // A source that panicked has left whole events behind.
        let (state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        state.take(place)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn has_more(&self, place: &Place) -> bool {
        let end = self.first + self.kept.len() as u64;
        !place.began || place.kept < end || (self.shown.is_some() && place.shows < self.shows)
    }

    fn take(&self, place: &mut Place) -> Vec<Arc<str>> {
        let mut events = Vec::new();
        if !std::mem::replace(&mut place.began, true) {
            events.push(Arc::clone(&self.head));
        }
        let passed = place.kept.saturating_sub(self.first) as usize;
        events.extend(self.kept.iter().skip(passed).cloned());
        place.kept = self.first + self.kept.len() as u64;
        if place.shows < self.shows {
            events.extend(self.shown.clone());
        }
        place.shows = self.shows;
        events
    }
}

/// An event as the browser's `EventSource` reads it. JSON has no line breaks within.
fn event(name: &str, data: &impl Serialize) -> Arc<str> {
    let data = serde_json::to_string(data).expect("events are plain data");
    format!("event: {name}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stream: &Stream, place: &mut Place) -> Vec<String> {
        let events = stream.read(place, Duration::ZERO);
        let data = |event: &Arc<str>| event.trim_end().rsplit(' ').next().unwrap().to_owned();
        events.iter().map(data).collect()
    }

    #[test]
    fn late_pages_read_what_is_kept_and_slow_ones_miss_what_is_only_shown() {
        let stream = Stream::new("head", &0, 2);
        let (mut early, mut late) = (Place::default(), Place::default());
        assert_eq!(read(&stream, &mut early), ["0"]);
        assert!(read(&stream, &mut early).is_empty());
        stream.keep("kept", &1);
        stream.show("shown", &2);
        stream.show("shown", &3);
        assert_eq!(read(&stream, &mut early), ["1", "3"]);
        assert!(read(&stream, &mut early).is_empty());
        stream.keep("kept", &4);
        assert_eq!(read(&stream, &mut late), ["0", "1", "4"]);
        stream.keep("kept", &5);
        stream.keep("kept", &6);
        stream.keep("kept", &7);
        assert_eq!(read(&stream, &mut early), ["6", "7"], "two are kept");
        stream.show("shown", &8);
        assert_eq!(read(&stream, &mut late), ["6", "7", "8"]);
    }

    #[test]
    fn events_are_as_browsers_read_them() {
        assert_eq!(&*event("a", &["b\nc"]), "event: a\ndata: [\"b\\nc\"]\n\n");
    }
}
