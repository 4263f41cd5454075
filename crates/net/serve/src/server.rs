//! HTTP server with connection limits and graceful shutdown.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{Either, Empty};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::tls::TlsIdentity;

/// Limits on connections and request headers.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Concurrent connections; further ones wait in the accept backlog.
    pub max_connections: usize,
    /// Bytes of a request header; at least 8192.
    pub max_header_bytes: usize,
    /// Number of header fields of a request.
    pub max_headers: usize,
    /// Time to receive a request header, including the wait for its first byte, and to complete a TLS handshake.
    pub header_read_timeout: Duration,
    /// Age at which a connection is closed gracefully.
    pub max_connection_age: Duration,
    /// Time for requests in flight to finish during graceful shutdown.
    pub shutdown_timeout: Duration,
}

impl Default for ConnectionLimits {
    /// Limits for probes and metrics.
    fn default() -> Self {
        Self {
            max_connections: 128,
            max_header_bytes: 16 << 10,
            max_headers: 64,
            header_read_timeout: Duration::from_secs(10),
            max_connection_age: Duration::from_secs(300),
            shutdown_timeout: Duration::from_secs(5),
        }
    }
}

/// Verified leaf certificate of the client, if it presented one; an extension of every request.
#[derive(Clone, Debug, Default)]
pub struct PeerCertificate(pub Option<CertificateDer<'static>>);

/// Failure to start a server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is neither `host:port` nor `:port`.
    #[error("{0:?} is not an address to listen on: give HOST:PORT or :PORT")]
    InvalidAddress(String),
    /// Binding the address failed.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address to listen on.
        address: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
}

/// HTTP server with a bound listener.
pub struct Server {
    listener: TcpListener,
    limits: ConnectionLimits,
    identity: Option<TlsIdentity>,
}

impl Server {
    /// Binds `host:port`, or `:port` for all interfaces.
    pub async fn bind(address: &str, limits: ConnectionLimits) -> Result<Self, Error> {
        let (host, port) =
            address.rsplit_once(':').ok_or_else(|| Error::InvalidAddress(address.to_owned()))?;
        let port: u16 = port.parse().map_err(|_| Error::InvalidAddress(address.to_owned()))?;
        let listener = if host.is_empty() {
            // Falls back to IPv4 where the kernel has no IPv6.
            match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
                Ok(listener) => Ok(listener),
                Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
            }
        } else {
            TcpListener::bind((host.trim_start_matches('[').trim_end_matches(']'), port)).await
        };
        let listener = listener.map_err(|source| Error::Listen { address: address.to_owned(), source })?;
        Ok(Self { listener, limits, identity: None })
    }

    /// Serves TLS instead of plain text.
    pub fn with_tls(self, identity: TlsIdentity) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// Address that the listener is bound to.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.local_addr().ok()
    }

    /// Serves requests until `stop` resolves, then shuts down gracefully.
    pub async fn run<F, A, B, E>(self, service: F, stop: impl Future<Output = ()>)
    where
        F: Fn(Request<Incoming>) -> A + Clone + Send + 'static,
        A: Future<Output = Result<Response<B>, E>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let Server { listener, limits, identity } = self;
        let acceptor = identity.map(|TlsIdentity(config)| TlsAcceptor::from(config));
        let permits = Arc::new(Semaphore::new(limits.max_connections.max(1)));
        let (shutdown_sender, shutdown) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            // Without a permit, connections wait in the accept backlog.
            let accept = async {
                let permit = permits.clone().acquire_owned().await;
                (listener.accept().await, permit)
            };
            let (accepted, permit) = tokio::select! {
                () = &mut stop => break,
                Some(_) = connections.join_next() => continue,
                accepted = accept => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (service, shutdown, acceptor) = (service.clone(), shutdown.clone(), acceptor.clone());
                    connections.spawn(async move {
                        // Small responses must not wait for more data.
                        let _ = stream.set_nodelay(true);
                        match acceptor {
                            None => {
                                serve_connection(
                                    stream,
                                    limits,
                                    service,
                                    PeerCertificate::default(),
                                    false,
                                    shutdown,
                                )
                                .await
                            }
                            // Closes the connection if the TLS handshake fails or takes too long.
                            Some(acceptor) => {
                                if let Ok(Ok(stream)) =
                                    timeout(limits.header_read_timeout, acceptor.accept(stream)).await
                                {
                                    let (_, session) = stream.get_ref();
                                    let leaf = session.peer_certificates().and_then(|chain| chain.first());
                                    let peer = PeerCertificate(leaf.cloned());
                                    let http2 = session.alpn_protocol() == Some(b"h2");
                                    serve_connection(stream, limits, service, peer, http2, shutdown).await;
                                }
                            }
                        }
                        drop(permit);
                    });
                }
                // Out of file descriptors: waits for other connections to close.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
        drop(listener);
        let _ = shutdown_sender.send(true);
        let drained = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(limits.shutdown_timeout, drained).await;
    }
}

/// Concurrent requests per HTTP/2 connection.
const MAX_CONCURRENT_STREAMS: u32 = 250;

