//! What users fetch.

use std::fmt::Debug;

use hopflow_random::Stream;
use hopflow_units::{Bytes, Duration};
use hopflow_wire::CELL_DATA;

/// A generator of traffic: what the users of circuits fetch, and when.
///
/// Sessions draw from the stream they are given and nothing else, and never see the network: the
/// `n`-th fetch of a user is the same under every transport.
pub trait TrafficModel: Debug + Send + Sync {
    /// The session of a new user.
    fn session(&self) -> Box<dyn Session>;

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
pub trait Session: Debug + Send {
    /// The next fetch; `None` ends the session.
    fn next(&mut self, random: &mut Stream) -> Option<Fetch>;
}

/// A request from the client, its response from the exit, and the pause behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// Bytes of the request.
    pub request: Bytes,
    /// From the arrival of the whole request at the exit to the response.
    pub server_delay: Duration,
    /// Bytes of the response; `None`: it never ends.
    pub response: Option<Bytes>,
    /// From the last byte of the response to the next request.
    pub pause: Duration,
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
        })
    }
}
