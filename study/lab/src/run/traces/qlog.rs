//! Circuits as qlog (draft-ietf-quic-qlog-main-schema-14): one file for a circuit, one trace for each of
//! its nodes, one event on each line.

use hopflow_overlay::{Direction, Hold};
use hopflow_results::RunKey;
use hopflow_sim::Simulated;
use hopflow_sim::spec::WorldSpec;
use hopflow_sim::trace::{CircuitPlace, NodeTrace, TraceEvent, TraceStep};
use hopflow_units::Cells;
use hopflow_wire::{Frame, Payload, Reason, RelayCommand};
use serde::Serialize;
use serde_json::{Map, Value};

/// What the names and contents of events mean: `docs/traces.md`.
const EVENT_SCHEMA: &str = "urn:hopflow:qlog:events:1";

/// The beginning of a file.
#[derive(Serialize)]
struct Header {
    file_schema: &'static str,
    serialization_format: &'static str,
    title: String,
}

/// The beginning of a trace.
#[derive(Serialize)]
struct Trace<'a> {
    title: String,
    common_fields: CommonFields,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'static str; 1],
}

#[derive(Serialize)]
struct CommonFields {
    time_format: &'static str,
    reference_time: ReferenceTime,
    group_id: String,
}

#[derive(Serialize)]
struct ReferenceTime {
    clock_type: &'static str,
    epoch: &'static str,
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
struct Event {
    time: f64,
    name: String,
    data: Map<String, Value>,
}

/// The file of a circuit with these nodes.
pub(super) fn encode(key: &RunKey, world: &WorldSpec, nodes: &[NodeTrace]) -> Vec<u8> {
    let RunKey {
        transport, seed, ..
    } = key;
    let circuit = nodes[0].circuit;
    let mut text = open(&Header {
        file_schema: "urn:ietf:params:qlog:file:contained",
        serialization_format: "application/qlog+json",
        title: format!("circuit {circuit}, {transport}, seed {seed}"),
    });
    text.push_str(",\n\"traces\":[");
    for (number, node) in nodes.iter().enumerate() {
        text.push_str(if number > 0 { ",\n" } else { "\n" });
        let name = &world.nodes[node.node.index()].name;
        text.push_str(&trace(name, node));
    }
    text.push_str("\n]}\n");
    text.into_bytes()
}

/// An object whose end is left out, so that more can follow.
fn open(value: &impl Serialize) -> String {
    let mut text = line(value);
    text.pop();
    text
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}

fn trace(name: &str, node: &NodeTrace) -> String {
    // Who is neither sees cells go both ways.
    let (kind, flow) = match node.place {
        CircuitPlace::Client => ("client", None),
        CircuitPlace::Relay => ("network", Some("unknown")),
        CircuitPlace::Exit => ("server", None),
    };
    let mut text = open(&Trace {
        title: format!("circuit {} at {name}", node.circuit),
        common_fields: CommonFields {
            time_format: "relative_to_epoch",
            reference_time: ReferenceTime {
                clock_type: "monotonic",
                epoch: "unknown",
            },
            group_id: format!("circuit {}", node.circuit),
        },
        vantage_point: VantagePoint { name, kind, flow },
        event_schemas: [EVENT_SCHEMA],
    });
    text.push_str(",\n\"events\":[");
    for (number, happened) in node.events.iter().enumerate() {
        text.push_str(if number > 0 { ",\n" } else { "\n" });
        text.push_str(&line(&event(happened)));
    }
    text.push_str("\n]}");
    text
}

fn event(event: &TraceEvent) -> Event {
    let mut data = Data::default();
    let about = event.direction.map(|direction| match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    });
    data.put("direction", about);
    data.put("leg", Some(event.leg).filter(|leg| *leg > 0));
    data.put("turn", Some(event.turn).filter(|turn| *turn > 0));
    let name = match &event.step {
        TraceStep::Written(offset, length) => {
            data.range("data_written", offset.get(), length.get())
        }
        TraceStep::Packaged(offset, length) => {
            data.range("data_packaged", offset.get(), length.get())
        }
        TraceStep::Delivered(offset, length) => {
            data.range("data_delivered", offset.get(), length.get())
        }
        TraceStep::Sent(frame, again) => {
            data.put("retransmission", again.then_some(true));
            format!("{}_sent", data.frame(frame))
        }
        TraceStep::Received(frame) => format!("{}_received", data.frame(frame)),
        TraceStep::Flow(state) => {
            data.put("queued", Some(state.queued.get()));
            data.put("outstanding", Some(state.outstanding.get()));
            data.put("window", state.window.map(Cells::get));
            "flow_updated".to_owned()
        }
        TraceStep::Queue(hold) => data.hold("queue", *hold),
        TraceStep::Package(hold) => data.hold("package", *hold),
        TraceStep::Closed(why) => {
            data.put("reason", why.map(reason));
            "circuit_closed".to_owned()
        }
    };
    Event {
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

    /// Tells what a frame says; returns what it is.
    fn frame(&mut self, frame: &Frame<Simulated>) -> &'static str {
        match frame {
            Frame::Cell(cell) => {
                self.put("sequence", Some(cell.seq.to_wire()));
                let earlier = Some(cell.flags.0).filter(|earlier| *earlier > 0);
                self.put("earlier_transmissions", earlier);
                if let Ok(header) = cell.payload.header() {
                    self.put("command", Some(command(header.command)));
                }
                if !cell.payload.is_empty() {
                    self.put("offset", Some(cell.payload.offset()));
                    self.put("length", Some(cell.payload.len()));
                }
                "cell"
            }
            Frame::Feedback(feedback) => {
                self.put("ack", Some(feedback.ack.to_wire()));
                self.put("fwd", Some(feedback.fwd.to_wire()));
                self.put("out_of_order", Some(feedback.out_of_order));
                self.put("word", feedback.word);
                "feedback"
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
