//! What a definition has to be.

use std::collections::{BTreeMap, BTreeSet};

use podium_objects::{Flaw, Wrong};
use serde_json::Value;

use super::model::{Column, Names, Spec, Subresources, Version};
use super::schema::not_supported;
use super::{Options, conversion, schema, shown, structure};
use crate::custom::masked;
use crate::defaults::prune_defaults;
use crate::expressions::Language;
use crate::field_path;
use crate::formats::Url;
use crate::go;
use crate::metadata;
use crate::names;
use crate::node::{Node, Type, Use};
use crate::path::Path;
use crate::props::Props;

const APPROVAL: &str = "api-approved.kubernetes.io";
const MOST_SELECTABLE: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// What is wrong with a new definition. Without a language, rules are not compiled.
pub fn validate_create(definition: &Value, language: Option<&dyn Language>) -> Vec<Flaw> {
    let spec = Spec::read(part(definition, "spec"));
    let options = Options {
        language,
        known_review: true,
        fixed_names: false,
        schemas: true,
        valid_types: true,
        structural: true,
        pruned_defaults: true,
        atomic_sets: true,
        map_keys: true,
        broken_bundle: true,
        expressions: BTreeSet::new(),
        messages: BTreeSet::new(),
        unchanged: BTreeSet::new(),
        crowded: BTreeSet::new(),
        cheap: false,
    };
    let wanted = format!("{}.{}", spec.names.plural, spec.group);
    let naming = |name: &str, prefix: bool| {
        let mut wrong = names::subdomain(&masked(name, prefix));
        if name != wanted {
            wrong.push(r#"must be spec.names.plural+"."+spec.group"#.to_owned());
        }
        wrong
    };
    let mut flaws = metadata::on_create(part(definition, "metadata"), false, &naming, &Path::new("metadata"));
    flaws.extend(check_spec(&spec, &options));
    flaws.extend(rest(definition, None, &spec));
    flaws
}

/// What is wrong with a definition that replaces another; what was wrong with that one already is let through where
/// the server does so.
pub fn validate_update(new: &Value, old: &Value, language: Option<&dyn Language>) -> Vec<Flaw> {
    let spec = Spec::read(part(new, "spec"));
    let before = Spec::read(part(old, "spec"));
    let options = options_after(&spec, &before, old, language);
    let mut flaws = metadata::on_update(part(new, "metadata"), part(old, "metadata"), &Path::new("metadata"));
    flaws.extend(check_spec(&spec, &options));
    let at = Path::new("spec");
    let mut fixed = |at: &Path, new: &str, old: &str| {
        if new != old {
            flaws.push(Flaw::shown(Wrong::Invalid, at, &go::quote(new), "field is immutable"));
        }
    };
    if options.fixed_names {
        fixed(&at.child("scope"), &spec.scope, &before.scope);
        fixed(&at.child("names").child("kind"), &spec.names.kind, &before.names.kind);
    }
    fixed(&at.child("group"), &spec.group, &before.group);
    fixed(&at.child("names").child("plural"), &spec.names.plural, &before.names.plural);
    flaws.extend(rest(new, Some((old, &before)), &spec));
    flaws
}

/// What is wrong with a write of a definition's status.
pub fn validate_status(new: &Value, old: &Value) -> Vec<Flaw> {
    let mut flaws = metadata::on_update(part(new, "metadata"), part(old, "metadata"), &Path::new("metadata"));
    flaws.extend(check_status(new));
    flaws
}

fn part<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

fn options_after<'a>(
    spec: &Spec,
    before: &Spec,
    old: &Value,
    language: Option<&'a dyn Language>,
) -> Options<'a> {
    let established = has_condition(old, "Established");
    let known = |such: &dyn Fn(&Props) -> bool| before.schemas().any(|(props, _)| props.any(such));
    let rules = |props: &Props| props.rules.clone();
    let mut expressions = BTreeSet::new();
    let mut messages = BTreeSet::new();
    for (props, _) in before.schemas() {
        collect_rules(props, &rules, &mut expressions, &mut messages);
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

fn collect_rules(
    props: &Props,
    rules: &dyn Fn(&Props) -> Vec<crate::props::Rule>,
    expressions: &mut BTreeSet<String>,
    messages: &mut BTreeSet<String>,
) {
    for rule in rules(props) {
        expressions.insert(rule.rule);
        if !rule.message_expression.is_empty() {
            messages.insert(rule.message_expression);
        }
    }
    for part in props.parts() {
        collect_rules(part, rules, expressions, messages);
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
    let found = conditions.into_iter().flatten().find(|condition| part(condition, "type") == name);
    found.is_some_and(|condition| part(condition, "status") == "True")
}

fn all_have_schemas(spec: &Spec) -> bool {
    let has = |validation: Option<&super::model::Validation>| {
        validation.is_some_and(|validation| validation.schema.is_some())
    };
    has(spec.validation.as_ref()) || spec.versions.iter().all(|version| has(version.validation.as_ref()))
}

fn is_loose(props: &Props) -> bool {
    structure::unsupported(props).is_some() || !structure::check(props, &Path::default()).is_empty()
}

fn has_unpruned_defaults(props: &Props) -> bool {
    if !props.any(&|props| props.default.is_some()) || is_loose(props) {
        return false;
    }
    let node = Node::compile(props, Use::Resources);
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

/// What follows the specification: the status, stored versions, approval, unknown fields.
fn rest(definition: &Value, old: Option<(&Value, &Spec)>, spec: &Spec) -> Vec<Flaw> {
    let mut flaws = check_status(definition);
    flaws.extend(check_stored(definition, spec));
    flaws.extend(check_approval(definition, old.map(|(old, _)| old), spec));
    if spec.preserve && !old.is_some_and(|(_, before)| before.preserve) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        flaws.push(Flaw::shown(Wrong::Invalid, "spec.preserveUnknownFields", "true", detail));
    }
    flaws
}

fn check_spec(spec: &Spec, options: &Options<'_>) -> Vec<Flaw> {
    let at = Path::new("spec");
    let mut flaws = Vec::new();
    let group = at.child("group");
    let wrong = names::subdomain(&spec.group);
    if spec.group.is_empty() {
        flaws.push(Flaw::required(&group, ""));
    } else if !wrong.is_empty() {
        flaws.push(Flaw::shown(Wrong::Invalid, &group, &go::quote(&spec.group), &wrong.join(",")));
    } else if !spec.group.contains('.') {
        let detail = "should be a domain with at least one dot";
        flaws.push(Flaw::shown(Wrong::Invalid, &group, &go::quote(&spec.group), detail));
    }
    match spec.scope.as_str() {
        "" => flaws.push(Flaw::required(at.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => flaws.push(not_supported(&at.child("scope"), &go::quote(other), &["Cluster", "Namespaced"])),
    }
    let shared = spec.validation.as_ref().is_some_and(|validation| validation.schema.is_some());
    if !shared {
        for (index, version) in spec.versions.iter().enumerate() {
            let missing = version.validation.as_ref().is_none_or(|validation| validation.schema.is_none());
            let place = at.child("versions").index(index).child("schema").child("openAPIV3Schema");
            if missing && options.schemas {
                flaws.push(Flaw::required(place, ""));
            } else if missing && !spec.preserve && version.served {
                flaws.push(Flaw::required(place, "because otherwise all fields are pruned"));
            }
        }
    }
    let has = |such: &dyn Fn(&Props) -> bool| spec.schemas().any(|(props, _)| props.any(such));
    let defaults = has(&|props| props.default.is_some());
    if defaults && spec.preserve {
        let detail = "must be false in order to use defaults in the schema";
        flaws.push(Flaw::shown(Wrong::Invalid, at.child("preserveUnknownFields"), "true", detail));
    }
    let structural = options.structural || !spec.preserve || defaults || has(&has_extensions);
    let options = &Options {
        structural,
        language: options.language,
        expressions: options.expressions.clone(),
        messages: options.messages.clone(),
        unchanged: options.unchanged.clone(),
        crowded: options.crowded.clone(),
        ..*options
    };
    flaws.extend(check_versions(spec, options, &at));
    let shown_versions = || shown::versions(&spec.versions, spec.versioned);
    let odd = |detail: &str| Flaw::shown(Wrong::Invalid, at.child("versions"), &shown_versions(), detail);
    let distinct: BTreeSet<&str> = spec.versions.iter().map(|version| version.name.as_str()).collect();
    if distinct.len() != spec.versions.len() {
        flaws.push(odd("must contain unique version names"));
    }
    if spec.versions.iter().filter(|version| version.storage).count() != 1 {
        flaws.push(odd("must have exactly one version marked as storage version"));
    }
    if !spec.version.is_empty() {
        let wrong = names::label_1035(&spec.version);
        if !wrong.is_empty() {
            let shown = go::quote(&spec.version);
            flaws.push(Flaw::shown(Wrong::Invalid, at.child("version"), &shown, &wrong.join(",")));
        }
    }
    let place = at.child("names");
    let given = [
        ("plural", &spec.names.plural),
        ("singular", &spec.names.singular),
        ("kind", &spec.names.kind),
        ("listKind", &spec.names.list),
    ];
    for (name, _) in given.into_iter().filter(|(_, given)| given.is_empty()) {
        flaws.push(Flaw::required(place.child(name), ""));
    }
    flaws.extend(check_names(&spec.names, &place));
    let status = spec.subresources.as_ref().is_some_and(|all| all.status)
        || spec.versions.iter().any(|version| version.subresources.as_ref().is_some_and(|all| all.status));
    let cheap = options_for(options, &spec.version);
    flaws.extend(schema::check(spec.validation.as_ref(), status, &cheap, &at.child("validation")));
    flaws.extend(check_subresources(spec.subresources.as_ref(), &at.child("subresources")));
    flaws.extend(check_columns(&spec.columns, &at.child("additionalPrinterColumns")));
    if !spec.selectable.is_empty() {
        let place = at.child("selectableFields");
        match &spec.validation {
            None => {
                let detail = "may only be set when validations.schema is included";
                flaws.push(Flaw::shown(Wrong::Invalid, &place, "\"\"", detail));
            }
            Some(validation) => {
                let props = validation.schema.as_ref().map(|(props, _)| props);
                flaws.extend(check_selectable(&spec.selectable, props, &at, &place, options, ""));
            }
        }
    }
    if let Some(conversion) = &spec.conversion {
        let place = at.child("conversion");
        if conversion.strategy != "None" && spec.preserve {
            let detail = "must be None if spec.preserveUnknownFields is true";
            let shown = shown::quoted(&conversion.strategy);
            flaws.push(Flaw::shown(Wrong::Invalid, place.child("strategy"), &shown, detail));
        }
        flaws.extend(conversion::check(conversion, options, &place));
    }
    flaws
}

/// Whether a schema uses what only structural schemas can have.
fn has_extensions(props: &Props) -> bool {
    props.embedded
        || props.preserve.is_some()
        || props.int_or_string
        || !props.list_map_keys.is_empty()
        || props.list_type.is_some()
        || !props.rules.is_empty()
}

/// The options for one version: rules of an unchanged schema may cost what they cost.
fn options_for<'a>(options: &Options<'a>, version: &str) -> Options<'a> {
    Options {
        cheap: options.unchanged.contains(version),
        language: options.language,
        expressions: options.expressions.clone(),
        messages: options.messages.clone(),
        unchanged: BTreeSet::new(),
        crowded: options.crowded.clone(),
        ..*options
    }
}

fn check_versions(spec: &Spec, options: &Options<'_>, at: &Path) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let split = spec.versions.iter().any(|version| version.subresources.is_some());
    for (index, version) in spec.versions.iter().enumerate() {
        let at = at.child("versions").index(index);
        let wrong = names::label_1035(&version.name);
        if !wrong.is_empty() {
            let shown = go::quote(&version.name);
            flaws.push(Flaw::shown(Wrong::Invalid, at.child("name"), &shown, &wrong.join(",")));
        }
        let subresources = if split {
            let first = spec.versions.iter().find(|other| other.name == version.name);
            first.and_then(|first| first.subresources.as_ref())
        } else {
            spec.subresources.as_ref()
        };
        for wrong in warning_flaws(version.deprecated, version.warning.as_deref()) {
            let shown = shown::maybe(version.warning.as_deref());
            flaws.push(Flaw::shown(Wrong::Invalid, at.child("deprecationWarning"), &shown, &wrong));
        }
        let status = subresources.is_some_and(|all| all.status);
        let options = options_for(options, &version.name);
        flaws.extend(schema::check(version.validation.as_ref(), status, &options, &at.child("schema")));
        flaws.extend(check_subresources(version.subresources.as_ref(), &at.child("subresources")));
        flaws.extend(check_columns(&version.columns, &at.child("additionalPrinterColumns")));
        if !version.selectable.is_empty() {
            let place = at.child("selectableFields");
            match version.validation.as_ref().and_then(|validation| validation.schema.as_ref()) {
                None => {
                    let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
                    flaws.push(Flaw::shown(Wrong::Invalid, &place, "\"\"", detail));
                }
                Some((props, _)) => {
                    let name = &version.name;
                    flaws.extend(check_selectable(
                        &version.selectable,
                        Some(props),
                        &at,
                        &place,
                        &options,
                        name,
                    ));
                }
            }
        }
    }
    flaws
}

fn warning_flaws(deprecated: bool, warning: Option<&str>) -> Vec<String> {
    let Some(warning) = warning else { return Vec::new() };
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut wrong = Vec::new();
    if warning.len() > 256 {
        wrong.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        wrong.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| *c != ' ' && !podium_re2::is_print(*c)) {
        wrong.push(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
    wrong
}

fn check_names(all: &Names, at: &Path) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let mut say = |at: Path, name: &str, detail: &str| {
        flaws.push(Flaw::shown(Wrong::Invalid, at, &go::quote(name), detail));
    };
    for (field, name, mixed) in [
        ("plural", &all.plural, false),
        ("singular", &all.singular, false),
        ("kind", &all.kind, true),
        ("listKind", &all.list, true),
    ] {
        let wrong = if mixed { names::label_1035(&name.to_lowercase()) } else { names::label_1035(name) };
        if !name.is_empty() && !wrong.is_empty() {
            let before = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            say(at.child(field), name, &format!("{before}{}", wrong.join(",")));
        }
    }
    for (index, name) in all.short.iter().enumerate() {
        let wrong = names::label_1035(name);
        if !wrong.is_empty() {
            say(at.child("shortNames").index(index), name, &wrong.join(","));
        }
    }
    if !all.kind.is_empty() && all.kind == all.list {
        say(at.child("listKind"), &all.list, "kind and listKind may not be the same");
    }
    for (index, name) in all.categories.iter().enumerate() {
        let wrong = names::label_1035(name);
        if !wrong.is_empty() {
            say(at.child("categories").index(index), name, &wrong.join(","));
        }
    }
    flaws
}

fn check_subresources(all: Option<&Subresources>, at: &Path) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let Some((spec, status, selector)) = all.and_then(|all| all.scale.as_ref()) else { return flaws };
    let under = [("specReplicasPath", spec, ".spec"), ("statusReplicasPath", status, ".status")];
    for (name, path, root) in under {
        let at = at.child(&format!("scale.{name}"));
        let wrong = simple_path(path, &at);
        if path.is_empty() {
            flaws.push(Flaw::required(&at, ""));
        } else if wrong.is_some() {
            flaws.extend(wrong);
        } else if !path.starts_with(&format!("{root}.")) {
            let detail = format!("should be a json path under {root}");
            flaws.push(Flaw::shown(Wrong::Invalid, &at, &go::quote(path), &detail));
        }
    }
    if let Some(path) = selector.as_deref().filter(|path| !path.is_empty()) {
        let at = at.child("scale.labelSelectorPath");
        let wrong = simple_path(path, &at);
        if wrong.is_some() {
            flaws.extend(wrong);
        } else if !path.starts_with(".spec.") && !path.starts_with(".status.") {
            let detail = "should be a json path under either .spec or .status";
            flaws.push(Flaw::shown(Wrong::Invalid, &at, &shown::quoted(path), detail));
        }
    }
    flaws
}

fn simple_path(path: &str, at: &Path) -> Option<Flaw> {
    let detail = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| Flaw::shown(Wrong::Invalid, at, &go::quote(path), detail))
}

fn check_columns(columns: &[Column], at: &Path) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let at = at.index(index);
        if column.name.is_empty() {
            flaws.push(Flaw::required(at.child("name"), ""));
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if column.kind.is_empty() {
            flaws.push(Flaw::required(at.child("type"), &types));
        } else if !COLUMN_TYPES.contains(&column.kind.as_str()) {
            flaws.push(Flaw::shown(Wrong::Invalid, at.child("type"), &go::quote(&column.kind), &types));
        }
        if !column.format.is_empty() && !COLUMN_FORMATS.contains(&column.format.as_str()) {
            let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
            flaws.push(Flaw::shown(Wrong::Invalid, at.child("format"), &go::quote(&column.format), &formats));
        }
        let at = at.child("JSONPath");
        if column.path.is_empty() {
            flaws.push(Flaw::required(&at, ""));
        } else {
            flaws.extend(simple_path(&column.path, &at));
        }
    }
    flaws
}

