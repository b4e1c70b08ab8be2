//! The `benchd` program.

fn main() {}
