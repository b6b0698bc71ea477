use std::io::ErrorKind;
use std::net::TcpListener;

use hopflow_engine::{Engine, Hop, Via};
use mio::{Poll, Token};
use rustix::io::Errno;

use super::super::reload::exit_limits;
use super::*;
use crate::config::RelayLimits;
use crate::testing::{engine, identity};

const RELAY: ([u8; 4], u16) = ([192, 0, 2, 1], 9001);
const CLIENT: ([u8; 4], u16) = ([198, 51, 100, 1], 5000);
/// Time from one look at both engines to the next, in most tests.
const STEP: Duration = Duration::from_millis(10);

/// An exit with its engine, and the engine of a client with a circuit of this one hop; datagrams between them take
/// no time.
struct Scene {
    now: Instant,
    step: Duration,
    poll: Poll,
    relay: Engine,
    client: Engine,
    exit: Exit,
    hop: Hop,
}

impl Scene {
    fn new(overlay: Overlay) -> Self {
        let (identity, hop) = identity(RELAY.into());
        let poll = Poll::new().unwrap();
        let waker = Arc::new(Waker::new(poll.registry(), Token(0)).unwrap());
        let policy = ExitPolicy {
            rules: vec!["accept *:*".parse().unwrap()],
            allow_private: true,
        };
        let limits = exit_limits(&RelayLimits::default(), 1);
        Self {
            now: Instant::from_nanos(1),
            step: STEP,
            relay: engine("backtap", Some(identity)),
            client: engine("backtap", None),
            exit: Exit::new(Some(policy), Arc::new(overlay), limits, &waker),
            poll,
            hop,
        }
    }

    /// Moves datagrams until there are none; what each side reports meanwhile.
    fn exchange(&mut self) -> (Vec<Event>, Vec<Event>) {
        let (mut at_relay, mut at_client) = (Vec::new(), Vec::new());
        self.now += self.step;
        let now = self.now;
        self.relay.handle_timeout(now);
        self.client.handle_timeout(now);
        loop {
            let before = (at_relay.len(), at_client.len());
            let mut moved = false;
            while let Some((transmit, bytes)) = self.client.poll_datagrams(now, usize::MAX) {
                let from = CLIENT.into();
                self.relay.receive_datagrams(
                    now,
                    Via::Listening(None),
                    from,
                    transmit.segment,
                    bytes,
                );
                moved = true;
            }
            while let Some((transmit, bytes)) = self.relay.poll_datagrams(now, usize::MAX) {
                let from = RELAY.into();
                self.client
                    .receive_datagrams(now, Via::Outgoing, from, transmit.segment, bytes);
                moved = true;
            }
            at_relay.extend(std::iter::from_fn(|| self.relay.poll_event(now)));
            at_client.extend(std::iter::from_fn(|| self.client.poll_event(now)));
            if !moved && before == (at_relay.len(), at_client.len()) {
                return (at_relay, at_client);
            }
        }
    }

    /// Builds a circuit.
    fn build(&mut self) -> CircuitKey {
        let circuit = self.client.build(self.now, vec![self.hop.clone()]);
        self.hear(|event| matches!(event, Event::Built { .. }));
        circuit
    }

    /// Lets time pass until the client hears something; the exit is told nothing.
    fn hear(&mut self, awaited: impl Fn(&Event) -> bool) -> Event {
        for _ in 0..500 {
            let (_, at_client) = self.exchange();
            if let Some(event) = at_client.into_iter().find(&awaited) {
                return event;
            }
        }
        panic!("the client hears nothing of it");
    }

    /// Lets time pass until the client hears the first that a stream brings it; the exit is told nothing.
    fn hear_data(&mut self) -> Vec<u8> {
        let heard = self.hear(|event| matches!(event, Event::Data { .. }));
        let Event::Data { payload, .. } = heard else {
            panic!("{heard:?}");
        };
        payload.data().to_vec()
    }

