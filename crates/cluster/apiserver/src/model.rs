//! What objects of a resource are: read, written, converted, looked at. Built-in kinds by their table, all others by
//! their definitions.

use std::borrow::Cow;

use podium_fieldmanager::FieldSet;
use podium_fieldmanager::managed::{Filter, Scope, Versions, renamed};
use podium_goyaml::{json as gojson, yaml};
use podium_meta::GroupVersionKind;
use podium_resources::stored::{self, convert};
use podium_resources::typed::json::{JsonError, Read};
use podium_resources::typed::protobuf::ProtobufError;
use podium_resources::typed::write::to_json;
use podium_resources::{field_value, kinds, reset_fields, selectable_fields};
use podium_schema::shape::{ShapeId, Shapes};
use podium_store::{Draft, Object};
use serde_json::{Value, json};

use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Kubernetes' own envelope with protobuf.
    Protobuf,
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Format {
    /// By the type that the client says.
    pub fn read(content_type: &str, custom: bool) -> Outcome<Self> {
        let media = content_type.split(';').next().unwrap_or_default().trim();
        match media {
            "" | JSON | "text/json" => Ok(Self::Json),
            YAML | "text/yaml" | "application/x-yaml" => Ok(Self::Yaml),
            PROTOBUF if !custom => Ok(Self::Protobuf),
            _ => Err(Refusal::unsupported_media(&[JSON, YAML, PROTOBUF])),
        }
    }
}

/// An object that was read from a body.
#[derive(Debug, Clone)]
pub struct Given {
    /// The object, with its defaults, in the version of the request.
    pub object: Value,
    /// What strict reading complains of.
    pub strict: Vec<String>,
}

/// Reads a body of a kind that is built in.
pub fn decode_built_in(body: &[u8], format: Format, kind: &GroupVersionKind) -> Outcome<Given> {
    let yaml_text;
    let read: Result<Read, String> = match format {
        Format::Protobuf => {
            let read = stored::decode_protobuf(body, Some(kind)).map_err(|error| match error {
                ProtobufError::UnknownKind { .. } => Err(wrong_kind(&error.to_string(), kind)),
                error => Ok(error.to_string()),
            });
            match read {
                Ok(read) => Ok(read),
                Err(Ok(why)) => Err(why),
                Err(Err(refusal)) => return Err(refusal),
            }
        }
        Format::Json => decode_json(body, kind)?,
        Format::Yaml => {
            yaml_text = yaml_to_json(body).map_err(|why| unrecognized(kind, &no_yaml(&why), body))?;
            decode_json(yaml_text.as_bytes(), kind)?
        }
    };
    let read = read.map_err(|why| unrecognized(kind, &why, body))?;
    if read.kind.api_version() != kind.api_version() {
        let same = read.kind.kind == kind.kind && read.kind.group == kind.group;
        return Err(if same || read.kind.kind == kind.kind {
            Refusal::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                read.kind.api_version(),
                kind.api_version()
            ))
        } else {
            other_kind(&read.kind, kind)
        });
    }
    if read.kind.kind != kind.kind {
        return Err(other_kind(&read.kind, kind));
    }
    Ok(Given { object: read.value, strict: read.strict })
}

/// A body as it was sent, without its managed fields.
pub fn sent(body: &[u8], format: Format) -> Option<Value> {
    let text;
    let mut value: Value = match format {
        Format::Json => serde_json::from_slice(body).ok()?,
        Format::Yaml => {
            text = yaml_to_json(body).ok()?;
            serde_json::from_str(&text).ok()?
        }
        Format::Protobuf => podium_resources::typed::protobuf::transcode(body, None).ok()?,
    };
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    Some(value)
}

/// Reads JSON; errors that come after the kind was found are refused here.
fn decode_json(body: &[u8], kind: &GroupVersionKind) -> Outcome<Result<Read, String>> {
    match stored::decode(body, kind) {
        Ok(read) => Ok(Ok(read)),
        Err(error @ (JsonError::Value(_) | JsonError::Deep)) => {
            let said = podium_resources::typed::json::kind_of(body, kind).unwrap_or_else(|_| kind.clone());
            Err(Refusal::bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: {error}",
                said.kind, said.version, kind.kind
            )))
        }
        Err(JsonError::UnknownKind { api_version, kind: said }) => {
            let of = GroupVersionKind::new(&api_version, &said);
            if said == kind.kind {
                return Err(Refusal::bad_request(format!(
                    "the API version in the data ({api_version}) does not match the expected API version ({})",
                    kind.api_version()
                )));
            }
            let why = format!(
                "no kind {said:?} is registered for version {api_version:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\""
            );
            Err(Refusal::bad_request(format!(
                "{} in version {:?} cannot be handled as a {}: {why}",
                of.kind, of.version, kind.kind
            )))
        }
        Err(other) => Ok(Err(other.to_string())),
    }
}

