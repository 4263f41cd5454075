//! What a schema of a definition may say.

use std::collections::BTreeSet;

use podium_meta::{ErrorType, FieldError};
use serde_json::Value;

use super::costs::{Costs, Scope};
use super::model::Validation;
use super::{Options, defaults, shown, structure};
use crate::expressions::{Candidate, Compiled, has_type};
use crate::field_path;
use crate::go;
use crate::node::{Node, Use};
use crate::path::Path;
use crate::props::{Props, Rule};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// What is wrong with the schema of a version, or of all.
pub fn check(
    validation: Option<&Validation>,
    status: bool,
    options: &Options<'_>,
    at: &Path,
) -> Vec<FieldError> {
    let Some((props, raw)) = validation.and_then(|validation| validation.schema.as_ref()) else {
        return Vec::new();
    };
    let mut flaws = Vec::new();
    let place = at.child("openAPIV3Schema");
    if status {
        flaws.extend(root(props, at));
    }
    if props.nullable {
        flaws.push(FieldError::forbidden(
            at.child("openAPIV3Schema.nullable"),
            "nullable cannot be true at the root",
        ));
    }
    let mut unreadable = None;
    let mut costs = None;
    if options.structural {
        if let Some(why) = structure::unsupported(props) {
            unreadable = Some(FieldError::new(ErrorType::Invalid, &place, "\"\"", &why));
        } else {
            let wrong = structure::check(props, &place);
            if wrong.is_empty() {
                match defaults::check(props, raw, &place, options.pruned_defaults, options.language) {
                    Err(why) => flaws.push(FieldError::new(ErrorType::Invalid, &place, "\"\"", &why)),
                    Ok(wrong) if wrong.is_empty() => costs = Some(Costs::default()),
                    Ok(wrong) => flaws.extend(wrong),
                }
            } else {
                flaws.extend(wrong);
            }
        }
    }
    let scope = costs.is_some().then(|| Scope::root(props));
    let mut walk = Walk { options, costs: costs.unwrap_or_default() };
    let found = walk.schema(props, raw, &place, &Standard::new(options), true, scope);
    flaws.extend(found.schema);
    flaws.extend(found.rules);
    if flaws.is_empty() {
        flaws.extend(unreadable);
    }
    if scope.is_some() {
        flaws.extend(walk.costs.flaws(&place));
    }
    flaws
}

/// At the root of a kind with a status of its own only a few things can be said.
fn root(props: &Props, at: &Path) -> Option<FieldError> {
    for name in shown::set_fields(props) {
        if name == "Type" && props.kind != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            let at = at.child("openAPIV3Schema.type");
            return Some(FieldError::new(ErrorType::Invalid, at, &go::quote(&props.kind), detail));
        }
        if !AT_ROOT.contains(&name) {
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                AT_ROOT.join(" ")
            );
            return Some(FieldError::new(
                ErrorType::Invalid,
                at.child("openAPIV3Schema"),
                &shown::props(props),
                &detail,
            ));
        }
    }
    None
}

/// Rules that depend on where a schema is.
#[derive(Clone)]
struct Standard {
    no_defaults: Option<String>,
    inside_meta: bool,
    valid_types: bool,
    unrelated: Option<Path>,
}

impl Standard {
    fn new(options: &Options<'_>) -> Self {
        Self { no_defaults: None, inside_meta: false, valid_types: options.valid_types, unrelated: None }
    }

    fn without_defaults(&self, why: &str) -> Self {
        Self { no_defaults: Some(why.to_owned()), ..self.clone() }
    }

    /// From here on old values do not belong to new ones.
    fn unrelated(&self, at: &Path) -> Self {
        Self { unrelated: self.unrelated.clone().or_else(|| Some(at.clone())), ..self.clone() }
    }

