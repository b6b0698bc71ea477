use super::*;

const DAY: u64 = 24 * 60 * 60;
const BEGIN: u64 = 20_000 * DAY;

fn at(secs: u64) -> UnixTime {
    UnixTime::from_secs(secs)
}

fn key(byte: u8) -> AuthorityKey {
    AuthorityKey::from_bytes([byte; 32])
}

fn relay(number: u8) -> Relay {
    Relay {
        nickname: format!("relay-{number}"),
        address: format!("192.0.2.{number}:9001").parse().unwrap(),
        other_address: None,
        fingerprint: Hex([number; 32]),
        onion_key: Hex([number + 100; 32]),
        weight: 1000,
        guard: number == 1,
        family: None,
        exit: (number == 3).then(|| ExitPolicy {
            rules: vec!["accept *:80".parse().unwrap()],
            allow_private: true,
        }),
    }
}

fn directory() -> Directory {
    let transport = TransportChoice {
        preset: "backtap".to_owned(),
        options: toml::Table::new(),
    };
    let mut directory = Directory::new("example", transport, (at(BEGIN), at(BEGIN + DAY)));
    directory.relays = (1..=3).map(relay).collect();
    directory
}

/// What a node says to a directory, signed by the first key, at the beginning of its time.
fn refusal(text: &str) -> String {
    let error = Directory::verify(text, &key(1).id(), at(BEGIN)).unwrap_err();
    error.in_file(Path::new("net.toml")).to_string()
}

#[test]
fn what_is_signed_is_read_back() {
    let text = directory().sign(&key(1)).unwrap();
    let read = Directory::verify(&text, &key(1).id(), at(BEGIN)).unwrap();
    assert_eq!(read, directory());
    assert_eq!(read.relay(&Hex([2; 32])).unwrap().nickname, "relay-2");
    assert!(read.relays[2].may_exit_to(&"127.0.0.1:80".parse().unwrap()));
    assert!(!read.relays[2].may_exit_to(&"127.0.0.1:81".parse().unwrap()));
    assert!(!read.relays[1].may_exit_to(&"127.0.0.1:80".parse().unwrap()));
}

#[test]
fn a_file_is_loaded_and_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.toml");
    std::fs::write(&path, directory().sign(&key(1)).unwrap()).unwrap();
    assert!(Directory::load(&path, &key(1).id(), at(BEGIN)).is_ok());
    let error = Directory::load(&path, &key(2).id(), at(BEGIN)).unwrap_err();
    assert!(
        error.to_string().starts_with(path.to_str().unwrap()),
        "{error}"
    );
}

#[test]
fn every_altered_byte_is_noticed() {
    let text = directory().sign(&key(1)).unwrap();
    for at_byte in 0..text.len() {
        let mut altered = text.clone().into_bytes();
        altered[at_byte] ^= 1;
        let Ok(altered) = String::from_utf8(altered) else {
            continue;
        };
        assert!(
            Directory::verify(&altered, &key(1).id(), at(BEGIN)).is_err(),
            "byte {at_byte} of {}",
            text.len()
        );
    }
    let message = refusal(&text.replace("weight = 1000", "weight = 9000"));
    assert!(
        message.starts_with("net.toml: was altered: the signature of"),
        "{message}"
    );
}

#[test]
fn text_behind_or_before_what_is_signed_is_refused() {
    let text = directory().sign(&key(1)).unwrap();
    let more = "[[relays]]\nnickname = \"evil\"\n";
    assert!(refusal(&(text.clone() + more)).contains("among its signatures"));
    assert!(refusal(&format!("{more}{text}")).contains("was altered"));
}

#[test]
fn a_directory_of_another_authority_or_none_is_refused() {
    let text = directory().sign(&key(2)).unwrap();
    let message = refusal(&text);
    assert!(
        message.contains(&format!("is signed by {}; allowed is", key(2).id())),
        "{message}"
    );
    let body = text.split("# signed").next().unwrap();
    assert!(refusal(body).contains("net.toml: is not signed"));
    assert!(refusal("").contains("is not signed"));
}

#[test]
fn of_several_authorities_one_suffices() {
    let (mine, other) = (
        directory().sign(&key(1)).unwrap(),
        directory().sign(&key(2)).unwrap(),
    );
    let line = mine.lines().last().unwrap();
    let both = format!("{other}{line}\n");
    assert!(Directory::verify(&both, &key(1).id(), at(BEGIN)).is_ok());
    assert!(Directory::verify(&both, &key(2).id(), at(BEGIN)).is_ok());
}

