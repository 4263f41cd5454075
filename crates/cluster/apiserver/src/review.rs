//! Questions that are asked by creating an object which is never stored.

use std::sync::Arc;

use http::Method;
use http::header::CONTENT_TYPE;
use hyper::body::Incoming;
use podium_rbac::{User, review};
use podium_resources::typed::write::to_json;
use serde_json::Value;

use crate::address::Place;
use crate::answer::{Answer, Wanted, object};
use crate::api::{Api, Caller};
use crate::clock;
use crate::handle::{Call, read_body};
use crate::model::{self, Format};
use crate::refusal::{Outcome, Refusal};
use crate::served::Resource;

/// Whether a resource is only asked and never stored.
pub fn is_review(resource: &Resource) -> bool {
    resource.custom.is_none() && resource.verbs.len() == 1 && resource.allows("create")
}

/// Answers a review.
pub async fn handle(
    api: &Api,
    call: &Call,
    caller: &Caller,
    resource: &Arc<Resource>,
    place: &Place,
    body: Incoming,
) -> Outcome<Answer> {
    if call.method != Method::POST || !place.name.is_empty() {
        return Err(Refusal::not_allowed());
    }
    let wanted = Wanted::read(&call.headers, &call.query)?;
    let format = Format::read(call.header(&CONTENT_TYPE), false)?;
    let body = read_body(body).await?;
    let given = model::decode_built_in(&body, format, &resource.kind)?.object;
    let answered = answer(api, &caller.user, &resource.kind.kind, &place.namespace, given)?;
    Ok(object(201, wanted, to_json(&resource.kind, &answered) + "\n"))
}

fn answer(api: &Api, user: &User, kind: &str, namespace: &str, given: Value) -> Outcome<Value> {
    let guard = api.guard();
    let by_rights = match kind {
        "SelfSubjectReview" => return Ok(review::self_subject(user, clock::seconds(), &given)),
        "TokenReview" => {
            let known = |token: &str, audiences: &[String]| guard.known(token, audiences);
            return Ok(review::token(given, &guard.issuer().audiences, known)?);
        }
        "SubjectAccessReview" => guard.with_policy(|policy| review::subject_access(policy, given)),
        "SelfSubjectAccessReview" => {
            guard.with_policy(|policy| review::self_subject_access(policy, user, given))
        }
        "LocalSubjectAccessReview" => {
            guard.with_policy(|policy| review::local_subject_access(policy, namespace, given))
        }
        "SelfSubjectRulesReview" => {
            guard.with_policy(|policy| review::self_subject_rules(policy, user, &given))
        }
        _ => return Err(Refusal::not_allowed()),
    };
    Ok(by_rights?)
}
