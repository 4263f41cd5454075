//! What is different on purpose.

use super::alike::Difference;
use super::wire::Request;

/// A difference that is meant to be.
pub struct Known {
    /// What and why, for people.
    pub reason: &'static str,
    matches: fn(&Request, &Difference) -> bool,
}

const NOT_SERVED: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiregistration.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "componentstatuses",
    "\"attach\"",
    "\"exec\"",
    "\"log\"",
    "\"portforward\"",
    "\"proxy\"",
    "/attach\"",
    "/exec\"",
    "/log\"",
    "/portforward\"",
    "/proxy\"",
];

/// All that is different on purpose.
pub const KNOWN: &[Known] = &[
    Known {
        reason: "what is not served (admission policies, aggregation, flow control, running pods' streams) is not in discovery",
        matches: |request, found| {
            let discovers = request.path.trim_matches('/').split('/').count() <= 3;
            discovers && found.ours == "(absent)" && NOT_SERVED.iter().any(|word| found.real.contains(word))
        },
    },
    Known {
        reason: "the hash of the stored version is missing for custom resources",
        matches: |_, found| found.path.ends_with(".storageVersionHash") && found.ours == "(absent)",
    },
    Known {
        reason: "documents of OpenAPI have no descriptions, so their hashes are others",
        matches: |_, found| found.path.ends_with(".serverRelativeURL"),
    },
    Known {
        reason: "an object that keeps a client from racing is named by its address in the real server's store",
        matches: |_, found| found.category == "refusal: message" && found.real.contains("StorageError: "),
    },
    Known {
        reason: "where the real server's list of kinds was made depends on how it was built",
        matches: |_, found| found.category.starts_with("refusal") && found.real.contains(" in scheme \"pkg/"),
    },
];

/// Why a difference is meant to be, if it is.
pub fn reason(request: &Request, found: &Difference) -> Option<&'static str> {
    KNOWN.iter().find(|known| (known.matches)(request, found)).map(|known| known.reason)
}
