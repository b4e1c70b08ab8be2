use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::workloads::{ALL, Kind, find};

fn kinds() -> impl Iterator<Item = &'static Kind> {
    let of_sql = |name: &str| ["oltp", "select", "bulk"].iter().any(|start| name.starts_with(start));
    ALL.iter().copied().filter(move |kind| of_sql(kind.name))
}

fn kind(name: &str) -> &'static Kind {
    find(name).unwrap()
}

fn refusal(name: &str, changes: &[(&str, Value)]) -> Option<String> {
    let mut parameters = (kind(name).defaults)();
    parameters.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    (kind(name).build)(&parameters).err().map(|error| error.key)
}

#[test]
fn every_key_with_a_default_is_explained_and_no_other() {
    assert_eq!(kinds().count(), 13);
    for kind in kinds() {
        let defaults: BTreeSet<String> = (kind.defaults)().keys().cloned().collect();
        let explained: BTreeSet<String> =
            kind.keys.iter().copied().flatten().map(|key| key.name.to_owned()).collect();
        assert_eq!(defaults, explained, "{}", kind.name);
        assert!((kind.build)(&(kind.defaults)()).is_ok(), "{}", kind.name);
    }
}

#[test]
fn a_kind_knows_only_keys_that_mean_something_to_it() {
    for (name, key) in [
        ("oltp_point_select", "point_selects"),
        ("oltp_point_select", "skip_trx"),
        ("oltp_read_only", "index_updates"),
        ("oltp_write_only", "range_size"),
        ("oltp_update_index", "non_index_updates"),
        ("oltp_insert", "protocol"),
        ("oltp_delete", "delete_inserts"),
        ("select_random_points", "delta"),
        ("bulk_insert", "table_size"),
        ("oltp05", "protocol"),
        ("oltp04", "tables"),
        ("oltp04", "rand_pareto_h"),
    ] {
        assert_eq!(refusal(name, &[(key, json!(1))]).as_deref(), Some(key), "{name}");
    }
}

#[test]
fn senseless_values_are_refused_by_their_key() {
    for (name, key, value) in [
        ("oltp_read_write", "tables", json!(0)),
        ("oltp_read_write", "tables", json!(-1)),
        ("oltp_read_write", "table_size", json!(0)),
        ("oltp_read_write", "engine", json!("inno`db")),
        ("oltp_read_write", "create_options", json!("UNION=(t)")),
        ("oltp_read_write", "rand_type", json!("normal")),
        ("oltp_read_write", "rand_spec_pct", json!(101)),
        ("oltp_read_write", "protocol", json!("binary")),
        ("oltp_read_write", "range_size", json!(0)),
        ("oltp_read_write", "skip_trx", json!("yes")),
        ("oltp_read_write", "retries", json!("many")),
        ("oltp_read_write", "threads", json!(0)),
        ("oltp_read_write", "random_points", json!(10)),
        ("select_random_points", "random_points", json!(0)),
        ("select_random_ranges", "number_of_ranges", json!(5_001)),
        ("select_random_ranges", "tables", json!(2)),
        ("bulk_insert", "engine", json!("MERGE")),
        ("oltp04", "mode", json!("complicated")),
        ("oltp04", "nontrx", json!("replace")),
        ("oltp04", "procedure", json!("p(); DROP TABLE t")),
        ("oltp04", "user_delay", json!(["2ms", "1ms"])),
        ("oltp04", "user_delay", json!(["1ms"])),
        ("oltp04", "connect_delay", json!("2h")),
        ("oltp04", "rand_type", json!("pareto")),
        ("oltp04", "secondary", json!(true)),
    ] {
        assert_eq!(refusal(name, &[(key, value.clone())]).as_deref(), Some(key), "{name}: {value}");
    }
}

#[test]
fn an_operation_without_statements_is_refused() {
    let zero = |keys: &[&'static str]| keys.iter().map(|key| (*key, json!(0))).collect::<Vec<_>>();
    let writes = zero(&["index_updates", "non_index_updates", "delete_inserts"]);
    assert_eq!(refusal("oltp_write_only", &writes[..2]), None);
    assert_eq!(refusal("oltp_write_only", &writes).as_deref(), Some("index_updates"));
    assert_eq!(refusal("oltp_update_non_index", &writes[1..2]).as_deref(), Some("non_index_updates"));
    let both = [("read_only", json!(true)), ("write_only", json!(true))];
    assert_eq!(refusal("oltp05", &both).as_deref(), Some("write_only"));
}

#[test]
fn a_procedure_is_called_where_one_is_given() {
    let sp = ("mode", json!("sp"));
    assert_eq!(refusal("oltp04", std::slice::from_ref(&sp)).as_deref(), Some("procedure"));
    assert_eq!(refusal("oltp04", &[sp, ("procedure", json!("shop.load"))]), None);
}

#[test]
fn rows_are_loaded_only_where_new_ones_cannot_meet_them() {
    let rows = |script: &Script, changes: &[(&str, Value)]| {
        let mut parameters = defaults(script);
        parameters.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        Oltp::new(script, &parameters).unwrap().options.tables.rows()
    };
    assert_eq!(rows(&kinds::INSERT_SCRIPT, &[]), 10_000);
    assert_eq!(rows(&kinds::INSERT_SCRIPT, &[("auto_inc", json!(false))]), 0);
    assert_eq!(rows(&kinds::SCRIPT_04, &[("mode", json!("nontrx")), ("nontrx", json!("insert"))]), 0);
    assert_eq!(rows(&kinds::SCRIPT_04, &[("mode", json!("nontrx")), ("nontrx", json!("delete"))]), 10_000);
}