fn wrong_kind(why: &str, kind: &GroupVersionKind) -> Refusal {
    Refusal::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: {why}",
        kind.kind, kind.version, kind.kind
    ))
}

fn other_kind(said: &GroupVersionKind, kind: &GroupVersionKind) -> Refusal {
    Refusal::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: converting ({}.{}) to ({}.{}): unknown conversion",
        said.kind,
        said.version,
        kind.kind,
        said.version,
        said.kind,
        package(&kind.group),
        kind.kind
    ))
}

/// The original's name for what it keeps of a group.
pub fn package(group: &str) -> &str {
    match group.split('.').next() {
        None | Some("") => "core",
        Some(first) => first,
    }
}

/// What is wrong with YAML, without what was to become of it.
pub fn no_yaml(why: &str) -> String {
    why.strip_prefix("error converting YAML to JSON: ").unwrap_or(why).to_owned()
}

/// A body that cannot be read, whatever it is.
pub fn unrecognized(kind: &GroupVersionKind, why: &str, body: &[u8]) -> Refusal {
    Refusal::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        kind.kind,
        summary(body)
    ))
}

/// The beginning of a body, for errors.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let start = body.get(..SHOWN).unwrap_or(body);
    let more = if body.len() > SHOWN { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

/// YAML as JSON.
pub fn yaml_to_json(body: &[u8]) -> Result<String, String> {
    let node = yaml::parse_exact(body, 0).map_err(|error| error.to_string())?;
    let text = gojson::to_raw_string(&&node).map_err(|error| error.to_string())?;
    String::from_utf8(text).map_err(|error| error.to_string())
}

impl Resource {
    /// A stored object in the version of this resource.
    pub fn load(&self, object: &Object) -> Value {
        let value: Value = serde_json::from_slice(object.body()).unwrap_or_default();
        if self.is_current(object) { value } else { self.serve(value) }
    }

    /// A value of the stored version in the version of this resource.
    pub fn serve(&self, mut value: Value) -> Value {
        match &self.custom {
            Some(custom) => return custom.serve(value, &self.kind),
            None if self.kind != self.stored => convert(&mut value, &self.kind),
            None => {}
        }
        value
    }

    /// A value of this resource's version in the version that is stored.
    pub fn keep(&self, mut value: Value) -> Value {
        if self.kind == self.stored {
            return value;
        }
        match &self.custom {
            Some(custom) => return custom.keep(value),
            None => convert(&mut value, &self.stored),
        }
        value
    }

    /// Whether the bytes of a stored object can be sent as they are.
    pub fn is_current(&self, object: &Object) -> bool {
        match &self.custom {
            Some(custom) => custom.is_current(object, &self.kind),
            None => self.kind == self.stored,
        }
    }

    /// The text of an object of this resource's version, in the order of its fields.
    pub fn text(&self, value: &Value) -> String {
        match &self.custom {
            Some(_) => value.to_string(),
            None => to_json(&self.kind, value),
        }
    }

    /// An object of the stored version, ready for the store.
    pub fn draft(&self, stored: &Value) -> Outcome<Draft> {
        let text = match &self.custom {
            Some(_) => stored.to_string(),
            None => to_json(&self.stored, stored),
        };
        let mut draft =
            Draft::new(text).map_err(|why| Refusal::internal(format!("cannot be stored: {why}")))?;
        match &self.custom {
            Some(custom) => {
                for (name, value) in custom.selectable(stored, &self.kind) {
                    draft = draft.field(&name, &value);
                }
            }
            None => {
                for name in selectable_fields(&self.stored) {
                    let value = field_value(stored, name);
                    if !value.is_empty() {
                        draft = draft.field(name, &value);
                    }
                }
            }
        }
        Ok(draft)
    }

    /// A bookmark: of a built-in kind it has all that every object has.
    pub fn bookmark(&self, text: String) -> String {
        let Some(mut zero) = self.zero() else { return text };
        let own: Value = serde_json::from_str(&text).unwrap_or_default();
        if let (Some(zero), Value::Object(own)) = (zero.as_object_mut(), own) {
            zero.extend(own);
        }
        // What the server itself keeps as a number is one.
        let counts = ["Deployment", "ReplicaSet", "StatefulSet"].iter().any(|kind| self.is("apps", kind));
        if let Some(spec) = zero.get_mut("spec").and_then(Value::as_object_mut).filter(|_| counts) {
            spec.insert("replicas".to_owned(), json!(0));
        }
        if self.is("apps", "DaemonSet")
            && let Some(metadata) = zero.get_mut("metadata").and_then(Value::as_object_mut)
        {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(TEMPLATES.to_owned(), "0".into());
            }
        }
        self.text(&zero)
    }

    /// The metadata of a stored object, as it is sent without the rest.
    pub fn metadata<'o>(&self, object: &'o Object) -> Cow<'o, [u8]> {
        // The server keeps this as a field, and tells it in an annotation of the whole object only.
        let told = self.is("apps", "DaemonSet") && has(object.metadata(), TEMPLATES.as_bytes());
        if !told {
            return Cow::Borrowed(object.metadata());
        }
        Cow::Owned(self.metadata_of(&self.load(object)).into_bytes())
    }

    /// The metadata of an object in the version of this resource, as it is sent without the rest.
    pub fn metadata_of(&self, object: &Value) -> String {
        let mut metadata = object.get("metadata").cloned().unwrap_or_default();
        if self.is("apps", "DaemonSet")
            && let Some(fields) = metadata.as_object_mut()
            && let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut)
        {
            annotations.remove(TEMPLATES);
            if annotations.is_empty() {
                fields.remove("annotations");
            }
        }
        let alone = self.text(&json!({"metadata": metadata}));
        let inner = alone.strip_prefix("{\"metadata\":").and_then(|rest| rest.strip_suffix('}'));
        inner.unwrap_or("{}").to_owned()
    }

    /// Makes of an object of a built-in kind what the original's store keeps of it.
    pub fn forget_empty(&self, object: &mut Value) {
        if self.custom.is_none() {
            stored::forget_empty(&self.kind, object);
        }
    }

    /// An object of a built-in kind that nobody has written anything into.
    pub fn zero(&self) -> Option<Value> {
        let id = kinds().type_of(&self.kind).filter(|_| self.custom.is_none())?;
        let (mut zero, _) = podium_resources::typed::json::read_as(kinds(), id, b"{}").ok()?;
        let fields = zero.as_object_mut()?;
        fields.insert("apiVersion".to_owned(), self.kind.api_version().into());
        fields.insert("kind".to_owned(), self.kind.kind.as_str().into());
        Some(zero)
    }

    /// What is needed to tell who owns which field after a write to a part of an object.
    pub fn shapes(&self) -> &Shapes {
        match &self.custom {
            Some(custom) => custom.shapes(),
            None => kinds().shapes(),
        }
    }

    /// The versions of the kind, with what writes to a part leave alone.
    pub fn tracked<'r>(&'r self, part: &str) -> Tracked<'r> {
        let except = match &self.custom {
            Some(custom) => custom.reset_fields(&self.kind, part),
            None => reset_fields(&self.kind, part).to_vec(),
        };
        let paths: Vec<Vec<&'static str>> = except.iter().map(|path| path.split('.').collect()).collect();
        let paths: Vec<&[&'static str]> = paths.iter().map(Vec::as_slice).collect();
        let filter = (!paths.is_empty()).then(|| Filter::Except(FieldSet::of(&paths)));
        Tracked { resource: self, filter }
    }
}

