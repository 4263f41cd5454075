//! Kinds, and where a server keeps their objects.

use std::fmt;

/// A group, a version and a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind itself.
    pub kind: String,
}

impl Kind {
    /// From the two fields that every object has.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// Where a server keeps the objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind.
    pub kind: Kind,
    /// Its name in addresses.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// One of the kinds that every cluster has.
    pub fn core(kind: &str, plural: &str, namespaced: bool) -> Self {
        Self { kind: Kind::new("v1", kind), plural: plural.to_owned(), namespaced }
    }

    /// The address of all of them, or of those in a namespace.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let Kind { group, version, .. } = &self.kind;
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{root}/namespaces/{}/{}", escape(namespace), self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }

    /// The address of one of them.
    pub fn object(&self, namespace: Option<&str>, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), escape(name))
    }
}

/// A text as one segment of a path, or as a value in a query.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // A path's `.` and `..` mean other places.
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
    fn addresses_follow_group_and_scope() {
        let secrets = Resource::core("Secret", "secrets", true);
        assert_eq!(secrets.object(Some("ns"), "a"), "/api/v1/namespaces/ns/secrets/a");
        assert_eq!(secrets.collection(None), "/api/v1/secrets");
        let kind = Kind::new("rbac.authorization.k8s.io/v1", "ClusterRole");
        let roles = Resource { kind, plural: "clusterroles".to_owned(), namespaced: false };
        assert_eq!(
            roles.object(Some("ns"), "system:x"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Ax"
        );
    }

    #[test]
    fn a_name_cannot_leave_its_segment() {
        let secrets = Resource::core("Secret", "secrets", true);
        assert_eq!(secrets.object(Some(".."), "../x?y"), "/api/v1/namespaces/%2E%2E/secrets/..%2Fx%3Fy");
    }
}
