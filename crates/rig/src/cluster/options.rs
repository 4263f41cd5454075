//! What a cluster consists of.

/// A user whom the API server knows by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// User name.
    pub name: String,
    /// Bearer token.
    pub token: String,
    /// Groups beside `system:authenticated`.
    pub groups: Vec<String>,
}

impl User {
    /// A user of no group, who may do only what roles allow.
    pub fn weak(name: &str) -> Self {
        User { name: name.to_owned(), token: format!("token-of-{name}"), groups: Vec::new() }
    }
}

/// Whose API server a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// etcd and kube-apiserver.
    Kubernetes,
    /// Our own: `podium up`.
    Podium,
}

impl Server {
    /// Our own API server, unless `PODIUM_SERVER=kubernetes` asks for the upstream one.
    pub fn chosen() -> Self {
        match std::env::var("PODIUM_SERVER").as_deref() {
            Ok("kubernetes") => Self::Kubernetes,
            _ => Self::Podium,
        }
    }
}

/// The controllers of a cluster beside those that `podium up` has (namespaces, garbage collection, service accounts).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// None: Deployments make no pods, and on the upstream server a deleted namespace stays.
    #[default]
    None,
    /// Those of workloads: kube-controller-manager on the upstream server, [`super::workloads`] on ours.
    Workloads,
    /// kube-controller-manager on either server.
    Upstream,
}

/// What a cluster consists of.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whose API server; `None` is [`Server::chosen`].
    pub server: Option<Server>,
    /// Which controllers run.
    pub controllers: Controllers,
    /// Play a [`super::node`], so that pods become ready or end.
    pub node: bool,
    /// A write is on the disk before it is answered; else etcd skips fsync, which is faster.
    pub durable: bool,
    /// Users beside the admin.
    pub users: Vec<User>,
    /// Enable OwnerReferencesPermissionEnforcement on the upstream server, as some distributions do.
    pub strict_owners: bool,
}