fn check_selectable(
    paths: &[String],
    props: Option<&Props>,
    outer: &Path,
    at: &Path,
    options: &Options<'_>,
    version: &str,
) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let empty = Props::default();
    let props = props.unwrap_or(&empty);
    let unreadable = structure::unsupported(props);
    if let Some(why) = &unreadable {
        flaws.push(Flaw::shown(Wrong::Invalid, outer.child("schema.openAPIV3Schema"), "\"\"", why));
    }
    let node = Node::compile(if unreadable.is_some() { &empty } else { props }, Use::Resources);
    let mut known = BTreeSet::new();
    for (index, path) in paths.iter().enumerate() {
        let at = at.index(index).child("jsonPath");
        let shown = go::quote(path);
        if path.is_empty() {
            flaws.push(Flaw::required(&at, ""));
            continue;
        }
        let found = match field_path::find(path, &node, false) {
            Ok(found) => found,
            Err(error) => {
                let detail = format!("is an invalid path: {error}");
                flaws.push(Flaw::shown(Wrong::Invalid, &at, &shown, &detail));
                continue;
            }
        };
        if found.root == "metadata" {
            flaws.push(Flaw::shown(Wrong::Invalid, &at, &shown, "must not point to fields in metadata"));
        }
        let single = [Type::String, Type::Boolean, Type::Integer];
        if !found.node.and_then(|node| node.kind).is_some_and(|kind| single.contains(&kind)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            flaws.push(Flaw::shown(Wrong::Invalid, &at, &shown, detail));
        }
        if !known.insert(found.path.text()) {
            flaws.push(Flaw::shown(Wrong::Duplicate, &at, &shown, ""));
        }
    }
    if known.len() > MOST_SELECTABLE && !options.crowded.contains(version) {
        let detail = format!("must have at most {MOST_SELECTABLE} items");
        flaws.push(Flaw::shown(Wrong::TooMany, at, &known.len().to_string(), &detail));
    }
    flaws
}

