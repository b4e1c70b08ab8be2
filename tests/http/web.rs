//! TLS, users and roles of a real daemon, by real handshakes.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use benchd::config::UserRole;
use benchd::http::{Access, ROUTES, basic_header};
use hyper::Request;
use hyper::body::Bytes;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::common;
use crate::common::certificates::Authority;
use crate::common::program::{Daemon, Place, words};
use crate::rig::{Answer, PATIENCE, request, send};

/// The least that bcrypt can cost.
const COST: u32 = 4;

/// A place with a web configuration beside its own.
fn place_with(web: &str, lines: &str) -> Place {
    let place = Place::new("");
    let path = place.path("web-config.yml");
    fs::write(&path, web).unwrap();
    place.configure(&format!("server.web_config = \"{}\"\n{lines}", path.display()));
    place
}

fn section_of_tls((cert, key): &(PathBuf, PathBuf)) -> String {
    format!("tls_server_config:\n  cert_file: {}\n  key_file: {}\n", cert.display(), key.display())
}

/// A user a role, each with the role's name as password, and one without a role.
fn users() -> String {
    let names = UserRole::ALL.iter().map(|role| role.as_str()).chain(["unnamed"]);
    let user = |name: &str| format!("  {name}: {}\n", bcrypt::hash(name, COST).unwrap());
    format!("basic_auth_users:\n{}", names.map(user).collect::<String>())
}

fn roles() -> String {
    UserRole::ALL.iter().map(|role| format!("server.roles.{role} = \"{role}\"\n")).collect()
}

/// A client that trusts one authority.
#[derive(Clone)]
struct Client {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
}

impl Client {
    fn new(daemon: &Daemon, ca: &Path) -> Client {
        Client::with(daemon, ca, None)
    }

    /// One that shows a certificate.
    fn with(daemon: &Daemon, ca: &Path, identity: Option<&(PathBuf, PathBuf)>) -> Client {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(ca).unwrap()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let tls = match identity {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let chain = vec![CertificateDer::from_pem_file(cert).unwrap()];
                builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap()).unwrap()
            }
        };
        Client { address: daemon.address().parse().unwrap(), tls: Arc::new(tls) }
    }

    async fn connect(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream).await
    }

    async fn ask(&self, method: &str, path: &str, login: Option<(&str, &str)>) -> Answer {
        send(self.connect().await.unwrap(), with_login(request(method, path), login)).await
    }

    /// As the user of this name, whose password is the name.
    async fn get(&self, path: &str, user: &str) -> Answer {
        self.ask("GET", path, Some((user, user))).await
    }

    /// Whether the server lets the client say anything at all.
    async fn is_let_in(&self) -> bool {
        let Ok(mut stream) = self.connect().await else { return false };
        let asked =
            stream.write_all(b"GET /-/healthy HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
        let mut told = Vec::new();
        asked.is_ok()
            && tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut told).await.is_ok()
            && !told.is_empty()
    }
}

fn with_login(
    mut request: Request<http_body_util::Full<Bytes>>,
    login: Option<(&str, &str)>,
) -> Request<http_body_util::Full<Bytes>> {
    if let Some((user, password)) = login {
        request.headers_mut().insert("authorization", basic_header(user, password).parse().unwrap());
    }
    request
}

/// Asks by TCP without TLS.
async fn ask_plainly(address: SocketAddr, path: &str, login: Option<(&str, &str)>) -> Answer {
    send(TcpStream::connect(address).await.unwrap(), with_login(request("GET", path), login)).await
}

fn needed(access: Access) -> Option<UserRole> {
    match access {
        Access::Open => None,
        Access::Scrape => Some(UserRole::Scrape),
        Access::Read => Some(UserRole::Read),
        Access::Change => Some(UserRole::Trigger),
        Access::Admin => Some(UserRole::Admin),
    }
}

