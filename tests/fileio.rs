//! The workload fileio on real files: what it requests, how it counts, what it refuses, and that nothing stays.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests end a test as its own code does"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use benchd::driver::{DriveError, Observed, Stop};
use benchd::record::CaseResult;
use benchd::target::{Directory, DirectoryOptions, Prepared};
use benchd::units::Bytes;
use benchd::workloads::{Workload, find};
use nix::sys::signal::{Signal, kill};
use nix::sys::statvfs::statvfs;
use nix::unistd::{Pid, Uid};
use serde_json::{Value, json};
use tempfile::TempDir;

use common::program::{PATIENCE, Place, words};
use common::{Flavour, Server};

const BLOCK: u64 = 16 << 10;

fn directory(path: &Path) -> Prepared {
    let options =
        DirectoryOptions { path: path.to_owned(), max_size: Bytes::from_mib(512), allow_network: false };
    Prepared::Directory(Directory::open("files", &options).unwrap())
}

/// The workload with these keys changed: small files, no warm-up, ended by a number of operations.
fn workload(changes: &Value) -> Box<dyn Workload> {
    let kind = find("fileio").unwrap();
    let mut parameters = (kind.defaults)();
    let base = json!({
        "warm_up": "0s", "time": "0s", "operations": 300, "files": 4, "total": "4MiB", "fsync_every": 50
    });
    for values in [&base, changes] {
        parameters.extend(values.as_object().unwrap().clone());
    }
    (kind.build)(&parameters).unwrap_or_else(|error| panic!("{changes}: {error}"))
}

/// Prepares and measures in one process, as worker and load process do in two.
fn drive(
    at: &mut Prepared,
    changes: &Value,
    observe: &mut dyn FnMut(Observed),
) -> Result<CaseResult, DriveError> {
    let workload = workload(changes);
    workload
        .prepare(Some(at), &Stop::new(), &mut |_, _, _| ())
        .unwrap_or_else(|error| panic!("{changes}: {error:#}"));
    workload.measure(Some(&at.way()), &Stop::new(), observe)
}

fn run(at: &mut Prepared, changes: &Value) -> CaseResult {
    drive(at, changes, &mut |_| ()).unwrap_or_else(|error| panic!("{changes}: {error}"))
}

/// How many reads, writes and syncs there were.
fn counts(result: &CaseResult) -> [u64; 3] {
    ["read", "write", "fsync"].map(|kind| result.by_operation.get(kind).map_or(0, |times| times.count))
}