    fn check(&self, props: &Props, at: &Path) -> Vec<FieldError> {
        let mut flaws = Vec::new();
        if self.valid_types && !props.kind.is_empty() && !TYPES.contains(&props.kind.as_str()) {
            flaws.push(not_supported(&at.child("type"), &go::quote(&props.kind), &TYPES));
        }
        if let (Some(_), Some(why)) = (&props.default, &self.no_defaults) {
            flaws.push(FieldError::forbidden(at.child("default"), &format!("must not be set {why}")));
        }
        let unknown = [
            (!props.id.is_empty(), "id"),
            (props.additional_items.is_some(), "additionalItems"),
            (props.pattern_properties.len() > 0, "patternProperties"),
            (props.definitions.len() > 0, "definitions"),
            (props.dependencies.is_some(), "dependencies"),
            (props.reference.is_some(), "$ref"),
        ];
        for (_, name) in unknown.into_iter().filter(|(there, _)| *there) {
            flaws.push(FieldError::forbidden(at.child(name), &format!("{name} is not supported")));
        }
        if props.kind == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            flaws.push(FieldError::forbidden(at.child("type"), detail));
        }
        if props.items.as_ref().is_some_and(|items| !items.each.is_empty()) {
            flaws.push(FieldError::forbidden(
                at.child("items"),
                "items must be a schema object and not an array",
            ));
        }
        if self.inside_meta && props.embedded {
            let at = at.child("x-kubernetes-embedded-resource");
            flaws.push(FieldError::forbidden(at, "must not be used inside of resource meta"));
        }
        flaws
    }
}

/// What a value may be, if it is none of it.
pub fn not_supported(at: &Path, found: &str, supported: &[&str]) -> FieldError {
    let words: Vec<String> = supported.iter().map(|word| go::quote(word)).collect();
    FieldError::new(ErrorType::NotSupported, at, found, &format!("supported values: {}", words.join(", ")))
}

/// Flaws of schemas, and of rules, which are told after.
#[derive(Default)]
struct Found {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

struct Walk<'a> {
    options: &'a Options<'a>,
    costs: Costs,
}

fn part<'a>(raw: &'a Value, name: &str) -> &'a Value {
    raw.get(name).unwrap_or(&Value::Null)
}

