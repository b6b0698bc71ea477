//! Bytes as what a network does to a link, from the first datagram on. Shared with a fuzz target.

use std::net::SocketAddr;

use hopflow_channel::{Cookies, Knock, State};
use hopflow_units::Duration;

use crate::support::{Pair, flush};

/// Whence the caller calls.
const FROM: SocketAddr = SocketAddr::new(
    std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    2000,
);

/// What the network does.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, len: usize) -> &[u8] {
        let (piece, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        piece
    }
}

/// Whatever a network loses, repeats, changes and adds: the ends read what the other sealed and
/// nothing else, each piece once at most. Returns whether both opened.
pub(crate) fn any_bytes(bytes: &[u8]) -> bool {
    let (mut script, mut pair, cookies) = (Script(bytes), Pair::new(), Cookies::generate());
    // Whether the called has a channel yet.
    let mut called = false;
    let mut under_way: Vec<(bool, Vec<u8>)> = Vec::new();
    let (mut sealed, mut opened) = (0_u32, false);
    while !script.0.is_empty() {
        let sent = flush(&mut pair.caller, pair.now).into_iter();
        under_way.extend(sent.map(|datagram| (true, datagram)));
        if called {
            let sent = flush(&mut pair.called, pair.now).into_iter();
            under_way.extend(sent.map(|datagram| (false, datagram)));
        }
        let which = usize::from(script.byte());
        let at = which % under_way.len().max(1);
        let next = under_way.get(at).cloned();
        match (script.byte(), next) {
            (what @ 0..=150, Some(_)) => {
                let (to_called, mut datagram) = under_way.remove(at);
                if what > 120 && !datagram.is_empty() {
                    let place = usize::from(script.byte()) * 6 % datagram.len();
                    datagram[place] ^= 1 << (what % 8);
                }
                if what == 120 {
                    under_way.push((to_called, datagram.clone()));
                }
                if to_called && !called {
                    match cookies.check(pair.now, FROM, &datagram) {
                        Knock::Strange => {}
                        Knock::Unproven(answer) => under_way.push((false, answer.to_vec())),
                        Knock::Lost(answer) => under_way.push((false, answer.to_vec())),
                        Knock::Proven => called = true,
                    }
                }
                if to_called && called {
                    pair.reach_called(&datagram);
                } else if !to_called {
                    pair.reach_caller(&datagram);
                }
            }
            (151..=170, Some(_)) => drop(under_way.remove(at)),
            (171..=200, _) => {
                let len = usize::from(script.byte());
                let noise = script.take(len).to_vec();
                pair.reach_caller(&noise);
                if called {
                    pair.reach_called(&noise);
                }
            }
            (201..=225, _) => {
                pair.now += Duration::from_millis(u64::from(script.byte()) * 10);
                pair.caller.handle_timeout(pair.now);
                pair.called.handle_timeout(pair.now);
            }
            _ if *pair.caller.state() == State::Open => {
                sealed += 1;
                under_way.push((true, pair.sealed(&sealed.to_be_bytes())));
            }
            _ => {}
        }
        opened |= pair.is_open();
    }
    let mut read: Vec<u32> = pair
        .read_by_called
        .iter()
        .map(|piece| u32::from_be_bytes(piece[..].try_into().expect("it was sealed whole")))
        .collect();
    read.sort_unstable();
    assert!(read.windows(2).all(|two| two[0] < two[1]), "{read:?}");
    assert!(read.iter().all(|number| (1..=sealed).contains(number)));
    assert!(pair.read_by_caller.is_empty());
    opened
}
