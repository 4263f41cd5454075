//! The small kinds of the recordings, and our answer to a request as the original's program gives it.

use std::collections::BTreeMap;

use podium_fieldmanager::managed::{self, Cause, Error, Owner, Owners, Scope, Versions};
use podium_fieldmanager::{FieldSet, patch};
use podium_schema::shape::{ShapeId, Shapes};
use podium_schema::{from_openapi, from_structural};
use serde_json::{Value, json};

/// The time of all writes.
pub const NOW: &str = "2030-01-01T00:00:00Z";

pub struct World {
    pub shapes: Shapes,
    pub names: BTreeMap<String, ShapeId>,
    pub versions: BTreeMap<String, ShapeId>,
}

pub fn definition() -> Value {
    serde_json::from_str(include_str!("definition.json")).unwrap()
}

impl Versions for World {
    fn shape(&self, version: &str) -> Option<ShapeId> {
        self.versions.get(version).copied()
    }

    fn convert(&self, object: &Value, version: &str) -> Result<Value, String> {
        Ok(managed::renamed(object, version))
    }
}

impl World {
    pub fn new() -> Self {
        let document: Value = serde_json::from_str(include_str!("schemas.json")).unwrap();
        let mut shapes = Shapes::default();
        let names = from_openapi(&mut shapes, [&document]);
        let mut versions = BTreeMap::new();
        for version in definition()["spec"]["versions"].as_array().unwrap() {
            let schema = &version["schema"]["openAPIV3Schema"];
            let id = from_structural(&mut shapes, schema, names["ObjectMeta"]);
            versions.insert(format!("ex.io/{}", version["name"].as_str().unwrap()), id);
        }
        World { shapes, names, versions }
    }

    /// What we answer.
    pub fn answer(&self, request: &Value) -> Result<Value, String> {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        let parse = |key: &str| serde_json::from_str::<Value>(text(key)).unwrap();
        let live = request.get("live").filter(|live| !live.is_null());
        let scope = Scope {
            shapes: &self.shapes,
            versions: self,
            version: text("apiVersion"),
            kind: text("kind"),
            subresource: text("subresource"),
            now: NOW,
        };
        let map = |key: &str| request[key].as_object().cloned().unwrap_or_default();
        match text("op") {
            "apply" => {
                let force = request["force"] == true;
                let applied = managed::apply(&scope, live, &request["config"], text("manager"), force);
                written(applied.map(|applied| applied.object))
            }
            "update" => written(managed::update(&scope, live, request["new"].clone(), text("manager"))),
            "strategic" => {
                let name =
                    |id| self.names.iter().find(|(_, other)| **other == id).map(|(name, _)| name.clone());
                let id = self.names[text("kind")];
                let patched = patch::strategic(&self.shapes, id, &name, map("live"), map("new"));
                patched.map(Value::Object).map_err(|error| error.to_string())
            }
            "json" => {
                let patched = patch::json(parse("a"), &parse("b"));
                patched.map(|document| json!({"document": document})).map_err(|error| error.to_string())
            }
            "merge" => {
                let patched = patch::merge(parse("a"), parse("b"));
                patched.map(|document| json!({"document": document})).map_err(|error| error.to_string())
            }
            "sets" => sets(&parse("a"), &parse("b")),
            other => panic!("unknown op {other}"),
        }
    }
}

/// A write as the original's program tells it: the object and its owners, or the text of the error.
pub fn written(result: Result<Value, Error>) -> Result<Value, String> {
    let mut object = match result {
        Ok(object) => object,
        Err(Error::BadRequest(message)) => return Err(format!("400 BadRequest\n{message}\n")),
        Err(Error::Failed(message)) => return Err(message),
        Err(Error::Conflict(conflicts)) => {
            let line = |cause: Cause| format!("FieldManagerConflict|{}|{}", cause.message, cause.field);
            let mut causes: Vec<String> = conflicts.causes().into_iter().map(line).collect();
            causes.sort();
            return Err(format!("409 Conflict\n{conflicts}\n{}", causes.join("\n")));
        }
    };
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let entries = metadata.and_then(|metadata| metadata.remove("managedFields")).unwrap_or_default();
    let owners = Owners::read(&entries).unwrap();
    let line = |(owner, time): (&Owner<'_>, Option<&str>)| {
        let time = time.map(|time| if time == NOW { "now" } else { time }).unwrap_or_default();
        let fields = owner.fields.to_json();
        json!([owner.manager, owner.operation.word(), owner.version, time, owner.subresource, fields])
    };
    let managers: Vec<Value> = owners.sorted().into_iter().map(line).collect();
    let managers = if managers.is_empty() { Value::Null } else { Value::Array(managers) };
    Ok(json!({"object": object, "managers": managers}))
}

fn sets(a: &Value, b: &Value) -> Result<Value, String> {
    let (Ok(a), Ok(b)) = (FieldSet::read(a), FieldSet::read(b)) else { return Err("bad".to_owned()) };
    let mut paths = String::new();
    a.each_path(&mut |path| {
        path.iter().for_each(|step| paths.push_str(&step.to_string()));
        paths.push('\n');
    });
    Ok(json!({
        "paths": paths, "same": a.to_json(), "union": a.union(&b).to_json(),
        "difference": a.difference(&b).to_json(), "recursive": a.without(&b).to_json(),
        "intersection": a.intersection(&b).to_json(), "leaves": a.leaves().to_json(),
    }))
}
