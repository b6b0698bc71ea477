//! Folders of results that hold anything.

#[path = "any/check.rs"]
mod check;
#[path = "../../../fuzz/explore.rs"]
mod explore;

#[test]
fn fuzzing_folders_of_results_finds_nothing() {
    explore::explore("results", check::any_bytes);
}
