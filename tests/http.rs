//! The HTTP interface at its boundary: what it answers to whom, its limits, and its end.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod common;
#[path = "http/openmetrics.rs"]
mod openmetrics;
#[path = "http/rig.rs"]
mod rig;
#[path = "http/web.rs"]
mod web;

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use benchd::config::PeakDisks;
use benchd::export::Reload;
use benchd::http::SocketOptions;
use benchd::units::{Bytes, Span};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use jiff::Timestamp;
use rig::{Events, PATIENCE, Rig, open, post, request, send};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// What promtool says about metrics; nothing is good.
fn promtool(metrics: &str) -> Option<String> {
    let child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        common::skip("promtool");
        return None;
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), metrics.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(format!(
        "{}{}",
        String::from_utf8(output.stderr).unwrap(),
        if output.status.success() { "" } else { "failed" }
    ))
}

/// Reads until the other side closes.
async fn read_all(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut text = Vec::new();
    tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text))
        .await
        .expect("the end of a connection")
        .unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn promtool_has_nothing_to_say_about_a_full_snapshot() {
    let text = std::fs::read_to_string("tests/fixtures/metrics.txt").unwrap();
    if let Some(said) = promtool(&text) {
        assert_eq!(said, "");
    }
}

#[tokio::test]
async fn metrics_are_text_that_promtool_likes_and_fewer_than_800() {
    let mut rig = Rig::start().await;
    rig.run_fake().await;
    let answer = rig.ask_tcp("GET", "/metrics").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    if let Some(said) = promtool(&answer.text) {
        assert_eq!(said, "");
    }
    let series = answer.text.lines().filter(|line| !line.starts_with('#')).count();
    assert!((100..800).contains(&series), "{series} series");
    for there in [
        "benchd_runs_total{suite=\"fake\",trigger=\"request\"} 1",
        "benchd_runs_blocked_total{guard=\"window\"} 0",
        "benchd_runs_aborted_total{guard=\"deadline\"} 0",
        "benchd_live_operations_total{suite=\"fake\",case=\"cpu\",workload=\"cpu\"} 0",
        "benchd_collector_success{collector=\"cpu\"} 1",
    ] {
        assert!(answer.text.lines().any(|line| line == there), "{there} in\n{}", answer.text);
    }
}

#[test]
fn a_full_snapshot_is_openmetrics_with_the_same_families_and_series_as_the_text() {
    let read = |file| std::fs::read_to_string(format!("tests/fixtures/{file}")).unwrap();
    let families = openmetrics::parse(&read("metrics.openmetrics")).unwrap();
    let text = read("metrics.txt");
    assert_eq!(families.len(), text.lines().filter(|line| line.starts_with("# TYPE ")).count());
    let series: usize = families.values().map(|family| family.samples.len()).sum();
    assert_eq!(series, text.lines().filter(|line| !line.starts_with('#')).count());
    let busy = &families["benchd_host_disk_busy_ratio"];
    assert_eq!((busy.kind.as_str(), busy.unit.as_deref()), ("histogram", Some("ratio")));
    let cpu = &families["benchd_host_cpu_seconds"];
    assert_eq!((cpu.kind.as_str(), cpu.unit.as_deref()), ("counter", Some("seconds")));
    assert_eq!(families["benchd_build"].kind, "info");
}

/// Asks for the metrics with headers of a scraper.
fn scrape(
    headers: &[(&'static str, &'static str)],
) -> hyper::Request<http_body_util::Full<hyper::body::Bytes>> {
    let mut asked = request("GET", "/metrics");
    asked.headers_mut().extend(
        headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))),
    );
    asked
}

/// The bytes of an answer's body.
async fn open_body(
    stream: tokio::net::TcpStream,
    asked: hyper::Request<http_body_util::Full<hyper::body::Bytes>>,
) -> hyper::body::Bytes {
    let answer = open(stream, asked).await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    answer.into_body().collect().await.unwrap().to_bytes()
}

