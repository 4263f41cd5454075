//! Adds a bundle image to a semver template and leaves the rest of the file unchanged, including comments.

use podium_goyaml::yaml;

use crate::fold::eq_fold;
use crate::reference;
use crate::template::semver::{CHANNEL_ARCHETYPES, SCHEMA};

/// Why an image cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The image reference is invalid.
    #[error("{image}: {error}")]
    InvalidReference {
        /// Image reference.
        image: String,
        /// Parse error.
        error: reference::Error,
    },
    /// The image reference is not fully qualified.
    #[error("{image} is not a canonical image reference: write {canonical}")]
    NotCanonical {
        /// Image reference.
        image: String,
        /// Canonical reference.
        canonical: String,
    },
    /// The image reference has neither tag nor digest.
    #[error("{0} has neither tag nor digest: add one, such as {0}:0.2.0")]
    Untagged(String),
    /// The image is already listed.
    #[error("line {line}: {image} is already listed in {archetype}")]
    AlreadyListed {
        /// Image reference.
        image: String,
        /// Channel archetype.
        archetype: String,
        /// Line of the existing entry.
        line: u32,
    },
    /// The channel archetype does not exist.
    #[error("unknown channel archetype {0}: use candidate, fast or stable")]
    UnknownArchetype(String),
    /// The template is not valid YAML.
    #[error("{0}")]
    Yaml(String),
    /// The file is not a semver template.
    #[error("not a {SCHEMA} template: bundles can only be added to a file with `schema: {SCHEMA}`")]
    NotSemverTemplate,
    /// The bundle list is not in block style with one image per line.
    #[error(
        "line {line}: {archetype} is not a list with one line per bundle: write it as\n  Bundles:\n  - Image: {image}"
    )]
    UnsupportedLayout {
        /// Channel archetype.
        archetype: String,
        /// Line of the list.
        line: u32,
        /// Image reference.
        image: String,
    },
}

/// Rejects references that are ambiguous or do not name a version.
pub fn check_image(image: &str) -> Result<(), Error> {
    let invalid = |error| Error::InvalidReference { image: image.to_owned(), error };
    let parsed = reference::parse(image).map_err(invalid)?;
    if let Some(canonical) = reference::canonical(image).map_err(invalid)? {
        return Err(Error::NotCanonical { image: image.to_owned(), canonical });
    }
    if parsed.tag.is_none() && parsed.digest.is_none() {
        return Err(Error::Untagged(image.to_owned()));
    }
    Ok(())
}

/// Returns the template with the image appended to a channel archetype.
pub fn append_bundle(text: &str, archetype: &str, image: &str) -> Result<String, Error> {
    check_image(image)?;
    let archetype = archetype.to_ascii_lowercase();
    if !CHANNEL_ARCHETYPES.contains(&archetype.as_str()) {
        return Err(Error::UnknownArchetype(archetype));
    }
    let node = yaml::parse(text.as_bytes(), 0).map_err(|error| Error::Yaml(error.to_string()))?;
    let get_field = |node: &podium_goyaml::Node, name: &str| {
        node.as_map()
            .and_then(|map| map.iter().find(|(key, _)| eq_fold(key, name)).map(|(_, value)| value.clone()))
    };
    if get_field(&node, "schema").and_then(|value| value.as_str().map(str::to_owned)).as_deref()
        != Some(SCHEMA)
    {
        return Err(Error::NotSemverTemplate);
    }
    let capitalize = text.lines().any(|line| line.starts_with("Schema"));
    let Some(list) = get_field(&node, &archetype).filter(|value| !value.is_null()) else {
        return Ok(with_new_archetype(text, &archetype, image, capitalize));
    };
    let unsupported =
        |line: u32| Error::UnsupportedLayout { archetype: archetype.clone(), line, image: image.to_owned() };
    let bundles = get_field(&list, "bundles").ok_or_else(|| unsupported(list.pos.line))?;
    let items =
        bundles.as_list().filter(|items| !items.is_empty()).ok_or_else(|| unsupported(bundles.pos.line))?;
    let mut last_image = None;
    for item in items.iter() {
        let listed_image = get_field(item, "image").ok_or_else(|| unsupported(item.pos.line))?;
        if listed_image.as_str() == Some(image) {
            return Err(Error::AlreadyListed {
                image: image.to_owned(),
                archetype,
                line: listed_image.pos.line,
            });
        }
        last_image = Some(listed_image);
    }
    let last_image = last_image.ok_or_else(|| unsupported(bundles.pos.line))?;
    // The new line copies the style of the last image.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let index = last_image.pos.line.max(1) as usize - 1;
    let (Some(line), Some(old)) = (lines.get(index), last_image.as_str()) else {
        return Err(unsupported(last_image.pos.line));
    };
    let code = line.split(" #").next().unwrap_or_default().trim_end();
    let quoted = |quote_mark: &str| code.ends_with(&format!("{quote_mark}{old}{quote_mark}"));
    let quote_mark = ["\"", "'", ""]
        .into_iter()
        .find(|quote_mark| quoted(quote_mark))
        .ok_or_else(|| unsupported(last_image.pos.line))?;
    let prefix = code.get(..code.len() - old.len() - 2 * quote_mark.len()).unwrap_or_default();
    if !prefix.trim_start().starts_with('-') {
        return Err(unsupported(last_image.pos.line));
    }
    let mut out = String::with_capacity(text.len() + image.len() + 32);
    for (number, part) in lines.iter().enumerate() {
        out.push_str(part);
        if number == index {
            if !part.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&format!("{prefix}{quote_mark}{image}{quote_mark}\n"));
        }
    }
    Ok(out)
}

