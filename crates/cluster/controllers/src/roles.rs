//! Roles of the cluster that are made of others, which labels choose.

use std::collections::BTreeMap;
use std::rc::Rc;

use podium_client::client::{ApplyOptions, Error};
use podium_controller::{ReconcileResult, Reconciler};
use podium_meta::{GroupVersionKind, Resource, Selector};
use serde_json::{Value, json};

use crate::act::refused;
use crate::meta::{items, text};
use crate::world::World;

const MANAGER: &str = "clusterrole-aggregation-controller";

/// Fills the rules of aggregated ClusterRoles.
pub struct ClusterRoleAggregation(pub Rc<World>);

impl Reconciler for ClusterRoleAggregation {
    type Key = ();

    async fn reconcile(&self, _key: &()) -> ReconcileResult {
        let world = &self.0;
        match step(world).await {
            Ok(()) => ReconcileResult::Done,
            Err(error) => world.failed("roles", "", &error),
        }
    }
}

async fn step(world: &World) -> Result<(), Error> {
    let kind = GroupVersionKind::new("rbac.authorization.k8s.io/v1", "ClusterRole");
    let resource = Resource { kind, plural: "clusterroles".to_owned(), namespaced: false };
    let list = world.client.list_objects(&resource, None, "").await?;
    for (name, rules) in outdated(items(&list, "/items")) {
        let mut body = json!({"apiVersion": resource.kind.api_version(), "kind": resource.kind.kind, "metadata": {"name": name}});
        if !rules.is_empty() {
            body["rules"] = rules.into();
        }
        let how = ApplyOptions { field_manager: MANAGER, force: true, dry_run: false };
        match world.client.apply(&resource, None, &name, &body, how).await {
            // Another one of the same name came in its place: the watch tells.
            Err(error) if refused(&error, 409) => {}
            result => drop(result?),
        }
    }
    Ok(())
}

/// A role as far as it matters here.
struct Role {
    labels: BTreeMap<String, String>,
    rules: Vec<Value>,
    /// The labels of the roles that it is made of, if it is.
    chooses: Option<Vec<Selector>>,
}

/// The roles whose rules are not those of the roles that they are made of, with the rules that they should have.
fn outdated<'v>(roles: impl Iterator<Item = &'v Value>) -> Vec<(String, Vec<Value>)> {
    let mut all: BTreeMap<String, Role> =
        roles.map(|role| (text(role, "/metadata/name").to_owned(), read(role))).collect();
    let before: BTreeMap<String, Vec<Value>> =
        all.iter().map(|(name, role)| (name.clone(), role.rules.clone())).collect();
    // A role may be made of one that is made of others: as often as there are roles, for those in a row.
    for _ in 0..all.len() {
        let mut changed = false;
        for name in before.keys() {
            let Some(rules) = all.get(name).and_then(|role| made_of(name, role, &all)) else { continue };
            if let Some(role) = all.get_mut(name).filter(|role| role.rules != rules) {
                (role.rules, changed) = (rules, true);
            }
        }
        if !changed {
            break;
        }
    }
    let differs =
        |(name, role): (String, Role)| (before.get(&name) != Some(&role.rules)).then_some((name, role.rules));
    all.into_iter().filter_map(differs).collect()
}

fn made_of(name: &str, role: &Role, all: &BTreeMap<String, Role>) -> Option<Vec<Value>> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in role.chooses.as_ref()? {
        let chosen = all.iter().filter(|(other, role)| *other != name && selector.matches(&role.labels));
        for rule in chosen.flat_map(|(_, role)| &role.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

fn read(role: &Value) -> Role {
    let labels = role.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let labels = labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let rule = |rule: &Value| {
        let fields = rule.as_object().into_iter().flatten();
        // An empty list is none.
        let fields = fields.filter(|(_, value)| value.as_array().is_none_or(|list| !list.is_empty()));
        Value::Object(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let chooses = role.get("aggregationRule").filter(|rule| rule.is_object());
    // A selector that cannot be read spoils the role that has it: it stays as it is.
    let chooses =
        chooses.and_then(|rule| items(rule, "/clusterRoleSelectors").map(selector).collect::<Option<_>>());
    Role { labels: labels.collect(), rules: items(role, "/rules").map(rule).collect(), chooses }
}

/// A selector of labels and expressions; without any it chooses everything.
fn selector(value: &Value) -> Option<Selector> {
    let mut parts = Vec::new();
    for (name, value) in value.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        parts.push(format!("{name}={}", value.as_str()?));
    }
    for expression in items(value, "/matchExpressions") {
        let values: Vec<&str> = items(expression, "/values").filter_map(Value::as_str).collect();
        let (key, values) = (text(expression, "/key"), values.join(","));
        parts.push(match text(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return None,
        });
    }
    Selector::parse(&parts.join(",")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, labels: &[&str], rules: &[&str], chooses: Option<Value>) -> Value {
        let labels: BTreeMap<&str, &str> = labels.iter().map(|label| (*label, "true")).collect();
        let rules: Vec<Value> = rules.iter().map(|verb| json!({"verbs": [verb], "apiGroups": []})).collect();
        let mut role = json!({"metadata": {"name": name, "labels": labels}, "rules": rules});
        if let Some(selectors) = chooses {
            role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        }
        role
    }

    fn by(label: &str) -> Option<Value> {
        Some(json!([{"matchLabels": {label: "true"}}]))
    }

    fn short(roles: &[Value]) -> Vec<String> {
        let line = |(name, rules): (String, Vec<Value>)| {
            let verbs: Vec<&str> = rules.iter().map(|rule| text(rule, "/verbs/0")).collect();
            format!("{name}: {}", verbs.join(" "))
        };
        outdated(roles.iter()).into_iter().map(line).collect()
    }

    #[test]
    fn rules_come_in_the_order_of_names_each_once_also_through_several_roles() {
        let roles = [
            role("all", &[], &[], by("to-all")),
            role("b", &["to-edit"], &["put", "get"], None),
            role("a", &["to-view"], &["get"], None),
            role("edit", &["to-all"], &["stale"], by("to-edit")),
            role("view", &["to-edit"], &[], by("to-view")),
        ];
        assert_eq!(short(&roles), ["all: put get", "edit: put get", "view: get"]);
    }

    #[test]
    fn nothing_is_outdated_when_rules_are_equal_but_for_empty_lists() {
        let whole = role("a", &["x"], &["get"], None);
        let mut made = role("b", &["x"], &[], by("x"));
        made["rules"] = json!([{"verbs": ["get"], "resources": []}]);
        assert!(short(&[whole.clone(), made]).is_empty());
        assert_eq!(short(&[whole, role("c", &[], &["get"], by("y"))]), ["c: "]);
    }

    #[test]
    fn expressions_choose_too_and_what_cannot_be_read_changes_nothing() {
        let base = role("a", &["x"], &["get"], None);
        for (operator, chosen) in [
            (json!({"key": "x", "operator": "Exists"}), true),
            (json!({"key": "x", "operator": "In", "values": ["true", "b"]}), true),
            (json!({"key": "x", "operator": "NotIn", "values": ["true"]}), false),
            (json!({"key": "x", "operator": "DoesNotExist"}), false),
            (json!({"key": "x", "operator": "Near"}), false),
        ] {
            let made = role("m", &["x"], &[], Some(json!([{"matchExpressions": [operator]}])));
            let found = short(&[base.clone(), made]);
            assert_eq!(found.first().map(String::as_str), chosen.then_some("m: get"), "{operator}");
        }
    }
}
