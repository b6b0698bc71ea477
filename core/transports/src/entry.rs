//! Layers as the registry lists them: what each says of itself, its options, and how it is read.

use std::any::type_name;
use std::sync::Arc;

use hopflow_overlay::{ConfigError, EndControl, Info, PathChoice};

use crate::layer::{Around, LayerOptions, NoOptions};
use crate::read::{Properties, Reader, properties};

type Read<T> = fn(&mut Reader, &mut Around) -> Result<Arc<T>, ConfigError>;

/// A registered control from end to end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndEntry {
    pub(crate) info: fn() -> &'static Info,
    /// The name of its type.
    pub(crate) made_by: fn() -> &'static str,
    pub(crate) options: fn() -> Properties,
    pub(crate) read: Read<dyn EndControl>,
}

/// A registered choice among circuits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEntry {
    pub(crate) info: fn() -> &'static Info,
    pub(crate) options: fn() -> Properties,
    pub(crate) read: Read<dyn PathChoice>,
}

impl EndEntry {
    pub(crate) const fn of<E: EndControl + LayerOptions>() -> Self {
        Self {
            info: || E::default().info(),
            made_by: type_name::<E>,
            options: properties::<E>,
            read: |reader, around| Ok(Arc::new(reader.layer::<E>(around)?)),
        }
    }

    /// A control that has no options.
    pub(crate) const fn plain<E: EndControl + Default>() -> Self {
        Self {
            info: || E::default().info(),
            made_by: type_name::<E>,
            options: properties::<NoOptions>,
            read: |_, _| Ok(Arc::new(E::default())),
        }
    }
}

impl PathEntry {
    pub(crate) const fn of<C: PathChoice + LayerOptions>() -> Self {
        Self {
            info: || C::default().info(),
            options: properties::<C>,
            read: |reader, around| Ok(Arc::new(reader.layer::<C>(around)?)),
        }
    }

    /// A choice that has no options.
    pub(crate) const fn plain<C: PathChoice + Default>() -> Self {
        Self {
            info: || C::default().info(),
            options: properties::<NoOptions>,
            read: |_, _| Ok(Arc::new(C::default())),
        }
    }
}
