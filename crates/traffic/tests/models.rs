//! Built-in models: the same steps everywhere, distributed as in Python; and files that are wrong.

use std::collections::BTreeMap;

use hopflow_random::Streams;
use hopflow_sim::spec::Class;
use hopflow_traffic::{Model, Step};

const CLASSES: [(Class, &str); 2] = [(Class::Web, "web"), (Class::Bulk, "bulk")];

fn builtin(name: &str) -> Model {
    Model::read(Model::builtin(name).unwrap(), name).unwrap()
}

fn steps(model: &Model, class: Class, count: usize) -> Vec<Step> {
    let mut random = Streams::new(1).stream("user", 0);
    (0..count).map(|_| model.step(class, &mut random)).collect()
}

/// Objects, bytes and pauses of a step as one number.
fn digest(steps: &[Step]) -> u64 {
    let mut numbers = Vec::new();
    for step in steps {
        for object in &step.objects {
            numbers.extend([object.request.get(), object.response.get()]);
        }
        numbers.push(step.think.as_nanos());
    }
    // FNV-1a over whole numbers.
    numbers
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, number| {
            (hash ^ number).wrapping_mul(0x0100_0000_01b3)
        })
}

/// If a number changes, so do the users of everybody's scenarios: say so in the changelog.
#[test]
fn steps_are_the_same_bits_everywhere() {
    let found: Vec<_> = Model::builtin_names()
        .flat_map(|name| {
            CLASSES.map(|(class, _)| (name, digest(&steps(&builtin(name), class, 50))))
        })
        .collect();
    let golden = [
        ("copula", 6_789_525_129_340_007_170),
        ("copula", 16_888_215_272_079_451_464),
        ("generator", 11_923_461_060_888_264_401),
        ("generator", 13_595_442_292_056_594_945),
        ("parametric", 11_485_083_839_535_744_912),
        ("parametric", 7_491_239_378_198_538_908),
    ];
    assert_eq!(found, golden);
}

/// The fixture has the percentiles of the bytes of 20,000 steps that Python drew from each model.
/// The statistic of Kolmogorov and Smirnov for two such samples is above 0.0195 with a probability
/// of one in a thousand.
#[test]
fn totals_are_distributed_as_in_python() {
    let fixture = include_str!("fixtures/totals.json");
    let expected: BTreeMap<String, BTreeMap<String, Vec<f64>>> =
        serde_json::from_str(fixture).unwrap();
    for (name, classes) in expected {
        let model = builtin(&name);
        for (class, class_name) in CLASSES {
            let steps = steps(&model, class, 20_000);
            let totals: Vec<f64> = steps.iter().map(|step| step.total().get() as f64).collect();
            for (percentile, level) in classes[class_name].iter().zip(1_u32..) {
                let below = totals.iter().filter(|total| *total <= percentile).count();
                let distance = (below as f64 / 20_000.0 - f64::from(level) / 100.0).abs();
                assert!(distance < 0.0195, "{name} {class_name} {level}: {distance}");
            }
        }
    }
}

#[test]
fn pages_have_many_objects_and_users_think() {
    for name in Model::builtin_names() {
        let steps = steps(&builtin(name), Class::Web, 500);
        let objects: usize = steps.iter().map(|step| step.objects.len()).sum();
        assert!((60..130).contains(&(objects / 500)), "{name}: {objects}");
        assert!(
            steps
                .iter()
                .all(|step| step.think.as_nanos() >= 1_000_000_000)
        );
    }
}

/// A file with this description and no tensors but one.
fn file(description: &str) -> Vec<u8> {
    let description = description.replace('"', "\\\"");
    let header = format!(
        "{{\"__metadata__\":{{\"hopflow-traffic\":\"{description}\"}},\
         \"levels\":{{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}}}"
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(0.0_f64.to_le_bytes());
    bytes
}

#[test]
fn errors_name_the_file_what_is_wrong_and_what_is_allowed() {
    let web = r#""classes":{"web":{"play":"page","think":[1]}}"#;
    for (bytes, parts) in [
        (b"nonsense".to_vec(), ["own.file: ", "format safetensors"]),
        (
            file(&format!(r#"{{"version":2,"kind":"copula",{web}}}"#)),
            ["has version 2", "allowed: 1"],
        ),
        (
            file(&format!(r#"{{"version":1,"kind":"copla",{web}}}"#)),
            ["copla", "copula"],
        ),
        (
            file(r#"{"version":1,"kind":"copula","classes":{"web":{"play":"page","think":[]}}}"#),
            ["users have no pauses", "allowed are pauses"],
        ),
        (
            file(&format!(r#"{{"version":1,"kind":"copula",{web}}}"#)),
            ["\"levels\" does not rise", "from 0 to 1"],
        ),
        (
            file(&format!(r#"{{"version":1,"kind":"empirical",{web}}}"#)),
            ["no tensor \"web.first\"", "there are: levels"],
        ),
    ] {
        let error = Model::read(&bytes, "own.file").unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn no_file_with_a_changed_byte_brings_the_program_down() {
    let original = Model::builtin("copula").unwrap();
    let mut random = Streams::new(5).stream("changes", 0);
    for _ in 0..500 {
        let mut bytes = original.to_vec();
        let place = random.integer(0, 1_500) as usize;
        bytes[place] = random.bits() as u8;
        if let Ok(model) = Model::read(&bytes, "changed") {
            let class = if model.has(Class::Web) {
                Class::Web
            } else {
                Class::Bulk
            };
            if model.has(class) {
                steps(&model, class, 3);
            }
        }
    }
}
