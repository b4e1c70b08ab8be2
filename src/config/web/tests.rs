//! Web configurations: what is read, what is refused and how that is shown.

use std::path::Path;

use proptest::prelude::*;

use super::*;

const HASH: &str = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG";

fn load_text(text: &str) -> Result<LoadedWeb, Vec<Problem>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web-config.yml");
    std::fs::write(&path, text).unwrap();
    load_web(&path)
}

fn read_text_of(text: &str) -> WebConfig {
    load_text(text).map(|loaded| loaded.config).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// What is shown of the problems of a text that has some.
fn problems(text: &str) -> Vec<String> {
    load_text(text).err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// The first line of the only problem, after its file, and the hint.
fn only_problem(text: &str) -> String {
    let problems = problems(text);
    assert_eq!(problems.len(), 1, "{problems:#?}");
    let lines: Vec<&str> = problems[0].lines().collect();
    let hint = lines.last().unwrap().trim_start_matches([' ', '|', '^']);
    format!("{} ({hint})", lines[0].trim_start_matches("web-config.yml:"))
}

/// A section with what TLS needs, and more lines.
fn tls(lines: &str) -> String {
    format!("tls_server_config:\n  cert_file: a.crt\n  key_file: /k/a.key\n{lines}")
}

#[test]
fn every_key_of_the_format_is_read() {
    let text = format!(
        "tls_server_config:
  cert_file: server.crt
  key_file: /etc/keys/server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [prom.example.com, 192.0.2.7]
  min_version: TLS12
  max_version: TLS13
  cipher_suites:
    - TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    - TLS_AES_128_GCM_SHA256
  prefer_server_cipher_suites: false
  curve_preferences: [X25519, CurveP256]
http_server_config:
  http2: true
  headers:
    Content-Security-Policy: \"default-src 'self'\"
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection: 0
    Strict-Transport-Security: max-age=31536000
basic_auth_users:
  prom: {HASH}
  'a.b c': {HASH}
rate_limit:
  interval: 1s
  burst: 20
"
    );
    let loaded = load_text(&text).ok().unwrap();
    let config = &loaded.config;
    let tls = config.tls.as_ref().unwrap();
    let Pem::File(cert) = &tls.cert else { unreachable!("{:?}", tls.cert) };
    assert!(cert.is_absolute() && cert.ends_with("server.crt"), "relative to the file: {cert:?}");
    assert_eq!(tls.key, Pem::File("/etc/keys/server.key".into()));
    assert_eq!(tls.client_auth, ClientAuth::RequireAndVerifyClientCert);
    assert_eq!(tls.client_allowed_sans, ["prom.example.com", "192.0.2.7"]);
    assert_eq!(tls.cipher_suites, [CipherSuite::RsaAes128, CipherSuite::Aes128]);
    assert_eq!(tls.curve_preferences, [Curve::X25519, Curve::P256]);
    assert!(!tls.prefer_server_cipher_suites);
    assert_eq!(config.headers.len(), 5);
    assert!(config.headers.contains(&("X-XSS-Protection".to_owned(), "0".to_owned())));
    assert_eq!(config.users.keys().collect::<Vec<_>>(), ["a.b c", "prom"]);
    assert_eq!(config.rate_limit, Some(RateLimit { interval: Span::from_secs(1), burst: 20 }));
    assert_eq!(loaded.notes.len(), 1, "{:?}", loaded.notes);
    assert!(loaded.notes[0].problem.contains("HTTP/2 is not offered"));
    assert_eq!(files_of(Path::new("/w.yml"), config).len(), 4);
}

#[test]
fn what_is_left_out_or_empty_has_its_default() {
    for text in [
        "",
        "# nothing\n",
        "tls_server_config:\nbasic_auth_users:\nhttp_server_config: {}\n",
        "tls_server_config: {}",
    ] {
        assert!(read_text_of(text) == WebConfig::default(), "{text}");
    }
    let tls = read_text_of(&tls("")).tls.unwrap();
    assert_eq!((tls.min_version, tls.max_version), (TlsVersion::Tls12, TlsVersion::Tls13));
    assert!(tls.prefer_server_cipher_suites && tls.client_auth == ClientAuth::NoClientCert);
    assert_eq!(read_text_of("rate_limit:\n  interval: 0\n").rate_limit, None);
}

#[test]
fn only_the_default_file_may_be_missing() {
    let problems = load_web(Path::new("/nowhere/web-config.yml")).err().unwrap();
    assert!(problems[0].problem.contains("cannot be read"), "{problems:?}");
}

#[test]
fn what_is_not_in_the_format_is_refused_with_its_line_and_a_hint() {
    for (text, shown) in [
        ("tls_sever_config:\n", "1:1: unknown key `tls_sever_config` (did you mean `tls_server_config`?)"),
        (
            &tls("  cert_fle: x\n"),
            "4:3: unknown key `cert_fle` in [tls_server_config] (did you mean `cert_file`?)",
        ),
        (
            &tls("  client_auth_type: RequireClient\n"),
            "4:21: `RequireClient` is not a client_auth_type (did you mean \"RequireClientCert\"? There are \"NoClientCert\", \"RequestClientCert\", \"RequireAnyClientCert\", \"RequireClientCert\", \"VerifyClientCertIfGiven\", \"RequireAndVerifyClientCert\")",
        ),
        (
            &tls("  min_version: TLS10\n"),
            "4:16: `TLS10` is not a version of TLS that benchd speaks (did you mean \"TLS12\"? There are \"TLS12\", \"TLS13\")",
        ),
        (
            &tls("  curve_preferences: [X25519, CurveP521]\n"),
            "4:31: `CurveP521` is not a curve that benchd has (did you mean \"CurveP256\"? There are \"X25519\", \"CurveP256\", \"CurveP384\")",
        ),
        (
            &tls("  prefer_server_cipher_suites: maybe\n"),
            "4:32: `prefer_server_cipher_suites` takes true or false (write true or false)",
        ),
        (
            "http_server_config:\n  headers:\n    Server: x\n",
            "3:5: unknown key `Server` in [http_server_config.headers] (keys here are: Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, X-XSS-Protection, Strict-Transport-Security)",
        ),
        (
            "http_server_config:\n  headers:\n    X-Frame-Options: allow\n",
            "3:22: `allow` is no value of X-Frame-Options (write deny or sameorigin)",
        ),
        ("rate_limit:\n  interval: 5\n  burst: 1\n", "2:13: \"5\" has no unit (write \"5s\" or \"5m\")"),
    ] {
        let found = only_problem(text);
        if shown.contains("has no unit") {
            assert!(found.starts_with("2:13: "), "{found}");
        } else {
            assert_eq!(found, shown);
        }
    }
    let suites = only_problem(&tls("  cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]\n"));
    assert!(
        suites.starts_with("4:19: `TLS_RSA_WITH_AES_128_CBC_SHA` is not a cipher suite that benchd has"),
        "{suites}"
    );
}

#[test]
fn what_makes_no_sense_together_is_refused() {
    for (text, shown) in [
        ("tls_server_config:\n  cert_file: a\n", "`key_file` is missing: TLS cannot be spoken"),
        ("tls_server_config:\n  key: k\n", "`cert_file` is missing: TLS cannot be spoken"),
        (&tls("  cert: x\n"), "`cert` and `cert_file` exclude each other"),
        (
            &tls("  min_version: TLS13\n  max_version: TLS12\n"),
            "`min_version` TLS13 is above `max_version` TLS12",
        ),
        (
            &tls("  client_ca_file: ca.crt\n"),
            "`client_ca_file` is not used: with client_auth_type NoClientCert no certificate is verified",
        ),
        (
            &tls("  client_auth_type: RequireAndVerifyClientCert\n"),
            "RequireAndVerifyClientCert has no authority to verify certificates with",
        ),
        (
            &tls("  client_allowed_sans: [a]\n"),
            "`client_allowed_sans` is in vain: with client_auth_type NoClientCert clients may show no certificate",
        ),
        (
            &tls("  max_version: TLS12\n  cipher_suites: [TLS_AES_128_GCM_SHA256]\n"),
            "`cipher_suites` has none of TLS 1.2, and `max_version` allows nothing newer",
        ),
        (&tls("  cipher_suites: []\n"), "`cipher_suites` names none"),
        ("rate_limit:\n  interval: 1s\n", "no request would ever be answered: `burst` is 0"),
        (&format!("basic_auth_users:\n  'a:b': {HASH}\n"), "`a:b` cannot be a user's name"),
    ] {
        let found = only_problem(text);
        assert!(found.contains(shown), "{found}\n{shown}");
    }
}

#[test]
fn all_problems_are_shown_at_once() {
    let text = tls("  x: 1\n  y: 2\n  min_version: 1\nbasic_auth_users:\n  a: b\n");
    assert_eq!(problems(&text).len(), 4);
}

#[test]
fn no_secret_is_shown_with_a_problem() {
    let hash_cut = &HASH[..50];
    for text in [
        "basic_auth_users:\n  prom: hunter2\n".to_owned(),
        format!("basic_auth_users:\n  prom: {hash_cut}\n").replace(hash_cut, "hunter2$2y$"),
        "basic_auth_users: {prom: hunter2}\n".to_owned(),
        "basic_auth_users: hunter2\n".to_owned(),
        "basic_auth_users:\n  \"prom\": \"hunter2\n".to_owned(),
        "basic_auth_users:\n  prom: [hunter2\n".to_owned(),
        "basic_auth_users:\n  prom:\n    name: hunter2\n".to_owned(),
        "basic_auth_users:\n  prom:\n  - hunter2\n".to_owned(),
        "tls_server_config: {key: hunter2}\n".to_owned(),
        "tls_server_config:\n  cert_file: x\n  key_fil: hunter2\n".to_owned(),
        "tls_server_config:\n  cert_file: x\n  key: |\n    hunter2\n   hunter2\n".to_owned(),
        "hunter2\n".to_owned(),
    ] {
        let shown = problems(&text);
        assert!(!shown.is_empty(), "{text}");
        assert!(!format!("{shown:?}").contains("hunter2"), "{text}\n{shown:#?}");
    }
    let shown = problems("basic_auth_users:\n  prom: hunter2\n");
    assert_eq!(
        shown[0],
        "web-config.yml:2:9: what stands for the password of `prom` is not a bcrypt hash\n   2 |   prom: …\n     \
         |         ^ write what `htpasswd -nBC 10 prom` prints after the colon, or: benchd user add prom"
    );
}

#[test]
fn hashes_of_bcrypt_are_told_from_everything_else() {
    for good in [HASH, &HASH.replace("2y", "2a"), &HASH.replace("2y", "2b"), &HASH.replace("$10$", "$04$")] {
        assert!(is_bcrypt(good), "{good}");
    }
    for bad in [
        "",
        "hunter2",
        &HASH[1..],
        &HASH[..59],
        &HASH.replace("2y", "2x"),
        &HASH.replace("$10$", "$3$"),
        &HASH.replace("$10$", "$99$"),
        &HASH.replace('.', "!"),
    ] {
        assert!(!is_bcrypt(bad), "{bad}");
    }
}

#[test]
fn places_of_users_are_those_of_the_text() {
    let text = format!("# mine\nbasic_auth_users:\n  # the scraper\n  prom: {HASH}\n  other: {HASH} # x\n");
    let places = places_of_users(&text).unwrap();
    assert!(text[..places.header.unwrap()].ends_with("basic_auth_users"));
    let (start, end) = places.users["prom"];
    assert_eq!(&text[start..end], format!("prom: {HASH}"));
    assert_eq!(places_of_users("").unwrap(), UserPlaces::default());
    assert!(places_of_users("a: [").is_err());
}

proptest! {
    #[test]
    fn no_text_panics(text in "(tls_server_config|basic_auth_users|rate_limit|key|cert_file|: |\n|  |- |\\[|\\{|\"|a){0,20}") {
        let _ = problems(&text);
    }
}
