//! Image configuration.

use serde_json::Value;

use super::{Annotations, Error, MAX_CONFIG, Platform, parse_object};
use crate::digest::Digest;

/// An image configuration: run settings and the diff IDs of the layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Config(Value);

impl Config {
    /// Parses and validates a configuration.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        const DOCUMENT: &str = "the configuration";
        let value = parse_object(data, DOCUMENT, MAX_CONFIG)?;
        let config = Self(value);
        if let Some(ids) = config.0.get("rootfs").and_then(|root| root.get("diff_ids")) {
            let invalid =
                |reason: String| Error::InvalidField { document: DOCUMENT, field: "rootfs.diff_ids", reason };
            let list = ids.as_array().ok_or_else(|| invalid("it has to be a list".to_owned()))?;
            for id in list {
                let text = id.as_str().ok_or_else(|| invalid("an entry is not a string".to_owned()))?;
                Digest::parse(text).map_err(|e| invalid(e.to_string()))?;
            }
        }
        Ok(config)
    }

    /// The configuration as JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// The diff IDs (digests of the uncompressed layers), lowest layer first.
    pub fn diff_ids(&self) -> Vec<Digest> {
        let ids = self.0.get("rootfs").and_then(|root| root.get("diff_ids")).and_then(Value::as_array);
        ids.into_iter().flatten().filter_map(|id| Digest::parse(id.as_str()?).ok()).collect()
    }

    /// The platform of the image.
    pub fn platform(&self) -> Option<Platform> {
        Platform::from_json(&self.0)
    }

    /// All labels.
    pub fn labels(&self) -> Annotations {
        let labels = self.run_config().and_then(|config| config.get("Labels")).and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        labels.into_iter().flatten().filter_map(text).collect()
    }

    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.run_config()?.get("Labels")?.get(name)?.as_str()
    }

    /// Entrypoint followed by Cmd.
    pub fn command(&self) -> Vec<String> {
        [self.string_list("Entrypoint"), self.string_list("Cmd")].concat()
    }

    /// A list of strings of the `config` section, such as `Entrypoint`, `Cmd` or `Env`.
    pub fn string_list(&self, name: &str) -> Vec<String> {
        let list = self.run_config().and_then(|config| config.get(name)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect()
    }

    /// A string of the `config` section, such as `User` or `WorkingDir`.
    pub fn string(&self, name: &str) -> &str {
        self.run_config().and_then(|config| config.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    fn run_config(&self) -> Option<&Value> {
        self.0.get("config")
    }
}