#[tokio::test]
async fn every_route_is_open_to_the_roles_it_is_for_and_to_no_other() {
    let Some(authority) = Authority::new() else { return };
    let web = section_of_tls(&authority.sign("server", "DNS:localhost")) + &users();
    let place = place_with(&web, &roles());
    let daemon = place.serve();
    let client = Client::new(&daemon, &authority.ca());
    let callers = UserRole::ALL.iter().map(|role| (Some(*role), role.as_str()));
    for (role, user) in callers.chain([(Some(UserRole::Scrape), "unnamed"), (None, "")]) {
        for route in ROUTES {
            let path = route.path.replace("{run}", "00000000").replace("{name}", "quick");
            let login = role.map(|_| (user, user));
            let answer = client.ask(route.method, &path, login).await;
            let what = format!("{} {path} by {user:?}: {answer:?}", route.method);
            match (needed(route.access), role) {
                (None, _) => assert!(![401, 403].contains(&answer.status.as_u16()), "{what}"),
                (Some(_), None) => {
                    assert_eq!(answer.problem(), (401, "authentication"), "{what}");
                    assert!(answer.header("www-authenticate").starts_with("Basic realm="), "{what}");
                }
                (Some(needed), Some(role)) if needed <= role => {
                    assert!(![401, 403].contains(&answer.status.as_u16()), "{what}");
                }
                (Some(needed), Some(_)) => {
                    assert_eq!(answer.problem(), (403, "role"), "{what}");
                    assert!(
                        answer.json["detail"].as_str().unwrap().contains(&format!("needs {needed}")),
                        "{what}"
                    );
                }
            }
        }
    }
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204, "the socket needs no login");
    let metrics = daemon.metrics();
    for reason in ["authentication", "role"] {
        let refused = format!("benchd_http_rejected_requests_total{{reason=\"{reason}\"}} ");
        let count = metrics.lines().find_map(|line| line.strip_prefix(&refused)).unwrap();
        assert!(count.parse::<u32>().unwrap() > 10, "{reason} {count}");
    }
}

#[tokio::test]
async fn who_started_a_run_is_the_user_who_logged_in() {
    let place = place_with(&users(), &roles());
    let daemon = place.serve();
    let address: SocketAddr = daemon.address().parse().unwrap();
    let body = serde_json::json!({ "benchmark": { "workload": "cpu", "time": "100ms", "warm_up": "0s" } });
    let refused = send(
        TcpStream::connect(address).await.unwrap(),
        with_login(crate::rig::post("/api/v1/runs", &body), Some(("trigger", "trigger"))),
    )
    .await;
    assert_eq!(refused.problem(), (403, "role"), "what is not configured needs an administrator");
    let started = send(
        TcpStream::connect(address).await.unwrap(),
        with_login(crate::rig::post("/api/v1/runs", &body), Some(("admin", "admin"))),
    )
    .await;
    let id = started.json["id"].as_str().unwrap().to_owned();
    daemon.follow(&id);
    assert_eq!(daemon.record_to_come(&id)["by"], "admin");
}

#[tokio::test]
async fn without_tls_other_hosts_are_not_asked_for_passwords() {
    // No packet is sent: the system only tells from which address it would be.
    let probe = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let own = probe.connect("192.0.2.1:9").and_then(|()| probe.local_addr()).map(|address| address.ip());
    let Some(own) = own.ok().filter(|address| !address.is_loopback()) else { return common::skip("network") };
    let place = place_with(&users(), &roles());
    let text = fs::read_to_string(place.path("benchd.toml")).unwrap();
    let both = format!("server.listen = [\"127.0.0.1:0\", \"{own}:0\"]");
    fs::write(place.path("benchd.toml"), text.replace("server.listen = \"127.0.0.1:0\"", &both)).unwrap();
    let daemon = place.serve();
    let listening = daemon.get("/api/v1/status").json()["listening"].clone();
    let elsewhere = listening.as_array().unwrap().iter().filter_map(Value::as_str);
    let elsewhere: SocketAddr =
        elsewhere.into_iter().find(|place| place.starts_with(&own.to_string())).unwrap().parse().unwrap();
    for login in [None, Some(("admin", "admin"))] {
        for path in ["/metrics", "/", "/nothing"] {
            let answer = ask_plainly(elsewhere, path, login).await;
            assert_eq!(answer.problem(), (403, "tls-required"), "{path} {login:?}");
            assert!(!answer.headers.contains_key("www-authenticate"));
        }
        assert_eq!(ask_plainly(elsewhere, "/-/healthy", login).await.status.as_u16(), 200);
    }
    let here: SocketAddr = daemon.address().parse().unwrap();
    assert_eq!(ask_plainly(here, "/metrics", None).await.problem(), (401, "authentication"));
    assert_eq!(ask_plainly(here, "/", Some(("read", "read"))).await.status.as_u16(), 200);
}

