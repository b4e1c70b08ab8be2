//! What a connection by TLS verifies of a server, and what it shows of itself.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature as verify_12, verify_tls13_signature as verify_13,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore,
    SignatureScheme,
};

use super::access::{Access, Tls, refuse_open_modes};
use super::error::{ErrorClass, SqlError};
use crate::record::TlsMode;

/// No file of certificates or keys is larger; the authorities a distribution trusts take a quarter of a mebibyte.
const MOST_BYTES: u64 = 4 << 20;

/// How TLS is spoken for an access; `None` when it never is.
pub(super) fn wanted(access: &Access) -> Result<Option<Arc<ClientConfig>>, SqlError> {
    if access.socket.is_some() {
        return Ok(None);
    }
    client_config(&access.tls).map_err(|error| {
        let advice = "correct the target's keys that begin with tls";
        SqlError::not_connected(access, ErrorClass::Other, &format!("{error:#}"), advice)
    })
}

/// How TLS is spoken with a server; `None` when it never is. Whether a connection without it will do where the
/// server offers none is the caller's to decide: only [`TlsMode::Preferred`] lets it.
///
/// # Errors
/// When a file of the options cannot be read or used, or a mode that verifies has no authority to trust.
pub(crate) fn client_config(tls: &Tls) -> Result<Option<Arc<ClientConfig>>> {
    if tls.mode == TlsMode::Disabled {
        return Ok(None);
    }
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .context("TLS 1.2 and 1.3 cannot be set up")?
        .dangerous()
        .with_custom_certificate_verifier(verifier(tls, provider)?);
    let config = match (&tls.cert, &tls.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let (chain, private) = (certificates("tls_cert", cert)?, private_key(key)?);
            builder
                .with_client_auth_cert(chain, private)
                .map_err(|error| refuse_identity(cert, key, error))?
        }
        (Some(_), None) => bail!("tls_cert needs tls_key, the file with its private key"),
        (None, Some(_)) => bail!("tls_key needs tls_cert, the file with its certificate"),
    };
    Ok(Some(Arc::new(config)))
}

fn refuse_identity(cert: &Path, key: &Path, error: Error) -> anyhow::Error {
    let (cert, key) = (cert.display(), key.display());
    match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            anyhow::anyhow!("tls_key {key} is not the key of the certificate in tls_cert {cert}")
        }
        error => anyhow::anyhow!("tls_cert {cert} and tls_key {key} cannot be used: {error}"),
    }
}

fn verifier(tls: &Tls, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    if matches!(tls.mode, TlsMode::Disabled | TlsMode::Preferred | TlsMode::Required) {
        return Ok(Arc::new(Lenient { provider, chain: None }));
    }
    let Some(ca) = &tls.ca else {
        bail!(
            "tls = \"{}\" needs tls_ca, the file with the certificates of the authorities to trust",
            tls.mode
        );
    };
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(ca)?), Arc::clone(&provider))
        .build()
        .with_context(|| format!("tls_ca {} cannot be used", ca.display()))?;
    Ok(match tls.mode {
        TlsMode::VerifyCa => Arc::new(Lenient { provider, chain: Some(chain) }),
        _ => chain,
    })
}

fn roots(ca: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates("tls_ca", ca)? {
        roots.add(certificate).with_context(|| {
            format!("tls_ca {} holds a certificate that no authority can have", ca.display())
        })?;
    }
    Ok(roots)
}

/// The certificates of a PEM file, at least one.
fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let name = path.display();
    let text = read(option, path, &open(option, path)?)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| anyhow::anyhow!("{option} {name} is not a PEM file: {error}"))?;
    ensure!(
        !found.is_empty(),
        "{option} {name} holds no certificate; it must be a PEM file with at least one"
    );
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let file = open("tls_key", path)?;
    refuse_open_modes(&file, "tls_key", path)?;
    // The reason is left out: it could quote the file.
    PrivateKeyDer::from_pem_slice(&read("tls_key", path, &file)?).ok().with_context(|| {
        format!(
            "tls_key {} holds no private key; it must be a PEM file with one, not encrypted",
            path.display()
        )
    })
}

fn open(option: &str, path: &Path) -> Result<File> {
    File::open(path).with_context(|| {
        format!(
            "{option} {} cannot be opened; it must exist and be readable by the user benchd runs as",
            path.display()
        )
    })
}

fn read(option: &str, path: &Path, file: &File) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut text)
        .with_context(|| format!("{option} {} cannot be read", path.display()))?;
    ensure!(text.len() as u64 <= MOST_BYTES, "{option} {} is larger than {MOST_BYTES} bytes", path.display());
    Ok(text)
}

/// Verifies less of a certificate than all. The handshake still proves that the server has the certificate's key.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Verifies who signed it, when it is valid and for which host; without it every certificate is taken.
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    /// The host may be any: the verifier of chains looks at its name last, so an error about the name says that all
    /// else is right.
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_12(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_13(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
