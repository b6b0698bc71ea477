//! How the transports of a result folder compare, for machines.

use std::path::Path;

use hopflow_report::{Compared, Comparison, Mean, Percent};
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// How the transports of a result folder compare, as JSON in base units, and as text in units that
/// suit readers.
///
/// # Errors
/// If the folder holds no results, or they are damaged.
pub fn summary(folder: &Path) -> Result<Value, Failure> {
    let comparison = hopflow_report::comparison(folder)?;
    let mut summary = comparison_json(&comparison);
    for (number, compared) in comparison.quantities.iter().enumerate() {
        let quantity = &mut summary["quantities"][number];
        quantity["heading"] = compared.heading().into();
        for (entry, shown) in compared.shown().into_iter().enumerate() {
            quantity["transports"][entry]["text"] = shown.value.into();
        }
    }
    Ok(summary)
}

/// A comparison without where it comes from.
pub fn comparison_json(comparison: &Comparison) -> Value {
    let quantities: Vec<_> = comparison
        .quantities
        .iter()
        .map(|compared| quantity_json(compared, &comparison.transports))
        .collect();
    let downloads: Vec<_> = comparison
        .transports
        .iter()
        .zip(&comparison.downloads)
        .map(|(label, ends)| {
            json!({
                "transport": label,
                "complete": ends.complete,
                "open": ends.open,
                "broken_off": ends.broken_off,
            })
        })
        .collect();
    json!({
        "transports": comparison.transports,
        "networks": comparison.networks,
        "quantities": quantities,
        "downloads": downloads,
    })
}

fn quantity_json(compared: &Compared, labels: &[String]) -> Value {
    let transports: Vec<_> = labels
        .iter()
        .zip(&compared.entries)
        .map(|(label, entry)| {
            let mut object = mean_json(entry.value.as_ref());
            object.insert("transport".to_owned(), json!(label));
            object.insert("at_least".to_owned(), json!(entry.at_least));
            let difference = entry.difference.map_or(Value::Null, |difference| {
                let mut object = mean_json(Some(&difference.absolute));
                let percent = difference.percent.as_ref();
                object.insert("percent".to_owned(), json!(percent.map(percent_json)));
                object.insert("finding".to_owned(), json!(difference.finding.to_string()));
                Value::Object(object)
            });
            object.insert("difference".to_owned(), difference);
            object
        })
        .collect();
    json!({
        "key": compared.quantity.key,
        "title": compared.quantity.title,
        "unit": compared.quantity.dimension.unit(),
        "better": compared.quantity.better.to_string(),
        "transports": transports,
    })
}

fn percent_json(percent: &Percent) -> Value {
    json!({
        "mean": percent.mean,
        "ci_low": percent.ends.map(|(low, _)| low),
        "ci_high": percent.ends.map(|(_, high)| high),
        "n": percent.n,
    })
}

fn mean_json(mean: Option<&Mean>) -> Map<String, Value> {
    let fields = [
        ("mean", json!(mean.map(|mean| mean.mean))),
        ("ci_low", json!(mean.and_then(Mean::low))),
        ("ci_high", json!(mean.and_then(Mean::high))),
        ("n", json!(mean.map_or(0, |mean| mean.n))),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    fields.into_iter().collect()
}