#[tokio::test]
async fn a_scraper_gets_the_format_and_the_compression_it_prefers() {
    let mut rig = Rig::start().await;
    rig.run_fake().await;
    while !rig.ask_tcp("GET", "/metrics").await.text.contains("benchd_last_run_end") {}
    let open =
        send(rig.tcp().await, scrape(&[("accept", "application/openmetrics-text;version=1.0.0,*/*;q=0.1")]))
            .await;
    assert_eq!(open.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_eq!(open.header("vary"), "Accept, Accept-Encoding");
    let families = openmetrics::parse(&open.text).unwrap_or_else(|error| panic!("{error}\n{}", open.text));
    assert_eq!(families["benchd_runs"].kind, "counter");
    let plain = rig.ask_tcp("GET", "/metrics").await;
    assert_eq!(
        (plain.header("vary"), plain.headers.get("content-encoding")),
        ("Accept, Accept-Encoding", None)
    );
    let asked = scrape(&[("accept-encoding", "gzip"), ("x-prometheus-scrape-timeout-seconds", "0.3")]);
    let answer = open_body(rig.tcp().await, asked).await;
    let mut text = String::new();
    flate2::read::GzDecoder::new(answer.as_ref()).read_to_string(&mut text).unwrap();
    assert!(answer.len() * 4 < text.len(), "{} of {} bytes", answer.len(), text.len());
    let names = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(str::to_owned).collect()
    };
    assert_eq!(names(&text), names(&plain.text));
    let head = rig.ask_tcp("HEAD", "/metrics").await;
    assert_eq!((head.status, head.text.as_str()), (StatusCode::OK, ""));
    assert_eq!(head.header("content-type"), plain.header("content-type"));
    assert!(head.header("content-length").parse::<usize>().unwrap() > 10_000);
}

#[tokio::test]
async fn peaks_are_those_of_disks_in_use_unless_all_are_wanted() {
    let disk = |text: &str| text.lines().any(|line| line.starts_with("benchd_host_disk_busy_ratio_count{"));
    let cpu = "benchd_host_cpu_utilization_max_ratio{window=\"60s\"}";
    let metrics = async |rig: &Rig| {
        let begun = Instant::now();
        loop {
            let text = rig.ask_tcp("GET", "/metrics").await.text;
            if text.contains(cpu) {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "no peak in\n{text}");
        }
    };
    // Nothing lies on a disk: the temporary file system of this rig is asked about in vain.
    let used = Rig::with_filesystems(&[Path::new("/proc")], |_| ()).await;
    let text = metrics(&used).await;
    let all =
        Rig::with_filesystems(&[Path::new("/proc")], |config| config.sample.peaks = PeakDisks::All).await;
    let everything = metrics(&all).await;
    assert!(!disk(&text), "{text}");
    assert_eq!(disk(&everything), everything.contains("benchd_host_disk_io_now{"), "{everything}");
}

#[tokio::test]
async fn silent_connections_give_way_to_those_who_ask() {
    let rig = Rig::with(|config| config.server.max_connections = 8).await;
    let mut tcp = Vec::new();
    let mut unix = Vec::new();
    for _ in 0..300 {
        tcp.push(rig.tcp().await);
        unix.push(rig.unix().await);
    }
    tcp[299].write_all(b"GET /metrics HTTP/1.1\r\nhost: ").await.unwrap();
    assert_eq!(rig.ask_tcp("GET", "/metrics").await.status, StatusCode::OK);
    let text = rig.ask("GET", "/metrics").await.text;
    let limited = text
        .lines()
        .find_map(|line| line.strip_prefix("benchd_http_rejected_requests_total{reason=\"limit\"} "));
    // 301 connections by TCP and by the socket, of each 8 are open.
    assert_eq!(limited, Some("586"), "{text}");
    assert_eq!(read_all(&mut tcp[0]).await, "", "the oldest is closed");
    tcp[299].write_all(b"x\r\nconnection: close\r\n\r\n").await.unwrap();
    assert!(read_all(&mut tcp[299]).await.starts_with("HTTP/1.1 200 "), "one of the newest goes on");
}

#[tokio::test]
async fn last_results_are_metrics_as_soon_as_they_are_stored_and_after_a_restart() {
    let mut rig = Rig::start().await;
    let wanted = "benchd_last_operations_per_second{suite=\"fake\",case=\"cpu\",workload=\"cpu\"} 862";
    assert!(!rig.ask_tcp("GET", "/metrics").await.text.contains("benchd_last_run_success{"));
    rig.run_fake().await;
    let begun = Instant::now();
    while !rig.ask_tcp("GET", "/metrics").await.text.contains(wanted) {
        assert!(begun.elapsed() < PATIENCE, "the result never became a metric");
    }
    let Rig { server, runner, directory, .. } = rig;
    assert!(server.stop(PATIENCE).await);
    runner.drain();
    drop(runner);
    let path = directory.keep();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(path.join("benchd.db"), copy.path().join("benchd.db")).unwrap();
    if path.join("benchd.db-wal").exists() {
        std::fs::copy(path.join("benchd.db-wal"), copy.path().join("benchd.db-wal")).unwrap();
    }
    let rig = Rig::in_directory(copy, |_| ()).await;
    let text = rig.ask_tcp("GET", "/metrics").await.text;
    assert!(text.contains(wanted) && text.contains("benchd_last_run_success{suite=\"fake\"} 1"), "{text}");
    std::fs::remove_dir_all(path).unwrap();
}

