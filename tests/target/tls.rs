use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use benchd::record::TlsMode;
use benchd::target::{Access, Answer, Bind, Client, ErrorClass, Secret, SqlError, Tls};
use benchd::units::Span;

use crate::common::certificates::Authority;
use crate::common::{Flavour, Server};

const THIS_HOST: &str = "DNS:localhost,IP:127.0.0.1";

fn start(flavour: Flavour, options: &[String]) -> Server {
    Server::start(flavour, &options.iter().map(String::as_str).collect::<Vec<_>>())
}

fn with_tls(access: &Access, mode: TlsMode, ca: Option<&Path>) -> Access {
    Access { tls: Tls { mode, ca: ca.map(Path::to_owned), ..Tls::default() }, ..access.clone() }
}

fn one(client: &mut Client, sql: &str) -> String {
    client.rows(sql).unwrap().remove(0).pop().flatten().unwrap_or_default()
}

/// The cipher of a new connection; empty without TLS.
fn cipher(access: &Access) -> String {
    let mut client = Client::connect(access).unwrap_or_else(|error| panic!("{access:?}: {error}"));
    let cipher = one(&mut client, "SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    client.close();
    cipher
}

fn refused(access: &Access) -> SqlError {
    Client::connect(access).map(drop).unwrap_err()
}

#[track_caller]
fn assert_refused(access: &Access, sentence: &str) {
    let error = refused(access);
    assert!(error.message.contains(sentence), "{error}");
    assert!(error.message.starts_with(&format!("not connected to {}", access.address())), "{error}");
}

#[test]
fn each_mode_encrypts_and_verifies_what_it_says() {
    let (Some(authority), Some(other)) = (Authority::new(), Authority::new()) else { return };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server(THIS_HOST));
        server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
        let access = server.tcp("tls", "x");
        let (ca, wrong) = (authority.ca(), other.ca());
        assert_eq!(cipher(&with_tls(&access, TlsMode::Disabled, None)), "");
        for mode in [TlsMode::Preferred, TlsMode::Required] {
            assert_ne!(cipher(&with_tls(&access, mode, None)), "", "{mode}");
        }
        for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
            assert_ne!(cipher(&with_tls(&access, mode, Some(&ca))), "", "{mode}");
            let sentence = "was not signed by an authority in tls_ca; correct `tls_ca`";
            assert_refused(&with_tls(&access, mode, Some(&wrong)), sentence);
            assert_refused(&with_tls(&access, mode, None), "needs tls_ca, the file with");
        }
    }
}

#[test]
fn a_certificate_of_another_host_is_refused_where_the_identity_counts() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server("DNS:elsewhere.example"));
        server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
        let access = server.tcp("tls", "x");
        let ca = authority.ca();
        assert_ne!(cipher(&with_tls(&access, TlsMode::VerifyCa, Some(&ca))), "");
        let by_identity = with_tls(&access, TlsMode::VerifyIdentity, Some(&ca));
        assert_refused(&by_identity, "the server's certificate is for other hosts than `127.0.0.1` (");
        assert_eq!(refused(&by_identity).class, ErrorClass::Connection);
    }
}

#[test]
fn the_certificates_a_mysql_server_makes_for_itself_can_be_verified_by_their_authority() {
    if Flavour::MySql.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MySql, &[]);
    server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
    let access = server.tcp("tls", "x");
    let ca = server.data().join("ca.pem");
    assert_ne!(cipher(&with_tls(&access, TlsMode::VerifyCa, Some(&ca))), "");
    let by_identity = with_tls(&access, TlsMode::VerifyIdentity, Some(&ca));
    assert_refused(&by_identity, "not valid for any names");
}

#[test]
fn a_server_without_tls_will_do_where_it_is_merely_preferred() {
    for flavour in Flavour::present() {
        let without = match flavour {
            Flavour::MariaDb => "--skip-ssl",
            Flavour::MySql => "--tls-version=",
        };
        let server = Server::start(flavour, &[without]);
        server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
        let access = server.tcp("tls", "x");
        assert_eq!(cipher(&access), "");
        let sentence = "the server offers no TLS, tls = \"required\"; set up TLS on the server";
        assert_refused(&with_tls(&access, TlsMode::Required, None), sentence);
    }
}

