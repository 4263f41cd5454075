//! A request and its answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use podium_serve::PeerCertificate;
use serde_json::Value;
use tokio::time::timeout;

use crate::address::{self, Address, Place};
use crate::answer::{Answer, JSON, Wanted, answer, no_page, not_acceptable, object, refused, warn};
use crate::api::{Api, Caller};
use crate::delete::{Delete, DeleteOptions};
use crate::list::{self, ListOptions};
use crate::model::Format;
use crate::patch::patch_type;
use crate::query::{Query, WriteOptions};
use crate::refusal::{Outcome, Refusal};
use crate::select::Selection;
use crate::served::{Page, Resource};
use crate::write::Write;
use crate::{clock, discovery, form, guard, openapi2, parts, query, review, version, watch};

/// The largest body.
const LARGEST: usize = 3 << 20;

/// How much of a larger one is read all the same, and for how long, so that the client gets to the answer.
const REST: usize = 16 << 20;
const LINGER: Duration = Duration::from_secs(2);
/// How long a body may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request without its body.
pub struct Call {
    /// What is to be done.
    pub method: Method,
    /// Where.
    pub path: String,
    /// What stands behind the question mark.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
}

impl Call {
    /// A header; empty if it is not there, or no text.
    pub fn header(&self, name: &HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

impl Api {
    /// Answers a request.
    pub async fn answer(self, request: Request<Incoming>) -> Result<Answer, Infallible> {
        let (mut head, body) = request.into_parts();
        let peer = head.extensions.remove::<PeerCertificate>().unwrap_or_default();
        let query = Query::parse(head.uri.query().unwrap_or_default());
        // In HTTP/2 it is a part of the address.
        if let Some(host) = head.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
            head.headers.entry(HOST).or_insert(host);
        }
        let call =
            Call { method: head.method, path: head.uri.path().to_owned(), query, headers: head.headers };
        let wanted = Wanted::read(&call.headers, &call.query).ok();
        Ok(match self.handle(&call, &peer, body).await {
            Ok(answer) => answer,
            Err(refusal) => refused(&refusal, wanted),
        })
    }

    async fn handle(&self, call: &Call, peer: &PeerCertificate, body: Incoming) -> Outcome<Answer> {
        let user = self.guard().authenticate(call, peer)?;
        let attributes = guard::attributes(call)?;
        self.guard().authorize(&user, &attributes)?;
        let long = call.query.truth("watch").unwrap_or(false);
        if let Some(why) =
            query::wrong_duration(call.query.get("timeout")).filter(|_| call.query.has("timeout"))
            && !long
            && !call.query.get("timeout").is_empty()
        {
            let message = format!("invalid timeout specified in the request URL - {why}");
            return Err(Refusal::bad_request(message));
        }
        let caller = Caller { user };
        match address::read(&call.path) {
            None => {
                let mut parts = call.path.trim_start_matches('/').split('/');
                match (parts.next(), parts.next(), parts.next()) {
                    (Some("api"), Some("v1"), _) => Err(Refusal::no_such()),
                    (Some("apis"), Some(group), Some(_)) => match self.beyond(&call.path) {
                        Some((resource, place)) => {
                            parts::handle(self, call, &caller, &resource, &place, body).await
                        }
                        None => nothing(group),
                    },
                    _ => Ok(no_page()),
                }
            }
            Some(Address::Path) => self.page(call),
            Some(Address::Discovery { grouped, group, version }) => {
                self.discovery(call, grouped, group.as_deref(), version.as_deref())
            }
            Some(Address::Resource(place)) => {
                let served = self.served();
                let Some(resource) = served.resource(&place.group, &place.version, &place.plural) else {
                    return nothing(&place.group);
                };
                let answered = self.resource(call, &caller, resource, &place, body).await;
                let wanted = Wanted::read(&call.headers, &call.query).ok();
                let mut answer = answered.unwrap_or_else(|refusal| refused(&refusal, wanted));
                // Where nothing is served, nothing is old.
                let served = place.part.is_empty() || resource.part(&place.part).is_some();
                let unknown = answer.status() == 406 && !Wanted::names_a_type(&call.headers)
                    || answer.status() == 415 && call.method == Method::PATCH;
                if served && !unknown && answer.status() != 405 {
                    let others: Vec<_> = answer.headers().get_all("warning").iter().cloned().collect();
                    answer.headers_mut().remove("warning");
                    warn(&mut answer, &resource.deprecation());
                    for other in others {
                        answer.headers_mut().append("warning", other);
                    }
                }
                Ok(answer)
            }
        }
    }

    /// The part of an object of a defined kind that a longer address begins with: nobody asks for the rest.
    fn beyond(&self, path: &str) -> Option<(Arc<Resource>, Place)> {
        let served = self.served();
        let mut path = path;
        while let Some((start, _)) = path.rsplit_once('/') {
            path = start;
            if let Some(Address::Resource(place)) = address::read(path)
                && let Some(resource) = served.resource(&place.group, &place.version, &place.plural)
            {
                let part = resource.custom.is_some() && resource.part(&place.part).is_some();
                return part.then(|| (Arc::clone(resource), place));
            }
        }
        None
    }

    /// Pages that are about no resource.
    fn page(&self, call: &Call) -> Outcome<Answer> {
        let path = call.path.trim_end_matches('/');
        match path {
            "/healthz" | "/livez" | "/readyz" | "/healthz/ping" | "/livez/ping" | "/readyz/ping" => {
                let mut ok = answer(200, "text/plain; charset=utf-8", "ok");
                ok.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
                Ok(ok)
            }
            "/version" => {
                let wanted = Wanted::read(&call.headers, &call.query)?;
                Ok(object(200, Wanted { pretty: true, ..wanted }, version::version().to_string()))
            }
            "/openid/v1/jwks" => Ok(answer(200, "application/jwk-set+json", self.guard().issuer().keys())),
            "/.well-known/openid-configuration" => {
                let keys = format!("https://{}/openid/v1/jwks", call.header(&HOST));
                Ok(answer(200, JSON, self.guard().issuer().configuration(&keys)))
            }
            "/openapi/v2" => Ok(self.old_openapi(call)),
            "/openapi/v3" => Ok(cached(call, "text/plain; charset=utf-8", self.served().index(), None)),
            _ => match path.strip_prefix("/openapi/v3/") {
                Some(rest) => match self.served().documents().get(rest) {
                    Some(page) => {
                        let fixed = call.query.has("hash").then_some("public, immutable");
                        Ok(cached(call, JSON, page, fixed))
                    }
                    None => Ok(no_page()),
                },
                None if path.starts_with("/version/") => Err(Refusal::no_such()),
                None => Ok(no_page()),
            },
        }
    }

    /// The large document: in the binary form if that is what is asked for first.
    fn old_openapi(&self, call: &Call) -> Answer {
        let served = self.served();
        let first = call.header(&ACCEPT).split(',').next().unwrap_or_default().trim();
        if first == openapi2::ASKED || first == openapi2::BINARY {
            cached(call, openapi2::BINARY, served.old_document(true), None)
        } else {
            cached(call, JSON, served.old_document(false), None)
        }
    }

    fn discovery(
        &self,
        call: &Call,
        grouped: bool,
        group: Option<&str>,
        version: Option<&str>,
    ) -> Outcome<Answer> {
        // Groups are told to whoever asks, in whatever way.
        if call.method != Method::GET && !(grouped && version.is_none()) {
            return Err(Refusal::not_allowed());
        }
        let served = self.served();
        let wanted = |value: Value| -> Outcome<Answer> {
            Ok(object(200, Wanted::read(&call.headers, &call.query)?, value.to_string() + "\n"))
        };
        match (grouped, group, version) {
            (_, None, None) => {
                let accept = call.header(&ACCEPT);
                let all = accept.split(',').find_map(aggregated_type);
                match all {
                    Some(kind) => {
                        let mut answer = cached(call, kind, served.everything(!grouped), Some("public"));
                        answer.headers_mut().insert("vary", HeaderValue::from_static("Accept"));
                        Ok(answer)
                    }
                    None if grouped => wanted(discovery::group_list(&served)),
                    None => wanted(discovery::api_versions(call.header(&HOST))),
                }
            }
            (true, Some(group), None) => {
                discovery::group(&served, group).map_or_else(|| Ok(no_page()), wanted)
            }
            (_, group, Some(version)) => {
                let group = group.unwrap_or_default();
                discovery::resource_list(&served, group, version).map_or_else(|| nothing(group), wanted)
            }
            _ => Ok(no_page()),
        }
    }

    async fn resource(
        &self,
        call: &Call,
        caller: &Caller,
        resource: &Arc<Resource>,
        place: &Place,
        body: Incoming,
    ) -> Outcome<Answer> {
        if !place.part.is_empty() {
            return parts::handle(self, call, caller, resource, place, body).await;
        }
        if review::is_review(resource) {
            return review::handle(self, call, caller, resource, place, body).await;
        }
        // Objects that have no namespace are at one address only.
        if !place.namespace.is_empty() && !resource.namespaced {
            return nothing(&place.group);
        }
        let everywhere = resource.namespaced && place.namespace.is_empty();
        let named = !place.name.is_empty();
        let custom = resource.custom.is_some();
        let verb = match (call.method.as_str(), named) {
            ("HEAD", true) if custom => "get",
            ("HEAD", false) if custom => "list",
            // The name in the address says nothing there.
            ("POST", true) if custom => "create",
            ("GET", true) => "get",
            ("GET", false) => "list",
            ("POST", false) => "create",
            ("PUT", true) => "update",
            ("PATCH", true) => "patch",
            ("DELETE", true) => "delete",
            ("DELETE", false) => "deletecollection",
            ("PATCH" | "PUT", false) if resource.custom.is_some() => {
                if call.method == Method::PATCH {
                    patch_type(call.header(&CONTENT_TYPE), true)?;
                }
                return Err(Refusal::bad_request("name must be provided"));
            }
            _ => return Err(Refusal::not_allowed()),
        };
        if !resource.allows(verb) || everywhere && (named || !matches!(verb, "list")) {
            let nowhere = everywhere && named;
            return if nowhere { nothing(&place.group) } else { Err(Refusal::not_allowed()) };
        }
        let include = call.query.get("includeObject");
        let wanted = Wanted::read(&call.headers, &call.query).map_err(|refusal| {
            let known = Wanted::names_a_type(&call.headers) || resource.custom.is_some();
            if known { refusal } else { no_representation(verb == "list") }
        })?;
        match verb {
            "get" => self.get(call, resource, place, wanted).await,
            "list" => self.list(call, resource, place, wanted).await,
            "create" => {
                let (options, body) = self.writing(call, "CreateOptions", body).await?;
                let mut write = Write::new(self, caller, resource, place, options);
                let object = write.read(&body, content_type(call, resource)?)?;
                let written = write.create(object).await;
                let written = write.warned(written)?;
                write.answer(written, true, wanted, include)
            }
            "update" => {
                let (options, body) = self.writing(call, "UpdateOptions", body).await?;
                let mut write = Write::new(self, caller, resource, place, options);
                let object = write.read(&body, content_type(call, resource)?)?;
                let written = write.update(object).await;
                let (written, created) = write.warned(written)?;
                write.answer(written, created, wanted, include)
            }
            "patch" => {
                let kind = patch_type(call.header(&CONTENT_TYPE), resource.custom.is_some())?;
                let body = read_body(body).await?;
                let agent = call.header(&USER_AGENT);
                let options = WriteOptions::read(&call.query, "PatchOptions", agent, Some(kind))?;
                let patch = parts::read_patch(self, resource, place, kind, &body)?;
                let mut write = Write::new(self, caller, resource, place, options);
                let written = write.patch(&patch).await;
                let (written, created) = write.warned(written)?;
                write.answer(written, created, wanted, include)
            }
            _ => {
                let body = read_body(body).await?;
                let options = DeleteOptions::read(&body, call.header(&CONTENT_TYPE), &call.query)?;
                let delete = Delete { api: self, resource, options };
                let warned = |refusal| Refusal { warnings: delete.warnings().into(), ..refusal };
                let mut answer = if named {
                    delete.one(place, wanted, include).await.map_err(warned)?
                } else {
                    let (selection, options) = selected(call, resource, false)?;
                    delete.all(&place.namespace, &selection, &options, wanted).await.map_err(warned)?
                };
                warn(&mut answer, &delete.warnings());
                Ok(answer)
            }
        }
    }

    async fn writing(&self, call: &Call, kind: &str, body: Incoming) -> Outcome<(WriteOptions, Bytes)> {
        let options = WriteOptions::read(&call.query, kind, call.header(&USER_AGENT), None)?;
        Ok((options, read_body(body).await?))
    }

    async fn get(
        &self,
        call: &Call,
        resource: &Arc<Resource>,
        place: &Place,
        wanted: Wanted,
    ) -> Outcome<Answer> {
        match call.query.get("resourceVersion") {
            "" => {}
            text => {
                let revision = text.parse().map_err(|_| {
                    Refusal::failed(format!(
                        "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                    ))
                })?;
                list::reach(self.store(), revision, resource).await?;
            }
        }
        let found = parts::find(self, resource, place)?;
        form::answer(resource, 200, wanted, call.query.get("includeObject"), &found)
    }

    async fn list(
        &self,
        call: &Call,
        resource: &Arc<Resource>,
        place: &Place,
        wanted: Wanted,
    ) -> Outcome<Answer> {
        let watching = call.query.truth("watch").unwrap_or(false);
        let include = call.query.get("includeObject");
        let (selection, options) = selected(call, resource, watching)?;
        if !watching {
            let listed = list::list(self.store(), resource, &place.namespace, &selection, &options).await?;
            return list::answer(resource, wanted, include, clock::seconds(), listed);
        }
        if !resource.allows("watch") {
            return Err(Refusal::not_allowed());
        }
        let collection = self.store().collection(&resource.place);
        let newest = self.store().revision();
        watch::start(&collection, newest, resource, &place.namespace, selection, &options, wanted, include)
    }
}

/// 406 of a built-in kind, whose address itself knows what it can be sent as.
fn no_representation(watched: bool) -> Refusal {
    let mut message =
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf"
            .to_owned();
    if watched {
        message.push_str(", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch");
    }
    let mut refusal = not_acceptable(&message);
    refusal.details = Some(serde_json::json!({}));
    refusal
}

/// What a list or a watch is about. What cannot be read is refused before what makes no sense.
fn selected(call: &Call, resource: &Resource, watch: bool) -> Outcome<(Selection, ListOptions)> {
    for name in ["limit", "timeoutSeconds"] {
        call.query.number(name)?;
    }
    let labels = call.query.get("labelSelector");
    Selection::read(resource, labels, "")?;
    ListOptions::check(&call.query, watch)?;
    let selection = Selection::read(resource, labels, call.query.get("fieldSelector"))?;
    Ok((selection, ListOptions::read(&call.query, watch)?))
}

/// How the body is written.
pub fn content_type(call: &Call, resource: &Resource) -> Outcome<Format> {
    Format::read(call.header(&CONTENT_TYPE), resource.custom.is_some())
}

/// Reads a body that is not too large and does not take too long.
pub async fn read_body(mut body: Incoming) -> Outcome<Bytes> {
    match timeout(PATIENCE, Limited::new(&mut body, LARGEST).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            // Who is still sending when the connection ends does not read the answer.
            let _ = timeout(LINGER, drain(body)).await;
            Err(Refusal::too_large(format_args!("limit is {LARGEST}")))
        }
        Ok(Err(error)) => Err(Refusal::bad_request(error.to_string())),
        Err(_) => Err(Refusal::new(408, "Timeout", "the body of the request did not come in time")),
    }
}

/// Reads the rest of a body that is not wanted, unless there is too much of it.
async fn drain(mut body: Incoming) {
    let mut left = REST;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(size) {
            Some(less) => left = less,
            None => return,
        }
    }
}

/// An answer that clients keep, and ask for again only if it has changed.
fn cached(call: &Call, kind: &'static str, page: &Page, control: Option<&'static str>) -> Answer {
    let same = call.header(&IF_NONE_MATCH) == page.tag;
    let mut answer = if same { answer(304, kind, "") } else { answer(200, kind, page.text.clone()) };
    if let Ok(tag) = HeaderValue::from_str(&page.tag) {
        answer.headers_mut().insert(ETAG, tag);
    }
    if let Some(control) = control {
        answer.headers_mut().insert("cache-control", HeaderValue::from_static(control));
    }
    answer
}

/// The type of everything at once, if that is what a client accepts.
fn aggregated_type(clause: &str) -> Option<&'static str> {
    let parts: Vec<&str> = clause.split(';').map(str::trim).collect();
    let has = |part: &str| parts.contains(&part);
    let fits = parts.first() == Some(&"application/json")
        && has("g=apidiscovery.k8s.io")
        && has("v=v2")
        && has("as=APIGroupDiscoveryList");
    fits.then_some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
}

/// The answer at an address where nothing is served: it is another one in groups of the server itself.
fn nothing(group: &str) -> Outcome<Answer> {
    let mut rows = podium_resources::kinds().rows();
    if group.is_empty() || rows.any(|row| row.group == group) {
        return Err(Refusal::no_such());
    }
    Ok(no_page())
}
