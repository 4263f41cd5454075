//! What differs between two tracks, and which of it is meant to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::track::{Actor, Ended, Seen};

/// Where something differs, what it is on the side of helm, and what on the other.
#[derive(Clone, Debug)]
pub struct Difference {
    pub place: String,
    pub theirs: Value,
    pub ours: Value,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not more of a value than one reads, from where the two part.
        let (theirs, ours) = (self.theirs.to_string(), self.ours.to_string());
        let same = theirs.chars().zip(ours.chars()).take_while(|(a, b)| a == b).count().saturating_sub(60);
        let short = |text: &str| text.chars().skip(same).take(300).collect::<String>();
        write!(f, "  {}\n    helm: {}\n    ours: {}", self.place, short(&theirs), short(&ours))
    }
}

/// What is compared after a step.
pub struct Moment<'m> {
    pub theirs: (&'m Ended, &'m Seen),
    pub ours: (&'m Ended, &'m Seen),
    pub actor: Actor,
    /// Whether some step has failed until now.
    pub failures: bool,
    /// Whether a step has failed, and none has ended well since.
    pub dirty: bool,
    /// Whether helm 3 has been at it until now.
    pub helm3: bool,
}

/// Everything that differs.
pub fn all(moment: &Moment<'_>) -> Vec<Difference> {
    let ((their_end, theirs), (our_end, ours)) = (moment.theirs, moment.ours);
    let mut out = Vec::new();
    let mut add = |place: String, theirs: Value, ours: Value| compare(place, &theirs, &ours, &mut out);
    add("exit".to_owned(), their_end.ok.into(), our_end.ok.into());
    if moment.actor != Actor::Helm3 {
        let [mut theirs, mut ours] = [their_end, our_end].map(|end| end.stdout.clone());
        if moment.helm3 {
            [&mut theirs, &mut ours].into_iter().for_each(as_of_helm3);
        }
        add("stdout".to_owned(), theirs, ours);
    }
    for (name, theirs, ours) in
        [("record", &theirs.records, &ours.records), ("object", &theirs.objects, &ours.objects)]
    {
        let keys: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
        // Helm 3 does not take away what an object has more that was kept from before.
        for key in keys.into_iter().filter(|key| !moment.helm3 || !key.contains("-kept")) {
            let get = |map: &BTreeMap<String, Value>| {
                let mut found = map.get(key).cloned().unwrap_or(Value::Null);
                if moment.helm3 {
                    as_of_helm3(&mut found);
                }
                found
            };
            add(format!("{name} {key}"), get(theirs), get(ours));
        }
    }
    out
}

/// Takes out what the majors of helm write differently: in a record, or in what is printed of it, and in an object.
fn as_of_helm3(value: &mut Value) {
    let record = if value.get("record").is_some() { &mut value["record"] } else { value };
    let Some(record) = record.as_object_mut() else { return };
    record.remove("apply_method");
    if let Some(info) = record.get_mut("info").and_then(Value::as_object_mut) {
        info.remove("rollback_revision");
    }
    let hooks = record.get_mut("hooks").and_then(Value::as_array_mut);
    let manifests = hooks.into_iter().flatten().filter_map(|hook| hook.get_mut("manifest"));
    manifests.for_each(trim);
    if let Some(manifest) = record.get_mut("manifest") {
        trim(manifest);
    }
    // What a client writes of a resource may be an empty map where the server has none.
    if let Some(spec) = record.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    }
}

/// Blank lines between documents are nothing.
fn trim(text: &mut Value) {
    let lines = text.as_str().unwrap_or_default().lines().filter(|line| !line.trim().is_empty());
    *text = lines.collect::<Vec<_>>().join("\n").into();
}

fn compare(place: String, theirs: &Value, ours: &Value, out: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let get = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or(Value::Null);
                compare(format!("{place}.{key}"), &get(a), &get(b), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(format!("{place}[{index}]"), a, b, out);
            }
        }
        (a, b) if a == b => {}
        (a, b) => out.push(Difference { place, theirs: a.clone(), ours: b.clone() }),
    }
}

/// The list of what differs on purpose; the number is the row's there.
const LIST: &str = include_str!("../../../../docs/reference/helm-differences.md");

/// A difference that is meant: its row in the list, and when it is this one.
type Rule = (&'static str, fn(&Moment<'_>, &Difference) -> bool);

const RULES: &[Rule] = &[
    // What a failed revision says of itself.
    ("R1", |_, difference| {
        let before = |value: &Value| {
            value.as_str().and_then(|text| text.split_once(" failed: ")).map(|(before, _)| before.to_owned())
        };
        difference.place.ends_with(".info.description")
            && before(&difference.theirs).is_some()
            && before(&difference.theirs) == before(&difference.ours)
    }),
    // What is there after a change that failed half-way.
    ("R2", |moment, difference| moment.dirty && difference.place.starts_with("object ")),
    ("R4", |_, difference| {
        difference.place.contains(".labels.") && difference.theirs == "null" && difference.ours.is_null()
    }),
    ("R6", |_, difference| difference.place.contains(".record.config") && difference.theirs.is_null()),
    ("R5", |_, difference| {
        difference.place.ends_with(".status")
            && difference.theirs == "superseded"
            && difference.ours == "failed"
    }),
    // What `stringData` wrote once and does not write any more.
    ("R17", |_, difference| {
        difference.place.starts_with("object Secret ")
            && difference.place.contains("-written.data.")
            && (difference.ours.is_null() || difference.theirs.is_null())
    }),
    // What a failed change made and nobody wants; what it wanted and is kept is told of too.
    ("R3", |moment, difference| {
        let Difference { place, theirs, ours } = difference;
        let object = place.starts_with("object ") && !place.contains('.');
        let missing = ours.is_null() || moment.actor != Actor::Podium && theirs.is_null();
        let told = |value: &Value| value.as_str().is_some_and(|text| text.contains("were kept due to"));
        moment.failures && (object && missing || place == "stdout" && (told(ours) || told(theirs)))
    }),
];

/// The row of the list that a difference belongs to.
pub fn purpose(moment: &Moment<'_>, difference: &Difference) -> Option<&'static str> {
    RULES.iter().find(|(_, rule)| rule(moment, difference)).map(|(row, _)| *row)
}

/// What the list says in a row.
pub fn row(number: &str) -> &'static str {
    let start = format!("| {number} |");
    LIST.lines()
        .find(|line| line.starts_with(&start))
        .unwrap_or_else(|| panic!("docs/reference/helm-differences.md has no row {number}"))
}
