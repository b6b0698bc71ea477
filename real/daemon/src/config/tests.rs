use super::*;
use hopflow_netem::QueueConfig;
use hopflow_units::Rate;
use hopflow_wire::Carrier;

const AUTHORITY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn relay_text(more: &str) -> String {
    format!(
        "keys = \"keys\"\nlisten = \"0.0.0.0:9001\"\n{more}\n\
         [network]\ndirectory = \"net.toml\"\nauthority = \"{AUTHORITY}\"\n"
    )
}

fn client_text(more: &str) -> String {
    format!("network = {{ directory = \"net.toml\", authority = \"{AUTHORITY}\" }}\n{more}\n")
}

/// What a key's value is answered.
fn refusal<C: Config + std::fmt::Debug>(text: &str) -> String {
    C::parse(text).unwrap_err().to_string()
}

#[test]
fn a_relay_needs_little_and_the_rest_has_defaults() {
    let config = RelayConfig::parse(&relay_text("")).unwrap();
    assert_eq!(config.network.authority.to_string(), AUTHORITY);
    assert_eq!(config.memory, Bytes::new(512 << 20));
    assert_eq!(config.drain, Duration::from_secs(10));
    assert_eq!((config.bucket, config.exit.is_some()), (None, false));
    assert_eq!(config.workers(8), 8);
    // Each has 16 MiB at least.
    assert_eq!(config.workers(200), 32);
}

#[test]
fn a_relay_listens_at_an_address_or_at_one_of_each_family() {
    let config = RelayConfig::parse(&relay_text("")).unwrap();
    let v4: std::net::SocketAddr = "0.0.0.0:9001".parse().unwrap();
    assert_eq!(config.listen, Listen::At(v4));
    let both = relay_text("").replace("\"0.0.0.0:9001\"", "['0.0.0.0:9001', '[::]:9001']");
    let config = RelayConfig::parse(&both).unwrap();
    let v6 = "[::]:9001".parse().unwrap();
    assert_eq!(config.listen.addresses(), [v4, v6]);
    assert_eq!(config.listen.to_string(), "0.0.0.0:9001 and [::]:9001");
    let written = toml::to_string(&config).unwrap();
    assert_eq!(RelayConfig::parse(&written), Ok(config));
}

#[test]
fn a_relay_may_say_everything() {
    let config = RelayConfig::parse(&relay_text(
        "workers = 3
        memory = '1 GiB'
        metrics = '127.0.0.1:9100'
        drain = '1 min'
        bucket = { rate = '1500 kB/s', burst = '3 MB', refill = '10 ms' }
        access = { rate = '100 Mbit/s', weight = 1.5 }
        limits = { circuits = 1000, creates-burst = 50 }
        accounting = { max = '500 GB', start = 'week 3 12:30' }
        exit = { policy = ['accept *:80', 'reject *:*'], allow-private = true }
        link = { rate = '10 Mbit/s', delay = '40 ms', queue = '50 packets', loss = 0.05 }
        trace = { folder = 'trace', what = ['qlog'], circuits = 3, size = '1 MB', time = '5 s' }",
    ))
    .unwrap();
    assert_eq!(config.workers(8), 3);
    assert_eq!(config.bucket.unwrap().burst(), Bytes::new(3_000_000));
    let access = config.access.unwrap();
    assert_eq!(access.rate, Rate::from_megabits_per_sec(100));
    assert_eq!(access.weight, Some(1.5));
    let accounting = config.accounting.unwrap();
    assert_eq!(accounting.max, Bytes::new(500_000_000_000));
    assert_eq!(accounting.start.to_string(), "week 3 12:30");
    let share = config.limits.share(3);
    assert_eq!((share.circuits, share.creates.burst), (334, 50));
    assert_eq!(share.links, 16_384_usize.div_ceil(3));
    assert!(config.exit.as_ref().unwrap().allow_private);
    let model = config.link.as_ref().unwrap().model();
    assert_eq!(model.rate, Some(Rate::from_megabits_per_sec(10)));
    assert_eq!(model.delay, Duration::from_millis(40));
    assert_eq!(model.queue, QueueConfig::drop_tail(50));
    assert_eq!(model.loss, 0.05);
    let trace = config.trace.as_ref().unwrap();
    assert_eq!((&*trace.what, trace.circuits), (&[What::Qlog][..], 3));
    assert_eq!(
        (trace.size.get(), trace.time),
        (1_000_000, Duration::from_secs(5))
    );
    let written = toml::to_string(&config).unwrap();
    assert_eq!(RelayConfig::parse(&written), Ok(config));
}

