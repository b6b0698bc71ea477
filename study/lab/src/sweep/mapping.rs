//! Which transport is a point of the design space, or why none is.

use toml::Table;

use super::axes::{Carrier, EndToEnd, HopControl, Multiplexing, Point, Scheduler};
use crate::scenario::Choice;

const ANOTHER_PORT: &str = "A datagram belongs to no connection: one for each circuit would be \
     nothing but another port number.";
const NO_SOCKETS: &str = "KIST asks the kernel how much each TCP connection can send at once; a \
     datagram goes when it is sent, and there is nothing to ask.";
const ONE_CIRCUIT: &str = "With a connection for each circuit, connections take turns and each has \
     one circuit: EWMA has nothing to choose from.";
const NO_BOUND: &str = "Nothing bounds what a source has under way: relays would queue whole \
     downloads.";
const MELTDOWN: &str = "TCP over hops that repair losses themselves: both retransmit the same data \
     and wait for each other (the meltdown of stacked TCP, section 4.3 of the guidelines).";
const TWO_DELAYS: &str = "BackTap reads the delay until a cell is forwarded; over TCP this is \
     mostly TCP's own queue and its retransmissions, which its window cannot tell from the \
     relay's.";
const NO_RECOVERY: &str = "Without control at the hops nothing brings back a lost datagram, and \
     the window at the source counts on every cell to arrive.";
const CREDIT_NEEDS_TCP: &str = "Credits bound the queue at the next relay and not the load of the \
     path to it: over datagrams nothing would heed the network between relays.";
const CREDIT_SHARES: &str = "N23 shares one connection between two neighbours; credits bound a \
     circuit's queue, which is what a connection of its own would be for.";
const WORST_HOP_FEEDBACK: &str = "Marut's loads travel with the forward feedback of datagrams, and \
     its windows take the place of those at the hops.";

/// The transport of a point: its preset, and options that differ from the preset's.
type Transport = (&'static str, &'static [(&'static str, &'static str)]);

/// The transport of a point, or why there is none.
pub(super) fn choice(point: Point) -> Result<Choice, &'static str> {
    let (preset, own) = transport(point)?;
    if (preset, own, point.scheduler) == ("vanilla", VEGAS, Scheduler::Kist) {
        return Ok(Choice {
            preset: Some("tor-vegas".to_owned()),
            options: Table::new(),
            upgrade: None,
        });
    }
    let mut options = Table::new();
    let scheduler = match point.scheduler {
        Scheduler::RoundRobin => None,
        Scheduler::Ewma => Some(("scheduler", "ewma")),
        Scheduler::Kist => Some(("scheduler", "kist")),
    };
    for (key, value) in own.iter().copied().chain(scheduler) {
        options.insert(key.to_owned(), value.into());
    }
    Ok(Choice {
        preset: Some(preset.to_owned()),
        options,
        upgrade: None,
    })
}

fn transport(point: Point) -> Result<Transport, &'static str> {
    match point.carrier {
        Carrier::Tcp => over_tcp(point),
        Carrier::Datagram if point.multiplexing == Multiplexing::PerCircuit => Err(ANOTHER_PORT),
        Carrier::Datagram if point.scheduler == Scheduler::Kist => Err(NO_SOCKETS),
        Carrier::Datagram => over_datagrams(point.hop_control, point.end_to_end),
    }
}

fn over_tcp(point: Point) -> Result<Transport, &'static str> {
    let transport = controls(point.multiplexing, point.hop_control, point.end_to_end)?;
    match (point.multiplexing, point.scheduler) {
        (Multiplexing::PerCircuit, Scheduler::Ewma) => Err(ONE_CIRCUIT),
        _ => Ok(transport),
    }
}

fn controls(
    multiplexing: Multiplexing,
    hop_control: HopControl,
    end_to_end: EndToEnd,
) -> Result<Transport, &'static str> {
    use Multiplexing::{PerCircuit, Shared};
    match (hop_control, end_to_end, multiplexing) {
        (_, EndToEnd::Tcp, _) => Err(MELTDOWN),
        (_, EndToEnd::WorstHop, _) => Err(WORST_HOP_FEEDBACK),
        (HopControl::DelayWindow, _, _) => Err(TWO_DELAYS),
        (HopControl::Credit, _, PerCircuit) => Err(CREDIT_SHARES),
        (HopControl::None, EndToEnd::None, _) => Err(NO_BOUND),
        (HopControl::None, EndToEnd::Window, Shared) => Ok(("vanilla", &[])),
        (HopControl::None, EndToEnd::Window, PerCircuit) => Ok(("pctcp", &[])),
        (HopControl::None, EndToEnd::Vegas, Shared) => Ok(("vanilla", VEGAS)),
        (HopControl::None, EndToEnd::Vegas, PerCircuit) => Ok(("pctcp", VEGAS)),
        (HopControl::Credit, EndToEnd::None, Shared) => Ok(("n23", &[])),
        (HopControl::Credit, EndToEnd::Window, Shared) => Ok(("n23", WINDOW)),
        (HopControl::Credit, EndToEnd::Vegas, Shared) => Ok(("n23", VEGAS)),
    }
}

fn over_datagrams(
    hop_control: HopControl,
    end_to_end: EndToEnd,
) -> Result<Transport, &'static str> {
    match (hop_control, end_to_end) {
        (HopControl::Credit, _) => Err(CREDIT_NEEDS_TCP),
        (HopControl::None, EndToEnd::None) => Err(NO_BOUND),
        (HopControl::None, EndToEnd::Window | EndToEnd::Vegas) => Err(NO_RECOVERY),
        (HopControl::None, EndToEnd::Tcp) => Ok(("udp-or", &[])),
        (HopControl::None, EndToEnd::WorstHop) => Ok(("marut", &[])),
        (HopControl::DelayWindow, EndToEnd::None) => Ok(("backtap", &[])),
        (HopControl::DelayWindow, EndToEnd::Window) => Ok(("backtap", WINDOW)),
        (HopControl::DelayWindow, EndToEnd::Vegas) => Ok(("backtap", VEGAS)),
        (HopControl::DelayWindow, EndToEnd::Tcp) => Err(MELTDOWN),
        (HopControl::DelayWindow, EndToEnd::WorstHop) => Err(WORST_HOP_FEEDBACK),
    }
}

const WINDOW: &[(&str, &str)] = &[("end-to-end", "window")];
const VEGAS: &[(&str, &str)] = &[("end-to-end", "vegas")];

#[cfg(test)]
mod tests {
    use hopflow_sim::Simulated;

    use super::*;
    use crate::sweep::{Axes, Chosen};

    #[test]
    fn every_point_with_a_transport_can_be_built_and_no_two_are_the_same() {
        let points = Axes::choose(&Chosen::default()).unwrap().points();
        let mut seen = Vec::new();
        for point in points {
            let Ok(choice) = choice(point) else { continue };
            let preset = choice.preset.unwrap();
            let built = hopflow_transports::build::<Simulated>(&preset, &choice.options);
            let built = built.unwrap_or_else(|error| panic!("{}: {error}", point.label()));
            let described = (built.name(), built.describe());
            assert!(
                !seen.contains(&described),
                "{} is there already",
                point.label()
            );
            seen.push(described);
        }
        assert_eq!(seen.len(), 29);
    }
}
