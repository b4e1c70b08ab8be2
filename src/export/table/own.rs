//! benchd itself: build, configuration, collectors, sampler, store, listeners, process.

use super::super::family::{BYTES, COUNT, COUNT_SECONDS, FACTS, Family, NUMBER, Points, SECONDS, TIME};
use super::super::snapshot::Snapshot;
use super::{flag, unix_seconds};
use crate::sample::SelfProcess;

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_build_info",
        FACTS,
        &["version", "revision", "rustc"],
        "Version of the running program, always 1.",
        ("compiled in", "never"),
        |now, out| out.fact(&[&now.build.version, &now.build.revision, &now.build.rustc]),
    ),
    Family::new(
        "benchd_config_last_reload_successful",
        NUMBER,
        &[],
        "1 when the configuration in force, web configuration and certificates included, is the one on disk as last read; \
         0 when the last reload was refused and the older one stays in force.",
        ("reload", "never"),
        |now, out| out.known(now.reload.map(|reload| flag(reload.successful))),
    ),
    Family::new(
        "benchd_config_last_reload_success_timestamp_seconds",
        TIME,
        &[],
        "Unix time of the last accepted configuration.",
        ("reload", "never"),
        |now, out| out.known(now.reload.map(|reload| unix_seconds(reload.accepted))),
    ),
    Family::new(
        "benchd_collector_success",
        NUMBER,
        &["collector"],
        "1 when the collector's last reading succeeded; absence of data (no pressure files, no such hardware) is success.",
        ("each collector", "collector switched off"),
        |now, out| now.collectors.iter().for_each(|one| out.add(&[one.name], flag(one.success))),
    ),
    Family::new(
        "benchd_collector_duration_seconds",
        SECONDS,
        &["collector"],
        "Duration of the collector's last reading.",
        ("each collector", "collector switched off"),
        |now, out| now.collectors.iter().for_each(|one| out.add(&[one.name], one.duration.as_secs_f64())),
    ),
    Family::new(
        "benchd_collector_last_success_timestamp_seconds",
        TIME,
        &["collector"],
        "Unix time of the values now served by collectors that are cached (filesystem, database, inventory); others are read at \
         scrape time.",
        ("each cached collector", "before the first success"),
        |now, out| {
            for one in &now.collectors {
                out.add_known(&[one.name], one.cached.map(unix_seconds));
            }
        },
    ),
    Family::new(
        "benchd_sampler_samples_total",
        COUNT,
        &[],
        "Samples taken by the continuous sampler.",
        ("sampler thread", "never"),
        |now, out| out.one(now.sampler.samples as f64),
    ),
    Family::new(
        "benchd_sampler_missed_samples_total",
        COUNT,
        &[],
        "Sampling deadlines missed by more than one interval.",
        ("sampler thread", "never"),
        |now, out| out.one(now.sampler.missed as f64),
    ),
    Family::new(
        "benchd_sampler_last_sample_timestamp_seconds",
        TIME,
        &[],
        "Unix time of the newest sample.",
        ("sampler thread", "before the first sample"),
        |now, out| out.known(now.sampler.last.map(unix_seconds)),
    ),
    Family::new(
        "benchd_store_size_bytes",
        BYTES,
        &[],
        "Size of the result store on disk, write-ahead log included.",
        ("stat of store.path", "never"),
        |now, out| out.one(now.store.size_bytes as f64),
    ),
    Family::new(
        "benchd_store_records",
        NUMBER,
        &[],
        "Stored records (one per finished case).",
        ("store", "never"),
        |now, out| out.one(now.store.records as f64),
    ),
    Family::new(
        "benchd_store_oldest_record_timestamp_seconds",
        TIME,
        &[],
        "Start time of the oldest stored record; shows how far retention reaches.",
        ("store", "empty store"),
        |now, out| out.known(now.store.oldest.map(unix_seconds)),
    ),
    Family::new(
        "benchd_store_write_failures_total",
        COUNT,
        &[],
        "Failed writes to the store (disk full, I/O error); the record is kept in memory and written again.",
        ("store thread", "never"),
        |now, out| out.one(now.store.write_failures as f64),
    ),
    Family::new(
        "benchd_http_rejected_requests_total",
        COUNT,
        &["reason"],
        "HTTP requests refused before a handler ran: authentication, role, limit of connections, requests or logins, body or \
         header too large, time-out.",
        ("listener", "never"),
        |now, out| now.rejected_requests.iter().for_each(|(reason, count)| out.add(&[reason], *count as f64)),
    ),
    Family::new(
        "benchd_tls_certificate_expiry_timestamp_seconds",
        TIME,
        &[],
        "Unix time at which the certificate served on the TCP listeners expires.",
        ("web configuration", "no TLS"),
        |now, out| out.known(now.certificate_expiry.map(unix_seconds)),
    ),
    Family::new(
        "benchd_log_messages_total",
        COUNT,
        &["level"],
        "Messages logged at warning and error level.",
        ("logger", "never"),
        |now, out| now.log_messages.iter().for_each(|(level, count)| out.add(&[level], *count as f64)),
    ),
    Family::new(
        "process_cpu_seconds_total",
        COUNT_SECONDS,
        &[],
        "User and system CPU time of the daemon; load workers are not in it.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| Some(own.cpu_seconds)),
    ),
    Family::new(
        "process_resident_memory_bytes",
        BYTES,
        &[],
        "Resident memory of the daemon.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| Some(own.resident.get() as f64)),
    ),
    Family::new(
        "process_virtual_memory_bytes",
        BYTES,
        &[],
        "Virtual memory of the daemon.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| Some(own.virtual_memory.get() as f64)),
    ),
    Family::new(
        "process_open_fds",
        NUMBER,
        &[],
        "Open file descriptors of the daemon.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| Some(own.open_fds as f64)),
    ),
    Family::new(
        "process_max_fds",
        NUMBER,
        &[],
        "Limit of open file descriptors.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| own.max_fds.map(|files| files as f64)),
    ),
    Family::new(
        "process_start_time_seconds",
        SECONDS,
        &[],
        "Start time of the daemon as Unix time.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| Some(own.start_time)),
    ),
    Family::new(
        "process_threads",
        NUMBER,
        &[],
        "Threads of the daemon.",
        ("/proc/self", "never"),
        |now, out| process(now, out, |own| Some(own.threads as f64)),
    ),
];

fn process(now: &Snapshot, out: &mut Points, value: fn(&SelfProcess) -> Option<f64>) {
    out.known(now.process.as_ref().and_then(value));
}
