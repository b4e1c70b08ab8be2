//! The ratios of whole groups of rows, below a table.

use std::fmt::Write as _;

use crate::analysis::BENCHMARK;
use crate::record::{Cell, Comparison};

/// How the groups of rows compare with the first one of the same benchmark: plain ratios, without a verdict. Those of
/// unlike benchmarks would mean nothing.
pub(super) fn ratios(table: &Comparison) -> String {
    let Some(last) = table.rows.len().checked_sub(1).filter(|last| *last > 0) else { return String::new() };
    let firsts: Vec<&Cell> =
        table.cells.iter().filter(|cell| cell.against.is_none() && cell.row.len() > last).collect();
    let groups = distinct_groups(&firsts, last);
    let benchmark = table.rows.iter().position(|key| key == BENCHMARK);
    let mut text = String::new();
    for group in &groups {
        let alike = |other: &&&[String]| benchmark.is_none_or(|place| other.get(place) == group.get(place));
        let Some(first) = groups.iter().find(alike).filter(|first| *first != group) else { continue };
        let of = |group: &[String]| {
            firsts.iter().filter(|cell| cell.row[..last] == *group).copied().collect::<Vec<&Cell>>()
        };
        let base = of(first);
        let by = |cell: &&Cell| {
            let other = base.iter().find(|other| other.column == cell.column)?;
            Some(format!("{:.2}", cell.value? / other.value?))
        };
        let each: Vec<String> = of(group).iter().filter_map(by).collect();
        if !each.is_empty() {
            let _ = writeln!(text, "{} by {}: {}", group.join(" "), first.join(" "), each.join(" / "));
        }
    }
    text
}

fn distinct_groups<'a>(cells: &[&'a Cell], last: usize) -> Vec<&'a [String]> {
    let mut groups: Vec<&[String]> = Vec::new();
    for cell in cells {
        let group = &cell.row[..last];
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(rows: &[&str], cells: &[(&[&str], f64)]) -> String {
        let cells: Vec<_> = cells
            .iter()
            .map(|(row, value)| json!({"row": row, "column": [], "case": row.join("/"), "rounds": 1, "value": value}))
            .collect();
        let table = json!({"measure": "throughput", "unit": "events/s", "rows": rows, "columns": [], "margin": 0.02,
            "rounds": 1, "cells": cells, "differs": []});
        ratios(&serde_json::from_value(table).unwrap())
    }

    #[test]
    fn groups_are_set_beside_the_first_of_their_benchmark_alone() {
        let engines = [(&["innodb", "ssd"][..], 100.0), (&["aria", "ssd"], 150.0)];
        assert_eq!(told(&["engine", "target"], &engines), "aria by innodb: 1.50\n");
        let unlike = [(&["cpu", "4KiB"][..], 100.0), (&["wal", "4KiB"], 900.0)];
        assert_eq!(told(&["benchmark", "size"], &unlike), "");
        let two = [
            (&["oltp", "innodb", "ssd"][..], 10.0),
            (&["bulk", "innodb", "ssd"], 40.0),
            (&["bulk", "aria", "ssd"], 20.0),
        ];
        assert_eq!(told(&["benchmark", "engine", "target"], &two), "bulk aria by bulk innodb: 0.50\n");
    }
}
