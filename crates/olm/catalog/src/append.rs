//! A new version in the template that the authors of a stack keep: one more line, and nothing else changes.

use podium_goyaml::yaml;

use crate::fold::same;
use crate::reference;
use crate::template::semver::{SCHEMA, STREAMS};

/// Why a version cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The image is no name of one.
    #[error("{image}: {error}")]
    Name {
        /// The image.
        image: String,
        /// Why.
        error: reference::Error,
    },
    /// Something is left out of the name.
    #[error("{image} is not the canonical name of an image: write {canonical}")]
    Short {
        /// The image.
        image: String,
        /// Its canonical name.
        canonical: String,
    },
    /// There is neither tag nor digest.
    #[error("{0} has neither tag nor digest: write which version is meant, such as {0}:0.2.0")]
    Untagged(String),
    /// It is there already.
    #[error("line {line}: {image} is in {stream} already")]
    There {
        /// The image.
        image: String,
        /// The list.
        stream: String,
        /// The line.
        line: u32,
    },
    /// There is no such list.
    #[error("there is no list {0}: write candidate, fast or stable")]
    Stream(String),
    /// The text is not YAML.
    #[error("{0}")]
    Yaml(String),
    /// The text is no semver template.
    #[error("this is no {SCHEMA} template: a version is added to a file with `schema: {SCHEMA}` only")]
    Schema,
    /// The list is written in a way that has no line to add to.
    #[error(
        "line {line}: {stream} is not a list with a line for each bundle: write it as\n  Bundles:\n  - Image: {image}"
    )]
    Shape {
        /// The list.
        stream: String,
        /// The line.
        line: u32,
        /// The image.
        image: String,
    },
}

/// Refuses names that a cluster and a catalog would understand differently.
pub fn check_image(image: &str) -> Result<(), Error> {
    let wrong = |error| Error::Name { image: image.to_owned(), error };
    let parsed = reference::parse(image).map_err(wrong)?;
    if let Some(canonical) = reference::canonical(image).map_err(wrong)? {
        return Err(Error::Short { image: image.to_owned(), canonical });
    }
    if parsed.tag.is_none() && parsed.digest.is_none() {
        return Err(Error::Untagged(image.to_owned()));
    }
    Ok(())
}

/// The template with an image behind the others of a list. Comments and everything else stay as they are.
pub fn append(text: &str, stream: &str, image: &str) -> Result<String, Error> {
    check_image(image)?;
    let stream = stream.to_ascii_lowercase();
    if !STREAMS.contains(&stream.as_str()) {
        return Err(Error::Stream(stream));
    }
    let node = yaml::parse(text.as_bytes(), 0).map_err(|error| Error::Yaml(error.to_string()))?;
    let field = |node: &podium_goyaml::Node, name: &str| {
        node.as_map()
            .and_then(|map| map.iter().find(|(key, _)| same(key, name)).map(|(_, value)| value.clone()))
    };
    if field(&node, "schema").and_then(|value| value.as_str().map(str::to_owned)).as_deref() != Some(SCHEMA) {
        return Err(Error::Schema);
    }
    let upper = text.lines().any(|line| line.starts_with("Schema"));
    let Some(list) = field(&node, &stream).filter(|value| !value.is_null()) else {
        return Ok(with_new_list(text, &stream, image, upper));
    };
    let shape = |line: u32| Error::Shape { stream: stream.clone(), line, image: image.to_owned() };
    let bundles = field(&list, "bundles").ok_or_else(|| shape(list.pos.line))?;
    let items = bundles.as_list().filter(|items| !items.is_empty()).ok_or_else(|| shape(bundles.pos.line))?;
    let mut last = None;
    for item in items.iter() {
        let found = field(item, "image").ok_or_else(|| shape(item.pos.line))?;
        if found.as_str() == Some(image) {
            return Err(Error::There { image: image.to_owned(), stream, line: found.pos.line });
        }
        last = Some(found);
    }
    let last = last.ok_or_else(|| shape(bundles.pos.line))?;
    // The new line is the last one with another image.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = last.pos.line.max(1) as usize - 1;
    let (Some(line), Some(old)) = (lines.get(at), last.as_str()) else { return Err(shape(last.pos.line)) };
    let code = line.split(" #").next().unwrap_or_default().trim_end();
    let quoted = |mark: &str| code.ends_with(&format!("{mark}{old}{mark}"));
    let mark = ["\"", "'", ""].into_iter().find(|mark| quoted(mark)).ok_or_else(|| shape(last.pos.line))?;
    let begin = code.get(..code.len() - old.len() - 2 * mark.len()).unwrap_or_default();
    if !begin.trim_start().starts_with('-') {
        return Err(shape(last.pos.line));
    }
    let mut out = String::with_capacity(text.len() + image.len() + 32);
    for (number, part) in lines.iter().enumerate() {
        out.push_str(part);
        if number == at {
            if !part.ends_with('\n') {
                out.push('\n');
            }
            out.push_str(&format!("{begin}{mark}{image}{mark}\n"));
        }
    }
    Ok(out)
}

