//! Connections to a server.
//!
//! Answers that end soon share one HTTP/2 connection: one handshake, and little memory at either end. Watches have an
//! HTTP/1 connection each: a server lets only so many answers be under way in one connection, and watches never end.

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

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// How often a server that owes an answer is asked whether it is still there, and how long it may take to say so:
/// without that, requests would go on to wait in a connection whose other end is gone.
const ASK: Duration = Duration::from_secs(20);
const ANSWER: Duration = Duration::from_secs(10);
/// How many bytes of one answer may come before they are read, where answers share a connection.
const WINDOW: u32 = 1 << 20;
/// The same for a watch, which keeps the room for its whole life.
const WATCHED: usize = 32 << 10;

/// What a client is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Answers that end soon.
    Answers,
    /// Watches.
    Watches,
}

/// Prepares connections; none is made yet.
pub(crate) fn client(mut config: Config, purpose: Purpose) -> Result<Client, BoxError> {
    config.connect_timeout = Some(CONNECT);
    if config.proxy_url.is_some() {
        // Which proxies there are is known there.
        return Ok(Client::try_from(config)?);
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT));
    tcp.set_nodelay(true);
    let mut tls =
        HttpsConnectorBuilder::new().with_tls_config(config.rustls_client_config()?).https_or_http();
    if let Some(name) = &config.tls_server_name {
        tls = tls.with_server_name_resolver(FixedServerNameResolver::new(name.clone().try_into()?));
    }
    let mut http = Builder::new(TokioExecutor::new());
    let tls = match purpose {
        Purpose::Watches => {
            http.http1_max_buf_size(WATCHED);
            tls.enable_http1().wrap_connector(tcp)
        }
        Purpose::Answers => {
            http.timer(TokioTimer::new())
                .http2_keep_alive_interval(ASK)
                .http2_keep_alive_timeout(ANSWER)
                .http2_initial_stream_window_size(WINDOW)
                .http2_initial_connection_window_size(2 * WINDOW);
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
