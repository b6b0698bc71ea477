//! Circuits as qlog (draft-ietf-quic-qlog-main-schema-14): one file for a circuit, one trace for each of
//! its nodes, one event on each line.

use hopflow_overlay::{Direction, Hold};
use hopflow_units::Cells;
use hopflow_wire::{Feedback, Frame, Reason, RelayCommand};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::event::{Contents, Event, Place, Step};

/// What the names and contents of events mean: `docs/traces.md`.
const EVENT_SCHEMA: &str = "urn:hopflow:qlog:events:1";

/// What ends a trace, behind its last event.
pub const END_OF_TRACE: &str = "\n]}";
/// What ends a file, behind its last trace.
pub const END_OF_FILE: &str = "\n]}\n";

/// The beginning of a file.
#[derive(Serialize)]
struct Header<'a> {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: &'a str,
}

/// The beginning of a trace.
#[derive(Serialize)]
struct Trace<'a> {
    title: String,
    common_fields: CommonFields<'a>,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'static str; 1],
}

#[derive(Serialize)]
struct CommonFields<'a> {
    time_format: &'static str,
    reference_time: ReferenceTime<'a>,
    group_id: String,
}

#[derive(Serialize)]
struct ReferenceTime<'a> {
    clock_type: &'static str,
    epoch: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wall_clock_time: Option<&'a str>,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<&'static str>,
}

#[derive(Serialize)]
struct Line {
    time: f64,
    name: String,
    data: Map<String, Value>,
}

/// Whose trace it is.
#[derive(Clone, Copy, Debug)]
pub struct Vantage<'a> {
    /// The circuit's number.
    pub circuit: u32,
    /// The node's name.
    pub node: &'a str,
    /// What the node is to the circuit.
    pub place: Place,
    /// What the calendar said at time zero, in the form of RFC 3339, if the times are not simulated.
    pub wall_clock_time: Option<&'a str>,
}

/// The beginning of a file, up to its first trace.
pub fn begin_file(title: &str) -> String {
    let mut text = open(&Header {
        file_schema: "urn:ietf:params:qlog:file:contained",
        serialization_format: "application/qlog+json",
        title,
    });
    text.push_str(",\n\"traces\":[");
    text
}

/// The beginning of a trace, up to its first event; the number of the trace in its file counts from zero.
pub fn begin_trace(number: usize, vantage: &Vantage<'_>) -> String {
    let (circuit, name) = (vantage.circuit, vantage.node);
    // Who is neither sees cells go both ways.
    let (kind, flow) = match vantage.place {
        Place::Client => ("client", None),
        Place::Relay => ("network", Some("unknown")),
        Place::Exit => ("server", None),
    };
    let mut text = separator(number);
    text.push_str(&open(&Trace {
        title: format!("circuit {circuit} at {name}"),
        common_fields: CommonFields {
            time_format: "relative_to_epoch",
            reference_time: ReferenceTime {
                clock_type: "monotonic",
                epoch: "unknown",
                wall_clock_time: vantage.wall_clock_time,
            },
            group_id: format!("circuit {circuit}"),
        },
        vantage_point: VantagePoint { name, kind, flow },
        event_schemas: [EVENT_SCHEMA],
    }));
    text.push_str(",\n\"events\":[");
    text
}

/// An event; its number in its trace counts from zero.
pub fn event(number: usize, event: &Event) -> String {
    let mut text = separator(number);
    text.push_str(&to_json(&line(event)));
    text
}

/// What stands before an element of a list, each of which has a line.
fn separator(number: usize) -> String {
    if number > 0 { ",\n" } else { "\n" }.to_owned()
}

/// An object whose end is left out, so that more can follow.
fn open(value: &impl Serialize) -> String {
    let mut text = to_json(value);
    text.pop();
    text
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}