    /// Lets a second pass in which the exit is told what comes of streams.
    fn settle(&mut self) {
        for _ in 0..100 {
            for event in self.exchange().0 {
                self.tell(|exit, cx| exit.on_event(cx, event));
            }
        }
    }

    /// Begins a stream to a target on a circuit, and tells the exit; the exit's name for it.
    fn begin(&mut self, circuit: CircuitKey, target: SocketAddr) -> StreamHandle {
        let target = target.to_string();
        self.client
            .open_stream(self.now, &[circuit], target.as_bytes())
            .unwrap();
        for _ in 0..500 {
            let (at_relay, _) = self.exchange();
            for event in at_relay {
                if let Event::Begin { stream, .. } = event {
                    self.tell(|exit, cx| exit.on_event(cx, event));
                    return stream;
                }
            }
        }
        panic!("the exit hears of no stream");
    }

    /// Begins a stream whose connection has a place.
    fn begin_to_connect(
        &mut self,
        circuit: CircuitKey,
        target: SocketAddr,
    ) -> (StreamHandle, PlaceKey) {
        let stream = self.begin(circuit, target);
        (stream, self.exit.table.place(stream).unwrap())
    }

    fn tell<T>(&mut self, tell: impl FnOnce(&mut Exit, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx {
            now: self.now,
            engine: &mut self.relay,
            registry: self.poll.registry(),
        };
        tell(&mut self.exit, &mut cx)
    }
}

/// A server that says nothing, and where it is.
fn server() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Whether somebody connects to a server soon.
fn hears(server: &TcpListener) -> bool {
    for _ in 0..20 {
        match server.accept() {
            Ok(_) => return true,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    false
}

#[test]
fn an_exit_that_drains_gives_no_answer_so_that_clients_begin_elsewhere() {
    let mut scene = Scene::new(Overlay::default());
    let circuit = scene.build();
    scene.exit.rest(true);
    let (_listener, address) = server();
    scene.begin(circuit, address);
    let heard = |event: &Event| matches!(event, Event::Data { .. } | Event::Reset { .. });
    let event = scene.hear(heard);
    assert!(matches!(event, Event::Reset { .. }), "{event:?}");
}

#[test]
fn streams_that_the_policy_refuses_count_as_begun() {
    let mut scene = Scene::new(Overlay::default());
    scene.exit.policy = Some(crate::testing::exit(&["reject *:*"]));
    let pace = &mut scene.exit.limits.begins.circuit;
    (pace.per_second, pace.burst) = (1, 2);
    let circuit = scene.build();
    let (_listener, address) = server();
    let unanswered = [(); 3].map(|()| {
        scene.begin(circuit, address);
        scene.exit.turned_away.refused
    });
    assert_eq!(unanswered, [0, 0, 1]);
}

#[test]
fn a_refused_stream_that_its_client_ended_or_broke_off_is_forgotten() {
    let ends: [fn(&mut Engine, Instant, StreamHandle); 2] = [Engine::finish, Engine::close_stream];
    for end in ends {
        let mut scene = Scene::new(Overlay::default());
        scene.exit.policy = Some(crate::testing::exit(&["reject *:*"]));
        let circuit = scene.build();
        let (now, target) = (scene.now, b"192.0.2.7:80");
        let stream = scene.client.open_stream(now, &[circuit], target).unwrap();
        scene.settle();
        assert!(scene.exit.ending.next().is_some());
        end(&mut scene.client, scene.now, stream);
        scene.settle();
        assert_eq!(scene.exit.ending.next(), None);
    }
}

#[test]
fn an_address_without_a_route_does_not_hide_what_came_of_another() {
    // TCP leads to no group of machines.
    let group = SocketAddr::from(([224, 0, 0, 1], 80));
    let before = [
        (None, Reply::NetworkUnreachable),
        (Some(Reply::ConnectionRefused), Reply::ConnectionRefused),
    ];
    for (refusal, told) in before {
        let mut scene = Scene::new(Overlay::default());
        let circuit = scene.build();
        let (_listener, address) = server();
        let (_, place) = scene.begin_to_connect(circuit, address);
        let opening = scene.exit.table.opening(place).unwrap();
        (opening.rest, opening.refusal) = (vec![group], refusal);
        scene.tell(|exit, cx| exit.try_next(cx, place));
        assert_eq!(scene.hear_data(), [told.code()]);
    }
}

#[test]
fn what_came_of_an_address_counts_before_one_without_a_route() {
    let mut scene = Scene::new(Overlay::default());
    let circuit = scene.build();
    let (_listener, address) = server();
    let (_, place) = scene.begin_to_connect(circuit, address);
    let opening = scene.exit.table.opening(place).unwrap();
    let noted = [
        Reply::NetworkUnreachable,
        Reply::ConnectionRefused,
        Reply::NetworkUnreachable,
        Reply::TtlExpired,
    ]
    .map(|refusal| {
        opening.note(refusal);
        opening.refusal.unwrap()
    });
    let told = [
        Reply::NetworkUnreachable,
        Reply::ConnectionRefused,
        Reply::ConnectionRefused,
        Reply::TtlExpired,
    ];
    assert_eq!(noted, told);
}

#[test]
fn a_system_without_ipv6_has_no_route_to_its_addresses() {
    let of = |address: &str, errno: Errno| {
        reply_for_address(address.parse().unwrap(), &io::Error::from(errno))
    };
    for errno in [Errno::NETUNREACH, Errno::ADDRNOTAVAIL, Errno::AFNOSUPPORT] {
        assert_eq!(of("[2001:db8::1]:80", errno), Reply::NetworkUnreachable);
    }
    let no_port_is_left = of("192.0.2.1:80", Errno::ADDRNOTAVAIL);
    assert_eq!(no_port_is_left, Reply::HostUnreachable);
}

#[test]
fn without_descriptors_who_has_most_connections_loses_one_for_a_newcomer() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    /// How many connections there may be.
    static LEFT: AtomicUsize = AtomicUsize::new(2);
    let can_bind = |_| {
        let left = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(1)
        });
        match left {
            Ok(_) => Ok(false),
            Err(_) => {
                // The next one finds what the one that is closed for it leaves.
                LEFT.store(1, Ordering::Relaxed);
                Err(rustix::io::Errno::MFILE.into())
            }
        }
    };
    let mut scene = Scene::new(Overlay {
        refuses_own: true,
        can_bind,
        ..Overlay::default()
    });
    let (heavy, light) = (scene.build(), scene.build());
    let (_listener, address) = server();
    let first = [(); 2].map(|()| scene.begin(heavy, address));
    let newcomer = scene.begin(light, address);
    let is_there = |stream| scene.exit.table.place(stream).is_some();
    assert_eq!(first.map(is_there), [false, true]);
    assert!(is_there(newcomer));
    // Who has as many as others gets none.
    LEFT.store(0, Ordering::Relaxed);
    let refused = scene.begin(light, address);
    assert!(scene.exit.table.place(refused).is_none());
}

