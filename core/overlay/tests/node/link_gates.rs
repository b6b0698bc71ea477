//! Control over all circuits of a link: its gate and its samples.

use crate::support::PlainConfig;
use hopflow_overlay::{LinkSample, Scope};
use hopflow_testkit::{Chain, End, Manner, Medium};
use hopflow_units::{Bytes, Cells, Duration};

/// Both scopes, with a window of two cells per link that grows up to six.
fn configs() -> [PlainConfig; 2] {
    [Scope::Node, Scope::Link].map(|scope| {
        let mut config = PlainConfig {
            link_window: Some(Cells::new(2)),
            ..PlainConfig::datagrams()
        };
        config.plan.scope = scope;
        config
    })
}

/// Downloads over two circuits of the same three nodes.
fn download(config: &PlainConfig, medium: Medium) {
    let factory = config.clone().factory();
    let mut chain = Chain::new(&factory, 3, Manner::WireTrue, 5).with_medium(medium);
    for _ in 0..2 {
        let circuit = chain.circuit(&[0, 1, 2]);
        let stream = chain.stream(&[circuit]);
        chain.write(stream, End::Exit, Bytes::new(40_000));
    }
    let arrived = chain.run_to_arrival(Duration::from_secs(3600));
    assert!(arrived, "{}", chain.summary());
}

#[test]
fn a_window_that_grows_lets_all_circuits_of_a_link_go_on() {
    for config in configs() {
        download(&config, Medium::delay(Duration::from_millis(10)));
        let samples = config.samples.lock().unwrap();
        assert!(samples.len() >= 50, "{} round trips", samples.len());
        let rtts = samples.iter().all(
            |(sample, _)| matches!(sample, LinkSample::Rtt(rtt) if rtt.as_millis_f64() >= 20.0),
        );
        assert!(rtts, "every round trip is known, nothing is lost");
        // Each circuit may have eight cells out before the first sample sets the link's window.
        let later = samples.iter().skip(20).map(|(_, out)| out.get()).max();
        assert!(later <= Some(6), "{later:?} cells are out on a link");
    }
}

#[test]
fn lost_cells_are_repaired_though_they_fill_the_links_window() {
    for config in configs() {
        let medium = Medium::delay(Duration::from_millis(10));
        download(&config, medium.harmed(0.2, 0.0, Duration::ZERO));
        let samples = config.samples.lock().unwrap();
        let losses = samples
            .iter()
            .filter(|(sample, _)| matches!(sample, LinkSample::Loss(_)));
        assert!(losses.count() > 10, "losses are told");
    }
}

#[test]
fn a_closed_circuit_gives_back_its_part_of_the_links_window() {
    for config in configs() {
        let factory = config.factory();
        let mut chain = Chain::new(&factory, 3, Manner::WireTrue, 5);
        chain.expect_closures();
        let [doomed, kept] = [(); 2].map(|()| {
            let circuit = chain.circuit(&[0, 1, 2]);
            let stream = chain.stream(&[circuit]);
            chain.write(stream, End::Exit, Bytes::new(100_000));
            (circuit, stream)
        });
        chain.run_for(Duration::from_millis(333));
        chain.close(doomed.0, 1);
        chain.run_for(Duration::from_secs(60));
        let arrived = chain.arrived(kept.1, End::Exit);
        assert_eq!(arrived, Bytes::new(100_000), "{}", chain.summary());
    }
}

#[test]
fn a_pace_spaces_the_cells_of_all_circuits_of_a_link() {
    for config in configs() {
        let config = PlainConfig {
            link_window: None,
            link_pace: Some(Duration::from_millis(10)),
            ..config
        };
        let factory = config.factory();
        let mut chain = Chain::new(&factory, 2, Manner::WireTrue, 5);
        let streams = [(); 2].map(|()| {
            let circuit = chain.circuit(&[0, 1]);
            let stream = chain.stream(&[circuit]);
            chain.write(stream, End::Exit, Bytes::new(498 * 100));
            stream
        });
        assert!(chain.run_to_arrival(Duration::from_secs(10)));
        let end = streams.map(|stream| chain.last_arrival(stream).as_secs_f64());
        let end = end[0].max(end[1]);
        assert!((1.8..2.2).contains(&end), "200 cells take {end} s");
    }
}
