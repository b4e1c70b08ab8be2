//! A real Prometheus scrapes a real daemon, promtool has nothing to say, and what dashboards and rules ask has an
//! answer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;
#[path = "dashboards/kept.rs"]
mod kept;
#[path = "prometheus/live.rs"]
mod live;
#[path = "dashboards/promql.rs"]
mod promql;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use common::program::{PATIENCE, Place, words};
use common::suites::SHORT;
use common::{Flavour, Server, tool};
use serde_json::Value;

#[test]
fn promtool_has_nothing_to_say_about_the_metrics() {
    let Some(promtool) = tool("promtool") else { return };
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

/// A Prometheus that scrapes one address and evaluates the rules; killed by its pid when the test is over.
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
        let job = format!("- {{job_name: benchd, static_configs: [{{targets: [\"{address}\"]}}]}}\n");
        Prometheus::with_job(program, place, &job)
    }

    /// One that scrapes as a job says.
    fn with_job(program: &PathBuf, place: &Place, job: &str) -> Prometheus {
        let rules = kept::folder("prometheus");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [\"{}/*.rules.yml\"]\nscrape_configs:\n{job}",
            rules.display()
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
        let value = |data: &Value| data.pointer("/result/0/value/1")?.as_str()?.parse().ok();
        let above = |data: &Value| value(data).filter(|value| *value > 0.0);
        self.wait_for("query", &[("query", query)], above)
    }

    /// What an answer of the API gives, once it gives something.
    fn wait_for<T>(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        wanted: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let began = Instant::now();
        loop {
            let answer = self.api(path, parameters);
            match answer.as_ref().and_then(|answer| wanted(&answer["data"])) {
                Some(found) => return found,
                None => assert!(began.elapsed() < PATIENCE, "{path} {parameters:?}: {answer:?}"),
            }
        }
    }

    /// The whole answer of the API; `None` while it does not answer.
    fn api(&self, path: &str, parameters: &[(&str, &str)]) -> Option<Value> {
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "GET /api/v1/{path}?{query} HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()
    }
}

#[test]
fn a_real_prometheus_scrapes_what_a_run_left() {
    let Some(prometheus) = tool("prometheus") else { return };
    let place = Place::new(SHORT);
    let daemon = place.serve();
    daemon.follow(&daemon.trigger(r#"{"suite":"short"}"#));
    daemon.metric_to_come("benchd_last_run_success{suite=\"short\"}");
    let prometheus = Prometheus::start(&prometheus, &place, &daemon.address());
    assert!((prometheus.ask("up{job=\"benchd\"}") - 1.0).abs() < f64::EPSILON);
    assert!(prometheus.ask("benchd_last_operations_per_second{suite=\"short\"}") > 0.0);
    assert!(prometheus.ask("benchd_runs_total{suite=\"short\",trigger=\"request\"}") > 0.0);
    assert!(prometheus.ask("sum(benchd_host_cpu_seconds_total)") > 0.0);
    let families = prometheus.ask("count(count({__name__=~\"benchd_.+\"}) by (__name__))");
    assert!(families > 100.0, "{families} families");
}

/// Series that look at the trailing window or count every sample: what a scrape could take from the next one.
fn peaks(metrics: &str) -> Vec<&str> {
    let of_sampler = |line: &&str| {
        line.starts_with("benchd_host_")
            && (line.contains("window=\"") || line.contains("le=\"") || line.contains("_max"))
    };
    metrics.lines().filter(of_sampler).collect()
}

/// A scrape that is asked for and not yet read.
fn asked(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
    stream
}

fn answered(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn two_scrapers_at_the_same_time_see_the_same_peaks() {
    let place = Place::new("");
    let daemon = place.serve();
    daemon.metric_to_come("benchd_host_cpu_utilization_max_ratio{window=\"60s\"}");
    let samples = |metrics: &str| {
        let line = metrics.lines().find(|line| line.starts_with("benchd_sampler_samples_total ")).unwrap();
        line.to_owned()
    };
    let (began, address) = (Instant::now(), daemon.address());
    loop {
        let [one, two] = [(); 2].map(|()| asked(&address)).map(answered);
        // A sample that was taken between the two makes them differ.
        if samples(&one) == samples(&two) {
            assert!(peaks(&one).len() > 10, "{one}");
            assert_eq!(peaks(&one), peaks(&two));
            return;
        }
        assert!(began.elapsed() < PATIENCE);
    }
}

#[test]
fn a_real_prometheus_scrapes_by_tls_as_the_user_that_scrape_config_names() {
    let Some(prometheus) = tool("prometheus") else { return };
    if Command::new("openssl").arg("version").output().is_err() {
        return common::skip("openssl");
    }
    let place = Place::new("");
    let web = format!("server.web_config = \"{}\"\n", place.path("web-config.yml").display());
    fs::write(place.path("web-config.yml"), "").unwrap();
    place.configure(&web);
    let daemon = place.serve();
    fs::write(place.path("password"), "one that is long enough\n").unwrap();
    for command in [&["user", "tls", "--self-signed"][..], &["user", "add", "prometheus"]] {
        let done =
            place.command(command).env("BENCHD_PASSWORD_FILE", place.path("password")).output().unwrap();
        assert!(done.status.success(), "{}", words(&done));
    }
    let printed = place.run(&["scrape-config"]);
    let job = String::from_utf8(printed.stdout).unwrap();
    assert!(job.contains("scheme: https") && job.contains("username: \"prometheus\""), "{job}");
    let here = |name: &str| place.path(name).display().to_string();
    let job = job
        .replace("/etc/prometheus/benchd.crt", &here("benchd.crt"))
        .replace("/etc/prometheus/benchd.password", &here("password"))
        .replace("127.0.0.1:0", &daemon.address())
        .replace("scrape_interval: 15s", "scrape_interval: 1s");
    let prometheus = Prometheus::with_job(&prometheus, &place, &job);
    assert!((prometheus.ask("up{job=\"benchd\"}") - 1.0).abs() < f64::EPSILON);
    assert!(prometheus.ask("sum(benchd_host_cpu_seconds_total)") > 0.0);
    let targets = place.json(&["scrape-config", "--file-sd"]);
    assert!(targets[0]["targets"][0].as_str().unwrap().starts_with("127.0.0.1:"), "{targets}");
}
