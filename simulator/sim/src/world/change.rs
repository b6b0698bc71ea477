//! Changes of a world that stands between two windows: what distinguishes the variants of a run that
//! have its beginning in common.

use std::convert::Infallible;

use hopflow_overlay::{ConfigError, Factory};
use hopflow_random::Streams;
use hopflow_units::{Duration, Instant};

use super::schedule::Scheduled;
use super::users::Client;
use super::world::World;
use crate::payload::Simulated;

impl World {
    /// Lets all nodes, which must have one transport, go on with the options of `factory`. What their
    /// gates then let pass leaves at the time at which the world stands.
    ///
    /// # Errors
    /// If the nodes refuse ([`Host::reconfigure`](hopflow_overlay::Host::reconfigure)): nothing has
    /// changed then.
    pub fn reconfigure(&mut self, factory: &dyn Factory<Simulated>) -> Result<(), ConfigError> {
        let now = self.now;
        for partition in &mut self.partitions {
            partition.change_lanes(|lane| {
                for position in 0..=lane.machine.others() {
                    let node = lane.machine.node_mut(position);
                    node.host.reconfigure(now, factory)?;
                    node.wake_by(now);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Lets a user start at `at`, or at once if that is over. Its circuit must have been given a start
    /// behind the end.
    ///
    /// # Panics
    /// If there is no such user.
    pub fn start_user(&mut self, user: u32, at: Duration) {
        let at = (Instant::ZERO + at).max(self.now);
        let mut found = false;
        for partition in &mut self.partitions {
            let started: Result<(), Infallible> = partition.change_lanes(|lane| {
                let of_user = |client: &Client| client.endpoint.user == user;
                if let Some(index) = lane.clients.iter().position(of_user) {
                    lane.schedule.add(at, Scheduled::Request(index as u32));
                    found = true;
                }
                Ok(())
            });
            let Ok(()) = started;
        }
        assert!(found, "user {user} is not there");
    }

    /// Draws anew, from streams of `seed`, all that is drawn from now on: what users fetch, and what
    /// links lose, repeat and delay.
    pub fn reseed(&mut self, seed: u64) {
        let streams = Streams::new(seed);
        for lane in self
            .partitions
            .iter_mut()
            .flat_map(|partition| &mut partition.lanes)
        {
            for client in &mut lane.clients {
                client.reseed(streams.stream("user", client.endpoint.user.into()));
            }
            let number = lane.number.into();
            lane.machine.up.reseed(streams.stream("uplink", number));
            lane.machine.down.reseed(streams.stream("downlink", number));
        }
    }
}