/// The annotation with the number of a DaemonSet's templates.
const TEMPLATES: &str = "deprecated.daemonset.template.generation";

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// The versions of a kind, as those who own fields see them.
pub struct Tracked<'r> {
    resource: &'r Resource,
    filter: Option<Filter>,
}

impl Versions for Tracked<'_> {
    fn shape(&self, version: &str) -> Option<ShapeId> {
        let kind = GroupVersionKind::new(version, &self.resource.kind.kind);
        match &self.resource.custom {
            Some(custom) => custom.shape(&kind),
            None => kinds().shape_of(&kind),
        }
    }

    fn convert(&self, object: &Value, version: &str) -> Result<Value, String> {
        let kind = GroupVersionKind::new(version, &self.resource.kind.kind);
        if self.resource.custom.is_some() {
            return Ok(renamed(object, version));
        }
        let mut object = object.clone();
        convert(&mut object, &kind);
        Ok(object)
    }

    fn filter(&self, _version: &str) -> Option<&Filter> {
        self.filter.as_ref()
    }

    fn zero(&self) -> Option<Value> {
        self.resource.zero()
    }
}

/// A write to a part of an object, as those who own fields see it.
pub fn scope<'a>(
    resource: &'a Resource,
    tracked: &'a Tracked<'a>,
    version: &'a str,
    part: &'a str,
    now: &'a str,
) -> Scope<'a> {
    Scope {
        shapes: resource.shapes(),
        versions: tracked,
        version,
        kind: &resource.kind.kind,
        subresource: part,
        now,
    }
}
