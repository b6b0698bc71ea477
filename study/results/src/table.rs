//! Rows to Parquet and back.
//!
//! Each file carries the run that it belongs to as leading columns, so that many files can be
//! queried at once; readers of this crate leave these columns aside.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::field::Field;
use crate::fingerprint::Hasher;
use crate::key::RunKey;

/// Rows per row group; readers of any kind fetch a row group at a time.
const GROUP: usize = 1 << 20;

/// A row of a table: a plain struct with one column per field.
///
/// Implemented by the row types of this crate only.
pub trait Row: Columns {
    /// The name of the table and of its file, without extension.
    const TABLE: &'static str;

    /// What a row is, in a sentence.
    const ABOUT: &'static str;
}

/// What a row type needs to become columns and back.
pub trait Columns: Sized {
    /// The columns, in the order of the fields.
    fn schema() -> Vec<TypePtr>;

    /// What each column holds, in the same order.
    fn about() -> Vec<&'static str>;

    /// Writes one row group.
    fn write(rows: &[Self], sink: &mut Sink<'_, '_>) -> Result<(), ParquetError>;

    /// Reads one row group.
    fn read(source: &Source<'_>) -> Result<Vec<Self>, String>;

    /// Adds the content of the row.
    fn hash(&self, hasher: &mut Hasher);
}

/// Declares a row type and how it becomes columns.
macro_rules! row {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident in $table:literal {
            $($(#[doc = $doc:literal])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        impl $crate::table::Row for $name {
            const TABLE: &'static str = $table;
            const ABOUT: &'static str = concat!($($about),*);
        }

        impl $crate::table::Columns for $name {
            fn schema() -> Vec<parquet::schema::types::TypePtr> {
                vec![$(<$type as $crate::field::Field>::column(stringify!($field)),)*]
            }

            fn about() -> Vec<&'static str> {
                vec![$(concat!($($doc),*),)*]
            }

            fn write(
                rows: &[Self],
                sink: &mut $crate::table::Sink<'_, '_>,
            ) -> Result<(), parquet::errors::ParquetError> {
                $(sink.column(rows.iter().map(|row| &row.$field))?;)*
                Ok(())
            }

            fn read(source: &$crate::table::Source<'_>) -> Result<Vec<Self>, String> {
                $(let mut $field = source.column::<$type>(stringify!($field))?.into_iter();)*
                let row = |_| Some(Self { $($field: $field.next()?,)* });
                Ok((0..source.rows()).map_while(row).collect())
            }

            fn hash(&self, hasher: &mut $crate::fingerprint::Hasher) {
                $($crate::field::Field::hash(&self.$field, hasher);)*
            }
        }
    };
}
pub(crate) use row;

/// Takes the columns of a row group in the order of the schema.
#[expect(missing_debug_implementations, reason = "wraps a writer that has none")]
pub struct Sink<'a, 'w>(&'a mut SerializedRowGroupWriter<'w, Vec<u8>>);

impl Sink<'_, '_> {
    /// Writes the next column.
    pub(crate) fn column<'v, F: Field + 'v>(
        &mut self,
        values: impl Iterator<Item = &'v F>,
    ) -> Result<(), ParquetError> {
        let mut column = self
            .0
            .next_column()?
            .expect("the schema names every column written");
        F::write(values, &mut column)?;
        column.close()
    }
}

/// Gives the columns of a row group by name.
#[expect(missing_debug_implementations, reason = "wraps a reader that has none")]
pub struct Source<'a> {
    group: &'a dyn RowGroupReader,
    rows: usize,
}

impl<'a> Source<'a> {
    fn new(group: &'a dyn RowGroupReader) -> Result<Self, String> {
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| "a row group states a negative number of rows")?;
        Ok(Self { group, rows })
    }

    /// Rows of the group.
    pub(crate) const fn rows(&self) -> usize {
        self.rows
    }

    /// All values of a column, as many as there are rows.
    pub(crate) fn column<F: Field>(&self, name: &str) -> Result<Vec<F>, String> {
        let schema = self.group.metadata().schema_descr();
        let index = schema
            .columns()
            .iter()
            .position(|column| column.name() == name)
            .ok_or_else(|| format!("column `{name}` is missing"))?;
        let in_column = |reason: &dyn std::fmt::Display| format!("column `{name}`: {reason}");
        let reader = self
            .group
            .get_column_reader(index)
            .map_err(|e| in_column(&e))?;
        let values = F::read(reader).map_err(|e| in_column(&e))?;
        if values.len() != self.rows {
            let found = values.len();
            return Err(in_column(&format_args!(
                "{found} values in {} rows",
                self.rows
            )));
        }
        Ok(values)
    }
}

/// A table as the bytes of a Parquet file.
pub(crate) fn encode<R: Row>(key: &RunKey, rows: &[R]) -> Result<Vec<u8>, ParquetError> {
    let mut columns = vec![
        <String as Field>::column("transport"),
        <u32 as Field>::column("network"),
        <u64 as Field>::column("seed"),
    ];
    columns.extend(R::schema());
    let schema = Arc::new(
        Type::group_type_builder(R::TABLE)
            .with_fields(columns)
            .build()?,
    );
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("hopflow version ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for group in rows.chunks(GROUP) {
        let mut row_group = writer.next_row_group()?;
        let mut sink = Sink(&mut row_group);
        sink.column(group.iter().map(|_| &key.transport))?;
        sink.column(group.iter().map(|_| &key.network))?;
        sink.column(group.iter().map(|_| &key.seed))?;
        R::write(group, &mut sink)?;
        row_group.close()?;
    }
    writer.into_inner()
}

/// The rows in the bytes of a Parquet file, or what is wrong with it.
pub(crate) fn decode<R: Row>(bytes: Vec<u8>) -> Result<Vec<R>, String> {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index).map_err(|e| e.to_string())?;
        rows.extend(R::read(&Source::new(&*group)?)?);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Relay, Sample};

    fn file() -> Vec<u8> {
        let sample = |circuit| Sample {
            circuit,
            t_s: 1.0,
            packaged_bytes: 2,
            delivered_bytes: 1,
        };
        let rows: Vec<Sample> = (0..100).map(sample).collect();
        encode(&RunKey::new("vanilla", 0, 1, &[]), &rows).unwrap()
    }

    #[test]
    fn another_table_is_told_apart_by_its_columns() {
        assert_eq!(
            decode::<Relay>(file()),
            Err("column `name` is missing".to_owned())
        );
    }

    #[test]
    fn what_is_no_parquet_file_is_an_error() {
        let whole = file();
        for length in 0..whole.len() {
            assert!(
                decode::<Sample>(whole[..length].to_vec()).is_err(),
                "{length} bytes"
            );
        }
        assert_eq!(decode::<Sample>(whole).unwrap().len(), 100);
    }
}