impl Walk<'_> {
    fn inside(
        &mut self,
        found: &mut Found,
        props: &Props,
        raw: &Value,
        at: &Path,
        standard: &Standard,
        scope: Option<Scope>,
    ) {
        let more = self.schema(props, raw, at, standard, false, scope);
        found.schema.extend(more.schema);
        found.rules.extend(more.rules);
    }

    fn schema(
        &mut self,
        props: &Props,
        raw: &Value,
        at: &Path,
        standard: &Standard,
        root: bool,
        scope: Option<Scope>,
    ) -> Found {
        let mut found = Found { schema: standard.check(props, at), rules: Vec::new() };
        if props.unique_items {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            found.schema.push(FieldError::forbidden(at.child("uniqueItems"), detail));
        }
        if let Some(additional) = &props.additional {
            let at = at.child("additionalProperties");
            if props.properties.len() > 0 && (!additional.allows || additional.schema.is_some()) {
                let detail = "additionalProperties and properties are mutual exclusive";
                found.schema.push(FieldError::forbidden(&at, detail));
            }
            if let Some(schema) = additional.schema.as_deref() {
                let why = "inside additionalProperties applying to object metadata";
                let standard =
                    if standard.inside_meta { standard.without_defaults(why) } else { standard.clone() };
                let raw = part(raw, "additionalProperties");
                let scope = scope.map(|scope| scope.inside(props, schema));
                self.inside(&mut found, schema, raw, &at, &standard, scope);
            }
        }
        for (name, schema) in props.properties.iter() {
            let mut standard = standard.clone();
            if !matches!(props.map_type.as_deref(), None | Some("granular" | "atomic")) {
                standard = standard.unrelated(at);
            }
            if (root || props.embedded) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                standard.inside_meta = true;
                if root {
                    standard = standard.without_defaults(&format!("in top-level {name}"));
                }
            }
            let raw = part(part(raw, "properties"), name);
            let scope = scope.map(|scope| scope.inside(props, schema));
            self.inside(&mut found, schema, raw, &at.child("properties").key(name), &standard, scope);
        }
        if let Some(schema) = props.not.as_deref() {
            self.inside(&mut found, schema, part(raw, "not"), &at.child("not"), standard, None);
        }
        let all = [("allOf", &props.all_of), ("oneOf", &props.one_of), ("anyOf", &props.any_of)];
        for (name, schemas) in all {
            for (index, schema) in schemas.iter().enumerate() {
                let raw = part(raw, name).get(index).unwrap_or(&Value::Null);
                self.inside(&mut found, schema, raw, &at.child(name).index(index), standard, None);
            }
        }
        for (name, schema) in props.definitions.iter() {
            let raw = part(part(raw, "definitions"), name);
            self.inside(&mut found, schema, raw, &at.child("definitions").key(name), standard, None);
        }
        if let Some(items) = &props.items {
            let standard = match props.list_type.as_deref() {
                Some("map") => standard.clone(),
                _ => standard.unrelated(at),
            };
            let at = at.child("items");
            let scope = |schema: &Props| scope.map(|scope| scope.inside(props, schema));
            if let Some(schema) = items.one.as_deref() {
                self.inside(&mut found, schema, part(raw, "items"), &at, &standard, scope(schema));
            }
            for (index, schema) in items.each.iter().enumerate() {
                let raw = part(raw, "items").get(index).unwrap_or(&Value::Null);
                self.inside(&mut found, schema, raw, &at.index(index), &standard, scope(schema));
            }
        }
        for (name, dependency) in props.dependencies.iter().flatten() {
            if let Some(schema) = dependency.schema.as_deref() {
                let raw = part(part(raw, "dependencies"), name);
                self.inside(&mut found, schema, raw, &at.child("dependencies").key(name), standard, None);
            }
        }
        found.schema.extend(extensions(props, self.options.atomic_sets, at));
        if self.options.map_keys {
            found.schema.extend(map_keys(props, at));
        }
        self.rules(&mut found, props, raw, at, standard, root, scope);
        found
    }

    fn rules(
        &mut self,
        found: &mut Found,
        props: &Props,
        raw: &Value,
        at: &Path,
        standard: &Standard,
        root: bool,
        scope: Option<Scope>,
    ) {
        if props.rules.is_empty() {
            return;
        }
        let at = at.child("x-kubernetes-validations");
        let node = Node::compile(props, Use::Outline);
        for (index, rule) in props.rules.iter().enumerate() {
            found.schema.extend(rule_form(rule, props, &node, &at.index(index)));
        }
        let (Some(scope), Some(language), true) = (scope, self.options.language, found.schema.is_empty())
        else {
            return;
        };
        let internal = |detail: &str| FieldError::without_value(ErrorType::Internal, &at, detail);
        if !has_type(&node) {
            found.rules.push(internal(
                "internal error: failed to construct type information for x-kubernetes-validations rules: unable to \
                 convert structural schema to CEL declarations",
            ));
            return;
        }
        let candidate = |rule: &Rule| Candidate {
            rule: rule.clone(),
            stored: self.options.expressions.contains(&rule.rule),
            message_stored: self.options.messages.contains(&rule.message_expression),
        };
        let candidates: Vec<Candidate> = props.rules.iter().map(candidate).collect();
        match language.compile(raw, root || props.embedded, &candidates) {
            Err(error) => found.rules.push(internal(&error)),
            Ok(compiled) => {
                for (index, (rule, compiled)) in props.rules.iter().zip(compiled).enumerate() {
                    self.rule(found, rule, &compiled, &at.index(index), standard, scope);
                }
            }
        }
    }

    fn rule(
        &mut self,
        found: &mut Found,
        rule: &Rule,
        compiled: &Compiled,
        at: &Path,
        standard: &Standard,
        scope: Scope,
    ) {
        let flaws = &mut found.rules;
        let (condition, message) = (at.child("rule"), at.child("messageExpression"));
        let cost = scope.cost(compiled);
        flaws.extend(self.costs.observe(&condition, "estimated rule cost", cost, self.options.cheap));
        if let Some(Err(defect)) = &compiled.condition {
            flaws.push(if defect.required {
                FieldError::required(&condition, &defect.detail)
            } else {
                FieldError::new(ErrorType::Invalid, &condition, &shown::rule(rule), &defect.detail)
            });
        }
        match &compiled.message {
            Some(Err(defect)) => {
                flaws.push(FieldError::new(ErrorType::Invalid, &message, &shown::rule(rule), &defect.detail));
            }
            Some(Ok(made)) => {
                let what = "estimated messageExpression cost";
                flaws.extend(self.costs.observe(&message, what, made.cost, self.options.cheap));
            }
            None => {}
        }
        if compiled.uses_old_self {
            if let Some(unrelated) = &standard.unrelated {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {}",
                    unrelated.text()
                );
                flaws.push(FieldError::new(ErrorType::Invalid, &condition, &go::quote(&rule.rule), &detail));
            }
        } else if let Some(optional) = rule.optional_old_self {
            let detail = "may not be set if oldSelf is not used in rule";
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                at.child("optionalOldSelf"),
                &optional.to_string(),
                detail,
            ));
        }
    }
}

