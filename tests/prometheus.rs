//! A real Prometheus scrapes a real daemon, and promtool has nothing to say.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use common::program::{PATIENCE, Place, words};
use common::{Flavour, Server};
use serde_json::Value;

const SHORT: &str = r#"
[suite.short]
profile = "lab"
[[suite.short.benchmark]]
workload = "cpu"
warm_up = "0s"
time = "300ms"
"#;

/// Where a program is, in `PATH` or among those the tests fetched.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fetched = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".tools/prometheus/usr/bin");
    let found = std::env::split_paths(&path)
        .chain([fetched])
        .map(|folder| folder.join(name))
        .find(|file| file.exists());
    if found.is_none() {
        common::skip(name);
    }
    found
}

#[test]
fn promtool_has_nothing_to_say_about_the_metrics() {
    let Some(promtool) = program("promtool") else { return };
    let servers: Vec<Server> =
        Flavour::present().into_iter().map(|flavour| Server::start(flavour, &[])).collect();
    let target = |(number, server): (usize, &Server)| {
        let socket = server.socket();
        format!(
            "[target.server{number}]\nkind = \"server\"\nuser = \"root\"\nsocket = \"{}\"\n",
            socket.display()
        )
    };
    let targets: String = servers.iter().enumerate().map(target).collect();
    let place = Place::new(&format!("{targets}{SHORT}"));
    let daemon = place.serve();
    for number in 0..servers.len() {
        daemon.metric_to_come(&format!("benchd_mysql_uptime_seconds{{target=\"server{number}\"}}"));
    }
    daemon.follow(&daemon.trigger(r#"{"suite":"short"}"#));
    daemon.metric_to_come("benchd_last_run_success{suite=\"short\"}");
    let mut check = Command::new(promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut check = check.spawn().unwrap();
    check.stdin.take().unwrap().write_all(daemon.metrics().as_bytes()).unwrap();
    let output = check.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
        "{}",
        words(&output)
    );
}

/// A Prometheus that scrapes one address; killed by its pid when the test is over.
struct Prometheus {
    child: Child,
    port: u16,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Prometheus {
    fn start(program: &PathBuf, place: &Place, address: &str) -> Prometheus {
        let config = format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: benchd, static_configs: [{{targets: [\"{address}\"]}}]}}]\n"
        );
        fs::write(place.path("prometheus.yml"), config).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program)
            .arg(format!("--config.file={}", place.path("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", place.path("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Prometheus { child, port }
    }

    /// The value of an instant query, once it has one that is above 0.
    fn ask(&self, query: &str) -> f64 {
        let began = Instant::now();
        loop {
            match self.query(query) {
                Some(value) if value > 0.0 => return value,
                value => assert!(began.elapsed() < PATIENCE, "{query}: {value:?}"),
            }
        }
    }

    fn query(&self, query: &str) -> Option<f64> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "GET /api/v1/query?query={query} HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let answer: Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        answer.pointer("/data/result/0/value/1")?.as_str()?.parse().ok()
    }
}

#[test]
fn a_real_prometheus_scrapes_what_a_run_left() {
    let Some(prometheus) = program("prometheus") else { return };
    let place = Place::new(SHORT);
    let daemon = place.serve();
    daemon.follow(&daemon.trigger(r#"{"suite":"short"}"#));
    daemon.metric_to_come("benchd_last_run_success{suite=\"short\"}");
    let prometheus = Prometheus::start(&prometheus, &place, &daemon.address());
    assert!((prometheus.ask("up{job=\"benchd\"}") - 1.0).abs() < f64::EPSILON);
    assert!(prometheus.ask("benchd_last_operations_per_second{suite=\"short\"}") > 0.0);
    assert!(prometheus.ask("benchd_runs_total{suite=\"short\",trigger=\"request\"}") > 0.0);
    assert!(prometheus.ask("sum(benchd_host_cpu_seconds_total)") > 0.0);
    let families = prometheus.ask("count(count({__name__=~\"benchd_.%2B\"})by(__name__))");
    assert!(families > 100.0, "{families} families");
}