#[tokio::test]
async fn health_is_ok_and_readiness_says_why_not() {
    let rig = Rig::start().await;
    assert_eq!(rig.ask_tcp("GET", "/-/healthy").await.text, "ok\n");
    assert_eq!(rig.ask_tcp("GET", "/-/ready").await.status, StatusCode::OK);
    rig.ready.send(Err("the first sample is not taken yet".to_owned())).unwrap();
    let answer = rig.ask_tcp("GET", "/-/ready").await;
    assert_eq!(
        (answer.status.as_u16(), answer.text.as_str()),
        (503, "not ready: the first sample is not taken yet\n")
    );
    assert_eq!(rig.ask_tcp("GET", "/-/healthy").await.status, StatusCode::OK);
}

#[tokio::test]
async fn this_host_reads_by_tcp_and_changes_by_the_socket() {
    let mut rig = Rig::start().await;
    for path in ["/", "/metrics", "/api/v1/status", "/api/v1/suites", "/api/v1/runs"] {
        assert_eq!(rig.ask_tcp("GET", path).await.status, StatusCode::OK, "{path}");
    }
    for (method, path) in
        [("POST", "/api/v1/runs"), ("POST", "/-/reload"), ("DELETE", "/api/v1/runs/3f09a1d4")]
    {
        assert_eq!(rig.ask_tcp(method, path).await.problem(), (403, "role"), "{method} {path}");
    }
    let plan = send(rig.tcp().await, post("/api/v1/runs?plan=true", &json!({ "suite": "shut" }))).await;
    assert_eq!((plan.status.as_u16(), &plan.json["would_run"]), (200, &json!(false)));
    assert!(rig.workers.try_recv().is_err(), "a plan starts nothing");
    let text = rig.ask_tcp("GET", "/metrics").await.text;
    assert!(text.contains("benchd_http_rejected_requests_total{reason=\"role\"} 3"), "{text}");
    rig.run_fake().await;
}

#[tokio::test]
async fn other_hosts_get_metrics_and_health_and_nothing_else() {
    let mut rig = Rig::start().await;
    // No packet is sent: the system only tells from which address it would be.
    let probe = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let own = probe.connect("192.0.2.1:9").and_then(|()| probe.local_addr()).map(|address| address.ip());
    let Some(own) = own.ok().filter(|address| !address.is_loopback()) else { return common::skip("network") };
    rig.server.listen(&[":0".parse().unwrap()], None).await.unwrap();
    let address = std::net::SocketAddr::new(own, rig.address().port());
    let ask = async |method: &str, path: &str| {
        send(tokio::net::TcpStream::connect(address).await.unwrap(), request(method, path)).await
    };
    for path in ["/metrics", "/-/healthy", "/-/ready"] {
        assert_eq!(ask("GET", path).await.status, StatusCode::OK, "{path}");
    }
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/api/v1/status"),
        ("GET", "/nothing"),
        ("POST", "/api/v1/runs"),
        ("POST", "/metrics"),
    ] {
        assert_eq!(ask(method, path).await.problem(), (403, "role"), "{method} {path}");
    }
}

#[tokio::test]
async fn what_is_not_there_and_wrong_methods_are_told_apart() {
    let rig = Rig::start().await;
    assert_eq!(rig.ask("GET", "/nothing").await.problem(), (404, "about:blank"));
    for (method, path, allow) in [
        ("POST", "/metrics", "GET, HEAD"),
        ("GET", "/-/reload", "POST"),
        ("PUT", "/api/v1/runs", "GET, HEAD, POST"),
        ("POST", "/api/v1/runs/3f09a1d4", "DELETE, GET, HEAD"),
    ] {
        let answer = rig.ask(method, path).await;
        assert_eq!(
            (answer.problem(), answer.header("allow")),
            ((405, "about:blank"), allow),
            "{method} {path}"
        );
    }
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let rig = Rig::start().await;
    for path in ["/-/healthy", "/api/v1/runs", "/nothing"] {
        let (get, head) = (rig.ask("GET", path).await, rig.ask("HEAD", path).await);
        assert_eq!((head.status, head.text.as_str()), (get.status, ""));
        for header in ["content-type", "content-length"] {
            assert_eq!(head.header(header), get.header(header), "{path} {header}");
        }
        assert_eq!(get.header("content-length"), get.text.len().to_string());
    }
}

#[tokio::test]
async fn the_page_shows_what_there_is_and_escapes_it() {
    let mut rig = Rig::start().await;
    rig.plan("fake", "2026-12-01T03:41:00Z".parse().unwrap());
    let id = rig.run_fake().await;
    rig.reloaded.send_replace(Reload { successful: false, accepted: Timestamp::now() });
    let answer = rig.post("/api/v1/runs", json!({ "suite": "fake", "note": "<script>" })).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let _working = rig.working().await;
    let begun = Instant::now();
    let page = loop {
        let page = rig.ask_tcp("GET", "/").await;
        assert!(begun.elapsed() < PATIENCE, "{}", page.text);
        if page.text.contains("of 1 case done; cpu, measure") && page.text.contains(&id) {
            break page;
        }
    };
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    assert!(!page.text.contains("<script"), "{}", page.text);
    for there in [
        "benchd",
        "db1",
        "quick",
        "862.0 events",
        "2026",
        "last reload was refused",
        "http-equiv=\"refresh\"",
    ] {
        assert!(page.text.contains(there), "{there} in {}", page.text);
    }
}

