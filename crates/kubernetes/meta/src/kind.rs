//! Group, version and kind, and the REST paths of resources.

use std::fmt;

/// A group, version and kind (GVK).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl GroupVersionKind {
    /// Parses `apiVersion`; `kind` is taken as is.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// A resource that an API server serves (GVR), with its kind and scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The group, version and kind of its objects.
    pub kind: GroupVersionKind,
    /// The plural name in paths.
    pub plural: String,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
}

impl Resource {
    /// A resource of the core group's v1.
    pub fn core(kind: &str, plural: &str, namespaced: bool) -> Self {
        Self { kind: GroupVersionKind::new("v1", kind), plural: plural.to_owned(), namespaced }
    }

    /// The path of the collection, in one namespace or in all.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let GroupVersionKind { group, version, .. } = &self.kind;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{root}/namespaces/{}/{}", escape(namespace), self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }

    /// The path of one object.
    pub fn object(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), escape(name))
    }
}

/// Percent-encodes a path segment or query value.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // `.` and `..` would be resolved as path steps.
    let only_dots = text.bytes().all(|byte| byte == b'.');
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) || byte == b'.' && !only_dots {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_depend_on_group_and_scope() {
        let secrets = Resource::core("Secret", "secrets", true);
        assert_eq!(secrets.object(Some("ns"), "a"), "/api/v1/namespaces/ns/secrets/a");
        assert_eq!(secrets.collection(None), "/api/v1/secrets");
        let kind = GroupVersionKind::new("rbac.authorization.k8s.io/v1", "ClusterRole");
        let roles = Resource { kind, plural: "clusterroles".to_owned(), namespaced: false };
        assert_eq!(
            roles.object(Some("ns"), "system:x"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Ax"
        );
    }

    #[test]
    fn escapes_path_traversal() {
        let secrets = Resource::core("Secret", "secrets", true);
        assert_eq!(secrets.object(Some(".."), "../x?y"), "/api/v1/namespaces/%2E%2E/secrets/..%2Fx%3Fy");
    }
}
