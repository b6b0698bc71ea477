//! What a cell costs.
fn main() {
    divan::main();
}
