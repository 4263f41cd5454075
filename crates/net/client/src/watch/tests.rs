//! A watch against a server that follows a script.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// One answer of the server.
enum Step {
    /// A status and a whole body.
    Whole(u16, String),
    /// Pieces of a stream that ends as it should.
    Stream(Vec<String>),
    /// Pieces of a stream whose connection then breaks.
    Cut(Vec<String>),
    /// A stream that says nothing and stays open.
    Silence,
}

struct Story {
    asked: Arc<Mutex<Vec<String>>>,
    told: mpsc::UnboundedReceiver<WatchEvent>,
    watch: tokio::task::JoinHandle<()>,
}

impl Story {
    async fn begin(script: Vec<Step>) -> Self {
        Self::of(
            ListWatch::new(Resource::core("ConfigMap", "configmaps", true), Representation::Full),
            script,
        )
        .await
    }

    async fn of(watch: ListWatch, script: Vec<Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let paths = asked.clone();
        tokio::spawn(async move {
            let mut open = Vec::new();
            // What comes after the script is never answered.
            for step in script.into_iter().chain(std::iter::repeat_with(|| Step::Silence)) {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                paths.lock().unwrap().push(head.split(' ').nth(1).unwrap().to_owned());
                match step {
                    Step::Whole(status, body) => {
                        let length = body.len();
                        let head =
                            format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}");
                        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
                    }
                    Step::Stream(pieces) => {
                        send(&mut stream, pieces).await;
                        let _ = stream.write_all(b"0\r\n\r\n").await;
                    }
                    Step::Cut(pieces) => send(&mut stream, pieces).await,
                    Step::Silence => {
                        send(&mut stream, Vec::new()).await;
                        open.push(stream);
                    }
                }
            }
        });
        let client = Client::with(kube::Config::new(url.parse().unwrap())).unwrap();
        let (tell, told) = mpsc::unbounded_channel();
        let watch =
            tokio::spawn(async move { match watch.run(&client, |event| drop(tell.send(event))).await {} });
        Self { asked, told, watch }
    }

    /// The next events, in short.
    async fn next(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            let Ok(Some(event)) = timeout(Duration::from_secs(20), self.told.recv()).await else {
                panic!("only {all:?} of {count} events came; asked: {:?}", self.asked());
            };
            all.push(match event {
                WatchEvent::ListStarted => "begin".to_owned(),
                WatchEvent::ListDone => "end".to_owned(),
                WatchEvent::Recovered => "well".to_owned(),
                WatchEvent::TooDeep(key) => format!("broken {key}"),
                WatchEvent::Failing(trouble) => format!("{:?}", trouble.kind),
                WatchEvent::Applied(object) => format!("+{}", name(&object)),
                WatchEvent::Deleted(object) => format!("-{}", name(&object)),
            });
        }
        all
    }

    /// What was asked, in short: `list`, `list-all`, `list CONTINUE`, or the version that a stream begins after.
    fn asked(&self) -> Vec<String> {
        let value = |path: &str, name: &str| {
            let query = path.split_once('?').map_or("", |(_, query)| query);
            query.split('&').find_map(|part| part.strip_prefix(&format!("{name}="))).map(str::to_owned)
        };
        let paths = self.asked.lock().unwrap();
        let short =
            |path: &String| match (value(path, "watch"), value(path, "continue"), value(path, "limit")) {
                (Some(_), ..) => value(path, "resourceVersion").unwrap_or_default(),
                (_, Some(token), _) => format!("list {token}"),
                (_, _, Some(limit)) if limit == "0" => "list-all".to_owned(),
                _ => "list".to_owned(),
            };
        paths.iter().map(short).collect()
    }

    /// Waits until so much was asked.
    async fn asks(&self, count: usize) -> Vec<String> {
        for _ in 0..1000 {
            if self.asked().len() >= count {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        self.asked()
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn send(stream: &mut tokio::net::TcpStream, pieces: Vec<String>) {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for piece in pieces {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        // The client may have heard enough.
        if stream.write_all(chunk.as_bytes()).await.is_err() {
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
    let about = json!({"resourceVersion": version.to_string(), "continue": next});
    Step::Whole(200, json!({"kind": "ConfigMapList", "metadata": about, "items": items}).to_string())
}

fn line(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

fn refusal(code: u16, reason: &str) -> String {
    json!({"kind": "Status", "code": code, "reason": reason, "message": "no"}).to_string()
}

#[tokio::test]
async fn pages_then_events_and_a_closed_stream_goes_on_after_its_bookmark() {
    let bookmark = json!({"kind": "ConfigMap", "metadata": {"resourceVersion": "20"}});
    let mut story = Story::begin(vec![
        list(&["a", "b"], 7, "token/1"),
        list(&["c"], 7, ""),
        Step::Stream(vec![
            line("MODIFIED", &object("a", 8)),
            format!("{}{}", line("DELETED", &object("b", 9)), line("BOOKMARK", &bookmark)),
        ]),
        Step::Stream(vec![line("ADDED", &object("d", 21))]),
    ])
    .await;
    assert_eq!(story.next(8).await, ["begin", "+a", "+b", "+c", "end", "+a", "-b", "+d"]);
    assert_eq!(story.asks(5).await, ["list", "list token%2F1", "7", "20", "21"]);
}

#[tokio::test]
async fn half_a_line_counts_for_nothing() {
    let change = line("MODIFIED", &object("a", 8));
    let (half, rest) = change.split_at(30);
    let mut story = Story::begin(vec![
        list(&["a"], 7, ""),
        Step::Cut(vec![half.to_owned()]),
        Step::Cut(vec![half.to_owned(), rest.to_owned(), half.to_owned()]),
    ])
    .await;
    assert_eq!(story.next(4).await, ["begin", "+a", "end", "+a"]);
    assert_eq!(story.asks(4).await, ["list", "7", "7", "8"]);
}

#[tokio::test]
async fn a_version_that_is_too_old_means_a_new_list() {
    let gone: Value = serde_json::from_str(&refusal(410, "Expired")).unwrap();
    let mut story = Story::begin(vec![
        list(&["a"], 7, ""),
        Step::Stream(vec![line("ERROR", &gone)]),
        list(&["b"], 9, ""),
        Step::Stream(vec![line("ADDED", &object("c", 10))]),
        Step::Whole(410, refusal(410, "Expired")),
        list(&["b"], 11, "x"),
        Step::Whole(410, refusal(410, "Expired")),
        list(&["b"], 12, ""),
    ])
    .await;
    assert_eq!(story.next(7).await, ["begin", "+a", "end", "begin", "+b", "end", "+c"]);
    // No trouble is told; pages that outlive the server's memory are asked for all at once.
    assert_eq!(story.next(5).await, ["begin", "+b", "begin", "+b", "end"]);
    assert_eq!(story.asks(9).await, ["list", "7", "list", "9", "10", "list", "list x", "list-all", "12"]);
}

#[tokio::test]
async fn trouble_is_told_once_per_kind() {
    let mut story = Story::begin(vec![
        Step::Whole(403, refusal(403, "Forbidden")),
        Step::Whole(403, refusal(403, "Forbidden")),
        Step::Whole(404, "404 page not found".to_owned()),
        list(&[], 7, ""),
        Step::Whole(500, refusal(500, "InternalError")),
        Step::Silence,
    ])
    .await;
    assert_eq!(story.next(6).await, ["Forbidden", "Missing", "begin", "end", "Refused", "well"]);
    assert_eq!(story.asked(), ["list", "list", "list", "list", "7", "7"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_asked_for_again_and_then_listed() {
    let bad =
        ["{\"type\":\"ADDED\",\n".to_owned(), "x".repeat(LONGEST + 1), line("SURPRISE", &object("a", 8))];
    let mut stories = tokio::task::JoinSet::new();
    for bad in bad {
        stories.spawn(async {
            let stream = |text| Step::Stream(vec![text]);
            let script = vec![list(&["a"], 7, ""), stream(bad.clone()), stream(bad), list(&["a"], 9, "")];
            let mut story = Story::begin(script).await;
            let expected = ["begin", "+a", "end", "Unreadable", "begin", "+a", "end", "well"];
            assert_eq!(story.next(8).await, expected);
            assert_eq!(story.asks(5).await, ["list", "7", "7", "list", "9"]);
        });
    }
    while let Some(story) = stories.join_next().await {
        story.unwrap();
    }
}

#[tokio::test]
async fn an_object_that_is_too_deep_spoils_only_itself() {
    let deep = format!(
        r#"{{"metadata":{{"name":"deep","namespace":"n","resourceVersion":"8"}},"data":{}1{}}}"#,
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let page = format!(r#"{{"metadata":{{"resourceVersion":"7"}},"items":[{deep},{}]}}"#, object("b", 1));
    let mut story = Story::begin(vec![
        Step::Whole(200, page),
        Step::Stream(vec![
            format!("{{\"type\":\"MODIFIED\",\"object\":{deep}}}\n"),
            format!("{{\"type\":\"DELETED\",\"object\":{deep}}}\n"),
        ]),
    ])
    .await;
    assert_eq!(story.next(6).await, ["begin", "broken n/deep", "+b", "end", "broken n/deep", "-deep"]);
    assert_eq!(story.asks(3).await, ["list", "7", "8"]);
}

#[tokio::test]
async fn silence_is_not_trusted_for_ever() {
    let mut story =
        Story::begin(vec![list(&["a"], 7, ""), Step::Silence, Step::Silence, list(&["b"], 3, "")]).await;
    assert_eq!(story.next(6).await, ["begin", "+a", "end", "begin", "+b", "end"]);
    assert_eq!(story.asks(5).await, ["list", "7", "7", "list", "3"]);
}

#[tokio::test]
async fn selectors_and_the_form_are_asked_for() {
    let watch = ListWatch {
        namespace: Some("n".to_owned()),
        labels: "a in (b,c)".to_owned(),
        fields: "metadata.name=x".to_owned(),
        ..ListWatch::new(Resource::core("ConfigMap", "configmaps", true), Representation::Metadata)
    };
    let mut story = Story::of(watch, vec![list(&[], 7, "")]).await;
    assert_eq!(story.next(2).await, ["begin", "end"]);
    story.asks(2).await;
    for path in &*story.asked.lock().unwrap() {
        assert!(path.starts_with("/api/v1/namespaces/n/configmaps?"), "{path}");
        assert!(
            path.contains("&labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=metadata.name%3Dx"),
            "{path}"
        );
    }
}

#[test]
fn pages_of_heavy_objects_are_short() {
    for (limit, bytes, next) in
        [(100, 100 << 10, 500), (100, 100 << 20, 10), (500, 2 << 20, 250), (500, 0, 500)]
    {
        assert_eq!(heavier(limit, bytes), next, "{bytes}");
    }
}

#[test]
fn pauses_grow_to_a_limit() {
    for (failures, least, most) in
        [(1, 250, 500), (2, 500, 1000), (7, 15_000, 30_000), (u32::MAX, 15_000, 30_000)]
    {
        let millis = pause(failures).as_millis();
        assert!((least..most).contains(&millis), "{failures}: {millis}");
    }
}
