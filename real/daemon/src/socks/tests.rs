use super::*;
use proptest::prelude::*;

const HELLO: &[u8] = &[5, 1, NO_AUTHENTICATION];

/// What the handshake answers and returns to `parts`, one after the other.
fn feed<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, Result<Option<Request>, SocksError>) {
    let (mut handshake, mut answer) = (SocksHandshake::new(), Vec::new());
    for part in parts {
        match handshake.receive(part, &mut answer) {
            Ok(None) => {}
            end => return (answer, end),
        }
    }
    (answer, Ok(None))
}

fn by_name(name: &[u8], port: u16) -> Vec<u8> {
    let mut request = vec![5, CONNECT, 0, NAME, name.len() as u8];
    request.extend_from_slice(name);
    request.extend_from_slice(&port.to_be_bytes());
    request
}

fn wanted(target: &str) -> Request {
    Request {
        target: target.parse().unwrap(),
        isolation: Isolation::default(),
        rest: Vec::new(),
    }
}

#[test]
fn hosts_are_asked_for_by_name_and_by_both_kinds_of_address() {
    let v4 = [5, 1, 0, 1, 192, 0, 2, 1, 0x1f, 0x90];
    let mut v6 = vec![5, 1, 0, 4, 0x20, 1, 0xd, 0xb8];
    v6.extend_from_slice(&[0; 11]);
    v6.extend_from_slice(&[1, 0, 80]);
    for (request, target) in [
        (by_name(b"Example.org", 80), "example.org:80"),
        (by_name(b"192.0.2.1", 80), "192.0.2.1:80"),
        (v4.to_vec(), "192.0.2.1:8080"),
        (v6, "[2001:db8::1]:80"),
    ] {
        let (answer, end) = feed([HELLO, &request]);
        assert_eq!(answer, [5, NO_AUTHENTICATION]);
        assert_eq!(end, Ok(Some(wanted(target))));
    }
}

#[test]
fn a_request_is_understood_byte_by_byte_and_with_data_behind_it() {
    let mut all = [HELLO, &by_name(b"example.org", 443)].concat();
    let (_, end) = feed(all.chunks(1));
    assert_eq!(end, Ok(Some(wanted("example.org:443"))));
    all.extend_from_slice(b"GET /");
    let (_, end) = feed([&all[..]]);
    assert_eq!(end.unwrap().unwrap().rest, b"GET /");
}

#[test]
fn name_and_password_are_preferred_accepted_and_kept_apart() {
    let isolation = |user: &[u8]| {
        let hello = [5, 3, 1, NO_AUTHENTICATION, PASSWORD];
        let (answer, end) = feed([&hello, user, &by_name(b"example.org", 80)]);
        assert_eq!(answer, [5, PASSWORD, 1, 0]);
        end.unwrap().unwrap().isolation
    };
    let alice = isolation(&[1, 1, b'a', 1, b'b']);
    assert_eq!(alice, Isolation::user("a", "b"));
    assert_ne!(alice, isolation(&[1, 2, b'a', b'b', 0]));
    assert_ne!(isolation(&[1, 0, 0]), Isolation::default());
}

#[test]
fn other_commands_are_refused() {
    for command in [0, 2, 3, 0xf0] {
        let mut request = by_name(b"example.org", 80);
        request[1] = command;
        let (answer, end) = feed([HELLO, &request]);
        assert_eq!(end, Err(SocksError::Refused(Reply::CommandNotSupported)));
        assert_eq!(answer[2..], [5, 7, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn hosts_that_cannot_be_are_refused() {
    for (request, reply) in [
        (by_name(b"", 80), Reply::HostUnreachable),
        (by_name(b"exa mple", 80), Reply::HostUnreachable),
        (by_name(b"\xff\xfe", 80), Reply::HostUnreachable),
        (by_name(b"example.org", 0), Reply::HostUnreachable),
        (vec![5, 1, 0, 2], Reply::AddressNotSupported),
    ] {
        let (answer, end) = feed([HELLO, &request]);
        assert_eq!(end, Err(SocksError::Refused(reply)));
        assert_eq!(answer[2..], reply.encode());
    }
}

#[test]
fn other_protocols_and_methods_are_refused() {
    assert_eq!(
        feed([&b"GET / HTTP/1.1\r\n"[..]]),
        (vec![], Err(SocksError::Version(b'G')))
    );
    assert_eq!(
        feed([&[4, 1, 0, 80][..]]),
        (vec![], Err(SocksError::Version(4)))
    );
    assert_eq!(
        feed([&[5, 1, 1][..]]),
        (vec![5, NO_METHOD], Err(SocksError::NoMethod))
    );
    assert_eq!(
        feed([&[5, 0][..]]),
        (vec![5, NO_METHOD], Err(SocksError::NoMethod))
    );
    let (_, end) = feed([&[5, 1, PASSWORD][..], &[5, 0, 0]]);
    assert_eq!(
        end,
        Err(SocksError::Version(5)),
        "the exchange of passwords has its own version"
    );
}

#[test]
fn codes_are_those_of_the_standard() {
    for (code, reply) in Reply::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(reply.code()), code);
        assert_eq!(Reply::from_code(code as u8), reply);
    }
    assert_eq!(Reply::from_code(200), Reply::GeneralFailure);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_are_answered_the_same(
        bytes in proptest::collection::vec(prop_oneof![0..6_u8, any::<u8>()], 0..40),
        size in 1..8_usize,
    ) {
        let whole = feed([&bytes[..]]);
        let pieces = feed(bytes.chunks(size));
        prop_assert_eq!(whole.0, pieces.0);
        match (whole.1, pieces.1) {
            (Ok(Some(whole)), Ok(Some(pieces))) => prop_assert_eq!(whole.target, pieces.target),
            (whole, pieces) => prop_assert_eq!(whole, pieces),
        }
    }
}
