//! What is asked of a renderer, and what it answers.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use crate::text;

/// The Helm major whose behaviour is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Dialect {
    /// Helm 3.22.0.
    Helm3,
    /// Helm 4.3.1.
    #[default]
    Helm4,
}

impl Dialect {
    /// Both, in the order in which they are reported.
    pub const ALL: [Dialect; 2] = [Dialect::Helm3, Dialect::Helm4];

    /// `3` or `4`.
    pub fn major(self) -> &'static str {
        match self {
            Dialect::Helm3 => "3",
            Dialect::Helm4 => "4",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "helm{}", self.major())
    }
}

/// A file by its path inside the chart (or beside it).
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct File {
    /// Slash-separated path.
    pub name: String,
    /// Content, which need not be UTF-8.
    pub data: Vec<u8>,
}

impl File {
    /// A file of text.
    pub fn new(name: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        File { name: name.into(), data: data.into() }
    }
}

/// One render: a chart in memory, values, release facts and switches.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RenderRequest {
    /// Whose rules.
    pub dialect: Dialect,
    /// Take the files of [`crate::world`] and put `files` on top.
    pub on_world: bool,
    /// The chart's files.
    pub files: Vec<File>,
    /// Files in the working directory, for `values` and `set_file`.
    pub side: Vec<File>,
    /// `-f`: names of side files.
    pub values: Vec<String>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--set-string`.
    pub set_string: Vec<String>,
    /// `--set-json`.
    pub set_json: Vec<String>,
    /// `--set-file`.
    pub set_file: Vec<String>,
    /// `--set-literal`.
    pub set_literal: Vec<String>,
    /// Release name.
    pub release: String,
    /// `--namespace`.
    pub namespace: String,
    /// `--is-upgrade`.
    pub upgrade: bool,
    /// `--kube-version`, empty for the default.
    pub kube_version: String,
    /// `--api-versions`.
    pub api_versions: Vec<String>,
    /// `--include-crds`.
    pub include_crds: bool,
    /// `--no-hooks`.
    pub no_hooks: bool,
    /// `--skip-tests`.
    pub skip_tests: bool,
    /// `--skip-schema-validation`.
    pub skip_schema: bool,
    /// Ask for standard output; else for the engine's file map, which is not split, sorted or checked, and
    /// for which neither the release name nor kubeVersion is looked at.
    pub stdout: bool,
}

impl RenderRequest {
    /// A render of one template on top of the shared world.
    pub fn template(text: impl Into<Vec<u8>>) -> Self {
        RenderRequest {
            on_world: true,
            files: vec![File::new("templates/t.txt", text)],
            set: vec![crate::world::SET.to_owned()],
            ..RenderRequest::named()
        }
    }

    /// A render of a chart of its own.
    pub fn chart(files: Vec<File>) -> Self {
        RenderRequest { files, ..RenderRequest::named() }
    }

    fn named() -> Self {
        RenderRequest { release: "rel".to_owned(), namespace: "ns".to_owned(), ..RenderRequest::default() }
    }

    /// The files in path order, as a walk through the directory gives them; later duplicates win.
    pub fn chart_files(&self) -> Vec<File> {
        let mut all: BTreeMap<&str, &[u8]> = BTreeMap::new();
        let world = if self.on_world { crate::world::files() } else { &[] };
        for file in world.iter().chain(&self.files) {
            all.insert(&file.name, &file.data);
        }
        all.into_iter().map(|(name, data)| File::new(name, data)).collect()
    }

    /// The JSON form, without what has its default; used on the wire and in recordings.
    pub fn to_json(&self) -> Map<String, Value> {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value, default: bool| {
            if !default {
                out.insert(key.to_owned(), value);
            }
        };
        let texts = |list: &[String]| Value::from(list.to_vec());
        put("base", json!("world"), !self.on_world);
        put("files", files_to_json(&self.files), self.files.is_empty());
        put("side", files_to_json(&self.side), self.side.is_empty());
        for (key, list) in [
            ("values", &self.values),
            ("set", &self.set),
            ("setString", &self.set_string),
            ("setJson", &self.set_json),
            ("setFile", &self.set_file),
            ("setLiteral", &self.set_literal),
            ("apiVersions", &self.api_versions),
        ] {
            put(key, texts(list), list.is_empty());
        }
        for (key, value, default) in [
            ("release", &self.release, "rel"),
            ("namespace", &self.namespace, "ns"),
            ("kubeVersion", &self.kube_version, ""),
        ] {
            put(key, json!(value), value == default);
        }
        for (key, on) in [
            ("upgrade", self.upgrade),
            ("includeCrds", self.include_crds),
            ("noHooks", self.no_hooks),
            ("skipTests", self.skip_tests),
            ("skipSchema", self.skip_schema),
            ("stdout", self.stdout),
        ] {
            put(key, json!(on), !on);
        }
        out
    }

    /// The reverse of [`RenderRequest::to_json`]; `None` when a field has the wrong type.
    pub fn from_json(from: &Map<String, Value>) -> Option<Self> {
        let texts = |key: &str| match from.get(key) {
            None => Some(Vec::new()),
            Some(list) => {
                list.as_array()?.iter().map(|v| v.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
            }
        };
        let text = |key: &str, default: &str| match from.get(key) {
            None => Some(default.to_owned()),
            Some(v) => v.as_str().map(str::to_owned),
        };
        let flag = |key: &str| from.get(key).and_then(Value::as_bool).unwrap_or(false);
        let files = |key: &str| from.get(key).map_or(Some(Vec::new()), files_from_json);
        Some(RenderRequest {
            dialect: Dialect::default(),
            on_world: from.contains_key("base"),
            files: files("files")?,
            side: files("side")?,
            values: texts("values")?,
            set: texts("set")?,
            set_string: texts("setString")?,
            set_json: texts("setJson")?,
            set_file: texts("setFile")?,
            set_literal: texts("setLiteral")?,
            release: text("release", "rel")?,
            namespace: text("namespace", "ns")?,
            upgrade: flag("upgrade"),
            kube_version: text("kubeVersion", "")?,
            api_versions: texts("apiVersions")?,
            include_crds: flag("includeCrds"),
            no_hooks: flag("noHooks"),
            skip_tests: flag("skipTests"),
            skip_schema: flag("skipSchema"),
            stdout: flag("stdout"),
        })
    }
}

/// A list of files as `[{"name": …, "data": …}]`.
pub fn files_to_json(files: &[File]) -> Value {
    files.iter().map(|f| json!({ "name": f.name, "data": text::to_json(&f.data) })).collect()
}

/// The reverse of [`files_to_json`].
pub fn files_from_json(value: &Value) -> Option<Vec<File>> {
    let one = |v: &Value| Some(File::new(v.get("name")?.as_str()?, text::from_json(v.get("data")?)?));
    value.as_array()?.iter().map(one).collect()
}

/// What a render gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The rendered files by template name.
    Files(BTreeMap<String, Vec<u8>>),
    /// What the command prints.
    Stdout(Vec<u8>),
    /// The message with its `Error: ` prefix.
    Error(Vec<u8>),
    /// The renderer itself broke: a panic, a time-out, a process that died.
    Crash(String),
}

impl Outcome {
    /// Whether the render was refused in the ordinary way.
    pub fn is_error(&self) -> bool {
        matches!(self, Outcome::Error(_))
    }

    /// The JSON form used in recordings.
    pub fn to_json(&self) -> Value {
        match self {
            // One template gives one file, and a list of one would only be longer to read.
            Outcome::Files(files) if files.len() == 1 && files.contains_key("probe/templates/t.txt") => {
                json!({ "out": files.values().next().map(|data| text::to_json(data)) })
            }
            Outcome::Files(files) => {
                let list: Vec<File> = files.iter().map(|(n, d)| File::new(n, d.as_slice())).collect();
                json!({ "files": files_to_json(&list) })
            }
            Outcome::Stdout(bytes) => json!({ "stdout": text::to_json(bytes) }),
            Outcome::Error(bytes) => json!({ "error": text::to_json(bytes) }),
            Outcome::Crash(text) => json!({ "crash": text }),
        }
    }

    /// The reverse of [`Outcome::to_json`].
    pub fn from_json(value: &Value) -> Option<Self> {
        if let Some(out) = value.get("out") {
            let name = "probe/templates/t.txt".to_owned();
            return Some(Outcome::Files(BTreeMap::from([(name, text::from_json(out)?)])));
        }
        if let Some(files) = value.get("files") {
            let list = files_from_json(files)?;
            return Some(Outcome::Files(list.into_iter().map(|f| (f.name, f.data)).collect()));
        }
        if let Some(bytes) = value.get("stdout") {
            return Some(Outcome::Stdout(text::from_json(bytes)?));
        }
        if let Some(bytes) = value.get("error") {
            return Some(Outcome::Error(text::from_json(bytes)?));
        }
        Some(Outcome::Crash(value.get("crash")?.as_str()?.to_owned()))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match self {
            Outcome::Files(files) => {
                for (name, data) in files {
                    writeln!(f, "[{name}]\n{}", show(data))?;
                }
                Ok(())
            }
            Outcome::Stdout(bytes) => writeln!(f, "[stdout]\n{}", show(bytes)),
            Outcome::Error(bytes) => writeln!(f, "[error]\n{}", show(bytes)),
            Outcome::Crash(text) => writeln!(f, "[crash]\n{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_outcomes_survive_json() {
        let mut request = RenderRequest::template("{{ 1 }}\n");
        request.set = vec!["a=1".to_owned()];
        request.side = vec![File::new("v.yaml", b"\xff".as_slice())];
        request.stdout = true;
        assert_eq!(RenderRequest::from_json(&request.to_json()), Some(request));
        let files = BTreeMap::from([("a".to_owned(), b"x".to_vec()), ("b".to_owned(), vec![0xff])]);
        for outcome in [
            Outcome::Files(files),
            Outcome::Files(BTreeMap::from([("probe/templates/t.txt".to_owned(), b"hi".to_vec())])),
            Outcome::Stdout(b"---\n".to_vec()),
            Outcome::Error(b"Error: x".to_vec()),
            Outcome::Crash("boom".to_owned()),
        ] {
            assert_eq!(Outcome::from_json(&outcome.to_json()), Some(outcome));
        }
    }
}
