//! Which operators there are, and which of them answers for a resource.
//!
//! Every operator publishes a Lease with the kinds and selectors that it watches. Of those whose selector chooses a
//! resource, the oldest that is alive answers; the others stand by.

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
use podium_meta::{Kind, Selector};
use podium_project::watches::Watch as Entry;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::chart::hex;

/// The label of the Leases.
const LABEL: (&str, &str) = ("podium.dev/operator", "true");
/// The annotation with what an operator watches.
const WATCHES: &str = "podium.dev/watches";
/// How long an operator counts after its last sign of life, and how often it gives one: a third of that.
const LASTS: Duration = Duration::from_secs(30);
/// How long a good-bye may take.
const FAREWELL: Duration = Duration::from_secs(3);

/// A kind that an operator answers for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Claim {
    group: String,
    kind: String,
    selector: String,
    /// None is all.
    namespaces: Vec<String>,
}

impl Claim {
    fn is_about(&self, kind: &Kind, namespace: Option<&str>) -> bool {
        let here = |place: &str| self.namespaces.iter().any(|known| known == place);
        self.group == kind.group
            && self.kind == kind.kind
            && (self.namespaces.is_empty() || namespace.is_none_or(here))
    }

    fn chooses(&self, labels: &BTreeMap<String, String>) -> bool {
        Selector::parse(&self.selector).is_ok_and(|selector| selector.matches(labels))
    }

    fn write(&self) -> Value {
        json!([self.group, self.kind, self.selector, self.namespaces])
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |at: usize| value.get(at)?.as_str().map(str::to_owned);
        let places = value.get(3)?.as_array()?.iter().filter_map(Value::as_str);
        Some(Self {
            group: text(0)?,
            kind: text(1)?,
            selector: text(2)?,
            namespaces: places.map(str::to_owned).collect(),
        })
    }
}

/// An operator, as its Lease shows it.
#[derive(Clone, Debug)]
struct Peer {
    since: Timestamp,
    claims: Vec<Claim>,
    /// When its Lease was last seen to change.
    heard: Instant,
}

/// What an operator does about a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It answers.
    Act,
    /// It answers, and these others would too.
    Contested(Vec<String>),
    /// Somebody older answers.
    StandBy(String),
}

/// All operators that are heard of.
pub struct Roster {
    /// The Lease of this one.
    own: ObjectKey,
    own_claims: Vec<Claim>,
    born: Timestamp,
    peers: RefCell<HashMap<ObjectKey, Peer>>,
}

impl Roster {
    /// Of an operator in its home, under a name that stays when it starts anew.
    pub fn new(home: &str, host: &str, watches: &[Entry], namespaces: &[String]) -> Rc<Self> {
        let claims: Vec<Claim> = watches
            .iter()
            .map(|watch| Claim {
                group: watch.kind.group.clone(),
                kind: watch.kind.kind.clone(),
                selector: watch.selector_text.clone(),
                namespaces: namespaces.to_vec(),
            })
            .collect();
        let mut hasher = Sha256::new();
        hasher.update(host);
        claims.iter().for_each(|claim| hasher.update(claim.write().to_string()));
        let name = format!("podium-operator-{}", hex(&hasher.finalize()));
        Rc::new(Self {
            own: ObjectKey::new(Some(home), &name),
            own_claims: claims,
            born: Timestamp::now(),
            peers: RefCell::default(),
        })
    }

    /// This operator, for Events that no resource can be told of: its Lease.
    pub fn about(&self) -> ObjectReference {
        ObjectReference {
            api_version: "coordination.k8s.io/v1".to_owned(),
            kind: "Lease".to_owned(),
            namespace: self.own.namespace().map(str::to_owned),
            name: self.own.name().to_owned(),
            uid: String::new(),
        }
    }

