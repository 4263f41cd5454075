//! Which objects of a resource are meant: by labels and by fields.

use podium_meta::Selector;
use podium_resources::check_field;
use podium_store::Object;

use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;
use crate::wrong_selector;

/// A selection of objects.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    labels: Option<Selector>,
    /// Field, whether it has to be equal, value.
    fields: Vec<(String, bool, String)>,
}

impl Selection {
    /// Reads the two selectors of a request; `part` of an object's address is none.
    pub fn read(resource: &Resource, labels: &str, fields: &str) -> Outcome<Self> {
        let labels = match labels {
            "" => None,
            text => Some(Selector::parse(text).map_err(|error| {
                Refusal::bad_request(wrong_selector::why(text).unwrap_or_else(|| error.server_message()))
            })?),
        };
        let mut selection = Self { labels, fields: Vec::new() };
        for (field, equal, value) in terms(fields)? {
            match &resource.custom {
                None => check_field(&resource.kind, &field).map_err(Refusal::bad_request)?,
                Some(custom) => custom.check_field(&resource.kind, &field).map_err(Refusal::bad_request)?,
            }
            selection.fields.push((stored_name(&field), equal, value));
        }
        Ok(selection)
    }

    /// Whether it is all objects.
    pub fn is_all(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }

    /// Whether an object is meant.
    pub fn matches(&self, object: &Object) -> bool {
        let field = |(field, equal, value): &(String, bool, String)| {
            let found = match field.as_str() {
                "metadata.name" => object.name(),
                "metadata.namespace" => object.namespace(),
                field => object.field(field),
            };
            (found == value) == *equal
        };
        self.fields.iter().all(field)
            && self.labels.as_ref().is_none_or(|labels| labels.matches_with(|name| object.label(name)))
    }
}

/// Events of both groups are the same objects; their fields are stored under the names of the core group.
fn stored_name(field: &str) -> String {
    match field.strip_prefix("regarding.") {
        Some(part) => format!("involvedObject.{part}"),
        None if field == "reportingController" => "reportingComponent".to_owned(),
        None if field == "spec.host" => "spec.nodeName".to_owned(),
        None => field.to_owned(),
    }
}

/// The terms of a field selector: `a=b,c!=d`, with backslashes before what is meant as it is.
fn terms(text: &str) -> Outcome<Vec<(String, bool, String)>> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        if letter == ',' && !escaped {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
        escaped = letter == '\\' && !escaped;
    }
    let mut terms = Vec::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let wrong = || Refusal::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'"));
        let (at, mark) = operator(part).ok_or_else(wrong)?;
        let value = unescape(part.get(at + mark.len()..).unwrap_or_default())
            .ok_or_else(|| Refusal::bad_request("invalid field selector: invalid escape sequence"))?;
        terms.push((part.get(..at).unwrap_or_default().to_owned(), mark != "!=", value));
    }
    Ok(terms)
}

/// The first sign of comparison, and where it is.
fn operator(term: &str) -> Option<(usize, &'static str)> {
    let mut escaped = false;
    for (at, letter) in term.char_indices() {
        if !escaped {
            for mark in ["!=", "==", "="] {
                if term.get(at..).is_some_and(|rest| rest.starts_with(mark)) {
                    return Some((at, mark));
                }
            }
        }
        escaped = letter == '\\' && !escaped;
    }
    None
}

fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                escaped @ ('\\' | ',' | '=') => out.push(escaped),
                _ => return None,
            },
            '=' | ',' => return None,
            letter => out.push(letter),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_selectors_are_read_as_the_server_does() {
        let term = |a: &str, b, c: &str| (a.to_owned(), b, c.to_owned());
        assert_eq!(
            terms("metadata.name=a,status.phase!=Running,x==y").unwrap(),
            [term("metadata.name", true, "a"), term("status.phase", false, "Running"), term("x", true, "y")]
        );
        assert_eq!(terms(r"a=b\,c\=d").unwrap(), [term("a", true, "b,c=d")]);
        for bad in ["a", "a=b=c", r"a=\x"] {
            assert!(terms(bad).is_err(), "{bad}");
        }
    }
}
