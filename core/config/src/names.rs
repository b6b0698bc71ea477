//! Names that were misspelled.

/// The end of a message that lists what is allowed and, if `found` is nearly one of it, which.
pub fn allowed<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let list = names.join(", ");
    match nearest(found, &names) {
        Some(name) => format!("did you mean \"{name}\"? allowed: {list}"),
        None => format!("allowed: {list}"),
    }
}

/// The name that `found` is most likely a misspelling of, if it is near to one.
pub fn nearest<'a>(found: &str, names: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::osa_distance(&found.to_lowercase(), &name.to_lowercase());
    let name = names.iter().copied().min_by_key(|name| distance(name))?;
    let long = found.chars().count().max(name.chars().count());
    (distance(name) <= (long / 3).max(1) && long > 1).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_suggested_and_nonsense_is_not() {
        let names = ["duration", "seeds", "warm-up"];
        assert!(allowed("durration", names).starts_with("did you mean \"duration\"?"));
        assert_eq!(allowed("qqq", names), "allowed: duration, seeds, warm-up");
    }
}