fn check_status(definition: &Value) -> Vec<Flaw> {
    let names = Names::read(definition.pointer("/status/acceptedNames").unwrap_or(&Value::Null));
    check_names(&names, &Path::new("status").child("acceptedNames"))
}

fn check_stored(definition: &Value, spec: &Spec) -> Vec<Flaw> {
    let at = Path::new("status").child("storedVersions");
    let stored = definition.pointer("/status/storedVersions");
    let list = stored.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let shown = go::json(stored.unwrap_or(&Value::Null));
    if list.is_empty() {
        return vec![Flaw::shown(Wrong::Invalid, &at, &shown, "must have at least one stored version")];
    }
    let names = list.iter().enumerate().map(|(index, name)| (name.as_str().unwrap_or_default(), index));
    let mut left: BTreeMap<&str, usize> = names.collect();
    let mut flaws = Vec::new();
    for version in &spec.versions {
        if left.remove(version.name.as_str()).is_none() && version.storage {
            let detail = format!("must have the storage version {}", version.name);
            flaws.push(Flaw::shown(Wrong::Invalid, &at, &shown, &detail));
        }
    }
    for (name, index) in left {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        flaws.push(Flaw::shown(Wrong::Invalid, at.index(index), &go::quote(name), &detail));
    }
    flaws
}

