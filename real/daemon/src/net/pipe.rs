//! A connection of an application or to a server, joined to a stream of a circuit.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use hopflow_engine::{Engine, StreamHandle};
use hopflow_onion::OnionPayload;
use hopflow_units::{Cells, Instant};
use mio::net::TcpStream;
use socket2::SockRef;

use crate::accounting::Traffic;

/// Cells of its stream that a pipe has or has asked for, at most. What the engine holds counts as memory, what we
/// hold does not.
const ENOUGH: usize = 128;
/// Bytes that are read at once.
const CHUNK: usize = 32 * 1024;
/// Bytes that the kernel holds back unsent before it takes more. Beside what the other end said that it
/// takes, this is all that a connection holds whose other end does not read; by default the kernel
/// takes megabytes.
const UNSENT: u32 = 64 * 1024;
/// Bytes that the kernel takes from the other end while we do not read, beside what it needs for them; by
/// default it takes megabytes.
const UNREAD: usize = 128 * 1024;
/// How long what a server said last may take to the application before the stream is broken off, if the server takes
/// nothing more.
const HEAR_OUT: hopflow_units::Duration = hopflow_units::Duration::from_secs(5);

/// The two directions of a connection and its stream.
#[derive(Debug)]
pub(super) struct Pipe {
    socket: TcpStream,
    stream: StreamHandle,
    outbound: Outbound,
    inbound: Inbound,
    /// When it carried something last.
    moved: Instant,
    /// Whether what the other end said before it took nothing more counts.
    hears_out: bool,
    /// What the connection took and gave since that was asked last.
    traffic: Traffic,
}

/// From the stream to the socket.
#[derive(Debug, Default)]
struct Outbound {
    /// Bytes for the application before the stream's.
    greeting: Vec<u8>,
    /// Cells that the socket has not taken; of the first, `offset` bytes are gone.
    cells: VecDeque<OnionPayload>,
    offset: usize,
    /// Cells that the stream still delivers of those that it was asked for.
    asked: usize,
    /// The far end has finished.
    far_end: bool,
    /// The socket is shut down for writing, or takes nothing more.
    ended: bool,
    /// The socket takes nothing more: what comes is dropped.
    deaf: bool,
}

/// From the socket to the stream.
#[derive(Debug)]
struct Inbound {
    /// Bytes of the socket that the stream has not taken.
    unread: Vec<u8>,
    /// Whether the socket may have more for us.
    readable: bool,
    /// The application has finished, and the stream knows.
    ended: bool,
    /// The connection broke off: no more comes, and the stream does not end as if that were all.
    broken: bool,
    /// When the stream took last something of what the socket said, or the socket took nothing more.
    heard: Option<Instant>,
}

/// How a pipe is after it moved something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// More may come.
    Open,
    /// The other end takes nothing more. What it said is on its way; the stream is to be broken off then.
    Deaf(Instant),
    /// Both directions have ended.
    Over,
    /// The connection is broken.
    Broken,
}

impl Pipe {
    /// Joins a connection to a stream, which it reads from when it moves something. `unread` came from the
    /// connection before.
    pub(super) fn new(
        socket: TcpStream,
        stream: StreamHandle,
        unread: Vec<u8>,
        now: Instant,
    ) -> Self {
        limit_buffers(&socket);
        // Also where this process dies and the kernel closes it, until its end was passed on.
        set_breaks_off(&socket, true);
        Self {
            socket,
            stream,
            outbound: Outbound::default(),
            inbound: Inbound {
                unread,
                readable: true,
                ended: false,
                broken: false,
                heard: None,
            },
            moved: now,
            hears_out: false,
            traffic: Traffic::default(),
        }
    }

    /// Lets the stream bring what the other end of the connection said before it took nothing more, as a server that
    /// answers before it has read all.
    pub(super) const fn hear_out(mut self) -> Self {
        self.hears_out = true;
        self
    }

    pub(super) const fn stream(&self) -> StreamHandle {
        self.stream
    }

    /// When it carried something last.
    pub(super) const fn moved(&self) -> Instant {
        self.moved
    }

    /// When it is to be closed if nothing happens and it may be `idle` for so long.
    pub(super) fn ends_at(&self, idle: hopflow_units::Duration) -> Instant {
        if self.outbound.deaf {
            return self.inbound.heard.unwrap_or(self.moved) + HEAR_OUT;
        }
        self.moved + idle
    }

    /// What the connection took and gave since this was asked last.
    pub(super) fn take_traffic(&mut self) -> Traffic {
        std::mem::take(&mut self.traffic)
    }

