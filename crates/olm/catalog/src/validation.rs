//! Tree of validation errors, formatted like opm.

use crate::error::{CatalogError, SourceSpan};

/// A validation error with nested errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// Message.
    pub message: String,
    /// Source position.
    pub span: SourceSpan,
    /// Nested errors.
    pub sub_errors: Vec<ValidationError>,
}

impl ValidationError {
    /// Creates an error without nested errors.
    pub fn new(message: impl Into<String>, span: SourceSpan) -> Self {
        Self { message: message.into(), span, sub_errors: Vec::new() }
    }

    /// Adds a nested error at the same position.
    pub fn add(&mut self, message: impl Into<String>) {
        self.add_at(message, self.span.clone());
    }

    /// Adds a nested error.
    pub fn add_at(&mut self, message: impl Into<String>, span: SourceSpan) {
        self.sub_errors.push(Self::new(message, span));
    }

    /// Adds a nested error if it has nested errors itself.
    pub fn push_if_invalid(&mut self, sub_error: Self) {
        if !sub_error.sub_errors.is_empty() {
            self.sub_errors.push(sub_error);
        }
    }

    /// Converts the tree to an error; returns nothing if there are no nested errors.
    pub fn into_catalog_error(self) -> Option<CatalogError> {
        if self.sub_errors.is_empty() {
            return None;
        }
        let mut text = String::new();
        let mut spans = Vec::new();
        self.render(&mut text, "", "");
        self.collect_leaves("", &mut spans);
        Some(CatalogError { message: text.trim().to_owned(), spans })
    }

    /// Recursion is bounded by four levels: index, package, channel, bundle.
    fn render(&self, text: &mut String, prefix: &str, child_prefix: &str) {
        let suffix = if self.sub_errors.is_empty() { "\n" } else { ":\n" };
        text.push_str(&format!("{prefix}{}{suffix}", self.message));
        for (index, sub_error) in self.sub_errors.iter().enumerate() {
            let (branch, indent) = if index + 1 == self.sub_errors.len() {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            sub_error.render(text, &format!("{child_prefix}{branch}"), &format!("{child_prefix}{indent}"));
        }
    }

    fn collect_leaves(&self, context: &str, spans: &mut Vec<(SourceSpan, String)>) {
        if self.sub_errors.is_empty() {
            spans.push((self.span.clone(), format!("{context}{}", self.message)));
        }
        // The root message adds no information.
        let context = match context {
            "" if self.message == "invalid index" => String::new(),
            context => format!("{context}{}: ", self.message),
        };
        self.sub_errors.iter().for_each(|sub_error| sub_error.collect_leaves(&context, spans));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renders_error_tree() {
        let mut errors = ValidationError::new("invalid index", SourceSpan::default());
        let mut package = ValidationError::new("invalid package \"a\"", SourceSpan::default());
        package.add("one");
        let mut channel = ValidationError::new("invalid channel \"c\"", SourceSpan::default());
        channel.add("two");
        channel.add("three");
        package.push_if_invalid(channel);
        package.push_if_invalid(ValidationError::new("nothing", SourceSpan::default()));
        errors.push_if_invalid(package);
        assert_eq!(
            errors.into_catalog_error().unwrap().message,
            "invalid index:\n└── invalid package \"a\":\n    ├── one\n    └── invalid channel \"c\":\n        ├── two\n        \
             └── three"
        );
    }
}
