//! Changes of a world that stands at one time: what distinguishes the variants of a run that have its
//! beginning in common.

use std::collections::BTreeMap;
use std::convert::Infallible;

use hopflow_overlay::{ConfigError, Factory};
use hopflow_random::Streams;
use hopflow_units::{Duration, Instant};

use super::schedule::Scheduled;
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

    /// Lets each of these users start at its time, or at once if that is over. Their circuits must have
    /// been given a start behind the end.
    ///
    /// # Panics
    /// If one of them is not there.
    pub fn start_users(&mut self, users: &[(u32, Duration)]) {
        if users.is_empty() {
            return;
        }
        let mut waiting: BTreeMap<u32, Duration> = users.iter().copied().collect();
        let now = self.now;
        for partition in &mut self.partitions {
            let started: Result<(), Infallible> = partition.change_lanes(|lane| {
                for (index, client) in (0..).zip(&lane.clients) {
                    if let Some(at) = waiting.remove(&client.endpoint.user) {
                        let at = (Instant::ZERO + at).max(now);
                        lane.schedule.add(at, Scheduled::Request(index));
                    }
                }
                Ok(())
            });
            let Ok(()) = started;
        }
        let missing = waiting.keys().next();
        assert!(missing.is_none(), "user {missing:?} is not there");
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
