//! The schema of a version, ready for work on resources.

use podium_meta::FieldError;
use serde_json::Value;

use crate::check::check;
use crate::definition::structure;
use crate::expressions::{Language, Rules, Verdict};
use crate::go::settle;
use crate::node::{Node, Use};
use crate::path::Path;
use crate::props::Props;
use crate::{defaults, lists, metadata, prune};

/// A compiled schema: what it does not know is pruned, what it says is filled in and checked.
///
/// ```
/// use podium_schema::Structural;
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
///     "size": {"type": "integer", "minimum": 1, "default": 3}}}}}))?;
/// let mut object = json!({"spec": {"colour": "red"}});
/// assert_eq!(schema.prune(&mut object), ["spec.colour"]);
/// schema.default(&mut object);
/// assert_eq!(object, json!({"spec": {"size": 3}}));
/// let flaws = schema.validate(&json!({"spec": {"size": 0}}), None);
/// assert_eq!(
///     flaws[0].to_string(),
///     "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"
/// );
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Structural {
    node: Node,
    schema: Value,
}

impl Structural {
    /// Compiles the `openAPIV3Schema` of a version, or says why it is none that objects can be pruned by. What its
    /// defaults have beyond the schema is dropped.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let mut schema = schema.clone();
        settle(&mut schema);
        let props = Props::read(&schema);
        if let Some(why) = structure::unsupported(&props) {
            return Err(why);
        }
        let mut node = Node::compile(&props, Use::Resources);
        defaults::prune_defaults(&mut node);
        Ok(Self { node, schema })
    }

    /// Takes fields that the schema does not know out of a resource and names them: `spec.unk`, `spec.list[0].x`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.node, true)
    }

    /// Takes out fields that are null where null is no value and no default stands in for it.
    pub fn prune_nulls(&self, object: &mut Value) {
        prune::prune_nulls(object, Some(&self.node));
    }

    /// Fills in defaults.
    pub fn default(&self, object: &mut Value) {
        defaults::default(object, &self.node);
    }

    /// Puts the metadata of objects inside a resource in order and names unknown fields of it; metadata that cannot be
    /// read is an error, or, with `drop`, is left out.
    pub fn coerce(&self, object: &mut Value, drop: bool) -> Result<Vec<String>, Box<FieldError>> {
        metadata::coerce(object, &self.node, false, drop)
    }

    /// What is wrong with a resource. With an old one, what has not changed is not told again.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut flaws = self.check(new, old);
        flaws.extend(self.embedded(new));
        flaws.extend(self.repeated(new, old));
        flaws
    }

    /// What the types, bounds and combinations of the schema say of a resource.
    pub fn check(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        check(&self.node, &Path::default(), new, old)
    }

    /// What the schema says of the status of a resource.
    pub fn check_status(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.node
            .properties
            .get("status")
            .map_or_else(Vec::new, |node| check(node, &Path::new("status"), new, old))
    }

    /// What is wrong with objects inside a resource.
    pub fn embedded(&self, object: &Value) -> Vec<FieldError> {
        metadata::embedded(object, &self.node, false, &Path::default())
    }

    /// What is there twice in lists that are sets or maps; nothing if the old resource had such lists already.
    pub fn repeated(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let at = Path::default();
        if old.is_some_and(|old| !lists::repeated(old, &self.node, &at).is_empty()) {
            return Vec::new();
        }
        lists::repeated(new, &self.node, &at)
    }

    /// Compiles the rules of the schema; nothing if it has none.
    pub fn rules(&self, language: &dyn Language) -> Option<Rules> {
        Rules::compile(language, &self.schema, &self.node, true)
    }

    /// Asks the rules of the schema, unless what was found before makes that pointless: then it says so.
    pub fn ask(&self, rules: &Rules, new: &Value, old: Option<&Value>, before: &[FieldError]) -> Verdict {
        if let Some(flaw) = crate::custom::blocked(before) {
            return Verdict { flaws: vec![flaw], warnings: Vec::new() };
        }
        rules.check(&Path::default(), new, old, &self.node, true)
    }
}