async fn serve_connection<S, F, A, B, E>(
    stream: S,
    limits: ConnectionLimits,
    service: F,
    peer: PeerCertificate,
    http2: bool,
    shutdown: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Fn(Request<Incoming>) -> A,
    A: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let hyper_service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let is_head = http2 && request.method() == Method::HEAD;
        let response = service(request);
        async move {
            let response = response.await?;
            Ok::<_, E>(if is_head { without_body(response) } else { response.map(Either::Left) })
        }
    });
    let stream = TokioIo::new(stream);
    if http2 {
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(Duration::from_secs(30)))
            .keep_alive_timeout(Duration::from_secs(15))
            .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
            .max_header_list_size(u32::try_from(limits.max_header_bytes).unwrap_or(u32::MAX))
            .serve_connection(stream, hyper_service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = shutdown_or_max_age(limits, shutdown) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(limits.shutdown_timeout, connection).await;
    } else {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.header_read_timeout)
            .max_buf_size(limits.max_header_bytes.max(8192))
            .max_headers(limits.max_headers)
            .serve_connection(stream, hyper_service);
        let mut connection = pin!(connection);
        tokio::select! {
            _ = connection.as_mut() => return,
            () = shutdown_or_max_age(limits, shutdown) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(limits.shutdown_timeout, connection).await;
    }
}

/// Drops the body of a response to HEAD and keeps its Content-Length; hyper does so only for HTTP/1.
fn without_body<B: Body>(response: Response<B>) -> Response<Either<B, Empty<B::Data>>> {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        parts.headers.entry(CONTENT_LENGTH).or_insert(HeaderValue::from(length));
    }
    Response::from_parts(parts, Either::Right(Empty::new()))
}

/// Waits for shutdown or for the maximum age of a connection.
async fn shutdown_or_max_age(limits: ConnectionLimits, mut shutdown: watch::Receiver<bool>) {
    tokio::select! {
        _ = shutdown.wait_for(|shutdown| *shutdown) => {}
        () = sleep(limits.max_connection_age) => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::oneshot;
    use tokio::time::Instant;

    use super::*;
    use crate::probes::ProbeService;
    use crate::{Health, Registry};

    #[test]
    fn head_response_keeps_content_length() {
        let response = without_body(Response::new(http_body_util::Full::<bytes::Bytes>::from("hello")));
        assert_eq!(response.headers().get(CONTENT_LENGTH).unwrap(), "5");
        assert!(response.body().is_end_stream());
        let explicit = Response::builder()
            .header(CONTENT_LENGTH, "7")
            .body(http_body_util::Full::<bytes::Bytes>::default());
        assert_eq!(without_body(explicit.unwrap()).headers().get(CONTENT_LENGTH).unwrap(), "7");
    }

    async fn start(
        limits: ConnectionLimits,
    ) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
        let server = Server::bind("127.0.0.1:0", limits).await.unwrap();
        let address = server.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let metrics = Registry::default();
        metrics.gauge("up", "Whether the server is up.", &[]).set(&[], 1.0);
        let probes =
            ProbeService { liveness: Some(Health::default()), readiness: None, metrics: Some(metrics) };
        let run = tokio::spawn(server.run(probes.into_service(), async { drop(stopped.await) }));
        (address, stop, run)
    }

    async fn exchange(stream: &mut TcpStream, text: &str) -> String {
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut response = vec![0; 4096];
        let read = stream.read(&mut response).await.unwrap_or_default();
        String::from_utf8_lossy(&response[..read]).into_owned()
    }

    const GET: &str = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

    #[tokio::test]
    async fn serves_keep_alive_connection_until_shutdown() {
        let (address, stop, run) = start(ConnectionLimits::default()).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        for _ in 0..2 {
            let response = exchange(&mut stream, GET).await;
            assert!(response.starts_with("HTTP/1.1 200 OK") && response.ends_with("\nup 1\n"), "{response}");
        }
        let begin = Instant::now();
        stop.send(()).unwrap();
        run.await.unwrap();
        // Idle connections do not delay shutdown.
        assert!(begin.elapsed() < Duration::from_secs(1));
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn rejects_large_headers_and_slow_clients() {
        let limits = ConnectionLimits {
            header_read_timeout: Duration::from_millis(200),
            ..ConnectionLimits::default()
        };
        let (address, _stop, _run) = start(limits).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let long = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "a".repeat(20 << 10));
        assert!(exchange(&mut stream, &long).await.starts_with("HTTP/1.1 431"));
        let mut stream = TcpStream::connect(address).await.unwrap();
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(100));
        assert!(exchange(&mut stream, &many).await.starts_with("HTTP/1.1 431"));
        for part in ["GET /metrics HT", ""] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(part.as_bytes()).await.unwrap();
            let read = timeout(Duration::from_secs(5), stream.read(&mut [0; 100])).await;
            assert!(read.is_ok(), "{part:?}: the connection stays open");
        }
    }

    #[tokio::test]
    async fn limits_connection_count_and_age() {
        let limits = ConnectionLimits {
            max_connections: 1,
            max_connection_age: Duration::from_millis(300),
            shutdown_timeout: Duration::from_millis(50),
            ..ConnectionLimits::default()
        };
        let (address, _stop, _run) = start(limits).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        exchange(&mut first, GET).await;
        let mut second = TcpStream::connect(address).await.unwrap();
        let begin = Instant::now();
        assert!(exchange(&mut second, GET).await.contains("200 OK"));
        assert!(begin.elapsed() > Duration::from_millis(150));
    }

    #[tokio::test]
    async fn binds_host_port_and_bare_port() {
        assert!(Server::bind(":0", ConnectionLimits::default()).await.is_ok());
        assert!(
            Server::bind("[::1]:0", ConnectionLimits::default()).await.is_ok() || !cfg!(target_os = "linux")
        );
        for address in ["8080", "x:y", ":99999"] {
            assert!(
                matches!(
                    Server::bind(address, ConnectionLimits::default()).await,
                    Err(Error::InvalidAddress(_))
                ),
                "{address}"
            );
        }
    }
}
