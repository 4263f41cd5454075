//! What is served below objects: their status, their number of replicas, and what is done with them.

use std::sync::Arc;

use http::Method;
use http::header::{CONTENT_TYPE, USER_AGENT};
use hyper::body::Incoming;
use podium_meta::GroupVersionKind;
use podium_rbac::token::{self, Request};
use podium_resources::typed::write::to_json;
use podium_store::Object;
use serde_json::{Value, json};

use crate::address::Place;
use crate::answer::{Answer, Form, Wanted, no_page, object, warn};
use crate::api::{Api, Caller};
use crate::delete::DeleteOptions;
use crate::handle::{Call, content_type, read_body};
use crate::list::METADATA;
use crate::model::{self, Format};
use crate::patch::{Patch, patch_type};
use crate::query::{PatchType, WriteOptions};
use crate::refusal::{Outcome, Refusal};
use crate::scale::{self, Edit, Paths};
use crate::served::Resource;
use crate::write::{Write, Written};
use crate::{clock, eviction, form, meta, random};

/// An object at its address.
pub fn find(api: &Api, resource: &Resource, place: &Place) -> Outcome<Object> {
    let path = match place.namespace.as_str() {
        namespace if resource.namespaced => format!("{namespace}/{}", place.name),
        _ => place.name.clone(),
    };
    let found = api.store().collection(&resource.place).get(&path);
    found.ok_or_else(|| Refusal::not_found(resource, &place.name))
}

/// Reads a patch of an object. What cannot be read is told only if the object is there, but for what is applied.
pub fn read_patch(
    api: &Api,
    resource: &Resource,
    place: &Place,
    kind: PatchType,
    body: &[u8],
) -> Outcome<Patch> {
    Patch::read(kind, body).or_else(|refusal| {
        if kind != PatchType::Apply {
            find(api, resource, place)?;
        }
        Err(refusal)
    })
}

/// Answers a request about a part of an object, or a review.
pub async fn handle(
    api: &Api,
    call: &Call,
    caller: &Caller,
    resource: &Arc<Resource>,
    place: &Place,
    body: Incoming,
) -> Outcome<Answer> {
    let Some(part) = resource.part(&place.part) else {
        return Err(match resource.custom {
            Some(_) => Refusal::not_found(resource, &place.name),
            None => Refusal::no_such(),
        });
    };
    let verb = match call.method {
        Method::GET => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        _ => return Err(Refusal::not_allowed()),
    };
    if !part.verbs.iter().any(|one| one == verb) {
        return Err(Refusal::not_allowed());
    }
    let wanted = Wanted::read(&call.headers, &call.query)?;
    let include = call.query.get("includeObject");
    if part.name == "scale" {
        return scale(api, call, caller, resource, place, verb, body).await;
    }
    if part.kind != resource.kind {
        return done_with(api, call, resource, place, body).await;
    }
    match verb {
        "get" => form::answer(resource, 200, wanted, include, &find(api, resource, place)?),
        "update" => {
            let options = WriteOptions::read(&call.query, "UpdateOptions", call.header(&USER_AGENT), None)?;
            let body = read_body(body).await?;
            let mut write = Write::new(api, caller, resource, place, options);
            let object = write.read(&body, content_type(call, resource)?)?;
            let written = write.update(object).await;
            let (written, created) = write.warned(written)?;
            write.answer(written, created, wanted, include)
        }
        "patch" => {
            let kind = patch_type(call.header(&CONTENT_TYPE), resource.custom.is_some())?;
            let options =
                WriteOptions::read(&call.query, "PatchOptions", call.header(&USER_AGENT), Some(kind))?;
            let body = read_body(body).await?;
            let patch = read_patch(api, resource, place, kind, &body)?;
            let mut write = Write::new(api, caller, resource, place, options);
            let written = write.patch(&patch).await;
            let (written, created) = write.warned(written)?;
            write.answer(written, created, wanted, include)
        }
        _ => Err(Refusal::not_allowed()),
    }
}

