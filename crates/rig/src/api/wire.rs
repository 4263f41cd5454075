//! Requests, answers, and the two servers that are asked.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Uri};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::proxy::{self, Upstream, upstream};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a server was not asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client could not be made.
    #[error(transparent)]
    Client(#[from] proxy::Error),
    /// There was no answer.
    #[error("{request}: {reason}")]
    Lost {
        /// What was asked.
        request: String,
        /// What happened.
        reason: String,
    },
}

/// A request, the same for both servers but for what each of them has made itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// What is to be done.
    pub method: String,
    /// Where, without what is asked.
    pub path: String,
    /// What stands behind the question mark, unescaped.
    pub query: Vec<(String, String)>,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Body,
}

/// What is sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// An object; names that a server gave are exchanged in it.
    Json(Value),
    /// The same, written as YAML.
    Yaml(Value),
    /// Just this.
    Text(String),
}

impl Request {
    /// A request without a body.
    pub fn new(method: &str, path: impl Into<String>) -> Self {
        Self { method: method.to_owned(), path: path.into(), ..Self::default() }
    }

    /// A read.
    pub fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    /// A creation.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new("POST", path).json("application/json", body)
    }

    /// An update.
    pub fn put(path: impl Into<String>, body: Value) -> Self {
        Self::new("PUT", path).json("application/json", body)
    }

    /// A patch of a type.
    pub fn patch(path: impl Into<String>, kind: &str, body: Value) -> Self {
        Self::new("PATCH", path).json(kind, body)
    }

    /// An apply by a manager.
    pub fn apply(path: impl Into<String>, manager: &str, body: Value) -> Self {
        Self::patch(path, "application/apply-patch+yaml", body).with("fieldManager", manager)
    }

    /// A deletion.
    pub fn delete(path: impl Into<String>) -> Self {
        Self::new("DELETE", path)
    }

    /// With a body.
    pub fn json(mut self, kind: &str, body: Value) -> Self {
        self.body = Body::Json(body);
        self.header("Content-Type", kind)
    }

    /// With a parameter.
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.query.push((key.to_owned(), value.into()));
        self
    }

    /// With a header.
    pub fn header(mut self, key: &str, value: &str) -> Self {
        self.headers.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The path with what is asked.
    pub fn address(&self) -> String {
        let pairs: Vec<String> =
            self.query.iter().map(|(key, value)| format!("{key}={}", escaped(value))).collect();
        if pairs.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, pairs.join("&")) }
    }

    fn bytes(&self) -> Bytes {
        match &self.body {
            Body::None => Bytes::new(),
            Body::Json(value) => value.to_string().into(),
            Body::Yaml(value) => yaml(value).into(),
            Body::Text(text) => text.clone().into(),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.address())?;
        for (key, value) in &self.headers {
            write!(f, " [{key}: {value}]")?;
        }
        let body = self.bytes();
        if body.is_empty() { Ok(()) } else { write!(f, "\n{}", String::from_utf8_lossy(&body)) }
    }
}

/// A value as YAML, in blocks.
pub fn yaml(value: &Value) -> String {
    let mut out = String::new();
    write_yaml(&mut out, value, 0, false);
    out
}

fn write_yaml(out: &mut String, value: &Value, depth: usize, in_list: bool) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (at, (key, value)) in object.iter().enumerate() {
                if !(in_list && at == 0) {
                    out.push_str(&indent);
                }
                out.push_str(&format!("{}:", Value::from(key.as_str())));
                write_under(out, value, depth);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (at, value) in list.iter().enumerate() {
                if !(in_list && at == 0) {
                    out.push_str(&indent);
                }
                out.push_str("- ");
                match value {
                    Value::Object(object) if !object.is_empty() => write_yaml(out, value, depth + 1, true),
                    Value::Array(list) if !list.is_empty() => write_yaml(out, value, depth + 1, true),
                    plain => out.push_str(&format!("{plain}\n")),
                }
            }
        }
        plain => out.push_str(&format!("{plain}\n")),
    }
}

fn write_under(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            out.push('\n');
            write_yaml(out, value, depth + 1, false);
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            write_yaml(out, value, depth + 1, false);
        }
        plain => out.push_str(&format!(" {plain}\n")),
    }
}

/// A text for the part behind the question mark.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status.
    pub code: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// What was sent.
    pub text: String,
}

