//! Which object of a kind.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// The namespace and name of an object; a copy costs nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// An object in a namespace, or of the whole cluster.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self(format!("{namespace}/{name}").into()),
            _ => Self(name.into()),
        }
    }

    /// The key of an object.
    pub fn from_object(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        Self::new(text("/metadata/namespace"), text("/metadata/name").unwrap_or_default())
    }

    /// The namespace, if the object lives in one.
    pub fn namespace(&self) -> Option<&str> {
        // Neither part can contain the separator: it would not fit into an address.
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
