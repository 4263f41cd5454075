//! What a definition has to be.

use std::collections::BTreeSet;

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use super::before::options_after;
use super::model::Spec;
use super::parts::{check_columns, check_names, check_selectable, check_subresources, warning_flaws};
use super::schema::not_supported;
use super::status::{check_approval, check_status, check_stored};
use super::{Options, conversion, schema, shown};
use crate::custom::masked;
use crate::expressions::Language;
use crate::go;
use crate::metadata;
use crate::names;
use crate::path::Path;
use crate::props::Props;

/// What is wrong with a new definition. Without a language, rules are not compiled.
pub fn validate_create(definition: &Value, language: Option<&dyn Language>) -> Vec<FieldError> {
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
pub fn validate_update(new: &Value, old: &Value, language: Option<&dyn Language>) -> Vec<FieldError> {
    let spec = Spec::read(part(new, "spec"));
    let before = Spec::read(part(old, "spec"));
    let options = options_after(&spec, &before, old, language);
    let mut flaws = metadata::on_update(part(new, "metadata"), part(old, "metadata"), &Path::new("metadata"));
    flaws.extend(check_spec(&spec, &options));
    let at = Path::new("spec");
    let mut fixed = |at: &Path, new: &str, old: &str| {
        if new != old {
            flaws.push(FieldError::new(ErrorType::Invalid, at, &go::quote(new), "field is immutable"));
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
pub fn validate_status(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut flaws = metadata::on_update(part(new, "metadata"), part(old, "metadata"), &Path::new("metadata"));
    flaws.extend(check_status(new));
    flaws
}

fn part<'a>(value: &'a Value, name: &str) -> &'a Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// What follows the specification: the status, stored versions, approval, unknown fields.
fn rest(definition: &Value, old: Option<(&Value, &Spec)>, spec: &Spec) -> Vec<FieldError> {
    let mut flaws = check_status(definition);
    flaws.extend(check_stored(definition, spec));
    flaws.extend(check_approval(definition, old.map(|(old, _)| old), spec));
    if spec.preserve && !old.is_some_and(|(_, before)| before.preserve) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        flaws.push(FieldError::new(ErrorType::Invalid, "spec.preserveUnknownFields", "true", detail));
    }
    flaws
}

fn check_spec(spec: &Spec, options: &Options<'_>) -> Vec<FieldError> {
    let at = Path::new("spec");
    let mut flaws = Vec::new();
    let group = at.child("group");
    let wrong = names::subdomain(&spec.group);
    if spec.group.is_empty() {
        flaws.push(FieldError::required(&group, ""));
    } else if !wrong.is_empty() {
        flaws.push(FieldError::new(ErrorType::Invalid, &group, &go::quote(&spec.group), &wrong.join(",")));
    } else if !spec.group.contains('.') {
        let detail = "should be a domain with at least one dot";
        flaws.push(FieldError::new(ErrorType::Invalid, &group, &go::quote(&spec.group), detail));
    }
    match spec.scope.as_str() {
        "" => flaws.push(FieldError::required(at.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        other => flaws.push(not_supported(&at.child("scope"), &go::quote(other), &["Cluster", "Namespaced"])),
    }
    let shared = spec.validation.as_ref().is_some_and(|validation| validation.schema.is_some());
    if !shared {
        for (index, version) in spec.versions.iter().enumerate() {
            let missing = version.validation.as_ref().is_none_or(|validation| validation.schema.is_none());
            let place = at.child("versions").index(index).child("schema").child("openAPIV3Schema");
            if missing && options.schemas {
                flaws.push(FieldError::required(place, ""));
            } else if missing && !spec.preserve && version.served {
                flaws.push(FieldError::required(place, "because otherwise all fields are pruned"));
            }
        }
    }
    let has = |such: &dyn Fn(&Props) -> bool| spec.schemas().any(|(props, _)| props.any(such));
    let defaults = has(&|props| props.default.is_some());
    if defaults && spec.preserve {
        let detail = "must be false in order to use defaults in the schema";
        flaws.push(FieldError::new(ErrorType::Invalid, at.child("preserveUnknownFields"), "true", detail));
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
    let odd =
        |detail: &str| FieldError::new(ErrorType::Invalid, at.child("versions"), &shown_versions(), detail);
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
            flaws.push(FieldError::new(ErrorType::Invalid, at.child("version"), &shown, &wrong.join(",")));
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
        flaws.push(FieldError::required(place.child(name), ""));
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
                flaws.push(FieldError::new(ErrorType::Invalid, &place, "\"\"", detail));
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
            flaws.push(FieldError::new(ErrorType::Invalid, place.child("strategy"), &shown, detail));
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

fn check_versions(spec: &Spec, options: &Options<'_>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let split = spec.versions.iter().any(|version| version.subresources.is_some());
    for (index, version) in spec.versions.iter().enumerate() {
        let at = at.child("versions").index(index);
        let wrong = names::label_1035(&version.name);
        if !wrong.is_empty() {
            let shown = go::quote(&version.name);
            flaws.push(FieldError::new(ErrorType::Invalid, at.child("name"), &shown, &wrong.join(",")));
        }
        let subresources = if split {
            let first = spec.versions.iter().find(|other| other.name == version.name);
            first.and_then(|first| first.subresources.as_ref())
        } else {
            spec.subresources.as_ref()
        };
        for wrong in warning_flaws(version.deprecated, version.warning.as_deref()) {
            let shown = shown::maybe(version.warning.as_deref());
            flaws.push(FieldError::new(ErrorType::Invalid, at.child("deprecationWarning"), &shown, &wrong));
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
                    flaws.push(FieldError::new(ErrorType::Invalid, &place, "\"\"", detail));
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
