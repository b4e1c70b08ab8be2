//! Servers that exist, one set of series a target.

use super::super::family::{
    BYTES, COUNT, COUNT_BYTES, COUNT_SECONDS, FACTS, Family, NUMBER, Points, SECONDS,
};
use super::super::snapshot::Snapshot;
use super::flag;
use crate::observe::{Observed, ServerSample};

/// When a value of a server that answers is missing.
const NOT_OFFERED: &str = "server down or value not offered by this version";

/// When what a server's process uses is missing.
const ELSEWHERE: &str = "server not local or not in a unit of its own";

/// A value of a server: the metric's name without prefix, its kind, what it is, the variable, the value.
macro_rules! server {
    ($name:literal, $kind:ident, $help:literal, $source:literal, $value:expr) => {
        server!($name, $kind, $help, $source, NOT_OFFERED, $value)
    };
    ($name:literal, $kind:ident, $help:literal, $source:literal, $absent:expr, $value:expr) => {
        Family::new(
            concat!("benchd_mysql_", $name),
            $kind,
            &["target"],
            $help,
            ($source, $absent),
            |now, out| servers(now, out, $value),
        )
    };
}

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_mysql_up",
        NUMBER,
        &["target"],
        "1 when the server answered the last question.",
        ("connection", "never for a configured target"),
        |now, out| {
            now.servers.iter().for_each(|server| out.add(&[&server.target], flag(server.sample.is_some())));
        },
    ),
    Family::new(
        "benchd_mysql_info",
        FACTS,
        &["target", "flavour", "version", "config", "role"],
        "Flavour, version, 8-digit hash of the recorded variables, role found (source, replica, standalone, galera, \
         group, ndb).",
        ("variables, read each minute", "server down"),
        |now, out| now.servers.iter().for_each(|server| facts(server, out)),
    ),
    server!("uptime_seconds", SECONDS, "Time since the server started.", "Uptime", |now| now.status.uptime),
    server!(
        "threads_running",
        NUMBER,
        "Running threads, benchd's own not counted.",
        "Threads_running - own",
        ServerSample::others_running
    ),
    server!("threads_connected", NUMBER, "Connected threads.", "Threads_connected", |now| now
        .status
        .threads_connected),
    server!("max_connections", NUMBER, "Limit of connections.", "@@max_connections", |now| now
        .about
        .max_connections),
    server!("questions_total", COUNT, "Statements received from clients.", "Questions", |now| now
        .status
        .questions),
    server!("received_bytes_total", COUNT_BYTES, "Bytes received from clients.", "Bytes_received", |now| now
        .status
        .bytes_received),
    server!("sent_bytes_total", COUNT_BYTES, "Bytes sent to clients.", "Bytes_sent", |now| now
        .status
        .bytes_sent),
    server!("rows_read_total", COUNT, "Rows read by handlers.", "sum of Handler_read_*", |now| now
        .status
        .rows_read()),
    server!("rows_inserted_total", COUNT, "Rows written by handlers.", "Handler_write", |now| now
        .status
        .rows_written),
    server!("rows_updated_total", COUNT, "Rows updated by handlers.", "Handler_update", |now| now
        .status
        .rows_updated),
    server!("rows_deleted_total", COUNT, "Rows deleted by handlers.", "Handler_delete", |now| now
        .status
        .rows_deleted),
    Family::new(
        "benchd_mysql_commands_total",
        COUNT,
        &["target", "command"],
        "Statements by kind: select, insert, update, delete, commit, rollback.",
        ("Com_*", "server down"),
        |now, out| samples(now).for_each(|(target, sample)| commands(target, sample, out)),
    ),
    server!("created_tmp_tables_total", COUNT, "Temporary tables.", "Created_tmp_tables", |now| now
        .status
        .tmp_tables),
    server!(
        "created_tmp_disk_tables_total",
        COUNT,
        "Temporary tables on disk.",
        "Created_tmp_disk_tables",
        |now| now.status.tmp_disk_tables
    ),
    server!(
        "binlog_cache_disk_use_total",
        COUNT,
        "Transactions beyond the binlog cache.",
        "Binlog_cache_disk_use",
        |now| now.status.binlog_cache_disk_use
    ),
    server!(
        "table_open_cache_misses_total",
        COUNT,
        "Table cache misses.",
        "Table_open_cache_misses",
        |now| { now.status.table_open_cache_misses }
    ),
    server!("aborted_connects_total", COUNT, "Failed connection attempts.", "Aborted_connects", |now| now
        .status
        .aborted_connects),
    server!(
        "replicas",
        NUMBER,
        "Connected replicas.",
        "process list, Binlog Dump",
        "server down, or the account lacks PROCESS",
        |now| now.replicas
    ),
    Family::new(
        "benchd_mysql_threads_running_max",
        NUMBER,
        &["target", "window"],
        "Highest sampled threads running in the window, benchd's own not counted.",
        ("Threads_running", "server down"),
        |now, out| now.servers.iter().for_each(|server| most_running(server, out)),
    ),
    server!(
        "replica_lag_seconds",
        SECONDS,
        "Replication lag, configured delay taken off.",
        "SHOW REPLICA STATUS / SHOW ALL SLAVES STATUS",
        "not a replica, or lag unknown",
        ServerSample::lag
    ),
    server!(
        "replica_threads_running",
        NUMBER,
        "1 when both replication threads run.",
        "SHOW REPLICA STATUS / SHOW ALL SLAVES STATUS",
        "not a replica",
        |now| now.replicates().map(u64::from)
    ),
    Family::new(
        "benchd_mysql_process_cpu_seconds_total",
        COUNT_SECONDS,
        &["target"],
        "CPU time of the server process.",
        ("cgroup of the server's unit, cpu.stat", ELSEWHERE),
        |now, out| {
            for (target, sample) in samples(now) {
                out.add_known(&[target], sample.unit.and_then(|unit| unit.cpu_seconds));
            }
        },
    ),
    server!(
        "process_resident_memory_bytes",
        BYTES,
        "Memory charged to the server.",
        "cgroup of the server's unit, memory.current",
        ELSEWHERE,
        |now| now.unit?.memory
    ),
    server!(
        "process_io_read_bytes_total",
        COUNT_BYTES,
        "Bytes read from disks.",
        "cgroup of the server's unit, io.stat",
        ELSEWHERE,
        |now| now.unit?.read
    ),
    server!(
        "process_io_written_bytes_total",
        COUNT_BYTES,
        "Bytes written to disks.",
        "cgroup of the server's unit, io.stat",
        ELSEWHERE,
        |now| now.unit?.written
    ),
];

