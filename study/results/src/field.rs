//! Values of a column: how each type becomes a Parquet column, and back.

use std::borrow::Cow;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::fingerprint::Hasher;

/// Values asked of the decoder at once.
const BATCH: usize = 1 << 14;

/// A type that fills a column.
pub(crate) trait Field: Sized {
    /// The column's type.
    fn column(name: &str) -> TypePtr;

    /// Writes all values of a column.
    fn write<'v>(
        values: impl Iterator<Item = &'v Self>,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError>
    where
        Self: 'v;

    /// Reads all values of a column.
    fn read(column: ColumnReader) -> Result<Vec<Self>, String>;

    /// Adds the value to a hash.
    fn hash(&self, hasher: &mut Hasher);
}

/// A field whose type is one physical type of Parquet's, up to a conversion.
macro_rules! plain_field {
    ($type:ty, $parquet:ident, $reader:ident, $physical:ident, $logical:expr, $to:expr, $from:expr, $hash:expr) => {
        impl Field for $type {
            fn column(name: &str) -> TypePtr {
                primitive(name, Physical::$physical, Repetition::REQUIRED, $logical)
            }

            fn write<'v>(
                values: impl Iterator<Item = &'v Self>,
                column: &mut SerializedColumnWriter<'_>,
            ) -> Result<(), ParquetError> {
                let to: fn(&$type) -> _ = $to;
                let values: Vec<_> = values.map(to).collect();
                column
                    .typed::<$parquet>()
                    .write_batch(&values, None, None)
                    .map(drop)
            }

            fn read(column: ColumnReader) -> Result<Vec<Self>, String> {
                let from: fn(_) -> Result<$type, String> = $from;
                match column {
                    ColumnReader::$reader(reader) => {
                        read_all(reader)?.0.into_iter().map(from).collect()
                    }
                    other => Err(wrong_type(&other, stringify!($physical))),
                }
            }

            fn hash(&self, hasher: &mut Hasher) {
                let hash: fn(&$type, &mut Hasher) = $hash;
                hash(self, hasher);
            }
        }
    };
}

plain_field!(
    u32,
    Int32Type,
    Int32ColumnReader,
    INT32,
    Some(unsigned(32)),
    |v| v.cast_signed(),
    |v: i32| Ok(v.cast_unsigned()),
    |v, hasher| hasher.number(u64::from(*v))
);
plain_field!(
    u64,
    Int64Type,
    Int64ColumnReader,
    INT64,
    Some(unsigned(64)),
    |v| v.cast_signed(),
    |v: i64| Ok(v.cast_unsigned()),
    |v, hasher| hasher.number(*v)
);
plain_field!(
    f64,
    DoubleType,
    DoubleColumnReader,
    DOUBLE,
    None,
    |v| *v,
    Ok,
    |v, hasher| hasher.float(*v)
);
plain_field!(
    bool,
    BoolType,
    BoolColumnReader,
    BOOLEAN,
    None,
    |v| *v,
    Ok,
    |v, hasher| hasher.number(u64::from(*v))
);
plain_field!(
    String,
    ByteArrayType,
    ByteArrayColumnReader,
    BYTE_ARRAY,
    Some(LogicalType::String),
    |v| ByteArray::from(v.as_bytes().to_vec()),
    |v: ByteArray| text(v.data()),
    |v, hasher| hasher.text(v)
);

plain_field!(
    Cow<'static, str>,
    ByteArrayType,
    ByteArrayColumnReader,
    BYTE_ARRAY,
    Some(LogicalType::String),
    |v| ByteArray::from(v.as_bytes().to_vec()),
    |v: ByteArray| text(v.data()).map(Cow::Owned),
    |v, hasher| hasher.text(v)
);

