//! JSON Schema, all drafts, with the verdicts and messages that Helm shows.
//!
//! A [`Schema`] is compiled once from the text of a `values.schema.json` and then checks any number of values, from any
//! number of threads. Drafts 4, 6, 7, 2019-09 and 2020-12 are known; a schema that does not name its draft is of the last.
//!
//! ```
//! use podium_goyaml::json;
//! use podium_jsonschema::Schema;
//!
//! let schema = Schema::compile(br#"{"properties": {"port": {"type": "integer", "maximum": 65535}}}"#, None)?;
//! let values = json::parse(br#"{"port": "http"}"#, 0)?;
//! let error = schema.validate(&values).unwrap_err();
//! assert_eq!(error.helm_text(), "- at '/port': got string, want integer\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compile;
mod decimal;
mod document;
mod draft;
mod error;
mod failure;
mod format;
pub mod go;
mod meta;
mod metaschema;
mod pointer;
mod roots;
mod schema;
mod validate;

pub use error::Error;
pub use failure::{Failure, ValidationError};

use compile::Compiler;
use document::Document;
use podium_goyaml::Node;
use roots::Roots;
use schema::{Arena, SchemaId};
use validate::Validator;

/// The name that Helm gives to a chart's schema; relative references are relative to it.
const SCHEMA_URL: &str = "file:///values.schema.json";

/// Gets documents that schemas refer to.
pub trait Resolver {
    /// The text of the document at an absolute URL (`http:`, `https:`, `file:` or `urn:`), or why it cannot be had.
    fn load(&self, url: &str) -> Result<Vec<u8>, String>;
}

impl<F: Fn(&str) -> Result<Vec<u8>, String>> Resolver for F {
    fn load(&self, url: &str) -> Result<Vec<u8>, String> {
        self(url)
    }
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema {
    arena: Arena,
    root: SchemaId,
}

impl Schema {
    /// Compiles the text of a `values.schema.json`.
    ///
    /// Documents that it refers to are asked of the resolver. Without one such a reference is an error that names it,
    /// but for those to an URN, which stand for schemas that allow everything.
    pub fn compile(text: &[u8], resolver: Option<&dyn Resolver>) -> Result<Self, Error> {
        let mut roots = Roots::new(resolver);
        roots.add_document(SCHEMA_URL, Document::parse(text)?);
        let mut compiler = Compiler::new(roots, false, 0);
        let root = compiler.compile(SCHEMA_URL)?;
        Ok(Self { arena: compiler.arena, root })
    }

    /// Checks a value.
    pub fn validate(&self, value: &Node) -> Result<(), ValidationError> {
        Validator::new(&self.arena).run(self.root, value)
    }
}
