//! Vegas as a control from end to end: what the ends of a circuit do with its window.
//!
//! What leaks: relays can count SENDMEs by the rhythm of reverse cells.

mod window;

use hopflow_overlay::{
    Acknowledger, ConfigError, Direction, EndControl, EndCx, EndGates, EndPlan, EndSignal,
    EndState, Features, Info, Metric, Site, Violation,
};
use hopflow_units::{Cells, StreamId};
use hopflow_wire::{RelayCommand, RelayHeader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shared::{
    BLOCKED, BOTH_ENDS, EVERY_CELL_ARRIVES, former, settle_source_queue, state_of,
};
use crate::layer::{Around, LayerOptions};
use window::{Local, Vegas, VegasConfig};

/// Tor's congestion control.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct VegasControl {
    #[serde(flatten)]
    config: VegasConfig,
    /// Cells in a source's queue from which on it counts as blocked; by default 256 (tor 0.4.9,
    /// `cellq_high`). Only where there is no control on hops.
    #[schemars(range(min = 1))]
    source_queue: Option<Cells>,
}

/// What an end knows.
#[derive(Clone, Debug)]
struct State {
    config: VegasConfig,
    control: Vegas,
    delivered: Acknowledger,
    /// Whether the source's own queue was too long and has not become short since.
    blocked: bool,
}

impl LayerOptions for VegasControl {
    fn settle(&mut self, around: &mut Around) -> Result<(), ConfigError> {
        self.config.check()?;
        settle_source_queue(&mut self.source_queue, around)?;
        if let Some(high) = self.source_queue {
            self.config.blocked = (high, BLOCKED.1.min(high - Cells::new(1)));
            let queue = self.config.queue().max(BLOCKED.0);
            around.need_queue(queue, queue);
        }
        Ok(())
    }
}

impl EndControl for VegasControl {
    fn info(&self) -> &'static Info {
        static INFO: Info = Info {
            provides: Features::BOUND.or(Features::LEG_RANK),
            requires: &[EVERY_CELL_ARRIVES],
            metrics: &[
                Metric {
                    name: "bandwidth_delay_product",
                    unit: "cells",
                    about: "cells that move without waiting, as Vegas estimates",
                },
                Metric {
                    name: "queue_use",
                    unit: "cells",
                    about: "cells that wait anywhere on the circuit, as Vegas estimates",
                },
                Metric {
                    name: "smoothed_round_trip",
                    unit: "seconds",
                    about: "the smoothed round trip of the circuit",
                },
            ],
            ..Info::new("vegas", "a window that follows the circuit's delay")
        };
        &INFO
    }

    fn plan(&self) -> EndPlan {
        let mut plan = EndPlan {
            sendme_every: Some(self.config.lot().increment),
            ..EndPlan::default()
        };
        if self.source_queue.is_some() {
            (plan.source_high_water, plan.source_low_water) = self.config.blocked;
        }
        plan
    }

    fn open(&self, site: &Site, gates: &mut EndGates<'_>) -> Option<Box<dyn EndState>> {
        let control = Vegas::new(&self.config);
        gates.end.set_window(control.window());
        // Conflux: clients send on their fastest leg, exits on the fastest that is ready
        // (tor 0.4.9, conflux.c: MinRTT and LowRTT).
        gates.preference.wait_for_best_leg = site.direction == Direction::Forward;
        Some(Box::new(State {
            config: self.config,
            control,
            delivered: Acknowledger::default(),
            blocked: false,
        }))
    }

    fn check_change(&self, old: &dyn EndControl) -> Result<(), ConfigError> {
        let keys = &["vegas-increment"];
        self.keeps(former(old), keys, BOTH_ENDS)
    }

    fn reconfigure(&self, state: &mut dyn EndState, _: &mut EndGates<'_>) {
        state_of::<State>(state).config = self.config;
    }
}

impl EndState for State {
    fn on(&mut self, cx: &mut EndCx<'_>, signal: EndSignal<'_>) -> Result<(), Violation> {
        match signal {
            EndSignal::Packaged => self.on_packaged(cx),
            EndSignal::Departed => self.blocked &= cx.queue.unsent > self.config.blocked.1,
            EndSignal::Dequeued(_) => self.on_dequeued(cx),
            EndSignal::Command(header) => return self.on_command(cx, header),
            EndSignal::Delivered(_) | EndSignal::Hop(_) => {}
        }
        Ok(())
    }

    fn sample(&self, out: &mut Vec<f64>) {
        let rtt = self.control.smoothed_rtt();
        if rtt == 0 {
            out.extend([f64::NAN; 3]);
            return;
        }
        out.extend([
            self.control.bdp() as f64,
            self.control.queue_use() as f64,
            rtt as f64 / 1e6,
        ]);
    }
}

impl State {
    fn on_packaged(&mut self, cx: &EndCx<'_>) {
        let inflight = cx.gates.end.outstanding().get();
        self.control.on_packaged(&self.config, cx.now, inflight);
        self.blocked |= cx.queue.unsent >= self.config.blocked.0;
    }

    fn on_dequeued(&mut self, cx: &mut EndCx<'_>) {
        if self.delivered.on_delivered(&self.config.lot()) {
            cx.send(RelayCommand::Sendme, StreamId::CIRCUIT);
        }
    }

    fn on_command(&mut self, cx: &mut EndCx<'_>, header: &RelayHeader) -> Result<(), Violation> {
        if header.command != RelayCommand::Sendme || header.stream != StreamId::CIRCUIT {
            return Err(Violation::Unexpected(header.command));
        }
        let local = Local {
            inflight: cx.gates.end.outstanding().get(),
            queued: cx.queue.unsent.get(),
            blocked: self.blocked,
        };
        self.config.lot().on_sendme(cx, StreamId::CIRCUIT)?;
        self.control.on_sendme(&self.config, cx.now, &local)?;
        cx.gates.end.set_window(self.control.window());
        cx.gates.preference.rank = self.control.smoothed_rtt();
        Ok(())
    }
}