#[tokio::test]
async fn a_port_with_tls_tells_those_who_come_without_and_still_says_that_it_is_healthy() {
    let Some(authority) = Authority::new() else { return };
    let headers = "http_server_config:\n  headers:\n    X-Frame-Options: deny\nrate_limit:\n  interval: 1h\n  burst: 3\n";
    let web = section_of_tls(&authority.sign("server", "DNS:localhost")) + headers;
    let place = place_with(&web, "");
    let daemon = place.serve();
    let client = Client::new(&daemon, &authority.ca());
    let plain = ask_plainly(client.address, "/metrics", None).await;
    assert_eq!(plain.problem(), (403, "tls-required"));
    assert!(plain.json["do"].as_str().unwrap().contains("https://"), "{plain:?}");
    for path in ["/-/healthy", "/-/ready"] {
        assert_eq!(ask_plainly(client.address, path, None).await.status.as_u16(), 200, "{path}");
    }
    let there = client.ask("GET", "/metrics", None).await;
    assert_eq!((there.status.as_u16(), there.header("x-frame-options")), (200, "deny"));
    assert_eq!(client.ask("GET", "/", None).await.status.as_u16(), 200, "no users: this host reads");
    let limited = client.ask("GET", "/metrics", None).await;
    assert_eq!(
        (limited.problem(), limited.header("retry-after")),
        ((429, "limit"), "1"),
        "the fourth of three"
    );
    assert_eq!(client.ask("GET", "/-/healthy", None).await.status.as_u16(), 200);
    assert_eq!(daemon.get("/metrics").status, 200, "the socket has no such limit");
}

#[tokio::test]
async fn a_wrong_password_is_slow_and_limited_and_delays_nobody_who_is_known() {
    let place = place_with(&users(), &roles());
    let daemon = place.serve();
    let address: SocketAddr = daemon.address().parse().unwrap();
    let scrape = async || ask_plainly(address, "/metrics", Some(("scrape", "scrape"))).await.status.as_u16();
    assert_eq!(scrape().await, 200);
    for user in ["scrape", "nobody"] {
        let began = Instant::now();
        let wrong =
            tokio::spawn(async move { ask_plainly(address, "/metrics", Some((user, "wrong"))).await });
        let mut meanwhile = 0;
        while !wrong.is_finished() {
            assert_eq!(scrape().await, 200);
            meanwhile += 1;
        }
        assert_eq!(wrong.await.unwrap().problem(), (401, "authentication"));
        assert!(
            began.elapsed() >= Duration::from_millis(990),
            "{user} was answered after {:?}",
            began.elapsed()
        );
        assert!(meanwhile > 1, "scrapes waited for the wrong password of {user}");
    }
    let mut limited = None;
    for _ in 0..20 {
        let tries = [(); 4].map(|()| ask_plainly(address, "/metrics", Some(("admin", "wrong"))));
        let [a, b, c, d] = tries;
        let answers = tokio::join!(a, b, c, d);
        limited = [answers.0, answers.1, answers.2, answers.3]
            .into_iter()
            .find(|answer| answer.status.as_u16() == 429);
        if limited.is_some() {
            break;
        }
    }
    let limited = limited.expect("an address can try passwords for ever");
    assert_eq!(limited.problem(), (429, "limit"));
    assert!(limited.header("retry-after").parse::<u32>().unwrap() >= 1, "{limited:?}");
    assert_eq!(scrape().await, 200, "whoever is known is let in all the same");
}

