//! Why a schema cannot be used.

use crate::failure::ValidationError;
use crate::go::quote::double;

/// Why a schema cannot be used. The texts are the original's, but for the limits, which are ours.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The schema is no JSON.
    #[error(transparent)]
    Json(podium_goyaml::json::Error),
    /// Something follows the schema.
    #[error("invalid character after top-level value")]
    TrailingData,
    /// The schema nests too deeply.
    #[error("schema nests too deeply: more than {0} levels")]
    SchemaDepth(usize),
    /// A `multipleOf` with too many digits.
    #[error("multipleOf at {} has too many digits", double(.0))]
    LongDivisor(String),
    /// A reference is no URL.
    #[error("error in parsing {}: {reason}", double(.url))]
    ParseUrl {
        /// What was read.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `$schema` is no URL.
    #[error("invalid $schema in {}: {reason}", double(.location))]
    MetaSchemaUrl {
        /// The schema that has it.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `$schema` names the schema itself.
    #[error("draft {} is not supported", double(.0))]
    UnsupportedDraft(String),
    /// The metaschemas lead round in a circle.
    #[error("cycle in resolving $schema in {}", double(.0))]
    MetaSchemaCycle(String),
    /// A metaschema requires a vocabulary that nobody knows.
    #[error("unsupported vocabulary {} in {}", double(.vocabulary), double(.url))]
    Vocabulary {
        /// The metaschema.
        url: String,
        /// The vocabulary.
        vocabulary: String,
    },
    /// A document that is referred to cannot be had.
    #[error("failing loading {}: {reason}", double(.url))]
    Load {
        /// The document.
        url: String,
        /// Why.
        reason: String,
    },
    /// An id is no URL.
    #[error("error in parsing id at {}", double(.0))]
    ParseId(String),
    /// An anchor cannot be read.
    #[error("error in parsing anchor at {}", double(.0))]
    ParseAnchor(String),
    /// Two subschemas have one id.
    #[error("duplicate id {} in {} at {} and {}", double(.id), double(.url), double(.first), double(.second))]
    DuplicateId {
        /// The id.
        id: String,
        /// The document.
        url: String,
        /// A place that has it.
        first: String,
        /// Another.
        second: String,
    },
    /// Two subschemas have one anchor.
    #[error("duplicate anchor {} in {} at {} and {}", double(.anchor), double(.url), double(.first), double(.second))]
    DuplicateAnchor {
        /// The anchor.
        anchor: String,
        /// The document.
        url: String,
        /// A place that has it.
        first: String,
        /// Another.
        second: String,
    },
    /// A reference to an anchor that is not there.
    #[error("anchor in {} not found in schema {}", double(.reference), double(.url))]
    AnchorNotFound {
        /// The document.
        url: String,
        /// The reference.
        reference: String,
    },
    /// A reference that is no pointer.
    #[error("invalid json-pointer {}", double(.0))]
    InvalidPointer(String),
    /// A reference to a place that is not there.
    #[error("json-pointer in {} not found", double(.0))]
    PointerNotFound(String),
    /// A pattern is no regular expression.
    #[error("invalid regex {} at {}: {error}", double(.regex), double(.location))]
    Regex {
        /// The keyword.
        location: String,
        /// The pattern.
        regex: String,
        /// What is wrong with it.
        error: podium_re2::Error,
    },
    /// The schema breaks the rules of its draft.
    #[error("{} is not valid against metaschema: {error}", double(.location))]
    Invalid {
        /// The schema.
        location: String,
        /// What is wrong with it.
        error: ValidationError,
    },
}
