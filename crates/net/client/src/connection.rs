//! HTTP connections to the API server.
//!
//! Short requests share one HTTP/2 connection: one handshake, and little memory at either end. Each watch has its own
//! HTTP/1.1 connection, because a server bounds the concurrent streams of a connection and watches are long-lived.

use std::time::Duration;

use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::Builder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::{Client, Config};
use tower::retry::RetryLayer;
use tower::{BoxError, ServiceBuilder, ServiceExt};

/// Limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval and timeout of HTTP/2 pings: without them, requests would wait on a connection whose peer is gone.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2 flow-control window of one request.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Read buffer of a watch, which is allocated as long as the watch lives.
const WATCH_BUFFER_BYTES: usize = 32 << 10;

/// Use of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Short requests.
    Requests,
    /// Watches.
    Watches,
}

/// Builds a client; connects on the first request.
pub(crate) fn build_client(mut config: Config, purpose: Purpose) -> Result<Client, BoxError> {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    if config.proxy_url.is_some() {
        // kube implements HTTP and SOCKS proxies.
        return Ok(Client::try_from(config)?);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    let mut tls =
        HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name.clone().try_into()?));
    }
    let mut http = Builder::new(TokioExecutor::new());
    let tls = match purpose {
        Purpose::Watches => {
            http.http1_max_buf_size(WATCH_BUFFER_BYTES);
            tls.enable_http1().wrap_connector(tcp)
        }
        Purpose::Requests => {
            http.timer(TokioTimer::new())
                .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
                .http2_keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
                .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
                .http2_initial_connection_window_size(2 * STREAM_WINDOW_BYTES);
            tls.enable_all_versions().wrap_connector(tcp)
        }
    };
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.default_retry.then(|| RetryLayer::new(RetryPolicy::server_retry())))
        .option_layer(config.auth_layer()?)
        .layer(config.extra_headers_layer()?)
        .service(http.build::<_, Body>(tls).map_err(BoxError::from));
    Ok(ClientBuilder::new(service, config.default_namespace).build())
}
