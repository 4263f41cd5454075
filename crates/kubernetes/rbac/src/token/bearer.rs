//! Whoever comes with a token.

use super::issuer::common;
use super::{Error, Fixed, Issuer, Known, Lookup};

/// All tokens that a server knows.
#[derive(Clone, Copy, Debug)]
pub struct Bearer<'b> {
    /// Those that were agreed on.
    pub fixed: &'b Fixed,
    /// Those of service accounts.
    pub issuer: &'b Issuer,
}

impl Bearer<'_> {
    /// Whose a token is, without the group of all who are known.
    pub fn known(
        &self,
        token: &str,
        now: i64,
        wanted: &[String],
        lookup: &Lookup<'_>,
    ) -> Result<Known, Error> {
        // Who comes with an agreed token talks to this server, and to nobody else.
        let audiences = common(&self.issuer.audiences, wanted);
        if !audiences.is_empty()
            && let Some(user) = self.fixed.find(token)
        {
            return Ok(Known { user: user.clone(), audiences });
        }
        let (claims, audiences) = self.issuer.verify(token, now, wanted)?;
        let user = claims.user(token, now, lookup)?;
        Ok(Known { user, audiences })
    }
}

/// The token in the value of an `Authorization` header, if there is one.
pub fn bearer_of(header: &str) -> Option<&str> {
    let (scheme, rest) = header.trim().split_once(' ')?;
    let token = rest.split(' ').next().filter(|token| !token.is_empty())?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_tokens() {
        for (header, token) in [
            ("Bearer a", Some("a")),
            (" bearer a b", Some("a")),
            ("Bearer  a", None),
            ("Bearer", None),
            ("Basic a", None),
            ("", None),
        ] {
            assert_eq!(bearer_of(header), token, "{header}");
        }
    }
}
