//! What users fetch.

use std::fmt::Debug;

use dyn_clone::DynClone;
use hopflow_overlay::Direction;
use hopflow_random::Stream;
use hopflow_units::{Bytes, Duration};
use hopflow_wire::CELL_DATA;

/// A generator of traffic: what the users of circuits fetch, and when.
///
/// Sessions draw from the random stream that they get and from nothing else, and never see the network: the
/// `n`-th fetch of a user is the same under every transport.
pub trait TrafficModel: Debug + Send + Sync {
    /// The session of a new user.
    fn session(&self) -> Box<dyn Session>;

    /// The direction of the data that results are about: what is downloaded, unless the model says
    /// otherwise.
    fn measured(&self) -> Direction {
        Direction::Backward
    }

    /// Whether a user fetches without pause, so that its circuit takes what it can get.
    fn is_greedy(&self) -> bool;

    /// Checks the model's parameters.
    ///
    /// # Errors
    /// What is wrong with them.
    fn validate(&self) -> Result<(), String> {
        Ok(())
    }
}

/// What one user does, fetch after fetch.
pub trait Session: DynClone + Debug + Send {
    /// The next fetch; `None` ends the session.
    fn next(&mut self, random: &mut Stream) -> Option<Fetch>;

    /// What the latest fetch is part of, for users that visit pages which results distinguish.
    fn page(&self) -> Option<Page> {
        None
    }
}

dyn_clone::clone_trait_object!(Session);

/// The page that a fetch is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Which page it is.
    pub page: u32,
    /// Which of the times that the page was loaded is played.
    pub instance: u32,
    /// Whether the fetch is the first of the visit.
    pub begins: bool,
}

/// A request from the client, its response from the exit, and the pause behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Bytes of the request; [`Fetch::ENDLESS`]: it never ends.
    pub request: Bytes,
    /// From the arrival of the whole request at the exit to the response.
    pub server_delay: Duration,
    /// Bytes of the response; `None`: it never ends.
    pub response: Option<Bytes>,
    /// From the last byte of the response to the next request.
    pub pause: Duration,
    /// Whether the next fetch belongs to the same download, as the objects of a page do: results
    /// have one row for all of them, from the first request to the last byte.
    pub continued: bool,
}

impl Fetch {
    /// More than any simulation transfers.
    pub const ENDLESS: Bytes = Bytes::new(1 << 62);

    /// Bytes that are transferred in a direction.
    pub const fn size(&self, direction: Direction) -> Bytes {
        match (direction, self.response) {
            (Direction::Forward, _) => self.request,
            (Direction::Backward, Some(response)) => response,
            (Direction::Backward, None) => Self::ENDLESS,
        }
    }
}

/// Fetches of one size with uniformly distributed pauses: bulk and web users as the papers have
/// them (BackTap, section 4).
///
/// A request is one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Size of a response; `None`: one response without end.
    pub response: Option<Bytes>,
    /// Pause after a response, drawn uniformly between the two.
    pub think: (Duration, Duration),
    /// Mean of the exponentially distributed time that the server takes to answer.
    pub server_delay: Duration,
    /// Longest time that the server takes to answer.
    pub server_delay_max: Duration,
}

impl TrafficModel for Workload {
    fn session(&self) -> Box<dyn Session> {
        Box::new(*self)
    }

    fn is_greedy(&self) -> bool {
        self.response.is_none() || self.think.1.is_zero()
    }

    fn validate(&self) -> Result<(), String> {
        let (low, high) = self.think;
        if low > high {
            return Err(format!("thinks from {low} to {high}, backwards"));
        }
        Ok(())
    }
}

impl Session for Workload {
    fn next(&mut self, random: &mut Stream) -> Option<Fetch> {
        let server_delay = random.exponential(self.server_delay);
        Some(Fetch {
            request: Bytes::new(CELL_DATA as u64),
            server_delay: server_delay.min(self.server_delay_max),
            response: self.response,
            pause: random.uniform(self.think.0, self.think.1),
            continued: false,
        })
    }
}

/// A workload with requests of another size than a cell, and for users that upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// All but the requests.
    pub workload: Workload,
    /// Size of a request; `None`: one request without end.
    pub request: Option<Bytes>,
    /// The direction of the data that results are about.
    pub measured: Direction,
}

impl TrafficModel for Exchange {
    fn session(&self) -> Box<dyn Session> {
        Box::new(*self)
    }

    fn measured(&self) -> Direction {
        self.measured
    }

    fn is_greedy(&self) -> bool {
        match self.measured {
            Direction::Forward => self.request.is_none() || self.workload.think.1.is_zero(),
            Direction::Backward => self.workload.is_greedy(),
        }
    }

    fn validate(&self) -> Result<(), String> {
        if self.request.is_some_and(Bytes::is_zero) {
            return Err("sends empty requests".to_owned());
        }
        self.workload.validate()
    }
}

impl Session for Exchange {
    fn next(&mut self, random: &mut Stream) -> Option<Fetch> {
        let fetch = self.workload.next(random)?;
        let request = self.request.unwrap_or(Fetch::ENDLESS);
        Some(Fetch { request, ..fetch })
    }
}
