//! The section `tls_server_config`: its keys, and which of them make sense together.

use std::path::{Path, PathBuf};

use super::given;
use crate::config::read::{Read, Section, read_word};
use crate::config::source::Findings;
use crate::config::tree::{Node, Value};
use crate::record::words;

words! {
    /// What is asked of a client's certificate.
    ClientAuth {
        /// None is asked for.
        NoClientCert = "NoClientCert",
        /// One is asked for and not looked at.
        RequestClientCert = "RequestClientCert",
        /// There must be one, whoever signed it.
        RequireAnyClientCert = "RequireAnyClientCert",
        /// An older name of the same.
        RequireClientCert = "RequireClientCert",
        /// One that is shown must be signed by an authority of `client_ca_file`.
        VerifyClientCertIfGiven = "VerifyClientCertIfGiven",
        /// There must be one, signed by an authority of `client_ca_file`.
        RequireAndVerifyClientCert = "RequireAndVerifyClientCert",
    }
}

words! {
    /// A version of TLS.
    TlsVersion {
        /// 1.2.
        Tls12 = "TLS12",
        /// 1.3.
        Tls13 = "TLS13",
    }
}

words! {
    /// A cipher suite, by the name that Go has for it.
    CipherSuite {
        /// TLS 1.3, where every suite is always on.
        Aes128 = "TLS_AES_128_GCM_SHA256",
        /// TLS 1.3.
        Aes256 = "TLS_AES_256_GCM_SHA384",
        /// TLS 1.3.
        ChaCha20 = "TLS_CHACHA20_POLY1305_SHA256",
        /// TLS 1.2.
        EcdsaAes128 = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        /// TLS 1.2.
        EcdsaAes256 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        /// TLS 1.2.
        EcdsaChaCha20 = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        /// TLS 1.2.
        RsaAes128 = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        /// TLS 1.2.
        RsaAes256 = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        /// TLS 1.2.
        RsaChaCha20 = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    }
}

words! {
    /// A curve of the key exchange, by the name that Go has for it.
    Curve {
        /// The one that most clients prefer.
        X25519 = "X25519",
        /// NIST P-256.
        P256 = "CurveP256",
        /// NIST P-384.
        P384 = "CurveP384",
    }
}

read_word!(
    ClientAuth: "a client_auth_type",
    TlsVersion: "a version of TLS that benchd speaks",
    CipherSuite: "a cipher suite that benchd has",
    Curve: "a curve that benchd has",
);

impl ClientAuth {
    /// Whether certificates are proved to come from an authority.
    pub fn verifies(self) -> bool {
        matches!(self, ClientAuth::VerifyClientCertIfGiven | ClientAuth::RequireAndVerifyClientCert)
    }

    /// Whether nobody connects without a certificate.
    pub fn requires(self) -> bool {
        !matches!(
            self,
            ClientAuth::NoClientCert | ClientAuth::RequestClientCert | ClientAuth::VerifyClientCertIfGiven
        )
    }
}

/// Certificates or a key: a file, or the text itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// The path of a PEM file.
    File(PathBuf),
    /// PEM text.
    Text(String),
}

/// A key is not shown.
impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Pem::File(path) => write!(f, "{}", path.display()),
            Pem::Text(_) => f.write_str("…"),
        }
    }
}

/// `tls_server_config`: how TLS is spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebTls {
    /// The server's certificate with those between it and its authority.
    pub cert: Pem,
    /// Its private key.
    pub key: Pem,
    /// What is asked of a client's certificate.
    pub client_auth: ClientAuth,
    /// The authorities of clients.
    pub client_ca: Option<Pem>,
    /// A client's certificate must have one of these names; empty: any name.
    pub client_allowed_sans: Vec<String>,
    /// The lowest version spoken.
    pub min_version: TlsVersion,
    /// The highest version spoken.
    pub max_version: TlsVersion,
    /// The suites of TLS 1.2 in the order they are preferred; empty: all.
    pub cipher_suites: Vec<CipherSuite>,
    /// Whether the server's order of suites counts, not the client's.
    pub prefer_server_cipher_suites: bool,
    /// The curves in the order they are preferred; empty: all.
    pub curve_preferences: Vec<Curve>,
}

