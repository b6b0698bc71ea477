//! Relays and clients as their operators meet them.

mod support;
mod top;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixDatagram;

use support::{Overlay, output, refusal, serve, serve_without_end, success, until};

const AUTHORITY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[test]
fn an_operator_makes_a_network_by_commands_and_an_application_fetches_through_it() {
    let mut overlay = Overlay::start("backtap", &["exit"]);
    let at = overlay.folder.path().to_owned();
    let client = fs::read_to_string(at.join("client.toml")).unwrap();
    let (_, authority) = client.split_once("authority = \"").unwrap();
    let authority = &authority[..64];
    let shown = success(
        &at,
        &[
            "directory",
            "show",
            "directory.toml",
            "--authority",
            authority,
        ],
    );
    for part in [
        "network    test",
        "transport  backtap",
        "guard",
        "middle",
        "exit",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let checked = success(&at, &["relay", "exit.toml", "--check"]);
    assert!(checked.contains("listed as exit\n"), "{checked}");
    assert!(checked.ends_with("exit.toml is valid\n"), "{checked}");
    assert!(!checked.contains("warning"), "{checked}");
    let message = refusal(&at, &["relay", "exit.toml", "--log", "off"]);
    assert!(
        message.contains("cannot listen for links"),
        "a second one: {message}"
    );
    let checked = success(&at, &["client", "client.toml", "--check"]);
    assert!(
        checked.contains("3 relays (1 guards, 1 exits)"),
        "{checked}"
    );

    let server = serve(300_000);
    let mut socket = overlay.connect(server, "one").unwrap();
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 300_000);
    drop(socket);

    let exit = overlay.relays.last().unwrap();
    until("the exit tells of it", || {
        exit.metric("hopflow_cells_sent_total")
            .filter(|it| *it > 600)
    });
    assert_eq!(exit.metric("hopflow_memory_limit_bytes"), Some(512 << 20));
    let page = exit.page("/metrics");
    assert!(
        page.contains("role=\"relay\",network=\"test\",transport=\"backtap\""),
        "{page}"
    );
    let measured = "# TYPE hopflow_transport_base_round_trip_seconds gauge";
    until("the exit tells what the transport measures", || {
        Some(exit.page("/metrics")).filter(|page| page.contains(measured))
    });
    let used = "hopflow_client_circuits{state=\"used\"}";
    until("the client tells of its circuit", || {
        overlay.client.metric(used).filter(|count| *count == 1)
    });
    assert!(exit.page("/").starts_with("HTTP/1.1 404"));

    assert_eq!(overlay.client.terminate(), Some(0));
    for relay in &mut overlay.relays {
        assert_eq!(relay.terminate(), Some(0));
    }
    for name in ["guard", "middle", "exit", "client"] {
        let log = fs::read_to_string(at.join(format!("{name}.log"))).unwrap();
        for line in [
            "starting",
            "network test: transport backtap",
            "running",
            "ending",
            "ended",
        ] {
            assert!(log.contains(line), "{name}: {line}: {log}");
        }
        assert!(
            !log.contains(&server.to_string()),
            "targets are not logged: {log}"
        );
        assert!(!log.contains("WARN"), "{name}: nothing was wrong: {log}");
    }
}

#[test]
fn a_relay_reads_its_limits_again_when_it_is_asked_to() {
    let mut overlay = Overlay::start("backtap", &["exit"]);
    let (file, log) = ["exit.toml", "exit.log"]
        .map(|name| overlay.folder.path().join(name))
        .into();
    let text = fs::read_to_string(&file).unwrap();
    let exit = overlay.relays.last_mut().unwrap();
    let limit = "hopflow_limit{of=\"connections\"}";
    assert_eq!(exit.metric(limit), Some(16_384));
    let set = |value: u32| fs::write(&file, format!("{text}[limits]\nconnections = {value}\n"));
    set(7).unwrap();
    exit.signal("-HUP");
    until("the limit holds", || {
        exit.metric(limit).filter(|it| *it == 7)
    });
    set(0).unwrap();
    exit.signal("-HUP");
    until("the operator hears what is wrong", || {
        let log = fs::read_to_string(&log).unwrap();
        let told = ["nothing has changed", "limits.connections", "1 to 1000000"];
        told.iter().all(|it| log.contains(it)).then_some(())
    });
    assert_eq!(exit.metric(limit), Some(7));
    assert_eq!(exit.terminate(), Some(0));
}

/// What the service manager is told next.
fn told(manager: &UnixDatagram) -> String {
    let mut message = [0; 4096];
    let len = manager.recv(&mut message).unwrap();
    String::from_utf8(message[..len].to_vec()).unwrap()
}

