//! What a token says.

use serde_json::{Map, Value, json};

use crate::user::account_name;

/// Who signs the tokens that are kept in Secrets.
pub const LEGACY: &str = "kubernetes/serviceaccount";

const PREFIX: &str = "kubernetes.io/serviceaccount/";

/// An object that a token names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ref {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// What a token says. Moments are in seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// For whom it is.
    pub audiences: Vec<String>,
    /// Until when it is valid.
    pub expires: Option<i64>,
    /// When it was made.
    pub issued: Option<i64>,
    /// From when on it is valid.
    pub not_before: Option<i64>,
    /// Who made it.
    pub issuer: String,
    /// What tells it from other tokens.
    pub id: String,
    /// The user name of the service account.
    pub subject: String,
    /// The namespace of the service account.
    pub namespace: String,
    /// The service account.
    pub account: Ref,
    /// The pod without which it is not valid.
    pub pod: Option<Ref>,
    /// The Secret without which it is not valid.
    pub secret: Option<Ref>,
    /// The node without which it is not valid, or on which the pod runs.
    pub node: Option<Ref>,
    /// After this moment its use is worth a warning.
    pub warn_after: Option<i64>,
}

impl Claims {
    /// The token that is kept in a Secret: it is valid as long as the Secret is there.
    pub fn legacy(namespace: &str, account: Ref, secret: &str) -> Self {
        Self {
            issuer: LEGACY.to_owned(),
            subject: account_name(namespace, &account.name),
            namespace: namespace.to_owned(),
            account,
            secret: Some(Ref { name: secret.to_owned(), uid: String::new() }),
            ..Self::default()
        }
    }

    /// As they stand in the token.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
        for (key, text) in [("iss", &self.issuer), ("jti", &self.id), ("sub", &self.subject)] {
            if !text.is_empty() {
                put(key, json!(text));
            }
        }
        for (key, moment) in [("exp", self.expires), ("iat", self.issued), ("nbf", self.not_before)] {
            if let Some(moment) = moment {
                put(key, json!(moment));
            }
        }
        if !self.audiences.is_empty() {
            put("aud", json!(self.audiences));
        }
        if self.issuer == LEGACY {
            let secret = self.secret.as_ref().map(|secret| secret.name.as_str()).unwrap_or_default();
            for (key, text) in [
                ("namespace", self.namespace.as_str()),
                ("secret.name", secret),
                ("service-account.name", &self.account.name),
                ("service-account.uid", &self.account.uid),
            ] {
                put(&format!("{PREFIX}{key}"), json!(text));
            }
            return Value::Object(out);
        }
        let mut own = json!({"namespace": self.namespace, "serviceaccount": self.account.to_json()});
        for (key, other) in [("pod", &self.pod), ("secret", &self.secret), ("node", &self.node)] {
            if let Some(other) = other {
                own[key] = other.to_json();
            }
        }
        if let Some(moment) = self.warn_after {
            own["warnafter"] = json!(moment);
        }
        put("kubernetes.io", own);
        Value::Object(out)
    }

    /// Reads them; nothing if a field has another type.
    pub fn read(claims: &Value) -> Option<Self> {
        let fields = claims.as_object()?;
        let own = match fields.get("kubernetes.io") {
            None | Some(Value::Null) => &Value::Null,
            Some(own) => own.is_object().then_some(own)?,
        };
        let mut out = Self {
            audiences: match fields.get("aud") {
                None => Vec::new(),
                Some(Value::String(one)) => vec![one.clone()],
                Some(Value::Array(all)) => {
                    all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<_>>()?
                }
                Some(_) => return None,
            },
            expires: moment(claims, "exp")?,
            issued: moment(claims, "iat")?,
            not_before: moment(claims, "nbf")?,
            issuer: text(claims, "iss")?,
            id: text(claims, "jti")?,
            subject: text(claims, "sub")?,
            namespace: text(own, "namespace")?,
            account: Ref::read(own, "serviceaccount")?.unwrap_or_default(),
            pod: Ref::read(own, "pod")?,
            secret: Ref::read(own, "secret")?,
            node: Ref::read(own, "node")?,
            warn_after: moment(own, "warnafter")?,
        };
        if out.issuer == LEGACY {
            let flat = |key: &str| text(claims, &format!("{PREFIX}{key}"));
            out.namespace = flat("namespace")?;
            out.account = Ref { name: flat("service-account.name")?, uid: flat("service-account.uid")? };
            out.secret = Some(Ref { name: flat("secret.name")?, uid: String::new() });
            (out.pod, out.node) = (None, None);
        }
        Some(out)
    }
}

impl Ref {
    fn to_json(&self) -> Value {
        let both = [("name", &self.name), ("uid", &self.uid)];
        let given = both.into_iter().filter(|(_, text)| !text.is_empty());
        Value::Object(given.map(|(key, text)| (key.to_owned(), json!(text))).collect())
    }

    fn read(object: &Value, key: &str) -> Option<Option<Self>> {
        match object.get(key) {
            None | Some(Value::Null) => Some(None),
            Some(one) if one.is_object() => {
                Some(Some(Self { name: text(one, "name")?, uid: text(one, "uid")? }))
            }
            Some(_) => None,
        }
    }
}

/// The text of a field, empty if there is none; nothing if it is no text.
fn text(object: &Value, key: &str) -> Option<String> {
    match object.get(key) {
        None | Some(Value::Null) => Some(String::new()),
        Some(value) => value.as_str().map(str::to_owned),
    }
}

/// The moment of a field, if there is one; nothing if it is no number.
fn moment(object: &Value, key: &str) -> Option<Option<i64>> {
    match object.get(key) {
        None | Some(Value::Null) => Some(None),
        // A number with parts of a second is cut off; one that is too large is the largest.
        Some(value) => value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)).map(Some),
    }
}