/// Reads the section; `None` when TLS is not spoken, or cannot be for a mistake that was noted.
pub(super) fn read(node: &Node, folder: &Path, found: &mut Findings) -> Option<WebTls> {
    let mut section = Section::of(node, found)?;
    let cert = pem(&mut section, ("cert", "cert_file"), folder);
    let key = pem(&mut section, ("key", "key_file"), folder);
    let client_ca = pem(&mut section, ("client_ca", "client_ca_file"), folder);
    let (mut min_version, mut max_version) = (TlsVersion::Tls12, TlsVersion::Tls13);
    let mut client_auth = ClientAuth::NoClientCert;
    let (mut client_allowed_sans, mut cipher_suites, mut curve_preferences) = (vec![], vec![], vec![]);
    let mut prefer = super::Flag(true);
    set(&mut section, "client_auth_type", &mut client_auth);
    set(&mut section, "client_allowed_sans", &mut client_allowed_sans);
    set(&mut section, "min_version", &mut min_version);
    set(&mut section, "max_version", &mut max_version);
    set(&mut section, "cipher_suites", &mut cipher_suites);
    set(&mut section, "prefer_server_cipher_suites", &mut prefer);
    set(&mut section, "curve_preferences", &mut curve_preferences);
    let is_empty = node.table().is_some_and(|table| table.is_empty());
    for (missing, what) in [(cert.is_none(), "cert_file"), (key.is_none(), "key_file")] {
        if missing && !is_empty {
            let problem = format!("`{what}` is missing: TLS cannot be spoken");
            section.mistake(what, problem, format!("write {what}: and the path of a PEM file"));
        }
    }
    let tls = cert.zip(key).map(|(cert, key)| WebTls {
        cert,
        key,
        client_auth,
        client_ca,
        client_allowed_sans,
        min_version,
        max_version,
        cipher_suites,
        prefer_server_cipher_suites: prefer.0,
        curve_preferences,
    });
    if let Some(tls) = &tls {
        refuse_contradictions(tls, &mut section);
    }
    section.end();
    tls
}

/// Sets a field from a key that has a value.
pub(super) fn set<T: Read>(section: &mut Section<'_, '_>, key: &'static str, field: &mut T) {
    let Some(node) = given(section, key) else { return };
    if let Some(value) = T::read(node, section.found) {
        *field = value;
    }
}

/// A text that stands in the file, or in another one; one of the two keys can be written.
fn pem(section: &mut Section<'_, '_>, keys: (&'static str, &'static str), folder: &Path) -> Option<Pem> {
    let (text, file) = (given(section, keys.0), given(section, keys.1));
    if let (Some(_), Some(second)) = (text, file) {
        let problem = format!("`{}` and `{}` exclude each other", keys.0, keys.1);
        section.found.mistakes.push(second.key_mistake(problem, "remove one of them"));
    }
    match (text, file) {
        (Some(node), _) => String::read(node, section.found).map(Pem::Text),
        (None, Some(node)) => String::read(node, section.found).map(|path| Pem::File(folder.join(path))),
        (None, None) => None,
    }
}

/// What each key allows and all of them together do not.
fn refuse_contradictions(tls: &WebTls, section: &mut Section<'_, '_>) {
    let auth = tls.client_auth;
    if tls.min_version > tls.max_version {
        let problem = format!("`min_version` {} is above `max_version` {}", tls.min_version, tls.max_version);
        section.mistake("min_version", problem, "lower the one or raise the other");
    }
    if tls.client_ca.is_some() && !auth.verifies() {
        let key = if section.get("client_ca").is_some() { "client_ca" } else { "client_ca_file" };
        let problem = format!("`{key}` is not used: with client_auth_type {auth} no certificate is verified");
        section.mistake(key, problem, "write client_auth_type: RequireAndVerifyClientCert");
    }
    if tls.client_ca.is_none() && auth.verifies() {
        let problem = format!("{auth} has no authority to verify certificates with");
        section.mistake("client_auth_type", problem, "write client_ca_file: and the path of a PEM file");
    }
    if !tls.client_allowed_sans.is_empty() && !auth.requires() {
        let problem = format!(
            "`client_allowed_sans` is in vain: with client_auth_type {auth} clients may show no certificate"
        );
        section.mistake("client_allowed_sans", problem, "write client_auth_type: RequireAndVerifyClientCert");
    }
    if tls.cipher_suites.is_empty() {
        let written = section.get("cipher_suites").map(|node| &node.value);
        if matches!(written, Some(Value::List(suites)) if suites.is_empty()) {
            section.mistake("cipher_suites", "`cipher_suites` names none", "name some, or leave the key out");
        }
    } else if tls.max_version == TlsVersion::Tls12 && !tls.cipher_suites.iter().any(|one| one.is_of_12()) {
        let problem = "`cipher_suites` has none of TLS 1.2, and `max_version` allows nothing newer";
        section.mistake("cipher_suites", problem, "name one that begins with TLS_ECDHE_");
    }
}

impl CipherSuite {
    /// Whether it is one of TLS 1.2.
    pub fn is_of_12(self) -> bool {
        self.as_str().starts_with("TLS_ECDHE_")
    }
}