#[tokio::test]
async fn status_names_the_active_run_the_queue_and_what_blocks() {
    let mut rig = Rig::start().await;
    let first = rig.post("/api/v1/runs", json!({ "suite": "fake" })).await;
    let _working = rig.working().await;
    let second = rig.post("/api/v1/runs", json!({ "suite": "fake", "queue": true })).await;
    assert_eq!((&second.json["state"], &second.json["position"]), (&json!("queued"), &json!(1)));
    let status = rig.ask_tcp("GET", "/api/v1/status").await.json;
    assert_eq!((&status["active"]["id"], &status["active"]["suite"]), (&first.json["id"], &json!("fake")));
    assert_eq!((&status["queue"], &status["waiting"][0]["id"]), (&json!(1), &second.json["id"]));
    let suites = status["suites"].as_array().unwrap();
    let shut = suites.iter().find(|suite| suite["suite"] == "shut").unwrap();
    assert_eq!((&shut["ready"], &shut["blocking"]), (&json!(false), &json!(["window"])));
    let waiting = rig.ask("GET", &format!("/api/v1/runs/{}", second.json["id"].as_str().unwrap())).await.json;
    assert_eq!(waiting["state"], "queued");
}

#[tokio::test]
async fn suites_are_shown_as_expanded() {
    let rig = Rig::start().await;
    let suite = rig.ask_tcp("GET", "/api/v1/suites/quick").await.json;
    assert_eq!((&suite["profile"], &suite["cases"][0]["case"]), (&json!("lab"), &json!("cpu")));
    assert_eq!(suite["cases"][0]["parameters"]["time"], "5s");
    assert_eq!(rig.ask_tcp("GET", "/api/v1/suites").await.json["suites"].as_array().unwrap().len(), 4);
    assert_eq!(rig.ask_tcp("GET", "/api/v1/suites/nightly").await.problem(), (404, "unknown-suite"));
}

#[tokio::test]
async fn a_run_is_started_followed_and_shown() {
    let mut rig = Rig::start().await;
    let started = rig.post("/api/v1/runs", json!({ "suite": "fake", "note": "after deploy" })).await;
    let id = started.json["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (started.status.as_u16(), started.header("location")),
        (202, format!("/api/v1/runs/{id}").as_str())
    );
    assert_eq!((&started.json["state"], &started.json["cases"]), (&json!("starting"), &json!(1)));
    let short = &id[id.len() - 8..];
    let mut events = Events::follow(&rig, short, None).await;
    let mut worker = rig.worker().await;
    let asked = worker.begin().await;
    assert_eq!(asked["id"], id.as_str());
    assert_eq!(events.next().await.map(|(number, name, _)| (number, name)), Some((1, "stage".to_owned())));
    let ended = rig.runner.ended();
    worker.finish(&asked).await;
    assert_eq!(events.names().await, ["stage", "stage", "result", "end"]);
    ended.clone().wait_for(|ended| *ended == 1).await.unwrap();
    for name in [id.as_str(), short, "fake", "latest?suite=fake"] {
        let run = rig.ask_tcp("GET", &format!("/api/v1/runs/{name}")).await;
        assert_eq!((&run.json["id"], &run.json["note"]), (&json!(id), &json!("after deploy")), "{name}");
        assert_eq!(run.json["cases"][0]["throughput"]["per_second"], 862.0);
    }
    assert_eq!(rig.ask("DELETE", &format!("/api/v1/runs/{short}")).await.problem(), (409, "run-finished"));
    assert_eq!(rig.ask("GET", "/api/v1/runs/00000000").await.problem(), (404, "unknown-run"));
    assert_eq!(rig.ask("DELETE", "/api/v1/runs/00000000").await.problem(), (404, "unknown-run"));
}

#[tokio::test]
async fn a_finished_run_is_answered_from_the_cache_of_whoever_has_it() {
    let mut rig = Rig::start().await;
    let path = format!("/api/v1/runs/{}", rig.run_fake().await);
    let first = rig.ask("GET", &path).await;
    let mut again = request("GET", &path);
    again.headers_mut().insert("if-none-match", first.header("etag").parse().unwrap());
    let second = send(rig.unix().await, again).await;
    assert_eq!((second.status.as_u16(), second.text.as_str()), (304, ""));
}

