//! What a configuration amounts to, together with the keys and the directory that it names.
//!
//! Nothing is sent, made or changed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::accounting::Ledger;
use crate::config::{ClientConfig, Families, RelayConfig, Trace};
use crate::directory::{Directory, Relay, newest};
use crate::keys::KeyStore;
use crate::net::has_route;
use crate::policy::ExitPolicy;
use crate::{Hex, InputError, UnixTime};

/// Public addresses of both families, of a root server of the Domain Name System.
const PUBLIC: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 41, 0, 4)), 53),
    SocketAddr::new(
        IpAddr::V6(Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30)),
        53,
    ),
];

/// What was found of a node that can start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What it is, line by line.
    pub facts: Vec<String>,
    /// What its operator should know before others find out.
    pub warnings: Vec<String>,
}

/// Checks what a relay needs.
///
/// # Errors
/// If the relay cannot start, or could serve nobody.
pub fn relay(config: &RelayConfig, now: UnixTime) -> Result<Findings, InputError> {
    let directory = config.network.load(now)?;
    newest::refuse_older(&config.keys, &directory, &config.network.authority)?;
    let transport = directory.transport.clone();
    transport.weighted(config.weight(), 1)?;
    let mut found = Findings {
        facts: vec![network(&directory), node(config)],
        warnings: Vec::new(),
    };
    let traced = config.trace.as_ref().map(Trace::warnings);
    found.warnings.extend(traced.unwrap_or_default());
    found.warnings.extend(published(config.metrics));
    let exit = config.exit.as_ref();
    let without_route = exit.and_then(|policy| without_route(policy, has_route));
    found.warnings.extend(without_route);
    if let Some(accounting) = config.accounting {
        let standing = Ledger::open(accounting, &config.keys, now)?.standing();
        found.facts.push(format!("accounting: {standing}"));
    }
    if !KeyStore::has_relay(&config.keys)? {
        refuse_new_keys(config, &directory)?;
        let keys = config.keys.display();
        let problem = format!("{keys} has no keys: the relay makes them when it starts");
        found.warnings.push(problem);
        return Ok(found);
    }
    let keys = KeyStore::open(&config.keys)?;
    let fingerprint = Hex(keys.identity()?.fingerprint().to_bytes());
    let onion_key = Hex(keys.onion()?.public().0);
    found.facts.push(format!("fingerprint {fingerprint}"));
    let listed = listing(config, &directory, &(fingerprint, onion_key))?;
    found.facts.extend(listed.facts);
    found.warnings.extend(listed.warnings);
    Ok(found)
}

/// The public keys that a directory lists of a relay: the fingerprint of its certificate, and its onion key.
pub(crate) type ListedKeys = (Hex<32>, Hex<32>);

/// What a directory says of the relay with these keys, and where that is not so.
///
/// # Errors
/// If clients that go by the directory could not use the relay, because it has other keys.
pub(crate) fn listing(
    config: &RelayConfig,
    directory: &Directory,
    (fingerprint, onion_key): &ListedKeys,
) -> Result<Findings, InputError> {
    refuse_others_keys(config, directory, Some(*fingerprint))?;
    let mut found = Findings::default();
    match directory.relay(fingerprint) {
        None => found
            .warnings
            .push("the directory does not list this relay: no client will use it".to_owned()),
        Some(relay) if relay.onion_key != *onion_key => {
            let nickname = &relay.nickname;
            let problem = format!(
                "the directory lists {nickname} with the onion key {}, but its key is {onion_key}",
                relay.onion_key
            );
            return Err(InputError::at("keys", problem));
        }
        Some(relay) => {
            found.facts.push(format!("listed as {}", relay.nickname));
            compare(config, relay, &mut found.warnings);
        }
    }
    Ok(found)
}

/// Refuses to make keys where the directory lists a relay at the same address: most likely the wrong folder is
/// configured.
///
/// # Errors
/// If there is such a relay.
pub(crate) fn refuse_new_keys(
    config: &RelayConfig,
    directory: &Directory,
) -> Result<(), InputError> {
    refuse_others_keys(config, directory, None)
}