#[test]
fn a_service_manager_hears_of_start_progress_reload_and_end() {
    let mut overlay = Overlay::start("backtap", &["exit"]);
    let at = overlay.folder.path().to_owned();
    let socket = at.join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(support::PATIENCE)).unwrap();
    let exit = overlay.relays.last_mut().unwrap();
    let watchdog = ("WATCHDOG_USEC", "400000");
    exit.restart_in(
        &at,
        &[("NOTIFY_SOCKET", socket.to_str().unwrap()), watchdog],
    );
    let ready = told(&manager);
    let start = "READY=1\nSTATUS=links 0, circuits 0, streams 0, memory held 0 B\n";
    assert_eq!(ready, start);
    for _ in 0..3 {
        assert_eq!(told(&manager), "WATCHDOG=1\n");
    }

    // What comes from here on stands among watchdog messages.
    let next = || {
        until("it is told more", || {
            Some(told(&manager)).filter(|it| it != "WATCHDOG=1\n")
        })
    };
    exit.signal("-HUP");
    let reloading = next();
    let time = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
    assert!(
        time.unwrap().trim().parse::<u64>().unwrap() > 0,
        "{reloading}"
    );
    assert_eq!(
        next(),
        "READY=1\nSTATUS=limits and directory were read again\n"
    );
    fs::write(at.join("exit.toml"), "nonsense").unwrap();
    exit.signal("-HUP");
    assert!(next().starts_with("RELOADING=1\n"));
    let refused = next();
    assert!(
        refused.starts_with("READY=1\nSTATUS=nothing has changed: "),
        "{refused}"
    );
    assert!(refused.contains("exit.toml"), "{refused}");

    assert_eq!(exit.terminate(), Some(0));
    assert!(next().starts_with("STOPPING=1\nSTATUS=ending"));
}

