//! Discovers other processes: each publishes and renews a Lease with labels, and lists the Leases of the others.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::leader_election::{micro, resource};
use podium_client::client::{ApplyOptions, Client, Error, Representation};

/// The Lease that one process publishes.
#[derive(Clone, Debug)]
pub struct PeerLease {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name, unique to this process.
    pub name: String,
    /// The holder identity.
    pub identity: String,
    /// The labels that other processes select by.
    pub labels: BTreeMap<String, String>,
    /// The annotations that other processes read.
    pub annotations: BTreeMap<String, String>,
    /// How long it is valid without a renewal.
    pub duration: Duration,
}

/// Another process, as its Lease describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The namespace of its Lease.
    pub namespace: String,
    /// The name of its Lease.
    pub name: String,
    /// The holder identity.
    pub identity: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// When its Lease was created.
    pub since: Timestamp,
    /// Until when it is valid.
    pub until: Timestamp,
}

impl Peer {
    /// Whether its Lease is valid; clocks may differ by as much as the duration of the Lease.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now <= self.until
    }

    fn read(lease: &Value) -> Option<Self> {
        let text = |path: &str| lease.pointer(path).and_then(Value::as_str);
        let map = |path: &str| {
            let fields = lease.pointer(path).and_then(Value::as_object).into_iter().flatten();
            fields.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64).unwrap_or_default();
        let renewed: Timestamp = text("/spec/renewTime")?.parse().ok()?;
        Some(Self {
            namespace: text("/metadata/namespace")?.to_owned(),
            name: text("/metadata/name")?.to_owned(),
            identity: text("/spec/holderIdentity")?.to_owned(),
            labels: map("/metadata/labels"),
            annotations: map("/metadata/annotations"),
            since: text("/metadata/creationTimestamp")?.parse().ok()?,
            until: renewed.checked_add(Duration::from_secs(seconds.min(24 * 3600) * 2)).ok()?,
        })
    }
}

impl PeerLease {
    /// Creates or renews the Lease, in one request.
    pub async fn publish(&self, client: &Client) -> Result<(), Error> {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": self.labels,
                "annotations": self.annotations},
            "spec": {"holderIdentity": self.identity, "leaseDurationSeconds": self.duration.as_secs().max(1),
                "renewTime": micro(Timestamp::now())},
        });
        let how = ApplyOptions { field_manager: "podium", force: true, dry_run: false };
        let resource = resource();
        client
            .with_timeout(client.apply(&resource, Some(&self.namespace), &self.name, &lease, how))
            .await
            .map(drop)
    }

    /// Publishes the Lease and renews it in time; `failed` is called when a renewal fails.
    pub async fn run(&self, client: &Client, mut failed: impl FnMut(&Error)) -> std::convert::Infallible {
        loop {
            if let Err(error) = self.publish(client).await {
                failed(&error);
            }
            tokio::time::sleep(self.duration / 3).await;
        }
    }

    /// Deletes the Lease, so that other processes need not wait for it to expire.
    pub async fn withdraw(&self, client: &Client) -> Result<(), Error> {
        let path = resource().object(Some(&self.namespace), &self.name);
        match client.request(Method::DELETE, &path, None).await {
            Err(Error::Api(status)) if status.is_not_found() => Ok(()),
            result => result.map(drop),
        }
    }
}

/// All processes that a label selector chooses, alive or not, the oldest first.
pub async fn peers(client: &Client, namespace: Option<&str>, selector: &str) -> Result<Vec<Peer>, Error> {
    let resource = resource();
    let leases =
        client.with_timeout(client.list(&resource, namespace, selector, Representation::Full)).await?;
    let mut peers: Vec<Peer> = leases.iter().filter_map(Peer::read).collect();
    peers.sort_by(|a, b| (a.since, &a.namespace, &a.name).cmp(&(b.since, &b.namespace, &b.name)));
    Ok(peers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_alive_for_twice_its_duration() {
        let lease = json!({
            "metadata": {"name": "a", "namespace": "n", "labels": {"k": "v"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"holderIdentity": "x", "leaseDurationSeconds": 30, "renewTime": "2026-01-01T00:10:00.000000Z"},
        });
        let peer = Peer::read(&lease).unwrap();
        assert_eq!(peer.labels["k"], "v");
        assert!(peer.is_alive("2026-01-01T00:11:00Z".parse().unwrap()));
        assert!(!peer.is_alive("2026-01-01T00:11:01Z".parse().unwrap()));
        let hostile = json!({"metadata": {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"holderIdentity": "x", "leaseDurationSeconds": u64::MAX, "renewTime": "9999-12-30T00:00:00Z"}});
        assert!(Peer::read(&hostile).is_none_or(|peer| peer.labels.is_empty()));
    }
}
