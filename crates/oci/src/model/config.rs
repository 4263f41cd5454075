//! The configuration of an image.

use serde_json::Value;

use super::{Annotations, Error, MAX_CONFIG, Platform, object};
use crate::digest::Digest;

/// The configuration of an image: what runs, and what its layers were before they were compressed.
#[derive(Clone, Debug, PartialEq)]
pub struct Config(Value);

impl Config {
    /// Reads one.
    pub fn parse(data: &[u8]) -> Result<Self, Error> {
        const WHAT: &str = "the configuration";
        let value = object(data, WHAT, MAX_CONFIG)?;
        let config = Self(value);
        if let Some(ids) = config.0.get("rootfs").and_then(|root| root.get("diff_ids")) {
            let wrong = |why: String| Error::Field { what: WHAT, field: "rootfs.diff_ids", why };
            let list = ids.as_array().ok_or_else(|| wrong("it has to be a list".to_owned()))?;
            for id in list {
                let text = id.as_str().ok_or_else(|| wrong("an entry is no text".to_owned()))?;
                Digest::parse(text).map_err(|e| wrong(e.to_string()))?;
            }
        }
        Ok(config)
    }

    /// All of it.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// What its layers are before they are compressed, the lowest first.
    pub fn diff_ids(&self) -> Vec<Digest> {
        let ids = self.0.get("rootfs").and_then(|root| root.get("diff_ids")).and_then(Value::as_array);
        ids.into_iter().flatten().filter_map(|id| Digest::parse(id.as_str()?).ok()).collect()
    }

    /// What it runs on.
    pub fn platform(&self) -> Option<Platform> {
        Platform::read(&self.0)
    }

    /// The labels.
    pub fn labels(&self) -> Annotations {
        let labels = self.section().and_then(|config| config.get("Labels")).and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        labels.into_iter().flatten().filter_map(text).collect()
    }

    /// One label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.section()?.get("Labels")?.get(name)?.as_str()
    }

    /// The command: what is always run, then the words that may be replaced.
    pub fn command(&self) -> Vec<String> {
        [self.words("Entrypoint"), self.words("Cmd")].concat()
    }

    /// A list of texts, such as `Entrypoint`, `Cmd`, `Env`.
    pub fn words(&self, name: &str) -> Vec<String> {
        let list = self.section().and_then(|config| config.get(name)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|word| Some(word.as_str()?.to_owned())).collect()
    }

    /// A text, such as `User`, `WorkingDir`.
    pub fn text(&self, name: &str) -> &str {
        self.section().and_then(|config| config.get(name)).and_then(Value::as_str).unwrap_or_default()
    }

    fn section(&self) -> Option<&Value> {
        self.0.get("config")
    }
}
