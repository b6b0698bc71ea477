use super::*;
use crate::hex;

fn policy(rules: &[&str]) -> ExitPolicy {
    ExitPolicy {
        rules: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
        allow_private: false,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn target(text: &str) -> Target {
    text.parse().unwrap()
}

#[test]
fn rules_are_read_and_written() {
    for text in [
        "accept *:80",
        "reject *:*",
        "accept *4:443",
        "reject *6:1-1024",
        "reject private:*",
        "accept 192.0.2.1:80",
        "accept 192.0.2.0/24:8000-8999",
        "accept [2001:db8::1]:22",
        "reject [2001:db8::]/32:*",
    ] {
        assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
    }
}

#[test]
fn bits_beyond_a_prefix_mean_nothing() {
    for (text, written) in [
        ("reject 10.1.2.3/8:*", "reject 10.0.0.0/8:*"),
        ("reject 10.0.0.0/0:*", "reject *4:*"),
        ("accept 192.0.2.1/32:80", "accept 192.0.2.1:80"),
        ("reject [2001:db8::1]/32:*", "reject [2001:db8::]/32:*"),
        ("reject [2001:db8::]/0:*", "reject *6:*"),
        ("accept [2001:db8::1]/128:22", "accept [2001:db8::1]:22"),
    ] {
        let rule: Rule = text.parse().unwrap();
        assert_eq!(rule.to_string(), written);
        assert_eq!(written.parse(), Ok(rule), "{text}");
    }
}

#[test]
fn addresses_of_ipv4_are_not_written_as_ones_of_ipv6() {
    for (text, meant) in [
        ("reject [::ffff:192.0.2.0]/120:*", "reject 192.0.2.0/24:*"),
        ("accept [::ffff:192.0.2.1]:80", "accept 192.0.2.1:80"),
        ("reject [::ffff:0:0]/96:*", "reject *4:*"),
    ] {
        let message = text.parse::<Rule>().unwrap_err().to_string();
        assert!(
            message.ends_with(&format!("allowed is \"{meant}\"")),
            "{message}"
        );
    }
    // Of IPv6, too.
    assert!("reject [::]/95:*".parse::<Rule>().is_ok());
}

#[test]
fn what_is_no_rule_is_refused_and_told_what_is_allowed() {
    for text in [
        "",
        "accept",
        "allow *:80",
        "accept *",
        "accept *:0",
        "accept *:90-80",
        "accept *:65536",
        "accept *:+80",
        "accept *:80,443",
        "accept 192.0.2.0/33:80",
        "accept 192.0.2:80",
        "accept 2001:db8::1:22",
        "accept [2001:db8::]/129:22",
        "accept [192.0.2.1]:22",
        "accept example.org:80",
    ] {
        let message = text.parse::<Rule>().unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("\"{text}\": allowed is")),
            "{message}"
        );
    }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let policy = policy(&[
        "reject 1.2.3.0/24:*",
        "accept *:80",
        "accept [2600::]/16:443",
    ]);
    for accepted in ["8.8.8.8:80", "[2600:1::1]:80", "[2600:1::1]:443"] {
        assert_eq!(policy.check(address(accepted)), Ok(()), "{accepted}");
    }
    for rejected in [
        "1.2.3.4:80",
        "8.8.8.8:443",
        "[2601::1]:443",
        "[::ffff:1.2.3.4]:80",
    ] {
        assert_eq!(
            policy.check(address(rejected)),
            Err(PolicyRefusal::Policy),
            "{rejected}"
        );
    }
}

#[test]
fn no_address_is_accepted_without_a_rule_nor_at_port_zero() {
    assert_eq!(
        policy(&[]).check(address("8.8.8.8:80")),
        Err(PolicyRefusal::Policy)
    );
    let open = policy(&["accept *:*"]);
    assert_eq!(open.check(address("8.8.8.8:0")), Err(PolicyRefusal::Policy));
}