#[tokio::test]
async fn events_resume_after_the_last_one_that_was_seen() {
    let mut rig = Rig::start().await;
    let id =
        rig.post("/api/v1/runs", json!({ "suite": "fake" })).await.json["id"].as_str().unwrap().to_owned();
    let mut worker = rig.worker().await;
    let asked = worker.begin().await;
    let mut first = Events::follow(&rig, &id, None).await;
    for number in 1..=2 {
        assert_eq!(first.next().await.unwrap().0, number);
    }
    drop(first);
    worker.note("one").await;
    worker.note("two").await;
    let mut second = Events::follow(&rig, &id, Some(3)).await;
    let (number, name, data) = second.next().await.unwrap();
    assert_eq!((number, name.as_str(), &data["text"]), (4, "note", &json!("two")));
    worker.finish(&asked).await;
    assert_eq!(second.names().await.last().map(String::as_str), Some("end"));
    let mut late = Events::follow(&rig, &id, None).await;
    assert_eq!(late.names().await.len(), 7, "events are kept for a while after the end");
}

#[tokio::test]
async fn a_run_of_an_earlier_daemon_answers_with_its_end() {
    let mut rig = Rig::start().await;
    rig.post("/api/v1/runs", json!({ "suite": "shut" })).await;
    let blocked = rig.ask("GET", "/api/v1/runs?outcome=blocked").await.json["runs"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut events = Events::follow(&rig, &blocked, None).await;
    let (_, name, data) = events.next().await.unwrap();
    assert_eq!((name.as_str(), &data["outcome"]), ("end", &json!("blocked")));
    assert!(events.next().await.is_none());
    assert!(rig.workers.try_recv().is_err());
}

#[tokio::test]
async fn refusals_say_why_and_what_to_do() {
    let mut rig = Rig::start().await;
    let blocked = rig.post("/api/v1/runs", json!({ "suite": "shut" })).await;
    assert_eq!(blocked.problem(), (423, "blocked"));
    let guard = &blocked.json["guards"][0];
    assert_eq!((&guard["guard"], &guard["overridable"]), (&json!("window"), &json!(true)));
    let retry: u64 = blocked.header("retry-after").parse().unwrap();
    assert!((3600 * 9..3600 * 12).contains(&retry), "the window opens in about 11 hours, not {retry} s");
    assert_eq!(
        rig.post("/api/v1/runs", json!({ "suite": "nightly" })).await.problem(),
        (422, "unknown-suite")
    );
    let no_case = rig.post("/api/v1/runs", json!({ "suite": "fake", "case": "oltp*" })).await;
    assert_eq!(
        (no_case.problem(), &no_case.json["errors"][0]["pointer"]),
        ((422, "parameters"), &json!("#/case"))
    );
    let started = rig.post("/api/v1/runs", json!({ "suite": "fake" })).await;
    let _working = rig.working().await;
    let active = rig.post("/api/v1/runs", json!({ "suite": "fake" })).await;
    assert_eq!((active.problem(), &active.json["active"]["id"]), ((409, "run-active"), &started.json["id"]));
    rig.runner.drain();
    assert_eq!(rig.post("/api/v1/runs", json!({ "suite": "fake" })).await.problem(), (503, "draining"));
}

#[tokio::test]
async fn a_guard_is_overridden_and_a_benchmark_of_its_own_is_run_by_the_socket() {
    let mut rig = Rig::start().await;
    let body = json!({ "suite": "shut", "override": ["window"] });
    assert_eq!(rig.post("/api/v1/runs", body).await.status, StatusCode::ACCEPTED);
    let mut worker = rig.worker().await;
    let asked = worker.begin().await;
    worker.finish(&asked).await;
    let body = json!({ "benchmark": { "workload": "cpu", "threads": [1, 2], "time": "1s" }, "queue": true, "override": "window" });
    let started = rig.post("/api/v1/runs", body).await;
    assert_eq!((started.status.as_u16(), &started.json["cases"]), (202, &json!(2)), "{started:?}");
    let _second = rig.working().await;
    let wrong =
        rig.post("/api/v1/runs", json!({ "benchmark": { "workload": "cpu", "time": "5", "x": 1 } })).await;
    assert_eq!(wrong.problem(), (422, "parameters"));
    let pointers: Vec<&str> = wrong.json["errors"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|error| error["pointer"].as_str())
        .collect();
    assert!(pointers.contains(&"#/benchmark/time") && pointers.contains(&"#/benchmark/x"), "{wrong:?}");
}

#[tokio::test]
async fn a_run_is_cancelled() {
    let mut rig = Rig::start().await;
    let started = rig.post("/api/v1/runs", json!({ "suite": "fake" })).await;
    let mut worker = rig.worker().await;
    worker.begin().await;
    let path = format!("/api/v1/runs/{}", started.json["id"].as_str().unwrap());
    let cancelled = rig.ask("DELETE", &path).await;
    assert_eq!((cancelled.status.as_u16(), &cancelled.json["state"]), (202, &json!("cancelling")));
    assert_eq!(rig.ask("DELETE", &path).await.status, StatusCode::ACCEPTED, "it is being cancelled already");
    let mut ended = rig.runner.ended();
    worker.stop_when_told().await;
    ended.wait_for(|ended| *ended == 1).await.unwrap();
    assert_eq!(rig.ask("GET", &path).await.json["outcome"], "cancelled");
}

#[tokio::test]
async fn a_request_with_a_key_may_be_sent_twice() {
    let mut rig = Rig::start().await;
    let ask = async |key: &str, body: serde_json::Value| {
        let mut request = post("/api/v1/runs", &body);
        request.headers_mut().insert("idempotency-key", key.parse().unwrap());
        send(rig.unix().await, request).await
    };
    let first = ask("deploy-1", json!({ "suite": "fake", "note": "n" })).await;
    let again = ask("deploy-1", json!({ "note": "n", "suite": "fake" })).await;
    assert_eq!((again.status, &again.json), (StatusCode::ACCEPTED, &first.json));
    assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), ("", "true"));
    assert_eq!(again.header("location"), first.header("location"));
    let other = ask("deploy-1", json!({ "suite": "quick" })).await;
    assert_eq!(other.problem(), (422, "idempotency-mismatch"));
    assert_eq!(ask("deploy-2", json!({ "suite": "fake" })).await.problem(), (409, "run-active"));
    assert_eq!(
        ask("deploy-2", json!({ "suite": "fake", "queue": true })).await.status,
        StatusCode::ACCEPTED,
        "a refusal is not remembered"
    );
    assert_eq!(ask("", json!({ "suite": "fake" })).await.problem(), (422, "parameters"));
    let _working = rig.working().await;
    assert!(rig.workers.try_recv().is_err(), "one run was started, not two");
}

