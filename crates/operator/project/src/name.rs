//! What a project is called: its operator, and the package that it is published as, have that name.

use podium_goyaml::{Node, yaml};

/// The file in which operator-sdk keeps what a project is.
pub const FILE: &str = "PROJECT";

/// The longest name.
const LONGEST: usize = 63;

/// The name that the file [`FILE`] says, if there is one, else that of the project's folder; a DNS label. Nothing when
/// neither has a letter or digit.
pub fn of(file: Option<&[u8]>, folder: &str) -> Option<String> {
    let said = file.and_then(|text| yaml::parse(text, 0).ok());
    let said = said.as_ref().and_then(|root| root.get("projectName")).and_then(Node::as_str);
    said.and_then(label).or_else(|| label(folder))
}

/// A text as a DNS label: small letters and digits, with single dashes for everything between them.
fn label(text: &str) -> Option<String> {
    let mut out = String::new();
    for sign in text.chars() {
        if sign.is_ascii_alphanumeric() {
            out.push(sign.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(LONGEST);
    let out = out.trim_end_matches('-');
    (!out.is_empty()).then(|| out.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_called_as_it_says_or_as_its_folder() {
        for (file, folder, name) in [
            (None, "shop", Some("shop")),
            (None, "My_Shop (2)", Some("my-shop-2")),
            (None, "..", None),
            (None, "", None),
            (Some("projectName: web-operator\nversion: \"3\"\n"), "checkout", Some("web-operator")),
            (Some("version: \"3\"\n"), "checkout", Some("checkout")),
            (Some("projectName: [a"), "checkout", Some("checkout")),
            (Some("projectName: '--'"), "checkout", Some("checkout")),
        ] {
            assert_eq!(of(file.map(str::as_bytes), folder).as_deref(), name, "{file:?} {folder}");
        }
        let long = of(None, &format!("{}-{}", "a".repeat(62), "b")).unwrap_or_default();
        assert_eq!(long, "a".repeat(62));
    }
}
