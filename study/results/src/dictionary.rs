//! The dictionary of tables and columns, made from the row types and their documentation.

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::schema::types::Type;

use crate::table::Row;
use crate::{
    Circuit, CrossFlow, Deployment, Download, Failure, Fault, HopSample, Latency, LatencyClass,
    Link, Metric, MetricUnit, NewCircuit, Node, OpenRequest, Part, PathNode, Queue, Relay, Sample,
    Trace, Visit,
};

/// A table of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEntry {
    /// Its name, which is that of its file.
    pub name: &'static str,
    /// What a row is.
    pub about: String,
    /// Its own columns, behind `transport`, `network` and `seed`.
    pub columns: Vec<ColumnEntry>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnEntry {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub about: String,
    /// The type of its values: `text`, `bool`, `uint32`, `uint64`, `double`.
    pub kind: &'static str,
    /// The unit, from the end of the name; empty for plain numbers and text.
    pub unit: &'static str,
    /// Whether values may be missing.
    pub optional: bool,
}

/// All tables that runs have.
pub fn dictionary() -> Vec<TableEntry> {
    vec![
        entry::<Download>(),
        entry::<OpenRequest>(),
        entry::<Part>(),
        entry::<Failure>(),
        entry::<NewCircuit>(),
        entry::<Circuit>(),
        entry::<Sample>(),
        entry::<HopSample>(),
        entry::<Metric>(),
        entry::<MetricUnit>(),
        entry::<Relay>(),
        entry::<Link>(),
        entry::<Node>(),
        entry::<PathNode>(),
        entry::<Queue>(),
        entry::<Latency>(),
        entry::<LatencyClass>(),
        entry::<Deployment>(),
        entry::<Trace>(),
        entry::<Visit>(),
        entry::<CrossFlow>(),
        entry::<Fault>(),
    ]
}

fn entry<R: Row>() -> TableEntry {
    let columns = R::schema().into_iter().zip(R::about());
    TableEntry {
        name: R::TABLE,
        about: R::ABOUT.trim().to_owned(),
        columns: columns
            .map(|(column, about)| ColumnEntry {
                name: column.name().to_owned(),
                about: about.trim().to_owned(),
                kind: kind(&column),
                unit: unit(column.name()),
                optional: column.get_basic_info().repetition() == Repetition::OPTIONAL,
            })
            .collect(),
    }
}

fn kind(column: &Type) -> &'static str {
    match (
        column.get_physical_type(),
        column.get_basic_info().logical_type_ref(),
    ) {
        (Physical::BOOLEAN, _) => "bool",
        (Physical::INT32, Some(LogicalType::Integer { .. })) => "uint32",
        (Physical::INT64, Some(LogicalType::Integer { .. })) => "uint64",
        (Physical::DOUBLE, _) => "double",
        _ => "text",
    }
}

/// The unit that the end of a column's name says.
fn unit(name: &str) -> &'static str {
    const UNITS: [(&str, &str); 6] = [
        ("_bytes_per_s", "bytes per second"),
        ("_bytes", "bytes"),
        ("_cells", "cells"),
        ("_packets", "packets"),
        ("_ns", "nanoseconds"),
        ("_s", "seconds"),
    ];
    let found = UNITS.iter().find(|(end, _)| name.ends_with(end));
    found.map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_says_what_the_row_types_say() {
        let tables = dictionary();
        let circuits = tables.iter().find(|table| table.name == "circuits");
        let circuits = circuits.unwrap();
        assert_eq!(
            circuits.about,
            "What one circuit carried: from the exit to its client, or of uploads from the client to the \
             exit."
        );
        let column = |name: &str| circuits.columns.iter().find(|it| it.name == name).unwrap();
        let goodput = column("goodput_bytes_per_s");
        assert_eq!((goodput.kind, goodput.unit), ("double", "bytes per second"));
        assert!(!goodput.optional && column("bottleneck").optional);
        assert_eq!(column("class").kind, "text");
        assert_eq!(column("circuit").kind, "uint32");
        assert_eq!(column("latency_mean_s").unit, "seconds");
        assert_eq!(
            column("packaged_bytes").about,
            "R at the end: application bytes packaged at the exit, or of uploads at the client."
        );
        let columns = tables.iter().flat_map(|table| &table.columns);
        assert!(columns.into_iter().all(|column| !column.about.is_empty()));
    }
}
