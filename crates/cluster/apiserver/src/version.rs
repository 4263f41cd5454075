//! Which Kubernetes this is.

use serde_json::{Value, json};

/// The version of the API.
pub const GIT_VERSION: &str = "v1.36.3";

/// The answer at `/version`.
pub fn version() -> Value {
    json!({"major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35", "gitVersion": GIT_VERSION,
        "gitCommit": "podium", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26", "compiler": "gc", "platform": "linux/amd64"})
}
