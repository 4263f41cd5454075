//! Overrides applied to the values of a resource.

use std::collections::BTreeMap;

use podium_chart::chart::merge_maps;
use podium_chart::dialect::HELM3;
use podium_chart::strvals::{self, Flag};
use podium_goyaml::Map;

use crate::expand::{Environment, variables};

/// What becomes of the text of an override; the two originals differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum As {
    /// It stays a string, as under operator-sdk.
    #[default]
    Strings,
    /// Numbers, booleans and null are what they look like, and variables are replaced once more, as under
    /// helm-operator-plugins.
    Typed,
}

/// An override that is no assignment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to parse override values: {key}: {error}")]
pub struct Error {
    /// Its key.
    pub key: String,
    /// What is wrong.
    pub error: strvals::Error,
}

/// Writes overrides, already expanded, over values.
pub fn apply(
    overrides: &BTreeMap<String, String>,
    values: &mut Map,
    how: As,
    environment: &Environment<'_>,
) -> Result<(), Error> {
    let set = |flag, key: &String, text: &str, values: &mut Map| {
        let line = format!("{key}={text}");
        strvals::apply(flag, &line, values, 0, &HELM3, &mut |_| Err(String::new()))
            .map_err(|error| Error { key: key.clone(), error })
    };
    match how {
        As::Strings => {
            let mut over = Map::new();
            overrides.iter().try_for_each(|(key, text)| set(Flag::SetString, key, text, &mut over))?;
            merge_maps(values, over);
            Ok(())
        }
        As::Typed => overrides
            .iter()
            .try_for_each(|(key, text)| set(Flag::Set, key, &variables(text, environment), values)),
    }
}