#[test]
fn an_address_that_stays_silent_leaves_time_for_the_next() {
    let mut scene = Scene::new(Overlay::default());
    let circuit = scene.build();
    let ((first, silent), (second, answering)) = (server(), server());
    let stream = scene.begin(circuit, silent);
    let place = scene.exit.table.place(stream).unwrap();
    let began = scene.now;
    scene.tell(|exit, cx| exit.try_all(cx, place, &[silent, answering]));
    assert!(hears(&first) && !hears(&second));
    // Half of 20 seconds. The exit is not told that the first address answers.
    scene.now = began + Duration::from_secs(9);
    scene.tell(Role::work);
    assert!(!hears(&second));
    assert!(scene.exit.poll_timeout() <= began + Duration::from_secs(10));
    scene.now = began + Duration::from_secs(10);
    scene.tell(Role::work);
    assert!(hears(&second));
    assert!(scene.exit.table.opening(place).is_some());
    scene.now = began + Duration::from_secs(20);
    scene.tell(Role::work);
    assert!(
        scene.exit.table.opening(place).is_none(),
        "the time is over"
    );
}

#[test]
fn many_addresses_have_two_seconds_each_until_the_time_is_over() {
    let mut scene = Scene::new(Overlay::default());
    let circuit = scene.build();
    let (_listener, address) = server();
    let (_, place) = scene.begin_to_connect(circuit, address);
    let now = scene.now;
    let opening = scene.exit.table.opening(place).unwrap();
    opening.rest = vec![address; 7];
    let lasts = |opening: &Opening| opening.attempt_until(now).saturating_since(now);
    opening.until = now + Duration::from_secs(20);
    assert_eq!(lasts(opening), Duration::from_millis(2500));
    opening.until = now + Duration::from_secs(8);
    assert_eq!(lasts(opening), Duration::from_secs(2));
    opening.until = now + Duration::from_secs(1);
    assert_eq!(lasts(opening), Duration::from_secs(1));
}