fn survives_a_killed_exit(transport: &str) {
    let mut overlay = Overlay::start(transport, &["exit-one", "exit-two"]);
    let server = serve_without_end();
    let mut socket = overlay.connect(server, "one").unwrap();
    socket.write_all(b"x").unwrap();
    socket.read_exact(&mut vec![0; 1 << 20]).unwrap();
    let carries = |relay: &support::Node| relay.metric("hopflow_streams") == Some(1);
    let place = until("an exit has the stream", || {
        overlay.relays.iter().position(carries)
    });
    overlay.relays[place].kill();
    let mut buffer = vec![0; 1 << 16];
    let error = loop {
        match socket.read(&mut buffer) {
            Ok(0) => panic!("{transport}: it looks as if the server had ended"),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{transport}");
    let server = serve(100_000);
    let mut socket = until("the other exit serves", || {
        overlay.connect(server, "one").ok()
    });
    socket.write_all(b"x").unwrap();
    let mut got = Vec::new();
    socket.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 100_000, "{transport}");
    // The relay before it tells: `middle`, or the other exit where the circuit led over that.
    let names = ["guard", "middle", "exit-one", "exit-two"];
    let failed = format!("a link failed relay=\"{}\"", names[place]);
    until("the relay before it tells of it", || {
        let mut logs = names.iter().map(|name| {
            let log = overlay.folder.path().join(format!("{name}.log"));
            fs::read_to_string(log).unwrap()
        });
        logs.any(|log| log.contains(&failed)).then_some(())
    });
}

#[test]
fn a_client_survives_an_exit_that_is_killed_in_a_transfer_over_datagrams() {
    survives_a_killed_exit("backtap");
}

#[test]
fn a_client_survives_an_exit_that_is_killed_in_a_transfer_over_connections() {
    survives_a_killed_exit("vanilla");
}

#[test]
fn a_check_opens_and_makes_nothing_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = format!(
        "keys = 'keys'\nlisten = '127.0.0.1:1'\n\
         network = {{ directory = 'directory.toml', authority = '{AUTHORITY}' }}\n"
    );
    fs::write(at.join("relay.toml"), &text).unwrap();
    let message = refusal(at, &["relay", "relay.toml", "--check"]);
    assert!(
        message.starts_with("directory.toml: cannot be read"),
        "{message}"
    );
    let message = refusal(at, &["client", "relay.toml", "--check"]);
    assert!(
        message.contains("relay.toml:1: keys: unknown key \"keys\""),
        "{message}"
    );
    assert_eq!(fs::read_dir(at).unwrap().count(), 1, "nothing was made");

    let keygen = success(at, &["directory", "keygen", "authority"]);
    let authority = keygen
        .trim()
        .trim_start_matches("authority = \"")
        .trim_end_matches('"');
    fs::write(at.join("relay.toml"), text.replace(AUTHORITY, authority)).unwrap();
    let entry = success(
        at,
        &["directory", "entry", "relay.toml", "--nickname", "one"],
    );
    fs::write(at.join("one.entry"), entry).unwrap();
    let sign = [
        "directory",
        "sign",
        "one.entry",
        "--keys",
        "authority",
        "--network",
        "n",
    ];
    let sign = |transport: &[&'static str]| [&sign[..], &["--transport"], transport].concat();
    success(
        at,
        &sign(&[
            "backtap",
            "--out",
            "directory.toml",
            "--option",
            "queue-limit=50",
        ]),
    );
    let message = refusal(at, &sign(&["backtap", "--option", "queue-limit=none"]));
    assert!(
        message.starts_with("transport.options.queue-limit: "),
        "{message}"
    );
    let message = refusal(at, &sign(&["baktap"]));
    assert!(message.starts_with("transport.preset: "), "{message}");

    let checked = success(at, &["relay", "relay.toml", "--check"]);
    assert!(checked.contains("listed as one\n"), "{checked}");
    assert!(!checked.contains("TRACING"), "{checked}");
    let traced = fs::read_to_string(at.join("relay.toml")).unwrap();
    let traced = traced + "\n[trace]\nfolder = 'trace'\n";
    fs::write(at.join("traced.toml"), traced).unwrap();
    let checked = success(at, &["relay", "traced.toml", "--check"]);
    assert!(checked.contains("warning: TRACING IS ON: "), "{checked}");
    assert!(!at.join("trace").exists(), "nothing was made");
    let weighted = fs::read_to_string(at.join("relay.toml")).unwrap();
    let weighted = weighted + "\n[access]\nrate = '1 MB/s'\nweight = 1\n";
    fs::write(at.join("weighted.toml"), weighted).unwrap();
    let message = refusal(at, &["relay", "weighted.toml", "--check"]);
    let problem =
        "access.weight: 1: the network's transport, backtap as the directory has it, has no weight";
    assert!(message.contains(problem), "{message}");
    fs::rename(at.join("keys"), at.join("others")).unwrap();
    for options in [
        &["relay", "relay.toml", "--check"][..],
        &["relay", "relay.toml"],
    ] {
        let message = refusal(at, options);
        assert!(
            message.contains("has no keys, but the directory lists one at 127.0.0.1:1"),
            "{message}"
        );
    }
    assert!(!at.join("keys").exists(), "nothing was made");
    let elsewhere = fs::read_to_string(at.join("relay.toml")).unwrap();
    fs::write(at.join("relay.toml"), elsewhere.replace(":1'", ":2'")).unwrap();
    let checked = success(at, &["relay", "relay.toml", "--check"]);
    assert!(
        checked.contains("has no keys: the relay makes them"),
        "{checked}"
    );
    let mut unknown = sign(&["backtap"]);
    unknown[4] = "elsewhere";
    let message = refusal(at, &unknown);
    assert!(
        message.contains("elsewhere has no authority's key"),
        "{message}"
    );
    assert!(!at.join("elsewhere").exists(), "nothing was made");
}

#[test]
fn a_directory_that_was_altered_is_refused_and_so_is_one_of_another_authority() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let network = "network = { directory = 'directory.toml', authority = ";
    let keygen = success(at, &["directory", "keygen", "authority"]);
    let authority = keygen.trim().trim_start_matches("authority = ");
    let text = format!("keys = 'keys'\nlisten = '127.0.0.1:9001'\n{network}{authority} }}\n");
    fs::write(at.join("relay.toml"), text).unwrap();
    let entry = success(
        at,
        &["directory", "entry", "relay.toml", "--nickname", "one"],
    );
    fs::write(at.join("one.entry"), entry).unwrap();
    let signed = success(
        at,
        &[
            "directory",
            "sign",
            "one.entry",
            "--keys",
            "authority",
            "--network",
            "n",
            "--transport",
            "vanilla",
        ],
    );
    let key = authority.trim_matches('"');
    let show = |text: &str, key: &str| {
        fs::write(at.join("directory.toml"), text).unwrap();
        refusal(
            at,
            &["directory", "show", "directory.toml", "--authority", key],
        )
    };
    let message = show(&signed.replace("weight = 1", "weight = 2"), key);
    assert!(message.contains("directory.toml: was altered"), "{message}");
    let message = show(&signed, AUTHORITY);
    assert!(message.contains(&format!(
        "is signed by {key}; allowed is the authority {AUTHORITY}"
    )));
    let body = signed.split("# signed").next().unwrap();
    let message = show(body, key);
    assert!(message.contains("is not signed"), "{message}");
    let output = output(at, &["relay", "relay.toml"]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "a relay does not start with it"
    );
}