#[tokio::test]
async fn lists_are_filtered_and_come_in_pages() {
    let mut rig = Rig::start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(rig.run_fake().await);
    }
    ids.reverse();
    let mut path = "/api/v1/runs?suite=fake&outcome=finished&trigger=request&case=c*&limit=2".to_owned();
    let mut seen = Vec::new();
    for pages_left in [1, 0] {
        let page = rig.ask_tcp("GET", &path).await;
        seen.extend(
            page.json["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap().to_owned()),
        );
        let next = page.json["next"].as_str().unwrap_or_default().to_owned();
        assert_eq!(next.is_empty(), pages_left == 0);
        assert_eq!(
            page.header("link"),
            if next.is_empty() { String::new() } else { format!("<{next}>; rel=\"next\"") }
        );
        path = next;
    }
    assert_eq!(seen, ids);
    let none = rig.ask_tcp("GET", "/api/v1/runs?until=2020-01-01T00:00:00Z").await;
    assert_eq!(none.json["runs"], json!([]));
    assert_eq!(rig.ask_tcp("GET", "/api/v1/runs?limit=0&colour=red").await.problem(), (422, "parameters"));
}

#[tokio::test]
async fn a_reload_is_answered_with_its_problems() {
    let mut rig = Rig::start().await;
    let socket = rig.socket();
    let ask = async || send(UnixStream::connect(&socket).await.unwrap(), request("POST", "/-/reload")).await;
    let problem = benchd::config::Problem {
        file: "/etc/benchd/benchd.toml".to_owned(),
        line: 2,
        column: 1,
        key: "suite.night.shedule".to_owned(),
        problem: "unknown key".to_owned(),
        hint: "did you mean `schedule`?".to_owned(),
        source_line: "shedule = 1".to_owned(),
        underline: 7,
    };
    let (refused, ()) =
        tokio::join!(ask(), async { rig.reloads.recv().await.unwrap().send(Err(vec![problem])).unwrap() });
    assert_eq!(refused.problem(), (422, "configuration"));
    assert_eq!(
        (&refused.json["problems"][0]["line"], &refused.json["problems"][0]["key"]),
        (&json!(2), &json!("suite.night.shedule"))
    );
    let (accepted, ()) =
        tokio::join!(ask(), async { rig.reloads.recv().await.unwrap().send(Ok(())).unwrap() });
    assert_eq!((accepted.status.as_u16(), accepted.text.as_str()), (204, ""));
    rig.reloads.close();
    assert_eq!(ask().await.problem(), (503, "draining"));
}

