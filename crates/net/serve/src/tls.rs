//! TLS serving certificates and client authentication.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// Invalid certificate, key or certificate authority.
#[derive(Debug, thiserror::Error)]
#[error("invalid TLS certificate or key: {0}")]
pub struct Error(String);

/// TLS configuration of a server: its certificate, its key and the CA of its clients.
#[derive(Clone)]
pub struct TlsIdentity(pub(crate) Arc<ServerConfig>);

impl TlsIdentity {
    /// Loads a certificate chain, leaf first, and its key, both PEM.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, Error> {
        Self::with_client_ca(certificates, key, None)
    }

    /// Like [`TlsIdentity::new`], and accepts client certificates signed by these authorities (PEM). A client without
    /// a certificate is accepted, one with any other certificate is rejected.
    pub fn with_client_ca(certificates: &[u8], key: &[u8], client_ca: Option<&[u8]>) -> Result<Self, Error> {
        let invalid = |error: &dyn std::fmt::Display| Error(error.to_string());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| invalid(&e))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| invalid(&e))?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(client_ca) => {
                let mut roots = RootCertStore::empty();
                for authority in CertificateDer::pem_slice_iter(client_ca) {
                    roots.add(authority.map_err(|e| invalid(&e))?).map_err(|e| invalid(&e))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated();
                builder.with_client_cert_verifier(verifier.build().map_err(|e| invalid(&e))?)
            }
        };
        let mut config =
            builder.with_single_cert(chain.map_err(|e| invalid(&e))?, key).map_err(|e| invalid(&e))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_certificate_and_key() {
        assert!(TlsIdentity::new(b"", b"").is_err());
        let pem = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(
            TlsIdentity::new(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", pem).is_err()
        );
    }
}
