//! One object in the form that the client wants.

use std::sync::Arc;

use bytes::Bytes;
use podium_store::Object;
use serde_json::Value;

use crate::answer::{Answer, Form, Wanted, not_acceptable, object};
use crate::clock;
use crate::list::METADATA;
use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;
use crate::table::{self, Rows};

/// The answer for an object.
pub fn answer(
    resource: &Arc<Resource>,
    code: u16,
    wanted: Wanted,
    include: &str,
    found: &Object,
) -> Outcome<Answer> {
    let text = match wanted.form {
        Form::Object if resource.is_current(found) => [found.body(), b"\n"].concat(),
        Form::Object => (resource.text(&resource.load(found)) + "\n").into_bytes(),
        Form::Metadata => [METADATA, &resource.metadata(found), b"}\n"].concat(),
        Form::MetadataList => return Err(no_list(resource)),
        Form::Table(version) => {
            let rows = Rows::new(resource, include, clock::seconds())?;
            table::of(&rows, version, found)
        }
    };
    Ok(object(code, wanted, Bytes::from(text)))
}

/// The answer for an object of this resource's version that is not stored.
pub fn tried(
    resource: &Arc<Resource>,
    code: u16,
    wanted: Wanted,
    include: &str,
    value: &Value,
) -> Outcome<Answer> {
    let metadata = || resource.metadata_of(value);
    let text = match wanted.form {
        Form::Object => (resource.text(value) + "\n").into_bytes(),
        Form::Metadata => [METADATA, metadata().as_bytes(), b"}\n"].concat(),
        Form::MetadataList => return Err(no_list(resource)),
        Form::Table(version) => {
            let rows = Rows::new(resource, include, clock::seconds())?;
            table::one(&rows, version, value, &metadata())
        }
    };
    Ok(object(code, wanted, Bytes::from(text)))
}

fn no_list(resource: &Resource) -> Refusal {
    not_acceptable(&format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
        resource.kind.kind
    ))
}
