//! What is remembered of a custom resource between reconciles.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use podium_deploy::ObjectRef;
use podium_deploy::plan::Step;
use podium_deploy::wait::Readiness;
use serde_json::{Value, json};

/// A resource, in few bytes.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// What it wants, as a number.
    pub wish: u64,
    /// Its version when it was last heard of.
    pub version: u64,
    /// Its labels, which decide who answers for it.
    pub labels: BTreeMap<String, String>,
    /// The wish that is worked on.
    pub working: u64,
    /// How often its record or what its values come from has changed.
    pub turn: u64,
    /// Its status as the server has it.
    pub status: Value,
    /// What has been done for it.
    pub done: Option<Done>,
    /// The resource itself, until it is looked at.
    pub body: Option<Box<Value>>,
    /// Whether its chart rendered slowly the last time.
    pub renders_slowly: Arc<AtomicBool>,
}

/// What has been done for a resource.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The wish that it was done for.
    pub wish: u64,
    /// The generation of that wish.
    pub generation: i64,
    /// The chart that it was done with.
    pub chart: String,
    /// The versions of the Secrets and ConfigMaps that its values come from.
    pub sources: Vec<String>,
    /// The revision of its release.
    pub revision: i64,
    /// Its objects.
    pub held: Vec<Held>,
    /// What Deployed says: the reason and the message.
    pub deployed: (String, String),
    /// What there is to warn about.
    pub warnings: Vec<String>,
    /// The turn of the resource when it was done.
    pub turn: u64,
    /// How often what is not ready was looked at since something changed.
    pub looks: u32,
    /// How often the resource wants to be looked at.
    pub period: Option<Duration>,
}

/// An object of a release.
#[derive(Clone, Debug)]
pub struct Held {
    /// Which.
    pub named: ObjectRef,
    /// The signature of our fields.
    pub signature: u64,
    /// The version since which the signature holds.
    pub version: u64,
    /// Somebody deleted it: the version that it had then.
    pub lost: Option<u64>,
    /// How it was, and in which version that was seen.
    pub sight: Option<(u64, Readiness)>,
    /// Fields that are left to others.
    pub left: Vec<String>,
}

impl Held {
    /// From what became of it.
    pub fn of(step: &Step) -> Self {
        Self {
            named: step.object.clone(),
            signature: step.managed_fields_hash,
            version: step.resource_version,
            lost: None,
            sight: step.readiness.clone().map(|sight| (step.resource_version, sight)),
            left: step.notes.clone(),
        }
    }

    /// After it was put right. What went since then, while that was under way, is lost again.
    pub fn renewed(&self, step: &Step) -> Self {
        Self { lost: self.lost.filter(|version| *version >= step.resource_version), ..Self::of(step) }
    }
}

/// What was heard to go after it was written, while that was not known here yet, is lost.
pub fn heed(held: &mut [Held], before: &[Held]) {
    for held in held {
        let before = before.iter().find(|before| before.named == held.named);
        let lost = before.and_then(|before| before.lost).filter(|version| *version >= held.version);
        held.lost = held.lost.max(lost);
    }
}

/// The objects of a release as one line, which its record carries, so that a restart needs to read nothing else.
pub fn write(held: &[Held]) -> String {
    let line = |held: &Held| {
        let ObjectRef { kind, namespace, name, .. } = &held.named;
        json!([kind.api_version(), kind.kind, namespace, name, format!("{:x}", held.signature)])
    };
    Value::Array(held.iter().filter(|held| !held.named.name.is_empty()).map(line).collect()).to_string()
}

/// Reads that line again; nothing when it is none.
pub fn read(line: &str) -> Option<Vec<Held>> {
    let Ok(Value::Array(items)) = serde_json::from_str(line) else { return None };
    let held = |item: &Value| {
        let text = |at: usize| item.get(at).and_then(Value::as_str);
        Some(Held {
            named: ObjectRef {
                kind: podium_meta::Kind::new(text(0)?, text(1)?),
                namespace: text(2).map(str::to_owned),
                name: text(3)?.to_owned(),
                generate_name: String::new(),
            },
            signature: u64::from_str_radix(text(4)?, 16).ok()?,
            version: 0,
            lost: None,
            sight: None,
            left: Vec::new(),
        })
    };
    items.iter().map(held).collect()
}

#[cfg(test)]
mod tests {
    use podium_meta::Kind;

    use super::*;

    #[test]
    fn what_goes_while_it_is_put_right_is_lost_again() {
        let named = ObjectRef {
            kind: Kind::new("v1", "ConfigMap"),
            namespace: Some("a".to_owned()),
            name: "b".to_owned(),
            generate_name: String::new(),
        };
        let step = Step {
            object: named.clone(),
            action: podium_deploy::plan::Action::Keep,
            notes: Vec::new(),
            managed_fields_hash: 1,
            resource_version: 7,
            readiness: None,
        };
        let before = |lost| Held {
            named: named.clone(),
            signature: 1,
            version: 5,
            lost,
            sight: None,
            left: Vec::new(),
        };
        assert_eq!(before(Some(6)).renewed(&step).lost, None);
        assert_eq!(before(Some(8)).renewed(&step).lost, Some(8));
        assert_eq!(before(None).renewed(&step).lost, None);
    }

    #[test]
    fn the_line_of_a_record_is_read_again() {
        let named = |namespace: Option<&str>, name: &str| ObjectRef {
            kind: Kind::new("apps/v1", "Deployment"),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            generate_name: String::new(),
        };
        let held = |named| Held {
            named,
            signature: u64::MAX - 3,
            version: 0,
            lost: None,
            sight: None,
            left: Vec::new(),
        };
        let before = [held(named(Some("n"), "a")), held(named(None, "b"))];
        let after = read(&write(&before)).unwrap();
        let essence = |held: &Held| (held.named.clone(), held.signature);
        assert_eq!(
            before.iter().map(essence).collect::<Vec<_>>(),
            after.iter().map(essence).collect::<Vec<_>>()
        );
        assert!(read("no").is_none() && read("[[1]]").is_none());
    }
}
