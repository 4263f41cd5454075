//! Servers that prove who they are.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// Why a certificate or its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the certificate of the server cannot be used: {0}")]
pub struct Error(String);

/// How a server proves who it is.
#[derive(Clone)]
pub struct Identity(pub(crate) Arc<ServerConfig>);

impl Identity {
    /// From certificates, its own first, and the key of it, both PEM.
    pub fn new(certificates: &[u8], key: &[u8]) -> Result<Self, Error> {
        Self::with_clients(certificates, key, None)
    }

    /// As [`Identity::new`]; clients may show a certificate that one of these authorities (PEM) has signed. Who shows
    /// another one is sent away.
    pub fn with_clients(certificates: &[u8], key: &[u8], authorities: Option<&[u8]>) -> Result<Self, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error(error.to_string());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| wrong(&e))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| wrong(&e))?;
        let builder = match authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => {
                let mut roots = RootCertStore::empty();
                for authority in CertificateDer::pem_slice_iter(authorities) {
                    roots.add(authority.map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .allow_unauthenticated();
                builder.with_client_cert_verifier(verifier.build().map_err(|e| wrong(&e))?)
            }
        };
        let mut config =
            builder.with_single_cert(chain.map_err(|e| wrong(&e))?, key).map_err(|e| wrong(&e))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert!(Identity::new(b"", b"").is_err());
        let pem = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(
            Identity::new(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", pem).is_err()
        );
    }
}
