//! TLS on the TCP listeners, as the web configuration has it.

use std::fs;
use std::sync::Arc;

use jiff::Timestamp;
use tokio_rustls::rustls::crypto::ring::{default_provider, kx_group};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, SupportedKxGroup, verify_tls12_signature as verify_12,
    verify_tls13_signature as verify_13,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{
    CertificateError, CipherSuite as Suite, DigitallySignedStruct, DistinguishedName, Error,
    InconsistentKeys, RootCertStore, ServerConfig, SignatureScheme, SupportedProtocolVersion,
};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, rustls::server::VerifierBuilderError};

use super::certificate;
use crate::config::{CipherSuite, ClientAuth, Curve, LoadedWeb, Pem, Problem, TlsVersion, WebTls};

/// How TLS is spoken.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) acceptor: TlsAcceptor,
    /// Whether certificates of clients are proved to come from an authority, so that their names count.
    pub(super) verifies: bool,
    /// When the server's certificate expires.
    pub(super) expires: Option<Timestamp>,
}

/// What is wrong with the value of a key of `tls_server_config`.
struct Wrong {
    key: &'static str,
    problem: String,
    hint: &'static str,
}

fn wrong(key: &'static str, problem: impl Into<String>, hint: &'static str) -> Wrong {
    Wrong { key, problem: problem.into(), hint }
}

/// Reads certificates and keys, and sets TLS up with them.
pub(super) fn build(loaded: &LoadedWeb, tls: &WebTls) -> Result<Tls, Vec<Problem>> {
    try_build(tls).map_err(|wrong| {
        let key = format!("tls_server_config.{}", wrong.key);
        vec![loaded.sources.problem(&key, wrong.problem, wrong.hint)]
    })
}

fn try_build(tls: &WebTls) -> Result<Tls, Wrong> {
    let chain = certificates(&tls.cert, "cert", "cert_file")?;
    let expires = chain.first().and_then(|first| certificate::read(first)).map(|facts| facts.not_after);
    let provider = Arc::new(provider(tls));
    let versions: Vec<&'static SupportedProtocolVersion> =
        [(&TLS12, TlsVersion::Tls12), (&TLS13, TlsVersion::Tls13)]
            .into_iter()
            .filter(|(_, version)| (tls.min_version..=tls.max_version).contains(version))
            .map(|(version, _)| version)
            .collect();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(|error| {
            wrong("cipher_suites", format!("TLS cannot be set up: {error}"), "name more suites")
        })?;
    let builder = match verifier(tls, &provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder
        .with_single_cert(chain, private_key(&tls.key)?)
        .map_err(|error| refuse_identity(tls, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.ignore_client_order = tls.prefer_server_cipher_suites;
    let verifies = tls.client_auth.verifies();
    Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), verifies, expires })
}

/// What the library has, in the order and choice of the configuration.
fn provider(tls: &WebTls) -> CryptoProvider {
    let mut provider = default_provider();
    if !tls.cipher_suites.is_empty() {
        let all = std::mem::take(&mut provider.cipher_suites);
        let (mut chosen, older): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|suite| suite.tls13().is_some());
        for wanted in tls.cipher_suites.iter().filter(|suite| suite.is_of_12()) {
            chosen.extend(older.iter().filter(|suite| suite.suite() == suite_12(*wanted)));
        }
        provider.cipher_suites = chosen;
    }
    if !tls.curve_preferences.is_empty() {
        provider.kx_groups = tls.curve_preferences.iter().map(|curve| group(*curve)).collect();
    }
    provider
}

fn group(curve: Curve) -> &'static dyn SupportedKxGroup {
    match curve {
        Curve::X25519 => kx_group::X25519,
        Curve::P256 => kx_group::SECP256R1,
        Curve::P384 => kx_group::SECP384R1,
    }
}

fn suite_12(suite: CipherSuite) -> Suite {
    match suite {
        CipherSuite::EcdsaAes128 => Suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::EcdsaAes256 => Suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::EcdsaChaCha20 => Suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        CipherSuite::RsaAes128 => Suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::RsaAes256 => Suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        CipherSuite::RsaChaCha20 => Suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
        CipherSuite::Aes128 => Suite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::Aes256 => Suite::TLS13_AES_256_GCM_SHA384,
        CipherSuite::ChaCha20 => Suite::TLS13_CHACHA20_POLY1305_SHA256,
    }
}

