//! A watch against a scripted HTTP server.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// One response of the server.
enum Step {
    /// Status and body.
    Response(u16, String),
    /// Chunks of a stream that ends cleanly.
    Stream(Vec<String>),
    /// Chunks of a stream whose connection then breaks.
    Aborted(Vec<String>),
    /// A stream that stays open without events.
    Idle,
}

struct Scenario {
    requests: Arc<Mutex<Vec<String>>>,
    events: mpsc::UnboundedReceiver<WatchEvent>,
    watch: tokio::task::JoinHandle<()>,
}

impl Scenario {
    async fn start(script: Vec<Step>) -> Self {
        Self::with_watch(
            ListWatch::new(Resource::core("ConfigMap", "configmaps", true), Representation::Full),
            script,
        )
        .await
    }

    async fn with_watch(watch: ListWatch, script: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let paths = requests.clone();
        tokio::spawn(async move {
            let mut open = Vec::new();
            // Requests after the script get an idle stream.
            for step in script.into_iter().chain(std::iter::repeat_with(|| Step::Idle)) {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                paths.lock().unwrap().push(head.split(' ').nth(1).unwrap().to_owned());
                match step {
                    Step::Response(status, body) => {
                        let length = body.len();
                        let head =
                            format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}");
                        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
                    }
                    Step::Stream(chunks) => {
                        send(&mut stream, chunks).await;
                        let _ = stream.write_all(b"0\r\n\r\n").await;
                    }
                    Step::Aborted(chunks) => send(&mut stream, chunks).await,
                    Step::Idle => {
                        send(&mut stream, Vec::new()).await;
                        open.push(stream);
                    }
                }
            }
        });
        let client = Client::from_kube_config(kube::Config::new(url.parse().unwrap())).unwrap();
        let (handler, events) = mpsc::unbounded_channel();
        let watch =
            tokio::spawn(async move { match watch.run(&client, |event| drop(handler.send(event))).await {} });
        Self { requests, events, watch }
    }

    /// The next events, abbreviated.
    async fn next(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            let Ok(Some(event)) = timeout(Duration::from_secs(20), self.events.recv()).await else {
                panic!("got only {all:?} of {count} events; requests: {:?}", self.requests());
            };
            all.push(match event {
                WatchEvent::ListStarted => "started".to_owned(),
                WatchEvent::ListDone => "done".to_owned(),
                WatchEvent::Recovered => "recovered".to_owned(),
                WatchEvent::TooDeep(key) => format!("too-deep {key}"),
                WatchEvent::Failing(failure) => format!("{:?}", failure.kind),
                WatchEvent::Applied(object) => format!("+{}", name(&object)),
                WatchEvent::Deleted(object) => format!("-{}", name(&object)),
            });
        }
        all
    }

    /// The requests, abbreviated: `list`, `list-all`, `list CONTINUE`, or the resource version of a watch.
    fn requests(&self) -> Vec<String> {
        let value = |path: &str, name: &str| {
            let query = path.split_once('?').map_or("", |(_, query)| query);
            query.split('&').find_map(|part| part.strip_prefix(&format!("{name}="))).map(str::to_owned)
        };
        let paths = self.requests.lock().unwrap();
        let short =
            |path: &String| match (value(path, "watch"), value(path, "continue"), value(path, "limit")) {
                (Some(_), ..) => value(path, "resourceVersion").unwrap_or_default(),
                (_, Some(token), _) => format!("list {token}"),
                (_, _, Some(limit)) if limit == "0" => "list-all".to_owned(),
                _ => "list".to_owned(),
            };
        paths.iter().map(short).collect()
    }

    /// Waits for a number of requests.
    async fn wait_for_requests(&self, count: usize) -> Vec<String> {
        for _ in 0..1000 {
            if self.requests().len() >= count {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        self.requests()
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn send(stream: &mut tokio::net::TcpStream, chunks: Vec<String>) {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for chunk in chunks {
        let framed = format!("{:x}\r\n{chunk}\r\n", chunk.len());
        // The client may have closed the stream.
        if stream.write_all(framed.as_bytes()).await.is_err() {
            return;
        }
        stream.flush().await.unwrap();
        sleep(Duration::from_millis(5)).await;
    }
}

fn name(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap();
    assert_eq!((object["apiVersion"].as_str(), kind), (Some("v1"), "ConfigMap"));
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

fn object(name: &str, version: u32) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "resourceVersion": version.to_string()}})
}

