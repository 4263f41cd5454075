//! What an older definition got away with, and the newer one may therefore too.

use std::collections::BTreeSet;

use serde_json::Value;

use super::model::{Spec, Validation, Version};
use super::parts::MOST_SELECTABLE;
use super::{Options, conversion, schema, structure};
use crate::defaults::prune_defaults;
use crate::expressions::Language;
use crate::node::{Node, Type, Use};
use crate::path::Path;
use crate::props::Props;

/// What is asked of a definition that replaces another.
pub fn options_after<'a>(
    spec: &Spec,
    before: &Spec,
    old: &Value,
    language: Option<&'a dyn Language>,
) -> Options<'a> {
    let established = has_condition(old, "Established");
    let known = |such: &dyn Fn(&Props) -> bool| before.schemas().any(|(props, _)| props.any(such));
    let mut expressions = BTreeSet::new();
    let mut messages = BTreeSet::new();
    for (props, _) in before.schemas() {
        collect_rules(props, &mut expressions, &mut messages);
    }
    let same_schema = |version: &&Version| {
        let (new, old) = (spec.schema_of(&version.name), before.schema_of(&version.name));
        new.is_some() && new == old
    };
    let reviews = before.conversion.as_ref().map_or(&[][..], |conversion| &conversion.reviews);
    let bundle = before.conversion.as_ref().and_then(|conversion| conversion.client.as_ref());
    let bundle = bundle.map_or("", |client| client.bundle.as_str());
    Options {
        language,
        known_review: reviews.is_empty()
            || reviews.iter().any(|version| conversion::is_known_review(version)),
        fixed_names: established,
        schemas: all_have_schemas(before),
        valid_types: !known(&|props| {
            Type::named(&props.kind).is_none_or(|kind| kind == Type::Null) && !props.kind.is_empty()
        }),
        structural: !before.schemas().any(|(props, _)| is_loose(props)),
        pruned_defaults: !before.schemas().any(|(props, _)| has_unpruned_defaults(props)),
        atomic_sets: !known(&has_loose_set),
        map_keys: !known(&|props| !schema::map_keys(props, &Path::default()).is_empty()),
        broken_bundle: !established || !bundle.is_empty() && !conversion::is_bundle(bundle),
        expressions,
        messages,
        unchanged: spec.versions.iter().filter(same_schema).map(|version| version.name.clone()).collect(),
        crowded: crowded(spec, before),
        cheap: false,
    }
}

fn collect_rules(props: &Props, expressions: &mut BTreeSet<String>, messages: &mut BTreeSet<String>) {
    for rule in &props.rules {
        expressions.insert(rule.rule.clone());
        if !rule.message_expression.is_empty() {
            messages.insert(rule.message_expression.clone());
        }
    }
    for part in props.parts() {
        collect_rules(part, expressions, messages);
    }
}

/// Versions that had too many selectable fields already.
fn crowded(spec: &Spec, before: &Spec) -> BTreeSet<String> {
    let mut crowded = BTreeSet::new();
    if before.selectable.len() > MOST_SELECTABLE && spec.selectable == before.selectable {
        crowded.insert(String::new());
    }
    for version in &spec.versions {
        let old = before.versions.iter().rev().find(|old| old.name == version.name);
        if old
            .is_some_and(|old| old.selectable.len() > MOST_SELECTABLE && old.selectable == version.selectable)
        {
            crowded.insert(version.name.clone());
        }
    }
    crowded
}

fn has_condition(definition: &Value, name: &str) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.get("type").is_some_and(|kind| kind == name));
    found.is_some_and(|condition| condition.get("status").is_some_and(|status| status == "True"))
}

fn all_have_schemas(spec: &Spec) -> bool {
    let has =
        |validation: Option<&Validation>| validation.is_some_and(|validation| validation.schema.is_some());
    has(spec.validation.as_ref()) || spec.versions.iter().all(|version| has(version.validation.as_ref()))
}

fn is_loose(props: &Props) -> bool {
    structure::unsupported(props).is_some() || !structure::check(props, &Path::default()).is_empty()
}

fn has_unpruned_defaults(props: &Props) -> bool {
    if !props.any(&|props| props.default.is_some()) || is_loose(props) {
        return false;
    }
    let node = Node::compile(props, Use::Outline);
    let mut pruned = node.clone();
    prune_defaults(&mut pruned);
    !same_defaults(&node, &pruned)
}

fn same_defaults(a: &Node, b: &Node) -> bool {
    let inner = |node: &Node| node.extra.as_ref().and_then(|extra| extra.node.clone());
    let same = |a: Option<&Node>, b: Option<&Node>| match (a, b) {
        (Some(a), Some(b)) => same_defaults(a, b),
        _ => true,
    };
    a.default == b.default
        && same(a.items.as_deref(), b.items.as_deref())
        && same(inner(a).as_deref(), inner(b).as_deref())
        && a.properties.iter().all(|(name, node)| same(Some(node), b.properties.get(name)))
}

fn has_loose_set(props: &Props) -> bool {
    let (Some("set"), Some(item)) = (props.list_type.as_deref(), props.item()) else { return false };
    match item.kind.as_str() {
        "array" => item.list_type.as_deref().is_some_and(|kind| kind != "atomic"),
        "object" => item.map_type.as_deref() != Some("atomic"),
        _ => false,
    }
}