/// An optional float or integer: an empty cell where there is none.
macro_rules! optional_field {
    ($type:ty, $parquet:ident, $reader:ident, $physical:ident, $logical:expr, $to:expr, $from:expr) => {
        impl Field for Option<$type> {
            fn column(name: &str) -> TypePtr {
                primitive(name, Physical::$physical, Repetition::OPTIONAL, $logical)
            }

            fn write<'v>(
                values: impl Iterator<Item = &'v Self>,
                column: &mut SerializedColumnWriter<'_>,
            ) -> Result<(), ParquetError> {
                let mut present = Vec::new();
                let mut levels = Vec::new();
                for value in values {
                    levels.push(i16::from(value.is_some()));
                    present.extend(value.map($to));
                }
                column
                    .typed::<$parquet>()
                    .write_batch(&present, Some(&levels), None)
                    .map(drop)
            }

            fn read(column: ColumnReader) -> Result<Vec<Self>, String> {
                match column {
                    ColumnReader::$reader(reader) => {
                        let (present, levels) = read_all(reader)?;
                        let mut present = present.into_iter().map($from);
                        // A column that is never empty may be stored without levels.
                        if levels.is_empty() {
                            return Ok(present.map(Some).collect());
                        }
                        let value = |level: i16| if level > 0 { present.next() } else { None };
                        Ok(levels.into_iter().map(value).collect())
                    }
                    other => Err(wrong_type(&other, stringify!($physical))),
                }
            }

            fn hash(&self, hasher: &mut Hasher) {
                hasher.number(u64::from(self.is_some()));
                if let Some(value) = self {
                    value.hash(hasher);
                }
            }
        }
    };
}

optional_field!(
    f64,
    DoubleType,
    DoubleColumnReader,
    DOUBLE,
    None,
    |v| v,
    |v| v
);
optional_field!(
    u32,
    Int32Type,
    Int32ColumnReader,
    INT32,
    Some(unsigned(32)),
    u32::cast_signed,
    i32::cast_unsigned
);
optional_field!(
    u64,
    Int64Type,
    Int64ColumnReader,
    INT64,
    Some(unsigned(64)),
    u64::cast_signed,
    i64::cast_unsigned
);

/// Declares an enum that is text in files.
macro_rules! text_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All values in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The text in files.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            /// The value that `text` names, or a message with the texts allowed.
            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|value| value.as_str() == text);
                found.ok_or_else(|| {
                    let allowed = [$(concat!("`", $text, "`"),)*].join(", ");
                    format!("`{text}` is none of {allowed}")
                })
            }
        }

        impl $crate::field::Field for $name {
            fn column(name: &str) -> parquet::schema::types::TypePtr {
                <String as $crate::field::Field>::column(name)
            }

            fn write<'v>(
                values: impl Iterator<Item = &'v Self>,
                column: &mut parquet::file::writer::SerializedColumnWriter<'_>,
            ) -> Result<(), parquet::errors::ParquetError> {
                let texts: Vec<String> = values.map(ToString::to_string).collect();
                <String as $crate::field::Field>::write(texts.iter(), column)
            }

            fn read(column: parquet::column::reader::ColumnReader) -> Result<Vec<Self>, String> {
                let texts = <String as $crate::field::Field>::read(column)?;
                texts.iter().map(|text| text.parse()).collect()
            }

            fn hash(&self, hasher: &mut $crate::fingerprint::Hasher) {
                hasher.text(self.as_str());
            }
        }
    };
}
pub(crate) use text_enum;

fn unsigned(bits: i8) -> LogicalType {
    LogicalType::integer(bits, false)
}

fn primitive(
    name: &str,
    physical: Physical,
    repetition: Repetition,
    logical: Option<LogicalType>,
) -> TypePtr {
    let column = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build();
    Arc::new(column.expect("the logical type fits the physical one"))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "text is not UTF-8".to_owned())
}

fn wrong_type(found: &ColumnReader, expected: &str) -> String {
    let found = match found {
        ColumnReader::BoolColumnReader(_) => "BOOLEAN",
        ColumnReader::Int32ColumnReader(_) => "INT32",
        ColumnReader::Int64ColumnReader(_) => "INT64",
        ColumnReader::Int96ColumnReader(_) => "INT96",
        ColumnReader::FloatColumnReader(_) => "FLOAT",
        ColumnReader::DoubleColumnReader(_) => "DOUBLE",
        ColumnReader::ByteArrayColumnReader(_) => "BYTE_ARRAY",
        ColumnReader::FixedLenByteArrayColumnReader(_) => "FIXED_LEN_BYTE_ARRAY",
    };
    format!("{found} instead of {expected}")
}

/// All values of a column and, if it is optional, a level per row: 1 where there is a value.
fn read_all<T: DataType>(mut reader: ColumnReaderImpl<T>) -> Result<(Vec<T::T>, Vec<i16>), String> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    // Grows with what is there rather than with what a damaged header claims.
    loop {
        let (records, ..) = reader
            .read_records(BATCH, Some(&mut levels), None, &mut values)
            .map_err(|e| e.to_string())?;
        if records == 0 {
            return Ok((values, levels));
        }
    }
}
