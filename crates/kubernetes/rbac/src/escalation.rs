//! Nobody gives rights that they do not have.

use serde_json::Value;

use crate::attributes::Attributes;
use crate::covers::missing;
use crate::policy::Policy;
use crate::refusal::{RBAC, Refusal};
use crate::rule::Rule;
use crate::text::{aggregate, quote, quoted_list};
use crate::user::{MASTERS, User};

/// A write of a role or of a binding.
#[derive(Clone, Copy, Debug)]
pub struct Write<'w> {
    /// The namespace that the request names.
    pub namespace: &'w str,
    /// The name that the request names: none where something is created.
    pub name: &'w str,
    /// What would be stored.
    pub new: &'w Value,
    /// What is stored.
    pub old: Option<&'w Value>,
}

/// Refuses a write that would give somebody rights that the writer does not have. Other kinds are not looked at.
pub fn check(policy: &Policy, user: &User, write: &Write<'_>) -> Result<(), Refusal> {
    let text = |pointer: &str| write.new.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if user.is_in(MASTERS) {
        return Ok(());
    }
    let resource = match text("/kind") {
        "Role" => "roles",
        "ClusterRole" => "clusterroles",
        "RoleBinding" => "rolebindings",
        "ClusterRoleBinding" => "clusterrolebindings",
        _ => return Ok(()),
    };
    let refuse = |why: &str| Err(Refusal::forbidden(RBAC, resource, text("/metadata/name"), why));
    let only_collected = write.old.is_some_and(|old| only_collected(old, write.new));
    if resource == "roles" || resource == "clusterroles" {
        let escalate = Attributes::resource("escalate", RBAC, resource, write.namespace, write.name);
        if policy.authorize(user, &escalate).allowed || only_collected {
            return Ok(());
        }
        if let Err(why) = held(policy, user, resource, write.namespace, &Rule::all(write.new)) {
            return refuse(&why);
        }
        let aggregates = has_selectors(write.new) || write.old.is_some_and(has_selectors);
        if resource == "clusterroles"
            && aggregates
            && held(policy, user, resource, write.namespace, &everything()).is_err()
        {
            return refuse("must have cluster-admin privileges to use the aggregationRule");
        }
        return Ok(());
    }
    if only_collected {
        return Ok(());
    }
    let (kind, name) = (text("/roleRef/kind"), text("/roleRef/name"));
    let plural = match kind {
        "Role" => "roles",
        "ClusterRole" => "clusterroles",
        other => {
            return Err(Refusal::internal(&format!("unsupported role reference kind: {}", quote(other))));
        }
    };
    let bind = Attributes::resource("bind", text("/roleRef/apiGroup"), plural, write.namespace, name);
    if policy.authorize(user, &bind).allowed {
        return Ok(());
    }
    let Some(rules) = policy.role(kind, write.namespace, name) else {
        return Err(Refusal::not_found(RBAC, resource, name));
    };
    held(policy, user, resource, write.namespace, rules).or_else(|why| refuse(&why))
}

/// Whether somebody holds all rights of some rules; otherwise a sentence that names the others.
fn held(policy: &Policy, user: &User, resource: &str, namespace: &str, rules: &[Rule]) -> Result<(), String> {
    let (owned, unknown) = policy.rules(user, namespace);
    let names = || format!("user {} (groups={})", quote(&user.name), quoted_list(&user.groups));
    let missing = match missing(&owned, rules) {
        Ok(missing) if missing.is_empty() => return Ok(()),
        Ok(missing) => missing,
        Err(count) => {
            let who = names();
            return Err(format!(
                "{who} is attempting to grant {count} RBAC permissions, too many to be compared"
            ));
        }
    };
    let lines: Vec<String> = missing.into_iter().collect();
    let mut why = format!(
        "{} is attempting to grant RBAC permissions not currently held:\n{}",
        names(),
        lines.join("\n")
    );
    if !unknown.is_empty() {
        let errors: Vec<String> = unknown.iter().map(|role| role.written(resource)).collect();
        why.push_str(&format!("; resolution errors: [{}]", aggregate(&errors)));
    }
    Err(why)
}

/// The rules of who may do everything.
fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() },
        Rule { verbs: all(), urls: all(), ..Rule::default() },
    ]
}

fn has_selectors(role: &Value) -> bool {
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array);
    selectors.is_some_and(|list| !list.is_empty())
}

/// Whether only that has changed which the garbage collector changes.
fn only_collected(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            for key in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(key);
            }
        }
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|_, value| !is_nothing(value));
        }
        object
    };
    rest(old) == rest(new)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_role_is_given_by_who_has_it_or_may_give_more() {
        let policy = Policy::of(&crate::bootstrap());
        let binding = json!({"kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}, "subjects": []});
        let write = Write { namespace: "", name: "", new: &binding, old: None };
        assert_eq!(check(&policy, &User::new("root", &[MASTERS]), &write), Ok(()));
        let refusal = check(&policy, &User::new("bob", &["devs"]), &write).unwrap_err();
        let begin = "clusterrolebindings.rbac.authorization.k8s.io \"b\" is forbidden: user \"bob\" (groups=[\"devs\"]) is \
            attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"bindings\"], \
            Verbs:[\"get\" \"list\" \"watch\"]}\n";
        assert!(refusal.message.starts_with(begin), "{refusal}");
        // What the garbage collector changes gives nobody anything.
        let mut marked = binding.clone();
        marked["metadata"]["finalizers"] = json!(["a.b/c"]);
        let collected = Write { new: &marked, old: Some(&binding), ..write };
        assert_eq!(check(&policy, &User::new("bob", &["devs"]), &collected), Ok(()));
        marked["subjects"] = json!([{"kind": "User", "name": "bob"}]);
        assert!(
            check(
                &policy,
                &User::new("bob", &["devs"]),
                &Write { new: &marked, old: Some(&binding), ..write }
            )
            .is_err()
        );
    }
}