/// A server, and what an exit's connection to it is while a client's stream leads there.
struct Served {
    scene: Scene,
    stream: StreamHandle,
    place: PlaceKey,
    /// Until the server is gone.
    socket: Option<std::net::TcpStream>,
}

impl Served {
    /// The client's stream, and the server's connection.
    fn start(idle: Duration) -> Self {
        let mut scene = Scene::new(Overlay::default());
        scene.exit.limits.idle = idle;
        let circuit = scene.build();
        let (listener, address) = server();
        let target = address.to_string();
        let (now, target) = (scene.now, target.as_bytes());
        let stream = scene.client.open_stream(now, &[circuit], target).unwrap();
        let mut begun = None;
        while begun.is_none() {
            for event in scene.exchange().0 {
                if let Event::Begin { stream, .. } = event {
                    begun = Some(stream);
                    scene.tell(|exit, cx| exit.on_event(cx, event));
                }
            }
        }
        let place = scene.exit.table.place(begun.unwrap()).unwrap();
        listener.set_nonblocking(false).unwrap();
        let socket = listener.accept().unwrap().0;
        scene.tell(|exit, cx| exit.on_ready(cx, place, false, true));
        assert!(scene.exit.table.pipe(place).is_some());
        Self {
            scene,
            stream,
            place,
            socket: Some(socket),
        }
    }

    /// Lets the exit and the client go on for so long: how many bytes the client hears, and how its stream ends.
    fn pass(&mut self, span: Duration) -> (usize, Option<&'static str>) {
        let (end, place) = (self.scene.now + span, self.place);
        let (mut heard, mut ended) = (0, None);
        while self.scene.now < end {
            let scene = &mut self.scene;
            let (at_relay, at_client) = scene.exchange();
            for event in at_relay {
                scene.tell(|exit, cx| exit.on_event(cx, event));
            }
            scene.tell(|exit, cx| exit.on_ready(cx, place, true, true));
            while scene.tell(Role::work) {}
            for event in at_client {
                match event {
                    Event::Data { payload, .. } => heard += payload.data().len(),
                    Event::Finished { .. } => ended = Some("finished"),
                    Event::Reset { .. } => ended = Some("reset"),
                    _ => {}
                }
            }
        }
        (heard, ended)
    }

    /// The client says all that its stream takes.
    fn say(&mut self) -> usize {
        let (now, stream) = (self.scene.now, self.stream);
        self.scene.client.write(now, stream, &vec![7; 200_000])
    }

