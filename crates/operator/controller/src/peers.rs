//! The operators of a cluster, and which of them is responsible for a resource.
//!
//! Every operator publishes a Lease with the kinds and selectors that it watches. Of the operators whose selector
//! matches a resource, the oldest live one reconciles it; the others stand by.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use podium_client::client::Representation;
use podium_client::watch::{ListWatch, WatchEvent};
use podium_client::{Client, ObjectKey};
use podium_controller::events::ObjectReference;
use podium_controller::leader_election;
use podium_controller::log::Log;
use podium_controller::peers::PeerLease;
use podium_meta::{GroupVersionKind, Selector};
use podium_project::watches::Watch as Entry;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::chart::hex;

/// The label of the Leases.
const LABEL: (&str, &str) = ("podium.dev/operator", "true");
/// The annotation of a Lease with what its operator watches.
const WATCHES: &str = "podium.dev/watches";
/// How long a Lease is valid without a renewal; it is renewed three times in this time.
const LEASE_DURATION: Duration = Duration::from_secs(30);
/// How long the removal of the Lease may delay a shutdown.
const WITHDRAW_TIMEOUT: Duration = Duration::from_secs(3);

/// A kind that an operator watches, with the selector and namespaces that restrict it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WatchClaim {
    group: String,
    kind: String,
    selector: String,
    /// Empty is all namespaces.
    namespaces: Vec<String>,
}

impl WatchClaim {
    fn watches(&self, kind: &GroupVersionKind, namespace: Option<&str>) -> bool {
        let here = |namespace: &str| self.namespaces.iter().any(|watched| watched == namespace);
        self.group == kind.group
            && self.kind == kind.kind
            && (self.namespaces.is_empty() || namespace.is_none_or(here))
    }

    fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        Selector::parse(&self.selector).is_ok_and(|selector| selector.matches(labels))
    }

    fn to_json(&self) -> Value {
        json!([self.group, self.kind, self.selector, self.namespaces])
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |at: usize| value.get(at)?.as_str().map(str::to_owned);
        let namespaces = value.get(3)?.as_array()?.iter().filter_map(Value::as_str);
        Some(Self {
            group: text(0)?,
            kind: text(1)?,
            selector: text(2)?,
            namespaces: namespaces.map(str::to_owned).collect(),
        })
    }
}

/// An operator, as its Lease describes it.
#[derive(Clone, Debug)]
struct Peer {
    since: Timestamp,
    claims: Vec<WatchClaim>,
    /// When its Lease was last observed to change.
    last_renewal: Instant,
}

/// The role of this operator for a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the only one responsible.
    Active,
    /// It is responsible, and the selectors of these other operators match too.
    Contested(Vec<String>),
    /// This older operator is responsible.
    Standby(String),
}

/// The live operators of the cluster.
pub struct OperatorPeers {
    /// The Lease of this operator.
    own_lease: ObjectKey,
    own_claims: Vec<WatchClaim>,
    started: Timestamp,
    peers: RefCell<HashMap<ObjectKey, Peer>>,
}

impl OperatorPeers {
    /// For an operator in `namespace`. The name of its Lease stays the same when it restarts on the same host.
    pub fn new(namespace: &str, host: &str, watches: &[Entry], namespaces: &[String]) -> Rc<Self> {
        let claims: Vec<WatchClaim> = watches
            .iter()
            .map(|watch| WatchClaim {
                group: watch.kind.group.clone(),
                kind: watch.kind.kind.clone(),
                selector: watch.selector_text.clone(),
                namespaces: namespaces.to_vec(),
            })
            .collect();
        let mut hasher = Sha256::new();
        hasher.update(host);
        claims.iter().for_each(|claim| hasher.update(claim.to_json().to_string()));
        let name = format!("podium-operator-{}", hex(&hasher.finalize()));
        Rc::new(Self {
            own_lease: ObjectKey::new(Some(namespace), &name),
            own_claims: claims,
            started: Timestamp::now(),
            peers: RefCell::default(),
        })
    }

    /// The Lease of this operator, which Events are about that concern no single resource.
    pub fn lease_reference(&self) -> ObjectReference {
        ObjectReference {
            api_version: "coordination.k8s.io/v1".to_owned(),
            kind: "Lease".to_owned(),
            namespace: self.own_lease.namespace().map(str::to_owned),
            name: self.own_lease.name().to_owned(),
            uid: String::new(),
        }
    }

