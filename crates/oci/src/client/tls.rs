//! TLS: whom we believe (this machine's, our own and the user's authorities), and who we are.

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

/// Whom to believe, beside the authorities of this machine, and what to show to those who ask.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// Certificates of authorities, PEM.
    pub ca_certificates: Vec<Vec<u8>>,
    /// Folders with a folder for each host, with its `*.crt` in it, as docker and podman have them.
    pub certs_dirs: Vec<PathBuf>,
    /// A certificate of our own: servers that ask for one see it.
    pub client_certificate: Option<ClientCertificate>,
}

/// A certificate by which servers know who we are.
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
    /// From certificates, our own first, and the key of it, both PEM.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain = parse_certificates(certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|e| format!("there is no key (PEM, not encrypted) in the file of the key: {e}"))?;
        let certificate = Self { chain, key: Arc::new(key) };
        // Whether they belong together is better said before anybody is asked.
        let signing = provider().key_provider.load_private_key(certificate.key.clone_key());
        let signing = signing.map_err(|e| format!("the key of the certificate cannot be used: {e}"))?;
        let certified_key = rustls::sign::CertifiedKey::new(certificate.chain.clone(), signing);
        match certified_key.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(certificate),
            Err(_) => Err("the key is not that of the certificate".to_owned()),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates of a file, of which there has to be one.
fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => Err("there is no certificate (PEM) in it".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("its certificates (PEM) cannot be read: {error}")),
    }
}

impl TlsOptions {
    /// Believes the authorities of a file, PEM.
    pub fn add_ca(&mut self, pem: Vec<u8>) -> Result<(), String> {
        parse_certificates(&pem)?;
        self.ca_certificates.push(pem);
        Ok(())
    }

    /// The certificates of the user, for a host.
    fn host_certificates(&self, host: &str) -> Result<Vec<CertificateDer<'static>>, String> {
        let mut pem_files = self.ca_certificates.clone();
        // A host is part of a path here: references have made sure that it has no slash.
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
            pinned.extend(
                parse_certificates(pem)
                    .map_err(|e| format!("a file that should have certificates of authorities: {e}"))?,
            );
        }
        Ok(pinned)
    }
}

fn roots(pinned: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if roots.is_empty() {
        // An image without a base has no authorities.
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    for certificate in pinned {
        roots.add(certificate.clone()).map_err(|e| format!("a certificate of an authority: {e}"))?;
    }
    Ok(roots)
}

/// Has no certificate to show, and remembers whether one was asked for: who is turned away without one often sees the
/// connection end before it has read why.
#[derive(Debug, Default)]
pub(super) struct ClientCertRequest(AtomicBool);

impl ClientCertRequest {
    /// That a certificate was asked for, and none was shown.
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

/// How TLS is spoken with a host; without anybody to believe, with nobody.
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
            .map_err(|e| format!("the certificate of the client: {e}")),
    }
}

/// Believes whom authorities vouch for, and servers that show the very certificate that the user gave. (A certificate
/// that somebody has signed for himself usually is one of an authority, and the usual rules do not let an authority be
/// a server.)
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
            // This is found after the dates have been compared; the name has not been.
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

/// Whether the only thing against a server's certificate is that it is one of an authority.
fn is_ca_as_end_entity(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other)) if other.0.to_string() == CA_USED_AS_END_ENTITY)
}

/// The name of it, which is all that is told.
const CA_USED_AS_END_ENTITY: &str = "CaUsedAsEndEntity";

const CLIENT_CERTIFICATE_REQUIRED: &str =
    "it lets in only those who show a certificate: give yours with --cert-file and --key-file";

/// What to do when the first thing that a server did, after it had asked for a certificate in vain, was to go.
pub(super) fn explain_missing_client_certificate(reason: &str) -> String {
    format!("{CLIENT_CERTIFICATE_REQUIRED} (it asked for one, and then: {reason})")
}

/// What is wrong with a certificate, and what to do about it; nothing if it is something else that is wrong.
pub(super) fn explain_tls_error(reason: &str) -> Option<String> {
    const KNOWN_ERRORS: &[(&str, &str)] = &[
        (
            CA_USED_AS_END_ENTITY,
            "its certificate is one of an authority, made by whoever runs it: if it is the right one, give it with \
             --ca-file",
        ),
        (
            "UnknownIssuer",
            "nobody whom this machine believes has signed its certificate: if it is the right one, give the \
             certificate of its authority with --ca-file",
        ),
        ("CertificateRequired", CLIENT_CERTIFICATE_REQUIRED),
        ("UnknownCA", "it does not know who has signed your certificate (--cert-file)"),
        (
            "BadCertificate",
            "it wants a certificate of yours that it knows: give it with --cert-file and --key-file",
        ),
    ];
    let known = KNOWN_ERRORS.iter().find(|(word, _)| reason.contains(word));
    let generic = reason.to_lowercase().contains("certificate").then(|| reason.to_owned());
    known.map(|(_, explain_tls_error)| format!("{explain_tls_error} ({reason})")).or(generic)
}