/// How a rule has to be written, whatever its expressions mean.
fn rule_form(rule: &Rule, props: &Props, node: &Node, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let invalid = |name: &str, text: &str, detail: &str| {
        FieldError::new(ErrorType::Invalid, at.child(name), &go::quote(text), detail)
    };
    let (condition, message) = (rule.rule.trim(), rule.message.trim());
    if condition.is_empty() {
        flaws.push(FieldError::required(at.child("rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && message.is_empty() {
        flaws.push(invalid("message", &rule.message, "must be non-empty if specified"));
    } else if breaks(message) {
        flaws.push(invalid("message", &rule.message, "must not contain line breaks"));
    } else if breaks(condition) && message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        flaws.push(FieldError::required(at.child("message"), detail));
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        flaws.push(FieldError::required(at.child("messageExpression"), detail));
    }
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    if let Some(reason) = rule.reason.as_deref().filter(|reason| !REASONS.contains(reason)) {
        flaws.push(not_supported(&at.child("reason"), &shown::quoted(reason), &REASONS));
    }
    let path = &rule.field_path;
    if !path.is_empty() && path.trim().is_empty() {
        flaws.push(invalid("fieldPath", path, "must be non-empty if specified"));
    }
    if breaks(path) {
        flaws.push(invalid("fieldPath", path, "must not contain line breaks"));
    }
    let readable = structure::unsupported(props).is_none();
    if !path.is_empty() && readable && field_path::find(path, node, true).is_err() {
        flaws.push(invalid("fieldPath", path, "must be a valid path"));
    }
    flaws
}

/// The extensions about lists and maps.
fn extensions(props: &Props, atomic_sets: bool, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let place = |name: &str| at.child(&format!("x-kubernetes-{name}"));
    let typed = |wanted: &str, name: &str| {
        let detail = format!("must be {wanted} if x-kubernetes-{name} is specified");
        match props.kind.as_str() {
            "" => FieldError::required(at.child("type"), &detail),
            kind => FieldError::new(ErrorType::Invalid, at.child("type"), &go::quote(kind), &detail),
        }
    };
    if props.preserve == Some(false) {
        let at = place("preserve-unknown-fields");
        flaws.push(FieldError::new(ErrorType::Invalid, at, "false", "must be true or undefined"));
    }
    if let Some(map_type) = props.map_type.as_deref() {
        if props.kind != "object" {
            flaws.push(typed("object", "map-type"));
        }
        if !matches!(map_type, "atomic" | "granular") {
            flaws.push(not_supported(&place("map-type"), &go::quote(map_type), &["atomic", "granular"]));
        }
    }
    let list_type = props.list_type.as_deref();
    if list_type.is_some() && props.kind != "array" {
        flaws.push(typed("array", "list-type"));
    } else if let (true, Some("set"), Some(item)) = (atomic_sets, list_type, props.item()) {
        let name = match item.kind.as_str() {
            "array" if item.list_type.as_deref().is_some_and(|kind| kind != "atomic") => Some("list-type"),
            "object" if item.map_type.as_deref() != Some("atomic") => Some("map-type"),
            _ => None,
        };
        if let Some(name) = name {
            let at = at.child("items").child(&format!("x-kubernetes-{name}"));
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                at,
                &shown::maybe(item.list_type.as_deref()),
                detail,
            ));
        }
    }
    if let Some(kind) = list_type.filter(|kind| !matches!(*kind, "atomic" | "set" | "map")) {
        flaws.push(not_supported(&place("list-type"), &go::quote(kind), &["atomic", "set", "map"]));
    }
    if !props.list_map_keys.is_empty() && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        flaws.push(match list_type {
            None => FieldError::required(place("list-type"), detail),
            Some(kind) => FieldError::new(ErrorType::Invalid, place("list-type"), &go::quote(kind), detail),
        });
    }
    if list_type == Some("map") {
        flaws.extend(list_map(props, at));
    }
    flaws
}

