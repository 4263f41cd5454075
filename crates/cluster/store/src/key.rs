//! What an object is called.

use std::fmt;
use std::sync::Arc;

/// The address of an object: its resource (`pods`, `apps/deployments`) and its path in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    resource: Arc<str>,
    path: Box<str>,
}

impl Key {
    /// An object in a namespace, or without one when the namespace is empty.
    pub fn new(resource: impl Into<Arc<str>>, namespace: &str, name: &str) -> Self {
        let path = if namespace.is_empty() { name.into() } else { format!("{namespace}/{name}").into() };
        Self { resource: resource.into(), path }
    }

    /// The resource.
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// `namespace/name`, or `name` alone; lists are in the order of these bytes.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.resource, self.path)
    }
}
