//! Logins that the real program makes from its configuration.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::common::certificates::Authority;
use crate::common::program::{Place, words};
use crate::common::{Flavour, Server};

/// A suite that loads a server which is reached as these keys say.
fn suite(keys: &str) -> String {
    format!(
        r#"
[target.main]
kind = "server"
role = "standalone"
writes = true
{keys}

[suite.db]
profile = "lab"
[[suite.db.benchmark]]
workload = "oltp_read_write"
target = "main"
table_size = 100
warm_up = "0s"
time = "300ms"
"#
    )
}

/// A server with an account that gets in by TLS only.
fn server(flavour: Flavour, authority: &Authority) -> Server {
    let options = authority.server("IP:127.0.0.1");
    let server = Server::start(flavour, &options.iter().map(String::as_str).collect::<Vec<_>>());
    server.setup(&[
        "CREATE USER 'bench'@'127.0.0.1' IDENTIFIED BY 'correct # horse' REQUIRE SSL",
        r"GRANT ALL ON `benchd\_scratch\_%`.* TO 'bench'@'127.0.0.1'",
    ]);
    if flavour == Flavour::MySql {
        server.setup(&["GRANT SESSION_VARIABLES_ADMIN ON *.* TO 'bench'@'127.0.0.1'"]);
    } else {
        server.setup(&["GRANT BINLOG ADMIN ON *.* TO 'bench'@'127.0.0.1'"]);
    }
    server
}

/// Writes a file that only this account can read.
fn secret(place: &Place, name: &str, text: &str) -> String {
    fs::write(place.path(name), text).unwrap();
    fs::set_permissions(place.path(name), Permissions::from_mode(0o600)).unwrap();
    place.path(name).display().to_string()
}

/// Runs the suite in a process to which systemd gave these credentials.
fn run(place: &Place, credentials: &str) -> Value {
    let mut command = place.command(&["run", "db", "--output", "json"]);
    let output = command.env("CREDENTIALS_DIRECTORY", place.path(credentials)).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", words(&output)))
}

#[test]
fn a_suite_loads_a_server_by_tls_with_a_credential_as_its_password() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = server(flavour, &authority);
        let place = Place::new("");
        fs::create_dir(place.path("credentials")).unwrap();
        secret(&place, "credentials/main-password", "correct # horse\n");
        let keys = format!("host = \"127.0.0.1\"\nport = {}\nuser = \"bench\"\n", server.port);
        let verified = format!("tls = \"verify_identity\"\ntls_ca = \"{}\"", authority.ca().display());
        for tls in ["tls = \"required\"", &verified, ""] {
            place.configure(&suite(&format!("{keys}{tls}")));
            let run = run(&place, "credentials");
            assert_eq!(run["outcome"], "finished", "{tls}: {run:#}");
        }
        place.configure(&suite(&format!("{keys}tls = \"disabled\"")));
        let run = run(&place, "credentials");
        let message = run["failure"]["message"].as_str().unwrap();
        assert!(run["outcome"] == "failed" && message.contains("Access denied"), "{run:#}");
    }
}

#[test]
fn a_suite_loads_a_server_that_a_defaults_file_names() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = server(flavour, &authority);
        let place = Place::new("");
        let (port, ca) = (server.port, authority.ca());
        let ca = ca.display();
        let options = format!(
            "[mysqld]\nuser = mysql\n[client]\nuser = \"bench\" # ours\npassword = 'correct # horse'\n\
             host = 127.0.0.1\nport = {port}\nssl_ca = {ca}\n"
        );
        let file = secret(&place, "my.cnf", &options);
        place.configure(&suite(&format!("defaults_file = \"{file}\"")));
        let finished = run(&place, "none");
        assert_eq!(finished["outcome"], "finished", "{finished:#}");
        place.configure(&suite(&format!("defaults_file = \"{file}\"\nuser = \"nobody\"")));
        let denied = run(&place, "none");
        let message = denied["failure"]["message"].as_str().unwrap();
        assert!(message.contains("as nobody: Access denied"), "{denied:#}");
        fs::set_permissions(place.path("my.cnf"), Permissions::from_mode(0o604)).unwrap();
        let open = run(&place, "none").to_string();
        assert!(open.contains("may be used by others (mode 0604)") && !open.contains("horse"), "{open}");
    }
}
