//! Whether what a token names is still there.

use serde_json::Value;

use super::issuer::LEEWAY;
use super::{Claims, Error, LEGACY, Ref};
use crate::refusal::Refusal;
use crate::time;
use crate::user::{CREDENTIAL, User, split_account};
use podium_meta::base64;

/// Where objects are found: by resource, namespace (empty for nodes) and name.
pub type Lookup<'l> = dyn Fn(&str, &str, &str) -> Option<Value> + 'l;

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object was deleted, and is only waiting to be gone, since before a moment.
fn deleted(object: &Value, before: i64) -> bool {
    let at = object.pointer("/metadata/deletionTimestamp").and_then(Value::as_str);
    // A moment that cannot be read is long ago.
    at.is_some_and(|at| time::parse(at).is_none_or(|at| at < before))
}

impl Claims {
    /// Who it is, if all that the token names is still there. The token itself is needed for those in Secrets.
    pub fn user(&self, token: &str, now: i64, lookup: &Lookup<'_>) -> Result<User, Error> {
        if self.issuer == LEGACY {
            return self.legacy_user(token, lookup);
        }
        let before = now.saturating_sub(LEEWAY);
        let (namespace, account) = (&self.namespace, &self.account);
        let found = lookup("serviceaccounts", namespace, &account.name);
        let found = found.ok_or_else(|| gone("serviceaccounts", &account.name))?;
        if uid(&found) != account.uid {
            let text =
                format!("service account UID ({}) does not match claim ({})", uid(&found), account.uid);
            return Err(Error::Other(text));
        }
        if deleted(&found, before) {
            return Err(Error::Other(format!(
                "service account {namespace}/{} has been deleted",
                account.name
            )));
        }
        let same = |kind: &str, resource: &str, namespace: &str, one: &Ref| {
            let found = lookup(resource, namespace, &one.name).ok_or(Error::Gone)?;
            if uid(&found) != one.uid {
                let found = uid(&found);
                let claim =
                    format!("does not match service account {} ref claim ({})", kind.to_lowercase(), one.uid);
                return Err(Error::Other(format!("{kind} UID ({found}) {claim}")));
            }
            if deleted(&found, before) { Err(Error::Gone) } else { Ok(()) }
        };
        if let Some(secret) = &self.secret {
            same("secret", "secrets", namespace, secret)?;
        }
        if let Some(pod) = &self.pod {
            same("pod", "pods", namespace, pod)?;
        }
        if let (Some(node), None) = (&self.node, &self.pod) {
            same("node", "nodes", "", node)?;
        }
        let mut user = User::service_account(namespace, &account.name, &account.uid);
        let mut put = |key: &str, value: &str| {
            let key = format!("authentication.kubernetes.io/{key}");
            user.extra.insert(key, vec![value.to_owned()]);
        };
        if let Some(pod) = self.pod.as_ref().filter(|pod| !pod.name.is_empty() && !pod.uid.is_empty()) {
            put("pod-name", &pod.name);
            put("pod-uid", &pod.uid);
        }
        if let Some(node) = self.node.as_ref().filter(|node| !node.name.is_empty()) {
            put("node-name", &node.name);
            if !node.uid.is_empty() {
                put("node-uid", &node.uid);
            }
        }
        if !self.id.is_empty() {
            user.extra.insert(CREDENTIAL.to_owned(), vec![format!("JTI={}", self.id)]);
        }
        Ok(user)
    }

