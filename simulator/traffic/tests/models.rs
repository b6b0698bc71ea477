//! Built-in models: the same steps everywhere, distributed as in Python; and files that are wrong.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hopflow_random::Streams;
use hopflow_sim::spec::Class;
use hopflow_traffic::{Model, Step};

#[path = "../../../fuzz/explore.rs"]
mod explore;

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

/// A tensor of floating-point numbers: its name, its shape, and what it holds.
type Tensor<'a> = (&'a str, &'a [usize], &'a [f64]);

/// A file with this description and no tensors but one.
fn file(description: &str) -> Vec<u8> {
    file_with(description, &[("levels", &[1], &[0.0])])
}

fn file_with(description: &str, tensors: &[Tensor<'_>]) -> Vec<u8> {
    file_of("F64", description, tensors)
}

/// A file whose tensors are of this type, of eight bytes a number; they have the numbers' bits.
fn file_of(dtype: &str, description: &str, tensors: &[Tensor<'_>]) -> Vec<u8> {
    let description = description.replace('"', "\\\"");
    let mut header = format!("{{\"__metadata__\":{{\"hopflow-traffic\":\"{description}\"}}");
    let mut content: Vec<u8> = Vec::new();
    for (name, shape, values) in tensors {
        let begin = content.len();
        content.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let end = content.len();
        write!(
            header,
            ",\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\
             \"data_offsets\":[{begin},{end}]}}"
        )
        .unwrap();
    }
    header.push('}');
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(content);
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
        (
            file(&format!(
                r#"{{"version":1,"kind":"generator","order":[],"noise":1,"layers":1,{web}}}"#
            )),
            [
                "\"order\" has no \"web\"",
                "needed are all of \"classes\": web",
            ],
        ),
        (
            file(&format!(
                r#"{{"version":1,"kind":"parametric","parameters":{{}},{web}}}"#
            )),
            ["\"parameters\" has no \"web\"", "needed are all of"],
        ),
    ] {
        let error = Model::read(&bytes, "own.file").unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// Chains of one state: with these probabilities to start, to go on, and of a stream and the end.
fn chains(start: f64, transition: f64, emission: [f64; 2]) -> Vec<u8> {
    let description = r#"{"version":1,"kind":"markov","packet":100,"streams":["$","F"],
        "packets":["-","F"],"classes":{"web":{"play":"files","think":[1]}}}"#;
    let (start, transition) = ([start], [transition]);
    file_with(
        &description.replace('\n', ""),
        &[
            ("streams.start", &[1], &start),
            ("streams.transition", &[1, 1], &transition),
            ("streams.emission", &[1, 2], &emission),
            ("streams.gaps", &[1, 6], &[0.0; 6]),
            ("packets.start", &[1], &[1.0]),
            ("packets.transition", &[1, 1], &[1.0]),
            ("packets.emission", &[1, 2], &[0.5, 0.5]),
            ("packets.gaps", &[1, 6], &[0.0; 6]),
        ],
    )
}

#[test]
fn chains_have_probabilities_and_a_stream_now_and_then() {
    for (bytes, part) in [
        (chains(0.5, 1.0, [0.5, 0.5]), "\"streams.start\" has a row"),
        (chains(1.0, 0.7, [0.5, 0.5]), "sum up to 1, or are all 0"),
        (chains(1.0, 1.0, [1.5, -0.5]), "\"streams.emission\" has a"),
        (chains(1.0, 1.0, [0.0, 1.0]), "allowed are 0.001 to 1"),
    ] {
        let error = Model::read(&bytes, "own.file").unwrap_err().to_string();
        assert!(
            error.starts_with("own.file: ") && error.contains(part),
            "{error}"
        );
    }
    let model = Model::read(&chains(1.0, 1.0, [0.5, 0.5]), "own.file").unwrap();
    let drawn = steps(&model, Class::Web, 50);
    assert!(drawn.iter().any(|step| step.objects.len() > 1));
}

/// Two sessions of web users, with ten objects beside the first ones: where those of each end.
fn sessions(ends: [u64; 2]) -> Vec<u8> {
    let description =
        r#"{"version":1,"kind":"empirical","classes":{"web":{"play":"page","think":[1]}}}"#;
    let first = [1000, 2000].map(f64::from_bits);
    let objects = [500; 10].map(f64::from_bits);
    let uploads = [100, 200].map(f64::from_bits);
    file_of(
        "U64",
        description,
        &[
            ("web.first", &[2], &first),
            ("web.objects", &[10], &objects),
            ("web.objects.ends", &[2], &ends.map(f64::from_bits)),
            ("web.uploads", &[2], &uploads),
            ("web.uploads.ends", &[2], &[1, 2].map(f64::from_bits)),
        ],
    )
}

#[test]
fn every_size_belongs_to_a_session() {
    let model = Model::read(&sessions([3, 10]), "own.file").unwrap();
    let drawn = steps(&model, Class::Web, 20);
    assert!(
        drawn
            .iter()
            .all(|step| [4, 8].contains(&step.objects.len()))
    );
    for ends in [[3, 6], [3, 11], [6, 3]] {
        let error = Model::read(&sessions(ends), "own.file").unwrap_err();
        assert_eq!(
            error.to_string(),
            "own.file: the tensor \"web.objects.ends\" is wrong; allowed are numbers that rise to 10"
        );
    }
}

#[test]
fn a_state_with_no_transitions_ends_a_sequence() {
    let model = Model::read(&chains(1.0, 0.0, [1.0, 0.0]), "own.file").unwrap();
    let drawn = steps(&model, Class::Web, 5);
    assert!(drawn.iter().all(|step| step.objects.len() == 1));
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

#[test]
fn fuzzing_models_finds_nothing() {
    explore::explore("traffic", |bytes| drop(Model::read(bytes, "a file")));
}
