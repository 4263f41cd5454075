//! Parts of a definition: names, subresources, columns, selectable fields.

use std::collections::BTreeSet;

use podium_meta::{ErrorType, FieldError};

use super::model::{Column, Names, Subresources};
use super::{Options, shown, structure};
use crate::field_path;
use crate::go;
use crate::names;
use crate::node::{Node, Type, Use};
use crate::path::Path;
use crate::props::Props;

/// The most selectable fields of a version.
pub const MOST_SELECTABLE: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// What is wrong with what is said of a deprecated version.
pub fn warning_flaws(deprecated: bool, warning: Option<&str>) -> Vec<String> {
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

/// What is wrong with names.
pub fn check_names(all: &Names, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let mut say = |at: Path, name: &str, detail: &str| {
        flaws.push(FieldError::new(ErrorType::Invalid, at, &go::quote(name), detail));
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

/// What is wrong with what a version serves besides.
pub fn check_subresources(all: Option<&Subresources>, at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let Some((spec, status, selector)) = all.and_then(|all| all.scale.as_ref()) else { return flaws };
    let under = [("specReplicasPath", spec, ".spec"), ("statusReplicasPath", status, ".status")];
    for (name, path, root) in under {
        let at = at.child(&format!("scale.{name}"));
        let wrong = simple_path(path, &at);
        if path.is_empty() {
            flaws.push(FieldError::required(&at, ""));
        } else if wrong.is_some() {
            flaws.extend(wrong);
        } else if !path.starts_with(&format!("{root}.")) {
            let detail = format!("should be a json path under {root}");
            flaws.push(FieldError::new(ErrorType::Invalid, &at, &go::quote(path), &detail));
        }
    }
    if let Some(path) = selector.as_deref().filter(|path| !path.is_empty()) {
        let at = at.child("scale.labelSelectorPath");
        let wrong = simple_path(path, &at);
        if wrong.is_some() {
            flaws.extend(wrong);
        } else if !path.starts_with(".spec.") && !path.starts_with(".status.") {
            let detail = "should be a json path under either .spec or .status";
            flaws.push(FieldError::new(ErrorType::Invalid, &at, &shown::quoted(path), detail));
        }
    }
    flaws
}

fn simple_path(path: &str, at: &Path) -> Option<FieldError> {
    let detail = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| FieldError::new(ErrorType::Invalid, at, &go::quote(path), detail))
}

/// What is wrong with columns.
pub fn check_columns(columns: &[Column], at: &Path) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let at = at.index(index);
        if column.name.is_empty() {
            flaws.push(FieldError::required(at.child("name"), ""));
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        if column.kind.is_empty() {
            flaws.push(FieldError::required(at.child("type"), &types));
        } else if !COLUMN_TYPES.contains(&column.kind.as_str()) {
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                at.child("type"),
                &go::quote(&column.kind),
                &types,
            ));
        }
        if !column.format.is_empty() && !COLUMN_FORMATS.contains(&column.format.as_str()) {
            let formats = format!("must be one of {}", COLUMN_FORMATS.join(","));
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                at.child("format"),
                &go::quote(&column.format),
                &formats,
            ));
        }
        let at = at.child("JSONPath");
        if column.path.is_empty() {
            flaws.push(FieldError::required(&at, ""));
        } else {
            flaws.extend(simple_path(&column.path, &at));
        }
    }
    flaws
}

/// What is wrong with fields that lists can be selected by.
pub fn check_selectable(
    paths: &[String],
    props: Option<&Props>,
    outer: &Path,
    at: &Path,
    options: &Options<'_>,
    version: &str,
) -> Vec<FieldError> {
    let mut flaws = Vec::new();
    let empty = Props::default();
    let props = props.unwrap_or(&empty);
    let unreadable = structure::unsupported(props);
    if let Some(why) = &unreadable {
        flaws.push(FieldError::new(ErrorType::Invalid, outer.child("schema.openAPIV3Schema"), "\"\"", why));
    }
    let node = Node::compile(if unreadable.is_some() { &empty } else { props }, Use::Outline);
    let mut known = BTreeSet::new();
    for (index, path) in paths.iter().enumerate() {
        let at = at.index(index).child("jsonPath");
        let shown = go::quote(path);
        if path.is_empty() {
            flaws.push(FieldError::required(&at, ""));
            continue;
        }
        let found = match field_path::find(path, &node, false) {
            Ok(found) => found,
            Err(error) => {
                let detail = format!("is an invalid path: {error}");
                flaws.push(FieldError::new(ErrorType::Invalid, &at, &shown, &detail));
                continue;
            }
        };
        if found.root == "metadata" {
            flaws.push(FieldError::new(
                ErrorType::Invalid,
                &at,
                &shown,
                "must not point to fields in metadata",
            ));
        }
        let single = [Type::String, Type::Boolean, Type::Integer];
        if !found.node.and_then(|node| node.kind).is_some_and(|kind| single.contains(&kind)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
            flaws.push(FieldError::new(ErrorType::Invalid, &at, &shown, detail));
        }
        if !known.insert(found.path.text()) {
            flaws.push(FieldError::new(ErrorType::Duplicate, &at, &shown, ""));
        }
    }
    if known.len() > MOST_SELECTABLE && !options.crowded.contains(version) {
        let detail = format!("must have at most {MOST_SELECTABLE} items");
        flaws.push(FieldError::new(ErrorType::TooMany, at, &known.len().to_string(), &detail));
    }
    flaws
}