fn list(names: &[&str], version: u32, next: &str) -> Step {
    let items: Vec<Value> = names.iter().map(|name| object(name, 1)).collect();
    let metadata = json!({"resourceVersion": version.to_string(), "continue": next});
    Step::Response(200, json!({"kind": "ConfigMapList", "metadata": metadata, "items": items}).to_string())
}

fn event(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

fn status(code: u16, reason: &str) -> String {
    json!({"kind": "Status", "code": code, "reason": reason, "message": "no"}).to_string()
}

#[tokio::test]
async fn lists_pages_then_watches_and_resumes_after_bookmark() {
    let bookmark = json!({"kind": "ConfigMap", "metadata": {"resourceVersion": "20"}});
    let mut scenario = Scenario::start(vec![
        list(&["a", "b"], 7, "token/1"),
        list(&["c"], 7, ""),
        Step::Stream(vec![
            event("MODIFIED", &object("a", 8)),
            format!("{}{}", event("DELETED", &object("b", 9)), event("BOOKMARK", &bookmark)),
        ]),
        Step::Stream(vec![event("ADDED", &object("d", 21))]),
    ])
    .await;
    assert_eq!(scenario.next(8).await, ["started", "+a", "+b", "+c", "done", "+a", "-b", "+d"]);
    assert_eq!(scenario.wait_for_requests(5).await, ["list", "list token%2F1", "7", "20", "21"]);
}

#[tokio::test]
async fn ignores_partial_event_of_aborted_stream() {
    let change = event("MODIFIED", &object("a", 8));
    let (half, rest) = change.split_at(30);
    let mut scenario = Scenario::start(vec![
        list(&["a"], 7, ""),
        Step::Aborted(vec![half.to_owned()]),
        Step::Aborted(vec![half.to_owned(), rest.to_owned(), half.to_owned()]),
    ])
    .await;
    assert_eq!(scenario.next(4).await, ["started", "+a", "done", "+a"]);
    assert_eq!(scenario.wait_for_requests(4).await, ["list", "7", "7", "8"]);
}

#[tokio::test]
async fn relists_when_resource_version_expired() {
    let gone: Value = serde_json::from_str(&status(410, "Expired")).unwrap();
    let mut scenario = Scenario::start(vec![
        list(&["a"], 7, ""),
        Step::Stream(vec![event("ERROR", &gone)]),
        list(&["b"], 9, ""),
        Step::Stream(vec![event("ADDED", &object("c", 10))]),
        Step::Response(410, status(410, "Expired")),
        list(&["b"], 11, "x"),
        Step::Response(410, status(410, "Expired")),
        list(&["b"], 12, ""),
    ])
    .await;
    assert_eq!(scenario.next(7).await, ["started", "+a", "done", "started", "+b", "done", "+c"]);
    // No failure is reported; after an expired continue token the list is requested in one page.
    assert_eq!(scenario.next(5).await, ["started", "+b", "started", "+b", "done"]);
    assert_eq!(
        scenario.wait_for_requests(9).await,
        ["list", "7", "list", "9", "10", "list", "list x", "list-all", "12"]
    );
}

#[tokio::test]
async fn reports_each_failure_kind_once() {
    let mut scenario = Scenario::start(vec![
        Step::Response(403, status(403, "Forbidden")),
        Step::Response(403, status(403, "Forbidden")),
        Step::Response(404, "404 page not found".to_owned()),
        list(&[], 7, ""),
        Step::Response(500, status(500, "InternalError")),
        Step::Idle,
    ])
    .await;
    assert_eq!(scenario.next(6).await, ["Forbidden", "NotFound", "started", "done", "Rejected", "recovered"]);
    assert_eq!(scenario.requests(), ["list", "list", "list", "list", "7", "7"]);
}

#[tokio::test]
async fn retries_malformed_stream_then_relists() {
    let bad = [
        "{\"type\":\"ADDED\",\n".to_owned(),
        "x".repeat(MAX_EVENT_BYTES + 1),
        event("SURPRISE", &object("a", 8)),
    ];
    let mut stories = tokio::task::JoinSet::new();
    for bad in bad {
        stories.spawn(async {
            let stream = |text| Step::Stream(vec![text]);
            let script = vec![list(&["a"], 7, ""), stream(bad.clone()), stream(bad), list(&["a"], 9, "")];
            let mut scenario = Scenario::start(script).await;
            let expected = ["started", "+a", "done", "Malformed", "started", "+a", "done", "recovered"];
            assert_eq!(scenario.next(8).await, expected);
            assert_eq!(scenario.wait_for_requests(5).await, ["list", "7", "7", "list", "9"]);
        });
    }
    while let Some(scenario) = stories.join_next().await {
        scenario.unwrap();
    }
}

#[tokio::test]
async fn skips_only_the_object_nested_too_deeply() {
    let deep = format!(
        r#"{{"metadata":{{"name":"deep","namespace":"n","resourceVersion":"8"}},"data":{}1{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let page = format!(r#"{{"metadata":{{"resourceVersion":"7"}},"items":[{deep},{}]}}"#, object("b", 1));
    let mut scenario = Scenario::start(vec![
        Step::Response(200, page),
        Step::Stream(vec![
            format!("{{\"type\":\"MODIFIED\",\"object\":{deep}}}\n"),
            format!("{{\"type\":\"DELETED\",\"object\":{deep}}}\n"),
        ]),
    ])
    .await;
    assert_eq!(
        scenario.next(6).await,
        ["started", "too-deep n/deep", "+b", "done", "too-deep n/deep", "-deep"]
    );
    assert_eq!(scenario.wait_for_requests(3).await, ["list", "7", "8"]);
}

#[tokio::test]
async fn relists_after_idle_streams() {
    let mut scenario =
        Scenario::start(vec![list(&["a"], 7, ""), Step::Idle, Step::Idle, list(&["b"], 3, "")]).await;
    assert_eq!(scenario.next(6).await, ["started", "+a", "done", "started", "+b", "done"]);
    assert_eq!(scenario.wait_for_requests(5).await, ["list", "7", "7", "list", "3"]);
}

#[tokio::test]
async fn sends_selectors_and_namespace() {
    let watch = ListWatch {
        namespace: Some("n".to_owned()),
        label_selector: "a in (b,c)".to_owned(),
        field_selector: "metadata.name=x".to_owned(),
        ..ListWatch::new(Resource::core("ConfigMap", "configmaps", true), Representation::Metadata)
    };
    let mut scenario = Scenario::with_watch(watch, vec![list(&[], 7, "")]).await;
    assert_eq!(scenario.next(2).await, ["started", "done"]);
    scenario.wait_for_requests(2).await;
    for path in &*scenario.requests.lock().unwrap() {
        assert!(path.starts_with("/api/v1/namespaces/n/configmaps?"), "{path}");
        assert!(
            path.contains("&labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=metadata.name%3Dx"),
            "{path}"
        );
    }
}

#[test]
fn shrinks_pages_of_large_objects() {
    for (limit, bytes, next) in
        [(100, 100 << 10, 500), (100, 100 << 20, 10), (500, 2 << 20, 250), (500, 0, 500)]
    {
        assert_eq!(next_page_limit(limit, bytes), next, "{bytes}");
    }
}

#[test]
fn backoff_grows_to_a_limit() {
    for (failures, least, most) in
        [(1, 250, 500), (2, 500, 1000), (7, 15_000, 30_000), (u32::MAX, 15_000, 30_000)]
    {
        let millis = backoff(failures).as_millis();
        assert!((least..most).contains(&millis), "{failures}: {millis}");
    }
}