/// How the approval of a kind in a group of the Kubernetes project stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Invalid,
    Given,
    Bypassed,
    Missing,
}

fn approval(definition: &Value) -> (Approval, &str) {
    let annotations = definition.pointer("/metadata/annotations");
    let text = annotations.and_then(|all| all.get(APPROVAL)).and_then(Value::as_str).unwrap_or_default();
    let state = if text.is_empty() {
        Approval::Missing
    } else if text.starts_with("unapproved") {
        Approval::Bypassed
    } else if Url::request(text).is_some_and(|url| !url.host.is_empty() && !url.scheme.is_empty()) {
        Approval::Given
    } else {
        Approval::Invalid
    };
    (state, text)
}

fn check_approval(definition: &Value, old: Option<&Value>, spec: &Spec) -> Option<Flaw> {
    let ours = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        spec.group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    });
    let (state, text) = approval(definition);
    if !ours || old.is_some_and(|old| approval(old).0 == state) {
        return None;
    }
    let at = Path::new("metadata").child("annotations").key(APPROVAL);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state {
        Approval::Missing => {
            let detail = format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
            Some(Flaw::required(at, &detail))
        }
        Approval::Invalid => {
            let detail = format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting \
                 with \"unapproved\", {see}"
            );
            Some(Flaw::shown(Wrong::Invalid, at, &go::quote(text), &detail))
        }
        Approval::Given | Approval::Bypassed => None,
    }
}
