//! What a request is about, by its path.

use crate::query::decode;

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `/api` or `/apis`, or what is below them without a resource: the group (if any) and the version (if any).
    Discovery {
        /// Whether it is below `/apis`.
        grouped: bool,
        /// The group.
        group: Option<String>,
        /// The version.
        version: Option<String>,
    },
    /// A resource, or an object of it, or a part of that.
    Resource(Place),
    /// Anything else.
    Path,
}

/// The address of a resource, an object or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The resource.
    pub plural: String,
    /// The namespace; empty for all, or for what has none.
    pub namespace: String,
    /// The object; empty for all.
    pub name: String,
    /// The part of the object; empty for the whole.
    pub part: String,
}

/// Reads a path.
pub fn read(path: &str) -> Option<Address> {
    let mut segments = Vec::new();
    for segment in path.trim_matches('/').split('/') {
        let segment = decode(segment, false)?;
        // Whatever looks like a way to somewhere else is no name.
        if segment.is_empty() || segment == "." || segment == ".." || segment.contains(['/', '\0']) {
            return if path == "/" { Some(Address::Path) } else { None };
        }
        segments.push(segment);
    }
    let mut segments = segments.into_iter();
    let (grouped, group) = match segments.next().as_deref() {
        Some("api") => (false, None),
        Some("apis") => (true, segments.next()),
        _ => return Some(Address::Path),
    };
    let version = if grouped && group.is_none() { None } else { segments.next() };
    let rest: Vec<String> = segments.collect();
    if rest.is_empty() {
        return Some(Address::Discovery { grouped, group, version });
    }
    let mut place =
        Place { group: group.unwrap_or_default(), version: version.unwrap_or_default(), ..Place::default() };
    let mut rest = rest.as_slice();
    // A namespace is an object as well, with parts of its own.
    if let [first, namespace, tail @ ..] = rest
        && first == "namespaces"
        && !matches!(tail.first().map(String::as_str), None | Some("status" | "finalize"))
    {
        place.namespace.clone_from(namespace);
        rest = tail;
    }
    match rest {
        [plural] => place.plural.clone_from(plural),
        [plural, name] => (place.plural, place.name) = (plural.clone(), name.clone()),
        [plural, name, part] => {
            (place.plural, place.name, place.part) = (plural.clone(), name.clone(), part.clone());
        }
        _ => return None,
    }
    Some(Address::Resource(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> (String, String, String, String, String) {
        match read(path) {
            Some(Address::Resource(p)) => {
                (format!("{}/{}", p.group, p.version), p.namespace, p.plural, p.name, p.part)
            }
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_name_resources_objects_and_parts() {
        let of = |a: &str, b: &str, c: &str, d: &str, e: &str| {
            (a.to_owned(), b.to_owned(), c.to_owned(), d.to_owned(), e.to_owned())
        };
        assert_eq!(place("/api/v1/pods"), of("/v1", "", "pods", "", ""));
        assert_eq!(place("/api/v1/namespaces/a/pods/b/status"), of("/v1", "a", "pods", "b", "status"));
        assert_eq!(place("/api/v1/namespaces/a"), of("/v1", "", "namespaces", "a", ""));
        assert_eq!(place("/api/v1/namespaces/a/finalize"), of("/v1", "", "namespaces", "a", "finalize"));
        assert_eq!(
            place("/apis/apps/v1/namespaces/a/deployments/b/scale"),
            of("apps/v1", "a", "deployments", "b", "scale")
        );
        assert_eq!(
            place("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Ax"),
            of("rbac.authorization.k8s.io/v1", "", "clusterroles", "system:x", "")
        );
    }

    #[test]
    fn paths_cannot_leave_their_place() {
        for path in [
            "/api/v1/pods/../x",
            "/api/v1/namespaces/a%2Fb/pods",
            "/api/v1//pods",
            "/api/v1/pods/%2e%2e",
            "/api/v1/a/b/c/d",
        ] {
            assert_eq!(read(path), None, "{path}");
        }
        assert_eq!(read("/healthz"), Some(Address::Path));
        assert_eq!(read("/apis"), Some(Address::Discovery { grouped: true, group: None, version: None }));
    }
}
