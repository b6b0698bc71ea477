//! Which source of events a poll's token means.

use mio::Token;

/// A source of events of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// Somebody has a word with the worker.
    Waker,
    /// A moment that the poll cannot name precisely enough has come.
    Timer,
    /// Datagrams to the address that the directory lists.
    Listening,
    /// Datagrams of links that we opened.
    Outgoing,
    /// Neighbours or applications that connect.
    Listener,
    /// A connection that carries a link, by its place.
    Carrier(usize),
    /// A connection of an application or to a server, by its place.
    Pipe(usize),
}

const FIXED: [Source; 5] = [
    Source::Waker,
    Source::Timer,
    Source::Listening,
    Source::Outgoing,
    Source::Listener,
];

impl Source {
    pub(super) fn token(self) -> Token {
        Token(match self {
            Self::Carrier(place) => FIXED.len() + 2 * place,
            Self::Pipe(place) => FIXED.len() + 2 * place + 1,
            fixed => FIXED.iter().position(|other| *other == fixed).unwrap_or(0),
        })
    }

    pub(super) fn of(token: Token) -> Self {
        match token.0.checked_sub(FIXED.len()) {
            None => FIXED[token.0],
            Some(rest) if rest % 2 == 0 => Self::Carrier(rest / 2),
            Some(rest) => Self::Pipe(rest / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_token_of_its_own() {
        let sources = (0..20).flat_map(|place| [Source::Carrier(place), Source::Pipe(place)]);
        let mut tokens: Vec<Token> = Vec::new();
        for source in FIXED.into_iter().chain(sources) {
            assert_eq!(Source::of(source.token()), source);
            assert!(!tokens.contains(&source.token()));
            tokens.push(source.token());
        }
    }
}
