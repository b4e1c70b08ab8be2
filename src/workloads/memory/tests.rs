//! The workload without a process: what it refuses, how much it does, and that it does it.

use serde_json::{Value, json};

use super::*;

fn build_of(parameters: &Value) -> Result<Box<dyn Workload>, ParameterError> {
    let mut all = json!({"time": "0s", "operations": 20, "warm_up": "0s"});
    all.as_object_mut().unwrap().extend(parameters.as_object().cloned().unwrap());
    build(all.as_object().unwrap())
}

fn measure(parameters: Value) -> CaseResult {
    build_of(&parameters).unwrap().measure(None, &Stop::new(), &mut |_| {}).unwrap()
}

#[test]
fn what_cannot_be_or_has_no_effect_is_refused_by_its_key() {
    let refused = [
        ("block_size", json!({"block_size": "3KiB"})),
        ("block_size", json!({"block_size": "4B"})),
        ("block_size", json!({"block_size": "0"})),
        ("block_size", json!({"block_size": 1024})),
        ("total", json!({"total": "1KiB", "threads": 2})),
        ("total", json!({"total": "512B"})),
        ("total", json!({"block_size": "1TiB"})),
        ("total", json!({"total": "much"})),
        ("scope", json!({"scope": "shared"})),
        ("operation", json!({"operation": "erase"})),
        ("operation", json!({"operation": "copy"})),
        ("operation", json!({"mode": "native", "operation": "none"})),
        ("operation", json!({"mode": "latency", "operation": "read"})),
        ("access", json!({"access": "random"})),
        ("access", json!({"mode": "native", "access": "rnd"})),
        ("scope", json!({"mode": "latency", "scope": "local"})),
        ("block_size", json!({"mode": "native", "block_size": "1MiB"})),
        ("total", json!({"mode": "native", "total": "1GiB"})),
        ("huge_pages", json!({"huge_pages": "yes"})),
        ("size", json!({"size": "1MiB"})),
        ("size", json!({"mode": "native", "size": "2KiB"})),
        ("size", json!({"mode": "latency", "size": "4160B"})),
        ("size", json!({"mode": "latency", "size": "large"})),
        ("mode", json!({"mode": "fast"})),
        ("time", json!({"mode": "native", "operations": 0})),
        ("time", json!({"total": "0", "operations": 0})),
        ("blocks", json!({"blocks": 1})),
        ("threads", json!({"threads": 0})),
    ];
    for (key, parameters) in refused {
        let error = build_of(&parameters).err().map(|error| error.key);
        assert_eq!(error.as_deref(), Some(key), "{parameters}");
    }
    let error = build_of(&json!({"total": "1KiB", "threads": 2})).err().unwrap().to_string();
    assert_eq!(
        error,
        "total: 1KiB in blocks of 1KiB make 1 for 2 threads: nothing would be done: raise `total`, or write \"0\" \
         to end by time alone"
    );
}

#[test]
fn what_makes_sense_together_is_taken() {
    for parameters in [
        json!({"total": "1MiB", "operations": 0}),
        json!({"block_size": "8B", "operation": "none", "access": "rnd", "scope": "local"}),
        json!({"mode": "native", "operation": "copy", "size": "4KiB"}),
        json!({"mode": "latency", "size": "64MiB", "huge_pages": true}),
    ] {
        assert!(build_of(&parameters).is_ok(), "{parameters}");
    }
}

#[test]
fn the_volume_is_shared_evenly_and_what_is_left_over_is_not_done() {
    for (total, threads, events) in [("1MiB", 1, 1024), ("1MiB", 3, 1023), ("10KiB", 4, 8), ("2047B", 1, 1)] {
        let result = measure(json!({"total": total, "threads": threads, "operations": 0}));
        assert_eq!(result.operations, events, "{total} by {threads}");
        assert_eq!((result.bytes_written, result.bytes_read), (events * 1024, 0));
    }
}

#[test]
fn bytes_are_those_of_the_operation() {
    let moved = |parameters| {
        let result = measure(parameters);
        (result.bytes_read, result.bytes_written)
    };
    let block = 20 * 4096;
    assert_eq!(moved(json!({"block_size": "4KiB", "operation": "read"})), (block, 0));
    assert_eq!(moved(json!({"block_size": "4KiB", "access": "rnd"})), (0, block));
    assert_eq!(moved(json!({"block_size": "4KiB", "operation": "none"})), (0, 0));
    let pass = 20 * (16 << 20);
    let native = |operation| json!({"mode": "native", "operation": operation, "size": "1MiB"});
    assert_eq!(moved(native("read")), (pass, 0));
    assert_eq!(moved(native("write")), (0, pass));
    assert_eq!(moved(native("copy")), (pass / 2, pass / 2));
    assert_eq!(moved(json!({"mode": "latency", "size": "4KiB", "operations": 3})), (0, 0));
}

#[test]
fn no_pass_is_optimised_away() {
    let time = |block: &str, operation: &str, access: &str| {
        let parameters = json!({
            "block_size": block, "operation": operation, "access": access, "operations": 200
        });
        measure(parameters).service.mean.unwrap()
    };
    for (operation, access) in [
        ("read", "seq"),
        ("write", "seq"),
        ("none", "seq"),
        ("read", "rnd"),
        ("write", "rnd"),
        ("none", "rnd"),
    ] {
        let (short, long) = (time("16KiB", operation, access), time("1MiB", operation, access));
        assert!(long > 5.0 * short, "{operation} {access}: 64 times the words take {long} s, not {short} s");
    }
}

#[test]
fn streams_and_loads_are_done_and_take_longer_for_more() {
    let time = |parameters: Value| measure(parameters).service.mean.unwrap();
    for operation in ["read", "write", "copy"] {
        let of = |size: &str| {
            time(json!({"mode": "native", "operation": operation, "size": size, "operations": 5}))
        };
        assert!(of("256MiB") > 3.0 * of("16MiB"), "{operation}: 16 times the bytes");
    }
    let of = |size: &str| time(json!({"mode": "latency", "size": size, "operations": 2}));
    assert!(of("256MiB") > 3.0 * of("8KiB"), "memory answers later than the first cache");
}

#[test]
fn buffers_are_wider_than_the_caches_and_shared_out_among_the_threads() {
    assert_eq!(wider_than(0, 1), 256 << 20);
    assert_eq!(wider_than(384 << 20, 1), 1536 << 20);
    assert_eq!(wider_than(32 << 20, 3), 89_481_216);
    assert!(wider_than(32 << 20, 3) * 3 >= 256 << 20);
}

#[test]
fn the_memory_a_case_takes_is_known_before_it_runs() {
    let memory = |parameters| build_of(&parameters).unwrap().memory().get();
    assert_eq!(memory(json!({"block_size": "1MiB", "threads": 4})), 1 << 20);
    assert_eq!(memory(json!({"block_size": "1MiB", "threads": 4, "scope": "local"})), 4 << 20);
    assert_eq!(memory(json!({"mode": "native", "size": "64MiB", "threads": 4})), 256 << 20);
    assert!(memory(json!({"mode": "latency"})) >= 256 << 20);
}

#[test]
fn huge_pages_that_are_not_there_are_refused_in_words() {
    let free = meminfo("HugePages_Free:").unwrap_or(0);
    let page = meminfo("Hugepagesize:").unwrap_or(2048) * 1024;
    let more = (free + 1) * page;
    let error = buffer(more, true).err().map(|error| format!("{error:#}")).unwrap();
    assert!(error.contains("not taken") && error.contains("huge_pages = false"), "{error}");
}
