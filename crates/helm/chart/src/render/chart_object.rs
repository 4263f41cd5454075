//! `.Chart` as templates see it: a map of Go's field names in Helm 4, a Go struct in Helm 3.

use podium_gotmpl::types::{BOOL, Field, LIST, STRING, STRING_MAP, STRINGS};
use podium_gotmpl::{Entries, Heap, Map, Shape, Str, Type, Value};
use podium_sprig::convert;

use crate::dialect::{ChartObject, Dialect};
use crate::metadata::{Dependency, ImportValue, Maintainer, Metadata};

const fn field(name: &'static str, ty: &'static Type, json: &'static str, omit_empty: bool) -> Field {
    Field { name, ty, json, omit_empty, embedded: false }
}

static MAINTAINER: Type = Type::defined(
    "chart.Maintainer",
    Shape::Struct(&[
        field("Name", &STRING, "name", true),
        field("Email", &STRING, "email", true),
        field("URL", &STRING, "url", true),
    ]),
    &[],
);
static DEPENDENCY: Type = Type::defined(
    "chart.Dependency",
    Shape::Struct(&[
        field("Name", &STRING, "name", false),
        field("Version", &STRING, "version", true),
        field("Repository", &STRING, "repository", false),
        field("Condition", &STRING, "condition", true),
        field("Tags", &STRINGS, "tags", true),
        field("Enabled", &BOOL, "enabled", true),
        field("ImportValues", &LIST, "import-values", true),
        field("Alias", &STRING, "alias", true),
    ]),
    &[],
);
static MAINTAINER_POINTER: Type = Type::literal("*chart.Maintainer", Shape::Pointer(&MAINTAINER));
static DEPENDENCY_POINTER: Type = Type::literal("*chart.Dependency", Shape::Pointer(&DEPENDENCY));
static MAINTAINERS: Type = Type::literal("[]*chart.Maintainer", Shape::Slice(&MAINTAINER_POINTER));
static DEPENDENCIES: Type = Type::literal("[]*chart.Dependency", Shape::Slice(&DEPENDENCY_POINTER));
static METADATA: Type = Type::defined(
    "chart.Metadata",
    Shape::Struct(&[
        field("Name", &STRING, "name", true),
        field("Home", &STRING, "home", true),
        field("Sources", &STRINGS, "sources", true),
        field("Version", &STRING, "version", true),
        field("Description", &STRING, "description", true),
        field("Keywords", &STRINGS, "keywords", true),
        field("Maintainers", &MAINTAINERS, "maintainers", true),
        field("Icon", &STRING, "icon", true),
        field("APIVersion", &STRING, "apiVersion", true),
        field("Condition", &STRING, "condition", true),
        field("Tags", &STRING, "tags", true),
        field("AppVersion", &STRING, "appVersion", true),
        field("Deprecated", &BOOL, "deprecated", true),
        field("Annotations", &STRING_MAP, "annotations", true),
        field("KubeVersion", &STRING, "kubeVersion", true),
        field("Dependencies", &DEPENDENCIES, "dependencies", true),
        field("Type", &STRING, "type", true),
    ]),
    &[],
);
static CHART: Type = Type::literal(
    "struct { chart.Metadata; IsRoot bool }",
    Shape::Struct(&[
        Field { name: "Metadata", ty: &METADATA, json: "Metadata", omit_empty: false, embedded: true },
        field("IsRoot", &BOOL, "IsRoot", false),
    ]),
);

/// The object of a chart.
pub fn to_value<'h>(heap: &'h Heap<'h>, chart: &'h Metadata, is_root: bool, dialect: &Dialect) -> Value<'h> {
    let make = Make { heap, structs: dialect.chart_object == ChartObject::Struct };
    let fields = make.metadata(chart);
    if make.structs {
        let metadata = make.structure(&METADATA, fields);
        return heap.structure(&CHART, vec![metadata, Value::Bool(is_root)]);
    }
    let is_root = Some(("IsRoot", Value::Bool(is_root)));
    Value::Map(make.map(&METADATA, fields, is_root))
}