/// A place for files on a disk, where direct I/O is possible.
fn on_disk() -> TempDir {
    tempfile::Builder::new().prefix("benchd-fileio-").tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn has_io_uring() -> bool {
    let forbidden = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let has = forbidden.is_ok_and(|text| text.trim() == "0");
    if !has {
        common::skip("io_uring");
    }
    has
}

/// 300 events are five series of 50 requests and the syncs of 4 files, and 30 requests more; at the end each of two
/// threads syncs 4 files.
const EXPECTED: [(&str, [u64; 3]); 6] = [
    ("seqwr", [0, 280, 28]),
    ("seqrewr", [0, 280, 28]),
    ("seqrd", [300, 0, 0]),
    ("rndrd", [300, 0, 0]),
    ("rndwr", [0, 280, 28]),
    ("rndrw", [168, 112, 28]),
];

#[test]
fn every_pattern_by_every_way_makes_exactly_the_requests_of_sysbench() {
    let place = on_disk();
    let mut at = directory(place.path());
    let mut ways = vec![
        json!({"io": "sync"}),
        json!({"io": "async", "depth": 8}),
        json!({"io": "mmap"}),
        json!({"io": "sync", "mode": "native"}),
        json!({"io": "mmap", "mode": "native"}),
        json!({"io": "async", "mode": "native", "depth": 7}),
        json!({"io": "async", "mode": "native", "flags": ["direct"]}),
        json!({"io": "sync", "flags": ["dsync"]}),
    ];
    if has_io_uring() {
        ways.push(json!({"io": "uring", "mode": "native", "depth": 7}));
        ways.push(json!({"io": "uring", "mode": "native", "flags": ["direct"]}));
    }
    for way in &ways {
        for (pattern, expected) in EXPECTED {
            let mut keys = way.clone();
            keys["pattern"] = json!(pattern);
            keys["threads"] = json!(2);
            let result = run(&mut at, &keys);
            let [read, written, synced] = counts(&result);
            if way["mode"] != "native" && pattern == "rndrw" {
                let goes_by_those_that_ended = (read + written, synced, expected[0].abs_diff(read) <= 16);
                assert_eq!(goes_by_those_that_ended, (280, 28, true), "{keys}: {read} reads");
            } else {
                assert_eq!([read, written, synced], expected, "{keys}");
            }
            assert_eq!((result.operations, result.fsyncs, result.errors.failed), (300, synced, 0), "{keys}");
            assert_eq!((result.bytes_read, result.bytes_written), (read * BLOCK, written * BLOCK), "{keys}");
            check_times(&result, way["mode"] == "native");
        }
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "no file has a name");
}

/// Each kind has its times in native mode, and only there.
fn check_times(result: &CaseResult, native: bool) {
    let mut kinds: Vec<&str> = result.by_operation.keys().map(String::as_str).collect();
    for (kind, times) in &result.by_operation {
        assert_eq!(times.max.is_some(), native, "{kind}");
        if let Some(histogram) = result.histograms.get(kind) {
            assert_eq!(histogram.decode().unwrap().len(), times.count, "{kind}");
        }
    }
    kinds.retain(|kind| result.histograms.contains_key(*kind));
    assert_eq!(kinds.len(), if native { result.by_operation.len() } else { 0 });
    assert_eq!(result.response.count, 300);
}

#[test]
fn syncs_follow_their_rules() {
    let place = common::directory();
    let mut at = directory(place.path());
    let mut syncs = |keys: Value| {
        let mut keys = keys;
        keys["pattern"] = json!("rndwr");
        keys["operations"] = json!(100);
        let result = run(&mut at, &keys);
        (counts(&result)[1], result.fsyncs)
    };
    assert_eq!(syncs(json!({"fsync_every": 0})), (100, 4));
    assert_eq!(syncs(json!({"fsync_every": 0, "threads": 3})), (100, 12), "each thread syncs at its end");
    assert_eq!(syncs(json!({"fsync_every": 0, "fsync_end": false})), (100, 0));
    assert_eq!(syncs(json!({"fsync_all": true})), (100, 100), "a sync in each write, and no others");
    assert_eq!(syncs(json!({"fsync_every": 1, "fsync_end": false})), (20, 80), "all files after each write");
    assert_eq!(syncs(json!({"fsync_every": 1, "files": 1, "fsync": "fdatasync"})), (50, 51));
    assert_eq!(syncs(json!({"fsync_all": true, "io": "mmap"})), (100, 100));
    assert_eq!(syncs(json!({"fsync_all": true, "io": "async"})), (100, 100));
    let read = run(&mut at, &json!({"pattern": "rndrd"}));
    assert_eq!(read.fsyncs, 0);
    let wal = run(
        &mut at,
        &json!({"preset": "wal", "files": 128, "total": "1MiB", "operations": 50, "fsync_every": 100}),
    );
    assert_eq!((counts(&wal), wal.bytes_written), ([0, 50, 50], 50 * 4096));
}

#[test]
fn requests_are_merged_and_the_rest_of_a_file_is_shorter() {
    let place = common::directory();
    let mut at = directory(place.path());
    let keys =
        json!({"pattern": "seqrd", "files": 2, "total": "160KiB", "merged_requests": 2, "operations": 6});
    let result = run(&mut at, &keys);
    assert_eq!((result.operations, result.bytes_read), (6, 160 << 10), "32, 32 and 16 KiB of each file");
}

#[test]
fn what_is_validated_is_found_whole_by_every_way_and_any_number_of_threads() {
    let place = common::directory();
    let mut at = directory(place.path());
    for io in ["sync", "async", "mmap"] {
        for (pattern, merged) in [("rndrw", 0), ("seqrewr", 3), ("seqrd", 3), ("rndrd", 0)] {
            let result = run(
                &mut at,
                &json!({
                    "io": io, "pattern": pattern, "merged_requests": merged, "validate": true, "threads": 8,
                    "operations": 3000, "total": "512KiB", "files": 2, "depth": 4
                }),
            );
            assert_eq!((result.operations, result.errors.failed), (3000, 0), "{io} {pattern}");
        }
    }
}

#[test]
fn a_warm_up_counts_nowhere_and_a_time_ends_the_load() {
    let place = common::directory();
    let mut at = directory(place.path());
    for keys in [
        json!({"mode": "native", "io": "async", "depth": 16, "pattern": "rndrd"}),
        json!({"io": "async", "depth": 16, "pattern": "rndwr"}),
    ] {
        let mut keys = keys;
        keys["warm_up"] = json!("50ms");
        keys["operations"] = json!(200);
        let result = run(&mut at, &keys);
        let [read, written, synced] = counts(&result);
        assert_eq!((result.operations, result.warm_up_seconds), (200, 0.05));
        assert!(read == 200 || read + written + synced >= 200, "{keys}: {:?}", counts(&result));
        assert_eq!(result.bytes_read + result.bytes_written, (read + written) * BLOCK);
    }
    let result = run(&mut at, &json!({"operations": 0, "time": "100ms"}));
    assert!(result.operations > 0 && result.seconds >= 0.1);
}

#[test]
fn memory_has_no_direct_io_and_says_so() {
    let place = tempfile::Builder::new().prefix("benchd-fileio-").tempdir_in("/dev/shm").unwrap();
    let mut at = directory(place.path());
    let workload = workload(&json!({"flags": ["direct"]}));
    let error = workload.prepare(Some(&mut at), &Stop::new(), &mut |_, _, _| ()).unwrap_err().to_string();
    assert!(error.contains("tmpfs, which is memory") && error.contains("leave \"direct\" out"), "{error}");
}

#[test]
fn a_ceiling_is_what_only_the_device_can_have_answered() {
    let (disk, memory) =
        (on_disk(), tempfile::Builder::new().prefix("benchd-fileio-").tempdir_in("/dev/shm").unwrap());
    let ceilings = |place: &Path, keys: Value| {
        let result = run(&mut directory(place), &keys);
        for (kind, ceiling) in &result.ceilings {
            let counted = result.by_operation[kind].count as f64 / result.seconds;
            assert_eq!(ceiling.operations_per_second, counted, "{keys} {kind}");
            let bytes = (kind != "fsync").then_some(counted * BLOCK as f64);
            let same = |(a, b): (f64, f64)| (a / b - 1.0).abs() < 1e-9;
            assert_eq!(ceiling.bytes_per_second.zip(bytes).map(same), bytes.map(|_| true), "{keys} {kind}");
        }
        result.ceilings.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    for (keys, expected) in [
        (json!({"pattern": "rndrd", "flags": ["direct"]}), "read"),
        (json!({"pattern": "rndrw", "flags": ["direct"]}), "read write"),
        (json!({"pattern": "rndrw", "flags": ["dsync"]}), "write"),
        (json!({"pattern": "seqrewr", "fsync_all": true}), "fsync write"),
        (json!({"pattern": "rndwr", "fsync_every": 1, "files": 1}), "fsync"),
        (json!({"pattern": "rndwr", "fsync_every": 1}), ""),
        (json!({"pattern": "rndrd"}), ""),
        (json!({"pattern": "rndrd", "flags": ["direct"], "rate": 10_000}), ""),
    ] {
        assert_eq!(ceilings(disk.path(), keys.clone()), expected, "{keys}");
    }
    assert_eq!(
        ceilings(memory.path(), json!({"pattern": "seqrewr", "fsync_all": true})),
        "",
        "memory is no device"
    );
}

#[test]
fn what_a_device_gave_at_most_is_a_metric_of_its_target() {
    let disk = on_disk();
    let place = Place::new(&format!(
        r#"
[target.files]
path = "{}/files"
[suite.disk]
profile = "lab"
[[suite.disk.benchmark]]
workload = "fileio"
target = "files"
pattern = "rndwr"
fsync_every = 1
files = 1
total = "1MiB"
warm_up = "0s"
time = "300ms"
"#,
        disk.path().display()
    ));
    let daemon = place.serve();
    daemon.follow(&daemon.trigger(r#"{"suite":"disk"}"#));
    let rate =
        daemon.metric_to_come("benchd_ceiling_operations_per_second{target=\"files\",operation=\"fsync\"}");
    let synced =
        "benchd_last_fsyncs_per_second{suite=\"disk\",case=\"fileio\",workload=\"fileio\",target=\"files\"}";
    assert!(rate > 0.0 && (rate / daemon.metric_to_come(synced) - 1.0).abs() < 0.01, "{rate}");
    let bytes = "benchd_ceiling_bytes_per_second{target=\"files\",operation=\"fsync\"}";
    assert_eq!(daemon.metric(bytes), None, "a sync moves none");
    assert!(daemon.metric("benchd_ceiling_timestamp_seconds{target=\"files\"}") > Some(1.7e9));
}

/// Runs the program as another program starts it.
fn started_by(words: &[&str], place: &Place, arguments: &[&str]) -> Output {
    let program = place.command(arguments);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(program.get_program()).args(program.get_args()).stdin(Stdio::null());
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.output().unwrap()
}

/// A place for files on a disk, and the arguments of a short load there.
fn ad_hoc(keys: &[&'static str]) -> (TempDir, Place, Vec<&'static str>) {
    let disk = on_disk();
    let place = Place::new(&format!("[target.files]\npath = \"{}/files\"\n", disk.path().display()));
    let mut arguments =
        vec!["run", "-w", "fileio", "target=files", "time=0s", "operations=100", "warm_up=0s"];
    arguments.extend(keys);
    (disk, place, arguments)
}

#[test]
fn a_low_limit_of_open_files_is_raised_and_one_that_cannot_be_is_named() {
    let (_disk, place, arguments) = ad_hoc(&["files=700", "total=700KiB", "block_size=1KiB"]);
    let limited = |soft: &str, hard: &str| {
        let script = format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$@\"");
        started_by(&["sh", "-c", &script, "sh"], &place, &arguments)
    };
    let raised = limited("256", "2000");
    assert!(raised.status.success(), "{}", words(&raised));
    let refused = words(&limited("256", "512"));
    for expected in ["700 files cannot be open at once", "may have 512", "raise LimitNOFILE"] {
        assert!(refused.contains(expected), "{refused}");
    }
}

/// Takes io_uring away from the program that it starts: a seccomp filter that answers EPERM to io_uring_setup, whose
/// number is the same on every architecture. The numbers of prctl and seccomp are not.
const WITHOUT_URING: &str = r#"
    my ($prctl, $seccomp) = (shift, shift);
    my @filter = (pack("SCCL", 0x20, 0, 0, 0), pack("SCCL", 0x15, 0, 1, 425), pack("SCCL", 0x06, 0, 0, 0x00050001),
        pack("SCCL", 0x06, 0, 0, 0x7fff0000));
    my $program = pack("Sx![p]P", scalar @filter, join("", @filter));
    syscall($prctl, 38, 1, 0, 0, 0) == 0 or die "prctl: $!";
    syscall($seccomp, 1, 0, $program) == 0 or die "seccomp: $!";
    exec @ARGV or die "exec: $!";
"#;

#[test]
fn io_uring_that_is_forbidden_fails_in_words_and_nothing_is_measured_by_another_way() {
    let (prctl, seccomp) = match std::env::consts::ARCH {
        "x86_64" => ("157", "317"),
        "aarch64" => ("167", "277"),
        _ => return common::skip("the numbers of the system calls of this architecture"),
    };
    if Command::new("perl").arg("-v").output().is_err() {
        return common::skip("perl");
    }
    let keys =
        ["io=uring", "mode=native", "pattern=rndrd", "files=1", "total=1MiB", "depth=4", "--output", "json"];
    let (_disk, place, arguments) = ad_hoc(&keys);
    let output = started_by(&["perl", "-e", WITHOUT_URING, prctl, seccomp], &place, &arguments);
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let case = &run["cases"][0];
    let said = case["failure"]["message"].as_str().unwrap();
    assert!(said.contains("a seccomp filter or the kernel forbids it; set io = \"async\""), "{said}");
    assert!(case.get("throughput").is_none(), "{case}");
}

#[test]
fn more_queued_requests_than_the_kernel_has_room_for_are_refused_in_words() {
    let room: u32 = fs::read_to_string("/proc/sys/fs/aio-max-nr").unwrap().trim().parse().unwrap();
    let place = on_disk();
    let mut at = directory(place.path());
    let threads = room / 4096 + 1;
    if threads > 500 {
        return common::skip("a limit of queued requests that can be reached");
    }
    let keys =
        json!({"io": "async", "depth": 4096, "threads": threads, "block_size": "512B", "pattern": "rndrd"});
    let error = drive(&mut at, &keys, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("no Linux AIO for 4096 requests: raise fs.aio-max-nr"), "{error}");
}

/// Finds fault with a configuration whose target `files` is at a path.
fn refusal(path: &Path, keys: &[&str]) -> (Option<i32>, String) {
    let place = Place::new(&format!("[target.files]\npath = \"{}\"\n", path.display()));
    let mut arguments = vec!["run", "-w", "fileio", "time=100ms", "warm_up=0s"];
    let defaults = ["target=files", "total=16MiB"];
    let named = |key: &str| keys.iter().any(|given| given.split('=').next() == key.split('=').next());
    arguments.extend(defaults.into_iter().filter(|key| !named(key)));
    arguments.extend(keys);
    let output = place.run(&arguments);
    (output.status.code(), words(&output))
}

#[test]
fn directories_that_are_somebody_elses_are_refused_before_anything_is_made() {
    let place = common::directory();
    let link = place.path().join("link");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let mut refused = vec![
        (link, "is a symbolic link"),
        (PathBuf::from("/dev/null"), "is not a directory"),
        (PathBuf::from("/proc/benchd/files"), "0 MiB free"),
    ];
    let server = Flavour::MariaDb.program().map(|_| Server::start(Flavour::MariaDb, &[]));
    if let Some(server) = &server {
        refused.push((server.data().join("benchd"), "lies in the data directory"));
        refused.push((server.data(), "lies in the data directory"));
    }
    for (path, words) in refused {
        let before = fs::read_dir(&path).map(Iterator::count).unwrap_or_default();
        let (code, said) = refusal(&path, &[]);
        assert!(said.contains(words), "{}: {said}", path.display());
        assert_eq!(code, Some(3), "{said}");
        assert_eq!(fs::read_dir(&path).map(Iterator::count).unwrap_or_default(), before);
    }
}

#[test]
fn a_load_without_an_operation_or_of_the_wrong_target_is_refused_by_its_key() {
    let place = common::directory();
    let path = place.path().join("files");
    for (key, words) in [
        ("total=1MiB", "1MiB in 128 files makes no operation"),
        ("files=0", "`files` cannot be 0"),
        ("target=scratch", "workload fileio needs a directory, which target `scratch` is not"),
    ] {
        let (code, said) = refusal(&path, &[key]);
        assert!(said.contains(words), "{key}: {said}");
        assert_eq!(code, Some(2), "{said}");
    }
    let (code, said) = refusal(&path, &["total=5GiB"]);
    assert!(said.contains("disk_space 5120 MiB planned") && said.contains("max_size 4GiB"), "{said}");
    assert_eq!(code, Some(3));
    assert!(!path.exists());
}

/// A small filesystem of memory; `None` without the right to mount one.
struct Small(TempDir);

impl Small {
    fn mount(options: &str) -> Option<Small> {
        if !Uid::effective().is_root() {
            common::skip("root, to mount a small tmpfs");
            return None;
        }
        let small = Small(common::directory());
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(small.0.path());
        assert!(mount.status().unwrap().success());
        Some(small)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg("-l").arg(self.0.path()).status().unwrap().success());
    }
}

#[test]
fn a_filesystem_without_room_or_without_writes_is_refused() {
    let Some(small) = Small::mount("size=64m") else { return };
    let (code, said) = refusal(&small.0.path().join("files"), &[]);
    assert!(said.contains("disk_space 64 MiB free"), "{said}");
    assert_eq!(code, Some(3));
    let mut at = directory(small.0.path());
    let error = workload(&json!({})).prepare(Some(&mut at), &Stop::new(), &mut |_, _, _| ()).unwrap_err();
    assert!(error.to_string().contains("do not fit: 64 MiB are free"), "{error:#}");
    let Some(read_only) = Small::mount("ro") else { return };
    let (code, said) = refusal(&read_only.0.path().join("files"), &[]);
    assert!(said.contains("lies on a filesystem that is read-only for benchd"), "{said}");
    assert_eq!(code, Some(3));
}

#[test]
fn a_disk_that_somebody_else_fills_ends_the_load_and_what_was_measured_is_kept() {
    let Some(small) = Small::mount("size=700m") else { return };
    let mut at = directory(small.0.path());
    let mut intervals = 0;
    let mut fill = |_: Observed| {
        intervals += 1;
        if intervals == 1 {
            let filler = fs::File::create(small.0.path().join("filler")).unwrap();
            nix::fcntl::fallocate(&filler, nix::fcntl::FallocateFlags::empty(), 0, 250 << 20).unwrap();
        }
    };
    let ended = drive(&mut at, &json!({"operations": 0, "time": "60s", "pattern": "rndrd"}), &mut fill);
    match ended.unwrap_err() {
        DriveError::Aborted { reason, message, partial } => {
            assert_eq!(reason, "no_space");
            assert!(message.contains("MiB are free in") && message.contains("limit 512MiB"), "{message}");
            assert!(partial.unwrap().operations > 0);
        }
        other => panic!("{other:?}"),
    }
}

/// The processes below one, by their ids.
fn below(parent: u32) -> BTreeMap<u32, String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let all: Vec<(u32, u32, String)> = processes
        .filter_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            Some((id, parent, String::from_utf8_lossy(&words).replace('\0', " ")))
        })
        .collect();
    let mut found = BTreeMap::new();
    let mut parents = vec![parent];
    while let Some(parent) = parents.pop() {
        for (id, _, words) in all.iter().filter(|(_, of, _)| *of == parent) {
            found.insert(*id, words.clone());
            parents.push(*id);
        }
    }
    found
}

