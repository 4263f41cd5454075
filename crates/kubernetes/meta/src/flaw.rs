//! What is wrong with a field of an object, in the words of the API.

use std::fmt;

use serde_json::Value;

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// In which way it is wrong.
    pub wrong: Wrong,
    /// The field, such as `spec.ports[0].name`; empty for the object as a whole.
    pub field: String,
    /// What it says without the field: `Invalid value: 0: must be greater than 0`.
    pub body: String,
}

/// The ways in which a field can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// What it refers to is not there.
    NotFound,
    /// It has to be there.
    Required,
    /// It is there twice.
    Duplicate,
    /// Its value cannot be.
    Invalid,
    /// Its value is not one of a few.
    NotSupported,
    /// It may not be there, or not change.
    Forbidden,
    /// It is too long.
    TooLong,
    /// It is too short.
    TooShort,
    /// It has too many items.
    TooMany,
    /// It has too few items.
    TooFew,
    /// It could not be checked.
    Internal,
    /// Its value is of another type.
    TypeInvalid,
}

impl Wrong {
    /// The machine's word, as causes have it.
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

    /// What sentences about it begin with.
    pub fn words(self) -> &'static str {
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

impl Flaw {
    /// A flaw that shows no value; the detail may be empty.
    pub fn plain(wrong: Wrong, field: impl Into<String>, detail: &str) -> Self {
        let mut body = wrong.words().to_owned();
        if !detail.is_empty() {
            body.push_str(": ");
            body.push_str(detail);
        }
        Self { wrong, field: field.into(), body }
    }

    /// A flaw that shows the value as text that is already in the right form; the detail may be empty.
    pub fn shown(wrong: Wrong, field: impl Into<String>, value: &str, detail: &str) -> Self {
        let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
        Self { wrong, field: field.into(), body: format!("{}: {value}{detail}", wrong.words()) }
    }

    /// A flaw of a value: text in quotes, everything else as JSON.
    pub fn of(wrong: Wrong, field: impl Into<String>, value: &Value, detail: &str) -> Self {
        let value = match value {
            Value::String(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        Self::shown(wrong, field, &value, detail)
    }

    /// Something has to be there.
    pub fn required(field: impl Into<String>, detail: &str) -> Self {
        Self::plain(Wrong::Required, field, detail)
    }

    /// Something may not be there, or not change.
    pub fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::plain(Wrong::Forbidden, field, detail)
    }

    /// A value cannot be.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::of(Wrong::Invalid, field, value, detail)
    }

    /// Several flaws as one sentence; the same one is said once.
    pub fn sentence(flaws: &[Self]) -> String {
        let mut said: Vec<String> = Vec::with_capacity(flaws.len());
        for flaw in flaws {
            let one = flaw.to_string();
            if !said.contains(&one) {
                said.push(one);
            }
        }
        if said.len() == 1 { said.remove(0) } else { format!("[{}]", said.join(", ")) }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flaws_speak_as_the_api_does() {
        let zero = Flaw::invalid("spec.size", &json!(0), "must be greater than 0");
        assert_eq!(zero.to_string(), "spec.size: Invalid value: 0: must be greater than 0");
        let name = Flaw::required("metadata.name", "name or generateName is required");
        assert_eq!(name.to_string(), "metadata.name: Required value: name or generateName is required");
        let twice = Flaw::of(Wrong::Duplicate, "spec.items[1]", &json!({"k": "1"}), "");
        assert_eq!(twice.to_string(), r#"spec.items[1]: Duplicate value: {"k":"1"}"#);
        assert_eq!(Flaw::sentence(&[zero.clone(), zero.clone()]), zero.to_string());
        assert_eq!(Flaw::sentence(&[zero.clone(), twice.clone()]), format!("[{zero}, {twice}]"));
    }
}
