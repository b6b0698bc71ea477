//! The choice among the circuits of a stream that has several.

mod switching;

use hopflow_overlay::{ConfigError, GatesChoose, Info, PathChoice};

use crate::layer::{Around, ConfigurePath};
use crate::options::Options;
pub(crate) use switching::Switching;

impl ConfigurePath for GatesChoose {
    fn layer() -> &'static Info {
        Self.info()
    }

    fn configure(_: &mut Options, _: &mut Around) -> Result<Self, ConfigError> {
        Ok(Self)
    }
}