#[test]
fn a_directory_is_valid_in_its_time_only() {
    let text = directory().sign(&key(1)).unwrap();
    let verify = |secs| Directory::verify(&text, &key(1).id(), at(secs)).map(|_| ());
    for valid in [BEGIN - 60, BEGIN, BEGIN + DAY - 1] {
        assert_eq!(verify(valid), Ok(()));
    }
    let early = verify(BEGIN - 61).unwrap_err().to_string();
    assert!(
        early.starts_with("valid-after: is not valid before 2024-10-04T00:00:00Z"),
        "{early}"
    );
    let late = verify(BEGIN + DAY).unwrap_err().to_string();
    assert!(
        late.starts_with("valid-until: expired at 2024-10-05T00:00:00Z"),
        "{late}"
    );
}

#[test]
fn a_directory_that_makes_no_sense_is_neither_signed_nor_taken() {
    type Change = fn(&mut Directory);
    let cases: [(&str, Change); 18] = [
        ("relays[1].weight: 10000000001: allowed is up to", |d| {
            d.relays[1].weight = MOST_WEIGHT + 1;
        }),
        ("version: 2: allowed is 1", |d| d.version = 2),
        ("network: \"a b\": allowed are", |d| {
            d.network = "a b".to_owned();
        }),
        ("valid-until: 2024-10-04T00:00:00Z: allowed is", |d| {
            d.valid_until = d.valid_after;
        }),
        ("transport.preset: \"tcp\" is unknown", |d| {
            d.transport.preset = "tcp".to_owned();
        }),
        ("transport.options.colour:", |d| {
            d.transport
                .options
                .insert("colour".to_owned(), "red".into());
        }),
        (
            "transport.options.weight: 2: the network's transport, joint as the directory has it",
            |d| {
                d.transport.preset = "joint".to_owned();
                d.transport.options = "weight = 2\nhints = false".parse().unwrap();
            },
        ),
        ("relays[1].nickname: \"\": allowed are", |d| {
            d.relays[1].nickname.clear();
        }),
        (
            "relays[1].nickname: relay-1: relays[0] has it already",
            |d| {
                d.relays[1].nickname = "relay-1".to_owned();
            },
        ),
        ("relays[2].fingerprint: 0101", |d| {
            d.relays[2].fingerprint = Hex([1; 32]);
        }),
        ("relays[0].address: 0.0.0.0:9001: allowed is", |d| {
            d.relays[0].address = "0.0.0.0:9001".parse().unwrap();
        }),
        (
            "relays[1].address: [2001:db8::2]:9001: allowed is IPv4",
            |d| {
                d.relays[1].address = "[2001:db8::2]:9001".parse().unwrap();
            },
        ),
        (
            "relays[1].address: [::ffff:192.0.2.2]:9001: allowed is the IPv4 address itself",
            |d| {
                d.relays[1].address = "[::ffff:192.0.2.2]:9001".parse().unwrap();
            },
        ),
        (
            "relays[1].other-address: 192.0.2.9:9001: allowed is an address of the other family",
            |d| d.relays[1].other_address = Some("192.0.2.9:9001".parse().unwrap()),
        ),
        (
            "relays[1].other-address: [2001:db8::2%2]:9001: allowed is an address that others",
            |d| d.relays[1].other_address = Some("[2001:db8::2%2]:9001".parse().unwrap()),
        ),
        (
            "relays[1].other-address: [fe80::1]:9001: allowed is an address that others",
            |d| d.relays[1].other_address = Some("[fe80::1]:9001".parse().unwrap()),
        ),
        ("relays[1].other-address: [::]:9001: allowed is", |d| {
            d.relays[1].other_address = Some("[::]:9001".parse().unwrap());
        }),
        (
            "relays[2].other-address: [2001:db8::2]:9001: relays[1] has it already",
            |d| {
                for relay in &mut d.relays[1..] {
                    relay.other_address = Some("[2001:db8::2]:9001".parse().unwrap());
                }
            },
        ),
    ];
    for (message, change) in cases {
        let mut wrong = directory();
        change(&mut wrong);
        let error = wrong.sign(&key(1)).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
        let signed = key(1).sign_text(toml::to_string(&wrong).unwrap());
        assert!(refusal(&signed).contains(message));
    }
}

