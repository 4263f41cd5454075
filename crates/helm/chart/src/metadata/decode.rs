//! From YAML to metadata, with the conversions and errors of the Go types.

use podium_goyaml::yaml::types::{ANY, BOOL, Kind, LIST, STRING, STRING_MAP, STRINGS, Struct, Type};
use podium_goyaml::{Map, Node, Value, yaml};

use super::{Dependency, Draft, Error, ImportValue, Lock, Maintainer, Metadata, time};
use crate::dialect::Dialect;

/// The Go types of one package; they differ in their names only.
struct Types {
    package: &'static str,
    metadata: Type,
    lock: Type,
}

macro_rules! types {
    ($package:literal) => {{
        static MAINTAINER: Struct =
            Struct { name: "Maintainer", fields: &[("name", &STRING), ("email", &STRING), ("url", &STRING)] };
        static MAINTAINER_TYPE: Type =
            Type::pointer(concat!($package, ".Maintainer"), Kind::Struct(&MAINTAINER));
        static MAINTAINERS: Type =
            Type::new(concat!("[]*", $package, ".Maintainer"), Kind::List(&MAINTAINER_TYPE));
        static DEPENDENCY: Struct = Struct {
            name: "Dependency",
            fields: &[
                ("name", &STRING),
                ("version", &STRING),
                ("repository", &STRING),
                ("condition", &STRING),
                ("tags", &STRINGS),
                ("enabled", &BOOL),
                ("import-values", &LIST),
                ("alias", &STRING),
            ],
        };
        static DEPENDENCY_TYPE: Type =
            Type::pointer(concat!($package, ".Dependency"), Kind::Struct(&DEPENDENCY));
        static DEPENDENCIES: Type =
            Type::new(concat!("[]*", $package, ".Dependency"), Kind::List(&DEPENDENCY_TYPE));
        static METADATA: Struct = Struct {
            name: "Metadata",
            fields: &[
                ("name", &STRING),
                ("home", &STRING),
                ("sources", &STRINGS),
                ("version", &STRING),
                ("description", &STRING),
                ("keywords", &STRINGS),
                ("maintainers", &MAINTAINERS),
                ("icon", &STRING),
                ("apiVersion", &STRING),
                ("condition", &STRING),
                ("tags", &STRING),
                ("appVersion", &STRING),
                ("deprecated", &BOOL),
                ("annotations", &STRING_MAP),
                ("kubeVersion", &STRING),
                ("dependencies", &DEPENDENCIES),
                ("type", &STRING),
            ],
        };
        static LOCK: Struct = Struct {
            name: "Lock",
            fields: &[("generated", &ANY), ("digest", &STRING), ("dependencies", &DEPENDENCIES)],
        };
        Types {
            package: $package,
            metadata: Type::new(concat!($package, ".Metadata"), Kind::Struct(&METADATA)),
            lock: Type::pointer(concat!($package, ".Lock"), Kind::Struct(&LOCK)),
        }
    }};
}

static TYPES: [Types; 2] = [types!("v2"), types!("chart")];

/// The Go type of an entry of an index: the metadata, embedded, and where the archive is.
pub(crate) static CHART_VERSIONS: Type = {
    static TEXT: Type = Type::new("string", Kind::Promoted("Metadata"));
    static MAINTAINERS: Type = Type::new("[]*chart.Maintainer", Kind::List(&MAINTAINER));
    static MAINTAINER: Type = Type::pointer(
        "chart.Maintainer",
        Kind::Struct(&Struct {
            name: "Maintainer",
            fields: &[("name", &STRING), ("email", &STRING), ("url", &STRING)],
        }),
    );
    static DEPENDENCIES: Type = Type::new("[]*chart.Dependency", Kind::List(&DEPENDENCY));
    static DEPENDENCY: Type = Type::pointer(
        "chart.Dependency",
        Kind::Struct(&Struct {
            name: "Dependency",
            fields: &[
                ("name", &STRING),
                ("version", &STRING),
                ("repository", &STRING),
                ("condition", &STRING),
                ("tags", &STRINGS),
                ("enabled", &BOOL),
                ("import-values", &LIST),
                ("alias", &STRING),
            ],
        }),
    );
    static ENTRY: Type = Type::pointer(
        "repo.ChartVersion",
        Kind::Struct(&Struct {
            name: "ChartVersion",
            fields: &[
                ("name", &TEXT),
                ("home", &TEXT),
                ("sources", &STRINGS),
                ("version", &TEXT),
                ("description", &TEXT),
                ("keywords", &STRINGS),
                ("maintainers", &MAINTAINERS),
                ("icon", &TEXT),
                ("apiVersion", &TEXT),
                ("condition", &TEXT),
                ("tags", &TEXT),
                ("appVersion", &TEXT),
                ("deprecated", &BOOL),
                ("annotations", &STRING_MAP),
                ("kubeVersion", &TEXT),
                ("dependencies", &DEPENDENCIES),
                ("type", &TEXT),
                ("urls", &STRINGS),
                ("created", &ANY),
                ("removed", &BOOL),
                ("digest", &STRING),
                ("checksum", &STRING),
                ("engine", &STRING),
                ("tillerVersion", &STRING),
                ("url", &STRING),
            ],
        }),
    );
    Type::new("repo.ChartVersions", Kind::List(&ENTRY))
};

