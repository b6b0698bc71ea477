//! What a client and an exit say about linked circuits, as data of the cells LINK and LINKED.
//!
//! | cell | data |
//! | --- | --- |
//! | LINK | number of legs 1, this leg 1, name of the set 32 |
//! | LINKED | 1 if the circuit is a leg from now on, else 0; the exit's worker 2 |

/// Circuits of a linked set at most.
pub const MAX_LEGS: u8 = 4;

/// A client's wish that a circuit be a leg of a linked set at its exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkRequest {
    /// The set's name, which nobody else can know: who knows it could take a leg's place.
    pub set: [u8; 32],
    /// Which leg the circuit is, from zero; streams begin on the first.
    pub leg: u8,
    /// How many legs the set has: from 2 to [`MAX_LEGS`].
    pub legs: u8,
}

/// The exit's answer: the worker at which the circuit is a leg, if it is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkAnswer(pub Option<u16>);

impl LinkRequest {
    /// The data of LINK.
    pub fn encode(&self) -> [u8; 34] {
        let mut data = [0; 34];
        data[..2].copy_from_slice(&[self.legs, self.leg]);
        data[2..].copy_from_slice(&self.set);
        data
    }

    /// Reads the data of LINK; `None` if it asks for what there is not.
    pub fn decode(data: &[u8]) -> Option<Self> {
        let (&[legs, leg], set) = data.split_first_chunk()?;
        let set = set.try_into().ok()?;
        let fits = (2..=MAX_LEGS).contains(&legs) && leg < legs;
        fits.then_some(Self { set, leg, legs })
    }
}

impl LinkAnswer {
    /// The data of LINKED.
    pub fn encode(self) -> [u8; 3] {
        let [high, low] = self.0.unwrap_or_default().to_be_bytes();
        [u8::from(self.0.is_some()), high, low]
    }

    /// Reads the data of LINKED; what says nothing says no.
    pub const fn decode(data: &[u8]) -> Self {
        match *data {
            [1, high, low] => Self(Some(u16::from_be_bytes([high, low]))),
            _ => Self(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_arrives() {
        let request = LinkRequest {
            set: [7; 32],
            leg: 1,
            legs: 2,
        };
        assert_eq!(LinkRequest::decode(&request.encode()), Some(request));
        for answer in [None, Some(0), Some(700)].map(LinkAnswer) {
            assert_eq!(LinkAnswer::decode(&answer.encode()), answer);
        }
    }

    #[test]
    fn what_there_is_not_is_no_request() {
        for (legs, leg) in [(0, 0), (1, 0), (2, 2), (5, 0), (255, 255)] {
            let mut data = [9; 34];
            data[..2].copy_from_slice(&[legs, leg]);
            assert_eq!(LinkRequest::decode(&data), None, "leg {leg} of {legs}");
        }
        for len in [0, 1, 33, 35] {
            assert_eq!(LinkRequest::decode(&vec![2; len]), None, "{len} bytes");
        }
        for answer in [&[][..], &[1], &[2, 0, 0], &[1, 0, 0, 0]] {
            assert_eq!(LinkAnswer::decode(answer), LinkAnswer(None), "{answer:?}");
        }
    }
}
