//! Quantities in files that users write: text with a unit, and its JSON Schema. Cells are whole
//! numbers.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::{Bytes, Cells, Duration, Interval, Quantity, Rate};

struct FromText<Q>(PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for FromText<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as text with its unit, \"{}\"", Q::WHAT, Q::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! as_text {
    ($($quantity:ty),*) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(FromText(PhantomData))
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $quantity {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                Self::WHAT.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "title": Self::WHAT,
                    "type": "string",
                    "pattern": Self::PATTERN,
                    "examples": [Self::EXAMPLE],
                })
            }
        }
    )*};
}

as_text!(Bytes, Duration, Interval, Rate);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

impl JsonSchema for Cells {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "a whole number of cells".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "a whole number of cells", "type": "integer", "minimum": 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, Error> {
        T::deserialize(text.into_deserializer())
    }

    #[test]
    fn quantities_are_read_from_text() {
        assert_eq!(read::<Duration>("40 ms"), Ok(Duration::from_millis(40)));
        assert_eq!(read::<Bytes>("5 KiB"), Ok(Bytes::new(5120)));
        let error = read::<Rate>("1 mb/s").unwrap_err().to_string();
        assert!(error.contains("unknown unit \"mb/s\""), "{error}");
        let error = read::<Interval>("0 s").unwrap_err().to_string();
        assert!(error.contains("a time longer than zero"), "{error}");
    }
}
