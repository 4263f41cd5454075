//! Our API server beside kube-apiserver: the same generated requests to both; responses and the watch events that follow are compared.
//!
//! ```text
//! OpenAPI of the real server ─> values ─┐
//! seeds.yaml ───────────────────────────┴─> sequence ─> Request ─┬─> real ─> Answer ─┐
//!   (seed)                                                       └─> ours ─> Answer ─┴─> alike ─> report
//! ```
//!
//! Objects are ordinary ones (`seeds.yaml`) with random changes that follow the real server's OpenAPI, in sequences, so that
//! state builds up. Values that each server generates (uids, revisions, addresses) are mapped to each other by a dictionary, which
//! also translates later requests for our server. After a difference both start over, so that it is counted once.

pub mod alike;
pub mod crds;
pub mod known;
pub mod odd;
pub mod pair;
pub mod report;
pub mod run;
pub mod schema;
pub mod seeds;
pub mod sequence;
pub mod steps;
pub mod values;
pub mod wire;
