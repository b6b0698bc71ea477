//! One rule of an exit policy, in the form that Tor's have.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::special::is_special;
use crate::read;

/// A rule such as `accept *:80`, `reject 192.0.2.0/24:*` or `accept [2001:db8::]/32:1024-65535`.
///
/// The form is a subset of that of Tor's exit policies (dir-spec, "Exit policy syntax"): addresses
/// are `*`, `*4` and `*6` for all, those of IPv4 and those of IPv6; an address, with or without
/// the length of a prefix, beyond which its bits mean nothing; or `private` for what [`is_special`]
/// tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    accepts: bool,
    addresses: Addresses,
    ports: RangeInclusive<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addresses {
    All,
    Private,
    /// Those of IPv4 with this prefix; its bits beyond are 0.
    V4(Ipv4Addr, u8),
    /// Those of IPv6 with this prefix; its bits beyond are 0.
    V6(Ipv6Addr, u8),
}

/// A text that is no rule of an exit policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRule {
    text: String,
    /// The rule that says what this one means, if it means anything.
    meant: Option<Rule>,
}

impl fmt::Display for NoRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(meant) = &self.meant {
            return write!(
                f,
                "\"{}\": fits nothing, since addresses of IPv4 are judged as such: allowed is \"{meant}\"",
                self.text
            );
        }
        write!(
            f,
            "\"{}\": allowed is `accept` or `reject`, then ADDRESSES:PORTS, where addresses are \
             *, *4, *6, private, 192.0.2.1, 192.0.2.0/24, [2001:db8::1] or [2001:db8::]/32, and \
             ports are *, 80 or 1024-65535",
            self.text
        )
    }
}

impl std::error::Error for NoRule {}

impl Rule {
    /// Whether what fits is accepted.
    pub fn accepts(&self) -> bool {
        self.accepts
    }

    pub(super) fn fits(&self, ip: IpAddr, port: u16) -> bool {
        self.fits_port(port) && self.addresses.hold(ip)
    }

    pub(super) fn fits_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    pub(super) fn fits_all_addresses(&self) -> bool {
        self.addresses == Addresses::All
    }

    /// Whether it is about public addresses of IPv6, or of IPv4.
    pub(super) const fn fits_some_of(&self, v6: bool) -> bool {
        match self.addresses {
            Addresses::All => true,
            Addresses::Private => false,
            Addresses::V4(..) => !v6,
            Addresses::V6(..) => v6,
        }
    }

    /// Whether it fits all addresses and ports of IPv6, or of IPv4.
    pub(super) fn fits_all_of(&self, v6: bool) -> bool {
        let whole = matches!(
            self.addresses,
            Addresses::All | Addresses::V4(_, 0) | Addresses::V6(_, 0)
        );
        whole && self.fits_some_of(v6) && self.ports == (1..=u16::MAX)
    }

    fn parse(text: &str) -> Option<Self> {
        let (verb, pattern) = text.trim().split_once(char::is_whitespace)?;
        let accepts = match verb {
            "accept" => true,
            "reject" => false,
            _ => return None,
        };
        let (addresses, ports) = pattern.trim_start().rsplit_once(':')?;
        Some(Self {
            accepts,
            addresses: Addresses::parse(addresses)?,
            ports: parse_ports(ports)?,
        })
    }
}

impl Addresses {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "*" => return Some(Self::All),
            "*4" => return Some(Self::V4(Ipv4Addr::UNSPECIFIED, 0)),
            "*6" => return Some(Self::V6(Ipv6Addr::UNSPECIFIED, 0)),
            "private" => return Some(Self::Private),
            _ => {}
        }
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(number(length)?)),
            None => (text, None),
        };
        match address.strip_prefix('[') {
            Some(rest) => {
                let length = length.unwrap_or(128);
                let address: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
                let beyond = u128::MAX.checked_shr(length.into()).unwrap_or(0);
                let net = Ipv6Addr::from_bits(address.to_bits() & !beyond);
                (length <= 128).then_some(Self::V6(net, length as u8))
            }
            None => {
                let length = length.unwrap_or(32);
                let address: Ipv4Addr = address.parse().ok()?;
                let beyond = u32::MAX.checked_shr(length.into()).unwrap_or(0);
                let net = Ipv4Addr::from_bits(address.to_bits() & !beyond);
                (length <= 32).then_some(Self::V4(net, length as u8))
            }
        }
    }

    /// The addresses of IPv4 that these are as IPv6 has them (RFC 4291, section 2.5.5.2).
    fn mapped(self) -> Option<Self> {
        match self {
            Self::V6(net, length @ 96..) => Some(Self::V4(net.to_ipv4_mapped()?, length - 96)),
            _ => None,
        }
    }

    fn hold(self, ip: IpAddr) -> bool {
        match (self, ip) {
            (Self::All, _) => true,
            (Self::Private, ip) => is_special(ip),
            (Self::V4(net, length), IpAddr::V4(ip)) => {
                (net.to_bits() ^ ip.to_bits()).leading_zeros() >= u32::from(length)
            }
            (Self::V6(net, length), IpAddr::V6(ip)) => {
                (net.to_bits() ^ ip.to_bits()).leading_zeros() >= u32::from(length)
            }
            (Self::V4(..), IpAddr::V6(_)) | (Self::V6(..), IpAddr::V4(_)) => false,
        }
    }
}

fn parse_ports(text: &str) -> Option<RangeInclusive<u16>> {
    if text == "*" {
        return Some(1..=u16::MAX);
    }
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (number(low)?, number(high)?);
    (1 <= low && low <= high).then_some(low..=high)
}

/// A number without a sign.
fn number(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

impl FromStr for Rule {
    type Err = NoRule;
    fn from_str(text: &str) -> Result<Self, NoRule> {
        let parsed = Self::parse(text);
        let meant = parsed.clone().and_then(|rule| {
            let addresses = rule.addresses.mapped()?;
            Some(Self { addresses, ..rule })
        });
        let text = text.to_owned();
        match parsed {
            Some(rule) if meant.is_none() => Ok(rule),
            _ => Err(NoRule { text, meant }),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.accepts { "accept " } else { "reject " })?;
        match self.addresses {
            Addresses::All => f.write_str("*"),
            Addresses::Private => f.write_str("private"),
            Addresses::V4(_, 0) => f.write_str("*4"),
            Addresses::V4(net, 32) => write!(f, "{net}"),
            Addresses::V4(net, length) => write!(f, "{net}/{length}"),
            Addresses::V6(_, 0) => f.write_str("*6"),
            Addresses::V6(net, 128) => write!(f, "[{net}]"),
            Addresses::V6(net, length) => write!(f, "[{net}]/{length}"),
        }?;
        match (*self.ports.start(), *self.ports.end()) {
            (1, u16::MAX) => f.write_str(":*"),
            (low, high) if low == high => write!(f, ":{low}"),
            (low, high) => write!(f, ":{low}-{high}"),
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::text(deserializer)
    }
}