    /// The server reads something, answers, perhaps ends orderly, and is gone before it has read all.
    fn leave(&mut self, answer: usize, end: bool) {
        use std::io::{Read, Write};
        let mut socket = self.socket.take().unwrap();
        socket.read_exact(&mut [0; 100]).unwrap();
        socket.write_all(&vec![1; answer]).unwrap();
        if end {
            socket.shutdown(std::net::Shutdown::Write).unwrap();
        }
        drop(socket);
        // The kernel tells the other end.
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
}

const HOUR: Duration = Duration::from_secs(3600);
/// A step for much data: a window leaves in each.
const SHORT: Duration = Duration::from_millis(1);

#[test]
fn what_a_server_answers_before_it_has_read_all_arrives_before_the_stream_breaks_off() {
    for end in [false, true] {
        let mut served = Served::start(HOUR);
        served.scene.step = SHORT;
        served.say();
        let (reply, _) = served.pass(Duration::from_secs(1));
        assert_eq!(reply, 1);
        served.leave(60_000, end);
        served.say();
        let (heard, ended) = served.pass(Duration::from_secs(1));
        assert_eq!((heard, ended), (60_000, end.then_some("finished")));
        // What the server does not take holds up nothing.
        let mut said = 0;
        for _ in 0..30 {
            said += served.say();
            assert_eq!(served.pass(Duration::from_millis(100)).0, 0);
        }
        assert!(said > 1_000_000, "{said} bytes");
        let (_, ended) = served.pass(Duration::from_secs(2));
        assert_eq!(ended, Some("reset"), "nobody says things into the void");
        assert!(served.scene.exit.table.pipe(served.place).is_none());
    }
}

#[test]
fn a_stream_whose_ends_have_both_ended_is_over_although_the_server_did_not_read_all() {
    let mut served = Served::start(HOUR);
    served.scene.step = SHORT;
    served.say();
    served.pass(Duration::from_secs(1));
    served.leave(1000, true);
    served.say();
    let (heard, ended) = served.pass(Duration::from_secs(1));
    assert_eq!((heard, ended), (1000, Some("finished")));
    let (now, stream) = (served.scene.now, served.stream);
    served.scene.client.finish(now, stream);
    let (_, ended) = served.pass(Duration::from_secs(1));
    assert_eq!(ended, None, "nothing is broken off");
    assert!(served.scene.exit.table.pipe(served.place).is_none());
}

#[test]
fn a_server_that_is_gone_without_a_word_breaks_the_stream_off() {
    let mut served = Served::start(HOUR);
    served.say();
    served.pass(Duration::from_secs(1));
    served.leave(0, false);
    served.say();
    let (_, ended) = served.pass(Duration::from_millis(500));
    assert_eq!(ended, Some("reset"));
}

#[test]
fn a_connection_is_idle_for_as_long_as_the_limit_says_from_its_beginning() {
    let mut served = Served::start(Duration::from_secs(1));
    let (_, ended) = served.pass(Duration::from_secs(2));
    assert_eq!(ended, Some("reset"));
}

#[test]
fn another_limit_on_idle_time_holds_for_connections_that_are_there() {
    let mut served = Served::start(HOUR);
    assert_eq!(served.pass(Duration::from_secs(30)).1, None);
    let exit = &mut served.scene.exit;
    let change = Change {
        directory: Arc::new(crate::testing::network(1, 1, 1)),
        limits: hopflow_engine::Limits::default(),
        told: RelayLimits::default(),
        extend_to: Arc::default(),
        exit: ExitLimits {
            idle: Duration::from_secs(40),
            ..exit.limits
        },
        overlay: Arc::default(),
    };
    exit.change(&change);
    assert_eq!(served.pass(Duration::from_secs(9)).1, None);
    assert_eq!(served.pass(Duration::from_secs(2)).1, Some("reset"));
}

#[test]
fn a_name_for_which_there_is_no_room_is_not_one_that_does_not_exist() {
    let mut scene = Scene::new(Overlay::default());
    let circuit = scene.build();
    let (_listener, address) = server();
    let (stream, place) = scene.begin_to_connect(circuit, address);
    let owner = scene.exit.owners.owner(place).unwrap();
    // The threads that look names up take a few.
    for number in 0..10_000 {
        let name = format!("{number}.invalid");
        scene.tell(|exit, cx| exit.ask(cx, place, (owner, &name), 80));
        if scene.exit.table.place(stream).is_none() {
            break;
        }
    }
    assert_eq!(scene.exit.turned_away.refused, 1);
    assert_eq!(scene.hear_data(), [Reply::GeneralFailure.code()]);
}
