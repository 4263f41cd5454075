//! A server in this process, and clients of it over TLS.
#![allow(dead_code, reason = "each of the tests uses a part of it")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use podium_apiserver::{Options, Running, User, run};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

pub const ADMIN: &str = "token-of-admin";
pub const BOB: &str = "token-of-bob";

/// A directory that is gone with the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("podium-api-{}-{number}-{name}", std::process::id()));
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub async fn start(folder: &Folder) -> Running {
    start_with(folder, podium_store::Options::default()).await
}

pub async fn start_with(folder: &Folder, store: podium_store::Options) -> Running {
    let users = vec![
        (ADMIN.to_owned(), User::new("admin", &["system:masters"])),
        (BOB.to_owned(), User::new("bob", &[])),
    ];
    let options = Options {
        home: folder.0.clone(),
        address: "127.0.0.1:0".to_owned(),
        hosts: Vec::new(),
        users,
        store,
    };
    run(options).await.unwrap()
}

/// How a client trusts the server.
pub fn trusting(server: &Running) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(server.authority.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// A client with a token, or with none.
#[derive(Clone)]
pub struct Caller {
    pub http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    pub url: String,
    pub token: String,
}

impl Caller {
    pub fn new(server: &Running, token: &str) -> Self {
        let config = trusting(server);
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
        Self {
            http: Client::builder(TokioExecutor::new()).build(connector),
            url: server.url.clone(),
            token: token.to_owned(),
        }
    }

    pub fn request(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: impl Into<Bytes>,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if !self.token.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.token));
        }
        request.header("content-type", kind).body(Full::new(body.into())).unwrap()
    }

    pub async fn send(&self, method: &str, path: &str, kind: &str, body: impl Into<Bytes>) -> (u16, Value) {
        let answer = self.http.request(self.request(method, path, kind, body)).await.unwrap();
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&body).into_owned());
        (code, serde_json::from_slice(&body).unwrap_or_else(|_| text()))
    }

    pub async fn json(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, "application/json", body).await
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.json("GET", path, Value::Null).await
    }
}

pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";
