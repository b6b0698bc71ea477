//! Real relays and clients, by the metrics that they serve.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock;
use crate::scrape::scrape;
use crate::stream::Stream;

/// Time between two looks at the metrics.
const EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether somebody ends it.
const GLANCE: Duration = Duration::from_millis(100);
/// Looks that are kept: ten minutes.
const MOST_KEPT: usize = 600;
/// Nodes at most: each look opens a connection to each.
const MOST_NODES: usize = 32;
/// Letters of a name at most.
const LONGEST: usize = 32;

/// A node that serves metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    name: Option<String>,
    address: SocketAddr,
}

impl Target {
    /// The node of this name at this address.
    pub fn new(name: impl Into<String>, address: SocketAddr) -> Self {
        let name = Some(name.into());
        Self { name, address }
    }

    fn label(&self) -> String {
        let address = || self.address.to_string();
        self.name.clone().unwrap_or_else(address)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        self.address.fmt(f)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (Some(name.to_owned()), address),
            None => (None, text),
        };
        let fits = |name: &String| {
            let letter = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
            (1..=LONGEST).contains(&name.len()) && name.bytes().all(letter)
        };
        if name.as_ref().is_some_and(|name| !fits(name)) {
            return Err(format!(
                "allowed are names of up to {LONGEST} letters, digits, `-`, `_` and `.`"
            ));
        }
        let address = address.parse().map_err(|_| {
            "allowed is an address with a port, such as 127.0.0.1:9100, with or without a name: \
             guard=127.0.0.1:9100"
                .to_owned()
        })?;
        Ok(Self { name, address })
    }
}

/// Looks at nodes once a second.
#[derive(Clone, Debug)]
pub struct Watch {
    targets: Vec<Target>,
}

impl Watch {
    /// Looks at these nodes.
    ///
    /// # Errors
    /// If there are none or too many, or two have one name.
    pub fn new(targets: Vec<Target>) -> Result<Self, String> {
        let count = targets.len();
        if !(1..=MOST_NODES).contains(&count) {
            return Err(format!("{count} nodes; allowed are 1 to {MOST_NODES}"));
        }
        for (number, target) in targets.iter().enumerate() {
            let label = target.label();
            if targets[..number].iter().any(|it| it.label() == label) {
                return Err(format!("\"{label}\" is there twice; allowed is once"));
            }
        }
        Ok(Self { targets })
    }

    /// The stream that it writes, with the nodes' names in it.
    pub fn stream(&self) -> Arc<Stream> {
        let nodes = self.targets.iter();
        let nodes =
            nodes.map(|it| json!({ "name": it.label(), "address": it.address.to_string() }));
        let head = json!({ "kind": "nodes", "nodes": nodes.collect::<Value>() });
        Arc::new(Stream::new("nodes", &head, MOST_KEPT))
    }

    /// Looks at the nodes until somebody `ends` it.
    pub fn run(&self, stream: &Stream, ends: &dyn Fn() -> bool) {
        let begun = clock::now();
        let mut due = begun;
        while !ends() {
            let now = clock::now();
            if now < due {
                clock::wait(GLANCE.min(due - now));
                continue;
            }
            // Looks that were missed are not made up for.
            due = (due + EVERY).max(now);
            let looks = self.look();
            let at = (now - begun).as_secs_f64();
            stream.keep("sample", &json!({ "at": at, "nodes": looks }));
        }
    }

    /// What all nodes say now; those that do not answer hold up no others.
    fn look(&self) -> Vec<Value> {
        let look = |target: &Target| match scrape(target.address) {
            Ok(metrics) => json!(metrics),
            Err(problem) => json!({ "problem": problem }),
        };
        thread::scope(|scope| {
            let looks = self.targets.iter();
            let looks: Vec<_> = looks.map(|it| scope.spawn(move || look(it))).collect();
            let looks = looks.into_iter();
            looks
                .map(|it| it.join().unwrap_or_else(|_| json!({ "problem": "failed" })))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_addresses_with_or_without_a_name() {
        let target: Target = "guard=127.0.0.1:9100".parse().unwrap();
        assert_eq!(
            target,
            Target::new("guard", "127.0.0.1:9100".parse().unwrap())
        );
        assert_eq!(target.to_string(), "guard=127.0.0.1:9100");
        let target: Target = "[::1]:9100".parse().unwrap();
        assert_eq!(target.label(), "[::1]:9100");
        for wrong in [
            "",
            "guard",
            "localhost:9100",
            "127.0.0.1",
            "a=b=127.0.0.1:1",
        ] {
            let error = wrong.parse::<Target>().unwrap_err();
            assert!(error.contains("127.0.0.1:9100"), "{wrong}: {error}");
        }
        assert!(
            "<b>=127.0.0.1:1"
                .parse::<Target>()
                .unwrap_err()
                .contains("letters")
        );
    }

    #[test]
    fn nodes_have_names_of_their_own() {
        let target = |text: &str| text.parse::<Target>().unwrap();
        let error = Watch::new(vec![target("127.0.0.1:1"), target("127.0.0.1:1")]).unwrap_err();
        assert_eq!(error, "\"127.0.0.1:1\" is there twice; allowed is once");
        let error = Watch::new(Vec::new()).unwrap_err();
        assert_eq!(error, "0 nodes; allowed are 1 to 32");
    }
}
