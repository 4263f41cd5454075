//! Namespaced names of objects.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

/// Namespace and name of an object; cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// Key of a namespaced object, or of a cluster-scoped one.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(namespace) if !namespace.is_empty() => Self(format!("{namespace}/{name}").into()),
            _ => Self(name.into()),
        }
    }

    /// Key of an object, from its metadata.
    pub fn from_object(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        Self::new(text("/metadata/namespace"), text("/metadata/name").unwrap_or_default())
    }

    /// Namespace; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        // Neither part can contain the separator: names are path segments.
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// Name.
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
