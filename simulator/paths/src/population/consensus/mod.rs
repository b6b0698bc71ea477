//! The network that a consensus document of Tor describes.

#[cfg(feature = "consensus")]
mod document;
#[cfg(not(feature = "consensus"))]
mod document {
    //! Stands in where the parser is left out.

    use hopflow_random::Stream;

    use crate::{PathsError, Population};

    pub(super) fn population(
        _text: &str,
        file: &str,
        _stream: &mut Stream,
    ) -> Result<Population, PathsError> {
        Err(PathsError::content(
            file,
            "this build reads no consensus documents; allowed are they in builds with the feature \
             `consensus` of the crate hopflow-paths",
        ))
    }
}

use hopflow_random::Stream;

use super::Population;
use crate::PathsError;

impl Population {
    /// The relays of a consensus document, plain or of the flavour `microdesc`; errors call it
    /// `file`.
    ///
    /// The document is read by the Tor Project's crate tor-netdoc, which is compiled in only with
    /// the feature `consensus`. Neither signatures nor dates are checked: old documents are what
    /// simulations want.
    ///
    /// A relay's consensus weight in kilobytes per second is taken for its bandwidth, too. Bandwidth
    /// weights that the document lacks are one; if it has none, they are computed from the relays.
    /// A consensus tells no continents, which are drawn as for [`builtin`](Self::builtin), and no
    /// families.
    ///
    /// # Errors
    /// If the text is not a consensus document, or this build reads none.
    pub fn from_consensus(text: &str, file: &str, stream: &mut Stream) -> Result<Self, PathsError> {
        document::population(text, file, stream)
    }
}

#[cfg(test)]
mod tests;