static CHART_BASE: Type = Type::new(
    "loader.chartBase",
    Kind::Struct(&Struct { name: "chartBase", fields: &[("apiVersion", &STRING)] }),
);

fn types(dialect: &Dialect) -> &'static Types {
    let [v2, chart] = &TYPES;
    if chart.package == dialect.metadata_package { chart } else { v2 }
}

/// The Go type of a `Chart.yaml`.
pub fn metadata_type(dialect: &Dialect) -> &'static Type {
    &types(dialect).metadata
}

/// Reads only the `apiVersion` of a `Chart.yaml`.
pub fn api_version(text: &[u8]) -> Result<String, yaml::Error> {
    if let Some(version) = yaml::quick_field(text, "apiVersion") {
        return Ok(version);
    }
    let node = yaml::parse_as(text, 0, &CHART_BASE)?;
    Ok(node.get("apiVersion").and_then(Node::as_str).unwrap_or_default().to_owned())
}

impl Draft {
    /// Reads a `Chart.yaml` or `requirements.yaml` over what was read before: what it does not say stays.
    ///
    /// Lists are merged entry by entry, as Go's decoder does it.
    pub fn read(&mut self, text: &[u8], dialect: &Dialect) -> Result<(), Error> {
        let node = yaml::parse_as(text, 0, &types(dialect).metadata).map_err(Error::Yaml)?;
        let Some(map) = node.as_map() else { return Ok(()) };
        self.forget_nulls(text);
        self.take(map);
        Ok(())
    }

    /// Reads what was decoded into the Go type.
    pub fn take(&mut self, map: &Map) {
        let metadata = &mut self.metadata;
        let strings = [
            ("name", &mut metadata.name),
            ("home", &mut metadata.home),
            ("version", &mut metadata.version),
            ("description", &mut metadata.description),
            ("icon", &mut metadata.icon),
            ("apiVersion", &mut metadata.api_version),
            ("condition", &mut metadata.condition),
            ("tags", &mut metadata.tags),
            ("appVersion", &mut metadata.app_version),
            ("kubeVersion", &mut metadata.kube_version),
            ("type", &mut metadata.kind),
        ];
        for (name, field) in strings {
            read_string(map, name, field);
        }
        read_strings(map, "sources", &mut metadata.sources);
        read_strings(map, "keywords", &mut metadata.keywords);
        read_bool(map, "deprecated", &mut metadata.deprecated);
        if let Some(annotations) = map.get("annotations") {
            let entries = annotations.as_map().into_iter().flatten();
            let entries =
                entries.filter_map(|(key, node)| Some((key.to_string(), node.as_str()?.to_owned())));
            match annotations.is_null() {
                true => metadata.annotations = None,
                false => metadata.annotations.get_or_insert_default().extend(entries),
            }
        }
        if let Some(list) = map.get("maintainers") {
            let before = std::mem::take(&mut metadata.maintainers);
            let merged = merge_list(list, before, read_maintainer, &mut self.null_maintainer);
            metadata.maintainers = merged.unwrap_or_default();
        }
        if let Some(list) = map.get("dependencies") {
            let before = metadata.dependencies.take().unwrap_or_default();
            metadata.dependencies = merge_list(list, before, read_dependency, &mut self.null_dependency);
        }
    }
}