pub(super) const INNODB: &[Family] = &[
    server!(
        "innodb_buffer_pool_size_bytes",
        BYTES,
        "Buffer pool.",
        "Innodb_buffer_pool_pages_total x page size",
        |now| now.status.bytes(now.status.pages_total)
    ),
    server!(
        "innodb_buffer_pool_data_bytes",
        BYTES,
        "Part holding data.",
        "Innodb_buffer_pool_pages_data x page size",
        |now| now.status.bytes(now.status.pages_data)
    ),
    server!(
        "innodb_buffer_pool_dirty_bytes",
        BYTES,
        "Part modified.",
        "Innodb_buffer_pool_pages_dirty x page size",
        |now| now.status.bytes(now.status.pages_dirty)
    ),
    server!(
        "innodb_buffer_pool_free_bytes",
        BYTES,
        "Part free.",
        "Innodb_buffer_pool_pages_free x page size",
        |now| now.status.bytes(now.status.pages_free)
    ),
    server!(
        "innodb_buffer_pool_read_requests_total",
        COUNT,
        "Logical page reads.",
        "Innodb_buffer_pool_read_requests",
        |now| now.status.pool_read_requests
    ),
    server!(
        "innodb_buffer_pool_reads_total",
        COUNT,
        "Page reads that went to disk.",
        "Innodb_buffer_pool_reads",
        |now| now.status.pool_reads
    ),
    server!(
        "innodb_buffer_pool_wait_free_total",
        COUNT,
        "Waits for a free page.",
        "Innodb_buffer_pool_wait_free",
        |now| now.status.pool_wait_free
    ),
    server!("innodb_log_waits_total", COUNT, "Waits for the log buffer.", "Innodb_log_waits", |now| now
        .status
        .log_waits),
    server!("innodb_log_written_bytes_total", COUNT_BYTES, "Redo written.", "Innodb_os_log_written", |now| {
        now.status.log_written
    }),
    server!(
        "innodb_checkpoint_age_bytes",
        BYTES,
        "Redo since the last checkpoint.",
        "MariaDB Innodb_checkpoint_age; MySQL redo LSNs",
        |now| now.status.checkpoint_age()
    ),
    server!(
        "innodb_redo_capacity_bytes",
        BYTES,
        "Redo capacity.",
        "innodb_redo_log_capacity or log files",
        |now| now.about.redo_capacity
    ),
    server!("innodb_data_fsyncs_total", COUNT, "fsync calls of InnoDB.", "Innodb_data_fsyncs", |now| now
        .status
        .data_fsyncs),
    server!(
        "innodb_data_read_bytes_total",
        COUNT_BYTES,
        "Bytes read by InnoDB.",
        "Innodb_data_read",
        |now| now.status.data_read
    ),
    server!(
        "innodb_data_written_bytes_total",
        COUNT_BYTES,
        "Bytes written by InnoDB.",
        "Innodb_data_written",
        |now| now.status.data_written
    ),
    server!("innodb_row_lock_waits_total", COUNT, "Row lock waits.", "Innodb_row_lock_waits", |now| now
        .status
        .row_lock_waits),
    Family::new(
        "benchd_mysql_innodb_row_lock_time_seconds_total",
        COUNT_SECONDS,
        &["target"],
        "Time in row lock waits.",
        ("Innodb_row_lock_time / 1000", NOT_OFFERED),
        |now, out| {
            for (target, sample) in samples(now) {
                out.add_known(&[target], sample.status.row_lock_time_ms.map(|millis| millis as f64 / 1e3));
            }
        },
    ),
    server!(
        "innodb_row_lock_current_waits",
        NUMBER,
        "Row lock waits now.",
        "Innodb_row_lock_current_waits",
        |now| now.status.row_lock_current_waits
    ),
    server!(
        "innodb_deadlocks_total",
        COUNT,
        "Deadlocks.",
        "Innodb_deadlocks or innodb_metrics",
        "server down or value not offered by this version; of MySQL, the account lacks PROCESS",
        |now| now.status.deadlocks
    ),
    server!(
        "innodb_history_list_length",
        NUMBER,
        "Unpurged undo records.",
        "Innodb_history_list_length or innodb_metrics",
        "server down or value not offered by this version; of MySQL, the account lacks PROCESS",
        |now| now.status.history_list_length
    ),
];

