//! An exit: streams that clients begin are connected to servers.

use std::net::SocketAddr;
use std::sync::Arc;

use hopflow_node::{Event, StreamHandle};
use mio::Waker;
use mio::net::TcpStream;

use super::pipe::Pipe;
use super::resolver::Resolver;
use super::role::{Cx, Entry, Role, Table};
use crate::policy::ExitPolicy;
use crate::socks::Reply;
use crate::{Host, Target};

/// A relay's worker; without a policy it is no exit and breaks off what clients begin.
#[derive(Debug)]
pub(super) struct Exit {
    policy: Option<ExitPolicy>,
    resolver: Option<Resolver>,
    table: Table<Opening>,
    draining: bool,
}

/// A stream without a connection.
#[derive(Debug)]
struct Opening {
    stream: StreamHandle,
    /// Which question to the resolver is about it: places are used again.
    question: u64,
    /// What is tried at present.
    socket: Option<TcpStream>,
    /// What may be tried after it.
    rest: Vec<SocketAddr>,
}

impl Exit {
    pub(super) fn new(policy: Option<ExitPolicy>, waker: &Arc<Waker>) -> Self {
        Self {
            resolver: policy.as_ref().map(|_| Resolver::start(waker)),
            policy,
            table: Table::default(),
            draining: false,
        }
    }

    fn begin(&mut self, cx: &mut Cx<'_>, stream: StreamHandle, target: &[u8]) {
        let target = std::str::from_utf8(target).ok();
        let target = target.and_then(|target| target.parse::<Target>().ok());
        let allowed = target.filter(|target| {
            let policy = self.policy.as_ref();
            policy.is_some_and(|policy| policy.may_allow(target)) && !self.draining
        });
        let Some(target) = allowed else {
            return refuse(cx, stream, Reply::NotAllowed);
        };
        let question = stream_number(stream);
        let place = self.table.add(Opening {
            stream,
            question,
            socket: None,
            rest: Vec::new(),
        });
        self.table.name(place, stream);
        match target.host {
            Host::Address(address) => {
                self.try_all(cx, place, &[SocketAddr::new(address, target.port)]);
            }
            Host::Name(name) => {
                if let Some(resolver) = &self.resolver {
                    resolver.ask((place as u64) << 32 | question, &name, target.port);
                }
            }
        }
    }

    /// Addresses of a target are known: connects to the first that the policy allows.
    fn try_all(&mut self, cx: &mut Cx<'_>, place: usize, addresses: &[SocketAddr]) {
        let refusal = match (&self.policy, addresses) {
            (None, _) => Reply::NotAllowed,
            (_, []) => Reply::HostUnreachable,
            (Some(policy), addresses) => match policy.allowed(addresses) {
                Err(_) => Reply::NotAllowed,
                Ok(allowed) => {
                    if let Some(opening) = self.table.opening(place) {
                        opening.rest = allowed;
                        opening.rest.reverse();
                    }
                    return self.try_next(cx, place, Reply::HostUnreachable);
                }
            },
        };
        self.give_up(cx, place, refusal);
    }

    /// Connects to the next address, or tells the client why none was left.
    fn try_next(&mut self, cx: &mut Cx<'_>, place: usize, mut refusal: Reply) {
        while let Some(opening) = self.table.opening(place) {
            opening.socket = None;
            let Some(address) = opening.rest.pop() else {
                return self.give_up(cx, place, refusal);
            };
            let connecting = TcpStream::connect(address).and_then(|mut socket| {
                let (token, interest) = (
                    Table::<Opening>::token(place),
                    Table::<Opening>::interest(),
                );
                cx.registry.register(&mut socket, token, interest)?;
                Ok(socket)
            });
            match connecting {
                Ok(socket) => {
                    opening.socket = Some(socket);
                    return;
                }
                Err(error) => refusal = reply_for(&error),
            }
        }
    }

    fn give_up(&mut self, cx: &mut Cx<'_>, place: usize, reply: Reply) {
        if let Some(Entry::Opening(opening)) = self.table.remove(cx, place) {
            refuse(cx, opening.stream, reply);
        }
    }

    /// The connection that is tried is there, or failed.
    fn on_connected(&mut self, cx: &mut Cx<'_>, place: usize) {
        let Some(opening) = self.table.opening(place) else {
            return;
        };
        let Some(socket) = &opening.socket else {
            return;
        };
        if let Some(error) = socket.take_error().ok().flatten() {
            return self.try_next(cx, place, reply_for(&error));
        }
        // Without a peer it is still on its way.
        if socket.peer_addr().is_err() {
            return;
        }
        // A small answer shall not wait for a larger one.
        let _ = socket.set_nodelay(true);
        let stream = opening.stream;
        let Some(socket) = opening.socket.take() else {
            return;
        };
        cx.engine.write(cx.now, stream, &[Reply::Succeeded.code()]);
        let pipe = Pipe::new(socket, stream, Vec::new());
        self.table.join(place, |_| pipe);
        cx.engine.set_reading(cx.now, stream, true);
    }
}

/// Tells the client that its stream leads nowhere.
fn refuse(cx: &mut Cx<'_>, stream: StreamHandle, reply: Reply) {
    cx.engine.write(cx.now, stream, &[reply.code()]);
    cx.engine.finish(cx.now, stream);
}

fn reply_for(error: &std::io::Error) -> Reply {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => Reply::ConnectionRefused,
        ErrorKind::NetworkUnreachable => Reply::NetworkUnreachable,
        ErrorKind::TimedOut => Reply::TtlExpired,
        _ => Reply::HostUnreachable,
    }
}

const fn stream_number(stream: StreamHandle) -> u64 {
    stream.index() as u64 & 0xFFFF_FFFF
}

impl Role for Exit {
    fn on_event(&mut self, cx: &mut Cx<'_>, event: Event) {
        match event {
            Event::Begin { stream, target } => {
                // What the client says before the server is there waits in the engine.
                cx.engine.set_reading(cx.now, stream, false);
                self.begin(cx, stream, target.data());
            }
            Event::Data { stream, payload } => {
                self.table.deliver(stream, payload);
            }
            Event::Writable { stream } => {
                if let Some(place) = self.table.place(stream) {
                    self.table.stir(place);
                }
            }
            Event::Finished { stream } => match self.table.place(stream) {
                Some(_) => self.table.finish(stream),
                // One that we refused.
                None => cx.engine.close_stream(cx.now, stream),
            },
            Event::Reset { stream } => {
                if let Some(place) = self.table.place(stream) {
                    self.table.remove(cx, place);
                }
            }
            Event::Built { .. } | Event::Closed { .. } => {}
        }
    }

    fn on_ready(&mut self, cx: &mut Cx<'_>, place: usize, readable: bool, writable: bool) {
        if let Some(pipe) = self.table.pipe(place) {
            pipe.on_ready(readable);
            self.table.stir(place);
        } else if writable {
            self.on_connected(cx, place);
        }
    }

    fn work(&mut self, cx: &mut Cx<'_>) -> bool {
        while let Some((whose, addresses)) = self.resolver.as_ref().and_then(Resolver::poll) {
            let place = (whose >> 32) as usize;
            let question = whose & 0xFFFF_FFFF;
            let asked = self.table.opening(place);
            if asked.is_some_and(|it| it.question == question && it.socket.is_none()) {
                self.try_all(cx, place, &addresses);
            }
        }
        self.table.pump(cx, |_| ())
    }

    fn drain(&mut self, _: &mut Cx<'_>) {
        self.draining = true;
    }

    fn streams(&self) -> usize {
        self.table.len()
    }
}
