//! Field validation errors, with the API server's messages.

use std::fmt;

use serde_json::Value;

/// A validation error of one field, like Go's `field.Error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The type of the error.
    pub error_type: ErrorType,
    /// The field path, such as `spec.ports[0].name`; empty for the whole object.
    pub field: String,
    /// The message without the path: `Invalid value: 0: must be greater than 0`.
    pub body: String,
}

/// The type of a field error, like Go's `field.ErrorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    /// A referenced object or value does not exist.
    NotFound,
    /// A required value is missing.
    Required,
    /// A value that has to be unique occurs twice.
    Duplicate,
    /// The value is malformed or out of bounds.
    Invalid,
    /// The value is not one of the supported values.
    NotSupported,
    /// The field may not be set or changed.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The value is too short.
    TooShort,
    /// The list has too many items.
    TooMany,
    /// The list has too few items.
    TooFew,
    /// The field could not be validated.
    Internal,
    /// The value has the wrong type.
    TypeInvalid,
}

impl ErrorType {
    /// The reason in `Status` causes.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The text that messages begin with.
    pub fn message_prefix(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

impl FieldError {
    /// An error that does not print the value; the detail may be empty.
    pub fn without_value(error_type: ErrorType, field: impl Into<String>, detail: &str) -> Self {
        let mut body = error_type.message_prefix().to_owned();
        if !detail.is_empty() {
            body.push_str(": ");
            body.push_str(detail);
        }
        Self { error_type, field: field.into(), body }
    }

    /// An error with an already formatted value; the detail may be empty.
    pub fn new(error_type: ErrorType, field: impl Into<String>, value: &str, detail: &str) -> Self {
        let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        Self {
            error_type,
            field: field.into(),
            body: format!("{}: {value}{detail}", error_type.message_prefix()),
        }
    }

    /// An error with a value: strings are quoted, other values printed as JSON.
    pub fn with_value(error_type: ErrorType, field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let value = match value {
            Value::String(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        Self::new(error_type, field, &value, detail)
    }

    /// A required value is missing.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::without_value(ErrorType::Required, field, detail)
    }

    /// The field may not be set or changed.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::without_value(ErrorType::Forbidden, field, detail)
    }

    /// The value is invalid.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::with_value(ErrorType::Invalid, field, value, detail)
    }

    /// Joins errors without duplicates, as Go's aggregates print them.
    pub fn aggregate(errors: &[Self]) -> String {
        let mut messages: Vec<String> = Vec::with_capacity(errors.len());
        for error in errors {
            let message = error.to_string();
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
        if messages.len() == 1 { messages.remove(0) } else { format!("[{}]", messages.join(", ")) }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_messages_like_the_api_server() {
        let zero = FieldError::invalid("spec.size", &json!(0), "must be greater than 0");
        assert_eq!(zero.to_string(), "spec.size: Invalid value: 0: must be greater than 0");
        let name = FieldError::required("metadata.name", "name or generateName is required");
        assert_eq!(name.to_string(), "metadata.name: Required value: name or generateName is required");
        let twice = FieldError::with_value(ErrorType::Duplicate, "spec.items[1]", &json!({"k": "1"}), "");
        assert_eq!(twice.to_string(), r#"spec.items[1]: Duplicate value: {"k":"1"}"#);
        assert_eq!(FieldError::aggregate(&[zero.clone(), zero.clone()]), zero.to_string());
        assert_eq!(FieldError::aggregate(&[zero.clone(), twice.clone()]), format!("[{zero}, {twice}]"));
    }
}
