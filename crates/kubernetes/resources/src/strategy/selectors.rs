//! Labels, and what selects by them.

use serde_json::Value;

use super::formats;
use super::place::{Flaws, Place};

/// A map of labels, all said to be at one place.
pub fn labels(place: &Place<'_>, out: &mut Flaws) {
    for (key, value) in place.members() {
        let named: Value = key.into();
        out.wrong(&Place { value: &named, path: place.path.clone() }, formats::key(key));
        out.wrong(&value.moved(&place.path), formats::label_value(value.text()));
    }
}

/// The key of a label.
pub fn key(place: &Place<'_>, out: &mut Flaws) {
    out.wrong(place, formats::key(place.text()));
}

/// A selector; none is fine.
pub fn selector(place: &Place<'_>, out: &mut Flaws) {
    selector_with(place, false, out);
}

/// A selector whose values may be wrong, as those of old objects are.
pub fn selector_with(place: &Place<'_>, any_value: bool, out: &mut Flaws) {
    labels(&place.at("matchLabels"), out);
    for term in place.each("matchExpressions") {
        let values = term.at("values");
        match term.at("operator").text() {
            "In" | "NotIn" if values.count() == 0 => {
                out.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if values.count() > 0 => {
                out.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => out.invalid_text(&term.at("operator"), "not a valid selector operator"),
        }
        key(&term.at("key"), out);
        if !any_value {
            values.items().for_each(|value| out.wrong(&value, formats::label_value(value.text())));
        }
    }
}

/// Whether labels are selected; nothing if the selector cannot be used at all.
pub fn selects(selector: &Value, labels: &Value) -> Option<bool> {
    let place = Place::root(selector);
    if !place.is() {
        return Some(false);
    }
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let mut all = true;
    for (key, value) in place.at("matchLabels").members() {
        if !formats::key(key).is_empty() || !formats::label_value(value.text()).is_empty() {
            return None;
        }
        all &= label(key) == Some(value.text());
    }
    for term in place.each("matchExpressions") {
        let key = term.at("key").text();
        let values: Vec<&str> = term.each("values").iter().map(Place::text).collect();
        let found = label(key).is_some_and(|value| values.contains(&value));
        if !formats::key(key).is_empty() || values.iter().any(|value| !formats::label_value(value).is_empty())
        {
            return None;
        }
        all &= match (term.at("operator").text(), values.is_empty()) {
            ("In", false) => found,
            ("NotIn", false) => !found,
            ("Exists", true) => label(key).is_some(),
            ("DoesNotExist", true) => label(key).is_none(),
            _ => return None,
        };
    }
    Some(all)
}

/// Whether a selector selects by nothing.
pub fn is_empty(selector: &Place<'_>) -> bool {
    selector.at("matchLabels").count() + selector.at("matchExpressions").count() == 0
}

/// What a node has to have: one of several terms.
pub fn node_selector(place: &Place<'_>, out: &mut Flaws) {
    let terms = place.at("nodeSelectorTerms");
    if terms.count() == 0 {
        return out.required(&terms, "must have at least one node selector term");
    }
    terms.items().for_each(|term| node_term(&term, false, out));
}

/// One term of what a node has to have.
pub fn node_term(term: &Place<'_>, any_value: bool, out: &mut Flaws) {
    for one in term.each("matchExpressions") {
        let values = one.at("values");
        match (one.at("operator").text(), values.count()) {
            ("In" | "NotIn", 0) => {
                out.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            ("Exists" | "DoesNotExist", 1..) => {
                out.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            ("Gt" | "Lt", count) if count != 1 => {
                out.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            ("In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt", _) => {}
            _ => out.invalid_text(&one.at("operator"), "not a valid selector operator"),
        }
        key(&one.at("key"), out);
        if !any_value {
            values.items().for_each(|value| out.wrong(&value, formats::label_value(value.text())));
        }
    }
    for one in term.each("matchFields") {
        let values = one.at("values");
        match one.at("operator").text() {
            "In" | "NotIn" if values.count() != 1 => out.required(
                &values,
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            ),
            "In" | "NotIn" => {}
            _ => out.invalid_text(&one.at("operator"), "not a valid selector operator"),
        }
        if one.at("key").text() == "metadata.name" {
            values.items().for_each(|value| out.wrong(&value, formats::subdomain(value.text())));
        } else {
            out.invalid_text(&one.at("key"), "not a valid field selector key");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_selected_by_all_terms() {
        let labels = json!({"a": "1", "b": "2"});
        let term = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
        assert_eq!(selects(&json!({"matchLabels": {"a": "1"}}), &labels), Some(true));
        assert_eq!(selects(&json!({"matchLabels": {"a": "2"}}), &labels), Some(false));
        assert_eq!(selects(&term("In", &["1", "3"]), &labels), Some(true));
        assert_eq!(selects(&term("NotIn", &["1", "3"]), &labels), Some(false));
        assert_eq!(selects(&term("In", &[]), &labels), None);
        assert_eq!(selects(&Value::Null, &labels), Some(false));
        assert_eq!(selects(&json!({}), &labels), Some(true));
    }
}
