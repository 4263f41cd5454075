//! A tree of things that are wrong, drawn as opm draws it.

use crate::error::{CatalogError, SourceSpan};

/// A thing that is wrong, or that contains such things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// What is wrong, or where.
    pub message: String,
    /// The line that it is about.
    pub span: SourceSpan,
    /// What is wrong in it.
    pub sub_errors: Vec<ValidationError>,
}

impl ValidationError {
    /// Something in which things may be wrong.
    pub fn new(message: impl Into<String>, span: SourceSpan) -> Self {
        Self { message: message.into(), span, sub_errors: Vec::new() }
    }

    /// Notes something that is wrong.
    pub fn add(&mut self, message: impl Into<String>) {
        self.add_at(message, self.span.clone());
    }

    /// Notes something that is wrong at a place.
    pub fn add_at(&mut self, message: impl Into<String>, span: SourceSpan) {
        self.sub_errors.push(Self::new(message, span));
    }

    /// Notes what is wrong in a part, if anything is.
    pub fn push_if_invalid(&mut self, sub_error: Self) {
        if !sub_error.sub_errors.is_empty() {
            self.sub_errors.push(sub_error);
        }
    }

    /// The whole as a problem; nothing if nothing is wrong.
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

    /// There are four levels: index, package, channel, bundle.
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
        // The outermost words say nothing.
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
