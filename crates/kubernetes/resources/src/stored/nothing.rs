//! What the original's store cannot tell apart: a list or a map with nothing in it is none.

use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::table::{Form, TypeId, Types, kinds};
use crate::typed;

/// Takes lists and maps without anything in them from an object, or makes them null where they are always written.
pub fn forget_empty(kind: &GroupVersionKind, value: &mut Value) {
    let table = kinds();
    if let Some(id) = table.type_of(kind) {
        walk(table.types(), id, value);
    }
}

/// Gives an object back the lists and maps that were sent with nothing in them: refusals tell them from those that were
/// not sent.
pub fn recall_empty(kind: &GroupVersionKind, value: &mut Value, sent: &Value) {
    let table = kinds();
    if let Some(id) = table.type_of(kind) {
        recall(table.types(), id, value, sent);
    }
}

/// Types that are shown as they are sent, without what is empty.
const PLAIN: [&str; 2] = ["meta/v1.LabelSelector", "meta/v1.LabelSelectorRequirement"];

fn recall(types: &Types, id: TypeId, value: &mut Value, sent: &Value) {
    if PLAIN.contains(&types.get(id).name) {
        return;
    }
    match (types.get(id).form, value, sent) {
        (Form::Pointer(inner), value, sent) => recall(types, inner, value, sent),
        (Form::List(inner), Value::Array(list), Value::Array(sent)) => {
            list.iter_mut().zip(sent).for_each(|(one, sent)| recall(types, inner, one, sent));
        }
        (Form::Map(inner), Value::Object(map), Value::Object(sent)) => {
            for (key, one) in map {
                if let Some(sent) = sent.get(key) {
                    recall(types, inner, one, sent);
                }
            }
        }
        (Form::Struct(inner), Value::Object(object), Value::Object(sent)) => {
            for field in &types.struct_(inner).fields {
                let Some(sent) = sent.get(field.key) else { continue };
                match (types.get(field.ty).form, sent, object.get_mut(field.key)) {
                    (Form::List(_), Value::Array(list), None | Some(Value::Null)) if list.is_empty() => {
                        object.insert(field.key.to_owned(), sent.clone());
                    }
                    (Form::Map(_), Value::Object(map), None | Some(Value::Null)) if map.is_empty() => {
                        object.insert(field.key.to_owned(), sent.clone());
                    }
                    (_, sent, Some(value)) => recall(types, field.ty, value, sent),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// Makes of whole numbers that do not fit what is left of their bits, as the original does with what is applied.
pub fn wrap_numbers(kind: &GroupVersionKind, value: &mut Value) {
    let table = kinds();
    if let Some(id) = table.type_of(kind) {
        wrap(table.types(), id, value);
    }
}

fn wrap(types: &Types, id: TypeId, value: &mut Value) {
    match (types.get(id).form, value) {
        (Form::Pointer(inner), value) => wrap(types, inner, value),
        (Form::Int32, value) => {
            if let Some(number) = value.as_i64().filter(|number| i32::try_from(*number).is_err()) {
                *value = Value::from(number as i32);
            }
        }
        (Form::List(inner), Value::Array(list)) => list.iter_mut().for_each(|one| wrap(types, inner, one)),
        (Form::Map(inner), Value::Object(map)) => map.values_mut().for_each(|one| wrap(types, inner, one)),
        (Form::Struct(inner), Value::Object(object)) => {
            for field in &types.struct_(inner).fields {
                if let Some(value) = object.get_mut(field.key) {
                    wrap(types, field.ty, value);
                }
            }
        }
        _ => {}
    }
}

fn walk(types: &Types, id: TypeId, value: &mut Value) {
    match (types.get(id).form, value) {
        (Form::Pointer(inner), value) => walk(types, inner, value),
        (Form::List(inner), Value::Array(list)) => list.iter_mut().for_each(|one| walk(types, inner, one)),
        (Form::Map(inner), Value::Object(map)) => map.values_mut().for_each(|one| walk(types, inner, one)),
        (Form::Struct(inner), Value::Object(object)) => {
            for field in &types.struct_(inner).fields {
                let Some(value) = object.get_mut(field.key) else { continue };
                let empty = match (types.get(field.ty).form, &*value) {
                    (Form::List(_), Value::Array(list)) => list.is_empty(),
                    (Form::Map(_), Value::Object(map)) => map.is_empty(),
                    _ => false,
                };
                if empty {
                    typed::set(types, object, field, Value::Null);
                } else {
                    walk(types, field.ty, value);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_sent_empty_comes_back() {
        let kind = GroupVersionKind::new("networking.k8s.io/v1", "Ingress");
        let mut ingress = json!({"spec": {"tls": [{"secretName": "a"}]}});
        let sent = json!({"spec": {"rules": [], "tls": [{"hosts": []}], "defaultBackend": {}}});
        recall_empty(&kind, &mut ingress, &sent);
        assert_eq!(ingress, json!({"spec": {"rules": [], "tls": [{"secretName": "a", "hosts": []}]}}));
        let mut set = json!({"spec": {"selector": {}}});
        recall_empty(
            &GroupVersionKind::new("apps/v1", "DaemonSet"),
            &mut set,
            &json!({"spec": {"selector": {"matchLabels": {}}}}),
        );
        assert_eq!(set, json!({"spec": {"selector": {}}}));
    }

    #[test]
    fn numbers_that_do_not_fit_are_cut() {
        let mut set = json!({"status": {"replicas": i64::MAX, "readyReplicas": 3}});
        wrap_numbers(&GroupVersionKind::new("apps/v1", "StatefulSet"), &mut set);
        assert_eq!(set, json!({"status": {"replicas": -1, "readyReplicas": 3}}));
    }

    #[test]
    fn what_is_empty_is_not_there_or_null() {
        let mut slice = json!({"endpoints": [], "ports": [{"port": 80}], "metadata": {"labels": {}}});
        forget_empty(&GroupVersionKind::new("discovery.k8s.io/v1", "EndpointSlice"), &mut slice);
        assert_eq!(slice, json!({"endpoints": null, "ports": [{"port": 80}], "metadata": {}}));
        let mut pod = json!({"spec": {"containers": [{"name": "a", "args": [], "resources": {"limits": {}}}],
            "volumes": [{"name": "v", "emptyDir": {}}]}});
        forget_empty(&GroupVersionKind::new("v1", "Pod"), &mut pod);
        let left = json!({"spec": {"containers": [{"name": "a", "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}]}});
        assert_eq!(pod, left, "a pointer to something empty is one that is there");
    }
}
