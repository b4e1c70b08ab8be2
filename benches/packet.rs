//! Writing the packet that executes a prepared statement, for the statements of the oltp workloads.
#![allow(missing_docs, reason = "criterion's macros make public functions without any")]

use std::hint::black_box;

use benchd::target::{Bind, LoadStatement};
use criterion::{Criterion, criterion_group, criterion_main};

fn packets(criterion: &mut Criterion) {
    let (c, pad) = ("0123456789-".repeat(10), "0123456789-".repeat(5));
    let row = [Bind::Integer(5_000), Bind::Integer(4_000), Bind::Text(&c), Bind::Text(&pad)];
    for (name, values) in [("point select", &row[..1]), ("range", &row[..2]), ("insert", &row[..])] {
        let mut statement = LoadStatement::new(1, values.len() as u16);
        statement.announced(values);
        criterion.bench_function(&format!("packet/{name}"), |bencher| {
            bencher.iter(|| black_box(statement.packet(black_box(values)).0.len()));
        });
    }
}

criterion_group!(benches, packets);
criterion_main!(benches);