#[test]
fn a_relay_may_have_a_second_address_of_the_other_family() {
    let mut both = directory();
    let other = "[2001:db8::2]:443".parse().unwrap();
    both.relays[1].other_address = Some(other);
    let text = both.sign(&key(1)).unwrap();
    let read = Directory::verify(&text, &key(1).id(), at(BEGIN)).unwrap();
    assert_eq!(read, both);
    let addresses: Vec<_> = read.relays[1].addresses().collect();
    assert_eq!(addresses, [both.relays[1].address, other]);
    assert_eq!(read.relays[0].addresses().count(), 1);
}

#[test]
fn unknown_keys_are_refused_where_they_stand() {
    let body = toml::to_string(&directory()).unwrap();
    let wrong = body.replacen("weight = 1000", "wight = 1000", 1);
    let message = refusal(&key(1).sign_text(wrong));
    assert!(message.starts_with("net.toml:"), "{message}");
    assert!(
        message.contains("unknown key \"wight\"; did you mean \"weight\"?"),
        "{message}"
    );
    assert!(message.contains("relays[0]"), "{message}");
}

#[test]
fn an_authority_is_its_seed() {
    let made = AuthorityKey::generate();
    assert_eq!(AuthorityKey::from_bytes(made.to_bytes()).id(), made.id());
    assert_ne!(AuthorityKey::generate().id(), made.id());
    assert!(!format!("{made:?}").contains(&Hex(made.to_bytes()).to_string()));
}

#[test]
fn real_hosts_tolerate_delays_and_refill_buckets_alike_unless_the_directory_says_otherwise() {
    let on_real_hosts = |preset: &str, options: &str| {
        let choice = TransportChoice {
            preset: preset.to_owned(),
            options: options.parse().unwrap(),
        };
        let on_real_hosts = choice.on_real_hosts();
        hopflow_real_hosts::build(preset, &on_real_hosts.options).unwrap();
        on_real_hosts.options
    };
    let both: toml::Table = "tolerance = \"5 ms\"\nrefill = \"4 ms\"".parse().unwrap();
    assert_eq!(on_real_hosts("backtap", ""), both);
    assert_eq!(on_real_hosts("joint", ""), both);
    let options = "tolerance = \"2 ms\"\nrefill = \"10 ms\"";
    assert_eq!(on_real_hosts("backtap", options), options.parse().unwrap());
    // Who tolerates less keeps refills that are more frequent.
    let options = "tolerance = \"2 ms\"";
    assert_eq!(on_real_hosts("joint", options), options.parse().unwrap());
    assert!(on_real_hosts("vanilla", "").is_empty());
}

#[test]
fn workers_share_a_weight_and_a_relays_own_is_before_the_directorys() {
    let choice = |preset: &str, options: &str| TransportChoice {
        preset: preset.to_owned(),
        options: options.parse().unwrap(),
    };
    let weight = |choice: TransportChoice, own, workers| {
        let choice = choice.weighted(own, workers).unwrap();
        let weight = choice.options.get("weight");
        weight.map(|weight| weight.as_float().unwrap())
    };
    let joint = || choice("joint", "weight = 2");
    assert_eq!(weight(joint(), None, 4), Some(0.5));
    assert_eq!(weight(joint(), Some(1.0), 2), Some(0.5));
    assert_eq!(weight(joint(), Some(0.0), 2), None);
    assert_eq!(weight(choice("backtap", ""), None, 2), None);
    assert_eq!(weight(choice("backtap", ""), Some(0.0), 2), None);
    for without in [choice("backtap", ""), choice("joint", "hints = false")] {
        let error = without.weighted(Some(1.0), 1).unwrap_err().to_string();
        assert!(error.contains("access.weight: 1: "), "{error}");
    }
}

#[test]
fn a_port_counts_that_exits_with_half_of_the_weight_allow() {
    let mut directory = directory();
    let other = ExitPolicy {
        rules: vec!["accept *:443".parse().unwrap()],
        allow_private: false,
    };
    directory.relays[1].exit = Some(other);
    let allow =
        |directory: &Directory| [80, 443, 6666].map(|port| directory.most_may_exit_to_port(port));
    assert_eq!(allow(&directory), [true, true, false]);
    directory.relays[1].weight = 1001;
    assert_eq!(allow(&directory), [false, true, false]);
}