#[tokio::test]
async fn a_changed_file_is_in_force_and_a_broken_one_leaves_the_one_before() {
    let Some(authority) = Authority::new() else { return };
    let (cert, key) = authority.sign("first", "DNS:localhost");
    let place = place_with("", "");
    let (own_cert, own_key) = (place.path("server.crt"), place.path("server.key"));
    fs::copy(&cert, &own_cert).unwrap();
    fs::copy(&key, &own_key).unwrap();
    // Paths are relative to the file.
    let web = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n".to_owned() + &users();
    fs::write(place.path("web-config.yml"), &web).unwrap();
    let mut daemon = place.serve();
    let client = Client::new(&daemon, &authority.ca());
    let served = async || {
        let stream = client.connect().await.unwrap();
        let (_, session) = stream.get_ref();
        session.peer_certificates().unwrap()[0].to_vec()
    };
    let expiry = || daemon.metric("benchd_tls_certificate_expiry_timestamp_seconds").unwrap();
    let (first, first_expiry) = (served().await, expiry());
    let mut kept = client.connect().await.unwrap();

    // A certificate and a key that do not belong together: the moment between the two steps of a rotation.
    let (cert, key) = authority.sign_for("second", "DNS:localhost", "30");
    fs::copy(&cert, &own_cert).unwrap();
    let line = daemon.wait_for("web configuration not changed").unwrap();
    assert!(line.contains("the one before stays in force"), "{line}");
    daemon.wait_for("this is not the key of the certificate").unwrap();
    assert_eq!(daemon.metric("benchd_config_last_reload_successful"), Some(0.0));
    assert!(daemon.get("/api/v1/status").json()["alarm"].as_str().unwrap().contains("reload was refused"));
    assert_eq!(served().await, first);
    assert_eq!(client.get("/metrics", "scrape").await.status.as_u16(), 200);

    fs::copy(&key, &own_key).unwrap();
    daemon.wait_for("web configuration read again and in force").unwrap();
    assert_ne!(served().await, first);
    assert!(daemon.metric("benchd_tls_certificate_expiry_timestamp_seconds").unwrap() > first_expiry);
    assert_eq!(daemon.metric("benchd_config_last_reload_successful"), Some(1.0));
    let mut told = Vec::new();
    tokio::time::timeout(PATIENCE, tokio::io::AsyncReadExt::read_to_end(&mut kept, &mut told))
        .await
        .expect("a connection with the certificate of before is closed")
        .unwrap();

    // A user is gone, and a hash is none: nothing changes before the file is good again.
    fs::write(place.path("web-config.yml"), web.replace("  scrape: $", "  scrape: ")).unwrap();
    let line = daemon.wait_for("is not a bcrypt hash").unwrap();
    assert!(line.contains("web-config.yml:5:11"), "{line}");
    assert_eq!(client.get("/metrics", "scrape").await.status.as_u16(), 200);
    let without: String =
        web.lines().filter(|line| !line.contains("  scrape:")).map(|line| format!("{line}\n")).collect();
    fs::write(place.path("web-config.yml"), without).unwrap();
    daemon.wait_for("web configuration read again and in force").unwrap();
    assert_eq!(client.get("/metrics", "scrape").await.problem(), (401, "authentication"));
    assert_eq!(client.get("/metrics", "unnamed").await.status.as_u16(), 200);
}

#[tokio::test]
async fn an_expired_certificate_is_served_and_its_end_is_a_metric() {
    // Certificate and key in one file, valid in 2020.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/expired.pem");
    let place = place_with(&section_of_tls(&(file.clone(), file.clone())), "");
    let daemon = place.serve();
    let expired: jiff::Timestamp = "2021-01-01T00:00:00Z".parse().unwrap();
    let series = "benchd_tls_certificate_expiry_timestamp_seconds";
    assert_eq!(daemon.metric(series), Some(expired.as_second() as f64));
    let refused = Client::new(&daemon, &file).connect().await.unwrap_err().to_string();
    assert!(refused.contains("expired"), "the client is who says no: {refused}");
}

