//! Whether two answers are alike, but for what each server makes itself.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use podium_meta::time;
use serde_json::Value;

use super::wire::{Answer, Body, Request};

/// What may differ because each server makes it; nothing else may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mask {
    /// Uids.
    Uid,
    /// The revision of an object.
    Revision,
    /// The revision of a list, a bookmark, or a message about revisions.
    Position,
    /// Where the next page begins.
    Page,
    /// A name that is made of a prefix.
    Name,
    /// The address of a Service.
    Address,
    /// A port of all nodes.
    Port,
    /// The volume with a pod's token.
    Volume,
    /// Moments that are now, and ages.
    Time,
    /// What columns of tables are about.
    Description,
    /// The order of those who own fields.
    Order,
    /// Where the server itself is.
    Server,
}

impl Mask {
    /// All of them, with the reason of each.
    pub const ALL: [(Mask, &str); 12] = [
        (Mask::Uid, "random; one of the real server stands for one of ours"),
        (Mask::Revision, "counted by each; one of the real server stands for one of ours"),
        (Mask::Position, "the real server's own leases move it too; both have to be there"),
        (Mask::Page, "opaque, has a revision in it; both have to be there"),
        (Mask::Name, "random; the prefix and the length are compared"),
        (Mask::Address, "random in 10.96.0.0/16; one of the real server stands for one of ours"),
        (Mask::Port, "random from 30000 to 32767; one of the real server stands for one of ours"),
        (Mask::Volume, "random; one of the real server stands for one of ours"),
        (Mask::Time, "the clock; both have to be of these minutes and written alike"),
        (Mask::Description, "texts for people, not taken over from the real server"),
        (
            Mask::Order,
            "owners are sorted by the seconds of their writes; each list has to be in its own order",
        ),
        (Mask::Server, "the address of the server itself"),
    ];
}

/// What one server's own words are in the other's.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    ours: HashMap<(Mask, String), String>,
    real: HashMap<(Mask, String), String>,
    /// Names that were made, with ours.
    names: Vec<(String, String)>,
    /// When objects came and went on our server, and who wrote to them when, by their uids on the real one.
    times: HashMap<(String, String), String>,
    /// Revisions of any sort, for requests.
    revisions: HashMap<String, String>,
}

impl Dictionary {
    /// Whether these two stand for each other, or can from now on.
    pub fn unify(&mut self, mask: Mask, real: &str, ours: &str) -> bool {
        match (self.ours.get(&(mask, real.to_owned())), self.real.get(&(mask, ours.to_owned()))) {
            (Some(known), _) => known == ours,
            (None, Some(known)) => known == real,
            (None, None) => {
                if mask == Mask::Name {
                    self.names.push((real.to_owned(), ours.to_owned()));
                }
                self.ours.insert((mask, real.to_owned()), ours.to_owned());
                self.real.insert((mask, ours.to_owned()), real.to_owned());
                true
            }
        }
    }

    /// A revision of the real server is this one of ours, in requests that follow.
    pub fn revision(&mut self, real: &str, ours: &str) {
        self.revisions.insert(real.to_owned(), ours.to_owned());
    }

    /// The same request for our server.
    pub fn translate(&self, request: &Request) -> Request {
        let mut ours = request.clone();
        ours.path =
            request.path.split('/').map(|part| self.word(Mask::Name, part)).collect::<Vec<_>>().join("/");
        for (key, value) in &mut ours.query {
            *value = match key.as_str() {
                "resourceVersion" => self.revisions.get(value).cloned().unwrap_or_else(|| value.clone()),
                "continue" => self.word(Mask::Page, value),
                _ => self.text(value),
            };
        }
        if let Body::Json(value) | Body::Yaml(value) = &mut ours.body {
            self.exchange("", value);
        }
        ours
    }

    fn word(&self, mask: Mask, real: &str) -> String {
        self.ours.get(&(mask, real.to_owned())).cloned().unwrap_or_else(|| real.to_owned())
    }

    fn text(&self, real: &str) -> String {
        let whole = self.word(Mask::Name, real);
        if whole != real {
            return whole;
        }
        let text: String = tokens(real)
            .into_iter()
            .map(|(mask, part)| mask.map_or(part.to_owned(), |mask| self.word(mask, part)))
            .collect();
        self.named(&text)
    }

