//! What a server is, and the settings that explain a result on it.

use std::collections::BTreeMap;

use super::client::Client;
use super::error::SqlError;

/// The variables that are kept, where a server has them: whatever changes what a benchmark measures.
const EXPLAINING: &[&str] = &[
    "version",
    "version_comment",
    "version_compile_machine",
    "version_malloc_library",
    // memory
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_instances",
    "innodb_log_buffer_size",
    "key_buffer_size",
    "aria_pagecache_buffer_size",
    "tmp_table_size",
    "max_heap_table_size",
    "sort_buffer_size",
    "join_buffer_size",
    "query_cache_type",
    "query_cache_size",
    "large_pages",
    // durability and redo
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_log_at_timeout",
    "innodb_doublewrite",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_redo_log_capacity",
    "innodb_log_writer_threads",
    "sync_binlog",
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_group_commit_sync_delay",
    "binlog_commit_wait_count",
    "binlog_commit_wait_usec",
    "gtid_mode",
    "log_replica_updates",
    "log_slave_updates",
    "rpl_semi_sync_master_enabled",
    "rpl_semi_sync_source_enabled",
    "wsrep_on",
    "group_replication_group_name",
    // disk
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_page_size",
    "innodb_page_cleaners",
    "innodb_purge_threads",
    "innodb_read_io_threads",
    "innodb_write_io_threads",
    "innodb_use_native_aio",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_checksum_algorithm",
    "innodb_change_buffering",
    // processor and concurrency
    "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode",
    "innodb_spin_wait_delay",
    "innodb_thread_concurrency",
    "thread_handling",
    "thread_cache_size",
    "thread_pool_size",
    "table_open_cache",
    "open_files_limit",
    "max_connections",
    "performance_schema",
    "general_log",
    "slow_query_log",
    "long_query_time",
    // meaning
    "autocommit",
    "transaction_isolation",
    "tx_isolation",
    "default_storage_engine",
    "character_set_server",
    "collation_server",
    "lower_case_table_names",
    "sql_mode",
    "read_only",
    "super_read_only",
    "datadir",
    "hostname",
    "port",
];

/// Facts of a server by name: the variables that explain its results, `flavour` (`MySQL` or `MariaDB`) and
/// `server_identity` (see [`identity`]).
///
/// # Errors
/// When the server does not answer.
pub fn facts(client: &mut Client) -> Result<BTreeMap<String, String>, SqlError> {
    let mut facts: BTreeMap<String, String> =
        variables(client)?.into_iter().filter(|(name, _)| EXPLAINING.contains(&name.as_str())).collect();
    let version = facts.get("version").cloned().unwrap_or_default();
    let comment = facts.get("version_comment").cloned().unwrap_or_default();
    facts.insert("flavour".to_owned(), flavour(&version, &comment).to_owned());
    facts.insert("server_identity".to_owned(), identity(client)?);
    Ok(facts)
}

/// Every global variable of a server.
pub(crate) fn variables(client: &mut Client) -> Result<BTreeMap<String, String>, SqlError> {
    let rows = client.rows("SHOW GLOBAL VARIABLES")?;
    Ok(rows
        .into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
            Ok([Some(name), value]) => Some((name.to_lowercase(), value.unwrap_or_default())),
            _ => None,
        })
        .collect())
}

fn flavour(version: &str, comment: &str) -> &'static str {
    let is_mariadb = |text: &str| text.to_ascii_lowercase().contains("mariadb");
    if is_mariadb(version) || is_mariadb(comment) { "MariaDB" } else { "MySQL" }
}

/// What tells a server from a copy of it.
///
/// MySQL has `@@server_uuid`, made anew for a data directory that was copied without its `auto.cnf`. MariaDB has
/// nothing kept with its data: its `@@server_uid` is a hash of the first network card's address and the port, so
/// it changes when a virtual card appears, while two instances that only listen on sockets share it. There the
/// host's name and the data directory stand in: a copy that was restored lies on another host or in another
/// directory, and the server itself keeps both across restarts. After a change of either the schema counts as
/// foreign, which leaves it alone.
///
/// # Errors
/// When the server does not answer.
pub(crate) fn identity(client: &mut Client) -> Result<String, SqlError> {
    let rows =
        client.rows("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'hostname', 'datadir')")?;
    let value = |name: &str| {
        let row = rows.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name));
        row.and_then(|row| row.get(1).cloned().flatten()).filter(|value| !value.is_empty())
    };
    Ok(value("server_uuid").unwrap_or_else(|| {
        format!("{}:{}", value("hostname").unwrap_or_default(), value("datadir").unwrap_or_default())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_listed_twice() {
        let mut names = EXPLAINING.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EXPLAINING.len());
    }

    #[test]
    fn a_flavour_shows_in_version_or_comment() {
        assert_eq!(flavour("10.11.19-MariaDB-0+deb12u1", "Debian 12"), "MariaDB");
        assert_eq!(flavour("11.4.2", "mariadb.org binary distribution"), "MariaDB");
        assert_eq!(flavour("9.7.4-2", "(Debian)"), "MySQL");
    }
}