#[tokio::test]
async fn certificates_of_clients_stand_for_users() {
    let (Some(authority), Some(stranger)) = (Authority::new(), Authority::new()) else { return };
    let server = section_of_tls(&authority.sign("server", "DNS:localhost"));
    let ca = format!("  client_ca_file: {}\n", authority.ca().display());
    let web = format!("{server}{ca}  client_auth_type: VerifyClientCertIfGiven\n");
    let place = place_with(&web, "server.roles.\"san:deploy@example.com\" = \"trigger\"\n");
    let daemon = place.serve();
    let deploy = authority.sign("deploy", "email:deploy@example.com,DNS:ci.example.com");
    let prometheus = authority.sign("prometheus", "DNS:prom.example.com");
    let client = |identity| Client::with(&daemon, &authority.ca(), identity);
    assert_eq!(client(None).ask("GET", "/metrics", None).await.problem(), (401, "authentication"));
    let scraper = client(Some(&prometheus));
    assert_eq!(scraper.ask("GET", "/metrics", None).await.status.as_u16(), 200);
    let refused = scraper.ask("GET", "/", None).await;
    assert_eq!(refused.problem(), (403, "role"));
    assert!(
        refused.json["do"].as_str().unwrap().contains("\"san:prom.example.com\" = \"read\""),
        "{refused:?}"
    );
    let deployer = client(Some(&deploy));
    assert_eq!(
        deployer.ask("POST", "/api/v1/runs", None).await.status.as_u16(),
        415,
        "let in, and not understood"
    );
    assert_eq!(deployer.ask("POST", "/-/reload", None).await.problem(), (403, "role"));
    let seen = daemon.get("/api/v1/users").json();
    assert_eq!(seen["users"][0]["user"], "san:deploy@example.com");
    assert_eq!(seen["users"][0]["address"], "127.0.0.1", "{seen}");
    let forged = stranger.sign("deploy", "email:deploy@example.com");
    assert!(!client(Some(&forged)).is_let_in().await);

    // With users of passwords beside, a certificate that no role names is no login.
    fs::write(place.path("web-config.yml"), web.clone() + &users()).unwrap();
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert_eq!(scraper.ask("GET", "/metrics", None).await.problem(), (401, "authentication"));
    assert_eq!(scraper.get("/metrics", "unnamed").await.status.as_u16(), 200);
    assert_eq!(deployer.ask("GET", "/metrics", None).await.status.as_u16(), 200);

    let strict = format!(
        "{server}{ca}  client_auth_type: RequireAndVerifyClientCert\n  client_allowed_sans: [ci.example.com]\n"
    );
    fs::write(place.path("web-config.yml"), strict).unwrap();
    assert_eq!(daemon.ask("POST", "/-/reload", "").status, 204);
    assert!(client(Some(&deploy)).is_let_in().await);
    assert!(!client(Some(&prometheus)).is_let_in().await, "its names are not among those allowed");
    assert!(!client(None).is_let_in().await, "a certificate is required");
}

#[tokio::test]
async fn a_thousand_connections_that_never_finish_the_handshake_keep_nobody_out() {
    let Some(authority) = Authority::new() else { return };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(4096.min(hard)), hard).unwrap();
    let web = section_of_tls(&authority.sign("server", "DNS:localhost")) + &users();
    let place = place_with(&web, &roles());
    let daemon = place.serve();
    let client = Client::new(&daemon, &authority.ca());
    assert_eq!(client.get("/metrics", "scrape").await.status.as_u16(), 200);
    let before = daemon.metric("process_resident_memory_bytes").unwrap();
    let mut silent = Vec::new();
    for number in 0..1000 {
        let mut stream = TcpStream::connect(client.address).await.unwrap();
        if number % 2 == 0 {
            // The beginning of a handshake, whose rest never comes.
            stream.write_all(&[0x16, 3, 1, 2, 0, 1]).await.unwrap();
        }
        silent.push(stream);
    }
    for _ in 0..3 {
        assert_eq!(client.get("/metrics", "scrape").await.status.as_u16(), 200);
    }
    assert_eq!(daemon.get("/metrics").status, 200);
    let grown = daemon.metric("process_resident_memory_bytes").unwrap() - before;
    assert!(grown < f64::from(16 << 20), "{grown} bytes more");
    drop(silent);
}

