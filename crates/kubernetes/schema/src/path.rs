//! Where a field is, in the words of the API.

use std::fmt::Write as _;

/// The path of a field; empty is the object as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// A path that begins with a name.
    pub fn new(name: &str) -> Self {
        Self::default().child(name)
    }

    /// The field of that name.
    pub fn child(&self, name: &str) -> Self {
        let mut path = self.0.clone();
        if name.is_empty() {
            path.push_str("[]");
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(name);
        }
        Self(path)
    }

    /// The item of a list.
    pub fn index(&self, index: usize) -> Self {
        let mut path = self.0.clone();
        let _ = write!(path, "[{index}]");
        Self(path)
    }

    /// The value of a key.
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// As errors name it.
    pub fn text(&self) -> String {
        if self.0.is_empty() { "<nil>".to_owned() } else { self.0.clone() }
    }
}

impl From<&Path> for String {
    fn from(path: &Path) -> Self {
        path.text()
    }
}

impl From<Path> for String {
    fn from(path: Path) -> Self {
        path.text()
    }
}
