//! What is said of places and sources that cannot be.

use crate::{assert_refused, circuits, group, parse, population, text};

#[test]
fn messages_about_places_and_sources_say_what_is_allowed() {
    let star = |relay: &str| text(&group("relay", 4, relay), &circuits(1, "{ random = 3 }"));
    assert_refused(
        &star("at = \"europe\""),
        &["network.relays[0].at: a star has one router"],
    );
    let dumbbell =
        |text: &str| text.replace("[network]", "[network]\ntopology = { dumbbell = {} }");
    assert_refused(
        &dumbbell(&star("at = \"asia\"")),
        &[
            "network.relays[0].at: there is no router \"asia\"",
            "allowed: north-america, europe",
        ],
    );
    assert_refused(
        &dumbbell(&star("access = { delay = \"5 ms\" }")),
        &["network.relays[0].access.delay: a dumbbell sets the delays"],
    );
    let path = |path: &str| star("").replace("{ random = 3 }", path);
    assert_refused(
        &path("\"published\""),
        &["circuits[0].path: \"published\" needs a file: network.source = { circuits = FILE }"],
    );
    assert_refused(
        &path("{ tor = 3 }"),
        &[
            "circuits[0].path.tor: needs relays with flags",
            "population = { relays = 100 }",
        ],
    );
    let cross = |to: &str| star("") + &format!("[[network.cross]]\ncount = 1\nto = \"{to}\"\n");
    assert!(parse(&cross("relay-2")).is_ok());
    assert_refused(
        &(dumbbell(&cross("relay-2")) + "access = { delay = \"700 ms\" }\n"),
        &["network.cross[0].access.delay: a dumbbell sets the delays"],
    );
    assert_refused(
        &cross("realy"),
        &["network.cross[0].to: there is no relay \"realy\"; did you mean \"relay\"?"],
    );
    assert_refused(
        &cross("relay"),
        &[
            "network.cross[0].to: \"relay\" is a group of ",
            " relays; allowed is one of them: relay-1 to relay-",
        ],
    );
}

#[test]
fn messages_about_populations_name_key_value_and_what_is_allowed() {
    for (relays, path, parts) in [
        (
            2,
            "{ random = 2 }",
            [
                "network.source.population.relays: 2 is outside",
                "3 to 1000000",
            ],
        ),
        (
            9,
            "{ random = 10 }",
            [
                "circuits[0].path.random",
                "10 relays of 9 cannot be different",
            ],
        ),
        (
            9,
            "{ tor = 2 }",
            [
                "circuits[0].path.tor: 2 is outside",
                "3 (guard, middle, exit) or more",
            ],
        ),
        (
            9,
            "{ tor = 9 }",
            ["circuits[0].path.tor: the 9 relays", "have no path of 9"],
        ),
        (
            3,
            "{ tor = 3 }\nlegs = 2",
            [
                "circuits[0].legs: seed 1: would all be the same path",
                "allowed is a path that draws between them",
            ],
        ),
        (
            9,
            "{ tor = 3, random = 3 }",
            ["circuits[0].path", "exactly one of the keys"],
        ),
        (
            9,
            "{ tor = 3, weighted = true }",
            ["circuits[0].path", "\"weighted\" goes with"],
        ),
        (
            9,
            "{ tro = 3 }",
            ["circuits[0].path.tro: unknown key", "did you mean \"tor\"?"],
        ),
    ] {
        assert_refused(&population(relays, path), &parts);
    }
    assert!(parse(&population(4, "{ tor = 3 }\nlegs = 2")).is_ok());
    let taken = population(9, "{ tor = 3 }").replace(
        "[[circuits]]",
        "[[network.relays]]\nname = \"relay-8\"\nbucket = \"unlimited\"\n[[circuits]]",
    );
    assert_refused(
        &taken,
        &["network.relays[0].name: the name \"relay-8\" is taken"],
    );
    let refill = population(9, "{ tor = 3 }").replace("10 ms", "0 ms");
    assert_refused(&refill, &["network.bucket.refill: is zero"]);
    let rate = |more: &str| {
        let text = population(9, "{ tor = 3 }").replace("refill =", "rate = \"1 MB/s\", refill =");
        text.replace("[[circuits]]", &format!("{more}\n[[circuits]]"))
    };
    assert_refused(&rate(""), &["network.bucket.rate: no relay takes it"]);
    assert!(parse(&rate("[[network.relays]]\nname = \"own\"")).is_ok());
}
