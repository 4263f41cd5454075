//! Fields that a release leaves to other managers: those that another manager applies, and those set through `scale`.

use serde_json::Value;

/// The manager that keeps a conflicting field: one that applies it, or one that sets it through `scale`.
///
/// The API server reports `conflict with "x"` for an applier, `conflict with "x" using v1` for an updater, and
/// `conflict with "x" with subresource "scale" using apps/v1` for an autoscaler.
pub fn respected_manager(live: &Value, message: &str) -> Option<String> {
    let quoted = message.split('"').nth(1)?;
    if message.contains("with subresource \"scale\"") {
        return Some(format!("{quoted:?}, which scales it"));
    }
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array)?;
    let text =
        |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let applies = entries.iter().any(|e| text(e, "manager") == quoted && text(e, "operation") == "Apply");
    (applies && !message.contains(" using ")).then(|| format!("{quoted:?}, which applies it"))
}

/// Removes a field, such as `.spec.containers[name="c"].image`, from an object.
pub fn remove_field(object: &mut Value, path: &str) {
    let mut at = object;
    let mut rest = path;
    loop {
        let Some((element, after)) = parse_element(rest) else { return };
        if after.is_empty() {
            return remove_element(at, &element);
        }
        let Some(inner) = descend(at, &element) else { return };
        (at, rest) = (inner, after);
    }
}

enum PathElement {
    Field(String),
    Index(usize),
    /// The list item with these keys and values.
    Item(Vec<(String, Value)>),
    /// The list item with this value.
    Value(Value),
}

/// Parses the first element of a path; returns the rest as well.
fn parse_element(path: &str) -> Option<(PathElement, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        return Some((PathElement::Field(name.to_owned()), rest));
    }
    let inside = path.strip_prefix('[')?;
    let end = closing_bracket(inside)?;
    let (inside, rest) = (inside.get(..end)?, inside.get(end + 1..)?);
    if let Ok(index) = inside.parse() {
        return Some((PathElement::Index(index), rest));
    }
    if let Some(value) = inside.strip_prefix('=') {
        return Some((PathElement::Value(serde_json::from_str(value).ok()?), rest));
    }
    let mut pairs = Vec::new();
    let mut left = inside;
    while !left.is_empty() {
        let (key, after) = left.split_once('=')?;
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        let value = values.next()?.ok()?;
        pairs.push((key.to_owned(), value));
        left = after.get(values.byte_offset()..)?.trim_start_matches(',');
    }
    Some((PathElement::Item(pairs), rest))
}

/// The position of the closing bracket; brackets in quotes do not count.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn position(items: &[Value], element: &PathElement) -> Option<usize> {
    match element {
        PathElement::Field(_) => None,
        PathElement::Index(index) => (*index < items.len()).then_some(*index),
        PathElement::Value(value) => items.iter().position(|item| item == value),
        PathElement::Item(pairs) => items.iter().position(|item| {
            // A key that the manifest omits may be a default that the API server filled in.
            pairs.iter().all(|(key, value)| item.get(key).is_none_or(|found| found == value))
        }),
    }
}

fn descend<'v>(value: &'v mut Value, element: &PathElement) -> Option<&'v mut Value> {
    match (value, element) {
        (Value::Object(map), PathElement::Field(name)) => map.get_mut(name),
        (Value::Array(items), element) => position(items, element).and_then(|index| items.get_mut(index)),
        _ => None,
    }
}

fn remove_element(value: &mut Value, element: &PathElement) {
    match (value, element) {
        (Value::Object(map), PathElement::Field(name)) => drop(map.remove(name)),
        (Value::Array(items), element) => {
            if let Some(index) = position(items, element) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn removes_fields_by_path() {
        let mut object = json!({"spec": {"replicas": 1, "c": [{"name": "a]", "image": "x", "n": 1}, {"name": "b"}],
            "ports": [{"port": 80}], "set": ["x", "y"]}});
        for path in [
            ".spec.replicas",
            r#".spec.c[name="a]"].image"#,
            r#".spec.ports[port=80,protocol="TCP"]"#,
            r#".spec.set[="x"]"#,
            ".spec.c[1]",
            ".spec.nope.deeper",
            ".spec.c[",
        ] {
            remove_field(&mut object, path);
        }
        assert_eq!(object, json!({"spec": {"c": [{"name": "a]", "n": 1}], "ports": [], "set": ["y"]}}));
    }

    #[test]
    fn respects_appliers_and_autoscalers_only() {
        let live = json!({"metadata": {"managedFields": [
            {"manager": "flux", "operation": "Apply"}, {"manager": "kubectl-edit", "operation": "Update"}]}});
        assert!(respected_manager(&live, "conflict with \"flux\"").is_some());
        assert!(respected_manager(&live, "conflict with \"kubectl-edit\" using v1").is_none());
        assert!(
            respected_manager(&live, "conflict with \"hpa\" with subresource \"scale\" using apps/v1")
                .is_some()
        );
    }
}
