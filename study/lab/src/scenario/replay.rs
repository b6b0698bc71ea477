//! Users who visit pages as they were once recorded.
//!
//! A recording holds the packets of page loads that somebody captured without an overlay. What was
//! asked and answered within [`ROUND`] of the first request counts as one exchange: a browser asks
//! for many things at once, and for more once it has read them. A visit plays the exchanges of one
//! load after the other, so that it takes as many round trips as the browser needed, each as long
//! as the overlay makes it.

use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use hopflow_random::Stream;
use hopflow_sim::spec::{self, Fetch, Page, Session, TrafficModel};
use hopflow_units::{Bytes, Duration};

/// Requests that follow the first so soon belong to the same exchange.
const ROUND: Duration = Duration::from_millis(50);

/// Packets up to this size carry acknowledgements and settings rather than content.
const SMALL: u64 = 120;

/// The first line of a recording.
const HEADER: &str = "page,instance,time_us,size";

/// The most that a recording may hold once it is unpacked.
const LARGEST: u64 = 1 << 30;

/// The latest time of a packet in microseconds, some thirty years: a run's time has room for it.
const LATEST: u64 = 1_000_000_000_000_000;

/// The most bytes of a packet: a `u64` has room for the sum of those of any recording.
const BIGGEST: u64 = 1 << 32;

/// Page loads that can be played.
#[derive(Debug, PartialEq)]
pub(super) struct Recording {
    loads: Vec<Load>,
}

/// One load of a page.
#[derive(Debug, PartialEq)]
struct Load {
    page: u32,
    instance: u32,
    rounds: Vec<Round>,
}

/// What is asked and answered at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Round {
    request: u64,
    response: u64,
    /// When its first and its last packet were seen, in microseconds.
    first: u64,
    last: u64,
}

/// A line of a recording.
struct Packet {
    load: (u32, u32),
    time: u64,
    /// Above zero from the client to the network.
    size: i64,
}

impl FromStr for Packet {
    /// The reason why a line is no packet.
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let packet = Self::of_fields(line)
            .ok_or_else(|| format!("is not \"{HEADER}\", all whole numbers"))?;
        let Self { time, size, .. } = packet;
        if time > LATEST {
            return Err(format!(
                "has the time {time}; allowed are microseconds from 0 to {LATEST}"
            ));
        }
        if size.unsigned_abs() > BIGGEST {
            return Err(format!(
                "has the size {size}; allowed are bytes from -{BIGGEST} to {BIGGEST}"
            ));
        }
        Ok(packet)
    }
}

impl Packet {
    /// The packet of a line with four whole numbers.
    fn of_fields(line: &str) -> Option<Self> {
        let mut fields = line.trim_end().split(',');
        let packet = Self {
            load: (number(fields.next()?)?, number(fields.next()?)?),
            time: number(fields.next()?)?,
            size: number(fields.next()?)?,
        };
        fields.next().is_none().then_some(packet)
    }
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

impl Recording {
    /// Reads a recording, plain or compressed by gzip: a line for each packet with the page, the
    /// number of the load, the time in microseconds, and the size, above zero from the client.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = unpack(bytes).map_err(|error| error.to_string())?;
        let mut lines = (1..).zip(text.lines());
        if lines.next().is_none_or(|(_, line)| line.trim() != HEADER) {
            return Err(format!("its first line is not \"{HEADER}\""));
        }
        let mut loads: Vec<Load> = Vec::new();
        for (number, line) in lines {
            let packet = line
                .parse::<Packet>()
                .map_err(|reason| format!("line {number} {reason}"))?;
            let (page, instance) = packet.load;
            let same = |load: &Load| (load.page, load.instance) == packet.load;
            if !loads.last().is_some_and(same) {
                loads.push(Load {
                    page,
                    instance,
                    rounds: Vec::new(),
                });
            }
            loads.last_mut().expect("a load was added").add(&packet);
        }
        loads.iter_mut().for_each(Load::finish);
        loads.retain(|load| !load.rounds.is_empty());
        if loads.is_empty() {
            return Err("it holds no page load".to_owned());
        }
        Ok(Self { loads })
    }
}

impl Load {
    fn add(&mut self, packet: &Packet) {
        let (size, time) = (packet.size.unsigned_abs(), packet.time);
        if size <= SMALL {
            return;
        }
        let asks = packet.size > 0;
        let over = |round: &Round| time > round.first + ROUND.as_nanos() / 1000;
        if asks && self.rounds.last().is_none_or(over) {
            self.rounds.push(Round {
                request: 0,
                response: 0,
                first: time,
                last: time,
            });
        }
        // What comes before the first request belongs to no exchange.
        let Some(round) = self.rounds.last_mut() else {
            return;
        };
        let sum = if asks {
            &mut round.request
        } else {
            &mut round.response
        };
        *sum += size;
        round.last = time;
    }

    /// Drops exchanges without an answer, which none waits for.
    fn finish(&mut self) {
        self.rounds.retain(|round| round.response > 0);
    }

    /// The fetch of a round, with the pause that the browser made before the next one.
    fn fetch(&self, number: usize) -> Fetch {
        let round = &self.rounds[number];
        let next = self.rounds.get(number + 1);
        let idle = next.map_or(0, |next| next.first.saturating_sub(round.last));
        Fetch {
            request: Bytes::new(round.request),
            server_delay: Duration::ZERO,
            response: Some(Bytes::new(round.response)),
            pause: Duration::from_micros(idle),
            continued: false,
        }
    }
}