/// Refuses keys that are not those of the relay that the directory lists at the same address. `None` are keys that
/// would be made.
fn refuse_others_keys(
    config: &RelayConfig,
    directory: &Directory,
    own: Option<Hex<32>>,
) -> Result<(), InputError> {
    let here = |relay: &&Relay| {
        let mut addresses = relay.addresses();
        addresses.any(|address| config.listen.addresses().contains(&address))
    };
    let listed = directory.relays.iter().find(here);
    let Some(relay) = listed.filter(|relay| Some(relay.fingerprint) != own) else {
        return Ok(());
    };
    let keys = config.keys.display();
    let has = match own {
        Some(own) => format!("has the keys of {own}"),
        None => "has no keys".to_owned(),
    };
    let problem = format!(
        "{keys} {has}, but the directory lists {} at {} with the fingerprint {}",
        relay.nickname, relay.address, relay.fingerprint
    );
    Err(InputError::at("keys", problem))
}

/// Checks what a client needs.
///
/// # Errors
/// If the client cannot start, or has no path to anywhere.
pub fn client(config: &ClientConfig, now: UnixTime) -> Result<Findings, InputError> {
    let directory = config.network.load(now)?;
    let (relays, length) = (directory.relays.len(), usize::from(config.circuits.length));
    if relays < length {
        let problem = format!("{length}: the directory has {relays} relays only");
        return Err(InputError::at("circuits.length", problem));
    }
    let mut found = Findings {
        facts: vec![
            network(&directory),
            format!("client: applications connect to {}", config.socks),
        ],
        warnings: Vec::new(),
    };
    let traced = config.trace.as_ref().map(Trace::warnings);
    found.warnings.extend(traced.unwrap_or_default());
    found.warnings.extend(without_paths(config, &directory));
    found.warnings.extend(published(config.metrics));
    if !config.socks.ip().is_loopback() {
        found.warnings.push(format!(
            "socks: {}: anyone who reaches this address can use the client",
            config.socks
        ));
    }
    Ok(found)
}

/// Of which relays a client's directory has none that it can use. Those at the beginning of a path need an address by
/// which the client may reach them; where a path is one relay, that is its exit.
fn without_paths(config: &ClientConfig, directory: &Directory) -> Vec<String> {
    let with = match config.families {
        Families::Any => "",
        Families::Ipv4 => " with an IPv4 address, which the key families asks for",
        Families::Ipv6 => " with an IPv6 address, which the key families asks for",
    };
    let is_short = config.circuits.length == 1;
    let may_begin = |relay: &Relay| relay.addresses().any(|it| config.families.allow(it));
    let mut relays = directory.relays.iter();
    let no_guard = !is_short && !relays.any(|it| it.guard && may_begin(it));
    let mut relays = directory.relays.iter();
    let no_exit = !relays.any(|it| it.exit.is_some() && (!is_short || may_begin(it)));
    let kinds = [
        (no_guard, "guard", with),
        (no_exit, "exit", if is_short { with } else { "" }),
    ];
    let missing = kinds.into_iter().filter(|(missing, ..)| *missing);
    let texts = missing
        .map(|(_, kind, with)| format!("the directory lists no {kind}{with}: there are no paths"));
    texts.collect()
}

/// What to say of metrics that others than this host can read.
fn published(metrics: Option<SocketAddr>) -> Option<String> {
    let metrics = metrics.filter(|metrics| !metrics.ip().to_canonical().is_loopback())?;
    Some(format!(
        "metrics: {metrics}: anyone who reaches this address can read them, and they leak information about users"
    ))
}

/// What to say of an exit whose policy accepts addresses of a family to which its host has no route: clients come to it in
/// vain. A host without any is taken for one that has none yet, and an exit that may reach private addresses needs none.
fn without_route(policy: &ExitPolicy, has_route: fn(SocketAddr) -> bool) -> Option<String> {
    if policy.allow_private || !PUBLIC.into_iter().any(has_route) {
        return None;
    }
    let accepted = |address: &SocketAddr| policy.may_allow_family(address.is_ipv6());
    let mut accepted = PUBLIC.into_iter().filter(accepted);
    let without = accepted.find(|address| !has_route(*address))?;
    let (family, rule) = if without.is_ipv6() {
        ("IPv6", "reject *6:*")
    } else {
        ("IPv4", "reject *4:*")
    };
    Some(format!(
        "exit.policy: accepts addresses of {family}, to which this host has no route at present: begin it with \"{rule}\""
    ))
}

