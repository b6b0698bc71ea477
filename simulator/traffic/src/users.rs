//! Users that play what a model draws.

use std::collections::VecDeque;
use std::sync::Arc;

use hopflow_random::Stream;
use hopflow_sim::spec::{Class, Fetch, Session, TrafficModel};
use hopflow_units::{Bytes, Duration};

use crate::model::{Model, Play};
use crate::step::{Object, Step};

/// Users of a class, over one stream each.
///
/// Web users fetch the page and, when they have it, its objects in batches: as many at once as they
/// may. A batch is a request as large as all its requests, and a response as large as all its
/// responses, for they share the one stream. The page with its objects is one download. Bulk users
/// fetch file after file, and each is a download.
#[derive(Clone, Debug)]
pub struct Users {
    model: Arc<Model>,
    class: Class,
    /// Objects that are asked for at once; `None`: all.
    parallel: Option<usize>,
    server: Server,
}

/// How long servers take to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// Mean of the exponentially distributed time.
    pub delay: Duration,
    /// The longest time.
    pub longest: Duration,
}

impl Users {
    /// Users of this class of a model.
    ///
    /// # Panics
    /// If the model has none of the class; see [`Model::has`].
    pub fn new(model: Arc<Model>, class: Class, server: Server) -> Self {
        assert!(model.has(class), "the model has users of the class");
        Self {
            model,
            class,
            parallel: None,
            server,
        }
    }

    /// The users, with so many objects of a page at once; 0 counts as 1. All at once by default, as
    /// in the published traffic.
    pub fn with_parallel(self, parallel: usize) -> Self {
        let parallel = Some(parallel.max(1));
        Self { parallel, ..self }
    }

    /// The fetches of a step.
    fn fetches(&self, step: &Step) -> VecDeque<Fetch> {
        let mut fetches: VecDeque<Fetch> = match self.model.manners(self.class).play {
            Play::Page => self.page(&step.objects),
            Play::Files => files(&step.objects),
        };
        if let Some(last) = fetches.back_mut() {
            last.pause = step.think;
            last.continued = false;
        }
        fetches
    }

    fn page(&self, objects: &[Object]) -> VecDeque<Fetch> {
        let (first, others) = objects.split_at(1);
        let parallel = self.parallel.unwrap_or(others.len()).max(1);
        let batches = std::iter::once(first).chain(others.chunks(parallel));
        batches.map(|batch| fetch(batch, true)).collect()
    }
}

/// Fetches of an object each, with the pauses between them.
fn files(objects: &[Object]) -> VecDeque<Fetch> {
    let gaps = objects[1..].iter().map(|object| object.gap);
    let pauses = gaps.chain([Duration::ZERO]);
    let files = objects.chunks(1).zip(pauses);
    files
        .map(|(file, pause)| Fetch {
            pause,
            ..fetch(file, false)
        })
        .collect()
}

/// A fetch of all these objects; what the server takes is drawn when it is made.
fn fetch(objects: &[Object], continued: bool) -> Fetch {
    let sum = |of: fn(&Object) -> Bytes| objects.iter().map(of).fold(Bytes::ZERO, |a, b| a + b);
    Fetch {
        request: sum(|object| object.request),
        server_delay: Duration::ZERO,
        response: Some(sum(|object| object.response)),
        pause: Duration::ZERO,
        continued,
    }
}

impl TrafficModel for Users {
    fn session(&self) -> Box<dyn Session> {
        Box::new(Playing {
            users: self.clone(),
            next: VecDeque::new(),
        })
    }

    /// Bulk users hardly pause between files.
    fn is_greedy(&self) -> bool {
        self.class == Class::Bulk
    }
}

/// A user and what is left of its step.
#[derive(Clone, Debug)]
struct Playing {
    users: Users,
    next: VecDeque<Fetch>,
}

impl Session for Playing {
    fn next(&mut self, random: &mut Stream) -> Option<Fetch> {
        let users = &self.users;
        if self.next.is_empty() {
            let step = users.model.step(users.class, random);
            self.next = users.fetches(&step);
        }
        let server_delay = random.exponential(users.server.delay);
        let fetch = self.next.pop_front()?;
        Some(Fetch {
            server_delay: server_delay.min(users.server.longest),
            ..fetch
        })
    }
}

#[cfg(test)]
mod tests {
    use hopflow_random::Streams;

    use super::*;

    fn model() -> Arc<Model> {
        let bytes = Model::builtin("copula").unwrap();
        Arc::new(Model::read(bytes, "copula").unwrap())
    }

    fn users(class: Class) -> Users {
        let server = Server {
            delay: Duration::from_millis(20),
            longest: Duration::from_millis(200),
        };
        Users::new(model(), class, server)
    }

    /// The fetches of a user's first step, and the step.
    fn first(users: &Users) -> (Vec<Fetch>, Step) {
        let stream = || Streams::new(3).stream("user", 0);
        let step = users.model.step(users.class, &mut stream());
        let count = users.fetches(&step).len();
        let (mut session, mut random) = (users.session(), stream());
        let fetches = (0..count).map(|_| session.next(&mut random).unwrap());
        (fetches.collect(), step)
    }

    fn total(fetches: &[Fetch]) -> Bytes {
        let sizes = fetches.iter().map(|fetch| fetch.response.unwrap());
        sizes.fold(Bytes::ZERO, |sum, size| sum + size)
    }

    #[test]
    fn a_page_is_one_download_of_the_page_and_then_its_objects() {
        let (fetches, step) = first(&users(Class::Web));
        assert_eq!(fetches.len(), 2);
        assert_eq!(fetches[0].response, Some(step.objects[0].response));
        assert_eq!(total(&fetches), step.total());
        let continued: Vec<_> = fetches.iter().map(|fetch| fetch.continued).collect();
        assert_eq!(continued, [true, false]);
        assert_eq!(
            [fetches[0].pause, fetches[1].pause],
            [Duration::ZERO, step.think]
        );
    }

    #[test]
    fn objects_are_asked_for_in_batches_where_few_may_be_at_once() {
        let (fetches, step) = first(&users(Class::Web).with_parallel(6));
        let objects = step.objects.len() - 1;
        assert_eq!(fetches.len(), 1 + objects.div_ceil(6));
        assert_eq!(total(&fetches), step.total());
        assert!(
            fetches[..fetches.len() - 1]
                .iter()
                .all(|fetch| fetch.continued)
        );
    }

    #[test]
    fn bulk_users_fetch_file_after_file() {
        let users = users(Class::Bulk);
        let (fetches, step) = first(&users);
        assert!(users.is_greedy());
        assert_eq!(fetches.len(), step.objects.len());
        assert!(fetches.iter().all(|fetch| !fetch.continued));
        assert_eq!(fetches.last().unwrap().pause, step.think);
    }
}
