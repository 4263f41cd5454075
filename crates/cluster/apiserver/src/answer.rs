//! What is sent back, and in which form the client wants it.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use serde_json::Value;

use crate::query::Query;
use crate::refusal::{Outcome, Refusal};

/// How a client wants objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As they are.
    Object,
    /// As rows of a table; the version of the table.
    Table(&'static str),
    /// Only their metadata.
    Metadata,
    /// A list of their metadata.
    MetadataList,
}

/// What a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// How it wants objects.
    pub form: Form,
    /// It wants YAML.
    pub yaml: bool,
    /// It wants JSON with lines for people.
    pub pretty: bool,
}

impl Wanted {
    /// By the headers and the query.
    pub fn read(headers: &HeaderMap, query: &Query) -> Outcome<Self> {
        let text =
            |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let accept = text(&ACCEPT);
        let agent = text(&USER_AGENT);
        let by_hand = ["curl", "Wget", "Mozilla/5.0"].iter().any(|start| agent.starts_with(start));
        let pretty = query.truth("pretty").unwrap_or(by_hand);
        if accept.trim().is_empty() {
            return Ok(Self { form: Form::Object, yaml: false, pretty });
        }
        for clause in accept.split(',') {
            let mut parts = clause.split(';').map(str::trim);
            let Some(yaml) = is_yaml(parts.next().unwrap_or_default()) else { continue };
            let (mut r#as, mut group, mut version) = ("", "", "");
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                match key.trim() {
                    "as" => r#as = value.trim(),
                    "g" => group = value.trim(),
                    "v" => version = value.trim(),
                    _ => {}
                }
            }
            let form = match (r#as, group, version) {
                ("", _, _) => Form::Object,
                ("Table", "meta.k8s.io", "v1") => Form::Table("meta.k8s.io/v1"),
                ("Table", "meta.k8s.io", "v1beta1") => Form::Table("meta.k8s.io/v1beta1"),
                ("PartialObjectMetadata", "meta.k8s.io", "v1") => Form::Metadata,
                ("PartialObjectMetadataList", "meta.k8s.io", "v1") => Form::MetadataList,
                _ => continue,
            };
            return Ok(Self { form, yaml, pretty });
        }
        Err(not_acceptable(
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ))
    }

    /// Whether the client names a type that the server can send, in whatever form.
    pub fn names_a_type(headers: &HeaderMap) -> bool {
        let accept = headers.get(&ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        accept.split(',').any(|clause| is_yaml(clause.split(';').next().unwrap_or_default().trim()).is_some())
    }
}

/// Whether a type that the server can send is YAML; nothing for types that it cannot send.
fn is_yaml(media: &str) -> Option<bool> {
    match media {
        "*/*" | "application/*" | "application/json" | "application/vnd.kubernetes.protobuf" => Some(false),
        "application/yaml" => Some(true),
        _ => None,
    }
}

/// 406.
pub fn not_acceptable(message: &str) -> Refusal {
    Refusal::new(406, "NotAcceptable", message)
}

/// A body: all of it, or piece by piece.
pub enum Body {
    /// All of it.
    Whole(Option<Bytes>),
    /// Piece by piece.
    Pieces(Box<dyn Pieces>),
}

/// What comes piece by piece.
pub trait Pieces: Send {
    /// The next piece; nothing at the end.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => {
                pieces.poll(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

/// An answer.
pub type Answer = Response<Body>;

/// The type of JSON.
pub const JSON: &str = "application/json";

/// An answer of a type.
pub fn answer(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let body: Bytes = body.into();
    let mut response = Response::new(Body::Whole((!body.is_empty()).then_some(body)));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static(content_type));
    headers.insert("cache-control", HeaderValue::from_static("no-cache, private"));
    response
}

/// An answer in JSON, or in what the client likes better; the text is JSON.
pub fn object(code: u16, wanted: Wanted, text: impl Into<Bytes>) -> Answer {
    let text: Bytes = text.into();
    if wanted.yaml {
        let node = podium_goyaml::json::parse(&text, 0).ok();
        let yaml = node.and_then(|node| podium_goyaml::emit::to_yaml(&&node).ok());
        if let Some(yaml) = yaml {
            return answer(code, "application/yaml", yaml);
        }
    }
    if wanted.pretty {
        return answer(code, JSON, pretty(&text));
    }
    answer(code, JSON, text)
}

/// JSON with lines and two blanks for each level.
fn pretty(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    let (mut depth, mut quoted, mut escaped, mut previous) = (0_usize, false, false, 0_u8);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + depth * 2, b' ');
    };
    for (at, byte) in text.iter().copied().enumerate() {
        if quoted {
            out.push(byte);
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => {
                quoted = true;
                out.push(byte);
            }
            b'{' | b'[' => {
                depth += 1;
                out.push(byte);
                if !matches!(text.get(at + 1), Some(b'}' | b']')) {
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !matches!(previous, b'{' | b'[') {
                    line(&mut out, depth);
                }
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            byte => out.push(byte),
        }
        previous = byte;
    }
    out
}

/// A refusal as it is sent.
pub fn refused(refusal: &Refusal, wanted: Option<Wanted>) -> Answer {
    let plain = Wanted { form: Form::Object, yaml: false, pretty: false };
    let mut text = refusal.body();
    text.push('\n');
    let mut answer = object(refusal.code, wanted.unwrap_or(plain), text);
    if let Some(seconds) = refusal.retry() {
        answer.headers_mut().insert("retry-after", HeaderValue::from(seconds));
    }
    warn(&mut answer, &refusal.warnings);
    answer
}

/// 404 for what is no address at all.
pub fn no_page() -> Answer {
    let mut answer = answer(404, "text/plain; charset=utf-8", "404 page not found\n");
    answer.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    answer
}

/// Adds what the client is warned of.
pub fn warn(answer: &mut Answer, warnings: &[String]) {
    for warning in warnings {
        let text: String = warning.chars().filter(|letter| !letter.is_control()).collect();
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            answer.headers_mut().append("warning", value);
        }
    }
}

/// The `Status` of a request that was done, with details of what was removed.
pub fn success(details: Value) -> Value {
    serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(accept: &str) -> Outcome<Wanted> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_str(accept).unwrap());
        Wanted::read(&headers, &Query::default())
    }

    #[test]
    fn clients_get_what_they_accept() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(wanted(table).unwrap().form, Form::Table("meta.k8s.io/v1"));
        assert_eq!(wanted("application/vnd.kubernetes.protobuf, */*").unwrap().form, Form::Object);
        assert!(wanted("application/yaml").unwrap().yaml);
        assert_eq!(wanted("text/html").unwrap_err().code, 406);
    }

    #[test]
    fn people_get_lines() {
        let text = br#"{"a":[],"b":{},"c":[1,"x:\",{"]}"#;
        let lines = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    \"x:\\\",{\"\n  ]\n}";
        assert_eq!(String::from_utf8(pretty(text)).unwrap(), lines);
    }
}