    /// A text with the names that the real server has made in our server's words.
    pub fn named(&self, text: &str) -> String {
        let names = self.names.iter().filter(|(real, _)| text.contains(real));
        names.fold(text.to_owned(), |text, (real, ours)| text.replace(real, ours))
    }

    fn exchange(&self, key: &str, value: &mut Value) {
        match value {
            Value::Object(object) => {
                let uid = object.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned();
                for key in TIMES {
                    let own = object.get(key).and_then(Value::as_str).is_some_and(is_now);
                    if let Some(ours) = self.times.get(&(uid.clone(), key.to_owned())).filter(|_| own) {
                        object.insert(key.to_owned(), ours.as_str().into());
                    }
                }
                let entries = object.get_mut("managedFields").and_then(Value::as_array_mut);
                for entry in entries.into_iter().flatten() {
                    let ours = self.times.get(&(uid.clone(), owner(entry).join(" ")));
                    if let (Some(ours), Some(time)) = (ours, entry.get_mut("time")) {
                        *time = ours.as_str().into();
                    }
                }
                let renamed: Vec<(String, String)> = object
                    .keys()
                    .map(|key| (key.clone(), self.text(key)))
                    .filter(|(old, new)| old != new)
                    .collect();
                for (old, new) in renamed {
                    if let Some(value) = object.remove(&old) {
                        object.insert(new, value);
                    }
                }
                // An operation of a patch names what its value is.
                let path = object.get("path").and_then(Value::as_str).unwrap_or_default();
                let version = path.ends_with("/resourceVersion");
                for (key, value) in object.iter_mut() {
                    self.exchange(if version && key == "value" { "resourceVersion" } else { key }, value);
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.exchange(key, value)),
            Value::String(text) if key == "resourceVersion" => {
                if let Some(ours) = self.revisions.get(text.as_str()) {
                    text.clone_from(ours);
                }
            }
            Value::String(text) => *text = self.text(text),
            Value::Number(number) if key.ends_with("odePort") => {
                if let Ok(port) = self.word(Mask::Port, &number.to_string()).parse::<i64>() {
                    *value = port.into();
                }
            }
            _ => {}
        }
    }
}

/// What a server says of when an object came and when it goes.
const TIMES: [&str; 2] = ["creationTimestamp", "deletionTimestamp"];

/// Cuts a text into what servers make themselves and what stands between.
fn tokens(text: &str) -> Vec<(Option<Mask>, &str)> {
    let mut out = Vec::new();
    let (mut from, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = text.get(at..).unwrap_or_default();
        match token(rest, text.get(..at).unwrap_or_default()) {
            Some((mask, length)) => {
                out.push((None, text.get(from..at).unwrap_or_default()));
                out.push((Some(mask), text.get(at..at + length).unwrap_or_default()));
                at += length;
                from = at;
            }
            None => at += 1,
        }
    }
    out.push((None, text.get(from..).unwrap_or_default()));
    out
}

const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

fn token(rest: &str, before: &str) -> Option<(Mask, usize)> {
    let bytes = rest.as_bytes();
    let fits = |shape: &str, fit: fn(u8, u8) -> bool| {
        bytes.len() >= shape.len() && bytes.iter().zip(shape.bytes()).all(|(byte, shape)| fit(*byte, shape))
    };
    let hex = |byte: u8, shape: u8| if shape == b'x' { byte.is_ascii_hexdigit() } else { byte == shape };
    if fits(UUID, hex) {
        return Some((Mask::Uid, UUID.len()));
    }
    let digit = |byte: u8, shape: u8| if shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    if fits("0000-00-00T00:00:00", digit) {
        let end = bytes.iter().skip(19).take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        if bytes.get(19 + end) == Some(&b'Z') {
            return Some((Mask::Time, 20 + end));
        }
    }
    if rest.starts_with("10.96.") {
        return Some((
            Mask::Address,
            rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len()),
        ));
    }
    if before.ends_with("\n  continue: ") {
        return Some((Mask::Page, rest.find('\n').unwrap_or(rest.len())));
    }
    if before.ends_with("serverAddress: ") {
        return Some((Mask::Server, rest.find('\n').unwrap_or(rest.len())));
    }
    if before.ends_with("kube-api-access-") {
        let end = bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        return (end == 5).then_some((Mask::Volume, 5));
    }
    if before.ends_with(':') && fits("30000/", digit) {
        return Some((Mask::Port, 5));
    }
    let numbered = [
        "resource version: ",
        "current: ",
        "resource version: 1 (",
        "the ResourceVersion in record (",
        "the ResourceVersion in the precondition (",
        "ResourceVersion in precondition: ",
        "ResourceVersion in object meta: ",
        // In objects that refusals show, and in YAML.
        "\"resourceVersion\":\"",
        "\\\"resourceVersion\\\":\\\"",
        "resourceVersion: \"",
        "resourceVersion:",
    ];
    if numbered.iter().any(|word| before.ends_with(word)) {
        let end = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return (end > 0).then_some((Mask::Position, end));
    }
    None
}