#[tokio::test]
async fn bodies_are_json_and_known_and_small() {
    let rig = Rig::with(|config| config.server.body_limit = Bytes::new(1024)).await;
    let text = send(rig.unix().await, request("POST", "/api/v1/runs")).await;
    assert_eq!(text.problem(), (415, "about:blank"));
    let unknown = rig.post("/api/v1/runs", json!({ "suite": "fake", "speed": 1, "a/b": 2 })).await;
    assert_eq!(unknown.problem(), (422, "parameters"));
    let pointers: Vec<&str> = unknown.json["errors"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|error| error["pointer"].as_str())
        .collect();
    assert_eq!(pointers, ["#/a~1b", "#/speed"]);
    let broken = b"POST /api/v1/runs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 5\r\n\r\n{\"a\":";
    let mut stream = rig.unix().await;
    stream.write_all(broken).await.unwrap();
    assert!(read_all(&mut stream).await.starts_with("HTTP/1.1 422 "));
    let large = rig.post("/api/v1/runs", json!({ "suite": "x".repeat(2000) })).await;
    assert_eq!(large.problem(), (413, "too-large"));
    let mut stream = rig.unix().await;
    let chunk = format!("400\r\n{}\r\n", "x".repeat(0x400));
    let head = "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(format!("{head}{chunk}{chunk}").as_bytes()).await.unwrap();
    assert!(
        read_all(&mut stream).await.starts_with("HTTP/1.1 413 "),
        "a body of unknown length has the same limit"
    );
    let rejected = rig.ask_tcp("GET", "/metrics").await.text;
    assert!(rejected.contains("benchd_http_rejected_requests_total{reason=\"size\"} 2"), "{rejected}");
}

#[tokio::test]
async fn slow_headers_and_slow_bodies_are_cut_off() {
    let rig = Rig::with(|config| {
        config.server.header_timeout = Span::from_millis(200);
        config.server.request_timeout = Span::from_millis(200);
    })
    .await;
    let mut silent = rig.tcp().await;
    assert_eq!(read_all(&mut silent).await, "", "who asks nothing is told nothing");
    let mut slow = rig.tcp().await;
    slow.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
    let told = read_all(&mut slow).await;
    assert!(
        told.starts_with("HTTP/1.1 408 Request Timeout\r\n") && told.contains("urn:benchd:problem:timeout"),
        "{told}"
    );
    let mut slow = rig.unix().await;
    slow.write_all(b"POST /api/v1/runs HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{").await.unwrap();
    let told = read_all(&mut slow).await;
    assert!(
        told.starts_with("HTTP/1.1 408 Request Timeout\r\n") && told.contains("urn:benchd:problem:timeout"),
        "{told}"
    );
    let rejected = rig.ask("GET", "/metrics").await.text;
    assert!(rejected.contains("benchd_http_rejected_requests_total{reason=\"timeout\"} 2"), "{rejected}");
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused() {
    let rig = Rig::start().await;
    let mut stream = rig.tcp().await;
    let head = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "x".repeat(100_000));
    // The answer may come, and the connection close, before all of it is written.
    let _ = stream.write_all(head.as_bytes()).await;
    let mut told = [0; 13];
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(std::str::from_utf8(&told).unwrap(), "HTTP/1.1 431 ");
}

