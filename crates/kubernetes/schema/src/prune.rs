//! Fields that a schema does not know are taken out; nulls that mean nothing too.

use serde_json::{Map, Value};

use crate::node::Node;

/// Takes unknown fields out of an object and names them, in the order of their names. What every object says of itself
/// stays; the root is told that it is a whole object.
pub fn prune(value: &mut Value, node: &Node, root: bool) -> Vec<String> {
    let mut pruner = Pruner { at: String::new(), unknown: Vec::new() };
    if node.preserve {
        pruner.skip(value, node, root || node.embedded);
    } else {
        pruner.inside(value, Some(node), root || node.embedded);
    }
    pruner.unknown.sort_unstable();
    pruner.unknown
}

/// Whether every object has the field.
fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

struct Pruner {
    at: String,
    unknown: Vec<String>,
}

impl Pruner {
    /// Does something one step further down.
    fn below(&mut self, step: &str, then: impl FnOnce(&mut Self)) {
        let length = self.at.len();
        if !step.starts_with('[') && length > 0 {
            self.at.push('.');
        }
        self.at.push_str(step);
        then(self);
        self.at.truncate(length);
    }

    /// A field's name may look like an index: it is written with its dot all the same.
    fn field(&mut self, name: &str, then: impl FnOnce(&mut Self)) {
        let length = self.at.len();
        if length > 0 {
            self.at.push('.');
        }
        self.at.push_str(name);
        then(self);
        self.at.truncate(length);
    }

    fn record(&mut self, name: &str) {
        let dot = if self.at.is_empty() { "" } else { "." };
        self.unknown.push(format!("{}{dot}{name}", self.at));
    }

    fn prune(&mut self, value: &mut Value, node: Option<&Node>) {
        match node {
            Some(node) if node.preserve => self.skip(value, node, node.embedded),
            node => self.inside(value, node, node.is_some_and(|node| node.embedded)),
        }
    }

    fn inside(&mut self, value: &mut Value, node: Option<&Node>, embedded: bool) {
        match (value, node) {
            (Value::Object(fields), None) => {
                for name in std::mem::take(fields).keys() {
                    self.record(name);
                }
            }
            (Value::Object(fields), Some(node)) => self.fields(fields, node, embedded),
            (Value::Array(items), node) => {
                let schema = node.and_then(|node| node.items.as_deref());
                for (index, item) in items.iter_mut().enumerate() {
                    self.below(&format!("[{index}]"), |pruner| pruner.prune(item, schema));
                }
            }
            _ => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, node: &Node, embedded: bool) {
        fields.retain(|name, value| {
            if embedded && is_meta(name) {
                return true;
            }
            if let Some(schema) = node.properties.get(name) {
                self.field(name, |pruner| pruner.prune(value, Some(schema)));
            } else if let Some(extra) = &node.extra {
                self.field(name, |pruner| pruner.prune(value, extra.node.as_deref()));
            } else {
                if !is_meta(name) || !self.at.is_empty() {
                    self.record(name);
                }
                return false;
            }
            true
        });
    }

    /// Unknown fields stay here, but not inside fields that the schema knows.
    fn skip(&mut self, value: &mut Value, node: &Node, embedded: bool) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut().filter(|(name, _)| !(embedded && is_meta(name))) {
                    if let Some(schema) = node.properties.get(name) {
                        self.field(name, |pruner| pruner.prune(value, Some(schema)));
                    } else if let Some(extra) = &node.extra {
                        self.field(name, |pruner| pruner.prune(value, extra.node.as_deref()));
                    }
                }
            }
            Value::Array(items) => {
                if let Some(schema) = node.items.as_deref() {
                    for (index, item) in items.iter_mut().enumerate() {
                        self.below(&format!("[{index}]"), |pruner| {
                            pruner.skip(item, schema, schema.embedded)
                        });
                    }
                }
            }
            _ => {}
        }
    }
}

/// Takes out fields that are null where null is no value and nothing stands in for it.
pub fn prune_nulls(value: &mut Value, node: Option<&Node>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let schema = node.and_then(|node| node.field(name));
            if value.is_null()
                && schema.is_some_and(|schema| schema.refuses_null() && schema.default.is_none())
            {
                return false;
            }
            prune_nulls(value, schema);
            true
        }),
        Value::Array(items) => {
            let schema = node.and_then(|node| node.items.as_deref());
            for item in items {
                prune_nulls(item, schema);
            }
        }
        _ => {}
    }
}
