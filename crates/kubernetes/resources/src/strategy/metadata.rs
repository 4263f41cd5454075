//! What all objects have in common: names, labels, annotations, owners, finalizers.

use std::collections::BTreeSet;

use podium_meta::FieldError;
use serde_json::Value;

use super::formats;
use super::place::{Flaws, IMMUTABLE, NEGATIVE, Place, go_json, shown};
use super::selectors;
use crate::typed::json::quote;

/// All annotations together have at most so many bytes.
const MOST_ANNOTATIONS: usize = 256 * 1024;
const LONGEST_MANAGER: usize = 128;
const LONGEST_SUBRESOURCE: usize = 256;

/// What names of a kind have to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// The name of a domain.
    Subdomain,
    /// The name of a part of a domain.
    Label,
    /// A label that starts with a letter.
    OldLabel,
    /// Whatever can stand in an address.
    Segment,
    /// The key of a piece of data.
    DataKey,
}

impl NameRule {
    /// All that is wrong with a name, or with the beginning of one.
    pub fn flaws(self, name: &str, beginning: bool) -> Vec<String> {
        let masked = match name.strip_suffix('-') {
            // The sign before the dash goes too: so does the original.
            Some(rest) if beginning && !rest.is_empty() => {
                let mut rest = rest.to_owned();
                rest.pop();
                rest.push('a');
                rest
            }
            _ => name.to_owned(),
        };
        match self {
            Self::Subdomain => formats::subdomain(&masked),
            Self::Label => formats::label(&masked),
            Self::OldLabel => formats::old_label(&masked),
            Self::Segment if beginning => formats::segment_start(name),
            Self::Segment => formats::segment(name),
            Self::DataKey => formats::data_key(name),
        }
    }
}

/// All that is wrong with the metadata of a new object; its name has been made by now.
pub fn validate_create(object: &Value, name: NameRule, namespaced: bool) -> Vec<FieldError> {
    let mut out = Flaws::default();
    create(&Place::root(object).at("metadata"), name, namespaced, &mut out);
    out.list
}

/// All that is wrong with the metadata of a changed object.
pub fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut out = Flaws::default();
    update(&Place::root(new).at("metadata"), &Place::root(old).at("metadata"), &mut out);
    out.list
}

pub(super) fn create(meta: &Place<'_>, name: NameRule, namespaced: bool, out: &mut Flaws) {
    let beginning = meta.at("generateName");
    if !beginning.text().is_empty() {
        out.wrong(&beginning, name.flaws(beginning.text(), true));
    }
    if meta.at("name").text().is_empty() {
        out.required(&meta.at("name"), "name or generateName is required");
    } else {
        out.wrong(&meta.at("name"), name.flaws(meta.at("name").text(), false));
    }
    let namespace = meta.at("namespace");
    match (namespaced, namespace.text().is_empty()) {
        (true, true) => out.required(&namespace, ""),
        (true, false) => out.wrong(&namespace, formats::label(namespace.text())),
        (false, false) => out.forbidden(&namespace, "not allowed on this type"),
        (false, true) => {}
    }
    if meta.at("generation").number() < 0 {
        out.invalid_number(&meta.at("generation"), NEGATIVE);
    }
    selectors::labels(&meta.at("labels"), out);
    annotations(&meta.at("annotations"), out);
    owners(&meta.at("ownerReferences"), out);
    finalizers(&meta.at("finalizers"), out);
    managers(&meta.at("managedFields"), out);
}

pub(super) fn update(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    if old.has("deletionTimestamp") {
        no_new_finalizers(&new.at("finalizers"), &old.at("finalizers"), out);
    }
    if new.at("resourceVersion").text().is_empty() {
        out.invalid_text(&new.at("resourceVersion"), "must be specified for an update");
    }
    if new.at("generation").number() < old.at("generation").number() {
        out.invalid_number(&new.at("generation"), "must not be decremented");
    }
    for key in ["name", "namespace", "uid"] {
        if new.at(key).text() != old.at(key).text() {
            out.invalid_text(&new.at(key), IMMUTABLE);
        }
    }
    for key in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new.at(key).value != old.at(key).value {
            // Numbers and times are shown as JSON here, texts of times with their quotes.
            out.invalid_as(&new.at(key).path, &go_json(new.at(key).value), IMMUTABLE);
        }
    }
    selectors::labels(&new.at("labels"), out);
    annotations(&new.at("annotations"), out);
    owners(&new.at("ownerReferences"), out);
    managers(&new.at("managedFields"), out);
}

/// Annotations of anything; also templates have some.
pub(super) fn annotations(place: &Place<'_>, out: &mut Flaws) {
    let mut size = 0;
    for (key, value) in place.members() {
        let named: Value = key.into();
        out.wrong(&Place { value: &named, path: place.path.clone() }, formats::key(&key.to_lowercase()));
        size += key.len() + value.text().len();
    }
    if size > MOST_ANNOTATIONS {
        out.too_long(&place.path, MOST_ANNOTATIONS);
    }
}