    fn legacy_user(&self, token: &str, lookup: &Lookup<'_>) -> Result<User, Error> {
        let other = |text: &str| Err(Error::Other(text.to_owned()));
        let (namespace, account) = (self.namespace.as_str(), &self.account);
        let secret = self.secret.as_ref().map(|secret| secret.name.as_str()).unwrap_or_default();
        for (text, name) in [
            (self.subject.as_str(), "sub"),
            (namespace, "namespace"),
            (secret, "secretName"),
            (&account.name, "serviceAccountName"),
            (&account.uid, "serviceAccountUID"),
        ] {
            if text.is_empty() {
                return other(&format!("{name} claim is missing"));
            }
        }
        if split_account(&self.subject) != Some((namespace, account.name.as_str())) {
            return other("sub claim is invalid");
        }
        let kept = lookup("secrets", namespace, secret).filter(|kept| !deleted(kept, i64::MAX));
        let Some(kept) = kept else { return other("Token has been invalidated") };
        let same =
            kept.pointer("/data/token").and_then(Value::as_str) == Some(&base64::encode(token.as_bytes()));
        if !same {
            return other("Token does not match server's copy");
        }
        let found = lookup("serviceaccounts", namespace, &account.name);
        let found = found.ok_or_else(|| gone("serviceaccounts", &account.name))?;
        if deleted(&found, i64::MAX) {
            return other(&format!("ServiceAccount {namespace}/{} has been deleted", account.name));
        }
        if uid(&found) != account.uid {
            return other(&format!(
                "ServiceAccount UID ({}) does not match claim ({})",
                uid(&found),
                account.uid
            ));
        }
        const SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
        let since =
            kept.pointer("/metadata/labels").and_then(|labels| labels.get(SINCE)).and_then(Value::as_str);
        if since.is_some_and(|since| !since.is_empty()) {
            let name = &account.name;
            return other(&format!(
                "the token in secret {namespace}/{secret} for service account {namespace}/{name} has been marked invalid. Use \
                 tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{SINCE}' label from the \
                 secret to temporarily allow use of this token"
            ));
        }
        Ok(User::service_account(namespace, &account.name, &account.uid))
    }
}

fn gone(resource: &str, name: &str) -> Error {
    Error::Other(Refusal::not_found("", resource, name).message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(uid: &str, deleted: Option<i64>) -> Value {
        match deleted {
            None => json!({"metadata": {"uid": uid}}),
            Some(at) => json!({"metadata": {"uid": uid, "deletionTimestamp": time::format(at)}}),
        }
    }

    #[test]
    fn a_token_in_a_secret_lives_as_long_as_the_secret() {
        let claims = Claims::legacy("n", Ref { name: "a".to_owned(), uid: "1".to_owned() }, "s");
        let mut secret = json!({"metadata": {"uid": "2"}, "data": {"token": base64::encode(b"token")}});
        let user = |secret: Option<&Value>| {
            claims.user("token", 0, &|resource, _, _| match resource {
                "secrets" => secret.cloned(),
                _ => Some(object("1", None)),
            })
        };
        assert_eq!(user(Some(&secret)), Ok(User::service_account("n", "a", "1")));
        assert_eq!(user(None), Err(Error::Other("Token has been invalidated".to_owned())));
        secret["metadata"]["labels"] = json!({"kubernetes.io/legacy-token-invalid-since": "2026-01-01"});
        assert!(user(Some(&secret)).unwrap_err().to_string().contains("has been marked invalid"));
        secret["data"]["token"] = json!(base64::encode(b"other"));
        assert_eq!(user(Some(&secret)).unwrap_err().to_string(), "Token does not match server's copy");
    }

    #[test]
    fn a_minute_after_its_deletion_an_object_is_gone() {
        let bound = |kind: &str| {
            let one = Some(Ref { name: "x".to_owned(), uid: "2".to_owned() });
            let mut claims = Claims { namespace: "n".to_owned(), ..Claims::default() };
            claims.account = Ref { name: "a".to_owned(), uid: "1".to_owned() };
            match kind {
                "pods" => claims.pod = one,
                "secrets" => claims.secret = one,
                "nodes" => claims.node = one,
                _ => {}
            }
            claims
        };
        for kind in ["pods", "secrets", "nodes", "serviceaccounts"] {
            for (now, good) in [(1000, true), (1060, true), (1061, false)] {
                let lookup = |resource: &str, _: &str, _: &str| {
                    let uid = if resource == "serviceaccounts" { "1" } else { "2" };
                    Some(object(uid, (resource == kind).then_some(1000)))
                };
                assert_eq!(bound(kind).user("", now, &lookup).is_ok(), good, "{kind} {now}");
            }
        }
    }
}