/// A list that was not there goes to the end.
fn with_new_list(text: &str, stream: &str, image: &str, upper: bool) -> String {
    let name = |word: &str| {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if upper => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
            _ => word.to_owned(),
        }
    };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    // An empty list of that name is filled.
    for (at, line) in text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, line))
    }) {
        let code = line.split(" #").next().unwrap_or_default().trim_end();
        if code.strip_suffix(':').is_some_and(|key| same(key, stream)) {
            let (before, behind) = text.split_at(at);
            let gap = if before.ends_with('\n') { "" } else { "\n" };
            return format!("{before}{gap}  {}:\n  - {}: {image}\n{behind}", name("bundles"), name("image"));
        }
    }
    format!("{text}{end}{}:\n  {}:\n  - {}: {image}\n", name(stream), name("bundles"), name("image"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "# What we support.\nSchema: olm.semver\nGenerateMajorChannels: true\n# Mature ones.\nStable:\n  \
                         Bundles:\n  - Image: docker.io/tytn/operator-bundle:0.1.0\n  # Add yours here like:\n  # - Image: \
                         docker.io/tytn/operator-bundle:0.2.0\nFast:\n  Bundles:\n  - Image: \
                         docker.io/tytn/operator-bundle:0.1.0 # first\n";

    #[test]
    fn one_line_is_added_and_nothing_else_changes() {
        let image = "docker.io/tytn/operator-bundle:0.2.0";
        let made = append(GUIDE, "stable", image).unwrap();
        let added: Vec<&str> = made.lines().filter(|line| !GUIDE.lines().any(|old| old == *line)).collect();
        assert_eq!(added, ["  - Image: docker.io/tytn/operator-bundle:0.2.0"]);
        assert_eq!(made.lines().count(), GUIDE.lines().count() + 1);
        let made = append(&made, "Fast", image).unwrap();
        assert!(made.ends_with("0.1.0 # first\n  - Image: docker.io/tytn/operator-bundle:0.2.0\n"));
        assert!(matches!(append(&made, "fast", image), Err(Error::There { .. })));
        let made = append(&made, "candidate", image).unwrap();
        assert!(made.ends_with("Candidate:\n  Bundles:\n  - Image: docker.io/tytn/operator-bundle:0.2.0\n"));
    }

    #[test]
    fn names_have_to_be_canonical() {
        let short = append(GUIDE, "stable", "tytn/operator-bundle:0.2.0").unwrap_err();
        assert!(short.to_string().ends_with("write docker.io/tytn/operator-bundle:0.2.0"));
        assert!(matches!(append(GUIDE, "stable", "docker.io/a/b"), Err(Error::Untagged(_))));
        assert!(matches!(append(GUIDE, "stable", "docker.io/A/b:1"), Err(Error::Name { .. })));
        assert!(matches!(append(GUIDE, "slow", "docker.io/a/b:1"), Err(Error::Stream(_))));
        assert!(matches!(append("schema: x\n", "fast", "docker.io/a/b:1"), Err(Error::Schema)));
        assert!(matches!(
            append(
                "schema: olm.semver\nfast: {bundles: [{image: docker.io/a/b:1}]}\n",
                "fast",
                "docker.io/a/b:2"
            ),
            Err(Error::Shape { .. })
        ));
    }
}
