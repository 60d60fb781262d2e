//! The one Weir binary.
fn main() {}