#[test]
fn both_versions_of_tls_are_spoken() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        for version in ["TLSv1.2", "TLSv1.3"] {
            let mut options = authority.server(THIS_HOST);
            options.push(format!("--tls-version={version}"));
            let server = start(flavour, &options);
            server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
            let mut client = Client::connect(&server.tcp("tls", "x")).unwrap();
            assert_eq!(one(&mut client, "SHOW SESSION STATUS LIKE 'Ssl_version'"), version);
        }
    }
}

#[test]
fn an_account_that_requires_tls_or_a_certificate_gets_it() {
    let (Some(authority), Some(other)) = (Authority::new(), Authority::new()) else { return };
    let client = |(cert, key)| Tls { mode: TlsMode::Required, ca: None, cert: Some(cert), key: Some(key) };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server(THIS_HOST));
        server.setup(&[
            "CREATE USER 'ssl'@'%' IDENTIFIED BY 'x' REQUIRE SSL",
            "CREATE USER 'x509'@'%' IDENTIFIED BY 'x' REQUIRE X509",
        ]);
        let (ssl, x509) = (server.tcp("ssl", "x"), server.tcp("x509", "x"));
        assert_eq!(refused(&with_tls(&ssl, TlsMode::Disabled, None)).class, ErrorClass::Denied);
        assert_ne!(cipher(&ssl), "");
        assert_eq!(refused(&x509).class, ErrorClass::Denied);
        assert_ne!(
            cipher(&Access { tls: client(authority.sign("client", "DNS:client")), ..x509.clone() }),
            ""
        );
        let foreign = Access { tls: client(other.sign("client", "DNS:client")), ..x509 };
        assert_refused(&foreign, "the server refused TLS (");
    }
}

#[test]
fn a_refusal_without_tls_says_that_tls_may_be_what_is_missing() {
    for flavour in Flavour::present() {
        let Some(authority) = Authority::new() else { return };
        let mut options = authority.server(THIS_HOST);
        options.push("--require-secure-transport=ON".to_owned());
        let server = start(flavour, &options);
        server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
        let access = server.tcp("tls", "x");
        assert_ne!(cipher(&access), "");
        let error = refused(&with_tls(&access, TlsMode::Disabled, None));
        assert_eq!(error.class, ErrorClass::Denied, "{error:?}");
        assert!(error.message.contains("set tls = \"required\""), "{error:?}");
    }
}

#[test]
fn every_kind_of_login_works_under_tls() {
    let mysql: [(&str, &str); 2] = [
        ("caching_sha2_password", "IDENTIFIED WITH caching_sha2_password BY 'correct horse'"),
        ("sha256_password", "IDENTIFIED WITH sha256_password BY 'correct horse'"),
    ];
    let mariadb =
        [("mysql_native_password", "IDENTIFIED VIA mysql_native_password USING PASSWORD('correct horse')")];
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server(THIS_HOST));
        let accounts = if flavour == Flavour::MySql { &mysql[..] } else { &mariadb[..] };
        for (plugin, identified) in accounts {
            server.setup(&[&format!("CREATE USER '{plugin}'@'%' {identified}")]);
            let access = with_tls(&server.tcp(plugin, "correct horse"), TlsMode::Required, None);
            // The second login is answered from what the server keeps of the first.
            for _ in 0..2 {
                assert_ne!(cipher(&access), "", "{plugin}");
            }
            let error = refused(&Access { password: Secret::new("wrong"), ..access });
            assert_eq!((error.class, error.code), (ErrorClass::Denied, Some(1045)), "{plugin}");
        }
    }
}