struct Make<'h> {
    heap: &'h Heap<'h>,
    structs: bool,
}

fn text<'h>(text: &'h str) -> Value<'h> {
    Value::Str(Str::from(text))
}

impl<'h> Make<'h> {
    fn structure(&self, ty: &'static Type, fields: Vec<Value<'h>>) -> Value<'h> {
        self.heap.structure(ty, fields)
    }

    /// A map from the names of a struct's fields, and one more.
    fn map(
        &self,
        ty: &'static Type,
        fields: Vec<Value<'h>>,
        more: Option<(&'static str, Value<'h>)>,
    ) -> &'h Map<'h> {
        let Shape::Struct(names) = ty.shape else {
            return self.heap.map(Entries::new());
        };
        let fields = names.iter().map(|field| field.name).zip(fields).chain(more);
        self.heap.map(fields.map(|(name, value)| (Str::from(name), value)).collect())
    }

    /// A struct behind a pointer, or the map that stands for it.
    fn pointed(&self, pointer: &'static Type, target: &'static Type, fields: Vec<Value<'h>>) -> Value<'h> {
        if self.structs {
            self.structure(pointer, fields)
        } else {
            Value::Map(self.map(target, fields, None))
        }
    }

    /// A slice, which is an untyped list where structs are maps.
    fn slice(&self, ty: &'static Type, items: Vec<Value<'h>>) -> Value<'h> {
        match (self.structs, items.is_empty()) {
            (true, true) => self.heap.nil_list(ty),
            (true, false) => self.heap.typed_list(ty, items),
            (false, _) => self.heap.list(items),
        }
    }

    fn strings(&self, items: &'h [String]) -> Value<'h> {
        self.slice(&STRINGS, items.iter().map(|s| text(s)).collect())
    }

    fn metadata(&self, chart: &'h Metadata) -> Vec<Value<'h>> {
        let annotations = match &chart.annotations {
            Some(entries) => Value::Map(self.heap.typed_map(
                &STRING_MAP,
                entries.iter().map(|(k, v)| (Str::from(k.as_str()), text(v))).collect(),
            )),
            None => self.heap.nil_map(&STRING_MAP),
        };
        let dependencies = chart.dependencies.as_deref().unwrap_or_default();
        vec![
            text(&chart.name),
            text(&chart.home),
            self.strings(&chart.sources),
            text(&chart.version),
            text(&chart.description),
            self.strings(&chart.keywords),
            self.slice(&MAINTAINERS, chart.maintainers.iter().map(|m| self.maintainer(m)).collect()),
            text(&chart.icon),
            text(&chart.api_version),
            text(&chart.condition),
            text(&chart.tags),
            text(&chart.app_version),
            Value::Bool(chart.deprecated),
            annotations,
            text(&chart.kube_version),
            self.slice(&DEPENDENCIES, dependencies.iter().map(|d| self.dependency(d)).collect()),
            text(&chart.kind),
        ]
    }

    fn maintainer(&self, m: &'h Maintainer) -> Value<'h> {
        let fields = vec![text(&m.name), text(&m.email), text(&m.url)];
        self.pointed(&MAINTAINER_POINTER, &MAINTAINER, fields)
    }

    fn dependency(&self, d: &'h Dependency) -> Value<'h> {
        let imports = d.import_values.iter().map(|i| match i {
            ImportValue::Written(node) => convert::borrow_tree(self.heap, node),
            ImportValue::Done { child, parent } => Value::Map(self.heap.typed_map(
                &STRING_MAP,
                Entries::from([("child".into(), text(child)), ("parent".into(), text(parent))]),
            )),
        });
        let fields = vec![
            text(&d.name),
            text(&d.version),
            text(&d.repository),
            text(&d.condition),
            self.strings(&d.tags),
            Value::Bool(d.enabled),
            self.slice(&LIST, imports.collect()),
            text(&d.alias),
        ];
        self.pointed(&DEPENDENCY_POINTER, &DEPENDENCY, fields)
    }
}
