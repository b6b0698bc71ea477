//! Our TCP beside the model of Padhye et al., under random losses.

use hopflow_tcp::model::{Form, Reno};
use hopflow_tcp::pair::{LinkSpec, Pair};
use hopflow_tcp::{Algorithm, Config};
use hopflow_units::{Bytes, Duration, Instant};

const ROUND_TRIP: Duration = Duration::from_millis(100);
/// Linux's margin above the round-trip time.
const TIMEOUT: Duration = Duration::from_millis(300);

fn config(sack: bool) -> Config {
    let mut config = Config {
        algorithm: Algorithm::NewReno,
        send_buffer: Bytes::new(64 << 20),
        receive_buffer: Bytes::new(64 << 20),
        sack,
        ..Config::default()
    };
    config.delayed_ack.quick_segments = 0;
    config
}

/// Segments that a bulk transfer sends per second, by those of the model.
fn against_model(loss: f64, sack: bool, form: Form) -> f64 {
    let forward = LinkSpec {
        loss,
        seed: 1,
        ..LinkSpec::delay(ROUND_TRIP / 2)
    };
    let mut pair = Pair::new(&config(sack), forward, LinkSpec::delay(ROUND_TRIP / 2));
    pair.offer(Bytes::new(1 << 50));
    let mut sent_by = |secs| {
        pair.run_until(Instant::ZERO + Duration::from_secs(secs));
        pair.sender.stats().segments_sent
    };
    let before = sent_by(20);
    let sent = (sent_by(2020) - before) as f64 / 2000.0;
    // Acknowledgements are delayed, but windows grow by the bytes that they acknowledge.
    let model = Reno {
        round_trip: ROUND_TRIP,
        timeout: TIMEOUT,
        per_ack: 1.0,
        window: None,
    };
    sent / model.rate(form, loss)
}

#[test]
fn newreno_sends_what_the_model_says_where_losses_are_rare() {
    for loss in [0.001, 0.003, 0.01, 0.03] {
        for sack in [false, true] {
            let ratio = against_model(loss, sack, Form::Full);
            assert!((ratio - 1.0).abs() < 0.1, "{loss}, SACK {sack}: {ratio}");
        }
    }
}

#[test]
fn newreno_sends_more_than_the_model_says_where_timeouts_would_rule() {
    // Limited transmit, and without SACK a partial acknowledgement, spare it timeouts.
    for sack in [false, true] {
        let ratio = against_model(0.1, sack, Form::Full);
        assert!((1.2..1.6).contains(&ratio), "SACK {sack}: {ratio}");
    }
}
