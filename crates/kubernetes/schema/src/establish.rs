//! How a definition comes to be served: its names are accepted if nobody has them, and then it is established.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::definition::is_bundle;
use crate::definition::model::Names;

/// What a definition's status becomes when its names are looked at beside all definitions there are (itself too);
/// nothing if it stays as it is. Moments are written as they are passed in.
pub fn accept<'a>(definition: &Value, all: impl IntoIterator<Item = &'a Value>, now: &str) -> Option<Value> {
    let wanted = definition.pointer("/spec/names").unwrap_or(&Value::Null);
    let had = definition.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    let (wanted, had) = (Names::read(wanted), Names::read(had));
    if wanted == had {
        return None;
    }
    let group = definition.pointer("/spec/group");
    let mut used = Used::default();
    for other in all.into_iter().filter(|other| other.pointer("/spec/group") == group) {
        used.add(Names::read(other.pointer("/status/acceptedNames").unwrap_or(&Value::Null)));
    }
    let (accepted, conflict) = used.accept(&wanted, &had);
    let condition = match conflict {
        None => Condition::new("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => Condition::new("NamesAccepted", "False", reason, &message),
    };
    let before = find(definition, "NamesAccepted");
    if accepted == had && before.is_some_and(|before| condition.is(before)) {
        return None;
    }
    let mut status = definition.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("acceptedNames".to_owned(), write(&accepted));
    let established = find(definition, "Established");
    let is_established = established.is_some_and(|condition| text(condition, "status") == "True");
    let next = if condition.status == "True" && !is_established {
        Some(Condition::new("Established", "False", "Installing", "the initial names have been accepted"))
    } else if established.is_none() {
        Some(Condition::new("Established", "False", "NotAccepted", "not all names are accepted"))
    } else {
        None
    };
    condition.set(&mut status, now);
    if let Some(next) = next {
        next.set(&mut status, now);
    }
    Some(Value::Object(status))
}

/// What a definition's status becomes when its names are accepted and it is not served yet; nothing otherwise.
pub fn establish(definition: &Value, now: &str) -> Option<Value> {
    let is_true = |name: &str| find(definition, name).is_some_and(|found| text(found, "status") == "True");
    if !is_true("NamesAccepted") || is_true("Established") {
        return None;
    }
    let mut status = definition.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let bundle = definition.pointer("/spec/conversion/webhook/clientConfig/caBundle").and_then(Value::as_str);
    let condition = if bundle.is_none_or(|bundle| bundle.is_empty() || is_bundle(bundle)) {
        let message = "the initial names have been accepted";
        Condition::new("Established", "True", "InitialNamesAccepted", message)
    } else {
        let message = "The conversion webhook CABundle is invalid";
        Condition::new("Established", "False", "InvalidCABundle", message)
    };
    condition.set(&mut status, now);
    Some(Value::Object(status))
}

/// Names that are taken in a group.
#[derive(Default)]
struct Used {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Used {
    fn add(&mut self, names: Names) {
        self.resources.extend([names.plural, names.singular]);
        self.resources.extend(names.short);
        self.kinds.extend([names.kind, names.list]);
    }

    /// The names that are accepted, and the last conflict.
    fn accept(&self, wanted: &Names, had: &Names) -> (Names, Option<(&'static str, String)>) {
        let mut accepted = had.clone();
        let mut conflict = None;
        let taken = |used: &BTreeSet<String>, name: &str, had: &str| name != had && used.contains(name);
        let in_use = |name: &str| format!("{} is already in use", crate::go::quote(name));
        let mut one = |used, name: &String, had: &String, place: &mut String, reason| {
            if taken(used, name, had) {
                conflict = Some((reason, in_use(name)));
            } else {
                place.clone_from(name);
            }
        };
        one(&self.resources, &wanted.plural, &had.plural, &mut accepted.plural, "PluralConflict");
        one(&self.resources, &wanted.singular, &had.singular, &mut accepted.singular, "SingularConflict");
        if wanted.short != had.short {
            let mut wrong: Vec<String> = Vec::new();
            for name in wanted.short.iter().filter(|name| !had.short.contains(name)) {
                if taken(&self.resources, name, "") && !wrong.contains(&in_use(name)) {
                    wrong.push(in_use(name));
                }
            }
            match wrong.as_slice() {
                [] => accepted.short.clone_from(&wanted.short),
                [single] => conflict = Some(("ShortNamesConflict", single.clone())),
                many => conflict = Some(("ShortNamesConflict", format!("[{}]", many.join(", ")))),
            }
        }
        let mut one = |used, name: &String, had: &String, place: &mut String, reason| {
            if taken(used, name, had) {
                conflict = Some((reason, in_use(name)));
            } else {
                place.clone_from(name);
            }
        };
        one(&self.kinds, &wanted.kind, &had.kind, &mut accepted.kind, "KindConflict");
        one(&self.kinds, &wanted.list, &had.list, &mut accepted.list, "ListKindConflict");
        accepted.categories.clone_from(&wanted.categories);
        (accepted, conflict)
    }
}

fn write(names: &Names) -> Value {
    let mut out = Map::new();
    out.insert("plural".to_owned(), names.plural.as_str().into());
    out.insert("kind".to_owned(), names.kind.as_str().into());
    for (field, name) in [("singular", &names.singular), ("listKind", &names.list)] {
        if !name.is_empty() {
            out.insert(field.to_owned(), name.as_str().into());
        }
    }
    for (field, list) in [("shortNames", &names.short), ("categories", &names.categories)] {
        if !list.is_empty() {
            out.insert(field.to_owned(), json!(list));
        }
    }
    Value::Object(out)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn find<'a>(definition: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array)?;
    conditions.iter().find(|condition| text(condition, "type") == kind)
}

struct Condition {
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Condition {
    fn new(kind: &'static str, status: &'static str, reason: &'static str, message: &str) -> Self {
        Self { kind, status, reason, message: message.to_owned() }
    }

    fn is(&self, other: &Value) -> bool {
        text(other, "status") == self.status
            && text(other, "reason") == self.reason
            && text(other, "message") == self.message
    }

    /// Puts the condition in a status; its moment is kept while it says the same.
    fn set(&self, status: &mut Map<String, Value>, now: &str) {
        let list = status.entry("conditions").or_insert(Value::Null);
        if !list.is_array() {
            *list = Value::Array(Vec::new());
        }
        let Value::Array(list) = list else { return };
        let fresh = json!({"type": self.kind, "status": self.status, "lastTransitionTime": now, "reason": self.reason,
            "message": self.message});
        match list.iter_mut().find(|condition| text(condition, "type") == self.kind) {
            None => list.push(fresh),
            Some(found) => {
                let kept = found.get("lastTransitionTime").filter(|moment| !moment.is_null()).cloned();
                let same = text(found, "status") == self.status;
                if let Value::Object(fields) = found {
                    let moment = kept.filter(|_| same).unwrap_or_else(|| now.into());
                    for (name, value) in [
                        ("status", self.status.into()),
                        ("reason", self.reason.into()),
                        ("message", self.message.as_str().into()),
                        ("lastTransitionTime", moment),
                    ] {
                        fields.insert(name.to_owned(), value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(plural: &str, kind: &str, short: &[&str]) -> Value {
        json!({"metadata": {"name": format!("{plural}.ex.io")}, "spec": {"group": "ex.io", "names": {"plural": plural,
            "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"), "shortNames": short}},
            "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]}})
    }

    #[test]
    fn names_are_accepted_and_the_definition_established() {
        let mut foos = definition("foos", "Foo", &["f"]);
        let status = accept(&foos, [&foos], "T1").unwrap();
        let names = json!({"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList",
            "shortNames": ["f"]});
        assert_eq!(status["acceptedNames"], names);
        assert_eq!(
            status["conditions"],
            json!([
            {"type": "NamesAccepted", "status": "True", "lastTransitionTime": "T1", "reason": "NoConflicts",
                "message": "no conflicts found"},
            {"type": "Established", "status": "False", "lastTransitionTime": "T1", "reason": "Installing",
                "message": "the initial names have been accepted"}])
        );
        foos["status"] = status;
        assert_eq!(accept(&foos, [&foos], "T2"), None);
        foos["status"] = establish(&foos, "T2").unwrap();
        assert_eq!(foos["status"]["conditions"][1]["status"], "True");
        assert_eq!(foos["status"]["conditions"][1]["reason"], "InitialNamesAccepted");
        assert_eq!(establish(&foos, "T3"), None);
        let mut bars = definition("bars", "Foo", &["b", "f"]);
        bars["status"] = accept(&bars, [&foos, &bars], "T4").unwrap();
        assert_eq!(bars["status"]["acceptedNames"], json!({"plural": "bars", "kind": ""}));
        assert_eq!(
            bars["status"]["conditions"],
            json!([
            {"type": "NamesAccepted", "status": "False", "lastTransitionTime": "T4", "reason": "ListKindConflict",
                "message": "\"FooList\" is already in use"},
            {"type": "Established", "status": "False", "lastTransitionTime": "T4", "reason": "NotAccepted",
                "message": "not all names are accepted"}])
        );
    }
}
