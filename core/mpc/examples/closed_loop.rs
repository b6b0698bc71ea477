//! Prints how fair and fast networks get in which every relay plans, for variants of the scheme.
//!
//! `cargo run --release -p hopflow-mpc --example closed_loop [NETWORKS [STEPS]]`

#[path = "../tests/common/fluid.rs"]
#[expect(unreachable_pub, reason = "the tests share this module")]
mod fluid;

use fluid::{Fluid, Network, Outcome, Scheme};
use hopflow_mpc::{Config, Form};
use hopflow_random::{Stream, Streams};

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("a number"));
    let networks = arguments.next().unwrap_or(20);
    let steps = arguments.next().unwrap_or(120) as usize;
    println!(
        "| form | r_max | shift | pin | limit | d | inflow | loss | lone | toy | entry | parking lot \
         | random: F | least | throughput | queue | starved |"
    );
    println!("|{}", " --- |".repeat(17));
    for scheme in variants() {
        row(&scheme, networks, steps);
    }
}

/// What the table varies: one thing at a time from the defaults of each form, and the pairs of
/// shift and pin.
fn variants() -> Vec<Scheme> {
    let mut schemes = Vec::new();
    for form in [Form::Coded, Form::Printed] {
        let base = Scheme::new(Config::new(form));
        for r_max in [1.0, 2.0] {
            for (shift, pin) in [(2, 2), (2, 1), (2, 0), (1, 1), (0, 0), (0, 2)] {
                let config = Config {
                    r_max,
                    pin,
                    ..base.config.clone()
                };
                schemes.push(Scheme {
                    shift,
                    ..Scheme::new(config)
                });
            }
        }
        for queue_limit in [20.0, 40.0, 60.0, 200.0] {
            let config = Config {
                queue_limit,
                ..base.config.clone()
            };
            schemes.push(Scheme::new(config));
        }
        let config = Config {
            pin: 1,
            queue_limit: 40.0,
            ..base.config.clone()
        };
        schemes.push(Scheme::new(config));
        for discount in [0.7, 0.9] {
            let config = Config {
                discount,
                ..base.config.clone()
            };
            schemes.push(Scheme::new(config));
        }
        schemes.push(Scheme {
            inflow: 0.95,
            ..base.clone()
        });
        schemes.push(Scheme { loss: 0.3, ..base });
    }
    schemes
}

fn row(scheme: &Scheme, networks: u64, steps: usize) {
    let Config {
        form,
        r_max,
        pin,
        queue_limit,
        discount,
        ..
    } = scheme.config;
    let Scheme {
        shift,
        inflow,
        loss,
        ..
    } = scheme;
    print!(
        "| {form:?} | {r_max} | {shift} | {pin} | {queue_limit} | {discount:.2} | {inflow} | {loss} "
    );
    let streams = Streams::new(1);
    for network in [
        fluid::lone(),
        fluid::toy(),
        fluid::entry_bottleneck(),
        fluid::parking_lot(),
    ] {
        let outcome = run(&network, scheme, steps, &mut streams.stream("loss", 0));
        print!("| {:.2} ", outcome.fairness(&network));
    }
    let mut fairness = Vec::new();
    let (mut throughput, mut queue, mut starved) = (0.0, 0.0, 0);
    for index in 0..networks {
        let network = fluid::random(&mut streams.stream("network", index));
        let outcome = run(&network, scheme, steps, &mut streams.stream("loss", index));
        fairness.push(outcome.fairness(&network));
        throughput += outcome.throughput(&network);
        queue += outcome.queue;
        starved += outcome.starved(&network);
    }
    let count = networks as f64;
    let mean: f64 = fairness.iter().sum::<f64>() / count;
    let least = fairness.into_iter().fold(f64::INFINITY, f64::min);
    let (throughput, queue) = (throughput / count, queue / count);
    println!("| {mean:.3} | {least:.2} | {throughput:.3} | {queue:.1} | {starved} |");
}

fn run(network: &Network, scheme: &Scheme, steps: usize, stream: &mut Stream) -> Outcome {
    Fluid::new(network, scheme).run(steps, 3, 20, stream)
}