/// A request about the number of an object's replicas.
async fn scale(
    api: &Api,
    call: &Call,
    caller: &Caller,
    resource: &Arc<Resource>,
    place: &Place,
    verb: &str,
    body: Incoming,
) -> Outcome<Answer> {
    let wanted = Wanted::read(&call.headers, &call.query)?;
    let Some(paths) = Paths::of(resource) else { return Ok(no_page()) };
    if verb == "get" {
        let value = scale::of(resource, &paths, &resource.load(&find(api, resource, place)?))?;
        if let Form::Table(version) = wanted.form
            && resource.custom.is_none()
        {
            let table = scale::table(&value, version, clock::seconds());
            return Ok(object(200, wanted, table.to_string() + "\n"));
        }
        return Ok(shown_scale(&value, wanted));
    }
    let owner = Place { part: String::new(), ..place.clone() };
    let agent = call.header(&USER_AGENT);
    let (patch, format, options) = if verb == "patch" {
        let kind = patch_type(call.header(&CONTENT_TYPE), false)?;
        let options = WriteOptions::read(&call.query, "PatchOptions", agent, Some(kind))?;
        (Some(kind), Format::Json, options)
    } else {
        let format = Format::read(call.header(&CONTENT_TYPE), false)?;
        (None, format, WriteOptions::read(&call.query, "UpdateOptions", agent, None)?)
    };
    let body = read_body(body).await?;
    let patch = patch.map(|kind| Patch::read(kind, &body)).transpose()?;
    let edit = match &patch {
        Some(patch) => Edit::Patch(patch),
        None => Edit::Put(&body, format),
    };
    let mut write = Write::new(api, caller, resource, &owner, options);
    let (written, _) = write.scale(&paths, edit).await?;
    let value = match written {
        Written::Stored(object) => resource.load(&object),
        Written::Tried(value) => value,
    };
    let value = scale::of(resource, &paths, &value)?;
    let mut answer = shown_scale(&value, wanted);
    warn(&mut answer, &write.warnings);
    Ok(answer)
}

/// A scale as the client wants it.
fn shown_scale(value: &Value, wanted: Wanted) -> Answer {
    let kind = GroupVersionKind::new("autoscaling/v1", "Scale");
    if wanted.form == Form::Metadata {
        let alone = to_json(&kind, &json!({"metadata": value.get("metadata")}));
        let inner = alone.strip_prefix("{\"metadata\":").unwrap_or("{}}");
        return object(200, wanted, format!("{}{inner}\n", String::from_utf8_lossy(METADATA)));
    }
    object(200, wanted, to_json(&kind, value) + "\n")
}

/// What is done with an object by sending something else.
async fn done_with(
    api: &Api,
    call: &Call,
    resource: &Arc<Resource>,
    place: &Place,
    body: Incoming,
) -> Outcome<Answer> {
    let wanted = Wanted::read(&call.headers, &call.query)?;
    let Some(part) = resource.part(&place.part) else { return Ok(no_page()) };
    let options = WriteOptions::read(&call.query, "CreateOptions", call.header(&USER_AGENT), None)?;
    let format = Format::read(call.header(&CONTENT_TYPE), false)?;
    let body = read_body(body).await?;
    let given = model::decode_built_in(&body, format, &part.kind)?.object;
    let named = meta::text(&given, "name");
    if !named.is_empty() && named != place.name {
        return Err(Refusal::bad_request(format!(
            "the name of the object ({named}) does not match the name on the URL ({})",
            place.name
        )));
    }
    let owner = Place { part: String::new(), ..place.clone() };
    match part.name.as_str() {
        "token" => {
            let guard = api.guard();
            let look_up =
                |resource: &str, namespace: &str, name: &str| guard.look_up(resource, namespace, name);
            let (now, id) = (clock::seconds(), random::uid());
            let asked =
                Request { namespace: &place.namespace, name: &place.name, body: &given, now, id: &id };
            let answered = token::request(guard.issuer(), &asked, &look_up)?;
            return Ok(object(201, wanted, to_json(&part.kind, &answered) + "\n"));
        }
        "binding" => eviction::bind(api, resource, &owner, &given, options.dry_run).await?,
        "eviction" => {
            let options = DeleteOptions::of(given.get("deleteOptions").unwrap_or(&Value::Null))?;
            eviction::evict(api, resource, &owner, options).await?;
        }
        _ => return Err(Refusal::not_allowed()),
    }
    let status =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(object(201, wanted, to_json(&GroupVersionKind::new("v1", "Status"), &status) + "\n"))
}