/// Appends a missing channel archetype to the template.
fn with_new_archetype(text: &str, archetype: &str, image: &str, capitalize: bool) -> String {
    let in_template_case = |key: &str| {
        let mut letters = key.chars();
        match letters.next() {
            Some(first) if capitalize => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
            _ => key.to_owned(),
        }
    };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    // An archetype without a value gets the list.
    for (index, line) in text.split_inclusive('\n').scan(0, |index, line| {
        *index += line.len();
        Some((*index, line))
    }) {
        let code = line.split(" #").next().unwrap_or_default().trim_end();
        if code.strip_suffix(':').is_some_and(|key| eq_fold(key, archetype)) {
            let (before, after) = text.split_at(index);
            let gap = if before.ends_with('\n') { "" } else { "\n" };
            return format!(
                "{before}{gap}  {}:\n  - {}: {image}\n{after}",
                in_template_case("bundles"),
                in_template_case("image")
            );
        }
    }
    format!(
        "{text}{end}{}:\n  {}:\n  - {}: {image}\n",
        in_template_case(archetype),
        in_template_case("bundles"),
        in_template_case("image")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "# What we support.\nSchema: olm.semver\nGenerateMajorChannels: true\n# Mature ones.\nStable:\n  \
                         Bundles:\n  - Image: docker.io/tytn/operator-bundle:0.1.0\n  # Add yours here like:\n  # - Image: \
                         docker.io/tytn/operator-bundle:0.2.0\nFast:\n  Bundles:\n  - Image: \
                         docker.io/tytn/operator-bundle:0.1.0 # first\n";

    #[test]
    fn adds_one_line_and_keeps_the_rest() {
        let image = "docker.io/tytn/operator-bundle:0.2.0";
        let updated = append_bundle(TEMPLATE, "stable", image).unwrap();
        let added: Vec<&str> =
            updated.lines().filter(|line| !TEMPLATE.lines().any(|old| old == *line)).collect();
        assert_eq!(added, ["  - Image: docker.io/tytn/operator-bundle:0.2.0"]);
        assert_eq!(updated.lines().count(), TEMPLATE.lines().count() + 1);
        let updated = append_bundle(&updated, "Fast", image).unwrap();
        assert!(updated.ends_with("0.1.0 # first\n  - Image: docker.io/tytn/operator-bundle:0.2.0\n"));
        assert!(matches!(append_bundle(&updated, "fast", image), Err(Error::AlreadyListed { .. })));
        let updated = append_bundle(&updated, "candidate", image).unwrap();
        assert!(
            updated.ends_with("Candidate:\n  Bundles:\n  - Image: docker.io/tytn/operator-bundle:0.2.0\n")
        );
    }

    #[test]
    fn rejects_invalid_images_and_layouts() {
        let short = append_bundle(TEMPLATE, "stable", "tytn/operator-bundle:0.2.0").unwrap_err();
        assert!(short.to_string().ends_with("write docker.io/tytn/operator-bundle:0.2.0"));
        assert!(matches!(append_bundle(TEMPLATE, "stable", "docker.io/a/b"), Err(Error::Untagged(_))));
        assert!(matches!(
            append_bundle(TEMPLATE, "stable", "docker.io/A/b:1"),
            Err(Error::InvalidReference { .. })
        ));
        assert!(matches!(
            append_bundle(TEMPLATE, "slow", "docker.io/a/b:1"),
            Err(Error::UnknownArchetype(_))
        ));
        assert!(matches!(
            append_bundle("schema: x\n", "fast", "docker.io/a/b:1"),
            Err(Error::NotSemverTemplate)
        ));
        assert!(matches!(
            append_bundle(
                "schema: olm.semver\nfast: {bundles: [{image: docker.io/a/b:1}]}\n",
                "fast",
                "docker.io/a/b:2"
            ),
            Err(Error::UnsupportedLayout { .. })
        ));
    }
}
