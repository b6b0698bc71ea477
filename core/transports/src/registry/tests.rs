use hopflow_overlay::{
    EndToEnd, HopRepair, LinkPlan, Multiplexing, Order, Repair, SchedulerPlan, Scope,
};
use hopflow_units::{Cells, Duration};

use super::*;
use crate::check::{check, redundant};

/// Every way to carry frames, and to schedule and to repair them.
fn links() -> Vec<(LinkPlan, Repair)> {
    let half_life = Duration::from_secs(30);
    let kist = Some(Duration::from_millis(2));
    let connection = EndToEnd::new(hopflow_tcp::Config::default(), Cells::new(9), Cells::new(9));
    let mut links = Vec::new();
    for carrier in [LinkPlan::streams, LinkPlan::datagrams] {
        let plan = carrier(Cells::new(100), Duration::from_millis(10));
        let own = plan.scheduler;
        let order = Order::Ewma { half_life };
        let ewma = SchedulerPlan { order, ..own };
        let scope = Scope::Node;
        let kist = SchedulerPlan {
            kist,
            scope,
            ..ewma
        };
        for multiplexing in [Multiplexing::Shared, Multiplexing::PerCircuit] {
            for scheduler in [own, ewma, kist] {
                let link = LinkPlan {
                    multiplexing,
                    scheduler,
                    ..plan.clone()
                };
                let per_hop = Repair::PerHop(HopRepair::default());
                for repair in [Repair::None, per_hop, Repair::EndToEnd(connection)] {
                    links.push((link.clone(), repair));
                }
            }
        }
    }
    links
}

/// The names of the layers of all stacks that work and of which no layer is redundant.
fn space() -> Vec<[&'static str; 7]> {
    let fixed = path_choices()[0];
    let mut found = Vec::new();
    for (link, repair) in links() {
        let [carrier, multiplexing, scheduler] = link.infos();
        for hop in hop_controls() {
            for end in end_controls() {
                let repair = repair.info();
                let infos = [carrier, multiplexing, scheduler, repair, hop, end, fixed];
                if check(&infos).is_ok() && redundant(&infos).is_none() {
                    found.push(infos.map(|info| info.name));
                }
            }
        }
    }
    found
}

#[test]
fn declarations_give_the_design_space() {
    let space = space();
    let of = |hops: &[(&str, &str)]| {
        let points = space.iter().filter(|[.., hop, end, _]| {
            let (hop, end) = (*hop, *end);
            hops.contains(&(hop, end))
        });
        points.copied().collect::<Vec<_>>()
    };
    let windows = of(&[
        ("none", "window"),
        ("none", "vegas"),
        ("none", "tcp"),
        ("credit", "none"),
        ("credit", "window"),
        ("credit", "vegas"),
        ("delay-window", "none"),
        ("delay-window", "window"),
        ("delay-window", "vegas"),
        ("load-report", "worst-hop"),
    ]);
    let over_repaired_datagrams = |point: &[&str; 7]| point[3] == "per-hop" && point[4] == "none";
    let (new, known): (Vec<_>, Vec<_>) = windows.iter().copied().partition(over_repaired_datagrams);
    assert_eq!([known.len(), new.len()], [29, 4], "{windows:#?}");
    let successors = of(&[("wait-report", "gradient"), ("mark-report", "marked-share")]);
    assert_eq!(successors.len(), 4, "{successors:#?}");
    let reports = ["load-report", "wait-report", "mark-report"];
    let reporting = space.iter().filter(|point| reports.contains(&point[4]));
    assert_eq!(reporting.count(), 6, "each is read by one control alone");
}

#[test]
fn every_layer_is_part_of_some_stack() {
    let space = space();
    for (place, infos) in [(4, hop_controls()), (5, end_controls())] {
        for info in infos {
            let used = space.iter().any(|point| point[place] == info.name);
            assert!(used, "{}", info.name);
        }
    }
}
