//! A definition as the server keeps it in its own form: what all versions share is said once.

use serde_json::Value;

use crate::props::Props;

/// The names of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub kind: String,
    pub list: String,
    pub categories: Vec<String>,
}

impl Names {
    pub fn read(value: &Value) -> Self {
        Self {
            plural: text(value, "plural"),
            singular: text(value, "singular"),
            short: texts(value, "shortNames"),
            kind: text(value, "kind"),
            list: text(value, "listKind"),
            categories: texts(value, "categories"),
        }
    }
}

/// A schema with its text; two are the same if they say the same.
#[derive(Clone, Debug)]
pub struct Validation {
    pub schema: Option<(Props, Value)>,
}

impl PartialEq for Validation {
    fn eq(&self, other: &Self) -> bool {
        self.schema.as_ref().map(|schema| &schema.0) == other.schema.as_ref().map(|schema| &schema.0)
    }
}

/// What a version serves besides the resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subresources {
    pub status: bool,
    pub scale: Option<(String, String, Option<String>)>,
}

/// A column of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: String,
    pub format: String,
    pub description: String,
    pub priority: i64,
    pub path: String,
}

/// One version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Version {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    pub deprecated: bool,
    pub warning: Option<String>,
    pub validation: Option<Validation>,
    pub subresources: Option<Subresources>,
    pub columns: Vec<Column>,
    pub selectable: Vec<String>,
}

/// Where a webhook is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    pub url: Option<String>,
    pub service: Option<Service>,
    pub bundle: String,
}

/// A service inside the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Service {
    pub namespace: String,
    pub name: String,
    pub path: Option<String>,
    pub port: i64,
}

/// How versions become each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversion {
    pub strategy: String,
    pub client: Option<Client>,
    pub reviews: Vec<String>,
}

/// What a definition says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    pub group: String,
    pub version: String,
    pub names: Names,
    pub scope: String,
    pub validation: Option<Validation>,
    pub subresources: Option<Subresources>,
    pub columns: Vec<Column>,
    pub selectable: Vec<String>,
    /// Whether a list of versions was given at all.
    pub versioned: bool,
    pub versions: Vec<Version>,
    pub conversion: Option<Conversion>,
    pub preserve: bool,
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn maybe(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    list(value, name).iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn object<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| value.is_object())
}

impl Version {
    pub fn read(value: &Value) -> Self {
        let validation = object(value, "schema").map(|validation| {
            let schema = object(validation, "openAPIV3Schema");
            Validation { schema: schema.map(|schema| (Props::read(schema), schema.clone())) }
        });
        let subresources = object(value, "subresources").map(|all| Subresources {
            status: object(all, "status").is_some(),
            scale: object(all, "scale").map(|scale| {
                let selector = maybe(scale, "labelSelectorPath");
                (text(scale, "specReplicasPath"), text(scale, "statusReplicasPath"), selector)
            }),
        });
        let column = |column: &Value| Column {
            name: text(column, "name"),
            kind: text(column, "type"),
            format: text(column, "format"),
            description: text(column, "description"),
            priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            path: text(column, "jsonPath"),
        };
        Self {
            name: text(value, "name"),
            served: flag(value, "served"),
            storage: flag(value, "storage"),
            deprecated: flag(value, "deprecated"),
            warning: maybe(value, "deprecationWarning"),
            validation,
            subresources,
            columns: list(value, "additionalPrinterColumns").iter().map(column).collect(),
            selectable: list(value, "selectableFields").iter().map(|field| text(field, "jsonPath")).collect(),
        }
    }
}

impl Spec {
    /// Reads the specification of a definition; what every version says alike moves up.
    pub fn read(value: &Value) -> Self {
        let versions: Vec<Version> = list(value, "versions").iter().map(Version::read).collect();
        let mut spec = Self {
            group: text(value, "group"),
            version: versions.first().map(|version| version.name.clone()).unwrap_or_default(),
            names: Names::read(value.get("names").unwrap_or(&Value::Null)),
            scope: text(value, "scope"),
            versioned: value.get("versions").is_some_and(Value::is_array),
            versions,
            conversion: object(value, "conversion").map(conversion),
            preserve: flag(value, "preserveUnknownFields"),
            ..Self::default()
        };
        spec.share();
        spec
    }

    fn share(&mut self) {
        let Some(first) = self.versions.first().cloned() else { return };
        if self.versions.iter().all(|version| version.subresources == first.subresources) {
            self.subresources = first.subresources;
            self.versions.iter_mut().for_each(|version| version.subresources = None);
        }
        if self.versions.iter().all(|version| version.validation == first.validation) {
            self.validation = first.validation;
            self.versions.iter_mut().for_each(|version| version.validation = None);
        }
        if self.versions.iter().all(|version| version.columns == first.columns) {
            self.columns = first.columns;
            self.versions.iter_mut().for_each(|version| version.columns.clear());
        }
        if self.versions.iter().all(|version| version.selectable == first.selectable) {
            self.selectable = first.selectable;
            self.versions.iter_mut().for_each(|version| version.selectable.clear());
        }
    }

    /// All schemas, wherever they are said.
    pub fn schemas(&self) -> impl Iterator<Item = &(Props, Value)> {
        let all = self
            .validation
            .iter()
            .chain(self.versions.iter().filter_map(|version| version.validation.as_ref()));
        all.filter_map(|validation| validation.schema.as_ref())
    }

    /// The schema of a version.
    pub fn schema_of(&self, name: &str) -> Option<Option<&Props>> {
        let version = self.versions.iter().find(|version| version.name == name)?;
        let validation = self.validation.as_ref().or(version.validation.as_ref());
        Some(validation.and_then(|validation| validation.schema.as_ref()).map(|(props, _)| props))
    }
}

fn conversion(value: &Value) -> Conversion {
    let webhook = object(value, "webhook");
    let client = webhook.and_then(|webhook| object(webhook, "clientConfig")).map(|client| Client {
        url: maybe(client, "url"),
        service: object(client, "service").map(|service| Service {
            namespace: text(service, "namespace"),
            name: text(service, "name"),
            path: maybe(service, "path"),
            port: service.get("port").and_then(Value::as_i64).unwrap_or(443),
        }),
        bundle: text(client, "caBundle"),
    });
    let reviews = webhook.map(|webhook| texts(webhook, "conversionReviewVersions")).unwrap_or_default();
    Conversion { strategy: text(value, "strategy"), client, reviews }
}
