//! What changes in relays that run.

use std::io::Read;
use std::net::SocketAddr;

use hopflow_daemon::net::calendar_time;
use hopflow_units::{Bytes, Duration};

use crate::support::{EVERYTHING, Overlay, ask, serve, until};

/// A connection of a client without circuits, which is kept; or the code of the refusal.
pub(crate) fn connects_anew(overlay: &Overlay, server: SocketAddr) -> Result<(), u8> {
    let (client, socks) = overlay.another_client();
    let mut target = vec![1, 127, 0, 0, 1];
    target.extend(server.port().to_be_bytes());
    let asked = ask(socks, &target, "new").map(drop);
    client.end().unwrap();
    asked
}

#[test]
fn limits_change_and_connections_stay() {
    let overlay = Overlay::start("backtap");
    let silent = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let kept = [(); 2].map(|()| overlay.connect_as(silent, "many").unwrap());
    let exit = 2;
    let set = |most| overlay.reload(exit, |config| config.limits.connections_per_circuit = most);
    set(2).unwrap();
    let refused = || overlay.connect_as(silent, "many").is_err();
    until("the limit holds", refused);
    until("who was there stays", || overlay.exit().streams == 2);
    set(3).unwrap();
    until("it holds no more", || !refused());
    drop(kept);
    overlay.end();
}

#[test]
fn circuits_are_extended_to_the_relays_of_the_directory_that_was_read_last() {
    let quick = "stream-timeout = \"2 s\"\n";
    let overlay = Overlay::start_all("backtap", EVERYTHING, quick);
    let server = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let kept = overlay.connect(server);
    let mut exit = None;
    overlay.sign_anew(|directory| exit = directory.relays.pop());
    let reload = || overlay.reload(1, |_| ()).unwrap();
    reload();
    // Clients still know the exit.
    overlay.sign_anew(|directory| directory.relays.extend(exit));
    assert!(connects_anew(&overlay, server).is_err());
    reload();
    assert_eq!(connects_anew(&overlay, server), Ok(()));
    drop(kept);
    overlay.end();
}

/// Whether a client is refused a connection for each of many users, which take new circuits.
fn refuses_new_users(socks: SocketAddr, server: SocketAddr) -> impl FnMut() -> bool {
    let mut target = vec![1, 127, 0, 0, 1];
    target.extend(server.port().to_be_bytes());
    let mut users = 0;
    move || {
        users += 1;
        ask(socks, &target, &format!("user {users}")).is_err()
    }
}

/// Signs a directory that is valid for so many seconds.
fn sign_for(overlay: &Overlay, seconds: u64) {
    overlay.sign_anew(|directory| {
        directory.valid_until = calendar_time().after(Duration::from_secs(seconds));
    });
}

#[test]
fn a_client_builds_no_circuits_by_a_directory_that_has_expired() {
    let quick = "stream-timeout = \"2 s\"\n";
    let overlay = Overlay::start_all("backtap", EVERYTHING, quick);
    let server = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    sign_for(&overlay, 3);
    let (client, socks) = overlay.another_client();
    let mut refused = refuses_new_users(socks, server);
    assert!(!refused());
    until("its circuits are used", refused);
    client.end().unwrap();
    let mut refused = refuses_new_users(overlay.socks, server);
    assert!((0..5).all(|_| !refused()), "the other's directory is valid");
    overlay.end();
}

#[test]
fn a_relay_extends_no_circuits_by_a_directory_that_has_expired() {
    let quick = "stream-timeout = \"2 s\"\n";
    let overlay = Overlay::start_all("backtap", EVERYTHING, quick);
    let server = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let kept = overlay.connect(server);
    sign_for(&overlay, 2);
    overlay.reload(0, |_| ()).unwrap();
    let refused = refuses_new_users(overlay.socks, server);
    until("the client finds no circuit", refused);
    drop(kept);
    overlay.end();
}

#[test]
fn limits_change_although_the_directory_has_expired() {
    let overlay = Overlay::start("backtap");
    let silent = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let kept = overlay.connect_as(silent, "many").unwrap();
    let (exit, end) = (2, calendar_time().after(Duration::from_secs(2)));
    overlay.sign_anew(|directory| directory.valid_until = end);
    overlay.reload(exit, |_| ()).unwrap();
    until("the directory has expired", || calendar_time() >= end);
    let set = |most| overlay.reload(exit, |config| config.limits.connections_per_circuit = most);
    set(1).unwrap();
    until("the limit holds", || {
        overlay.connect_as(silent, "many").is_err()
    });
    // One that expired before the relay read it is none that it used.
    let error = overlay.reload(1, |_| ()).unwrap_err().to_string();
    assert!(error.contains("expired at"), "{error}");
    drop(kept);
    overlay.end();
}

