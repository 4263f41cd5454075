//! Registries that lie, break off, and send clients to strangers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use common::{Scratch, image, name, noise, registry};
use podium_oci::model::{CONFIG, LAYER, MANIFEST, Manifest};
use podium_oci::{Client, Credential, Descriptor, Digest, Keyring, Layout, Options, Platforms, quiet};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers each request with whatever a function makes of its head, and closes the connection. Gives all heads.
async fn fake(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (log, answer) = (heads.clone(), Arc::new(answer));
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (log, answer) = (log.clone(), answer.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return,
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                log.lock().unwrap().push(head.clone());
                let _ = stream.write_all(&answer(&head)).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    (address, heads)
}

fn respond(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn client() -> Client {
    Client::new(Options { plain_http: true, retries: 2, ..Options::default() })
}

/// An image of one blob, and its manifest.
fn one(data: &[u8]) -> (Vec<u8>, Descriptor) {
    let blob = Descriptor::of(LAYER, data);
    (Manifest::new(Descriptor::of(CONFIG, b"{}"), vec![blob.clone()]).bytes(), blob)
}

/// Serves an image; `blob` answers for its layer.
async fn serving(
    data: Vec<u8>,
    blob: impl Fn(&str, &[u8]) -> Vec<u8> + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<String>>>) {
    let (manifest, layer) = one(&data);
    let path = format!("/blobs/{}", layer.digest);
    fake(move |head| {
        if head.contains("/manifests/") {
            respond("200 OK", &format!("Content-Type: {MANIFEST}\r\n"), &manifest)
        } else if head.contains(&path) {
            blob(head, &data)
        } else {
            respond("200 OK", "", b"{}")
        }
    })
    .await
}

async fn pulled(address: &str) -> Result<Descriptor, podium_oci::client::Error> {
    let scratch = Scratch::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    let done = client().pull(&name(address, "a:1"), &layout, &Platforms::All, &quiet()).await;
    if done.is_err() {
        assert_eq!(layout.index().unwrap().manifests.len(), 0);
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_goes_on_where_it_broke_off() {
    let (address, heads) = serving(noise(100_000), |head, data| {
        let from =
            head.split("range: bytes=").nth(1).and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
        match from {
            // The whole length is promised, and a part comes.
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
    pulled(&address).await.unwrap();
    let parts = heads.lock().unwrap().iter().filter(|head| head.contains("range: bytes=")).count();
    assert_eq!(parts, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_knows_no_parts_is_fine() {
    let tries = AtomicUsize::new(0);
    let (address, _) = serving(noise(100_000), move |_, data| {
        let mut all = respond("200 OK", "", data);
        if tries.fetch_add(1, Ordering::Relaxed) == 0 {
            all.truncate(all.len() - 60_000);
        }
        all
    })
    .await;
    pulled(&address).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lies_about_content_are_refused() {
    type Lie = fn(&str, &[u8]) -> Vec<u8>;
    let lies: [(&str, Lie); 6] = [
        ("should be", |_, data| respond("200 OK", "", &vec![7; data.len()])),
        ("is said to have", |_, data| respond("200 OK", "", &[data, b"more"].concat())),
        ("is said to have", |_, data| respond("200 OK", "", &data[1..])),
        ("broke off", |_, data| {
            let mut head = respond("200 OK", "", data);
            head.truncate(head.len() - data.len());
            head
        }),
        ("another part", |_, data| respond("206 Partial Content", "Content-Range: bytes 5-9/10\r\n", data)),
        ("longer than its size", |_, data| {
            let chunk =
                format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n", data.len() + 5);
            [chunk.as_bytes(), data, b"12345\r\n0\r\n\r\n"].concat()
        }),
    ];
    for (text, lie) in lies {
        let (address, _) = serving(noise(1000), lie).await;
        let error = pulled(&address).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lies_about_manifests_are_refused() {
    let (manifest, _) = one(b"x");
    let other = Digest::of(b"other");
    let huge = [manifest.clone(), vec![b' '; 5 << 20]].concat();
    for (text, headers, body) in [
        ("the content is not", format!("Docker-Content-Digest: {other}\r\n"), manifest.clone()),
        (
            "is said to be",
            "Content-Type: application/vnd.oci.image.index.v1+json\r\n".to_owned(),
            manifest.clone(),
        ),
        ("larger than", String::new(), huge),
        ("not JSON", String::new(), b"<html>".to_vec()),
        (
            "neither an image",
            "Content-Type: application/vnd.docker.distribution.manifest.v1+prettyjws\r\n".to_owned(),
            b"{\"schemaVersion\":1}".to_vec(),
        ),
    ] {
        let (address, _) = fake(move |_| respond("200 OK", &headers, &body)).await;
        let error = pulled(&address).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    // By digest it has to be that.
    let (address, _) = fake(move |_| respond("200 OK", "", &manifest)).await;
    let error = client().manifest(&name(&address, "a").with_digest(&other)).await.unwrap_err().to_string();
    assert!(error.contains("the content is not"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_shown_credentials() {
    let data = noise(1000);
    let (elsewhere, heads) = {
        let data = data.clone();
        fake(move |_| respond("200 OK", "", &data)).await
    };
    let to = format!("Location: http://{elsewhere}/signed?token=secret\r\n");
    let (manifest, layer) = one(&data);
    let path = format!("/blobs/{}", layer.digest);
    let (address, own) = fake(move |head| {
        if !head.contains("authorization: Basic") {
            respond("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", b"")
        } else if head.contains("/manifests/") {
            respond("200 OK", &format!("Content-Type: {MANIFEST}\r\n"), &manifest)
        } else if head.contains(&path) {
            respond("307 Temporary Redirect", &to, b"")
        } else {
            respond("200 OK", "", b"{}")
        }
    })
    .await;
    let keyring = Keyring::default().with(&address, Credential::Basic("me".to_owned(), "pw".to_owned()));
    let client = Client::new(Options { plain_http: true, keyring, ..Options::default() });
    let scratch = Scratch::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    client.pull(&name(&address, "a:1"), &layout, &Platforms::All, &quiet()).await.unwrap();
    assert!(own.lock().unwrap().iter().any(|head| head.contains("authorization: Basic bWU6cHc=")));
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1);
    assert!(!heads[0].to_lowercase().contains("authorization"), "{}", heads[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_not_shown_tokens_and_uploads_to_them_carry_none() {
    let data = noise(1000);
    let (elsewhere, heads) = {
        let data = data.clone();
        fake(move |head| match head.split(' ').next() {
            Some("PUT") => respond("201 Created", "", b""),
            // Whoever comes from elsewhere is not listened to when they want credentials.
            _ if head.contains("/wants") => {
                respond("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", b"")
            }
            _ => respond("200 OK", "", &data),
        })
        .await
    };
    let (tokens, _) = fake(|_| respond("200 OK", "", b"{\"token\":\"t0k\"}")).await;
    let (manifest, layer) = one(&data);
    let challenge = format!("WWW-Authenticate: Bearer realm=\"http://{tokens}/token\"\r\n");
    let to = elsewhere.clone();
    let (address, own) = fake(move |head| {
        let at = |path: &str| format!("Location: http://{to}/{path}\r\n");
        if !head.contains("authorization: Bearer t0k") {
            respond("401 Unauthorized", &challenge, b"")
        } else if head.starts_with("HEAD") {
            respond("404 Not Found", "", b"")
        } else if head.starts_with("POST") {
            respond("202 Accepted", &at("upload"), b"")
        } else if head.starts_with("PUT") {
            respond("201 Created", "", b"")
        } else if head.contains("/manifests/") {
            respond("200 OK", &format!("Content-Type: {MANIFEST}\r\n"), &manifest)
        } else if head.contains(&format!("/wanting/blobs/{}", layer.digest)) {
            respond("302 Found", &at("wants"), b"")
        } else if head.contains(&format!("/blobs/{}", layer.digest)) {
            respond("302 Found", &at("signed"), b"")
        } else {
            respond("200 OK", "", b"{}")
        }
    })
    .await;
    let keyring = Keyring::default().with(&address, Credential::Basic("me".to_owned(), "pw".to_owned()));
    let client = Client::new(Options { plain_http: true, keyring, retries: 0, ..Options::default() });
    let scratch = Scratch::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    let wanting = client.pull(&name(&address, "wanting:1"), &layout, &Platforms::All, &quiet()).await;
    assert!(wanting.is_err());
    let image = client.pull(&name(&address, "a:1"), &layout, &Platforms::All, &quiet()).await.unwrap();
    client.push(&layout, &image, &name(&address, "b:1"), &quiet()).await.unwrap();
    assert!(own.lock().unwrap().iter().any(|head| head.starts_with("PUT /v2/b/manifests/1")));
    let heads = heads.lock().unwrap();
    for path in ["GET /signed", "GET /wants", "PUT /upload"] {
        assert!(heads.iter().any(|head| head.starts_with(path)), "{path}: {heads:?}");
    }
    assert!(heads.iter().all(|head| !head.to_lowercase().contains("authorization")), "{heads:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirections_to_nowhere_are_refused() {
    for (text, to) in [
        ("too many", "/v2/again"),
        ("does not say where to", "file:///etc/passwd"),
        ("a name in it", "http://u:p@127.0.0.1/x"),
    ] {
        let headers = format!("Location: {to}\r\n");
        let (address, _) = fake(move |_| respond("302 Found", &headers, b"")).await;
        let error = pulled(&address).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_got_where_the_registry_says_and_only_for_it() {
    let (tokens, asked) = fake(|head| {
        if head.contains("authorization: Basic bWU6cHc=") {
            respond("200 OK", "", b"{\"token\":\"t0k\",\"expires_in\":300}")
        } else {
            respond("401 Unauthorized", "", b"")
        }
    })
    .await;
    let (manifest, _) = one(b"x");
    let challenge = format!(
        "WWW-Authenticate: Bearer realm=\"http://{tokens}/token\",service=\"reg\",scope=\"repository:a:pull\"\r\n"
    );
    let (address, heads) = fake(move |head| {
        if head.contains("authorization: Bearer t0k") {
            respond("200 OK", &format!("Content-Type: {MANIFEST}\r\n"), &manifest)
        } else {
            respond("401 Unauthorized", &challenge, b"")
        }
    })
    .await;
    let with = |keyring: Keyring| Client::new(Options { plain_http: true, keyring, ..Options::default() });
    let keyring = Keyring::default().with(&address, Credential::Basic("me".to_owned(), "pw".to_owned()));
    let client = with(keyring);
    client.manifest(&name(&address, "a:1")).await.unwrap();
    client.manifest(&name(&address, "a:2")).await.unwrap();
    {
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "one token is enough");
        assert!(
            asked[0].starts_with("GET /token?service=reg&scope=repository%3Aa%3Apull HTTP"),
            "{}",
            asked[0]
        );
        // The password is for whoever gives tokens.
        assert!(heads.lock().unwrap().iter().all(|head| !head.contains("Basic")));
    }
    let other = Keyring::default().with("other.example", Credential::Basic("me".to_owned(), "pw".to_owned()));
    let error = with(other).manifest(&name(&address, "a:1")).await.unwrap_err().to_string();
    assert!(error.contains("wants credentials"), "{error}");
    assert!(asked.lock().unwrap().last().unwrap().to_lowercase().find("authorization").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_registries_are_asked_again() {
    let tries = AtomicUsize::new(0);
    let (manifest, _) = one(b"x");
    let (address, heads) = fake(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => respond("503 Service Unavailable", "", b""),
        1 => respond("429 Too Many Requests", "Retry-After: 0\r\n", b""),
        _ => respond("200 OK", &format!("Content-Type: {MANIFEST}\r\n"), &manifest),
    })
    .await;
    client().manifest(&name(&address, "a:1")).await.unwrap();
    assert_eq!(heads.lock().unwrap().len(), 3);
    let (address, heads) = fake(|_| {
        respond(
            "500 Internal Server Error",
            "",
            b"{\"errors\":[{\"code\":\"UNKNOWN\",\"message\":\"disk\\u001b[31m\"}]}",
        )
    })
    .await;
    let error = client().manifest(&name(&address, "a:1")).await.unwrap_err().to_string();
    assert!(error.contains("UNKNOWN: disk") && !error.contains('\x1b'), "{error}");
    assert_eq!(heads.lock().unwrap().len(), 3);
}

/// Passes bytes on; the n-th connection that brings much is cut after that many bytes.
async fn cutting(to: String, cuts: Vec<usize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let cuts = Arc::new(Mutex::new(cuts));
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(&to).await.unwrap();
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
async fn an_upload_goes_on_where_it_broke_off() {
    let scratch = Scratch::new();
    let (registry, _) = registry(&scratch.path("registry")).await;
    let address = cutting(registry.clone(), vec![3 << 20, 2 << 20]).await;
    let layout = Layout::create(scratch.path("l")).unwrap();
    let built = image(&layout, 8 << 20);
    let moved = Arc::new(AtomicUsize::new(0));
    let count = moved.clone();
    let listener: podium_oci::Listener = Arc::new(move |progress| {
        if let podium_oci::Progress::Moved(_, bytes) = progress {
            count.fetch_add(bytes as usize, Ordering::Relaxed);
        }
    });
    client().push(&layout, &built, &name(&address, "app:1"), &listener).await.unwrap();
    // What had come was not sent again, but for what was on its way.
    let moved = moved.load(Ordering::Relaxed);
    assert!(moved > 8 << 20 && moved < 20 << 20, "{moved}");
    let back = Layout::create(scratch.path("back")).unwrap();
    client().pull(&name(&registry, "app:1"), &back, &Platforms::All, &quiet()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_of_another_day_goes_on() {
    let data = noise(100_000);
    let whole = Arc::new(AtomicUsize::new(0));
    let switch = whole.clone();
    let (address, heads) = serving(data, move |head, data| {
        let from =
            head.split("range: bytes=").nth(1).and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
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
    let scratch = Scratch::new();
    let layout = Layout::create(scratch.path("l")).unwrap();
    let tagged = name(&address, "a:1");
    client().pull(&tagged, &layout, &Platforms::All, &quiet()).await.unwrap_err();
    whole.store(1, Ordering::Relaxed);
    heads.lock().unwrap().clear();
    client().pull(&tagged, &layout, &Platforms::All, &quiet()).await.unwrap();
    assert!(heads.lock().unwrap().iter().any(|head| head.contains("range: bytes=50000-")));
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_stand_before_registries_and_not_before_this_machine() {
    let (manifest, _) = one(b"x");
    let (proxy, heads) = fake(move |head| {
        if head.starts_with("CONNECT") {
            respond("502 Bad Gateway", "", b"")
        } else {
            respond("200 OK", &format!("Content-Type: {MANIFEST}\r\n"), &manifest)
        }
    })
    .await;
    let with = |plain_http: bool| {
        let variable = |name: &str| match name {
            "HTTP_PROXY" | "https_proxy" => Some(format!("http://me:pw@{proxy}").into()),
            "NO_PROXY" => Some("direct.invalid,127.0.0.1".into()),
            _ => None,
        };
        let proxies = podium_oci::Proxies::from_environment(&variable);
        Client::new(Options { plain_http, retries: 0, proxies, ..Options::default() })
    };
    with(true).manifest(&name("registry.invalid", "a:1")).await.unwrap();
    with(false).manifest(&name("registry.invalid", "a:1")).await.unwrap_err();
    with(true).manifest(&name("direct.invalid", "a:1")).await.unwrap_err();
    with(true).manifest(&name("127.0.0.1:1", "a:1")).await.unwrap_err();
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 2, "{heads:?}");
    assert!(heads[0].starts_with("GET http://registry.invalid/v2/a/manifests/1 HTTP/1.1"), "{}", heads[0]);
    assert!(heads[1].starts_with("CONNECT registry.invalid:443 HTTP/1.1"), "{}", heads[1]);
    assert!(heads.iter().all(|head| head.to_lowercase().contains("proxy-authorization: basic bwu6chc=")));
}