#[test]
fn nothing_is_left_when_the_processes_of_a_run_are_killed() {
    let Some(small) = Small::mount("size=2g") else { return };
    let files = small.0.path().join("files");
    let free = || {
        let facts = statvfs(small.0.path()).unwrap();
        facts.blocks_free() * facts.fragment_size()
    };
    let place = Place::new(&format!(
        "[target.files]\npath = \"{}\"\n[suite.s]\nprofile = \"lab\"\n[[suite.s.benchmark]]\nworkload = \"fileio\"\n\
         target = \"files\"\ntotal = \"64MiB\"\ntime = \"60s\"\nwarm_up = \"0s\"\n",
        files.display()
    ));
    for victims in ["worker --load", "worker", "serve"] {
        let daemon = place.serve();
        let before = free();
        let id = daemon.trigger(r#"{"suite":"s"}"#);
        daemon.each_event(&id, |event| event["event"] != "interval");
        assert_eq!(fs::read_dir(&files).unwrap().count(), 0, "the files have no names");
        assert!(before - free() >= 64 << 20, "the files are on this filesystem");
        let processes = below(daemon.pid());
        let victim = match victims {
            "serve" => daemon.pid(),
            words => *processes.iter().find(|(_, said)| said.trim().ends_with(words)).unwrap().0,
        };
        kill(Pid::from_raw(victim.try_into().unwrap()), Signal::SIGKILL).unwrap();
        let began = Instant::now();
        while free() < before {
            assert!(began.elapsed() < PATIENCE, "{victims}: the space did not come back");
            std::thread::yield_now();
        }
        assert_eq!(fs::read_dir(&files).unwrap().count(), 0);
    }
}

#[test]
fn a_run_of_the_program_keeps_its_counts_and_says_its_bytes() {
    let place = Place::new("");
    let run = place.json(&[
        "run",
        "-w",
        "fileio",
        "target=files",
        "total=16MiB",
        "files=4",
        "time=0s",
        "operations=300",
        "warm_up=0s",
        "mode=native",
        "pattern=rndwr",
        "fsync_every=50",
        "--output",
        "json",
    ]);
    let case = &run["cases"][0];
    assert_eq!((&case["outcome"], &case["operation"]), (&json!("finished"), &json!("request")));
    assert_eq!(case["throughput"]["bytes_written"], 280 * BLOCK);
    assert_eq!(case["operations"]["fsync"]["count"], 24);
    assert!(case["operations"]["write"]["p50"].as_f64().unwrap() > 0.0);
    assert!(case["stage_seconds"]["prepare"].as_f64().unwrap() > 0.0);
    assert_eq!(fs::read_dir(place.path("files")).unwrap().count(), 0);
}
