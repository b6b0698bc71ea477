//! Which addresses are not ordinary public ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Prefixes of IPv4 that are not global unicast: IANA's IPv4 special-purpose address registry
/// (RFC 6890), multicast (RFC 5771) and the former class E (RFC 1112).
const SPECIAL_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Azure's platform answers every virtual machine there, about itself.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// What IANA has allocated for global unicast of IPv6 (RFC 4291, section 2.4): all else is special,
/// among it loopback, link-local, unique local, multicast and the prefixes of NAT64.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Special prefixes within it: protocol assignments, among them Teredo (RFC 2928), documentation
/// (RFC 3849, RFC 9637), and 6to4 (RFC 3056), which may hold any address of IPv4.
const SPECIAL_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether `ip` is anything but an ordinary public address: private, local, loopback, multicast,
/// reserved, for documentation, or one that holds an address of another kind.
pub fn is_special(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => SPECIAL_V4
            .iter()
            .any(|&(net, length)| (net.to_bits() ^ ip.to_bits()).leading_zeros() >= length),
        IpAddr::V6(ip) => {
            let within = |(net, length): (Ipv6Addr, u32)| {
                (net.to_bits() ^ ip.to_bits()).leading_zeros() >= length
            };
            !within(GLOBAL_V6) || SPECIAL_V6.into_iter().any(within)
        }
    }
}