/// Where two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What sort of difference it is.
    pub category: &'static str,
    /// Where.
    pub path: String,
    /// What the real server says.
    pub real: String,
    /// What ours says.
    pub ours: String,
}

/// Compares answers, and learns from them what stands for what.
pub struct Comparer<'c> {
    /// What is known.
    pub dictionary: &'c mut Dictionary,
    category: &'static str,
    out: Vec<Difference>,
}

impl<'c> Comparer<'c> {
    /// A comparison of one sort of things.
    pub fn new(dictionary: &'c mut Dictionary, category: &'static str) -> Self {
        Self { dictionary, category, out: Vec::new() }
    }

    fn differ(&mut self, path: &str, real: impl Into<String>, ours: impl Into<String>) {
        let category = match self.category {
            "body" if path.contains("managedFields") => "managedFields",
            "watch" if path.contains("managedFields") => "watch managedFields",
            other => other,
        };
        self.out.push(Difference { category, path: path.to_owned(), real: real.into(), ours: ours.into() });
    }

    /// Compares two values.
    pub fn values(mut self, real: &Value, ours: &Value) -> Vec<Difference> {
        self.walk("", real, ours);
        self.out
    }

    fn walk(&mut self, path: &str, real: &Value, ours: &Value) {
        match (real, ours) {
            (Value::Object(a), Value::Object(b)) => {
                // Keys may have what servers make themselves in them.
                let mut rest: Vec<&String> = b.keys().collect();
                for (key, value) in a {
                    let twin = match rest.iter().position(|other| *other == key) {
                        Some(at) => Some(at),
                        None => rest.iter().position(|other| self.texts(key, other)),
                    };
                    let place = format!("{path}.{}", general(path, key));
                    match twin {
                        Some(at) => {
                            let other = rest.remove(at);
                            self.field(&place, key, a, value, b.get(other).unwrap_or(&Value::Null));
                        }
                        None => self.differ(&place, short(value), "(absent)"),
                    }
                }
                for key in rest {
                    self.differ(
                        &format!("{path}.{}", general(path, key)),
                        "(absent)",
                        short(b.get(key).unwrap_or(&Value::Null)),
                    );
                }
            }
            (Value::Array(a), Value::Array(b)) if a.len() != b.len() && named(a) && named(b) => {
                // Only what is missing shall be told, not all that has moved.
                let place = format!("{path}[]");
                let find =
                    |list: &'_ [Value], name: &str| list.iter().position(|item| key_of(item) == Some(name));
                for item in a {
                    match find(b, key_of(item).unwrap_or_default()).and_then(|at| b.get(at)) {
                        Some(other) => self.walk(&place, item, other),
                        None => self.differ(&place, short(item), "(absent)"),
                    }
                }
                for item in b.iter().filter(|item| find(a, key_of(item).unwrap_or_default()).is_none()) {
                    self.differ(&place, "(absent)", short(item));
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                let place = format!("{path}[]");
                for (real, ours) in a.iter().zip(b) {
                    self.walk(&place, real, ours);
                }
                if a.len() != b.len() {
                    self.differ(&place, format!("{} items", a.len()), format!("{} items", b.len()));
                }
            }
            (Value::String(a), Value::String(b)) => {
                if !self.texts(a, b) {
                    self.differ(path, a.as_str(), b.as_str());
                }
            }
            (real, ours) if real == ours => {}
            (real, ours) => self.differ(path, short(real), short(ours)),
        }
    }

    fn field(
        &mut self,
        place: &str,
        key: &str,
        parent: &serde_json::Map<String, Value>,
        real: &Value,
        ours: &Value,
    ) {
        if let (true, Some(uid), Some(time)) =
            (TIMES.contains(&key), parent.get("uid").and_then(Value::as_str), ours.as_str())
        {
            self.dictionary.times.insert((uid.to_owned(), key.to_owned()), time.to_owned());
        }
        match (key, real, ours) {
            ("description", Value::String(_), Value::String(_)) if place.contains("columnDefinitions") => {}
            ("resourceVersion", Value::String(a), Value::String(b))
                if place.ends_with("metadata.resourceVersion") =>
            {
                self.dictionary.revision(a, b);
                let known = !parent.contains_key("name") || self.dictionary.unify(Mask::Revision, a, b);
                if !known || a.is_empty() != b.is_empty() {
                    self.differ(place, a.as_str(), b.as_str());
                }
            }
            ("serverAddress", Value::String(a), Value::String(b)) => {
                if !self.dictionary.unify(Mask::Server, a, b) {
                    self.differ(place, a.as_str(), b.as_str());
                }
            }
            ("managedFields", Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                // Between the same two writes a second may end for one server and not for the other.
                if !place.contains("emplate") && !in_order(b) {
                    self.differ(place, "sorted", "not sorted");
                }
                let uid = parent.get("uid").and_then(Value::as_str).unwrap_or_default();
                for entry in b {
                    if let Some(time) = entry.get("time").and_then(Value::as_str) {
                        let key = (uid.to_owned(), owner(entry).join(" "));
                        self.dictionary.times.insert(key, time.to_owned());
                    }
                }
                let [a, b] = [a, b].map(|list| {
                    let mut list = list.clone();
                    list.sort_by_key(owner);
                    Value::Array(list)
                });
                self.walk(place, &a, &b);
            }
            ("continue", Value::String(a), Value::String(b)) if place.ends_with("metadata.continue") => {
                self.dictionary.unify(Mask::Page, a, b);
            }
            ("name", Value::String(a), Value::String(b)) if a != b && parent.contains_key("generateName") => {
                let prefix = parent.get("generateName").and_then(Value::as_str).unwrap_or_default();
                let made = |name: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.len() == 5);
                if !(made(a) && made(b) && self.dictionary.unify(Mask::Name, a, b)) {
                    self.differ(place, a.as_str(), b.as_str());
                }
            }
            (_, Value::Number(a), Value::Number(b)) if key.ends_with("odePort") => {
                let given = |number: &serde_json::Number| {
                    number.as_i64().is_some_and(|n| (30000..=32767).contains(&n))
                };
                let alike =
                    given(a) && given(b) && self.dictionary.unify(Mask::Port, &a.to_string(), &b.to_string());
                if !alike && a != b {
                    self.differ(place, a.to_string(), b.to_string());
                }
            }
            ("cells", Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                for (real, ours) in a.iter().zip(b) {
                    if !is_age(real) || !is_age(ours) {
                        self.walk(&format!("{place}[]"), real, ours);
                    }
                }
            }
            _ => self.walk(place, real, ours),
        }
    }

