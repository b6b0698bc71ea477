//! Quantities with units in a scenario: fixed, or drawn from a distribution.

use std::borrow::Cow;
use std::fmt;

use hopflow_random::{CdfTable, Stream};
use hopflow_units::ParseError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, DeserializeOwned, Deserializer, MapAccess, Visitor, value};
use serde::{Deserialize, Serialize, Serializer};

/// A quantity that a scenario writes as a number with a unit.
pub trait Quantity: hopflow_units::Quantity + Serialize + DeserializeOwned + JsonSchema {}

impl<Q: hopflow_units::Quantity + Serialize + DeserializeOwned + JsonSchema> Quantity for Q {}

/// A quantity written as text with its unit, such as `"1500 kB/s"`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Text<Q>(pub Q);

/// A quantity that each node or circuit draws for itself.
///
/// Written as one value, as `{ uniform = [LOW, HIGH] }`, or as a piecewise linear cumulative
/// distribution `{ points = [[VALUE, PROBABILITY], ...] }`.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution<Q> {
    /// Always the same value.
    Fixed(Q),
    /// Any value between two, both included, with the same probability.
    Uniform(Q, Q),
    /// Values with the probability of at most that value, in rising order up to probability 1.
    Points(Vec<(Q, f64)>),
}

impl<Q: Quantity> Distribution<Q> {
    /// A value drawn from `stream`; a fixed value draws nothing.
    pub fn sample(&self, stream: &mut Stream) -> Q {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform(low, high) => Q::of_amount(stream.integer(low.amount(), high.amount())),
            Self::Points(points) => {
                let table = table(points).expect("checked when it was read");
                Q::of_amount(stream.value(&table).round() as u64)
            }
        }
    }

    /// The mean of the values that can be drawn, in the smallest unit.
    pub fn mean(&self) -> f64 {
        let middle = |a: Q, b: Q| f64::midpoint(a.amount() as f64, b.amount() as f64);
        match self {
            Self::Fixed(value) => value.amount() as f64,
            Self::Uniform(low, high) => middle(*low, *high),
            Self::Points(points) => {
                let first = points[0].0.amount() as f64 * points[0].1;
                let spans = points.windows(2);
                let share = |w: &[(Q, f64)]| middle(w[0].0, w[1].0) * (w[1].1 - w[0].1);
                first + spans.map(share).sum::<f64>()
            }
        }
    }

    /// The smallest value that can be drawn.
    pub fn smallest(&self) -> Q {
        match self {
            Self::Fixed(value) | Self::Uniform(value, _) => *value,
            Self::Points(points) => points.first().expect("checked when it was read").0,
        }
    }

    /// The largest value that can be drawn.
    pub fn largest(&self) -> Q {
        match self {
            Self::Fixed(value) | Self::Uniform(_, value) => *value,
            Self::Points(points) => points.last().expect("checked when it was read").0,
        }
    }

    fn from_form(form: Form<Q>) -> Result<Self, String> {
        match (form.uniform, form.points) {
            (Some([low, high]), None) if low.amount() <= high.amount() => {
                Ok(Self::Uniform(low, high))
            }
            (Some([low, high]), None) => Err(format!(
                "uniform = [\"{low}\", \"{high}\"] is decreasing; allowed is [LOW, HIGH]",
            )),
            (None, Some(points)) => {
                table(&points)?;
                Ok(Self::Points(points))
            }
            _ => {
                Err("a distribution has exactly one of the keys `uniform` and `points`".to_owned())
            }
        }
    }
}

fn table<Q: Quantity>(points: &[(Q, f64)]) -> Result<CdfTable, String> {
    let amounts = points.iter().map(|(value, p)| (value.amount() as f64, *p));
    CdfTable::new(amounts.collect()).map_err(|error| error.to_string())
}

/// The table form of a [`Distribution`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "Q: Quantity")]
struct Form<Q> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uniform: Option<[Q; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<Vec<(Q, f64)>>,
}

impl<'de, Q: Quantity> Deserialize<'de> for Distribution<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOr {
            expected: format!(
                "{} as text, \"{}\", or a distribution of it",
                Q::WHAT,
                Q::EXAMPLE
            ),
            from_text: |text| {
                text.parse()
                    .map(Self::Fixed)
                    .map_err(|e: ParseError| e.to_string())
            },
            from_table: Self::from_form,
        })
    }
}

impl<Q: Quantity> Serialize for Distribution<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (uniform, points) = match self {
            Self::Fixed(value) => return value.serialize(serializer),
            Self::Uniform(low, high) => (Some([*low, *high]), None),
            Self::Points(points) => (None, Some(points.clone())),
        };
        Form { uniform, points }.serialize(serializer)
    }
}

impl<Q: Quantity> JsonSchema for Distribution<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}, fixed or drawn", Q::WHAT).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = Q::json_schema(generator);
        json_schema!({
            "anyOf": [
                value,
                {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["uniform"],
                    "properties": {
                        "uniform": {
                            "description": "The lowest and the highest value.",
                            "type": "array", "items": value, "minItems": 2, "maxItems": 2,
                        },
                    },
                },
                {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["points"],
                    "properties": {
                        "points": {
                            "description": "Pairs of a value and the probability of at most that value, up to probability 1.",
                            "type": "array",
                            "minItems": 1,
                            "items": {
                                "type": "array",
                                "prefixItems": [value, { "type": "number", "minimum": 0, "maximum": 1 }],
                                "minItems": 2, "maxItems": 2,
                            },
                        },
                    },
                },
            ],
        })
    }
}

/// Reads a value that is written either as text or as a table.
pub(super) struct TextOr<T, Table> {
    /// What may stand there, for the message if it is neither.
    pub(super) expected: String,
    /// Makes the value of text, or says what is wrong with it.
    pub(super) from_text: fn(&str) -> Result<T, String>,
    /// Makes the value of the table's contents, or says what is wrong with them.
    pub(super) from_table: fn(Table) -> Result<T, String>,
}

impl<'de, T, Table: DeserializeOwned> Visitor<'de> for TextOr<T, Table> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.from_text)(text).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let table = Table::deserialize(value::MapAccessDeserializer::new(map))?;
        (self.from_table)(table).map_err(de::Error::custom)
    }
}
