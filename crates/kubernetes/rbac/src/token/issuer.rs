//! Signing tokens, and finding out whether a token is ours.

use serde_json::{Value, json};

use super::{Claims, Error, LEGACY};
use crate::key::{self, Key};
use crate::text::quoted_list;
use crate::user::User;
use podium_meta::base64;

/// No token of ours is longer.
const LONGEST: usize = 65_536;
/// Clocks may differ by so many seconds.
pub(super) const LEEWAY: i64 = 60;

/// Who signs the tokens of service accounts.
#[derive(Debug)]
pub struct Issuer {
    /// The address that stands for it in tokens.
    pub name: String,
    /// For whom tokens are that say nothing else, and which tokens are accepted by this server.
    pub audiences: Vec<String>,
    key: Key,
}

/// Somebody who is known by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Who it is.
    pub user: User,
    /// The audiences that were asked for and that the token is for.
    pub audiences: Vec<String>,
}

/// The audiences of a list that another list has too.
pub(super) fn common(all: &[String], wanted: &[String]) -> Vec<String> {
    all.iter().filter(|one| wanted.contains(one)).cloned().collect()
}

impl Issuer {
    /// An issuer whose tokens are for itself if nothing else is said.
    pub fn new(name: &str, key: Key) -> Self {
        Self { name: name.to_owned(), audiences: vec![name.to_owned()], key }
    }

    /// Its key.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The token that says something.
    pub fn sign(&self, claims: &Claims) -> Result<String, key::Error> {
        let head = json!({"alg": "ES256", "kid": self.key.id()});
        let message = format!(
            "{}.{}",
            base64::encode_url(head.to_string().as_bytes()),
            base64::encode_url(claims.to_json().to_string().as_bytes())
        );
        let signature = self.key.sign(message.as_bytes())?;
        Ok(format!("{message}.{}", base64::encode_url(&signature)))
    }

    /// What a token says that is ours, valid now, and for one of some audiences; and for which of them.
    pub fn verify(&self, token: &str, now: i64, wanted: &[String]) -> Result<(Claims, Vec<String>), Error> {
        let claims = self.signed(token)?;
        let own = if claims.audiences.is_empty() { &self.audiences } else { &claims.audiences };
        let audiences = common(own, wanted);
        if audiences.is_empty() {
            return Err(Error::Audience(quoted_list(own), quoted_list(wanted)));
        }
        if claims.issuer != LEGACY {
            let (early, late) = (now.saturating_add(LEEWAY), now.saturating_sub(LEEWAY));
            if claims.not_before.is_some_and(|from| early < from) {
                return Err(Error::TooEarly);
            }
            if claims.expires.is_some_and(|to| late > to) {
                return Err(Error::Expired);
            }
            if claims.issued.is_some_and(|at| early < at) {
                return Err(Error::Future);
            }
        }
        Ok((claims, audiences))
    }

    /// What a token says that is signed with our key.
    fn signed(&self, token: &str) -> Result<Claims, Error> {
        if token.len() > LONGEST {
            return Err(Error::Unknown);
        }
        let mut parts = token.split('.');
        let (Some(head), Some(body), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Error::Unknown);
        };
        let value = |part: &str| -> Option<Value> { serde_json::from_slice(&base64::decode_url(part)?).ok() };
        let payload = value(body).ok_or(Error::Unknown)?;
        // Whose it claims to be is looked at first: others may know tokens that we do not.
        let issuer = payload.get("iss").and_then(Value::as_str).unwrap_or_default();
        if issuer != self.name && issuer != LEGACY {
            return Err(Error::Unknown);
        }
        let head = value(head).filter(Value::is_object).ok_or(Error::Unknown)?;
        let signature = base64::decode_url(signature).ok_or(Error::Unknown)?;
        let word = |key: &str| head.get(key).map_or(Some(""), Value::as_str).ok_or(Error::Unknown);
        let (algorithm, id) = (word("alg")?, word("kid")?);
        if !id.is_empty() && id != self.key.id() {
            return Err(Error::NoKey);
        }
        // The key decides how a signature is checked, never the token; what it calls critical we do not know.
        let message = token.rsplit_once('.').map(|(message, _)| message).unwrap_or_default();
        if algorithm != "ES256"
            || head.get("crit").is_some()
            || !self.key.verify(message.as_bytes(), &signature)
        {
            return Err(Error::Signature);
        }
        Claims::read(&payload).ok_or(Error::Claims)
    }

    /// The body of `/openid/v1/jwks`.
    pub fn keys(&self) -> String {
        let (x, y) =
            self.key.point().get(1..65).and_then(|point| point.split_at_checked(32)).unwrap_or_default();
        format!(
            r#"{{"keys":[{{"use":"sig","kty":"EC","kid":"{}","crv":"P-256","alg":"ES256","x":"{}","y":"{}"}}]}}"#,
            self.key.id(),
            base64::encode_url(x),
            base64::encode_url(y)
        )
    }

    /// The body of `/.well-known/openid-configuration`, given the address of the keys.
    pub fn configuration(&self, keys: &str) -> String {
        format!(
            r#"{{"issuer":{},"jwks_uri":{},"response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}}"#,
            json!(self.name),
            json!(keys)
        )
    }
}

#[cfg(test)]
mod tests {
    use ring::hmac;

    use super::*;
    use crate::token::Ref;

    const NOW: i64 = 1_800_000_000;