fn refuse_identity(tls: &WebTls, error: &Error) -> Wrong {
    let key = key_of(&tls.key, "key", "key_file");
    match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            wrong(key, "this is not the key of the certificate", "give the two that were made together")
        }
        error => wrong(key, format!("certificate and key cannot be used: {error}"), "make them anew"),
    }
}

/// The key that stands in the file.
fn key_of(pem: &Pem, text: &'static str, file: &'static str) -> &'static str {
    match pem {
        Pem::Text(_) => text,
        Pem::File(_) => file,
    }
}

fn read(pem: &Pem, key: &'static str) -> Result<Vec<u8>, Wrong> {
    match pem {
        Pem::Text(text) => Ok(text.clone().into_bytes()),
        Pem::File(path) => fs::read(path).map_err(|error| {
            let problem = format!("{} cannot be read: {error}", path.display());
            wrong(
                key,
                problem,
                "a path is relative to this file; the user benchd runs as must be able to read it",
            )
        }),
    }
}

fn certificates(
    pem: &Pem,
    text: &'static str,
    file: &'static str,
) -> Result<Vec<CertificateDer<'static>>, Wrong> {
    let key = key_of(pem, text, file);
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(pem, key)?).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => {
            Err(wrong(key, "there is no certificate in it", "give a PEM file: -----BEGIN CERTIFICATE-----"))
        }
        Err(error) => Err(wrong(key, format!("it is not PEM: {error}"), "give a PEM file with certificates")),
    }
}

/// The reason is left out: it could quote the key.
fn private_key(pem: &Pem) -> Result<PrivateKeyDer<'static>, Wrong> {
    let key = key_of(pem, "key", "key_file");
    PrivateKeyDer::from_pem_slice(&read(pem, key)?).map_err(|_| {
        wrong(key, "there is no private key in it", "give a PEM file with a key that is not encrypted")
    })
}

/// What is asked of clients; `None` when nothing is.
fn verifier(
    tls: &WebTls,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, Wrong> {
    let chain = match (&tls.client_ca, tls.client_auth.verifies()) {
        (Some(ca), true) => Some(chain_verifier(tls, ca, provider)?),
        _ => None,
    };
    if tls.client_auth == ClientAuth::NoClientCert {
        return Ok(None);
    }
    Ok(Some(Arc::new(Asked {
        chain,
        required: tls.client_auth.requires(),
        names: tls.client_allowed_sans.clone(),
        provider: Arc::clone(provider),
    })))
}

fn chain_verifier(
    tls: &WebTls,
    ca: &Pem,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, Wrong> {
    let key = key_of(ca, "client_ca", "client_ca_file");
    let mut roots = RootCertStore::empty();
    for authority in certificates(ca, "client_ca", "client_ca_file")? {
        roots.add(authority).map_err(|error| {
            wrong(key, format!("it holds a certificate that no authority can have: {error}"), "take it out")
        })?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let builder = if tls.client_auth.requires() { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error: VerifierBuilderError| {
        wrong(key, format!("clients cannot be verified with it: {error}"), "give a PEM file of authorities")
    })
}

/// What a client's certificate must be. The handshake itself proves that the client has the certificate's key.
#[derive(Debug)]
struct Asked {
    /// Proves that it comes from an authority.
    chain: Option<Arc<dyn ClientCertVerifier>>,
    required: bool,
    /// One of these names must stand in it; none: any.
    names: Vec<String>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Asked {
    fn client_auth_mandatory(&self) -> bool {
        self.required
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.as_ref().map_or(&[], |chain| chain.root_hint_subjects())
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if let Some(chain) = &self.chain {
            chain.verify_client_cert(certificate, intermediates, now)?;
        }
        let named = |name: &String| self.names.contains(name);
        if self.names.is_empty() || names_of(certificate).iter().any(named) {
            return Ok(ClientCertVerified::assertion());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<tokio_rustls::rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_12(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<tokio_rustls::rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_13(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn names_of(certificate: &CertificateDer<'_>) -> Vec<String> {
    certificate::read(certificate).map(|facts| facts.names).unwrap_or_default()
}

/// The names of the certificate that a client showed on a connection.
pub(super) fn client_names<S>(stream: &TlsStream<S>) -> Vec<String> {
    let (_, session) = stream.get_ref();
    session.peer_certificates().and_then(<[_]>::first).map(names_of).unwrap_or_default()
}
