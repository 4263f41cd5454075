//! Whether a schema is structural: it says of every field what it is, once, and combinations only narrow it.

use podium_meta::{ErrorType, FieldError};
use podium_re2::Regex;

use crate::go;
use crate::path::Path;
use crate::props::Props;

/// Why a schema cannot be read as a structural one at all.
pub fn unsupported(props: &Props) -> Option<String> {
    let field = [
        (!props.id.is_empty(), "id"),
        (!props.schema.is_empty(), "schema"),
        (props.reference.as_ref().is_some_and(|reference| !reference.is_empty()), "$ref"),
        (props.pattern_properties.len() > 0, "patternProperties"),
        (props.dependencies.as_ref().is_some_and(|all| !all.is_empty()), "dependencies"),
        (props.additional_items.is_some(), "additionalItems"),
        (props.definitions.len() > 0, "definitions"),
    ];
    if let Some((_, name)) = field.into_iter().find(|(there, _)| *there) {
        return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
    }
    let before =
        props.not.as_deref().into_iter().chain(&props.all_of).chain(&props.any_of).chain(&props.one_of);
    if let Some(why) = before.filter_map(unsupported).next() {
        return Some(why);
    }
    if props.preserve == Some(false) {
        let why = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(why.to_owned());
    }
    if props.items.as_ref().is_some_and(|items| !items.each.is_empty()) {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    let after = props
        .item()
        .into_iter()
        .chain(props.properties.iter().map(|(_, schema)| schema))
        .chain(props.extra());
    after.filter_map(unsupported).next()
}

/// Where a schema is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, sorted.
pub fn check(props: &Props, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    invariants(&mut flaws, props, Level::Root, at);
    complete_values(&mut flaws, props, props, at, at);
    flaws.sort_by_cached_key(FieldError::to_string);
    flaws
}

fn invariants(flaws: &mut Vec<FieldError>, props: &Props, level: Level, at: &Path) {
    if props.kind == "array" && props.item().is_none() {
        flaws.push(FieldError::required(at.child("items"), "must be specified"));
    }
    if let Some(item) = props.item() {
        invariants(flaws, item, Level::Item, &at.child("items"));
    }
    for (name, schema) in props.properties.iter() {
        invariants(flaws, schema, Level::Field, &at.child("properties").key(name));
    }
    if props.additional.is_some() {
        let at = at.child("additionalProperties");
        if level == Level::Root {
            flaws.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        if let Some(schema) = props.extra() {
            invariants(flaws, schema, Level::Field, &at);
        }
    }
    if props.int_or_string {
        let both = [
            (props.preserve == Some(true), "x-kubernetes-preserve-unknown-fields"),
            (props.embedded, "x-kubernetes-embedded-resource"),
        ];
        for (_, name) in both.into_iter().filter(|(set, _)| *set) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            flaws.push(FieldError::new(ErrorType::Invalid, at.child(name), "true", detail));
        }
    }
    let skip = Skip {
        any_of: mixed(&props.any_of),
        first_all_of: props.all_of.first().is_some_and(|first| mixed(&first.any_of)),
    };
    values(flaws, props, skip, at);
    kinds(flaws, props, level, at);
    let whole = level == Level::Root || props.embedded;
    for name in ["kind", "apiVersion"] {
        if let Some(schema) = props.properties.get(name).filter(|schema| whole && schema.kind != "string") {
            let at = at.child("properties").key(name).child("type");
            flaws.push(FieldError::new(ErrorType::Invalid, at, &go::quote(&schema.kind), "must be string"));
        }
    }
    if let Some(metadata) = props.properties.get("metadata") {
        let at = at.child("properties").key("metadata");
        if whole && metadata.kind != "object" {
            let at = at.child("type");
            flaws.push(FieldError::new(ErrorType::Invalid, at, &go::quote(&metadata.kind), "must be object"));
        }
        if level == Level::Root && !is_plain_metadata(metadata) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            flaws.push(FieldError::forbidden(&at, detail));
        }
    }
    if props.embedded && props.preserve != Some(true) && props.properties.len() == 0 {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        flaws.push(FieldError::required(at.child("properties"), detail));
    }
}

/// The type: it has to be there, and it has to be that of an object for a whole resource.
fn kinds(flaws: &mut Vec<FieldError>, props: &Props, level: Level, at: &Path) {
    let place = at.child("type");
    let shown = go::quote(&props.kind);
    let invalid = |detail: &str| FieldError::new(ErrorType::Invalid, &place, &shown, detail);
    if props.embedded && props.kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        flaws.push(if props.kind.is_empty() {
            FieldError::required(&place, detail)
        } else {
            invalid(detail)
        });
    } else if props.kind.is_empty() && !props.int_or_string && props.preserve != Some(true) {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        flaws.push(FieldError::required(&place, detail));
    }
    if props.embedded && props.additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        flaws.push(FieldError::forbidden(at.child("additionalProperties"), detail));
    }
    if level == Level::Root && !props.kind.is_empty() && props.kind != "object" {
        flaws.push(invalid("must be object at the root"));
    }
}

