//! What is different on purpose.

use super::alike::Difference;
use super::wire::Request;

/// A difference that is meant to be.
pub struct Known {
    /// What and why, for people.
    pub reason: &'static str,
    matches: fn(&Request, &Difference) -> bool,
}

/// All that is different on purpose.
pub const KNOWN: &[Known] = &[
    Known {
        reason: "what is not served (admission policies, aggregation, flow control, running pods' streams) is not in discovery",
        matches: |request, found| {
            let path = request.path.trim_end_matches('/');
            let discovers = matches!(path, "/api" | "/apis" | "/api/v1" | "/openapi/v3");
            discovers
                && matches!(found.category, "body")
                && (found.ours == "(absent)" || found.path.ends_with("[]"))
        },
    },
    Known {
        reason: "an object that keeps a client from racing is named by its address in the real server's store",
        matches: |_, found| found.category == "refusal: message" && found.real.contains("StorageError: "),
    },
];

/// Why a difference is meant to be, if it is.
pub fn reason(request: &Request, found: &Difference) -> Option<&'static str> {
    KNOWN.iter().find(|known| (known.matches)(request, found)).map(|known| known.reason)
}
