//! Metrics with TLS, for those whom the cluster lets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned};

use crate::story::{Story, port, read};
use crate::{TINY, TINY_VALUES};

/// Takes every certificate, as long as whoever shows it has its key.
#[derive(Debug)]
struct Trusting(CryptoProvider);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What somebody with a token is told.
fn ask(address: &str, token: &str) -> String {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(ring::default_provider())))
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
    let bearer = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n{bearer}Connection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    // The end of a connection may come without a good-bye.
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn serves_metrics_to_authorized_users_only() {
    let story = Story::new("guarded", &[TINY, TINY_VALUES]).await;
    let (guarded, open) = (format!("127.0.0.1:{}", port()), format!("127.0.0.1:{}", port()));
    let _operator = story
        .operator_with(|command| {
            command.args(["--metrics-secure", "--metrics-require-rbac", "--metrics-bind-address", &guarded]);
        })
        .await;
    assert!(!std::panic::catch_unwind(|| read(&guarded, "/metrics")).unwrap_or_default().contains(" 200 "));
    let status = |token: &str| ask(&guarded, token).split(' ').nth(1).unwrap_or_default().to_owned();
    assert_eq!([status(""), status("token-of-nobody"), status("token-of-weak")], ["401", "401", "403"]);
    let page = ask(&guarded, story.cluster.token());
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("helm_operator_build_info{"), "{page}");
    story.manifests(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: metrics}\n\
         rules: [{nonResourceURLs: [/metrics], verbs: [get]}]\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: metrics}\n\
         roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics}\n\
         subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: weak}]\n",
    );
    story
        .until("the right to read metrics", async || match status("token-of-weak").as_str() {
            "200" => Ok(()),
            other => Err(other.to_owned()),
        })
        .await;
    // Without the second flag, everybody may.
    let _second = story
        .operator_with(|command| {
            command.args(["--metrics-secure", "--metrics-bind-address", &open]);
        })
        .await;
    assert!(ask(&open, "").starts_with("HTTP/1.1 200"));
    let half = story.command().args(["--metrics-require-rbac"]).output().unwrap();
    assert!(String::from_utf8_lossy(&half.stderr).contains("--metrics-secure flag is required"), "{half:?}");
}