/// Metadata of a root may be restricted in its names and in nothing else.
fn is_plain_metadata(metadata: &Props) -> bool {
    let mut rest = metadata.clone();
    let names = |name: &str| usize::from(metadata.properties.get(name).is_some());
    let known = names("name") + names("generateName");
    if known > 0 && metadata.properties.len() == known {
        rest.properties = crate::props::Named::default();
    }
    rest.kind = String::new();
    rest.default = None;
    rest.preserve = rest.preserve.filter(|preserve| *preserve);
    rest == Props::default()
}

/// The two schemas by which numbers and texts are mixed.
fn mixed(any_of: &[Props]) -> bool {
    let only = |props: &Props, kind: &str| {
        // Fields that are not allowed are not read in a combination.
        let additional = props.additional.clone().filter(|additional| !additional.allows);
        *props == Props { kind: kind.to_owned(), additional, ..Props::default() }
    };
    matches!(any_of, [a, b] if only(a, "integer") && only(b, "string"))
}

/// Combinations that are known to mix numbers and texts.
#[derive(Clone, Copy, Default)]
struct Skip {
    any_of: bool,
    first_all_of: bool,
}

fn values(flaws: &mut Vec<FieldError>, props: &Props, skip: Skip, at: &Path) {
    if !skip.any_of {
        for (index, schema) in props.any_of.iter().enumerate() {
            nested(flaws, schema, Skip::default(), &at.child("anyOf").index(index));
        }
    }
    for (index, schema) in props.all_of.iter().enumerate() {
        let skip = Skip { any_of: skip.first_all_of && index == 0, first_all_of: false };
        nested(flaws, schema, skip, &at.child("allOf").index(index));
    }
    for (index, schema) in props.one_of.iter().enumerate() {
        nested(flaws, schema, Skip::default(), &at.child("oneOf").index(index));
    }
    if let Some(schema) = props.not.as_deref() {
        nested(flaws, schema, Skip::default(), &at.child("not"));
    }
    if !props.pattern.is_empty()
        && let Err(error) = Regex::new(&props.pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        flaws.push(FieldError::new(
            ErrorType::Invalid,
            at.child("pattern"),
            &go::quote(&props.pattern),
            &detail,
        ));
    }
}

/// A schema inside a combination: it may only narrow values.
fn nested(flaws: &mut Vec<FieldError>, props: &Props, skip: Skip, at: &Path) {
    values(flaws, props, skip, at);
    if let Some(item) = props.item() {
        nested(flaws, item, Skip::default(), &at.child("items"));
    }
    for (name, schema) in props.properties.iter() {
        nested(flaws, schema, Skip::default(), &at.child("properties").key(name));
    }
    let extra = props.additional.as_ref().is_some_and(|extra| extra.allows);
    let forbidden = [
        (!props.kind.is_empty(), "type", "must be empty to be structural"),
        (extra, "additionalProperties", "must be undefined to be structural"),
        (props.default.is_some(), "default", "must be undefined to be structural"),
        (!props.title.is_empty(), "title", "must be empty to be structural"),
        (!props.description.is_empty(), "description", "must be empty to be structural"),
        (props.nullable, "nullable", "must be false to be structural"),
        (
            props.preserve == Some(true),
            "x-kubernetes-preserve-unknown-fields",
            "must be false to be structural",
        ),
        (props.embedded, "x-kubernetes-embedded-resource", "must be false to be structural"),
        (props.int_or_string, "x-kubernetes-int-or-string", "must be false to be structural"),
        (!props.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "must be empty to be structural"),
        (props.list_type.is_some(), "x-kubernetes-list-type", "must be undefined to be structural"),
        (props.map_type.is_some(), "x-kubernetes-map-type", "must be undefined to be structural"),
        (!props.rules.is_empty(), "x-kubernetes-validations", "must be empty to be structural"),
    ];
    for (_, name, detail) in forbidden.into_iter().filter(|(there, ..)| *there) {
        flaws.push(FieldError::forbidden(at.child(name), detail));
    }
    if props.properties.get("metadata").is_some() {
        let at = at.child("properties").key("metadata");
        flaws.push(FieldError::forbidden(at, "must not be specified in a nested context"));
    }
}

/// Whatever a combination speaks of has to be in the schema itself.
fn complete_values(flaws: &mut Vec<FieldError>, values: &Props, props: &Props, at: &Path, from: &Path) {
    if let Some(not) = values.not.as_deref() {
        complete(flaws, not, Some(props), at, &from.child("not"));
    }
    let all = [("allOf", &values.all_of), ("anyOf", &values.any_of), ("oneOf", &values.one_of)];
    for (name, schemas) in all {
        for (index, schema) in schemas.iter().enumerate() {
            complete(flaws, schema, Some(props), at, &from.child(name).index(index));
        }
    }
}

fn complete(flaws: &mut Vec<FieldError>, values: &Props, props: Option<&Props>, at: &Path, from: &Path) {
    let missing = |at: &Path, from: &Path| {
        FieldError::required(at, &format!("because it is defined in {}", from.text()))
    };
    let Some(props) = props else {
        flaws.push(missing(at, from));
        return;
    };
    complete_values(flaws, values, props, at, from);
    if let Some(item) = values.item() {
        complete(flaws, item, props.item(), &at.child("items"), &from.child("items"));
    }
    for (name, schema) in values.properties.iter() {
        let (at, from) = (at.child("properties").key(name), from.child("properties").key(name));
        match props.properties.get(name) {
            None => flaws.push(missing(&at, &from)),
            found => complete(flaws, schema, found, &at, &from),
        }
    }
}
