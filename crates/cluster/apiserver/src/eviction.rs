//! Pods are bound to nodes, and sent away from them.

use std::sync::Arc;

use podium_meta::{GroupVersionKind, Selector};
use podium_resources::kinds;
use podium_store::{Error as StoreError, Expect, Key, Query};
use serde_json::{Value, json};

use crate::address::Place;
use crate::api::Api;
use crate::delete::{Delete, DeleteOptions};
use crate::parts::find;
use crate::refusal::{Outcome, Refusal, of_store};
use crate::served::Resource;
use crate::{clock, meta};

/// How often a binding is tried again when others are faster.
const TRIES: usize = 100;

/// Binds a pod to a node. This is not a change of its specification by somebody, so that nothing else is checked.
pub async fn bind(
    api: &Api,
    resource: &Arc<Resource>,
    place: &Place,
    binding: &Value,
    dry_run: bool,
) -> Outcome<()> {
    let name = place.name.as_str();
    let node = binding.pointer("/target/name").and_then(Value::as_str).unwrap_or_default();
    let refuse = |why: String| {
        let message = format!("Operation cannot be fulfilled on pods/binding \"{name}\": {why}");
        let mut refusal = Refusal::new(409, "Conflict", message);
        refusal.details = Some(json!({"name": name, "kind": "pods/binding"}));
        refusal
    };
    for _ in 0..TRIES {
        let found = find(api, resource, place)?;
        let mut pod = resource.load(&found);
        let bound = pod.pointer("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
        if meta::is_deleted(&pod) {
            return Err(refuse(format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        if !bound.is_empty() {
            return Err(refuse(format!("pod {name} is already assigned to node {bound:?}")));
        }
        if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("nodeName".to_owned(), node.into());
        }
        let given = binding.pointer("/metadata/annotations").and_then(Value::as_object);
        for (key, value) in given.into_iter().flatten() {
            let all = meta::of_mut(&mut pod).map(|all| all.entry("annotations").or_insert_with(|| json!({})));
            if let Some(all) = all.and_then(Value::as_object_mut) {
                all.insert(key.clone(), value.clone());
            }
        }
        schedule(&mut pod, &clock::now());
        if dry_run {
            return Ok(());
        }
        let key = Key::new(Arc::clone(&resource.place), &place.namespace, name);
        match api.store().put(key, Expect::At(found.revision()), resource.draft(&pod)?).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Conflict { .. } | StoreError::Absent { .. }) => {}
            Err(error) => return Err(of_store(&error, resource, name)),
        }
    }
    Err(Refusal::modified(resource, name))
}

/// A pod that has a node says so.
fn schedule(pod: &mut Value, now: &str) {
    let Some(pod) = pod.as_object_mut() else { return };
    let status = pod.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else { return };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.retain(|one| one.get("type").and_then(Value::as_str) != Some("PodScheduled"));
        conditions.push(json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now}));
    }
}

/// Deletes a pod, unless too few would be left.
pub async fn evict(
    api: &Api,
    resource: &Arc<Resource>,
    place: &Place,
    options: DeleteOptions,
) -> Outcome<()> {
    let pod = resource.load(&find(api, resource, place)?);
    if let Some(budget) = budget(api, place, &pod) {
        let allowed = budget.pointer("/status/disruptionsAllowed").and_then(Value::as_i64).unwrap_or(0);
        if allowed <= 0 {
            let name = meta::text(&budget, "name");
            let number =
                |key: &str| budget.pointer(&format!("/status/{key}")).and_then(Value::as_i64).unwrap_or(0);
            let cause = json!([{"reason": "DisruptionBudget", "message": format!(
                "The disruption budget {name} needs {} healthy pods and has {} currently",
                number("desiredHealthy"), number("currentHealthy"))}]);
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            return Err(Refusal::new(429, "TooManyRequests", message).with_causes(cause));
        }
    }
    Delete { api, resource, options }.delete(&place.namespace, &place.name).await.map(drop)
}

/// The budget that a pod belongs to.
fn budget(api: &Api, place: &Place, pod: &Value) -> Option<Value> {
    let row = kinds().row_of(&GroupVersionKind::new("policy/v1", "PodDisruptionBudget"))?;
    let budgets = api.store().collection(&crate::served::place(row.group, row.plural));
    let prefix = format!("{}/", place.namespace);
    let page = budgets.list(Query { prefix: &prefix, ..Query::default() }, |_| true).ok()?;
    let labels = pod.pointer("/metadata/labels");
    let label = |name: &str| labels.and_then(|all| all.get(name)).and_then(Value::as_str);
    page.objects.iter().find_map(|object| {
        let budget: Value = serde_json::from_slice(object.body()).ok()?;
        let selector = budget.pointer("/spec/selector")?;
        let selector = Selector::parse(&crate::scale::selector_text(selector)).ok()?;
        selector.matches_with(label).then_some(budget)
    })
}
