//! Looks for inputs that a check does not survive, on any toolchain: those of a fuzz target's corpus
//! and random changes of them. Tests share this file.

use std::path::Path;
use std::time::Duration;

/// How many changed inputs are checked, unless `HOPFLOW_FUZZ` says for how many seconds.
const USUAL: u64 = 100;
/// Where the changes start, unless `HOPFLOW_FUZZ_SEED` says where.
const SEED: u64 = 1;
/// The longest input.
const LONGEST: usize = 4096;

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    /// Changes an input a few times.
    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            let end = at + self.below(input.len() - at + 1).min(1 << self.below(9));
            match self.below(7) {
                0 if at < input.len() => input[at] ^= 1 << self.below(8),
                1 if at < input.len() => input[at] = [0, 1, 127, 128, 255][self.below(5)],
                2 => drop(input.drain(at..end)),
                3 => {
                    let piece = input[at..end].to_vec();
                    input.splice(at..at, piece);
                }
                4 => {
                    let other = &corpus[self.below(corpus.len())];
                    let from = self.below(other.len() + 1);
                    let piece = other[from..].to_vec();
                    input.splice(at..end, piece);
                }
                _ => {
                    let len = self.below(16);
                    let piece = self.bytes(len);
                    input.splice(at..at, piece);
                }
            }
            input.truncate(LONGEST);
        }
    }
}

/// Tells which input a check does not survive.
struct Witness<'a>(&'a str, &'a [u8]);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("fuzz target {}, input {:?}", self.0, self.1);
        }
    }
}

/// What an environment variable says.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| {
        panic!("{variable} is {text:?}: allowed is a whole number");
    }))
}

/// Checks the corpus of a target, and changes of it.
#[expect(
    clippy::disallowed_methods,
    reason = "the clock says how long, and never what is checked by default"
)]
pub(crate) fn explore(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder.join(target))
        .expect("the corpus is there")
        .map(|entry| entry.expect("the folder is readable").path())
        .collect();
    files.sort();
    let corpus: Vec<Vec<u8>> = files
        .iter()
        .map(|file| std::fs::read(file).expect("the file is readable"))
        .collect();
    assert!(!corpus.is_empty(), "{target}: the corpus is empty");
    let seconds = number("HOPFLOW_FUZZ");
    let seed = number("HOPFLOW_FUZZ_SEED").unwrap_or(SEED);
    let start = std::time::Instant::now();
    let (mut random, mut count) = (Random(seed), 0);
    let goes_on = |count: u64| match seconds {
        None => count < USUAL,
        Some(seconds) => start.elapsed() < Duration::from_secs(seconds),
    };
    for input in &corpus {
        let _witness = Witness(target, input);
        check(input);
    }
    while goes_on(count) {
        let mut input = corpus[random.below(corpus.len())].clone();
        random.change(&mut input, &corpus);
        let _witness = Witness(target, &input);
        check(&input);
        count += 1;
    }
    println!(
        "fuzz target {target}: {} inputs of the corpus, {count} changed ones from seed {seed}",
        corpus.len()
    );
}
