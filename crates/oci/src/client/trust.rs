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
pub struct Trust {
    /// Certificates of authorities, PEM.
    pub authorities: Vec<Vec<u8>>,
    /// Folders with a folder for each host, with its `*.crt` in it, as docker and podman have them.
    pub folders: Vec<PathBuf>,
    /// A certificate of our own: servers that ask for one see it.
    pub own: Option<Certificate>,
}

/// A certificate by which servers know who we are.
#[derive(Clone)]
pub struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a certificate, a chain of {}", self.chain.len())
    }
}

impl Certificate {
    /// From certificates, our own first, and the key of it, both PEM.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, String> {
        let chain = read(certificates)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|e| format!("there is no key (PEM, not encrypted) in the file of the key: {e}"))?;
        let made = Self { chain, key: Arc::new(key) };
        // Whether they belong together is better said before anybody is asked.
        let signing = provider().key_provider.load_private_key(made.key.clone_key());
        let signing = signing.map_err(|e| format!("the key of the certificate cannot be used: {e}"))?;
        let pair = rustls::sign::CertifiedKey::new(made.chain.clone(), signing);
        match pair.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => Ok(made),
            Err(_) => Err("the key is not that of the certificate".to_owned()),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates of a file, of which there has to be one.
fn read(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err("there is no certificate (PEM) in it".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(format!("its certificates (PEM) cannot be read: {error}")),
    }
}

impl Trust {
    /// Believes the authorities of a file, PEM.
    pub fn believe(&mut self, pem: Vec<u8>) -> Result<(), String> {
        read(&pem)?;
        self.authorities.push(pem);
        Ok(())
    }

    /// The certificates of the user, for a host.
    fn given(&self, host: &str) -> Result<Vec<CertificateDer<'static>>, String> {
        let mut own = self.authorities.clone();
        // A host is part of a path here: references have made sure that it has no slash.
        for folder in self.folders.iter().map(|folder| folder.join(host)) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().extension().is_some_and(|kind| kind == "crt") {
                    own.push(fs::read(entry.path()).map_err(|e| format!("{}: {e}", entry.path().display()))?);
                }
            }
        }
        let mut given = Vec::new();
        for pem in &own {
            given.extend(
                read(pem).map_err(|e| format!("a file that should have certificates of authorities: {e}"))?,
            );
        }
        Ok(given)
    }
}

fn roots(given: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if roots.is_empty() {
        // An image without a base has no authorities.
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    for certificate in given {
        roots.add(certificate.clone()).map_err(|e| format!("a certificate of an authority: {e}"))?;
    }
    Ok(roots)
}

/// Has no certificate to show, and remembers whether one was asked for: who is turned away without one often sees the
/// connection end before it has read why.
#[derive(Debug, Default)]
pub(super) struct Asked(AtomicBool);

impl Asked {
    /// That a certificate was asked for, and none was shown.
    pub(super) fn in_vain(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl ResolvesClientCert for Asked {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<rustls::sign::CertifiedKey>> {
        self.0.store(true, Ordering::Relaxed);
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

/// How TLS is spoken with a host; without anybody to believe, with nobody.
pub(super) fn config(host: &str, trust: Option<&Trust>, asked: &Arc<Asked>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|e| e.to_string())?;
    let Some(trust) = trust else {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    };
    let given = trust.given(host)?;
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(&given)?), provider());
    let usual = usual.build().map_err(|e| e.to_string())?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(Verifier { usual, given }));
    match &trust.own {
        None => Ok(builder.with_client_cert_resolver(asked.clone())),
        Some(own) => builder
            .with_client_auth_cert(own.chain.clone(), own.key.clone_key())
            .map_err(|e| format!("the certificate of the client: {e}")),
    }
}

/// Believes whom authorities vouch for, and servers that show the very certificate that the user gave. (A certificate
/// that somebody has signed for himself usually is one of an authority, and the usual rules do not let an authority be
/// a server.)
#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(end_entity, intermediates, server_name, ocsp, now) {
            // This is found after the dates have been compared; the name has not been.
            Err(error) if is_authority(&error) && self.given.contains(end_entity) => {
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
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Whether the only thing against a server's certificate is that it is one of an authority.
fn is_authority(error: &Error) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other)) if other.0.to_string() == AUTHORITY)
}

/// The name of it, which is all that is told.
const AUTHORITY: &str = "CaUsedAsEndEntity";

const SHOW_YOURS: &str =
    "it lets in only those who show a certificate: give yours with --cert-file and --key-file";

/// What to do when the first thing that a server did, after it had asked for a certificate in vain, was to go.
pub(super) fn turned_away(why: &str) -> String {
    format!("{SHOW_YOURS} (it asked for one, and then: {why})")
}

/// What is wrong with a certificate, and what to do about it; nothing if it is something else that is wrong.
pub(super) fn advice(why: &str) -> Option<String> {
    const KNOWN: &[(&str, &str)] = &[
        (
            AUTHORITY,
            "its certificate is one of an authority, made by whoever runs it: if it is the right one, give it with \
             --ca-file",
        ),
        (
            "UnknownIssuer",
            "nobody whom this machine believes has signed its certificate: if it is the right one, give the \
             certificate of its authority with --ca-file",
        ),
        ("CertificateRequired", SHOW_YOURS),
        ("UnknownCA", "it does not know who has signed your certificate (--cert-file)"),
        (
            "BadCertificate",
            "it wants a certificate of yours that it knows: give it with --cert-file and --key-file",
        ),
    ];
    let found = KNOWN.iter().find(|(word, _)| why.contains(word));
    let named = why.to_lowercase().contains("certificate").then(|| why.to_owned());
    found.map(|(_, advice)| format!("{advice} ({why})")).or(named)
}