    /// Publishes this operator and watches the Leases of the others in a namespace, or in all. Calls `on_change` when
    /// an operator appears, disappears or changes its claims.
    pub fn start(
        self: &Rc<Self>,
        client: &Client,
        identity: &str,
        namespace: Option<String>,
        log: &Log,
        on_change: impl Fn() + Clone + 'static,
    ) {
        let lease = self.lease(identity);
        let (lease_client, lease_log) = (client.clone(), log.clone());
        tokio::task::spawn_local(async move {
            let mut logged = false;
            let failed = |error: &podium_client::Error| {
                if !std::mem::replace(&mut logged, true) {
                    lease_log.error("the Lease of this operator cannot be published", &[("error", error)]);
                }
            };
            match lease.run(&lease_client, failed).await {}
        });
        let watch = ListWatch {
            namespace,
            label_selector: format!("{}={}", LABEL.0, LABEL.1),
            ..ListWatch::new(leader_election::resource(), Representation::Metadata)
        };
        let (peers, client, log, changed) = (self.clone(), client.clone(), log.clone(), on_change.clone());
        tokio::task::spawn_local(async move {
            let handle = |event: WatchEvent| match event {
                WatchEvent::Failing(failure) => log.error(&failure.message, &[("for", &"other operators")]),
                event => {
                    if peers.handle_event(&event) {
                        changed();
                    }
                }
            };
            match watch.run(&client, handle).await {}
        });
        let peers = self.clone();
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(LEASE_DURATION / 3).await;
                if peers.expire() {
                    on_change();
                }
            }
        });
    }

    fn lease(&self, identity: &str) -> PeerLease {
        PeerLease {
            namespace: self.own_lease.namespace().unwrap_or_default().to_owned(),
            name: self.own_lease.name().to_owned(),
            identity: identity.to_owned(),
            labels: BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())]),
            annotations: BTreeMap::from([(
                WATCHES.to_owned(),
                Value::Array(self.own_claims.iter().map(WatchClaim::to_json).collect()).to_string(),
            )]),
            duration: LEASE_DURATION,
        }
    }

    /// Deletes the Lease, so that a standby takes over at once.
    pub async fn withdraw(&self, client: &Client, identity: &str) {
        // A Lease that cannot be deleted expires.
        let _ = tokio::time::timeout(WITHDRAW_TIMEOUT, self.lease(identity).withdraw(client)).await;
    }

    /// Handles an event of a Lease; returns whether an operator appeared, disappeared or changed its claims.
    fn handle_event(&self, event: &WatchEvent) -> bool {
        let object = match event {
            WatchEvent::Applied(object) => object,
            WatchEvent::Deleted(object) => {
                return self.peers.borrow_mut().remove(&ObjectKey::from_object(object)).is_some();
            }
            _ => return false,
        };
        let annotations = object.pointer("/metadata/annotations");
        let line = annotations.and_then(|map| map.get(WATCHES)).and_then(Value::as_str).unwrap_or_default();
        let list: Value = serde_json::from_str(line).unwrap_or_default();
        let claims = list.as_array().into_iter().flatten().filter_map(WatchClaim::from_json).collect();
        let since = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
        let since = since.and_then(|text| text.parse().ok()).unwrap_or(Timestamp::MAX);
        let peer = Peer { since, claims, last_renewal: Instant::now() };
        let key = ObjectKey::from_object(object);
        let before = self.peers.borrow_mut().insert(key, peer.clone());
        before.is_none_or(|before| before.claims != peer.claims)
    }

    /// Removes the operators whose Leases have expired; returns whether there were any.
    fn expire(&self) -> bool {
        let mut peers = self.peers.borrow_mut();
        let before = peers.len();
        peers.retain(|key, peer| *key == self.own_lease || peer.last_renewal.elapsed() < LEASE_DURATION);
        peers.len() != before
    }

    /// The Leases of the operators whose selectors match a resource, the oldest first.
    fn claimants(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        labels: &BTreeMap<String, String>,
    ) -> Vec<ObjectKey> {
        let peers = self.peers.borrow();
        let selects = |claims: &[WatchClaim]| {
            claims.iter().any(|claim| claim.watches(kind, key.namespace()) && claim.selects(labels))
        };
        let mut all: Vec<(Timestamp, ObjectKey)> = peers
            .iter()
            .filter(|(lease, peer)| **lease != self.own_lease && selects(&peer.claims))
            .map(|(lease, peer)| (peer.since, lease.clone()))
            .collect();
        if selects(&self.own_claims) {
            let since = peers.get(&self.own_lease).map_or(self.started, |own| own.since);
            all.push((since, self.own_lease.clone()));
        }
        all.sort();
        all.into_iter().map(|(_, lease)| lease).collect()
    }

    /// The role of this operator for a resource that its own selector matches.
    pub fn role(&self, kind: &GroupVersionKind, key: &ObjectKey, labels: &BTreeMap<String, String>) -> Role {
        let all = self.claimants(kind, key, labels);
        match all.first() {
            Some(first) if *first != self.own_lease => Role::Standby(first.to_string()),
            _ if all.len() > 1 => Role::Contested(all.iter().skip(1).map(ToString::to_string).collect()),
            _ => Role::Active,
        }
    }

    /// Why no operator is responsible for a resource, if this operator is the one to report it: the oldest one that
    /// watches its kind.
    pub fn unclaimed(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        labels: &BTreeMap<String, String>,
    ) -> Option<String> {
        if !self.claimants(kind, key, labels).is_empty() {
            return None;
        }
        let peers = self.peers.borrow();
        let mut all: Vec<(Timestamp, &ObjectKey, &[WatchClaim])> =
            peers.iter().map(|(lease, peer)| (peer.since, lease, peer.claims.as_slice())).collect();
        if !peers.contains_key(&self.own_lease) {
            all.push((self.started, &self.own_lease, &self.own_claims));
        }
        let watches = |claim: &&WatchClaim| claim.watches(kind, key.namespace());
        all.retain(|(_, _, claims)| claims.iter().any(|claim| watches(&claim)));
        all.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        all.first().filter(|(_, lease, _)| **lease == self.own_lease)?;
        let mut selectors: Vec<&str> = all
            .iter()
            .flat_map(|(_, _, claims)| claims.iter().filter(watches).map(|claim| claim.selector.as_str()))
            .collect();
        selectors.sort_unstable();
        selectors.dedup();
        let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let labels = if labels.is_empty() {
            "no labels".to_owned()
        } else {
            format!("the labels {}", labels.join(","))
        };
        Some(format!(
            "no operator selects a resource with {labels}; the running operators select: {}",
            selectors.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(selector: &str) -> WatchClaim {
        WatchClaim {
            group: "g".to_owned(),
            kind: "K".to_owned(),
            selector: selector.to_owned(),
            namespaces: Vec::new(),
        }
    }

    fn operator_peers(own: &str, others: &[(&str, i64, &str)]) -> OperatorPeers {
        let peers = others.iter().map(|(name, since, selector)| {
            let since = Timestamp::from_second(*since).unwrap();
            (
                ObjectKey::new(Some("n"), name),
                Peer { since, claims: vec![claim(selector)], last_renewal: Instant::now() },
            )
        });
        OperatorPeers {
            own_lease: ObjectKey::new(Some("n"), "own"),
            own_claims: vec![claim(own)],
            started: Timestamp::from_second(100).unwrap(),
            peers: RefCell::new(peers.collect()),
        }
    }

    fn labels(version: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("v".to_owned(), version.to_owned())])
    }

    #[test]
    fn the_oldest_matching_operator_is_responsible() {
        let kind = GroupVersionKind::new("g/v1", "K");
        let key = ObjectKey::new(Some("n"), "r");
        let role =
            |others: &[(&str, i64, &str)]| operator_peers("v=1", others).role(&kind, &key, &labels("1"));
        assert_eq!(role(&[]), Role::Active);
        assert_eq!(role(&[("other", 5, "v=2")]), Role::Active);
        assert_eq!(role(&[("older", 5, "v=1")]), Role::Standby("n/older".to_owned()));
        assert_eq!(role(&[("younger", 500, "v=1")]), Role::Contested(vec!["n/younger".to_owned()]));
        assert_eq!(role(&[("wide", 5, "")]), Role::Standby("n/wide".to_owned()));
    }

    #[test]
    fn the_oldest_operator_of_the_kind_reports_unclaimed_resources() {
        let kind = GroupVersionKind::new("g/v1", "K");
        let key = ObjectKey::new(Some("n"), "r");
        let unclaimed = |others: &[(&str, i64, &str)], version| {
            operator_peers("v=1", others).unclaimed(&kind, &key, &labels(version))
        };
        assert_eq!(unclaimed(&[], "1"), None);
        assert!(unclaimed(&[], "7").unwrap().contains("v=7"));
        assert_eq!(unclaimed(&[("older", 5, "v=2")], "7"), None);
        assert_eq!(unclaimed(&[("older", 5, "v=7")], "7"), None);
        let message = unclaimed(&[("younger", 500, "v=2")], "7").unwrap();
        assert!(message.ends_with("select: v=1; v=2"), "{message}");
    }

    #[test]
    fn expired_operators_are_not_responsible() {
        let peers = operator_peers("v=1", &[("older", 5, "v=1")]);
        for peer in peers.peers.borrow_mut().values_mut() {
            peer.last_renewal = Instant::now().checked_sub(LEASE_DURATION * 2).unwrap();
        }
        assert!(peers.expire());
        let key = ObjectKey::new(None, "r");
        assert_eq!(peers.role(&GroupVersionKind::new("g/v1", "K"), &key, &labels("1")), Role::Active);
    }
}