fn unpack(bytes: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let unpacked = MultiGzDecoder::new(bytes);
        let read = unpacked.take(LARGEST + 1).read_to_string(&mut text)?;
        if read as u64 > LARGEST {
            let reason = format!("it holds more than {LARGEST} bytes; allowed are up to {LARGEST}");
            return Err(std::io::Error::other(reason));
        }
    } else {
        (&mut &*bytes).read_to_string(&mut text)?;
    }
    Ok(text)
}

/// Users who visit the pages of a recording, one load after the other, each drawn uniformly.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    pub(super) recording: Arc<Recording>,
    /// Pauses between visits, and the server's delays.
    pub(super) timing: spec::Workload,
}

impl TrafficModel for Replay {
    fn session(&self) -> Box<dyn Session> {
        Box::new(Visitor {
            replay: self.clone(),
            load: 0,
            round: 0,
            begins: true,
        })
    }

    fn is_greedy(&self) -> bool {
        false
    }

    fn validate(&self) -> Result<(), String> {
        self.timing.validate()
    }
}

/// One user.
#[derive(Clone, Debug)]
struct Visitor {
    replay: Replay,
    load: usize,
    /// The next round.
    round: usize,
    /// Whether the latest fetch began a visit.
    begins: bool,
}

impl Session for Visitor {
    fn next(&mut self, random: &mut Stream) -> Option<Fetch> {
        let loads = &self.replay.recording.loads;
        self.begins = self.round == 0;
        if self.begins {
            self.load = random.integer(0, loads.len() as u64 - 1) as usize;
        }
        let load = &loads[self.load];
        let mut fetch = load.fetch(self.round);
        let standard = self.replay.timing.next(random)?;
        fetch.server_delay = standard.server_delay;
        self.round += 1;
        if self.round == load.rounds.len() {
            self.round = 0;
            fetch.pause = standard.pause;
        }
        Some(fetch)
    }

    fn page(&self) -> Option<Page> {
        let load = &self.replay.recording.loads[self.load];
        Some(Page {
            page: load.page,
            instance: load.instance,
            begins: self.begins,
        })
    }
}

#[cfg(test)]
mod tests {
    use hopflow_random::Streams;

    use super::*;

    const TEXT: &str = "page,instance,time_us,size\n\
                        3,7,0,500\n3,7,10,71\n3,7,40000,300\n3,7,60000,-1500\n3,7,70000,-1000\n\
                        3,7,170000,200\n3,7,180000,-900\n\
                        4,0,0,600\n4,0,10,-5000\n";

    fn recording() -> Recording {
        Recording::parse(TEXT.as_bytes()).unwrap()
    }

    #[test]
    fn requests_that_follow_each_other_closely_are_one_exchange() {
        let load = &recording().loads[0];
        let sizes: Vec<_> = load
            .rounds
            .iter()
            .map(|r| (r.request, r.response))
            .collect();
        assert_eq!(sizes, [(800, 2500), (200, 900)]);
        assert_eq!(load.fetch(0).pause, Duration::from_millis(100));
    }

    #[test]
    fn a_user_plays_whole_loads_with_pauses_between_them() {
        let pause = Duration::from_secs(9);
        let replay = Replay {
            recording: Arc::new(recording()),
            timing: spec::Workload {
                response: None,
                think: (pause, pause),
                server_delay: Duration::ZERO,
                server_delay_max: Duration::ZERO,
            },
        };
        let mut random = Streams::new(1).stream("user", 0);
        let mut user = replay.session();
        let mut seen = Vec::new();
        for _ in 0..200 {
            let fetch = user.next(&mut random).unwrap();
            let page = user.page().unwrap();
            seen.push((page.page, page.begins, fetch.response.unwrap().get()));
            assert_eq!(fetch.pause == pause, seen.last().unwrap().2 != 2500);
        }
        for pair in seen.windows(2) {
            assert_eq!(pair[0].2 == 2500, pair[1] == (3, false, 900), "{pair:?}");
        }
        assert!(seen.contains(&(4, true, 5000)));
    }

    #[test]
    fn what_is_no_recording_is_refused_with_the_line() {
        let error = |text: &str| Recording::parse(text.as_bytes()).unwrap_err();
        assert!(error("a,b\n").contains("first line"));
        assert!(error(&format!("{HEADER}\n1,2,3\n")).contains("line 2"));
        assert!(error(&format!("{HEADER}\n1,2,3,4,5\n")).contains("line 2 is not"));
        assert!(error(&format!("{HEADER}\n")).contains("no page load"));
    }

    #[test]
    fn times_and_sizes_whose_sums_have_no_room_are_refused_with_the_line() {
        let parse =
            |line: String| Recording::parse(format!("{HEADER}\n1,1,0,1\n{line}\n").as_bytes());
        for (line, expected) in [
            (
                format!("1,1,{},1500", u64::MAX),
                "line 3 has the time 18446744073709551615; allowed are microseconds from 0 to \
                 1000000000000000",
            ),
            (
                format!("1,1,{},1500", LATEST + 1),
                "line 3 has the time 1000000000000001; allowed",
            ),
            (
                format!("1,1,1,{}", i64::MIN),
                "line 3 has the size -9223372036854775808; allowed are bytes from -4294967296 to \
                 4294967296",
            ),
            (
                format!("1,1,1,{}", BIGGEST + 1),
                "line 3 has the size 4294967297; allowed",
            ),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        let first = format!("1,1,0,{BIGGEST}\n1,1,1,-{BIGGEST}\n1,1,1,-{BIGGEST}");
        let load = format!("{first}\n1,1,{LATEST},500\n1,1,{LATEST},-500");
        let load = &parse(load).unwrap().loads[0];
        assert_eq!(load.fetch(0).response, Some(Bytes::new(2 * BIGGEST)));
        assert_eq!(load.fetch(0).pause, Duration::from_micros(LATEST - 1));
    }
}
