//! The digests of lock files, which say whether they are for the dependencies of a chart as it is now.

use podium_goyaml::json;

use super::digest;
use crate::metadata::Dependency;
use crate::metadata::encode::dependencies_json;

/// The digest over what a chart depends on and what was chosen for it.
pub fn digest_of(wanted: Option<&[Dependency]>, locked: &[Dependency]) -> Result<String, json::Error> {
    let (wanted, locked) = (dependencies_json(wanted)?, dependencies_json(Some(locked))?);
    Ok(format!("sha256:{}", digest(&[b"[".as_slice(), &wanted, b",", &locked, b"]"].concat())))
}

/// The digest that Helm 2 wrote into `requirements.lock`.
pub fn digest_of_helm_2(wanted: Option<&[Dependency]>) -> Result<String, json::Error> {
    let wanted = dependencies_json(wanted)?;
    Ok(format!("sha256:{}", digest(&[b"{\"dependencies\":".as_slice(), &wanted, b"}"].concat())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_over_the_json_of_gos_types() {
        let wanted = Dependency { name: "a".into(), version: "<1".into(), ..Dependency::default() };
        let text = dependencies_json(Some(&[wanted])).unwrap();
        assert_eq!(
            String::from_utf8_lossy(&text),
            "[{\"name\":\"a\",\"version\":\"\\u003c1\",\"repository\":\"\"}]"
        );
        assert_eq!(dependencies_json(None).unwrap(), b"null");
    }
}