/// The servers that answer, by the names of their targets.
fn samples(now: &Snapshot) -> impl Iterator<Item = (&str, &ServerSample)> {
    now.servers.iter().filter_map(|server| Some((server.target.as_str(), server.sample.as_deref()?)))
}

fn servers(now: &Snapshot, out: &mut Points, value: fn(&ServerSample) -> Option<u64>) {
    for (target, sample) in samples(now) {
        out.add_known(&[target], value(sample).map(|number| number as f64));
    }
}

fn facts(server: &Observed, out: &mut Points) {
    let Some(sample) = &server.sample else { return };
    let about = &sample.about;
    let role = sample.role.map_or("", |role| role.as_str());
    out.fact(&[&server.target, &about.flavour, &about.version, &about.config, role]);
}

fn commands(target: &str, sample: &ServerSample, out: &mut Points) {
    let status = &sample.status;
    for (command, count) in [
        ("select", status.com_select),
        ("insert", status.com_insert),
        ("update", status.com_update),
        ("delete", status.com_delete),
        ("commit", status.com_commit),
        ("rollback", status.com_rollback),
    ] {
        out.add_known(&[target, command], count.map(|count| count as f64));
    }
}

fn most_running(server: &Observed, out: &mut Points) {
    for (window, most) in &server.most_running {
        out.add(&[&server.target, &format!("{}s", window.seconds())], *most as f64);
    }
}