#[test]
fn an_older_directory_is_refused() {
    let overlay = Overlay::start("backtap");
    let mut after = None;
    overlay.sign_anew(|directory| {
        after = Some(directory.valid_after);
        directory.valid_after = directory.valid_after.after(Duration::from_secs(1));
    });
    overlay.reload(0, |_| ()).unwrap();
    overlay.sign_anew(|directory| directory.valid_after = after.unwrap());
    let error = overlay.reload(0, |_| ()).unwrap_err().to_string();
    assert!(error.contains("valid-after"), "{error}");
    assert!(overlay.reload(1, |_| ()).is_ok(), "it used no newer one");
    overlay.end();
}

#[test]
fn a_directory_that_lists_another_onion_key_is_refused() {
    let mut overlay = Overlay::start("backtap");
    let (exit, mut listed) = (2, None);
    overlay.sign_anew(|directory| {
        let key = &mut directory.relays[exit].onion_key;
        listed = Some(*key);
        key.0[0] ^= 1;
    });
    let error = overlay.reload(exit, |_| ()).unwrap_err().to_string();
    assert!(error.contains("onion key"), "{error}");
    let error = overlay.try_restart(exit).unwrap_err().to_string();
    assert!(error.contains("onion key"), "{error}");
    overlay.sign_anew(|directory| directory.relays[exit].onion_key = listed.unwrap());
    overlay.try_restart(exit).unwrap();
    overlay.end();
}

#[test]
fn what_cannot_change_is_refused_with_its_key_and_nothing_changes() {
    let overlay = Overlay::start("backtap");
    let refused = |change: fn(&mut hopflow_daemon::config::RelayConfig)| {
        overlay.reload(0, change).unwrap_err().to_string()
    };
    let error = refused(|config| config.memory = Bytes::new(64 << 20));
    assert!(error.contains("memory"), "{error}");
    let error = refused(|config| config.network.directory.push("none"));
    assert!(error.contains("none"), "{error}");
    overlay.sign_anew(|directory| directory.transport.preset = "vanilla".to_owned());
    let error = refused(|_| ());
    assert!(error.contains("transport"), "{error}");
    overlay.end();
}

/// Relays of two families, whose directory has the other address of each first since they were started.
fn start_and_swap(preset: &str) -> Option<Overlay> {
    let Some(overlay) = Overlay::start_with_v6(preset) else {
        eprintln!("skipped: this machine has no ::1");
        return None;
    };
    overlay.sign_anew(|directory| {
        for relay in &mut directory.relays {
            let other = relay.other_address.replace(relay.address);
            relay.address = other.unwrap();
        }
    });
    Some(overlay)
}

#[test]
fn over_datagrams_relays_of_the_other_family_are_refused_until_a_restart() {
    let Some(mut overlay) = start_and_swap("backtap") else {
        return;
    };
    let server = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    let error = overlay.reload(0, |_| ()).unwrap_err().to_string();
    assert!(error.contains("directory.toml"), "{error}");
    let what = "relays[0].address: [::1]:";
    assert!(error.contains(what) && error.contains("IPv4"), "{error}");
    overlay.connect_as(server, "nothing has changed").unwrap();
    (0..3).for_each(|relay| overlay.restart(relay));
    assert_eq!(connects_anew(&overlay, server), Ok(()));
    // A directory without relays is of either family.
    let mut relays = Vec::new();
    overlay.sign_anew(|directory| relays = std::mem::take(&mut directory.relays));
    overlay.reload(1, |_| ()).unwrap();
    overlay.sign_anew(|directory| directory.relays = relays);
    overlay.reload(1, |_| ()).unwrap();
    overlay.end();
}

#[test]
fn over_connections_relays_of_the_other_family_are_reached() {
    let Some(overlay) = start_and_swap("vanilla") else {
        return;
    };
    let server = serve(|mut socket| drop(socket.read(&mut [0; 9])));
    (0..3).for_each(|relay| overlay.reload(relay, |_| ()).unwrap());
    assert_eq!(connects_anew(&overlay, server), Ok(()));
    overlay.end();
}