    /// Publishes this operator, and listens to the others; `changed` is called when somebody comes or goes.
    pub fn begin(
        self: &Rc<Self>,
        client: &Client,
        identity: &str,
        place: Option<String>,
        log: &Log,
        changed: impl Fn() + Clone + 'static,
    ) {
        let presence = self.presence(identity);
        let (keeper, told) = (client.clone(), log.clone());
        tokio::task::spawn_local(async move {
            let mut said = false;
            let failed = |error: &podium_client::Error| {
                if !std::mem::replace(&mut said, true) {
                    told.error("other operators cannot be told about this one", &[("error", error)]);
                }
            };
            match presence.run(&keeper, failed).await {}
        });
        let watch = ListWatch {
            namespace: place,
            label_selector: format!("{}={}", LABEL.0, LABEL.1),
            ..ListWatch::new(leader_election::resource(), Representation::Metadata)
        };
        let (roster, client, log, heard) = (self.clone(), client.clone(), log.clone(), changed.clone());
        tokio::task::spawn_local(async move {
            let tell = |event: WatchEvent| match event {
                WatchEvent::Failing(trouble) => log.error(&trouble.message, &[("for", &"other operators")]),
                event => {
                    if roster.take(&event) {
                        heard();
                    }
                }
            };
            match watch.run(&client, tell).await {}
        });
        let roster = self.clone();
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(LASTS / 3).await;
                if roster.bury() {
                    changed();
                }
            }
        });
    }

    fn presence(&self, identity: &str) -> PeerLease {
        PeerLease {
            namespace: self.own.namespace().unwrap_or_default().to_owned(),
            name: self.own.name().to_owned(),
            identity: identity.to_owned(),
            labels: BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())]),
            annotations: BTreeMap::from([(
                WATCHES.to_owned(),
                Value::Array(self.own_claims.iter().map(Claim::write).collect()).to_string(),
            )]),
            duration: LASTS,
        }
    }

    /// Says good-bye, so that those who stand by need not wait.
    pub async fn leave(&self, client: &Client, identity: &str) {
        // Who cannot say good-bye is missed after a while.
        let _ = tokio::time::timeout(FAREWELL, self.presence(identity).withdraw(client)).await;
    }

    /// Takes an event about a Lease; says whether somebody came or went.
    fn take(&self, event: &WatchEvent) -> bool {
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
        let claims = list.as_array().into_iter().flatten().filter_map(Claim::read).collect();
        let since = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
        let since = since.and_then(|text| text.parse().ok()).unwrap_or(Timestamp::MAX);
        let peer = Peer { since, claims, heard: Instant::now() };
        let key = ObjectKey::from_object(object);
        let before = self.peers.borrow_mut().insert(key, peer.clone());
        before.is_none_or(|before| before.claims != peer.claims)
    }

    /// Forgets those who were not heard of for long; says whether there were any.
    fn bury(&self) -> bool {
        let mut peers = self.peers.borrow_mut();
        let before = peers.len();
        peers.retain(|key, peer| *key == self.own || peer.heard.elapsed() < LASTS);
        peers.len() != before
    }

    /// Everybody with a claim to a resource, the oldest first.
    fn answering(&self, kind: &Kind, key: &ObjectKey, labels: &BTreeMap<String, String>) -> Vec<ObjectKey> {
        let peers = self.peers.borrow();
        let chooses = |claims: &[Claim]| {
            claims.iter().any(|claim| claim.is_about(kind, key.namespace()) && claim.chooses(labels))
        };
        let mut all: Vec<(Timestamp, ObjectKey)> = peers
            .iter()
            .filter(|(name, peer)| **name != self.own && chooses(&peer.claims))
            .map(|(name, peer)| (peer.since, name.clone()))
            .collect();
        if chooses(&self.own_claims) {
            let since = peers.get(&self.own).map_or(self.born, |own| own.since);
            all.push((since, self.own.clone()));
        }
        all.sort();
        all.into_iter().map(|(_, name)| name).collect()
    }

    /// What this operator does about a resource that its own selector chooses.
    pub fn role(&self, kind: &Kind, key: &ObjectKey, labels: &BTreeMap<String, String>) -> Role {
        let all = self.answering(kind, key, labels);
        match all.first() {
            Some(first) if *first != self.own => Role::StandBy(first.to_string()),
            _ if all.len() > 1 => Role::Contested(all.iter().skip(1).map(ToString::to_string).collect()),
            _ => Role::Act,
        }
    }

    /// Why nobody answers for a resource, if this operator is the one to say so: the oldest that handles its kind.
    pub fn orphan(&self, kind: &Kind, key: &ObjectKey, labels: &BTreeMap<String, String>) -> Option<String> {
        if !self.answering(kind, key, labels).is_empty() {
            return None;
        }
        let peers = self.peers.borrow();
        let mut all: Vec<(Timestamp, &ObjectKey, &[Claim])> =
            peers.iter().map(|(name, peer)| (peer.since, name, peer.claims.as_slice())).collect();
        if !peers.contains_key(&self.own) {
            all.push((self.born, &self.own, &self.own_claims));
        }
        let about = |claim: &&Claim| claim.is_about(kind, key.namespace());
        all.retain(|(_, _, claims)| claims.iter().any(|claim| about(&claim)));
        all.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        all.first().filter(|(_, name, _)| **name == self.own)?;
        let mut selectors: Vec<&str> = all
            .iter()
            .flat_map(|(_, _, claims)| claims.iter().filter(about).map(|claim| claim.selector.as_str()))
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
            "no operator answers for a resource with {labels}; those that run answer for: {}",
            selectors.join("; ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(selector: &str) -> Claim {
        Claim {
            group: "g".to_owned(),
            kind: "K".to_owned(),
            selector: selector.to_owned(),
            namespaces: Vec::new(),
        }
    }

    fn roster(own: &str, others: &[(&str, i64, &str)]) -> Roster {
        let peers = others.iter().map(|(name, since, selector)| {
            let since = Timestamp::from_second(*since).unwrap();
            (
                ObjectKey::new(Some("n"), name),
                Peer { since, claims: vec![claim(selector)], heard: Instant::now() },
            )
        });
        Roster {
            own: ObjectKey::new(Some("n"), "own"),
            own_claims: vec![claim(own)],
            born: Timestamp::from_second(100).unwrap(),
            peers: RefCell::new(peers.collect()),
        }
    }

    fn labels(version: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("v".to_owned(), version.to_owned())])
    }

    #[test]
    fn the_oldest_of_those_who_are_meant_answers() {
        let kind = Kind::new("g/v1", "K");
        let key = ObjectKey::new(Some("n"), "r");
        let role = |others: &[(&str, i64, &str)]| roster("v=1", others).role(&kind, &key, &labels("1"));
        assert_eq!(role(&[]), Role::Act);
        assert_eq!(role(&[("other", 5, "v=2")]), Role::Act);
        assert_eq!(role(&[("older", 5, "v=1")]), Role::StandBy("n/older".to_owned()));
        assert_eq!(role(&[("younger", 500, "v=1")]), Role::Contested(vec!["n/younger".to_owned()]));
        assert_eq!(role(&[("wide", 5, "")]), Role::StandBy("n/wide".to_owned()));
    }

    #[test]
    fn one_says_that_nobody_answers() {
        let kind = Kind::new("g/v1", "K");
        let key = ObjectKey::new(Some("n"), "r");
        let told = |others: &[(&str, i64, &str)], version| {
            roster("v=1", others).orphan(&kind, &key, &labels(version))
        };
        assert_eq!(told(&[], "1"), None);
        assert!(told(&[], "7").unwrap().contains("v=7"));
        assert_eq!(told(&[("older", 5, "v=2")], "7"), None);
        assert_eq!(told(&[("older", 5, "v=7")], "7"), None);
        let said = told(&[("younger", 500, "v=2")], "7").unwrap();
        assert!(said.ends_with("answer for: v=1; v=2"), "{said}");
    }

    #[test]
    fn who_is_not_heard_of_is_forgotten() {
        let roster = roster("v=1", &[("older", 5, "v=1")]);
        for peer in roster.peers.borrow_mut().values_mut() {
            peer.heard = Instant::now().checked_sub(LASTS * 2).unwrap();
        }
        assert!(roster.bury());
        assert_eq!(roster.role(&Kind::new("g/v1", "K"), &ObjectKey::new(None, "r"), &labels("1")), Role::Act);
    }
}