#[test]
fn private_and_special_addresses_are_refused_in_every_form() {
    let open = policy(&["accept *:*"]);
    for special in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.19.0.1",
        "198.51.100.1",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "::127.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:10::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        let address = SocketAddr::new(special.parse().unwrap(), 80);
        assert_eq!(
            open.check(address),
            Err(PolicyRefusal::Private),
            "{special}"
        );
    }
    for public in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2600::1",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2003::1",
        "3ffe::1",
        "::ffff:8.8.8.8",
    ] {
        let address = SocketAddr::new(public.parse().unwrap(), 80);
        assert_eq!(open.check(address), Ok(()), "{public}");
    }
}

#[test]
fn private_addresses_are_accepted_where_both_operator_and_policy_say_so() {
    let mut local = policy(&["accept 127.0.0.0/8:8080", "reject private:*", "accept *:80"]);
    assert_eq!(
        local.check(address("127.0.0.1:8080")),
        Err(PolicyRefusal::Private)
    );
    local.allow_private = true;
    assert_eq!(local.check(address("127.0.0.1:8080")), Ok(()));
    assert_eq!(local.check(address("[::ffff:127.0.0.1]:8080")), Ok(()));
    assert_eq!(
        local.check(address("10.0.0.1:80")),
        Err(PolicyRefusal::Policy)
    );
    assert_eq!(local.check(address("8.8.8.8:80")), Ok(()));
}

#[test]
fn of_the_addresses_of_a_name_only_the_allowed_are_used() {
    let open = policy(&["accept *:80"]);
    let (private, public) = (address("10.0.0.1:80"), address("8.8.8.8:80"));
    assert_eq!(open.allowed(&[private, public]), Ok(vec![public]));
    assert_eq!(open.allowed(&[private]), Err(PolicyRefusal::Private));
    assert_eq!(
        open.allowed(&[address("8.8.8.8:25")]),
        Err(PolicyRefusal::Policy)
    );
    assert_eq!(open.allowed(&[]), Ok(vec![]));
}

#[test]
fn who_asks_for_a_name_does_not_learn_of_private_addresses() {
    let mut open = policy(&["accept *:80"]);
    let [private, mapped, public] =
        ["10.0.0.1", "::ffff:10.0.0.1", "8.8.8.8"].map(|it| it.parse().unwrap());
    assert_eq!(open.shown(vec![private, public, mapped]), [public]);
    assert_eq!(open.shown(vec![private]), [] as [IpAddr; 0]);
    open.allow_private = true;
    assert_eq!(open.shown(vec![private, public]), [private, public]);
}

#[test]
fn a_name_may_be_allowed_where_some_address_is() {
    let policy = policy(&[
        "reject 1.2.3.4:80",
        "accept 8.8.8.8:80",
        "reject *:80",
        "accept *:443",
    ]);
    assert!(policy.may_allow(&target("example.org:80")));
    assert!(policy.may_allow(&target("example.org:443")));
    assert!(!policy.may_allow(&target("example.org:22")));
    assert!(policy.may_allow(&target("8.8.8.8:80")));
    assert!(!policy.may_allow(&target("8.8.4.4:80")));
    assert!(!policy.may_allow(&target("127.0.0.1:443")));
}

#[test]
fn special_ranges_are_whole_prefixes() {
    // The digits of the first and the last address of 172.16.0.0/12, and their neighbours.
    for (digits, special) in [
        ("ac0fffff", false),
        ("ac100000", true),
        ("ac1fffff", true),
        ("ac200000", false),
    ] {
        let bytes: [u8; 4] = hex::decode(digits).unwrap().try_into().unwrap();
        assert_eq!(is_special(bytes.into()), special, "{digits}");
    }
}

#[test]
fn a_policy_tells_which_family_it_may_accept() {
    let cases: [(&[&str], bool, bool); 6] = [
        (&["accept *:80"], true, true),
        (&["reject *6:*", "accept *:80"], true, false),
        (&["reject *6:1-1024", "accept *:80"], true, true),
        (
            &["accept *6:443", "reject *:*", "accept *4:80"],
            false,
            true,
        ),
        (&["accept 192.0.2.0/24:80"], true, false),
        (&["accept private:*"], false, false),
    ];
    for (rules, v4, v6) in cases {
        let policy = policy(rules);
        let families = [false, true].map(|family| policy.may_allow_family(family));
        assert_eq!(families, [v4, v6], "{rules:?}");
    }
}
