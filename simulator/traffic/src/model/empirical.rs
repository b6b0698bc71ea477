//! Sessions themselves, drawn with replacement.
//!
//! Tensors: `CLASS.first`, the first size of each session; `CLASS.objects` and `CLASS.uploads`, the
//! sizes of all others, session after session, and `CLASS.objects.ends` and `CLASS.uploads.ends`,
//! where those of each session end.

use std::collections::BTreeMap;

use hopflow_random::Stream;
use hopflow_sim::spec::Class;

use super::source::{Source, name_of};
use crate::ModelError;
use crate::step::{Object, upload};
use crate::tensors::Tensors;

/// The sessions of classes of users.
#[derive(Clone, Debug)]
pub(super) struct Empirical(BTreeMap<Class, Vec<Vec<Object>>>);

impl Empirical {
    pub(super) fn read(tensors: &Tensors<'_>, classes: &[Class]) -> Result<Self, ModelError> {
        let of_class = |&class| Ok((class, sessions(tensors, name_of(class))?));
        let sessions: Result<_, ModelError> = classes.iter().map(of_class).collect();
        sessions.map(Self)
    }
}

impl Source for Empirical {
    fn draw(&self, class: Class, random: &mut Stream) -> Vec<Object> {
        let sessions = &self.0[&class];
        let drawn = random.integer(0, sessions.len() as u64 - 1) as usize;
        sessions[drawn].clone()
    }
}

fn sessions(tensors: &Tensors<'_>, class: &str) -> Result<Vec<Vec<Object>>, ModelError> {
    let first: Vec<u64> = tensors.list(&format!("{class}.first"))?;
    if first.is_empty() {
        let problem = format!("has no sessions of \"{class}\"; allowed are one or more");
        return Err(tensors.error(problem));
    }
    let objects = lists(tensors, &format!("{class}.objects"), first.len())?;
    let uploads = lists(tensors, &format!("{class}.uploads"), first.len())?;
    let sessions = first.into_iter().zip(objects).zip(uploads);
    Ok(sessions
        .map(|((first, others), uploads)| {
            let sizes = std::iter::once(first).chain(others);
            let mut objects: Vec<_> = sizes.map(|size| Object::of(size as f64)).collect();
            upload(&mut objects, uploads.into_iter().map(|size| size as f64));
            objects
        })
        .collect())
}

/// The lists that stand one after the other in a tensor, and fill it.
fn lists(tensors: &Tensors<'_>, name: &str, count: usize) -> Result<Vec<Vec<u64>>, ModelError> {
    let values: Vec<u64> = tensors.list(name)?;
    let ends: Vec<u64> = tensors.list_of(&format!("{name}.ends"), count)?;
    let mut begin = 0;
    let lists = ends.into_iter().map(|end| {
        let end = usize::try_from(end).ok()?;
        let list = values.get(begin..end)?.to_vec();
        begin = end;
        Some(list)
    });
    let lists: Option<Vec<_>> = lists.collect();
    let whole = lists.filter(|_| begin == values.len());
    whole.ok_or_else(|| {
        let allowed = format!("allowed are numbers that rise to {}", values.len());
        tensors.error(format!("the tensor \"{name}.ends\" is wrong; {allowed}"))
    })
}