impl Answer {
    /// The body, if it is JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.text).ok()
    }

    /// The body; null if it is no JSON.
    pub fn value(&self) -> Value {
        self.json().unwrap_or_default()
    }

    /// All values of a header.
    pub fn header(&self, name: &str) -> Vec<String> {
        let texts = self.headers.get_all(name).iter();
        texts.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// Whether it was done.
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.code)
    }
}

/// A server, and who asks it.
#[derive(Clone)]
pub struct Server {
    url: String,
    token: String,
    client: Upstream,
}

impl Server {
    /// A server at an address, with the file of certificates that it is trusted by.
    pub fn new(url: String, token: &str, authority: Option<&Path>) -> Result<Self, Error> {
        Ok(Self { url, token: token.to_owned(), client: upstream(authority)? })
    }

    async fn open(&self, request: &Request) -> Result<http::Response<hyper::body::Incoming>, Error> {
        let lost = |reason: String| Error::Lost { request: request.to_string(), reason };
        let uri: Uri = format!("{}{}", self.url, request.address())
            .parse()
            .map_err(|error: http::uri::InvalidUri| lost(error.to_string()))?;
        let mut built = http::Request::builder().method(request.method.as_str()).uri(uri);
        built = built.header("Authorization", format!("Bearer {}", self.token));
        if !request.headers.iter().any(|(key, _)| key == "User-Agent") {
            built = built.header("User-Agent", "rig/1.0 (test)");
        }
        for (key, value) in &request.headers {
            built = built.header(key.as_str(), value.as_str());
        }
        let built = built.body(Full::new(request.bytes())).map_err(|error| lost(error.to_string()))?;
        match timeout(PATIENCE, self.client.request(built)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(lost(format!("{error:?}"))),
            Err(_) => Err(lost("no answer in time".to_owned())),
        }
    }

    /// Asks, and waits for the whole answer.
    pub async fn ask(&self, request: &Request) -> Result<Answer, Error> {
        let lost = |reason: String| Error::Lost { request: request.to_string(), reason };
        let answer = self.open(request).await?;
        let (head, body) = answer.into_parts();
        let body = match timeout(PATIENCE, body.collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) => return Err(lost(error.to_string())),
            Err(_) => return Err(lost("the answer does not end".to_owned())),
        };
        let text = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { code: head.status.as_u16(), headers: head.headers, text })
    }

    /// Asks, and hears line after line in the background.
    pub async fn hear(&self, request: &Request) -> Result<Stream, Error> {
        let answer = self.open(request).await?;
        let (head, mut body) = answer.into_parts();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let of_task = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            let mut rest: Vec<u8> = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(data) = frame.into_data() else { continue };
                rest.extend_from_slice(&data);
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = rest.drain(..=end).collect();
                    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                    of_task.lock().unwrap_or_else(PoisonError::into_inner).lines.push(line);
                }
            }
            let mut heard = of_task.lock().unwrap_or_else(PoisonError::into_inner);
            heard.ended = true;
            if !rest.is_empty() {
                heard.lines.push(String::from_utf8_lossy(&rest).into_owned());
            }
        });
        Ok(Stream { code: head.status.as_u16(), headers: head.headers, heard, task })
    }
}

/// What was heard so far.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// Line after line.
    pub lines: Vec<String>,
    /// Whether the server has ended it.
    pub ended: bool,
}

/// An answer that goes on until it is dropped.
pub struct Stream {
    /// The status.
    pub code: u16,
    /// The headers.
    pub headers: HeaderMap,
    heard: Arc<Mutex<Heard>>,
    task: JoinHandle<()>,
}

impl Stream {
    /// What was heard so far.
    pub fn heard(&self) -> Heard {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many lines there are, and whether there will be no more.
    pub fn count(&self) -> (usize, bool) {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        (heard.lines.len(), heard.ended)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_is_what_was_meant() {
        let value = json!({"a": {"b": [1, {"c": "x: y", "d": [[], {}]}, "t"]}, "e": null, "f": {}});
        let text = yaml(&value);
        let node = podium_goyaml::yaml::parse_exact(text.as_bytes(), 0).unwrap();
        let back = podium_goyaml::json::to_raw_string(&&node).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&back).unwrap(), value, "{text}");
    }

    #[test]
    fn addresses_are_escaped() {
        let request = Request::get("/api").with("labelSelector", "a=b,c in (d)").with("x", "");
        assert_eq!(request.address(), "/api?labelSelector=a%3Db%2Cc%20in%20%28d%29&x=");
    }
}
