//! The columns that a definition gives to lists of its kind.

use podium_meta::partial_json::{PathExtractor, RawJson};
use podium_meta::timestamp;
use serde_json::{Value, json};

use crate::definition::model::Version;
use crate::go::{self, Figure};
use crate::jsonpath::{JsonPath, text};

/// What is said of names in lists.
const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources \
                    may allow a client to request the generation of an appropriate name automatically. Name is primarily \
                    intended for creation idempotence and configuration definition. Cannot be updated. More info: \
                    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
/// What is said of ages.
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not \
                       guaranteed to be set in happens-before order across separate operations. Clients may not set this \
                       value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null \
                       for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/\
                       api-conventions.md#metadata";

/// The columns of one version; the name comes first.
#[derive(Clone, Debug)]
pub struct Columns {
    columns: Vec<(Heading, JsonPath)>,
    quick: Option<Quick>,
}

/// Where the paths of all columns begin, if each begins at a field.
#[derive(Clone, Debug)]
struct Quick {
    extractor: PathExtractor,
    name: usize,
    /// Per column: the number of the part, and how many steps lead to it.
    starts: Vec<(usize, usize)>,
}

impl Quick {
    fn of(columns: &[(Heading, JsonPath)]) -> Option<Self> {
        let mut extractor = PathExtractor::default();
        let name = extractor.add_path(["metadata", "name"]);
        let start = |(_, path): &(Heading, JsonPath)| {
            let fields = path.start()?;
            Some((extractor.add_path(fields.iter().copied()), fields.len()))
        };
        let starts = columns.iter().map(start).collect::<Option<_>>()?;
        Some(Self { extractor, name, starts })
    }
}

/// What stands above a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its name.
    pub name: String,
    /// The type of its cells.
    pub kind: String,
    /// The format of its cells.
    pub format: String,
    /// What it means.
    pub description: String,
    /// Above zero: only shown when more is asked for.
    pub priority: i64,
}

impl Heading {
    /// As a table says it.
    pub fn json(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "format": self.format, "description": self.description,
            "priority": self.priority})
    }
}

impl Columns {
    /// The columns of a version of a definition; without any, the age. A path that cannot be read ends them.
    pub fn of(version: &Value) -> Self {
        let version = Version::read(version);
        let mut columns = Vec::new();
        for column in version.columns.iter() {
            let Ok(path) = JsonPath::parse(&column.path) else { break };
            let description = if column.description.is_empty() {
                format!("Custom resource definition column (in JSONPath format): {}", column.path)
            } else {
                column.description.clone()
            };
            let heading = Heading {
                name: column.name.clone(),
                kind: column.kind.clone(),
                format: column.format.clone(),
                description,
                priority: column.priority,
            };
            columns.push((heading, path));
        }
        if version.columns.is_empty()
            && let Ok(path) = JsonPath::parse(".metadata.creationTimestamp")
        {
            let heading = Heading {
                name: "Age".to_owned(),
                kind: "date".to_owned(),
                format: String::new(),
                description: CREATED.to_owned(),
                priority: 0,
            };
            columns.push((heading, path));
        }
        Self { quick: Quick::of(&columns), columns }
    }

    /// The headings, with the name before them.
    pub fn headings(&self) -> Vec<Heading> {
        let name = Heading {
            name: "Name".to_owned(),
            kind: "string".to_owned(),
            format: "name".to_owned(),
            description: NAME.to_owned(),
            priority: 0,
        };
        std::iter::once(name).chain(self.columns.iter().map(|(heading, _)| heading.clone())).collect()
    }

    /// The cells of an object. How long ago a moment is, in seconds since 1970, is asked of the caller.
    pub fn cells(&self, object: &Value, age: &dyn Fn(i64) -> String) -> Vec<Value> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let mut cells = vec![Value::String(name.to_owned())];
        for (heading, path) in &self.columns {
            let found = path.find(object).ok().and_then(|found| found.into_iter().next());
            cells.push(found.map_or(Value::Null, |value| cell(&heading.kind, value, age)));
        }
        cells
    }

    /// The same from the JSON of an object whose metadata is so many bytes long; nothing if that takes the whole object.
    pub fn cells_of_text(
        &self,
        text: &[u8],
        metadata: usize,
        age: &dyn Fn(i64) -> String,
    ) -> Option<Vec<Value>> {
        let quick = self.quick.as_ref()?;
        let mut found = Vec::new();
        if !quick.extractor.find(text, metadata, &mut found) {
            return None;
        }
        let part = |number: usize| found.get(number).copied().flatten();
        let name = part(quick.name).and_then(RawJson::string).unwrap_or_default();
        let mut cells = vec![Value::String(name.into_owned())];
        for ((heading, path), (number, steps)) in self.columns.iter().zip(&quick.starts) {
            let start = match part(*number) {
                Some(part) => Some(part_value(part)?),
                None => None,
            };
            let found = path.follow_from(*steps, start.as_ref());
            cells.push(found.map_or(Value::Null, |value| cell(&heading.kind, value, age)));
        }
        Some(cells)
    }
}

fn part_value(part: RawJson<'_>) -> Option<Value> {
    serde_json::from_slice(part.bytes()).ok()
}

fn cell(kind: &str, value: &Value, age: &dyn Fn(i64) -> String) -> Value {
    match (kind, value) {
        ("string", value) => text(value).into(),
        ("integer", Value::Number(number)) => match Figure::of(number) {
            Figure::Whole(whole) => whole.into(),
            Figure::Broken(float) => go::whole(float).into(),
        },
        ("number", Value::Number(number)) => match Figure::of(number).float() {
            // Numbers without a fraction are written without one.
            float if float.fract() == 0.0 && float.abs() < 1e15 => (float as i64).into(),
            float => float.into(),
        },
        ("boolean", Value::Bool(flag)) => (*flag).into(),
        ("date", Value::String(text)) if matches!(text.as_str(), "" | "null") => "<unknown>".into(),
        ("date", Value::String(text)) => match timestamp::parse(text, false) {
            Err(_) => "<invalid>".into(),
            Ok((timestamp::ZERO_TIME, 0)) => "<unknown>".into(),
            Ok((seconds, _)) => age(seconds).into(),
        },
        _ => Value::Null,
    }
}
