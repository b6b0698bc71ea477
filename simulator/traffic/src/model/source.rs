//! What all kinds of models have in common.

use std::collections::BTreeMap;
use std::fmt::Debug;

use hopflow_random::Stream;
use hopflow_sim::spec::Class;
use serde::Deserialize;

use crate::ModelError;
use crate::step::Object;
use crate::tensors::Tensors;

/// Whatever draws what a step fetches; it has one object or more.
pub(super) trait Source: Debug + Send + Sync {
    fn draw(&self, class: Class, random: &mut Stream) -> Vec<Object>;
}

/// A class as files call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClassName {
    Bulk,
    Web,
}

impl From<ClassName> for Class {
    fn from(name: ClassName) -> Self {
        match name {
            ClassName::Bulk => Self::Bulk,
            ClassName::Web => Self::Web,
        }
    }
}

/// How files call a class.
pub(super) const fn name_of(class: Class) -> &'static str {
    match class {
        Class::Bulk => "bulk",
        Class::Web => "web",
    }
}

/// Makes sure that what `key` of the description lists has all classes of users.
pub(super) fn expect_classes<T>(
    tensors: &Tensors<'_>,
    key: &str,
    classes: &[Class],
    listed: &BTreeMap<Class, T>,
) -> Result<(), ModelError> {
    let Some(class) = classes.iter().find(|class| !listed.contains_key(class)) else {
        return Ok(());
    };
    let names: Vec<&str> = classes.iter().map(|class| name_of(*class)).collect();
    Err(tensors.error(format!(
        "\"{key}\" has no \"{}\"; needed are all of \"classes\": {}",
        name_of(*class),
        names.join(", ")
    )))
}
