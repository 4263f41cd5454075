//! Our API server beside the real one: the same requests to both, and the answers compared.
//!
//! ```text
//! OpenAPI of the real server ─> values ─┐
//! seeds.yaml ───────────────────────────┴─> sequence ─> Request ─┬─> real ─> Answer ─┐
//!   (seed)                                                       └─> ours ─> Answer ─┴─> alike ─> report
//! ```

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
