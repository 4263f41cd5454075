//! Tokens on request: `POST …/serviceaccounts/NAME/token`.

use podium_meta::FieldError;
use serde_json::{Value, json};

use super::{Claims, Issuer, Lookup, Ref};
use crate::refusal::Refusal;
use crate::rule::texts;
use crate::text::{invalid, quote};
use crate::time;
use crate::user::account_name;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// No token is valid for a shorter time.
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
const USUAL: i64 = 3600;
/// Pods ask for this when they would be content with tokens that last: they get a year and a moment from which on
/// whoever has not fetched a new one is behind.
const OF_PODS: i64 = 3607;
const YEAR: i64 = 365 * 24 * 3600;

/// A request for a token.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The namespace of the service account.
    pub namespace: &'r str,
    /// The name of the service account.
    pub name: &'r str,
    /// The TokenRequest.
    pub body: &'r Value,
    /// The present moment, in seconds since 1970.
    pub now: i64,
    /// What will tell the token from all others: a new uid.
    pub id: &'r str,
}

/// What a token is bound to.
#[derive(Default)]
struct Bound {
    pod: Option<Ref>,
    secret: Option<Ref>,
    node: Option<Ref>,
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Answers a TokenRequest with a token.
pub fn request(issuer: &Issuer, asked: &Request<'_>, lookup: &Lookup<'_>) -> Result<Value, Refusal> {
    let Request { namespace, name, body, now, .. } = *asked;
    let given = text(body, "/metadata/namespace");
    if !given.is_empty() && given != namespace {
        return Err(Refusal::other_namespace());
    }
    let given = text(body, "/metadata/name");
    if !given.is_empty() && given != name {
        let detail = "must match the service account name if specified";
        let flaw = invalid("metadata.name", given, detail);
        return Err(Refusal::invalid(GROUP, KIND, name, vec![flaw]));
    }
    let account = lookup("serviceaccounts", namespace, name);
    let account = account.ok_or_else(|| Refusal::not_found("", "serviceaccounts", name))?;
    let (given, uid) = (text(body, "/metadata/uid"), text(&account, "/metadata/uid"));
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        return Err(Refusal::conflict(GROUP, KIND, name, &why));
    }
    let spec = body.get("spec").unwrap_or(&Value::Null);
    let mut audiences = texts(spec, "audiences");
    if audiences.is_empty() {
        audiences.clone_from(&issuer.audiences);
    }
    let seconds = spec.get("expirationSeconds").and_then(Value::as_i64).unwrap_or(USUAL);
    let wrong = match seconds {
        ..SHORTEST => Some("may not specify a duration less than 10 minutes"),
        SHORTEST..=LONGEST => None,
        _ => Some("may not specify a duration larger than 2^32 seconds"),
    };
    if let Some(detail) = wrong {
        let flaw = FieldError::invalid("spec.expirationSeconds", &json!(seconds), detail);
        return Err(Refusal::invalid(GROUP, KIND, "", vec![flaw]));
    }
    let reference = spec.get("boundObjectRef").filter(|reference| !reference.is_null());
    let bound = reference.map_or(Ok(Bound::default()), |reference| bind(reference, asked, lookup))?;
    let lasts = bound.pod.is_some()
        && seconds == OF_PODS
        && audiences.iter().all(|one| issuer.audiences.contains(one));
    let claims = Claims {
        expires: Some(now.saturating_add(if lasts { YEAR } else { seconds })),
        warn_after: lasts.then(|| now.saturating_add(seconds)),
        issued: Some(now),
        not_before: Some(now),
        issuer: issuer.name.clone(),
        id: asked.id.to_owned(),
        subject: account_name(namespace, name),
        namespace: namespace.to_owned(),
        account: Ref { name: name.to_owned(), uid: uid.to_owned() },
        audiences: audiences.clone(),
        pod: bound.pod,
        secret: bound.secret,
        node: bound.node,
    };
    let token =
        issuer.sign(&claims).map_err(|e| Refusal::internal(&format!("failed to generate token: {e}")))?;
    let mut answer = body.clone();
    let Some(fields) = answer.as_object_mut() else {
        return Err(Refusal::bad_request("the request is no object"));
    };
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    let mut metadata = body.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, value) in [("name", name), ("namespace", namespace), ("uid", uid)] {
        metadata.insert(key.to_owned(), json!(value));
    }
    metadata.insert("creationTimestamp".to_owned(), json!(time::format(now)));
    put("kind", json!(KIND));
    put("apiVersion", json!("authentication.k8s.io/v1"));
    put("metadata", Value::Object(metadata));
    put("spec", json!({"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference}));
    let until = time::format(now.saturating_add(seconds));
    put("status", json!({"token": token, "expirationTimestamp": until}));
    Ok(answer)
}

fn bind(reference: &Value, asked: &Request<'_>, lookup: &Lookup<'_>) -> Result<Bound, Refusal> {
    let [kind, version, name, uid] =
        ["/kind", "/apiVersion", "/name", "/uid"].map(|key| text(reference, key));
    let (group, version) = match version.split('/').collect::<Vec<_>>().as_slice() {
        [version] => ("", *version),
        [group, version] => (*group, *version),
        _ => ("", ""),
    };
    let (resource, namespace) = match (group, kind) {
        ("", "Pod") => ("pods", asked.namespace),
        ("", "Secret") => ("secrets", asked.namespace),
        ("", "Node") => ("nodes", ""),
        _ => {
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Refusal::bad_request(message));
        }
    };
    let found = lookup(resource, namespace, name).ok_or_else(|| Refusal::not_found("", resource, name))?;
    let refer = |name: &str, object: &Value| Ref {
        name: name.to_owned(),
        uid: text(object, "/metadata/uid").to_owned(),
    };
    let mut bound = Bound::default();
    let own = Some(refer(name, &found));
    match kind {
        "Pod" => {
            if text(&found, "/spec/serviceAccountName") != asked.name {
                let account = quote(asked.name);
                let why = "to pod running with different serviceaccount name.";
                return Err(Refusal::bad_request(format!(
                    "cannot bind token for serviceaccount {account} {why}"
                )));
            }
            let node = text(&found, "/spec/nodeName");
            // A node that is not there is still named.
            bound.node =
                (!node.is_empty()).then(|| refer(node, &lookup("nodes", "", node).unwrap_or_default()));
            bound.pod = own;
        }
        "Secret" => bound.secret = own,
        _ => bound.node = own,
    }
    if !uid.is_empty() && uid != text(&found, "/metadata/uid") {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted \
             and then recreated"
        );
        return Err(Refusal::conflict(group, kind, name, &why));
    }
    Ok(bound)
}