fn owners(place: &Place<'_>, out: &mut Flaws) {
    let mut controller: Option<String> = None;
    for owner in place.items() {
        // The server does not say which one.
        let owner = owner.moved(&place.path);
        let api_version = owner.at("apiVersion").text();
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let broken = api_version.matches('/').count() > 1;
        if version.is_empty() || broken {
            out.invalid_text(&owner.at("apiVersion"), "version must not be empty");
        }
        for key in ["kind", "name", "uid"] {
            if owner.at(key).text().is_empty() {
                out.invalid_text(&owner.at(key), "must not be empty");
            }
        }
        let kind = owner.at("kind").text();
        if api_version == "v1" && kind == "Event" {
            out.invalid_as(
                &owner.path,
                &go_json(owner.value),
                "/v1, Kind=Event is disallowed from being an owner",
            );
        }
        if owner.at("controller").truth() {
            let name = format!("{kind}/{}", owner.at("name").text());
            match &controller {
                None => controller = Some(name),
                Some(first) => out.invalid_as(
                    &place.path,
                    &go_json(place.value),
                    &format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for \
                         {first} and {name}"
                    ),
                ),
            }
        }
    }
}

fn finalizers(place: &Place<'_>, out: &mut Flaws) {
    let (mut orphan, mut foreground) = (false, false);
    for finalizer in place.items() {
        out.wrong(&finalizer.moved(&place.path), formats::key(finalizer.text()));
        orphan |= finalizer.text() == "orphan";
        foreground |= finalizer.text() == "foregroundDeletion";
    }
    if orphan && foreground {
        out.invalid_as(
            &place.path,
            &shown(place.value),
            "finalizer orphan and foregroundDeletion cannot be both set",
        );
    }
}

/// Finalizers of built-in kinds are the server's own, or have a domain.
pub(super) fn known_finalizers(place: &Place<'_>, out: &mut Flaws) {
    for finalizer in place.items() {
        known_finalizer(&finalizer, out);
    }
}

pub(super) fn known_finalizer(finalizer: &Place<'_>, out: &mut Flaws) {
    let text = finalizer.text();
    if !text.contains('/') && !matches!(text, "kubernetes" | "orphan" | "foregroundDeletion") {
        out.invalid_text(finalizer, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

fn no_new_finalizers(new: &Place<'_>, old: &Place<'_>, out: &mut Flaws) {
    let known: Vec<&str> = old.items().map(|one| one.text()).collect();
    let added: BTreeSet<&str> =
        new.items().map(|one| one.text()).filter(|one| !known.contains(one)).collect();
    if !added.is_empty() {
        let list: Vec<String> = added.into_iter().map(quote).collect();
        out.forbidden(
            new,
            &format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                list.join(", ")
            ),
        );
    }
}

fn managers(place: &Place<'_>, out: &mut Flaws) {
    for entry in place.items() {
        if !matches!(entry.at("operation").text(), "Apply" | "Update") {
            out.invalid_text(&entry.at("operation"), "must be `Apply` or `Update`");
        }
        if !matches!(entry.at("fieldsType").text(), "" | "FieldsV1") {
            out.invalid_text(&entry.at("fieldsType"), "must be `FieldsV1`");
        }
        let manager = entry.at("manager");
        if manager.text().len() > LONGEST_MANAGER {
            out.too_long(&manager.path, LONGEST_MANAGER);
        }
        for (at, sign) in manager.text().char_indices().filter(|(_, sign)| sign.is_control()) {
            let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(sign));
            out.invalid_text(&manager, &detail);
        }
        if entry.at("subresource").text().len() > LONGEST_SUBRESOURCE {
            out.too_long(entry.child("subresource"), LONGEST_SUBRESOURCE);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(flaws: Vec<FieldError>) -> Vec<String> {
        flaws.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_beginning_of_a_name_may_end_with_a_dash() {
        assert!(NameRule::Subdomain.flaws("web-", true).is_empty());
        assert_eq!(NameRule::Subdomain.flaws("web-", false).len(), 1);
        assert_eq!(NameRule::Subdomain.flaws("-", true).len(), 1);
        assert!(NameRule::Segment.flaws("system:a", false).is_empty());
        assert_eq!(NameRule::Segment.flaws("..", false), ["may not be '..'"]);
    }

    #[test]
    fn metadata_is_refused_in_the_servers_words() {
        let object = json!({"metadata": {"namespace": "a", "finalizers": ["orphan", "foregroundDeletion"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "", "controller": true}],
            "managedFields": [{"operation": "x"}]}});
        let found = lines(validate_create(&object, NameRule::Subdomain, true));
        assert_eq!(found.len(), 5, "{found:#?}");
        assert_eq!(found[0], "metadata.name: Required value: name or generateName is required");
        assert_eq!(found[1], "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty");
        let old = json!({"metadata": {"name": "a", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let new = json!({"metadata": {"name": "a", "uid": "2", "resourceVersion": "1", "finalizers": ["b/c"],
            "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        assert_eq!(
            lines(validate_update(&new, &old)),
            [
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, \
                 found new finalizers []string{\"b/c\"}",
                "metadata.uid: Invalid value: \"2\": field is immutable",
            ]
        );
    }
}
