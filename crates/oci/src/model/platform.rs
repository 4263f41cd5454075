//! Platforms of images.

use std::fmt;

use serde_json::{Value, json};

use super::Error;

/// A platform: operating system, CPU architecture and variant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// Operating system (GOOS), for example `linux`.
    pub os: String,
    /// CPU architecture (GOARCH), for example `amd64` or `arm64`.
    pub architecture: String,
    /// CPU variant, for example `v7`.
    pub variant: Option<String>,
}

impl Platform {
    /// Linux on the host's CPU architecture.
    pub fn host() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" => "ppc64le",
            "loongarch64" => "loong64",
            other => other,
        };
        Self { os: "linux".to_owned(), architecture: architecture.to_owned(), variant: None }
    }

    /// Parses `OS/ARCHITECTURE[/VARIANT]`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = || Error::InvalidPlatform(text.chars().take(100).collect());
        let valid = |part: &&str| {
            !part.is_empty()
                && part.len() <= 64
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        let parts: Vec<&str> = text.split('/').collect();
        if !parts.iter().all(valid) {
            return Err(invalid());
        }
        match parts.as_slice() {
            [os, architecture] => Ok(Self::new(os, architecture, None)),
            [os, architecture, variant] => Ok(Self::new(os, architecture, Some(variant))),
            _ => Err(invalid()),
        }
    }

    fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
        // arm64 implies v8, so both spellings are normalized to one.
        let variant = variant.filter(|variant| !(architecture == "arm64" && *variant == "v8"));
        Self { os: os.to_owned(), architecture: architecture.to_owned(), variant: variant.map(str::to_owned) }
    }

    /// Whether an image for `other` runs on this platform.
    pub fn can_run(&self, other: &Self) -> bool {
        let variant = self.variant.is_none() || other.variant.is_none() || self.variant == other.variant;
        self.os == other.os && self.architecture == other.architecture && variant
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| text.len() <= 64);
        Some(Self::new(text("os")?, text("architecture")?, text("variant").filter(|text| !text.is_empty())))
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({ "architecture": self.architecture, "os": self.os });
        if let (Some(variant), Some(map)) = (&self.variant, value.as_object_mut()) {
            map.insert("variant".to_owned(), variant.as_str().into());
        }
        value
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}
