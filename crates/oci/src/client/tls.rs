//! TLS: certificate authorities and client certificates.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::client::ResolvesClientCert;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// TLS settings in addition to the system's root certificates.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// PEM files with CA certificates.
    pub ca_certificates: Vec<Vec<u8>>,
    /// Directories with `HOST/*.crt`, as Docker's and Podman's `certs.d`.
    pub certs_dirs: Vec<PathBuf>,
    /// Client certificate for servers that request one.
    pub client_certificate: Option<ClientCertificate>,
}

/// A client certificate and its key.
#[derive(Clone)]
pub struct ClientCertificate {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
}

impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a certificate, a chain of {}", self.chain.len())
    }
}

impl ClientCertificate {
    /// Parses a PEM certificate chain, leaf first, and its PEM key.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain = parse_certificates(certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|e| format!("no unencrypted PEM private key found: {e}"))?;
        let certificate = Self { chain, key: Arc::new(key) };
        // Detect a mismatched pair before connecting.
        let signing = provider().key_provider.load_private_key(certificate.key.clone_key());
        let signing = signing.map_err(|e| format!("the private key cannot be used: {e}"))?;
        let certified_key = rustls::sign::CertifiedKey::new(certificate.chain.clone(), signing);
        match certified_key.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(certificate),
            Err(_) => Err("the key does not match the certificate".to_owned()),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Parses a PEM file with at least one certificate.
fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err("no PEM certificate found".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("invalid PEM certificate: {error}")),
    }
}

impl TlsOptions {
    /// Adds a PEM file with CA certificates.
    pub fn add_ca(&mut self, pem: Vec<u8>) -> Result<(), String> {
        parse_certificates(&pem)?;
        self.ca_certificates.push(pem);
        Ok(())
    }

    /// The configured certificates for a host.
    fn host_certificates(&self, host: &str) -> Result<Vec<CertificateDer<'static>>, String> {
        let mut pem_files = self.ca_certificates.clone();
        // References guarantee that a host contains no slash.
        for directory in self.certs_dirs.iter().map(|directory| directory.join(host)) {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.path().extension().is_some_and(|kind| kind == "crt") {
                    pem_files.push(
                        fs::read(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?,
                    );
                }
            }
        }
        let mut pinned = Vec::new();
        for pem in &pem_files {
            pinned.extend(parse_certificates(pem).map_err(|e| format!("CA file: {e}"))?);
        }
        Ok(pinned)
    }
}

fn roots(pinned: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if roots.is_empty() {
        // Images from scratch have no system roots.
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    for certificate in pinned {
        roots.add(certificate.clone()).map_err(|e| format!("CA certificate: {e}"))?;
    }
    Ok(roots)
}

/// Has no client certificate and records whether the server requested one: rejected clients often see the connection
/// close before the TLS alert.
#[derive(Debug, Default)]
pub(super) struct ClientCertRequest(AtomicBool);

impl ClientCertRequest {
    /// Whether a client certificate was requested.
    pub(super) fn was_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ResolvesClientCert for ClientCertRequest {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<rustls::sign::CertifiedKey>> {
        self.0.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// The TLS configuration for a host; without options it trusts no certificate.
pub(super) fn client_config(
    host: &str,
    options: Option<&TlsOptions>,
    client_cert_request: &Arc<ClientCertRequest>,
) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|e| e.to_string())?;
    let Some(options) = options else {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    };
    let pinned = options.host_certificates(host)?;
    let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(&pinned)?), provider());
    let webpki = webpki.build().map_err(|e| e.to_string())?;
    let builder =
        builder.dangerous().with_custom_certificate_verifier(Arc::new(PinnedCertVerifier { webpki, pinned }));
    match &options.client_certificate {
        None => Ok(builder.with_client_cert_resolver(client_cert_request.clone())),
        Some(certificate) => builder
            .with_client_auth_cert(certificate.chain.clone(), certificate.key.clone_key())
            .map_err(|e| format!("client certificate: {e}")),
    }
}

/// Accepts certificates signed by a trusted CA, and server certificates that are configured themselves: self-signed
/// certificates are usually CA certificates, which webpki rejects as end entities.
#[derive(Debug)]
struct PinnedCertVerifier {
    webpki: Arc<WebPkiServerVerifier>,
    pinned: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinnedCertVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp, now) {
            // webpki checks the validity period before this error, but not the server name.
            Err(error) if is_ca_as_end_entity(&error) && self.pinned.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

/// Whether the only error is a CA certificate used as end entity.
fn is_ca_as_end_entity(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other)) if other.0.to_string() == CA_USED_AS_END_ENTITY)
}

/// The name of the webpki error; rustls exposes only its text.
const CA_USED_AS_END_ENTITY: &str = "CaUsedAsEndEntity";

const CLIENT_CERTIFICATE_REQUIRED: &str =
    "the server requires a client certificate: set --cert-file and --key-file";

/// Advice for a server that closed its first connection after requesting a client certificate.
pub(super) fn explain_missing_client_certificate(reason: &str) -> String {
    format!("{CLIENT_CERTIFICATE_REQUIRED} (it requested one, then: {reason})")
}

/// Advice for TLS certificate errors; `None` for other errors.
pub(super) fn explain_tls_error(reason: &str) -> Option<String> {
    const KNOWN_ERRORS: &[(&str, &str)] = &[
        (
            CA_USED_AS_END_ENTITY,
            "the server uses a self-signed CA certificate: if it is the right one, trust it with --ca-file",
        ),
        (
            "UnknownIssuer",
            "the server certificate is signed by an unknown CA: if it is the right one, trust its CA with --ca-file",
        ),
        ("CertificateRequired", CLIENT_CERTIFICATE_REQUIRED),
        ("UnknownCA", "the server does not trust the CA of the client certificate (--cert-file)"),
        (
            "BadCertificate",
            "the server rejected the client certificate: set another one with --cert-file and --key-file",
        ),
    ];
    let known = KNOWN_ERRORS.iter().find(|(word, _)| reason.contains(word));
    let generic = reason.to_lowercase().contains("certificate").then(|| reason.to_owned());
    known.map(|(_, advice)| format!("{advice} ({reason})")).or(generic)
}
