//! What is different on purpose.

use super::alike::{Difference, HUNG_UP};
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

/// The real server says the same causes in another order when it is asked again: it goes through a map of Go.
pub const ANY_ORDER: &str = "any order";

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
        reason: "the real server hangs up instead of answering",
        matches: |_, found| {
            found.category == HUNG_UP && found.real.starts_with("0 ") && !found.ours.starts_with("0 ")
        },
    },
    Known {
        reason: "refusals whose order is another one each time that the real server is asked",
        matches: |_, found| found.category == ANY_ORDER,
    },
    Known {
        reason: "documents of OpenAPI are those of groups with a version: what is about a group alone or a page is not there",
        matches: |request, found| {
            request.path == "/openapi/v3"
                && found.ours == "(absent)"
                && found.path.starts_with(".paths.")
                && !found
                    .path
                    .rsplit('/')
                    .next()
                    .is_some_and(|last| last.starts_with('v') && last.len() < 9 && last != "version")
        },
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