fn line(event: &Event) -> Line {
    let mut data = Data::default();
    let about = event.direction.map(|direction| match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    });
    data.put("direction", about);
    for (key, number) in [
        ("leg", event.leg),
        ("turn", event.turn),
        ("stream", event.stream),
    ] {
        data.put(key, Some(number).filter(|number| *number > 0));
    }
    let name = match &event.step {
        Step::Written(offset, length) => data.range("data_written", offset.get(), length.get()),
        Step::Packaged(offset, length) => data.range("data_packaged", offset.get(), length.get()),
        Step::Delivered(offset, length) => data.range("data_delivered", offset.get(), length.get()),
        Step::Sent(frame, again) => {
            data.put("retransmission", again.then_some(true));
            format!("{}_sent", data.frame(frame))
        }
        Step::Received(frame) => format!("{}_received", data.frame(frame)),
        Step::Flow(state) => {
            data.put("queued", Some(state.queued.get()));
            data.put("outstanding", Some(state.outstanding.get()));
            data.put("window", state.window.map(Cells::get));
            "flow_updated".to_owned()
        }
        Step::Queue(hold) => data.hold("queue", *hold),
        Step::Package(hold) => data.hold("package", *hold),
        Step::Closed(why) => {
            data.put("reason", why.map(reason));
            "circuit_closed".to_owned()
        }
    };
    Line {
        time: event.at.as_nanos() as f64 / 1e6,
        name: format!("hopflow:{name}"),
        data: data.0,
    }
}

/// What an event tells.
#[derive(Default)]
struct Data(Map<String, Value>);

impl Data {
    fn put(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), value.into());
        }
    }

    fn range(&mut self, name: &str, offset: u64, length: u64) -> String {
        self.put("offset", Some(offset));
        self.put("length", Some(length));
        name.to_owned()
    }

    fn hold(&mut self, what: &str, hold: Option<Hold>) -> String {
        self.put("what", Some(what));
        self.put("new", Some(hold.map_or("nothing", cause)));
        "hold_updated".to_owned()
    }

    fn feedback(&mut self, feedback: &Feedback) -> &'static str {
        self.put("ack", Some(feedback.ack.to_wire()));
        self.put("fwd", Some(feedback.fwd.to_wire()));
        self.put("out_of_order", Some(feedback.out_of_order));
        self.put("word", feedback.word);
        "feedback"
    }

    /// Tells what a frame says; returns what it is.
    fn frame(&mut self, frame: &Frame<Contents>) -> &'static str {
        match frame {
            Frame::Cell(cell) => {
                self.put("sequence", Some(cell.seq.to_wire()));
                let earlier = Some(cell.flags.earlier()).filter(|earlier| *earlier > 0);
                self.put("earlier_transmissions", earlier);
                let is_control = cell.flags.is_control();
                self.put("control", is_control.then_some(true));
                self.put("command", cell.payload.command.map(command));
                self.put("offset", cell.payload.offset);
                self.put("length", cell.payload.length);
                "cell"
            }
            Frame::Feedback(feedback) => self.feedback(feedback),
            Frame::Sack(sack) => {
                let kind = self.feedback(&sack.feedback);
                let ranges = sack.arrived.iter().filter(|(start, end)| start < end);
                let ranges: Vec<_> = ranges.map(|(start, end)| [*start, *end]).collect();
                self.put("arrived", Some(ranges));
                kind
            }
            Frame::Probe(_) => "probe",
            Frame::Destroy(destroy) => {
                self.put("reason", Some(reason(destroy.reason)));
                "destroy"
            }
            Frame::Message(message) => {
                self.put("length", Some(message.body.len()));
                "message"
            }
        }
    }
}
/// The causes of `docs/explain.md`.
const fn cause(hold: Hold) -> &'static str {
    match hold {
        Hold::EndWindow => "end_window",
        Hold::EndPace => "end_rate",
        Hold::StreamWindow => "stream_window",
        Hold::Stream => "stream",
        Hold::HopWindow => "hop_window",
        Hold::HopPace => "hop_rate",
        Hold::Room => "room",
        Hold::Run => "run",
        Hold::Bucket => "bucket",
        Hold::Driver => "uplink",
    }
}

const fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Requested => "requested",
        Reason::Protocol => "protocol",
        Reason::Excess => "excess",
        Reason::Unknown => "unknown",
        Reason::Unreachable => "unreachable",
        Reason::Other => "other",
    }
}

const fn command(command: RelayCommand) -> &'static str {
    match command {
        RelayCommand::Begin => "begin",
        RelayCommand::Data => "data",
        RelayCommand::End => "end",
        RelayCommand::Sendme => "sendme",
        RelayCommand::Link => "link",
        RelayCommand::Linked => "linked",
        RelayCommand::NumberedData => "numbered_data",
        RelayCommand::NumberedEnd => "numbered_end",
        RelayCommand::Reset => "reset",
        RelayCommand::Ack => "ack",
        RelayCommand::Ask => "ask",
        RelayCommand::Switch => "switch",
        RelayCommand::SwitchConn => "switch_conn",
        RelayCommand::SwitchAck => "switch_ack",
        RelayCommand::Xoff => "xoff",
        RelayCommand::Xon => "xon",
    }
}
