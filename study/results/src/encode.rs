//! The tables of a run as the bytes of Parquet files.

use std::path::Path;

use crate::error::Error;
use crate::key::RunKey;
use crate::run::Tables;
use crate::table::{self, Row};

/// A table as the bytes of a Parquet file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedTable {
    /// Rows in it.
    pub rows: u64,
    /// The file.
    pub bytes: Vec<u8>,
}

/// Encodes those tables of a run that are wanted.
struct Encoder<'a> {
    key: &'a RunKey,
    wanted: &'a dyn Fn(&str) -> bool,
    /// Where the files are to lie, for messages.
    folder: &'a Path,
    tables: Vec<(&'static str, EncodedTable)>,
}

impl Encoder<'_> {
    fn add<R: Row>(&mut self, rows: &[R]) -> Result<(), Error> {
        if !(self.wanted)(R::TABLE) {
            return Ok(());
        }
        let refused = |e: parquet::errors::ParquetError| Error::Value {
            path: self.folder.join(format!("{}.parquet", R::TABLE)),
            reason: e.to_string(),
        };
        let encoded = EncodedTable {
            rows: rows.len() as u64,
            bytes: table::encode(self.key, rows).map_err(refused)?,
        };
        self.tables.push((R::TABLE, encoded));
        Ok(())
    }

    /// A table that only some runs have.
    fn add_optional<R: Row>(&mut self, rows: &[R], is_there: bool) -> Result<(), Error> {
        if is_there { self.add(rows) } else { Ok(()) }
    }
}

impl Tables {
    /// The tables that are `wanted` by their names, as files of a folder hold them; those that only
    /// some runs have only where this one has them.
    ///
    /// # Errors
    /// If rows have no form in Parquet.
    pub fn encode(
        &self,
        key: &RunKey,
        wanted: impl Fn(&str) -> bool,
        folder: &Path,
    ) -> Result<Vec<(&'static str, EncodedTable)>, Error> {
        let mut encoder = Encoder {
            key,
            wanted: &wanted,
            folder,
            tables: Vec::new(),
        };
        encoder.add(&self.downloads)?;
        encoder.add(&self.circuits)?;
        encoder.add(&self.samples)?;
        encoder.add(&self.hops)?;
        encoder.add(&self.relays)?;
        encoder.add(&self.links)?;
        encoder.add(&self.cross)?;
        encoder.add_optional(&self.open_requests, !self.open_requests.is_empty())?;
        let (metrics, latencies) = (!self.metrics.is_empty(), !self.latencies.is_empty());
        encoder.add_optional(&self.metrics, metrics)?;
        encoder.add_optional(&self.metric_units, metrics)?;
        encoder.add_optional(&self.latencies, latencies)?;
        encoder.add_optional(&self.latency_classes, latencies)?;
        encoder.add_optional(&self.breakdown, !self.breakdown.is_empty())?;
        encoder.add_optional(&self.queues, !self.queues.is_empty())?;
        encoder.add_optional(&self.deployments, !self.deployments.is_empty())?;
        encoder.add_optional(&self.traces, !self.traces.is_empty())?;
        encoder.add_optional(&self.visits, !self.visits.is_empty())?;
        encoder.add_optional(&self.failures, !self.failures.is_empty())?;
        encoder.add_optional(&self.rebuilt, !self.rebuilt.is_empty())?;
        encoder.add_optional(&self.faults, !self.faults.is_empty())?;
        encoder.add_optional(&self.nodes, !self.nodes.is_empty())?;
        encoder.add_optional(&self.paths, !self.paths.is_empty())?;
        Ok(encoder.tables)
    }
}
