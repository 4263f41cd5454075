//! `.indexignore`: gitignore-style patterns that exclude files from a catalog.

use podium_chart::path_match::path_match;

/// Name of the ignore files.
pub const FILE_NAME: &str = ".indexignore";

/// The patterns of all ignore files of a catalog.
#[derive(Clone, Debug, Default)]
pub struct IndexIgnore {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    /// Directory of the ignore file.
    domain: Vec<String>,
    segments: Vec<String>,
    /// Whether the pattern re-includes files.
    negated: bool,
    dir_only: bool,
}

impl IndexIgnore {
    /// Adds the patterns of the ignore file at `path`.
    pub fn add(&mut self, path: &str, text: &[u8]) {
        let dir = path.rsplit_once('/').map(|(dir, _)| dir);
        let domain: Vec<String> = dir.into_iter().flat_map(|dir| dir.split('/')).map(str::to_owned).collect();
        let text = String::from_utf8_lossy(text);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            self.patterns.push(Pattern::new(line, domain.clone()));
        }
    }

    /// Reports whether a file is ignored. The last matching pattern decides.
    pub fn ignores(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split('/').collect();
        let last_match = self.patterns.iter().rev().find(|pattern| pattern.matches(&segments));
        last_match.is_some_and(|pattern| !pattern.negated)
    }
}

impl Pattern {
    fn new(line: &str, domain: Vec<String>) -> Self {
        let (line, negated) = match line.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let line = if line.ends_with("\\ ") { line } else { line.trim_end_matches(' ') };
        let (line, dir_only) = match line.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        Self { domain, segments: line.split('/').map(str::to_owned).collect(), negated, dir_only }
    }

    fn matches(&self, path: &[&str]) -> bool {
        let Some((domain, relative)) = path.split_at_checked(self.domain.len()) else { return false };
        if relative.is_empty() || domain != self.domain {
            return false;
        }
        match self.segments.as_slice() {
            [name] => self.matches_name(name, relative),
            segments => self.matches_path(segments, relative),
        }
    }

    /// A pattern without a slash matches any path segment.
    fn matches_name(&self, name: &str, path: &[&str]) -> bool {
        for (index, segment) in path.iter().enumerate() {
            match path_match(name, segment) {
                Err(_) => return false,
                Ok(true) => return !(self.dir_only && index + 1 == path.len()),
                Ok(false) => {}
            }
        }
        false
    }

    /// A pattern with slashes is anchored at its directory; `**` matches any number of directories.
    fn matches_path(&self, segments: &[String], path: &[&str]) -> bool {
        let mut rest = path;
        let mut matched = false;
        let mut any_depth = false;
        for (index, segment) in segments.iter().enumerate() {
            match segment.as_str() {
                "" => {
                    any_depth = false;
                    continue;
                }
                "**" if index + 1 == segments.len() => break,
                "**" => {
                    any_depth = true;
                    continue;
                }
                segment if segment.contains("**") => return false,
                _ => {}
            }
            if rest.is_empty() {
                return false;
            }
            if std::mem::take(&mut any_depth) {
                matched = false;
                while let [first, tail @ ..] = rest {
                    rest = tail;
                    match path_match(segment, first) {
                        Err(_) => return false,
                        Ok(true) => {
                            matched = true;
                            break;
                        }
                        Ok(false) => {}
                    }
                }
            } else {
                let [first, tail @ ..] = rest else { return false };
                if path_match(segment, first) != Ok(true) {
                    return false;
                }
                matched = true;
                rest = tail;
            }
        }
        matched && !(self.dir_only && rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_names_and_paths() {
        let mut ignore = IndexIgnore::default();
        ignore.add(".indexignore", b"# not these\n*.md\n/old\ndeep/**/x.json\ntmp/\n");
        ignore.add("keep/.indexignore", b"!README.md\n");
        for (path, ignored) in [
            ("README.md", true),
            ("a/b/README.md", true),
            ("keep/README.md", false),
            ("old/a.json", true),
            ("a/old/a.json", false),
            ("deep/x.json", true),
            ("deep/a/b/x.json", true),
            ("deep/a/b/y.json", false),
            ("tmp/a.json", true),
            ("a/tmp", false),
            ("catalog.yaml", false),
        ] {
            assert_eq!(ignore.ignores(path), ignored, "{path}");
        }
    }
}
