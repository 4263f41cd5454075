//! Roles that are put together from others.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::rule::Rule;

/// The rules that a ClusterRole with an `aggregationRule` has to have, given all ClusterRoles; nothing if it has none
/// or already has these.
pub fn aggregate<'v>(role: &Value, all: impl IntoIterator<Item = &'v Value>) -> Option<Vec<Value>> {
    let aggregation = role.get("aggregationRule").filter(|rule| !rule.is_null())?;
    let name = name(role);
    let mut others: Vec<&Value> = all.into_iter().filter(|other| self::name(other) != name).collect();
    others.sort_by_key(|other| self::name(other));
    let mut rules: Vec<Rule> = Vec::new();
    for selector in aggregation.get("clusterRoleSelectors").and_then(Value::as_array).into_iter().flatten() {
        for other in others.iter().filter(|other| selects(selector, &labels(other))) {
            for rule in Rule::all(other) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    (rules != Rule::all(role)).then(|| rules.iter().map(Rule::to_json).collect())
}

fn name(role: &Value) -> &str {
    role.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn labels(role: &Value) -> BTreeMap<&str, &str> {
    let labels = role.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))).collect()
}

/// Whether a selector of an object chooses labels. An operator that is not known chooses nothing.
fn selects(selector: &Value, labels: &BTreeMap<&str, &str>) -> bool {
    let exact = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut wanted = exact.map(|(key, value)| labels.get(key.as_str()).copied() == value.as_str());
    let terms = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let term = |term: &Value| {
        let text = |key: &str| term.get(key).and_then(Value::as_str).unwrap_or_default();
        let value = labels.get(text("key"));
        let listed = || {
            let values = term.get("values").and_then(Value::as_array).into_iter().flatten();
            values.filter_map(Value::as_str).any(|one| Some(&one) == value)
        };
        match text("operator") {
            "In" => value.is_some() && listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    };
    wanted.all(|is| is) && terms.into_iter().all(term)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, label: &str, verbs: &[&str]) -> Value {
        let rules: Vec<Value> = verbs.iter().map(|verb| json!({"verbs": [verb]})).collect();
        json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": rules})
    }

    #[test]
    fn chosen_rules_are_collected_once_in_the_order_of_names() {
        let mut whole = role("a", "x", &["own"]);
        whole["aggregationRule"] = json!({"clusterRoleSelectors": [
            {"matchLabels": {"to": "y"}},
            {"matchExpressions": [{"key": "to", "operator": "In", "values": ["x"]}]},
        ]});
        let all = [
            role("d", "x", &["1", "2"]),
            role("c", "x", &["3", "1"]),
            role("b", "y", &["2"]),
            role("e", "z", &["9"]),
        ];
        let made = aggregate(&whole, all.iter().chain([&whole])).unwrap();
        assert_eq!(made, ["2", "3", "1"].map(|verb| json!({"verbs": [verb]})));
        whole["rules"] = Value::Array(made);
        assert_eq!(aggregate(&whole, &all), None);
        assert_eq!(aggregate(&role("f", "x", &[]), &all), None);
    }
}
