//! What a stream connects to.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The longest name of the Domain Name System, as text (RFC 1035, section 2.3.4).
const LONGEST_NAME: usize = 255;

/// What a stream connects to: a host and a port, written as `example.org:80` or `[::1]:80`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The TCP port, never 0.
    pub port: u16,
}

/// A host, by address or by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// An address; never one of IPv4 in the form of IPv6.
    Address(IpAddr),
    /// A name, which the exit looks up: 1 to 255 letters, digits, hyphens, underscores and dots.
    Name(String),
}

/// A host or port that no stream connects to; the message says what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTarget;

impl fmt::Display for NoTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("allowed is an address or a name and a port from 1, such as example.org:80")
    }
}

impl std::error::Error for NoTarget {}

impl Host {
    /// The host of an address.
    pub fn address(address: IpAddr) -> Self {
        Self::Address(address.to_canonical())
    }

    /// The host that `name` names, which may be an address as text.
    ///
    /// # Errors
    /// If it is neither.
    pub fn name(name: &str) -> Result<Self, NoTarget> {
        if let Ok(address) = name.parse() {
            return Ok(Self::address(address));
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(fits) {
            return Err(NoTarget);
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

impl Target {
    /// This port of this host.
    ///
    /// # Errors
    /// If the port is 0.
    pub fn new(host: Host, port: u16) -> Result<Self, NoTarget> {
        match port {
            0 => Err(NoTarget),
            port => Ok(Self { host, port }),
        }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        Self {
            host: Host::address(address.ip()),
            port: address.port(),
        }
    }
}

impl FromStr for Target {
    type Err = NoTarget;
    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let (host, port) = text.rsplit_once(':').ok_or(NoTarget)?;
        let port = match port.as_bytes() {
            [b'1'..=b'9', ..] => port.parse().map_err(|_| NoTarget)?,
            _ => return Err(NoTarget),
        };
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(inside) => {
                let inside = inside.ok_or(NoTarget)?;
                Host::address(IpAddr::V6(inside.parse().map_err(|_| NoTarget)?))
            }
            None if host.contains(':') => return Err(NoTarget),
            None => Host::name(host)?,
        };
        Self::new(host, port)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port;
        match &self.host {
            Host::Address(address) => SocketAddr::new(*address, port).fmt(f),
            Host::Name(name) => write!(f, "{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_written() {
        for text in [
            "example.org:80",
            "192.0.2.1:443",
            "[2001:db8::1]:65535",
            "a_b.c-d.:1",
        ] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        let upper: Target = "Example.ORG:80".parse().unwrap();
        assert_eq!(upper.to_string(), "example.org:80");
    }

    #[test]
    fn an_address_of_ipv4_in_the_form_of_ipv6_is_one_of_ipv4() {
        let target: Target = "[::ffff:127.0.0.1]:80".parse().unwrap();
        assert_eq!(target.to_string(), "127.0.0.1:80");
    }

    #[test]
    fn nonsense_is_refused() {
        let long = format!("{}:80", "a".repeat(256));
        for text in [
            "",
            ":80",
            "example.org",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+80",
            "example.org:080",
            "exa mple:80",
            "[::1:80",
            "[example.org]:80",
            "[127.0.0.1]:80",
            "exämple:80",
            "a\0b:80",
            &long,
        ] {
            assert_eq!(text.parse::<Target>(), Err(NoTarget), "{text:?}");
        }
        assert!("::1:80".parse::<Target>().is_err(), "IPv6 needs brackets");
    }
}
