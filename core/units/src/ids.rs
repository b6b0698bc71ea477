//! Identifiers: dense indices with a type each.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty), $short:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($repr);

        impl $name {
            /// The identifier with number `n`.
            pub const fn new(n: $repr) -> Self {
                Self(n)
            }

            /// The bare number.
            pub const fn get(self) -> $repr {
                self.0
            }

            /// The number as an index into a dense table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($short, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// An overlay node: a relay or a client, numbered by whoever drives the nodes.
    NodeId(u32),
    "node "
);
id!(
    /// A link from one node to a neighbour, numbered by that node.
    LinkId(u32),
    "link "
);
id!(
    /// A circuit as two neighbours name it on the link between them (2 bytes on the wire).
    CircuitId(u16),
    "circuit "
);
id!(
    /// A stream within a circuit, named by the client (2 bytes on the wire).
    StreamId(u16),
    "stream "
);

impl StreamId {
    /// The circuit itself, where a relay command is about no stream (tor-spec, "Relay cells").
    pub const CIRCUIT: Self = Self::new(0);
}