    fn claims() -> Claims {
        Claims {
            audiences: vec!["https://us".to_owned(), "them".to_owned()],
            expires: Some(NOW + 3600),
            issued: Some(NOW),
            not_before: Some(NOW),
            issuer: "https://us".to_owned(),
            id: "1".to_owned(),
            subject: "system:serviceaccount:n:a".to_owned(),
            namespace: "n".to_owned(),
            account: Ref { name: "a".to_owned(), uid: "u".to_owned() },
            ..Claims::default()
        }
    }

    fn issuer() -> Issuer {
        Issuer::new("https://us", Key::generate().unwrap())
    }

    fn put(head: &str, body: &str, signature: &[u8]) -> String {
        format!(
            "{}.{}.{}",
            base64::encode_url(head.as_bytes()),
            base64::encode_url(body.as_bytes()),
            base64::encode_url(signature)
        )
    }

    #[test]
    fn what_was_signed_is_read_again() {
        let issuer = issuer();
        let mut bound = claims();
        bound.pod = Some(Ref { name: "p".to_owned(), uid: "1".to_owned() });
        bound.node = Some(Ref { name: "n".to_owned(), uid: String::new() });
        bound.warn_after = Some(NOW + 9);
        let legacy = Claims::legacy("n", Ref { name: "a".to_owned(), uid: "u".to_owned() }, "s");
        for claims in [claims(), bound, legacy] {
            let token = issuer.sign(&claims).unwrap();
            assert_eq!(issuer.verify(&token, NOW, &issuer.audiences), Ok((claims, issuer.audiences.clone())));
        }
    }

    #[test]
    fn the_clock_and_the_audience_count() {
        let issuer = issuer();
        let token = issuer.sign(&claims()).unwrap();
        let at = |now: i64| issuer.verify(&token, now, &issuer.audiences).map(drop);
        assert_eq!(at(NOW + 3660), Ok(()));
        assert_eq!(at(NOW + 3661), Err(Error::Expired));
        assert_eq!(at(NOW - 60), Ok(()));
        assert_eq!(at(NOW - 61), Err(Error::TooEarly));
        let others = vec!["x".to_owned()];
        let error = issuer.verify(&token, NOW, &others).unwrap_err().to_string();
        assert_eq!(
            error,
            r#"token audiences ["https://us" "them"] is invalid for the target audiences ["x"]"#
        );
        let future = issuer.sign(&Claims { not_before: None, ..claims() }).unwrap();
        assert_eq!(issuer.verify(&future, NOW - 100, &issuer.audiences), Err(Error::Future));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let (issuer, other) = (issuer(), issuer());
        let verify = |token: &str| issuer.verify(token, NOW, &issuer.audiences).map(drop);
        let body = claims().to_json().to_string();
        let kid = issuer.key.id();
        // No signature, and one made with the public key as if it were a secret.
        assert_eq!(verify(&put(r#"{"alg":"none"}"#, &body, b"")), Err(Error::Signature));
        let head = format!(r#"{{"alg":"HS256","kid":"{kid}"}}"#);
        for secret in [issuer.key.point().to_vec(), issuer.key.public()] {
            let message =
                format!("{}.{}", base64::encode_url(head.as_bytes()), base64::encode_url(body.as_bytes()));
            let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), message.as_bytes());
            assert_eq!(verify(&put(&head, &body, mac.as_ref())), Err(Error::Signature));
        }
        // A good signature under another name of the algorithm, or with something critical.
        for head in
            [r#"{"alg":"none"}"#, r#"{"alg":"ES384"}"#, r#"{}"#, r#"{"alg":"ES256","crit":["x"],"x":1}"#]
        {
            let message =
                format!("{}.{}", base64::encode_url(head.as_bytes()), base64::encode_url(body.as_bytes()));
            let signature = issuer.key.sign(message.as_bytes()).unwrap();
            assert_eq!(verify(&put(head, &body, &signature)), Err(Error::Signature), "{head}");
        }
        // Signatures of other keys, zeros and other lengths.
        assert_eq!(verify(&other.sign(&claims()).unwrap()), Err(Error::NoKey));
        let good = format!(r#"{{"alg":"ES256","kid":"{kid}"}}"#);
        for signature in [&[0; 64][..], &[0; 63], &[], &[0xff; 64], &[1; 128]] {
            assert_eq!(verify(&put(&good, &body, signature)), Err(Error::Signature));
        }
        // Every changed letter of a good token.
        let token = issuer.sign(&claims()).unwrap();
        assert_eq!(verify(&token), Ok(()));
        for at in 0..token.len() {
            let mut letters = token.clone().into_bytes();
            letters[at] = if letters[at] == b'A' { b'B' } else { b'A' };
            assert!(verify(std::str::from_utf8(&letters).unwrap()).is_err(), "{at}");
        }
        for token in ["", "..", "a.b.c", "a.b", "a.b.c.d", "{}", &"a".repeat(70_000)] {
            assert_eq!(verify(token), Err(Error::Unknown));
        }
        let foreign = other.sign(&Claims { issuer: "https://them".to_owned(), ..claims() }).unwrap();
        assert_eq!(verify(&foreign), Err(Error::Unknown));
    }

    #[test]
    fn documents_name_the_key() {
        let issuer = issuer();
        let keys: Value = serde_json::from_str(&issuer.keys()).unwrap();
        let x = base64::decode_url(keys["keys"][0]["x"].as_str().unwrap()).unwrap();
        let y = base64::decode_url(keys["keys"][0]["y"].as_str().unwrap()).unwrap();
        assert_eq!([&[4], x.as_slice(), &y].concat(), issuer.key.point());
        let text = issuer.configuration("https://us/openid/v1/jwks");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["jwks_uri"], "https://us/openid/v1/jwks");
    }
}
