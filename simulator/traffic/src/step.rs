//! What users do.

use hopflow_units::{Bytes, Duration};
use hopflow_wire::CELL_DATA;

/// The most bytes of an object: more than any simulation transfers, and little enough to add up.
const LARGEST: f64 = (1_u64 << 42) as f64;

/// A page load, or a group of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is fetched; the first before all others.
    pub objects: Vec<Object>,
    /// The pause behind the step.
    pub think: Duration,
}

/// Something that is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Bytes of the request, with what is uploaded along with it.
    pub request: Bytes,
    /// Bytes of the response.
    pub response: Bytes,
    /// The pause before the request.
    pub gap: Duration,
}

impl Step {
    /// All bytes that are fetched.
    pub fn total(&self) -> Bytes {
        let sizes = self.objects.iter().map(|object| object.response);
        sizes.fold(Bytes::ZERO, |sum, size| sum + size)
    }
}

impl Object {
    /// An object of this many bytes, rounded, which a request of one cell asks for at once.
    pub(crate) fn of(bytes: f64) -> Self {
        Self {
            request: Bytes::new(CELL_DATA as u64),
            response: whole(bytes),
            gap: Duration::ZERO,
        }
    }
}

/// Adds what is uploaded to the requests, one after the other.
pub(crate) fn upload(objects: &mut [Object], uploads: impl IntoIterator<Item = f64>) {
    let count = objects.len();
    for (number, bytes) in uploads.into_iter().enumerate() {
        objects[number % count].request += whole(bytes);
    }
}

/// A number of bytes, rounded: from 1 on.
fn whole(bytes: f64) -> Bytes {
    Bytes::new(bytes.round_ties_even().clamp(1.0, LARGEST) as u64)
}