#[tokio::test]
async fn connections_beyond_the_limit_are_refused_at_once_and_the_socket_has_its_own() {
    let rig = Rig::with(|config| config.server.max_connections = 1).await;
    let (mut first, connection) =
        hyper::client::conn::http1::handshake(hyper_util::rt::TokioIo::new(rig.tcp().await)).await.unwrap();
    tokio::spawn(connection);
    first.send_request(request("GET", "/-/healthy")).await.unwrap();
    let told = read_all(&mut rig.tcp().await).await;
    assert!(
        told.starts_with("HTTP/1.1 503 ")
            && told.contains("urn:benchd:problem:limit")
            && told.contains("retry-after"),
        "{told}"
    );
    assert_eq!(rig.ask("GET", "/-/healthy").await.status, StatusCode::OK);
    drop(first);
    let begun = Instant::now();
    loop {
        let mut stream = rig.tcp().await;
        stream.write_all(b"GET /-/healthy HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut told = Vec::new();
        // A refused connection may be reset, because what was asked on it is never read.
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut told))
            .await
            .expect("the end of a connection");
        if told.starts_with(b"HTTP/1.1 200 ") {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the place of a closed connection was never free");
    }
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_to_come_again() {
    let rig = Rig::with(|config| config.server.max_requests = 1).await;
    let mut slow = rig.unix().await;
    slow.write_all(
        b"POST /api/v1/runs HTTP/1.1\r\nhost: x\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\n{",
    )
    .await
    .unwrap();
    let begun = Instant::now();
    loop {
        let answer = rig.ask_tcp("GET", "/metrics").await;
        if answer.status == StatusCode::SERVICE_UNAVAILABLE {
            assert_eq!((answer.problem(), answer.header("retry-after")), ((503, "limit"), "1"));
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the slow request never took its place");
    }
    slow.write_all(b"}}").await.unwrap();
    let mut told = [0; 13];
    slow.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 415 ");
    assert_eq!(rig.ask_tcp("GET", "/metrics").await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_end_closes_idle_connections_and_streams_and_lets_requests_finish() {
    let mut rig = Rig::start().await;
    rig.post("/api/v1/runs", json!({ "suite": "fake" })).await;
    let _working = rig.working().await;
    let mut events = Events::follow(&rig, rig.runner.active().unwrap().id.to_string().as_str(), None).await;
    events.next().await.unwrap();
    let mut idle = rig.tcp().await;
    idle.write_all(b"GET /-/healthy HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut told = [0; 13];
    idle.read_exact(&mut told).await.unwrap();
    let asked = open(rig.unix().await, request("POST", "/-/reload"));
    let Rig { server, mut reloads, directory, .. } = rig;
    let (answer, stopped) = tokio::join!(asked, async move {
        let reload = reloads.recv().await.unwrap();
        let stopping = tokio::spawn(server.stop(PATIENCE));
        reload.send(Ok(())).unwrap();
        stopping.await.unwrap()
    });
    assert_eq!((answer.status(), stopped), (StatusCode::NO_CONTENT, true));
    assert!(read_all(&mut idle).await.ends_with("ok\n"));
    while events.next().await.is_some() {}
    assert!(!directory.path().join("benchd.sock").exists(), "the socket goes with its listener");
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_stalled_request_for_ever() {
    let rig = Rig::start().await;
    let (asked, mut reloads) = (open(rig.unix().await, request("POST", "/-/reload")), rig.reloads);
    let asked = tokio::spawn(asked);
    let _unanswered = reloads.recv().await.unwrap();
    assert!(!rig.server.stop(Duration::from_millis(100)).await);
    let cut = tokio::time::timeout(PATIENCE, asked).await.expect("the connection is cut off");
    assert!(cut.is_err(), "no answer came");
}

#[tokio::test]
async fn listeners_change_without_a_restart_and_a_wrong_one_changes_nothing() {
    let mut rig = Rig::start().await;
    let port = rig.address().port();
    let socket = SocketOptions { path: rig.socket(), mode: 0o600, group: None };
    let everywhere = format!(":{port}").parse().unwrap();
    rig.server.listen(&[everywhere], Some(&socket)).await.unwrap();
    assert!(rig.address().ip().is_unspecified());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let wrong = taken.local_addr().unwrap().to_string().parse().unwrap();
    let error = format!("{:#}", rig.server.listen(&[wrong], Some(&socket)).await.unwrap_err());
    assert!(error.contains("another program may use the port"), "{error}");
    assert!(rig.address().ip().is_unspecified());
    let status = rig.ask("GET", "/api/v1/status").await.json;
    assert_eq!(status["listening"], json!([rig.address().to_string(), rig.socket().to_str().unwrap()]));
}

#[tokio::test]
async fn a_socket_is_its_users_alone_and_a_stale_one_is_replaced() {
    let rig = Rig::start().await;
    assert_eq!(mode(&rig.socket()), 0o600);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("benchd.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let mut rig = rig;
    let group = nix::unistd::Group::from_gid(nix::unistd::getgid()).unwrap().map(|group| group.name);
    let socket = SocketOptions { path: path.clone(), mode: 0o660, group };
    rig.server.listen(&[], Some(&socket)).await.unwrap();
    assert_eq!(mode(&path), 0o660);
    assert!(!rig.socket().exists());
    assert_eq!(
        send(UnixStream::connect(&path).await.unwrap(), request("GET", "/-/healthy")).await.text,
        "ok\n"
    );
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_socket_that_answers_and_a_file_that_is_none_are_left_alone() {
    let (one, mut other) = (Rig::start().await, Rig::start().await);
    let refuse = async |other: &mut Rig, path: &Path, group: Option<&str>| {
        let socket = SocketOptions { path: path.to_owned(), mode: 0o600, group: group.map(str::to_owned) };
        format!("{:#}", other.server.listen(&[], Some(&socket)).await.unwrap_err())
    };
    let error = refuse(&mut other, &one.socket(), None).await;
    assert!(error.contains("another benchd answers on"), "{error}");
    assert_eq!(one.ask("GET", "/-/healthy").await.status, StatusCode::OK);
    let file = one.directory.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let error = refuse(&mut other, &file, None).await;
    assert!(error.contains("is not a socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let nobody = one.directory.path().join("third.sock");
    let error = refuse(&mut other, &nobody, Some("no-such-group")).await;
    assert!(error.contains("group no-such-group") && !nobody.exists(), "{error}");
    assert_eq!(other.ask("GET", "/-/healthy").await.status, StatusCode::OK, "it listens where it did before");
}

#[test]
fn the_documentation_of_the_api_is_the_table_of_routes() {
    let path = Path::new("docs/api.md");
    let page = benchd::http::document();
    if std::env::var_os("BENCHD_UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let there = std::fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "docs/api.md is not what is generated: run the tests with BENCHD_UPDATE=1");
}