#[test]
fn a_web_configuration_with_problems_is_shown_by_check_and_starts_nothing() {
    let place = place_with(
        "tls_server_config:\n  cert_fil: x\nbasic_auth_users:\n  prom: hunter2\n",
        "server.roles.ghost = \"read\"\n",
    );
    let output = place.run(&["check"]);
    let said = words(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for there in [
        "web-config.yml:2:3: unknown key `cert_fil`",
        "did you mean `cert_file`?",
        "web-config.yml:4:9: what stands for the password",
    ] {
        assert!(said.contains(there), "{there} in\n{said}");
    }
    assert!(!said.contains("hunter2"), "{said}");
    let ended = place.try_serve(&["serve"]).map(|_| ()).unwrap_err();
    assert!(ended.contains("cert_fil") && !ended.contains("hunter2"), "{ended}");
    fs::write(
        place.path("web-config.yml"),
        "tls_server_config:\n  cert_file: none.crt\n  key_file: none.key\n",
    )
    .unwrap();
    let said = words(&place.run(&["check"]));
    assert!(said.contains("web-config.yml:2:14: ") && said.contains("none.crt cannot be read"), "{said}");
    fs::write(place.path("web-config.yml"), users()).unwrap();
    let said = words(&place.run(&["check"]));
    assert!(said.contains("there is no user `ghost` in the web configuration"), "{said}");
}

/// A command with a password in a file, as the user would give it.
fn with_password(place: &Place, password: &str, arguments: &[&str]) -> std::process::Output {
    let file = place.path("password");
    fs::write(&file, format!("{password}\n")).unwrap();
    let mut command = place.command(arguments);
    command.env("BENCHD_PASSWORD_FILE", file).env("HOME", place.path("")).env_remove("NETRC");
    command.output().unwrap()
}

#[tokio::test]
async fn users_are_added_listed_and_removed_while_the_daemon_runs() {
    let place = place_with("# mine\n", "");
    let daemon = place.serve();
    let address: SocketAddr = daemon.address().parse().unwrap();
    assert_eq!(ask_plainly(address, "/", None).await.status.as_u16(), 200);
    let added = words(&with_password(&place, "a good one", &["user", "add", "prometheus"]));
    assert!(added.contains("In force now"), "{added}");
    assert_eq!(ask_plainly(address, "/metrics", None).await.problem(), (401, "authentication"));
    let good = Some(("prometheus", "a good one"));
    assert_eq!(ask_plainly(address, "/metrics", good).await.status.as_u16(), 200);
    assert_eq!(ask_plainly(address, "/", good).await.problem(), (403, "role"));
    with_password(&place, "another", &["user", "add", "prometheus", "--role", "read"]);
    assert_eq!(ask_plainly(address, "/", Some(("prometheus", "another"))).await.status.as_u16(), 200);
    let listed = words(&place.run(&["user", "list"]));
    let row = listed.lines().find(|line| line.starts_with("prometheus")).unwrap();
    assert!(row.contains("read") && row.contains("ago, 127.0.0.1"), "{listed}");
    let web = fs::read_to_string(place.path("web-config.yml")).unwrap();
    assert!(
        web.starts_with("# mine\nbasic_auth_users:\n  prometheus: $2") && !web.contains("another"),
        "{web}"
    );
    assert!(words(&place.run(&["user", "remove", "prometheus"])).contains("In force now"));
    assert_eq!(ask_plainly(address, "/", None).await.status.as_u16(), 200, "no users: this host reads");
    assert_eq!(place.run(&["user", "remove", "prometheus"]).status.code(), Some(2));
    assert_eq!(with_password(&place, "", &["user", "add", "x"]).status.code(), Some(2));
    fs::write(place.path("web-config.yml"), "basic_auth_users: {a: 1}\n").unwrap();
    assert_eq!(
        with_password(&place, "x", &["user", "add", "x"]).status.code(),
        Some(2),
        "a broken file is left alone"
    );
    drop(daemon);
}

#[test]
fn another_host_is_asked_by_its_url_with_the_rights_of_a_user() {
    if std::process::Command::new("openssl").arg("version").output().is_err() {
        return common::skip("openssl");
    }
    let place = place_with("", "");
    let daemon = place.serve();
    let made = words(&place.run(&["user", "tls", "--self-signed", "--name", "db1.example.com"]));
    assert!(made.contains("db1.example.com") && made.contains("In force now"), "{made}");
    assert!(
        with_password(&place, "secret of alice", &["user", "add", "alice", "--role", "read"])
            .status
            .success()
    );
    assert!(
        with_password(&place, "secret of eve", &["user", "add", "eve", "--role", "scrape"]).status.success()
    );
    let url = format!("https://localhost:{}", daemon.address().rsplit(':').next().unwrap());
    let ca = place.path("benchd.crt");
    let ask = |command: &[&str], user: &str, password: &str| {
        let common = ["--url", &url, "--ca", ca.to_str().unwrap(), "--user", user];
        with_password(&place, password, &[&common, command].concat())
    };
    let status = ask(&["status"], "alice", "secret of alice");
    assert!(status.status.success(), "{}", words(&status));
    assert!(words(&status).contains("127.0.0.1:"), "{}", words(&status));
    let listed = ask(&["--output", "json", "list"], "alice", "secret of alice");
    assert!(serde_json::from_slice::<Value>(&listed.stdout).unwrap()["runs"].is_array());
    let refused = ask(&["run", "quick", "--detach"], "alice", "secret of alice");
    assert_eq!(refused.status.code(), Some(8), "{}", words(&refused));
    assert!(words(&refused).contains("needs trigger"), "{}", words(&refused));
    assert_eq!(ask(&["status"], "eve", "secret of eve").status.code(), Some(8));
    assert_eq!(ask(&["status"], "alice", "wrong").status.code(), Some(8));
    let netrc = place.path("netrc");
    fs::write(
        &netrc,
        "machine localhost login alice password secret of alice\n".replace("secret of alice", "x"),
    )
    .unwrap();
    fs::set_permissions(&netrc, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let mut open = place.command(&["--url", &url, "--ca", ca.to_str().unwrap(), "status"]);
    let open = open.env("NETRC", &netrc).env_remove("BENCHD_PASSWORD_FILE").output().unwrap();
    assert!(words(&open).contains("chmod 600"), "{}", words(&open));
    let mut untrusted = place.command(&["--url", &url, "status"]);
    let untrusted = untrusted.env("HOME", place.path("")).env_remove("SSL_CERT_FILE").output().unwrap();
    assert_eq!(
        untrusted.status.code(),
        Some(if words(&untrusted).contains("no list of authorities") { 2 } else { 7 }),
        "{}",
        words(&untrusted)
    );
    let plain = place.run(&["--url", "http://192.0.2.1:10104", "status"]);
    assert_eq!(plain.status.code(), Some(2), "{}", words(&plain));
    // Made anew, the certificate of the same names is in force at once.
    let before = fs::read(&ca).unwrap();
    assert!(place.run(&["user", "tls", "--self-signed"]).status.success());
    assert_ne!(fs::read(&ca).unwrap(), before);
    assert!(ask(&["status"], "alice", "secret of alice").status.success());
    let (status, _) = daemon.end(Signal::SIGTERM);
    assert!(status.success());
}