fn network(directory: &Directory) -> String {
    let guards = directory.relays.iter().filter(|relay| relay.guard).count();
    let exits = directory.relays.iter().filter(|it| it.exit.is_some());
    format!(
        "network {}: transport {}, valid until {}, {} relays ({guards} guards, {} exits)",
        directory.network,
        directory.transport.preset,
        directory.valid_until,
        directory.relays.len(),
        exits.count(),
    )
}

fn node(config: &RelayConfig) -> String {
    let limit = config.bucket.as_ref().map_or_else(
        || "no limit".to_owned(),
        |bucket| format!("{} with bursts of {}", bucket.rate, bucket.burst()),
    );
    format!(
        "relay: listens at {}, {limit}, {} for cells, {}",
        config.listen,
        config.memory,
        if config.exit.is_some() {
            "exit"
        } else {
            "no exit"
        },
    )
}

/// Says where a relay is not what the directory says of it.
fn compare(config: &RelayConfig, listed: &Relay, warnings: &mut Vec<String>) {
    for address in listed.addresses() {
        let reaches = |listen: &SocketAddr| reaches(address, *listen);
        if !config.listen.addresses().iter().any(reaches) {
            warnings.push(format!(
                "the directory lists {} at {address}, but it listens at {}",
                listed.nickname, config.listen
            ));
        }
    }
    if listed.exit != config.exit {
        warnings.push(format!(
            "the directory lists {} with another exit policy: clients go by that",
            listed.nickname
        ));
    }
}

/// Whether what is sent to one address may arrive at the other: behind a translator of addresses
/// the port is all that can be compared.
fn reaches(listed: SocketAddr, listen: SocketAddr) -> bool {
    let any = listen.ip().is_unspecified() && listed.is_ipv6() == listen.is_ipv6();
    listed == listen || any && listed.port() == listen.port()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::network as made_up;

    #[test]
    fn a_client_without_relays_of_its_families_is_told_that_it_has_no_paths() {
        let text = format!(
            "network = {{ directory = 'd', authority = '{}' }}",
            "00".repeat(32)
        );
        let mut config: ClientConfig = text.parse().unwrap();
        let directory = made_up(1, 1, 1);
        assert!(without_paths(&config, &directory).is_empty());
        config.families = Families::Ipv6;
        let no_guard = "the directory lists no guard with an IPv6 address, which the key families asks for: there \
                        are no paths";
        assert_eq!(without_paths(&config, &directory), [no_guard]);
        config.circuits.length = 1;
        let no_exit = no_guard.replace("guard", "exit");
        assert_eq!(without_paths(&config, &directory), [no_exit]);
        config.families = Families::Ipv4;
        assert!(without_paths(&config, &directory).is_empty());
        let mut both = made_up(1, 1, 1);
        both.relays[0].other_address = Some("[2001:db8::1]:9001".parse().unwrap());
        (config.families, config.circuits.length) = (Families::Ipv6, 3);
        assert!(without_paths(&config, &both).is_empty());
        config.families = Families::Any;
        let none = without_paths(&config, &made_up(0, 2, 0));
        assert_eq!(none.len(), 2, "{none:?}");
    }

    #[test]
    fn an_exit_that_accepts_what_it_has_no_route_to_brings_a_warning() {
        let policy = crate::testing::exit(&["accept *:443"]);
        let routes: [fn(SocketAddr) -> bool; 3] = [|_| true, |_| false, |it| it.is_ipv4()];
        let found = routes.map(|has_route| without_route(&policy, has_route));
        let text = "exit.policy: accepts addresses of IPv6, to which this host has no route at present: begin it \
                    with \"reject *6:*\"";
        assert_eq!(found, [None, None, Some(text.to_owned())]);
        let without = crate::testing::exit(&["reject *6:*", "accept *:443"]);
        assert_eq!(without_route(&without, |it| it.is_ipv4()), None);
        let only_v6 = without_route(&policy, |it| it.is_ipv6());
        assert!(only_v6.is_some_and(|text| text.contains("reject *4:*")));
        let private = ExitPolicy {
            allow_private: true,
            ..policy
        };
        assert_eq!(without_route(&private, |it| it.is_ipv4()), None);
    }

    #[test]
    fn metrics_that_others_can_read_bring_a_warning() {
        let warns = |address: &str| published(Some(address.parse().unwrap())).is_some();
        assert!(warns("0.0.0.0:9100") && warns("[::]:9100") && warns("192.0.2.1:9100"));
        assert!(!warns("127.0.0.1:9100") && !warns("[::1]:9100"));
        assert_eq!(published(None), None);
    }
}