impl Draft {
    /// A list or map that is null now is gone, even if an earlier file had it.
    fn forget_nulls(&mut self, text: &[u8]) {
        if self.metadata == Metadata::default() {
            return;
        }
        let Ok(node) = yaml::parse(text, 0) else { return };
        let is_null = |name: &str| {
            let mut entries = node.as_map().into_iter().flatten();
            entries.any(|(key, node)| key.eq_ignore_ascii_case(name) && node.is_null())
        };
        let metadata = &mut self.metadata;
        for (name, list) in [("sources", &mut metadata.sources), ("keywords", &mut metadata.keywords)] {
            if is_null(name) {
                list.clear();
            }
        }
        if is_null("maintainers") {
            metadata.maintainers.clear();
        }
        if is_null("annotations") {
            metadata.annotations = None;
        }
        if is_null("dependencies") {
            metadata.dependencies = None;
        }
    }
}

/// Reads a lock file; an empty one is no lock.
pub fn parse_lock(text: &[u8], dialect: &Dialect) -> Result<Option<Lock>, Error> {
    let node = yaml::parse_as(text, 0, &types(dialect).lock).map_err(Error::Yaml)?;
    let Some(map) = node.as_map() else { return Ok(None) };
    let mut lock = Lock::default();
    read_string(map, "digest", &mut lock.digest);
    if let Some(generated) = map.get("generated").filter(|node| !node.is_null()) {
        lock.generated = time::check(generated).map_err(Error::Decode)?;
    }
    let entries = map.get("dependencies").and_then(Node::as_list);
    for entry in entries.into_iter().flat_map(|list| list.iter()) {
        let mut dependency = Dependency::default();
        entry.as_map().into_iter().for_each(|map| read_dependency(map, &mut dependency));
        lock.dependencies.push(dependency);
    }
    Ok(Some(lock))
}

/// Reads a list over another one; nothing for a null list. The first null entry is noted.
fn merge_list<T: Default>(
    node: &Node,
    before: Vec<T>,
    read: fn(&Map, &mut T),
    first_null: &mut Option<usize>,
) -> Option<Vec<T>> {
    let list = node.as_list()?;
    *first_null = list.iter().position(Node::is_null);
    let before = before.into_iter().chain(std::iter::repeat_with(T::default));
    let merged = list.iter().zip(before).map(|(entry, mut value)| {
        entry.as_map().into_iter().for_each(|map| read(map, &mut value));
        value
    });
    Some(merged.collect())
}

fn read_maintainer(map: &Map, maintainer: &mut Maintainer) {
    read_string(map, "name", &mut maintainer.name);
    read_string(map, "email", &mut maintainer.email);
    read_string(map, "url", &mut maintainer.url);
}

fn read_dependency(map: &Map, dependency: &mut Dependency) {
    read_string(map, "name", &mut dependency.name);
    read_string(map, "version", &mut dependency.version);
    read_string(map, "repository", &mut dependency.repository);
    read_string(map, "condition", &mut dependency.condition);
    read_string(map, "alias", &mut dependency.alias);
    read_strings(map, "tags", &mut dependency.tags);
    read_bool(map, "enabled", &mut dependency.enabled);
    if let Some(list) = map.get("import-values") {
        let entries = list.as_list().into_iter().flat_map(|list| list.iter());
        dependency.import_values = entries.cloned().map(ImportValue::Written).collect();
    }
}

fn read_string(map: &Map, name: &str, field: &mut String) {
    if let Some(text) = map.get(name).and_then(Node::as_str) {
        text.clone_into(field);
    }
}

fn read_strings(map: &Map, name: &str, field: &mut Vec<String>) {
    if let Some(node) = map.get(name) {
        let list = node.as_list().into_iter().flat_map(|list| list.iter());
        *field = list.map(|node| node.as_str().unwrap_or_default().to_owned()).collect();
    }
}

fn read_bool(map: &Map, name: &str, field: &mut bool) {
    if let Some(Value::Bool(value)) = map.get(name).map(|node| &node.value) {
        *field = *value;
    }
}