    /// Whether two texts say the same.
    fn texts(&mut self, real: &str, ours: &str) -> bool {
        if real == ours {
            return true;
        }
        // Refusals name objects whose names were made.
        let real = self.dictionary.named(real);
        let (a, b) = (tokens(&real), tokens(ours));
        a.len() == b.len()
            && a.iter().zip(&b).all(|((mask, real), (other, ours))| match (mask, other) {
                (None, None) => real == ours,
                (Some(Mask::Time), Some(Mask::Time)) => {
                    real == ours || is_now(real) && is_now(ours) && real.len() == ours.len()
                }
                (Some(Mask::Position), Some(Mask::Position)) => true,
                (Some(mask), Some(other)) if mask == other => self.dictionary.unify(*mask, real, ours),
                _ => false,
            })
    }
}

/// What tells owners apart.
fn owner(entry: &Value) -> [String; 4] {
    ["operation", "manager", "apiVersion", "subresource"]
        .map(|key| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned())
}

/// Whether owners stand as they should: who applied first, then by time, then by name.
fn in_order(entries: &[Value]) -> bool {
    let key = |entry: &Value| {
        let [operation, rest @ ..] = owner(entry);
        let time = entry.get("time").and_then(Value::as_str).unwrap_or_default().to_owned();
        (operation, time, rest)
    };
    entries.is_sorted_by_key(key)
}

