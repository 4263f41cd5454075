//! One object in the form that the client wants.

use std::sync::Arc;

use bytes::Bytes;
use podium_store::Object;
use serde_json::json;

use crate::answer::{Answer, Form, Wanted, not_acceptable, object};
use crate::clock;
use crate::list::METADATA;
use crate::refusal::Outcome;
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
        Form::Metadata => [METADATA, found.metadata(), b"}\n"].concat(),
        Form::MetadataList => {
            return Err(not_acceptable(&format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                resource.kind.kind
            )));
        }
        Form::Table(version) => {
            let rows = Rows::new(resource, include, clock::seconds())?;
            let metadata = json!({"resourceVersion": found.revision().to_string()});
            table::list(&rows, version, &metadata, std::iter::once(found)).into_bytes()
        }
    };
    Ok(object(code, wanted, Bytes::from(text)))
}