    /// The connection, to be taken out of the poll.
    pub(super) const fn socket(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// Tells the application something before the stream's bytes.
    pub(super) fn greet(&mut self, bytes: &[u8]) {
        self.outbound.greeting.extend_from_slice(bytes);
    }

    /// The socket has something for us, or takes something again.
    pub(super) fn on_ready(&mut self, readable: bool) {
        self.inbound.readable |= readable;
    }

    /// A cell of the stream arrived, of which the first `skip` bytes are not the application's.
    pub(super) fn deliver(&mut self, cell: OnionPayload, skip: usize) {
        if self.outbound.cells.is_empty() {
            self.outbound.offset = skip;
        }
        self.outbound.asked = self.outbound.asked.saturating_sub(1);
        self.outbound.cells.push_back(cell);
    }

    /// The far end has finished.
    pub(super) const fn finish(&mut self) {
        self.outbound.far_end = true;
    }

    /// Moves what can be moved in both directions.
    pub(super) fn pump(
        &mut self,
        now: Instant,
        engine: &mut Engine,
        buffer: &mut Vec<u8>,
    ) -> State {
        let was_deaf = self.outbound.deaf;
        let written = self.write(now, engine);
        if written
            .and_then(|()| self.read(now, engine, buffer))
            .is_err()
        {
            return State::Broken;
        }
        if self.outbound.deaf && !was_deaf {
            self.inbound.heard = self.inbound.heard.map(|_| now);
        }
        let has_ended = self.inbound.ended && self.outbound.ended && self.outbound.far_end;
        // The engine tells when an end is on its way: until then there may be data before it.
        let sent = || engine.stream_view(self.stream).is_none_or(|it| it.ended);
        match (self.outbound.deaf, self.inbound.heard) {
            _ if has_ended && sent() => State::Over,
            (true, None) => State::Broken,
            (true, Some(heard)) => State::Deaf(heard + HEAR_OUT),
            (false, _) => State::Open,
        }
    }

    /// Lets the connection break off, so that nobody takes what came for all that was sent.
    pub(super) fn break_off(&self) {
        set_breaks_off(&self.socket, true);
    }

    fn write(&mut self, now: Instant, engine: &mut Engine) -> io::Result<()> {
        let written = self.write_all(now);
        let drained = self.unless_deaf(written)?.unwrap_or(true);
        let out = &mut self.outbound;
        if out.cells.len() + out.asked <= ENOUGH / 2 {
            out.asked = ENOUGH - out.cells.len();
            engine.set_credit(now, self.stream, Cells::new(out.asked as u64));
        }
        if drained && out.far_end && !std::mem::replace(&mut out.ended, true) {
            let shut_down = self.socket.shutdown(Shutdown::Write);
            if shut_down.is_ok() {
                // What the kernel still holds is to arrive.
                set_breaks_off(&self.socket, false);
            }
            self.unless_deaf(shut_down)?;
        }
        Ok(())
    }

    /// What writing brought; `None` if the other end takes nothing more, but is heard out.
    fn unless_deaf<T>(&mut self, written: io::Result<T>) -> io::Result<Option<T>> {
        let error = match written {
            Ok(done) => return Ok(Some(done)),
            Err(error) if !self.hears_out => return Err(error),
            Err(error) => error,
        };
        // Where the other end had finished, or writing found nothing new, reading tells how it ended. Of other errors
        // reading hears nothing, and then an end is none.
        let read_tells = [ErrorKind::BrokenPipe, ErrorKind::NotConnected];
        self.inbound.broken |= !read_tells.contains(&error.kind());
        self.inbound.readable = true;
        self.outbound.turn_deaf();
        Ok(None)
    }

    /// Whether the socket took all.
    fn write_all(&mut self, now: Instant) -> io::Result<bool> {
        if self.outbound.deaf {
            self.outbound.turn_deaf();
            return Ok(true);
        }
        Ok(self.write_greeting()? && self.write_cells(now)?)
    }

    fn write_greeting(&mut self) -> io::Result<bool> {
        while !self.outbound.greeting.is_empty() {
            match try_io(|| self.socket.write(&self.outbound.greeting))? {
                Some(0) => return Err(ErrorKind::WriteZero.into()),
                Some(len) => drop(self.outbound.greeting.drain(..len)),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether the socket took all cells.
    fn write_cells(&mut self, now: Instant) -> io::Result<bool> {
        while let Some(first) = self.outbound.cells.front() {
            let Some(rest) = first
                .data()
                .get(self.outbound.offset..)
                .filter(|it| !it.is_empty())
            else {
                self.outbound.cells.pop_front();
                self.outbound.offset = 0;
                continue;
            };
            let more = self
                .outbound
                .cells
                .iter()
                .skip(1)
                .take(31)
                .map(OnionPayload::data);
            let slices: Vec<io::IoSlice<'_>> = std::iter::once(rest)
                .chain(more)
                .map(io::IoSlice::new)
                .collect();
            match try_io(|| self.socket.write_vectored(&slices))? {
                Some(0) => return Err(ErrorKind::WriteZero.into()),
                Some(len) => {
                    self.moved = now;
                    self.traffic.sent += len as u64;
                    self.outbound.advance(len);
                }
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn read(&mut self, now: Instant, engine: &mut Engine, buffer: &mut Vec<u8>) -> io::Result<()> {
        loop {
            if !self.inbound.unread.is_empty() {
                let taken = engine.write(now, self.stream, &self.inbound.unread);
                self.inbound.unread.drain(..taken);
                if taken > 0 {
                    self.inbound.heard = Some(now);
                }
                if !self.inbound.unread.is_empty() {
                    return Ok(());
                }
                // Most connections rest with nothing in it.
                self.inbound.unread = Vec::new();
            }
            if self.inbound.ended || !self.inbound.readable {
                return Ok(());
            }
            buffer.resize(CHUNK, 0);
            match try_io(|| self.socket.read(buffer)) {
                Err(error) if !self.hears_out => return Err(error),
                Err(_) => self.inbound.break_off(&mut self.outbound),
                Ok(Some(0)) if self.inbound.broken => self.inbound.break_off(&mut self.outbound),
                Ok(None) => self.inbound.readable = false,
                Ok(Some(0)) => {
                    self.inbound.ended = true;
                    engine.finish(now, self.stream);
                }
                Ok(Some(len)) => {
                    self.moved = now;
                    self.inbound.heard = Some(now);
                    self.traffic.received += len as u64;
                    let taken = engine.write(now, self.stream, &buffer[..len]);
                    self.inbound.unread.extend_from_slice(&buffer[taken..len]);
                }
            }
        }
    }
}

impl Inbound {
    /// The connection broke off.
    fn break_off(&mut self, outbound: &mut Outbound) {
        self.broken = true;
        self.readable = false;
        outbound.turn_deaf();
    }
}

impl Outbound {
    /// The socket takes nothing more: drops what is there.
    fn turn_deaf(&mut self) {
        self.deaf = true;
        self.ended = true;
        self.greeting.clear();
        self.cells.clear();
        self.offset = 0;
    }

    /// The socket took so many bytes of the cells.
    fn advance(&mut self, mut len: usize) {
        while let Some(first) = self.cells.front() {
            let left = first.data().len().saturating_sub(self.offset);
            if len < left {
                self.offset += len;
                return;
            }
            len -= left;
            self.offset = 0;
            self.cells.pop_front();
        }
    }
}

/// Limits what the kernel holds of a connection in both directions.
fn limit_buffers(socket: &TcpStream) {
    // A kernel that does not know this takes more.
    let raw = SockRef::from(socket);
    let _ = raw.set_tcp_notsent_lowat(UNSENT);
    let _ = raw.set_recv_buffer_size(UNREAD);
}

/// Whether a connection breaks off when it is closed, or ends.
fn set_breaks_off(socket: &TcpStream, breaks_off: bool) {
    // It is closed in any case, but perhaps in the other way.
    let _ = SockRef::from(socket).set_linger(breaks_off.then_some(Duration::ZERO));
}

/// What an operation on a socket brought; `None` if it must wait.
fn try_io(mut operation: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        match operation() {
            Ok(len) => return Ok(Some(len)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_is_read_no_more_holds_little() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let near = listener.accept().unwrap().0;
        for end in [&near, &far] {
            end.set_nonblocking(true).unwrap();
        }
        let mut near = TcpStream::from_std(near);
        limit_buffers(&near);
        // The kernel holds most of a connection that was fast.
        let mut buffer = vec![7; 8 << 20];
        for _ in 0..300 {
            let _ = far.write(&buffer[..1 << 20]);
            let _ = near.read(&mut buffer);
        }
        let mut rests = 0;
        while rests < 20 {
            rests = if far.write(&buffer).is_ok() {
                0
            } else {
                std::thread::park_timeout(Duration::from_millis(5));
                rests + 1
            };
        }
        let held = near.peek(&mut buffer).unwrap();
        assert!(held <= 2 * UNREAD, "{held} bytes");
    }
}
