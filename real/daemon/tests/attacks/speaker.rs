//! A client that speaks the protocol well, until it no longer listens.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};

use hopflow_engine::{Action, ConnId, Engine, EngineConfig, Event, Hop, Limits, Via};

use crate::attacker::{EPOCH, connect, now};

/// Bytes that a connection takes at a time.
const ROOM: usize = 64 * 1024;

/// A client's engine with sockets.
pub(crate) struct Speaker {
    engine: Engine,
    from: IpAddr,
    udp: UdpSocket,
    tcp: BTreeMap<ConnId, TcpStream>,
    /// What its streams ask the exit for.
    target: String,
}

impl Speaker {
    pub(crate) fn new(preset: &str, from: IpAddr, server: SocketAddr) -> Option<Self> {
        let factory = hopflow_real_hosts::build(preset, &toml::Table::new()).ok()?;
        let config = EngineConfig {
            relay: None,
            extend_to: None,
            bucket: None,
            access: None,
            limits: Limits::default(),
            worker: 0,
            epoch: *EPOCH,
        };
        let udp = UdpSocket::bind((from, 0)).ok()?;
        udp.set_nonblocking(true).ok()?;
        Some(Self {
            engine: Engine::new(config, &*factory).ok()?,
            from,
            udp,
            tcp: BTreeMap::new(),
            target: server.to_string(),
        })
    }

    /// Begins a circuit, on which a stream follows.
    pub(crate) fn build(&mut self, path: Vec<Hop>) {
        self.engine.build(now(), path);
    }

    /// Hears what there is and says what follows.
    pub(crate) fn converse(&mut self) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok((len, from)) = self.udp.recv_from(&mut buffer) {
            self.engine
                .receive_datagram(now(), Via::Outgoing, from, &buffer[..len]);
        }
        let mut gone = Vec::new();
        for (conn, socket) in &mut self.tcp {
            match socket.read(&mut buffer) {
                Ok(len) if len > 0 => self.engine.receive_bytes(now(), *conn, &buffer[..len]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => gone.push(*conn),
            }
        }
        for conn in gone {
            self.tcp.remove(&conn);
            self.engine.closed(now(), conn);
        }
        if self.engine.poll_timeout() <= now() {
            self.engine.handle_timeout(now());
        }
        self.speak();
    }

    fn speak(&mut self) {
        loop {
            if let Some(event) = self.engine.poll_event(now()) {
                if let Event::Built { circuit } = event {
                    let target = self.target.as_bytes();
                    self.engine.open_stream(now(), &[circuit], target);
                }
            } else if let Some(action) = self.engine.poll_action() {
                self.act(action);
            } else if let Some((transmit, bytes)) = self.engine.poll_datagrams(now(), 64 * 1024) {
                for datagram in bytes.chunks(transmit.segment) {
                    let _ = self.udp.send_to(datagram, transmit.to);
                }
            } else if let Some((conn, bytes)) = self.engine.poll_bytes(now()) {
                if let Some(socket) = self.tcp.get_mut(&conn) {
                    let _ = socket.write_all(bytes);
                }
                self.engine.set_room(now(), conn, ROOM);
            } else {
                return;
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect { conn, to } => match connect(self.from, to) {
                Some(socket) => {
                    let _ = socket.set_nonblocking(true);
                    self.tcp.insert(conn, socket);
                    self.engine.connected(now(), conn);
                    self.engine.set_room(now(), conn, ROOM);
                }
                None => self.engine.closed(now(), conn),
            },
            Action::Close { conn } => drop(self.tcp.remove(&conn)),
        }
    }
}
