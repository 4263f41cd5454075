//! Connections, direct or through a proxy.

use std::ffi::OsString;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::tls::{ClientCertRequest, TlsOptions, client_config};
use crate::reference::is_loopback;

/// Timeout for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Proxies by destination.
#[derive(Clone, Default)]
pub struct ProxyConfig(Option<Arc<Matcher>>);

impl ProxyConfig {
    /// Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower case.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| {
            let value = variable(name).or_else(|| variable(&name.to_lowercase()))?;
            value.into_string().ok().filter(|value| !value.is_empty())
        };
        let (http, https, all) = (text("HTTP_PROXY"), text("HTTPS_PROXY"), text("ALL_PROXY"));
        if http.is_none() && https.is_none() && all.is_none() {
            return Self(None);
        }
        let mut builder = Matcher::builder().no(text("NO_PROXY").unwrap_or_default());
        if let Some(all) = all {
            builder = builder.all(all);
        }
        if let Some(http) = http {
            builder = builder.http(http);
        }
        if let Some(https) = https {
            builder = builder.https(https);
        }
        Self(Some(Arc::new(builder.build())))
    }

    /// The `Proxy-Authorization` header for requests that a proxy forwards.
    pub(super) fn authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        let matcher = self.0.as_ref().filter(|_| uri.scheme_str() == Some("http") && !is_local(uri))?;
        matcher.intercept(uri)?.basic_auth().cloned()
    }
}

/// Loopback hosts never use a proxy.
fn is_local(uri: &Uri) -> bool {
    uri.host().is_some_and(is_loopback)
}

/// Opens connections.
#[derive(Clone)]
pub(super) struct Dialer {
    tcp: HttpConnector,
    proxies: ProxyConfig,
}

/// A TCP connection to a host or a forwarding proxy.
pub(super) struct DialedStream {
    inner: TokioIo<TcpStream>,
    proxied: bool,
}

type Error = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Dialer {
    type Response = DialedStream;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<DialedStream, Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let mut tcp = self.tcp.clone();
        let proxy =
            self.proxies.0.as_ref().filter(|_| !is_local(&uri)).and_then(|matcher| matcher.intercept(&uri));
        Box::pin(async move {
            let Some(proxy) = proxy else {
                return Ok(DialedStream { inner: tcp.call(uri).await?, proxied: false });
            };
            let with_proxy = |e: Error| -> Error { format!("through the proxy {}: {e}", proxy.uri()).into() };
            if uri.scheme_str() == Some("https") {
                let mut tunnel = Tunnel::new(proxy.uri().clone(), tcp);
                if let Some(auth) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(auth.clone());
                }
                let inner = tunnel.call(uri).await.map_err(|e| with_proxy(e.into()))?;
                return Ok(DialedStream { inner, proxied: false });
            }
            let inner = tcp.call(proxy.uri().clone()).await.map_err(|e| with_proxy(e.into()))?;
            Ok(DialedStream { inner, proxied: true })
        })
    }
}

impl Connection for DialedStream {
    fn connected(&self) -> Connected {
        self.inner.connected().proxy(self.proxied)
    }
}

impl Read for DialedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl Write for DialedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, data)
    }
}

/// The connector for a host; without TLS options it only connects in plaintext.
pub(super) fn connector(
    host: &str,
    tls_options: Option<&TlsOptions>,
    proxies: &ProxyConfig,
    client_cert_request: &Arc<ClientCertRequest>,
) -> Result<HttpsConnector<Dialer>, String> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    let dialer = Dialer { tcp, proxies: proxies.clone() };
    Ok(HttpsConnectorBuilder::new()
        .with_tls_config(client_config(host, tls_options, client_cert_request)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(dialer))
}