#[test]
fn ed25519_and_parsec_log_in_with_and_without_tls() {
    let Some(authority) = Authority::new() else { return };
    let options = authority.server(THIS_HOST);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let Some(server) = Server::with_plugins(&options) else { return };
    for plugin in ["ed25519", "parsec"] {
        server.setup(&[
            &format!("INSTALL SONAME 'auth_{plugin}'"),
            &format!("CREATE USER '{plugin}'@'%' IDENTIFIED VIA {plugin} USING PASSWORD('correct horse')"),
        ]);
        for mode in [TlsMode::Disabled, TlsMode::Required] {
            let access = with_tls(&server.tcp(plugin, "correct horse"), mode, None);
            assert_eq!(cipher(&access).is_empty(), mode == TlsMode::Disabled, "{plugin} {mode}");
        }
    }
}

#[test]
fn statements_of_both_protocols_and_large_results_pass_under_tls() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server(THIS_HOST));
        server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
        let access = with_tls(&server.tcp("tls", "x"), TlsMode::Required, None);
        let mut client = Client::connect(&access).unwrap();
        let statement = client.prepare("SELECT ?, ?").unwrap();
        let binds = [Bind::Integer(7), Bind::Text("seven")];
        assert_eq!(client.execute(&statement, &binds).unwrap(), Answer::Rows(1));
        let long = one(&mut client, "SELECT REPEAT('x', 10000000)");
        assert_eq!(long.len(), 10_000_000);
        let query = format!("SELECT LENGTH('{long}')");
        assert_eq!(one(&mut client, &query), "10000000");
        assert_eq!(client.query("SELECT nonsense").unwrap_err().code, Some(1054));
    }
}

#[test]
fn a_statement_that_takes_too_long_is_killed_under_tls_too() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server(THIS_HOST));
        server.setup(&["CREATE USER 'tls'@'%' IDENTIFIED BY 'x'"]);
        let access = with_tls(&server.tcp("tls", "x"), TlsMode::Required, None);
        let statement_timeout = Span::from_millis(100);
        let mut client = Client::connect(&Access { statement_timeout, ..access }).unwrap();
        let error = client.query("SELECT SLEEP(60)").unwrap_err();
        assert_eq!(error.class, ErrorClass::Timeout);
        assert!(error.message.ends_with("its connection was killed"), "{error}");
    }
}

#[test]
fn tls_is_never_used_over_a_socket() {
    let Some(authority) = Authority::new() else { return };
    for flavour in Flavour::present() {
        let server = start(flavour, &authority.server(THIS_HOST));
        assert_eq!(cipher(&with_tls(&server.root(), TlsMode::Required, None)), "");
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_their_key() {
    let Some(authority) = Authority::new() else { return };
    let (cert, key) = authority.sign("one", "DNS:one");
    let (_, other) = authority.sign("other", "DNS:other");
    let garbage = cert.with_file_name("garbage.pem");
    fs::write(&garbage, "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").unwrap();
    fs::write(cert.with_file_name("open.key"), fs::read(&key).unwrap()).unwrap();
    let open = cert.with_file_name("open.key");
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    let empty = cert.with_file_name("empty.key");
    fs::write(&empty, "").unwrap();
    fs::set_permissions(&empty, Permissions::from_mode(0o600)).unwrap();
    let missing = cert.with_file_name("missing.pem");
    let tls = |ca: Option<&Path>, cert: Option<&Path>, key: Option<&Path>| Tls {
        mode: if ca.is_some() { TlsMode::VerifyCa } else { TlsMode::Required },
        ca: ca.map(Path::to_owned),
        cert: cert.map(Path::to_owned),
        key: key.map(Path::to_owned),
    };
    for (tls, problem) in [
        (tls(Some(&missing), None, None), "missing.pem cannot be opened; it must exist"),
        (tls(Some(&garbage), None, None), "garbage.pem is not a PEM file"),
        (tls(Some(&key), None, None), "one.key holds no certificate"),
        (tls(None, Some(&cert), None), "tls_cert needs tls_key"),
        (tls(None, None, Some(&key)), "tls_key needs tls_cert"),
        (tls(None, Some(&cert), Some(&empty)), "empty.key holds no private key"),
        (tls(None, Some(&cert), Some(&open)), "open.key may be used by others (mode 0644); chmod 600 it"),
        (tls(None, Some(&cert), Some(&other)), "other.key is not the key of the certificate in tls_cert"),
    ] {
        assert_refused(&Access { tls, ..Access::default() }, problem);
    }
}
