//! What TCP can send soon, as the kernel tells: KIST lets a connection take no more (Jansen et al., USENIX Security
//! 2014; tor 0.4.9, `scheduler_kist.c`).

use std::io;
use std::net::SocketAddr;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::nlas::Nla;
use netlink_packet_sock_diag::inet::{
    ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags,
};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;

/// More than an answer about one socket needs.
const ANSWER: usize = 4096;

/// Asks the kernel about connections, by the protocol `sock_diag`.
#[derive(Debug)]
pub(super) struct Kernel {
    socket: Socket,
    answer: Vec<u8>,
}

impl Kernel {
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        // The kernel answers while the question is being sent: there is nothing to wait for.
        socket.set_non_blocking(true)?;
        Ok(Self {
            socket,
            answer: vec![0; ANSWER],
        })
    }

    /// Bytes that a connection takes so that TCP sends them soon: what its congestion window has free, and a window's
    /// worth to follow, less what waits. Which connection, the [`question`] says.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub(super) fn sent_soon(&mut self, question: &[u8]) -> io::Result<usize> {
        self.socket.send(question, 0)?;
        let len = self.socket.recv(&mut &mut self.answer[..], 0)?;
        let message = NetlinkMessage::<SockDiagMessage>::deserialize(&self.answer[..len]);
        match message.map_err(io::Error::other)?.payload {
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                soon(&response).ok_or_else(|| io::Error::other("no information about TCP"))
            }
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::Error::other("no answer about the connection")),
        }
    }
}

/// What to ask about the connection from the first address to the second.
pub(super) fn question((from, to): (SocketAddr, SocketAddr)) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let request = InetRequest {
        family: if from.is_ipv4() { AF_INET } else { AF_INET6 },
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::INFO,
        states: StateFlags::all(),
        socket_id: SocketId {
            source_port: from.port(),
            destination_port: to.port(),
            source_address: from.ip(),
            destination_address: to.ip(),
            interface_id: 0,
            // Any.
            cookie: [0xff; 8],
        },
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// `(cwnd − unacknowledged) + (cwnd − unsent)` bytes, of which the kernel tells what is unacknowledged or unsent at once.
fn soon(response: &InetResponse) -> Option<usize> {
    let info = response.nlas.iter().find_map(|attribute| match attribute {
        Nla::TcpInfo(info) => Some(info),
        _ => None,
    })?;
    let window = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
    let waits = u64::from(response.header.send_queue);
    Some((2 * window).saturating_sub(waits) as usize)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_connection_takes_two_windows_and_less_once_it_is_full() {
        for listen in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(listen).unwrap();
            let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let ends = (socket.local_addr().unwrap(), socket.peer_addr().unwrap());
            let mut kernel = Kernel::open().unwrap();
            let before = kernel.sent_soon(&question(ends)).unwrap();
            // Ten segments and ten more (RFC 6928), less what options take.
            assert!(before >= 20 * 536, "{before}");
            socket.set_nonblocking(true).unwrap();
            let many = vec![0; 1 << 16];
            while socket.write(&many).is_ok() {}
            assert!(kernel.sent_soon(&question(ends)).unwrap() < before);
            drop(socket);
            drop(listener);
            let gone = kernel.sent_soon(&question((ends.0, ends.0))).unwrap_err();
            assert_eq!(gone.kind(), io::ErrorKind::NotFound);
        }
    }
}