/// What an item of a list is called.
fn key_of(item: &Value) -> Option<&str> {
    let places = ["/metadata/name", "/name", "/resource", "/subresource", "/version"];
    places.iter().find_map(|path| item.pointer(path).and_then(Value::as_str))
}

/// Whether the items of a list are known by their names.
fn named(list: &[Value]) -> bool {
    let mut names: Vec<&str> = list.iter().filter_map(key_of).collect();
    names.sort_unstable();
    names.dedup();
    names.len() == list.len()
}

/// A key as it stands in a path: those of maps are all alike.
fn general(path: &str, key: &str) -> String {
    let free =
        [".data", ".labels", ".annotations", ".binaryData", ".matchLabels", ".nodeSelector", ".parameters"];
    match () {
        () if free.iter().any(|end| path.ends_with(end)) => "*".to_owned(),
        () => key.to_owned(),
    }
}

/// A time of these minutes.
fn is_now(text: &str) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let plain = text.get(..19).map(|seconds| format!("{seconds}Z")).unwrap_or_default();
    time::parse_seconds(&plain).is_some_and(|then| (then - i64::try_from(now).unwrap_or(0)).abs() < 600)
}

/// A cell that says how old something is.
fn is_age(cell: &Value) -> bool {
    let Some(text) = cell.as_str() else { return false };
    let units = text.trim_end_matches(['s', 'm', 'h', 'd', 'y']);
    text == "<invalid>"
        || is_now(text)
        || units.len() < text.len()
            && units.chars().all(|c| c.is_ascii_digit() || "smhdy".contains(c))
            && !units.is_empty()
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(3000) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

/// The headers that are compared.
const HEADERS: &[(&str, &str)] = &[
    ("content-type", "header content-type"),
    ("warning", "warnings"),
    ("retry-after", "header retry-after"),
    ("allow", "header allow"),
];

/// Compares two answers.
pub fn answers(dictionary: &mut Dictionary, real: &Answer, ours: &Answer) -> Vec<Difference> {
    let body = |answer: &Answer| {
        answer.json().map_or_else(|| short(&answer.text.as_str().into()), |value| short(&value))
    };
    let said = |answer: &Answer| {
        let value = answer.value();
        let of = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match answer.is_good() {
            true => format!("{} {}", answer.code, body(answer)),
            false if value.is_null() => format!("{} {}", answer.code, body(answer)),
            false => format!("{} {} {}", answer.code, of("reason"), of("message")),
        }
    };
    if real.code != ours.code {
        let category = match (real.is_good(), ours.is_good(), real.code) {
            _ if real.code == 0 || ours.code == 0 => HUNG_UP,
            (false, true, 400 | 422) => LET_THROUGH,
            (false, true, _) => "done, though the original refuses",
            (true, false, _) => "refused, though the original does it",
            (false, false, _) => "refusal: code",
            (true, true, _) => "code",
        };
        let path = format!("{} -> {}", real.code, ours.code);
        return vec![Difference { category, path, real: said(real), ours: said(ours) }];
    }
    let mut out = Vec::new();
    for (name, category) in HEADERS {
        let (a, b) = (real.header(name), ours.header(name));
        if a != b {
            out.push(Difference { category, path: String::new(), real: a.join(" | "), ours: b.join(" | ") });
        }
    }
    match (real.json(), ours.json()) {
        (Some(a), Some(b)) if !real.is_good() => out.extend(refusals(dictionary, &a, &b)),
        (Some(a), Some(b)) => {
            let table = a.get("kind").and_then(Value::as_str) == Some("Table");
            out.extend(Comparer::new(dictionary, if table { "table" } else { "body" }).values(&a, &b));
        }
        _ => {
            if let (Some(a), Some(b)) = (yaml_of(real), yaml_of(ours)) {
                out.extend(match real.is_good() {
                    true => Comparer::new(dictionary, "body").values(&a, &b),
                    false => refusals(dictionary, &a, &b),
                });
            }
            // Where the values differ, the texts do.
            if out.is_empty() && !Comparer::new(dictionary, "text").texts(&real.text, &ours.text) {
                let [a, b] = [real, ours].map(|answer| short(&answer.text.as_str().into()));
                out.push(Difference { category: "text", path: String::new(), real: a, ours: b });
            }
        }
    }
    out
}

/// The value of an answer in YAML.
fn yaml_of(answer: &Answer) -> Option<Value> {
    let yaml = answer.header("content-type").iter().any(|kind| kind == "application/yaml");
    if yaml { super::seeds::from_yaml(&answer.text) } else { None }
}

/// The answer that is none, because a server has hung up.
pub const HUNG_UP: &str = "hung up";
/// What the original refuses and we do not.
pub const LET_THROUGH: &str = "let through";
/// What the original finds more than we do in what both refuse.
pub const FEWER: &str = "fewer causes";

fn refusals(dictionary: &mut Dictionary, real: &Value, ours: &Value) -> Vec<Difference> {
    let causes = |value: &Value| {
        value.pointer("/details/causes").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let name =
        |value: &Value| value.pointer("/details/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (own, other) = (name(real), name(ours));
    if own != other && made_alike(&own, &other) {
        dictionary.unify(Mask::Name, &own, &other);
    }
    let (a, b) = (causes(real), causes(ours));
    let invalid = real.get("reason").and_then(Value::as_str) == Some("Invalid");
    if invalid && !b.is_empty() && a.len() > b.len() && b.iter().all(|cause| a.contains(cause)) {
        let text =
            |value: &Value| value.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
        return vec![Difference { category: FEWER, path: String::new(), real: text(real), ours: text(ours) }];
    }
    let found = Comparer::new(dictionary, "refusal: message").values(real, ours);
    let sort = |path: &str| match path {
        ".message" => "refusal: message",
        ".reason" => "refusal: reason",
        _ => "refusal: details",
    };
    found.into_iter().map(|one| Difference { category: sort(&one.path), ..one }).collect()
}

/// Whether two names are made of the same beginning.
fn made_alike(real: &str, ours: &str) -> bool {
    const END: usize = 5;
    let made = |name: &str| {
        let start = name.len().checked_sub(END)?;
        let (start, end) = (name.get(..start)?.to_owned(), name.get(start..)?);
        end.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)).then_some(start)
    };
    made(real).is_some() && made(real) == made(ours)
}

/// Whether two refusals say the same, but not in the same order.
pub fn only_order(real: &Answer, ours: &Answer) -> bool {
    let (mut real_causes, mut our_causes) = (causes(real), causes(ours));
    let differ = real_causes != our_causes;
    real_causes.sort();
    our_causes.sort();
    differ && real.code == ours.code && real_causes == our_causes
}

/// What a refusal names, in its order.
fn causes(answer: &Answer) -> Vec<String> {
    let value = yaml_of(answer).unwrap_or_else(|| answer.value());
    let list = value.pointer("/details/causes").and_then(Value::as_array).cloned().unwrap_or_default();
    list.iter().map(Value::to_string).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(real: Value, ours: Value) -> Vec<String> {
        let found = Comparer::new(&mut Dictionary::default(), "body").values(&real, &ours);
        found
            .into_iter()
            .map(|one| format!("{} {}: {} / {}", one.category, one.path, one.real, one.ours))
            .collect()
    }

    const U1: &str = "11111111-1111-1111-1111-111111111111";
    const U2: &str = "22222222-2222-2222-2222-222222222222";
    const U3: &str = "33333333-3333-3333-3333-333333333333";

    #[test]
    fn what_each_server_makes_itself_stands_for_the_others() {
        let real = json!({"metadata": {"name": "a", "uid": U1, "resourceVersion": "7"}, "labels": {"x": U1}});
        let ours = json!({"metadata": {"name": "a", "uid": U2, "resourceVersion": "3"}, "labels": {"x": U2}});
        assert_eq!(found(real.clone(), ours), [""; 0]);
        let mixed =
            json!({"metadata": {"name": "a", "uid": U2, "resourceVersion": "3"}, "labels": {"x": U3}});
        assert_eq!(found(real, mixed).len(), 1);
    }

    #[test]
    fn every_broken_answer_is_found() {
        let good = json!({"metadata": {"name": "a", "creationTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.0.1"}, "status": {}});
        let breaks: &[(&str, Value)] = &[
            ("/metadata/name", json!("b")),
            ("/metadata/creationTimestamp", json!("2024-01-01T00:00:01Z")),
            ("/spec/ports/0/port", json!("80")),
            ("/spec/ports", json!([])),
            ("/spec/clusterIP", json!("10.97.0.1")),
            ("/status", Value::Null),
        ];
        for (path, broken) in breaks {
            let mut ours = good.clone();
            *ours.pointer_mut(path).unwrap() = broken.clone();
            assert_eq!(found(good.clone(), ours).len(), 1, "{path}");
        }
    }

    #[test]
    fn requests_are_said_in_our_words() {
        let mut dictionary = Dictionary::default();
        assert!(dictionary.unify(Mask::Uid, U1, U2) && !dictionary.unify(Mask::Uid, U1, U3));
        dictionary.revision("7", "3");
        let body = json!({"metadata": {"uid": U1, "resourceVersion": "7"}, "data": {"n": "7"}});
        let ours = dictionary.translate(&Request::put("/x", body).with("resourceVersion", "7"));
        assert_eq!(
            ours.body,
            Body::Json(json!({"metadata": {"uid": U2, "resourceVersion": "3"}, "data": {"n": "7"}}))
        );
        assert_eq!(ours.address(), "/x?resourceVersion=3");
    }

    #[test]
    fn owners_are_compared_by_name_and_each_list_has_its_own_order() {
        let entry =
            |manager: &str, time: &str| json!({"manager": manager, "operation": "Update", "time": time});
        let of = |list: [Value; 2]| json!({"metadata": {"name": "a", "managedFields": list}});
        let (early, late) = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z");
        let real = of([entry("b", early), entry("c", early)]);
        assert_eq!(
            found(real.clone(), of([entry("c", early), entry("b", late)])).len(),
            1,
            "a time that is not now"
        );
        assert!(found(real.clone(), of([entry("c", late), entry("b", early)]))[0].contains("not sorted"));
        assert_eq!(found(real.clone(), real), [""; 0]);
    }

    #[test]
    fn names_that_were_made_stand_for_each_other_in_refusals() {
        let refusal = |name: &str| json!({"message": format!("x {name:?} y"), "details": {"name": name}});
        let found = |a: &str, b: &str| refusals(&mut Dictionary::default(), &refusal(a), &refusal(b)).len();
        assert_eq!(
            (found("s-bcdfg", "s-xz245"), found("s-bcdfg", "t-xz245"), found("s-a", "s-b")),
            (0, 2, 2)
        );
    }

    #[test]
    fn the_order_of_causes_is_told_from_their_words() {
        let answer = |causes: Value| Answer {
            code: 422,
            text: json!({"details": {"causes": causes}}).to_string(),
            ..Answer::default()
        };
        let (a, b) = (json!({"field": "a"}), json!({"field": "b"}));
        assert!(only_order(&answer(json!([a, b])), &answer(json!([b, a]))));
        assert!(!only_order(&answer(json!([a, b])), &answer(json!([a, a]))));
    }

    #[test]
    fn ages_are_ages_of_all_sizes_and_nothing_else() {
        assert!(["0s", "119s", "3m27s", "<invalid>"].iter().all(|text| is_age(&json!(text))));
        assert!(!["s", "a1s", "1", "web", ""].iter().any(|text| is_age(&json!(text))));
    }
}
