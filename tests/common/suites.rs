//! Pieces of configurations that several tests run.

use super::Server;

/// A suite of one short case that needs nothing.
pub(crate) const SHORT: &str = r#"
[suite.short]
profile = "lab"
[[suite.short.benchmark]]
workload = "cpu"
warm_up = "0s"
time = "300ms"
"#;

/// A server that exists as the target `main`, which may be written to.
pub(crate) fn target_main(server: &Server) -> String {
    main_by(&format!("socket = \"{}\"", server.socket().display()))
}

/// The same, reached as these lines say.
pub(crate) fn main_by(lines: &str) -> String {
    format!(
        r#"
[target.main]
kind = "server"
user = "root"
role = "standalone"
writes = true
accept_excess_privileges = true
{lines}
"#
    )
}

/// One more benchmark of a suite, without a warm-up; `lines` are its other keys.
pub(crate) fn benchmark(suite: &str, workload: &str, time: &str, lines: &str) -> String {
    format!(
        "[[suite.{suite}.benchmark]]\nworkload = \"{workload}\"\nwarm_up = \"0s\"\ntime = \"{time}\"\n{lines}\n"
    )
}