#[test]
fn a_limited_rate_means_one_worker_and_a_burst_of_a_second() {
    let config = RelayConfig::parse(&relay_text("bucket = { rate = '1500 kB/s' }")).unwrap();
    assert_eq!(config.workers(8), 1);
    assert_eq!(config.bucket.unwrap().burst(), Bytes::new(1_500_000));
    let config = RelayConfig::parse(&relay_text("access = { rate = '1500 kB/s' }")).unwrap();
    assert_eq!((config.workers(8), config.weight()), (1, None));
    let config = RelayConfig::parse(&relay_text("link = { rate = '10 Mbit/s' }")).unwrap();
    assert_eq!(config.workers(8), 1);
}

#[test]
fn burst_and_memory_suffice_for_each_worker() {
    for (more, message) in [
        (
            "workers = 8\nbucket = { rate = '1 MB/s', burst = '4 KiB' }",
            "bucket.burst: 4 KiB: allowed is 4 KiB or more for each worker",
        ),
        (
            "workers = 30\nbucket = { rate = '100 kB/s' }",
            "bucket.burst: 100 kB: allowed is 4 KiB or more for each worker",
        ),
        (
            "workers = 2\nmemory = '31 MiB'",
            "memory: 31 MiB: allowed is 16 MiB or more for each worker",
        ),
    ] {
        let found = refusal::<RelayConfig>(&relay_text(more));
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn values_that_a_relay_cannot_use_are_named() {
    for (more, message) in [
        (
            "workers = 0",
            "workers: 0: allowed is a number from 1 to 256",
        ),
        (
            "memory = '1 MiB'",
            "memory: 1 MiB: allowed is 16 MiB or more",
        ),
        (
            "limits = { nascent-circuits = 0 }",
            "limits.nascent-circuits: 0: allowed is a number from 1 to 1000000",
        ),
        ("limits = { cirucits = 5 }", "limits.cirucits: unknown key"),
        (
            "limits = { connect-timeout = '10 ms' }",
            "limits.connect-timeout: 10 ms: allowed is a time from 1 s to 10000 min",
        ),
        (
            "bucket = { rate = '1 MB/s', burst = '1 kB' }",
            "bucket.burst: 1 kB: allowed",
        ),
        (
            "bucket = { rate = '1 MB/s', refill = '0 s' }",
            "bucket.refill: 0 s: allowed",
        ),
        (
            "link = { loss = 1.0 }",
            "link.loss: 1: allowed is a probability",
        ),
        (
            "link = { loss = nan }",
            "link.loss: NaN: allowed is a probability",
        ),
        (
            "access = { rate = '1 MB/s', weight = -1.0 }",
            "access.weight: -1: allowed is a number from 0 to 100",
        ),
        (
            "access = { weight = 1 }",
            "access: the key \"rate\" is missing",
        ),
        (
            "link = { queue = '0 packets' }",
            "link.queue: \"0 packets\" is no length of a queue; allowed",
        ),
        (
            "link = { delay = '40' }",
            "link.delay: \"40\": has no unit; allowed is a time",
        ),
        (
            "exit = { policy = ['allow *:80'] }",
            "exit.policy[0]: \"allow *:80\": allowed is",
        ),
        (
            "exit = { policies = [] }",
            "exit.policies: unknown key \"policies\"; allowed: policy, allow-private",
        ),
        (
            "colour = 'red'",
            "colour: unknown key \"colour\"; allowed: network, keys",
        ),
    ] {
        let found = refusal::<RelayConfig>(&relay_text(more));
        assert!(found.contains(message), "{found}");
    }
    let port = relay_text("").replace("9001", "0");
    assert!(refusal::<RelayConfig>(&port).starts_with("listen: 0.0.0.0:0: allowed"));
    for (listen, problem) in [
        ("[]", "listen: : allowed is one address"),
        (
            "['1.2.3.4:1', '1.2.3.5:1']",
            "listen: 1.2.3.4:1 and 1.2.3.5:1: allowed",
        ),
        (
            "['1.2.3.4:1', '[::1]:0']",
            "listen: [::1]:0: allowed is an address with a port",
        ),
        ("7", "allowed is an address with a port, or a list"),
        (
            "'somewhere'",
            "allowed is an address with a port, or a list",
        ),
    ] {
        let text = relay_text("").replace("\"0.0.0.0:9001\"", listen);
        let error = refusal::<RelayConfig>(&text);
        assert!(
            error.contains(problem) && error.contains("listen"),
            "{listen}: {error}"
        );
    }
    let key = relay_text("").replace(AUTHORITY, "abc");
    let found = refusal::<RelayConfig>(&key);
    assert!(
        found.contains("network.authority: \"abc\": allowed are 64 hex"),
        "{found}"
    );
    let found = refusal::<RelayConfig>("keys = \"keys\"");
    assert!(found.contains("the key \"network\" is missing"), "{found}");
}

#[test]
fn port_0_is_no_place_where_a_node_is_reached() {
    let allowed = "127.0.0.1:0: allowed is an address with a port from 1";
    for key in ["socks", "metrics"] {
        let found = refusal::<ClientConfig>(&client_text(&format!("{key} = '127.0.0.1:0'")));
        assert!(found.contains(&format!("{key}: {allowed}")), "{found}");
    }
    let found = refusal::<RelayConfig>(&relay_text("metrics = '127.0.0.1:0'"));
    assert!(found.contains(&format!("metrics: {allowed}")), "{found}");
}

#[test]
fn traces_that_a_node_cannot_write_are_named() {
    for (more, message) in [
        (
            "trace = { folder = 'x', what = [] }",
            "trace.what: []: allowed is a list with \"qlog\"",
        ),
        (
            "trace = { folder = 'x', what = ['pcap'] }",
            "trace.what[0]: ",
        ),
        (
            "trace = { folder = 'x', circuits = 0 }",
            "trace.circuits: 0: allowed is a number from 1 to 1000",
        ),
        (
            "trace = { folder = 'x', size = '1 kB' }",
            "trace.size: 1 kB: allowed is 100 kB or more",
        ),
        (
            "trace = { folder = 'x', time = '0 s' }",
            "trace.time: 0 s: allowed is a time longer than zero",
        ),
        (
            "trace = { what = ['qlog'] }",
            "trace: the key \"folder\" is missing",
        ),
    ] {
        let found = refusal::<RelayConfig>(&relay_text(more));
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn a_client_needs_to_know_its_network_only() {
    let config = ClientConfig::parse(&client_text("")).unwrap();
    assert_eq!(config.socks.to_string(), "127.0.0.1:9050");
    assert_eq!(config.circuits, Circuits::default());
    let written = toml::to_string(&config).unwrap();
    assert_eq!(ClientConfig::parse(&written), Ok(config));
}

#[test]
fn a_client_may_say_what_its_access_link_carries() {
    let config = ClientConfig::parse(&client_text("access = { rate = '20 Mbit/s' }")).unwrap();
    let rate = config.access.map(|access| access.rate);
    assert_eq!(rate, Some(Rate::from_megabits_per_sec(20)));
    let weighed = ClientConfig::parse(&client_text("access = { weight = 1 }"));
    let problem = weighed.unwrap_err().to_string();
    assert!(problem.contains("weight"), "{problem}");
}

#[test]
fn values_that_a_client_cannot_use_are_named() {
    for (more, message) in [
        (
            "circuits = { length = 0 }",
            "circuits.length: 0: allowed is a number of relays",
        ),
        (
            "circuits = { length = 9 }",
            "circuits.length: 9: allowed is a number of relays",
        ),
        (
            "circuits = { most = 0, spare = 0 }",
            "circuits.most: 0: allowed is a number of circuits from 1 to 4096",
        ),
        (
            "circuits = { most = 4097 }",
            "circuits.most: 4097: allowed is a number of circuits from 1 to 4096",
        ),
        (
            "circuits = { most = 2, spare = 3 }",
            "circuits.spare: 3: allowed",
        ),
        (
            "circuits = { max-age = '10 ms' }",
            "circuits.max-age: 10 ms: allowed is a time of at least 10 s",
        ),
        (
            "circuits = { build-timeout = '0 s' }",
            "circuits.build-timeout: 0 s: allowed",
        ),
        (
            "socks = 'localhost:9050'",
            "socks: invalid socket address syntax; allowed is an address with a port",
        ),
        (
            "memory = '1 MiB'",
            "memory: 1 MiB: allowed is 16 MiB or more",
        ),
    ] {
        let found = refusal::<ClientConfig>(&client_text(more));
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn paths_are_from_the_folder_of_the_file_which_errors_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("relay.toml");
    std::fs::write(&path, relay_text("")).unwrap();
    let config = RelayConfig::load(&path).unwrap();
    assert_eq!(config.keys, folder.path().join("keys"));
    let missing = config
        .network
        .load(UnixTime::from_secs(0))
        .unwrap_err()
        .to_string();
    let directory = folder.path().join("net.toml");
    assert!(
        missing.starts_with(directory.to_str().unwrap()),
        "{missing}"
    );
    std::fs::write(&path, relay_text("workers = 0")).unwrap();
    let error = RelayConfig::load(&path).unwrap_err().to_string();
    assert!(error.starts_with(path.to_str().unwrap()), "{error}");
}

#[test]
fn the_operators_guide_names_every_key() {
    let guide = include_str!("../../../../docs/overlay.md");
    let full = relay_text(
        "workers = 3
        metrics = '127.0.0.1:9100'
        bucket = { rate = '1500 kB/s', burst = '3 MB', refill = '10 ms' }
        exit = { policy = [] }
        link = { rate = '10 Mbit/s' }",
    );
    let relay = toml::Table::try_from(RelayConfig::parse(&full).unwrap()).unwrap();
    let client = toml::Table::try_from(ClientConfig::parse(&client_text("")).unwrap()).unwrap();
    for (key, value) in relay.into_iter().chain(client) {
        let keys = match value {
            toml::Value::Table(table) => table.keys().map(|sub| format!("`{key}.{sub}`")).collect(),
            _ => vec![format!("`{key}`")],
        };
        for key in keys {
            assert!(guide.contains(&key), "{key}");
        }
    }
}

#[test]
fn the_operators_guide_says_for_every_transport_whether_its_port_is_of_udp_or_tcp() {
    let guide = include_str!("../../../../docs/overlay.md");
    let (_, list) = guide
        .split_once("decides whether the address is a")
        .unwrap();
    let (_, list) = list.split_once("port: UDP for ").unwrap();
    let (udp, rest) = list.split_once("TCP for ").unwrap();
    let (tcp, _) = rest.split_once(';').unwrap();
    let names = |list: &'static str| list.split('`').skip(1).step_by(2);
    let udp = names(udp).map(|name| (name, Carrier::Datagram));
    let listed: Vec<_> = udp
        .chain(names(tcp).map(|name| (name, Carrier::Stream)))
        .collect();
    for preset in hopflow_transports::presets() {
        // Variants are like their base, which is that of the longest name.
        let bases = listed.iter().filter(|(base, _)| {
            let rest = preset.name.strip_prefix(base);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        });
        let base = bases.max_by_key(|(base, _)| base.len());
        assert_eq!(
            base.map(|(_, carrier)| *carrier),
            Some(preset.family.carrier),
            "{}",
            preset.name
        );
    }
}
