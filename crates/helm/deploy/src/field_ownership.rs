//! Fields that a release leaves to others: those of another's apply, and what a scaler has set.

use serde_json::Value;

/// Who holds a field that we want otherwise, if it is left to them: a manager that applies, or one that scales.
///
/// A server says `conflict with "x"` of one that applies, `conflict with "x" using v1` of one that updates, and
/// `conflict with "x" with subresource "scale" using apps/v1` of one that scales.
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

/// Takes a field, such as `.spec.containers[name="c"].image`, out of an object.
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
    /// An item with these values.
    Item(Vec<(String, Value)>),
    /// An item that is this value.
    Value(Value),
}

/// The first element of a path, and what follows.
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

/// Where the bracket is that closes; those in quotation marks do not.
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
            // What is left out may be a default that the server has filled in.
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
    fn fields_are_taken_out_wherever_they_are() {
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
    fn only_appliers_and_scalers_are_left_alone() {
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