fn list_map(props: &Props, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let keys_at = at.child("x-kubernetes-list-map-keys");
    if props.list_map_keys.is_empty() {
        flaws.push(FieldError::required(&keys_at, "must not be empty if x-kubernetes-list-type is map"));
    }
    let at = at.child("items");
    let Some(items) = &props.items else {
        flaws.push(FieldError::required(&at, "must have a schema if x-kubernetes-list-type is map"));
        return flaws;
    };
    let Some(item) = items.one.as_deref() else {
        let detail = "must only have a single schema if x-kubernetes-list-type is map";
        flaws.push(FieldError::new(ErrorType::Invalid, &at, &shown::items(items), detail));
        return flaws;
    };
    if item.kind != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        flaws.push(FieldError::new(ErrorType::Invalid, at.child("type"), &go::quote(&item.kind), detail));
        return flaws;
    }
    let mut seen = BTreeSet::new();
    let all = shown::texts(&props.list_map_keys);
    for key in &props.list_map_keys {
        match item.properties.get(key).map(|schema| schema.kind.as_str()) {
            Some("array" | "object") => {
                let at = at.child("properties").key(key).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                flaws.push(FieldError::new(ErrorType::Invalid, at, &go::quote(&item.kind), detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                flaws.push(FieldError::new(ErrorType::Invalid, &keys_at, &all, detail));
            }
        }
        if !seen.insert(key) {
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                &keys_at,
                &all,
                "must not contain duplicate entries",
            ));
        }
    }
    flaws
}

/// Items of sets and maps are never null, and their keys are always there.
pub fn map_keys(props: &Props, at: &Path) -> Vec<FieldError> {
    let (Some(item), Some(kind @ ("set" | "map"))) = (props.item(), props.list_type.as_deref()) else {
        return Vec::new();
    };
    let mut flaws = Vec::new();
    let at = at.child("items");
    if item.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        flaws.push(FieldError::forbidden(at.child("nullable"), &detail));
    }
    if kind == "set" {
        return flaws;
    }
    for key in &props.list_map_keys {
        let Some(schema) = item.properties.get(key) else { continue };
        let at = at.child("properties").key(key);
        if !item.required.contains(key) && schema.default.is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            flaws.push(FieldError::required(at.child("default"), detail));
        }
        if schema.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            flaws.push(FieldError::forbidden(at.child("nullable"), detail));
        }
    }
    flaws
}
