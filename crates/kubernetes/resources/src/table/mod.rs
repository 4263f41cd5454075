//! The table of the built-in kinds: what the real server of Kubernetes 1.36 says of itself, as one text of facts.
//!
//! The text (`kinds.txt`, written by `make kinds`) has a part about resources, which discovery is made of, and a part
//! about types: the fields of every message with their numbers in protobuf, how they are left out of JSON when they
//! are empty, and how several writers merge them. It is read once, in about a millisecond; all names are slices of it.

pub mod discovery;
mod read;
mod shapes;
#[cfg(test)]
mod tests;
pub(crate) mod types;

use std::collections::HashMap;
use std::sync::OnceLock;

use podium_meta::GroupVersionKind;
use podium_schema::shape::{ShapeId, Shapes};

pub use types::TypeId;
pub(crate) use types::{Field, Form, StructId, Types};

static TEXT: &str = include_str!("../../kinds.txt");

/// Kinds that every group and version has, because requests are made of them.
const META: &str = "v1";

/// The built-in kinds.
#[derive(Debug, Default)]
pub struct Kinds {
    groups: Vec<Group<'static>>,
    types: Types,
    kinds: HashMap<(&'static str, &'static str), StructId>,
    columns: HashMap<TypeId, Vec<Column>>,
    shapes: OnceLock<shapes::Built>,
}

/// A group of kinds, as discovery lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'t> {
    /// The name; empty for the core group.
    pub name: &'t str,
    /// Its versions, the preferred one first.
    pub versions: Vec<Version<'t>>,
}

/// A version of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version<'t> {
    /// The name.
    pub name: &'t str,
    /// What is served, in the server's order.
    pub rows: Vec<Row<'t>>,
}

/// A kind that is served under a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'t> {
    /// The group; empty for the core group.
    pub group: &'t str,
    /// The version.
    pub version: &'t str,
    /// The name in addresses.
    pub plural: &'t str,
    /// The name for one.
    pub singular: &'t str,
    /// The kind.
    pub kind: &'t str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it.
    pub verbs: Vec<&'t str>,
    /// Short names for people.
    pub short_names: Vec<&'t str>,
    /// The categories that it belongs to.
    pub categories: Vec<&'t str>,
    /// The server's name for the version that it stores; empty for kinds that are not stored.
    pub storage_hash: &'t str,
    /// What is served below each object.
    pub subresources: Vec<Subresource<'t>>,
}

/// What is served below an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource<'t> {
    /// The last part of the address.
    pub name: &'t str,
    /// The kind that it takes and gives.
    pub kind: &'t str,
    /// That kind's group and version where they are not the parent's.
    pub api: Option<(&'t str, &'t str)>,
    /// What can be done with it.
    pub verbs: Vec<&'t str>,
}

/// A column of a kind's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// The type of its cells.
    pub kind: &'static str,
    /// Their format; `name` for the one that tells rows apart.
    pub format: &'static str,
    /// Above 0 for columns that only the wide form shows.
    pub priority: i32,
}

/// The table of the built-in kinds, read at the first call.
pub fn kinds() -> &'static Kinds {
    static KINDS: OnceLock<Kinds> = OnceLock::new();
    KINDS.get_or_init(|| read::read(&[TEXT]))
}

/// The built-in kinds and more types, in the same form of text: those of programs that put built-in types in their own.
pub fn kinds_with(more: &'static str) -> Kinds {
    read::read(&[TEXT, more])
}

impl Kinds {
    /// All groups in the order of discovery, the core group first.
    pub fn groups(&self) -> &[Group<'static>] {
        &self.groups
    }

    /// Everything that is served.
    pub fn rows(&self) -> impl Iterator<Item = &Row<'static>> {
        self.groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.rows)
    }

    /// The versions of a group, the preferred one first.
    pub fn group(&self, name: &str) -> Option<&Group<'static>> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The resources of a group and version.
    pub fn version(&self, group: &str, version: &str) -> Option<&Version<'static>> {
        self.group(group)?.versions.iter().find(|one| one.name == version)
    }

    /// What is served at an address.
    pub fn resource(&self, group: &str, version: &str, plural: &str) -> Option<&Row<'static>> {
        self.version(group, version)?.rows.iter().find(|row| row.plural == plural)
    }

    /// Where objects of a kind are served.
    pub fn row_of(&self, kind: &GroupVersionKind) -> Option<&Row<'static>> {
        self.version(&kind.group, &kind.version)?.rows.iter().find(|row| row.kind == kind.kind)
    }

    /// The type of a kind: of all that is served, of their lists, and of the options and reviews that requests carry.
    pub fn type_of(&self, kind: &GroupVersionKind) -> Option<TypeId> {
        let api_version = kind.api_version();
        let find = |api_version: &str| {
            self.kinds.get(&(api_version, kind.kind.as_str())).map(|id| self.types.of_struct(*id))
        };
        // Options are registered in every group that there is.
        let meta = kind.kind.ends_with("Options") && !kind.kind.starts_with("Pod") || kind.kind == "Status";
        find(&api_version).or_else(|| {
            let known = kind.group == "meta.k8s.io" || self.version(&kind.group, &kind.version).is_some();
            (meta && known).then(|| find(META)).flatten()
        })
    }

    /// The columns of a kind that has some of its own.
    pub fn columns(&self, kind: &GroupVersionKind) -> Option<&[Column]> {
        self.columns.get(&self.type_of(kind)?).map(Vec::as_slice)
    }

    /// Every kind that has a type.
    pub fn typed(&self) -> impl Iterator<Item = GroupVersionKind> {
        self.kinds.keys().map(|(api_version, kind)| GroupVersionKind::new(api_version, kind))
    }

    /// The shapes of all types.
    pub fn shapes(&self) -> &Shapes {
        &self.built().shapes
    }

    /// The shape of a kind's objects.
    pub fn shape_of(&self, kind: &GroupVersionKind) -> Option<ShapeId> {
        self.built().of_type(self.type_of(kind)?)
    }

    /// The name that OpenAPI documents have for a kind's type, such as `io.k8s.api.core.v1.Pod`.
    pub fn schema_name(&self, kind: &GroupVersionKind) -> Option<String> {
        self.types.get(self.type_of(kind)?).form.as_struct().map(|id| self.types.struct_(id).schema_name())
    }

    /// The type of a name in the table, such as `apps/v1.DeploymentSpec`.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.types.named(name)
    }

    pub(crate) fn types(&self) -> &Types {
        &self.types
    }

    fn built(&self) -> &shapes::Built {
        self.shapes.get_or_init(|| shapes::build(&self.types))
    }
}

impl<'t> Row<'t> {
    /// The kind with its group and version.
    pub fn full_kind(&self) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
        }
    }

    /// The subresource of this name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource<'t>> {
        self.subresources.iter().find(|sub| sub.name == name)
    }
}

impl Subresource<'_> {
    /// The kind that it takes and gives, with its group and version.
    pub fn full_kind(&self, parent: &Row<'_>) -> GroupVersionKind {
        let (group, version) = self.api.unwrap_or((parent.group, parent.version));
        GroupVersionKind { group: group.to_owned(), version: version.to_owned(), kind: self.kind.to_owned() }
    }
}
