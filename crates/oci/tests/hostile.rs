//! The client against registries that send wrong content, disconnect, and redirect to other hosts.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{TempDir, image, name, noise, registry};
use podium_oci::model::{MEDIA_TYPE_CONFIG, MEDIA_TYPE_LAYER, MEDIA_TYPE_MANIFEST, Manifest};
use podium_oci::{Client, Credential, Descriptor, Digest, Keyring, Layout, Options, Platforms, no_progress};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Starts a server that answers each request head and closes the connection; returns its address and all request
/// heads.
async fn fake_registry(
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let (log, answer) = (requests.clone(), Arc::new(answer));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (log, answer) = (log.clone(), answer.clone());
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => request.push(byte),
                        Err(_) => return,
                    }
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                log.lock().unwrap().push(request.clone());
                let _ = stream.write_all(&answer(&request)).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (address, requests)
}

fn respond(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn client() -> Client {
    Client::new(Options { plain_http: true, retries: 2, ..Options::default() })
}

/// The manifest of an image with one layer, and the layer.
fn single_blob_manifest(data: &[u8]) -> (Vec<u8>, Descriptor) {
    let blob = Descriptor::for_content(MEDIA_TYPE_LAYER, data);
    (Manifest::new(Descriptor::for_content(MEDIA_TYPE_CONFIG, b"{}"), vec![blob.clone()]).to_bytes(), blob)
}

/// Serves an image; `blob` answers requests for its layer.
async fn serve_image(
    data: Vec<u8>,
    blob: impl Fn(&str, &[u8]) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let (manifest, layer) = single_blob_manifest(&data);
    let path = format!("/blobs/{}", layer.digest);
    fake_registry(move |request| {
        if request.contains("/manifests/") {
            respond("200 OK", &format!("Content-Type: {MEDIA_TYPE_MANIFEST}\r\n"), &manifest)
        } else if request.contains(&path) {
            blob(request, &data)
        } else {
            respond("200 OK", "", b"{}")
        }
    })
    .await
}

async fn pull(address: &str) -> Result<Descriptor, podium_oci::client::Error> {
    let scratch = TempDir::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    let done = client().pull(&name(address, "a:1"), &layout, &Platforms::All, &no_progress()).await;
    if done.is_err() {
        assert_eq!(layout.index().unwrap().manifests.len(), 0);
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn resumes_interrupted_blob_download() {
    let (address, requests) = serve_image(noise(100_000), |request, data| {
        let from = request
            .split("range: bytes=")
            .nth(1)
            .and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
        match from {
            // Promises the whole length and sends a part.
            None => {
                let mut all = respond("200 OK", "", data);
                all.truncate(all.len() - 60_000);
                all
            }
            Some(from) => {
                let range = format!("Content-Range: bytes {from}-{}/{}\r\n", data.len() - 1, data.len());
                let mut all = respond("206 Partial Content", &range, &data[from..]);
                if from < 50_000 {
                    all.truncate(all.len() - 30_000);
                }
                all
            }
        }
    })
    .await;
    pull(&address).await.unwrap();
    let parts = requests.lock().unwrap().iter().filter(|request| request.contains("range: bytes=")).count();
    assert_eq!(parts, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn restarts_download_when_ranges_are_unsupported() {
    let tries = AtomicUsize::new(0);
    let (address, _) = serve_image(noise(100_000), move |_, data| {
        let mut all = respond("200 OK", "", data);
        if tries.fetch_add(1, Ordering::Relaxed) == 0 {
            all.truncate(all.len() - 60_000);
        }
        all
    })
    .await;
    pull(&address).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_mismatched_blob_content() {
    type Response = fn(&str, &[u8]) -> Vec<u8>;
    let responses: [(&str, Response); 6] = [
        ("should be", |_, data| respond("200 OK", "", &vec![7; data.len()])),
        ("Content-Length is", |_, data| respond("200 OK", "", &[data, b"more"].concat())),
        ("Content-Length is", |_, data| respond("200 OK", "", &data[1..])),
        ("interrupted after", |_, data| {
            let mut head = respond("200 OK", "", data);
            head.truncate(head.len() - data.len());
            head
        }),
        ("another range", |_, data| respond("206 Partial Content", "Content-Range: bytes 5-9/10\r\n", data)),
        ("longer than its declared size", |_, data| {
            let chunk =
                format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n", data.len() + 5);
            [chunk.as_bytes(), data, b"12345\r\n0\r\n\r\n"].concat()
        }),
    ];
    for (text, response) in responses {
        let (address, _) = serve_image(noise(1000), response).await;
        let error = pull(&address).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_mismatched_manifests() {
    let (manifest, _) = single_blob_manifest(b"x");
    let other = Digest::sha256(b"other");
    let huge = [manifest.clone(), vec![b' '; 5 << 20]].concat();
    for (text, headers, body) in [
        ("the content does not match", format!("Docker-Content-Digest: {other}\r\n"), manifest.clone()),
        (
            "was declared as",
            "Content-Type: application/vnd.oci.image.index.v1+json\r\n".to_owned(),
            manifest.clone(),
        ),
        ("larger than", String::new(), huge),
        ("not JSON", String::new(), b"<html>".to_vec()),
        (
            "unsupported media type",
            "Content-Type: application/vnd.docker.distribution.manifest.v1+prettyjws\r\n".to_owned(),
            b"{\"schemaVersion\":1}".to_vec(),
        ),
    ] {
        let (address, _) = fake_registry(move |_| respond("200 OK", &headers, &body)).await;
        let error = pull(&address).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    // A reference by digest is verified.
    let (address, _) = fake_registry(move |_| respond("200 OK", "", &manifest)).await;
    let error = client().manifest(&name(&address, "a").with_digest(&other)).await.unwrap_err().to_string();
    assert!(error.contains("the content does not match"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn does_not_send_credentials_to_redirect_targets() {
    let data = noise(1000);
    let (other_host, requests) = {
        let data = data.clone();
        fake_registry(move |_| respond("200 OK", "", &data)).await
    };
    let target = format!("Location: http://{other_host}/signed?token=secret\r\n");
    let (manifest, layer) = single_blob_manifest(&data);
    let path = format!("/blobs/{}", layer.digest);
    let (address, registry_requests) = fake_registry(move |request| {
        if !request.contains("authorization: Basic") {
            respond("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", b"")
        } else if request.contains("/manifests/") {
            respond("200 OK", &format!("Content-Type: {MEDIA_TYPE_MANIFEST}\r\n"), &manifest)
        } else if request.contains(&path) {
            respond("307 Temporary Redirect", &target, b"")
        } else {
            respond("200 OK", "", b"{}")
        }
    })
    .await;
    let keyring =
        Keyring::default().with_credential(&address, Credential::Basic("me".to_owned(), "pw".to_owned()));
    let client = Client::new(Options { plain_http: true, keyring, ..Options::default() });
    let scratch = TempDir::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    client.pull(&name(&address, "a:1"), &layout, &Platforms::All, &no_progress()).await.unwrap();
    assert!(
        registry_requests
            .lock()
            .unwrap()
            .iter()
            .any(|request| request.contains("authorization: Basic bWU6cHc="))
    );
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 1);
    assert!(!requests[0].to_lowercase().contains("authorization"), "{}", requests[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn does_not_send_tokens_to_other_hosts() {
    let data = noise(1000);
    let (other_host, requests) = {
        let data = data.clone();
        fake_registry(move |request| match request.split(' ').next() {
            Some("PUT") => respond("201 Created", "", b""),
            // A challenge from another host is not answered.
            _ if request.contains("/wants") => {
                respond("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", b"")
            }
            _ => respond("200 OK", "", &data),
        })
        .await
    };
    let (tokens, _) = fake_registry(|_| respond("200 OK", "", b"{\"token\":\"t0k\"}")).await;
    let (manifest, layer) = single_blob_manifest(&data);
    let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{tokens}/token\"\r\n");
    let target = other_host.clone();
    let (address, registry_requests) = fake_registry(move |request| {
        let at = |path: &str| format!("Location: http://{target}/{path}\r\n");
        if !request.contains("authorization: Bearer t0k") {
            respond("401 Unauthorized", &challenge, b"")
        } else if request.starts_with("HEAD") {
            respond("404 Not Found", "", b"")
        } else if request.starts_with("POST") {
            respond("202 Accepted", &at("upload"), b"")
        } else if request.starts_with("PUT") {
            respond("201 Created", "", b"")
        } else if request.contains("/manifests/") {
            respond("200 OK", &format!("Content-Type: {MEDIA_TYPE_MANIFEST}\r\n"), &manifest)
        } else if request.contains(&format!("/wanting/blobs/{}", layer.digest)) {
            respond("302 Found", &at("wants"), b"")
        } else if request.contains(&format!("/blobs/{}", layer.digest)) {
            respond("302 Found", &at("signed"), b"")
        } else {
            respond("200 OK", "", b"{}")
        }
    })
    .await;
    let keyring =
        Keyring::default().with_credential(&address, Credential::Basic("me".to_owned(), "pw".to_owned()));
    let client = Client::new(Options { plain_http: true, keyring, retries: 0, ..Options::default() });
    let scratch = TempDir::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    let wanting = client.pull(&name(&address, "wanting:1"), &layout, &Platforms::All, &no_progress()).await;
    assert!(wanting.is_err());
    let image = client.pull(&name(&address, "a:1"), &layout, &Platforms::All, &no_progress()).await.unwrap();
    client.push(&layout, &image, &name(&address, "b:1"), &no_progress()).await.unwrap();
    assert!(
        registry_requests.lock().unwrap().iter().any(|request| request.starts_with("PUT /v2/b/manifests/1"))
    );
    let requests = requests.lock().unwrap();
    for path in ["GET /signed", "GET /wants", "PUT /upload"] {
        assert!(requests.iter().any(|request| request.starts_with(path)), "{path}: {requests:?}");
    }
    assert!(requests.iter().all(|request| !request.to_lowercase().contains("authorization")), "{requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rejects_invalid_redirects() {
    for (text, target) in [
        ("too many", "/v2/again"),
        ("Location header is missing or invalid", "file:///etc/passwd"),
        ("contains credentials", "http://u:p@127.0.0.1/x"),
    ] {
        let headers = format!("Location: {target}\r\n");
        let (address, _) = fake_registry(move |_| respond("302 Found", &headers, b"")).await;
        let error = pull(&address).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_tokens_from_the_challenge_realm() {
    let (tokens, asked) = fake_registry(|request| {
        if request.contains("authorization: Basic bWU6cHc=") {
            respond("200 OK", "", b"{\"token\":\"t0k\",\"expires_in\":300}")
        } else {
            respond("401 Unauthorized", "", b"")
        }
    })
    .await;
    let (manifest, _) = single_blob_manifest(b"x");
    let challenge = format!(
        "WWW-Authenticate: Bearer realm=\"http://{tokens}/token\",service=\"reg\",scope=\"repository:a:pull\"\r\n"
    );
    let (address, requests) = fake_registry(move |request| {
        if request.contains("authorization: Bearer t0k") {
            respond("200 OK", &format!("Content-Type: {MEDIA_TYPE_MANIFEST}\r\n"), &manifest)
        } else {
            respond("401 Unauthorized", &challenge, b"")
        }
    })
    .await;
    let with = |keyring: Keyring| Client::new(Options { plain_http: true, keyring, ..Options::default() });
    let keyring =
        Keyring::default().with_credential(&address, Credential::Basic("me".to_owned(), "pw".to_owned()));
    let client = with(keyring);
    client.manifest(&name(&address, "a:1")).await.unwrap();
    client.manifest(&name(&address, "a:2")).await.unwrap();
    {
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "the token is cached");
        assert!(
            asked[0].starts_with("GET /token?service=reg&scope=repository%3Aa%3Apull HTTP"),
            "{}",
            asked[0]
        );
        // The password goes to the token service only.
        assert!(requests.lock().unwrap().iter().all(|request| !request.contains("Basic")));
    }
    let other = Keyring::default()
        .with_credential("other.example", Credential::Basic("me".to_owned(), "pw".to_owned()));
    let error = with(other).manifest(&name(&address, "a:1")).await.unwrap_err().to_string();
    assert!(error.contains("wants credentials"), "{error}");
    assert!(asked.lock().unwrap().last().unwrap().to_lowercase().find("authorization").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_busy_registries() {
    let tries = AtomicUsize::new(0);
    let (manifest, _) = single_blob_manifest(b"x");
    let (address, requests) = fake_registry(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => respond("503 Service Unavailable", "", b""),
        1 => respond("429 Too Many Requests", "Retry-After: 0\r\n", b""),
        _ => respond("200 OK", &format!("Content-Type: {MEDIA_TYPE_MANIFEST}\r\n"), &manifest),
    })
    .await;
    client().manifest(&name(&address, "a:1")).await.unwrap();
    assert_eq!(requests.lock().unwrap().len(), 3);
    let (address, requests) = fake_registry(|_| {
        respond(
            "500 Internal Server Error",
            "",
            b"{\"errors\":[{\"code\":\"UNKNOWN\",\"message\":\"disk\\u001b[31m\"}]}",
        )
    })
    .await;
    let error = client().manifest(&name(&address, "a:1")).await.unwrap_err().to_string();
    assert!(error.contains("UNKNOWN: disk") && !error.contains('\x1b'), "{error}");
    assert_eq!(requests.lock().unwrap().len(), 3);
}

/// A proxy that cuts connections after the given numbers of bytes, in order.
async fn cutting_proxy(target: String, cuts: Vec<usize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let cuts = Arc::new(Mutex::new(cuts));
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(&target).await.unwrap();
            let cuts = cuts.clone();
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_server, mut to_server) = server.into_split();
                let mut back = tokio::spawn(async move {
                    let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
                });
                let (mut part, mut total) = (vec![0; 16 << 10], 0);
                loop {
                    let read = tokio::select! { read = from_client.read(&mut part) => read.unwrap_or(0), _ = &mut back => 0 };
                    total += read;
                    let cut = {
                        let mut cuts = cuts.lock().unwrap();
                        match cuts.first() {
                            Some(limit) if total > *limit => {
                                cuts.remove(0);
                                true
                            }
                            _ => false,
                        }
                    };
                    if read == 0 || cut || to_server.write_all(&part[..read]).await.is_err() {
                        back.abort();
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn resumes_interrupted_upload() {
    let scratch = TempDir::new();
    let (registry, _) = registry(&scratch.path("registry")).await;
    let address = cutting_proxy(registry.clone(), vec![3 << 20, 2 << 20]).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 8 << 20);
    let moved = Arc::new(AtomicUsize::new(0));
    let count = moved.clone();
    let listener: podium_oci::ProgressReporter = Arc::new(move |progress| {
        if let podium_oci::Progress::Transferred(_, bytes) = progress {
            count.fetch_add(bytes as usize, Ordering::Relaxed);
        }
    });
    client().push(&layout, &built, &name(&address, "app:1"), &listener).await.unwrap();
    // Received bytes are not sent again, except for those in flight.
    let moved = moved.load(Ordering::Relaxed);
    assert!(moved > 8 << 20 && moved < 20 << 20, "{moved}");
    let back = Layout::create(scratch.path("back")).unwrap();
    client().pull(&name(&registry, "app:1"), &back, &Platforms::All, &no_progress()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn later_pull_resumes_partial_blob() {
    let data = noise(100_000);
    let whole = Arc::new(AtomicUsize::new(0));
    let switch = whole.clone();
    let (address, requests) = serve_image(data, move |request, data| {
        let from = request
            .split("range: bytes=")
            .nth(1)
            .and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
        if switch.load(Ordering::Relaxed) == 0 {
            let from = from.unwrap_or(0);
            let range = format!("Content-Range: bytes {from}-{}/{}\r\n", data.len() - 1, data.len());
            let mut all = if from == 0 {
                respond("200 OK", "", data)
            } else {
                respond("206 Partial Content", &range, &data[from..])
            };
            let rest = data.len() - from;
            all.truncate(all.len() - rest.min(if from == 0 { rest / 2 } else { rest }));
            return all;
        }
        let from = from.unwrap_or(0);
        let range = format!("Content-Range: bytes {from}-{}/{}\r\n", data.len() - 1, data.len());
        respond("206 Partial Content", &range, &data[from..])
    })
    .await;
    let scratch = TempDir::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    let tagged = name(&address, "a:1");
    client().pull(&tagged, &layout, &Platforms::All, &no_progress()).await.unwrap_err();
    whole.store(1, Ordering::Relaxed);
    requests.lock().unwrap().clear();
    client().pull(&tagged, &layout, &Platforms::All, &no_progress()).await.unwrap();
    assert!(requests.lock().unwrap().iter().any(|request| request.contains("range: bytes=50000-")));
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_proxies_except_for_loopback() {
    let (manifest, _) = single_blob_manifest(b"x");
    let (proxy, requests) = fake_registry(move |request| {
        if request.starts_with("CONNECT") {
            respond("502 Bad Gateway", "", b"")
        } else {
            respond("200 OK", &format!("Content-Type: {MEDIA_TYPE_MANIFEST}\r\n"), &manifest)
        }
    })
    .await;
    let with = |plain_http: bool| {
        let variable = |name: &str| match name {
            "HTTP_PROXY" | "https_proxy" => Some(format!("http://me:pw@{proxy}").into()),
            "NO_PROXY" => Some("direct.invalid,127.0.0.1".into()),
            _ => None,
        };
        let proxies = podium_oci::ProxyConfig::from_environment(&variable);
        Client::new(Options { plain_http, retries: 0, proxies, ..Options::default() })
    };
    with(true).manifest(&name("registry.invalid", "a:1")).await.unwrap();
    with(false).manifest(&name("registry.invalid", "a:1")).await.unwrap_err();
    with(true).manifest(&name("direct.invalid", "a:1")).await.unwrap_err();
    with(true).manifest(&name("127.0.0.1:1", "a:1")).await.unwrap_err();
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(
        requests[0].starts_with("GET http://registry.invalid/v2/a/manifests/1 HTTP/1.1"),
        "{}",
        requests[0]
    );
    assert!(requests[1].starts_with("CONNECT registry.invalid:443 HTTP/1.1"), "{}", requests[1]);
    assert!(
        requests.iter().all(|request| request.to_lowercase().contains("proxy-authorization: basic bwu6chc="))
    );
}
