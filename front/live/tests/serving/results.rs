//! Finished runs.

use hopflow_live::Recording;
use hopflow_results::Folder;
use serde_json::Value;

use crate::support::{Events, SCENARIO, results, serve};

fn frames(recording: &Recording) -> (Value, Vec<Value>) {
    let server = serve(&recording.stream());
    let mut events = Events::of(server.address());
    let (_, head) = events.next().unwrap();
    let events = events.until("done");
    server.end();
    let frames = events.into_iter().filter(|(name, _)| name == "frame");
    (head, frames.map(|(_, frame)| frame).collect())
}

#[test]
fn a_finished_run_is_what_was_recorded_of_it() {
    let folder = tempfile::tempdir().unwrap();
    results(SCENARIO, folder.path());
    let (head, frames) = frames(&Recording::load(folder.path(), Some(7)).unwrap());
    assert_eq!(head["kind"], "results");
    assert_eq!(head["hops"], true);
    let network = &head["network"];
    assert_eq!(network["seed"], 7);
    assert_eq!(network["end"], 2.0);
    assert_eq!(network["transports"][0], "vanilla");
    assert_eq!(network["machines"][0]["bucket"], 1e6);
    assert_eq!(network["users"][0]["paths"][0].as_array().unwrap().len(), 3);
    let times: Vec<_> = frames.iter().map(|it| it["at"].as_f64().unwrap()).collect();
    assert_eq!(times.len(), 11, "{times:?}");
    let mut shown = 0;
    for frame in &frames {
        for (view, transport) in frame["views"].as_array().unwrap().iter().zip(0..) {
            for (user, number) in view["users"].as_array().unwrap().iter().zip(0..) {
                let path = &network["users"][number]["paths"][0];
                let hops = user["hops"].as_array().unwrap();
                assert_eq!(hops.len(), 2, "exit and guard send");
                assert_eq!([&hops[0][0], &hops[1][0]], [&path[2], &path[1]]);
                let transfer = &user["transfer"];
                if number == 2 {
                    assert!(transfer[2].is_null(), "it has no end");
                } else if !transfer[2].is_null() {
                    shown += 1;
                    assert!(transfer[1].as_u64() <= transfer[2].as_u64());
                    assert!(transfer[0].as_f64() <= frame["at"].as_f64());
                }
                assert!(transport > 0 || hops[0][3].is_u64(), "vanilla's window");
            }
        }
    }
    assert!(shown > 0, "downloads are under way");
    let downloads = frames
        .iter()
        .flat_map(|it| it["views"][0]["downloads"].as_array().unwrap());
    assert!(downloads.count() > 2);
}

#[test]
fn circuits_alone_are_enough_and_nothing_is_not() {
    let folder = tempfile::tempdir().unwrap();
    results(&SCENARIO.replace("hops = \"200 ms\"", ""), folder.path());
    let (head, found) = frames(&Recording::load(folder.path(), None).unwrap());
    assert_eq!(head["hops"], false);
    assert_eq!(head["network"]["seed"], 4);
    assert!(found.len() > 15, "{}", found.len());
    assert!(
        found[5]["views"][0]["users"][0]["hops"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn uploads_are_followed_from_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let text = SCENARIO.replace(
        "response = \"endless\"",
        "direction = \"upload\", request = \"100 KiB\"",
    );
    results(&text, folder.path());
    let (head, found) = frames(&Recording::load(folder.path(), None).unwrap());
    let path = &head["network"]["users"][2]["paths"][0];
    let hops = &found[5]["views"][0]["users"][2]["hops"];
    assert_eq!([&hops[0][0], &hops[1][0]], [&path[0], &path[1]]);
    let uploads = |user: usize| &head["network"]["users"][user]["uploads"];
    assert_eq!([uploads(0), uploads(2)], [false, true]);
}

#[test]
fn results_are_shown_without_the_files_of_their_scenario() {
    let folder = tempfile::tempdir().unwrap();
    results(SCENARIO, folder.path());
    let set = |text: &str| {
        let results = Folder::open(folder.path());
        let mut manifest = results.read_manifest().unwrap();
        manifest.scenario_toml = text.to_owned();
        results.write_manifest(&manifest).unwrap();
        frames(&Recording::load(folder.path(), None).unwrap()).0
    };
    // Nobody uploads, whatever a comment says, so no file is needed.
    let replay = SCENARIO.replace("response = \"endless\"", "replay = \"gone.csv\"");
    let head = set(&format!("# No upload.\n{replay}"));
    assert!(head["note"].is_null(), "{}", head["note"]);
    let upload = "direction = \"upload\", request = \"100 KiB\"";
    let head = set(&replay.replace("response = \"100 KiB\"", upload));
    let note = head["note"].as_str().unwrap();
    assert!(note.contains("Who uploads is not known"), "{note}");
    assert!(note.contains("gone.csv"), "{note}");
    assert_eq!(head["network"]["users"][0]["uploads"], false);
    let head = set("direction = upload");
    let file = folder.path().join("manifest.json: scenario_toml");
    let note = head["note"].as_str().unwrap();
    assert!(note.contains(&file.display().to_string()), "{note}");
}

#[test]
fn folders_without_what_is_shown_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Recording::load(folder.path(), None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("manifest.json"), "{error}");
    results(SCENARIO, folder.path());
    let error = Recording::load(folder.path(), Some(5))
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("--seed: there is no run with 5; allowed are 4, 7"),
        "{error}"
    );
}
