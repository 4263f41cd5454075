//! `.indexignore`: which files of a folder are no part of the catalog, by patterns as in `.gitignore`.

use podium_chart::path_match::path_match;

/// The name of the files with the patterns.
pub const NAME: &str = ".indexignore";

/// The patterns of all such files of a folder.
#[derive(Clone, Debug, Default)]
pub struct Ignore {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    /// The folder of the file with the pattern.
    domain: Vec<String>,
    parts: Vec<String>,
    /// Whether it takes files back in.
    includes: bool,
    folders_only: bool,
}

impl Ignore {
    /// Adds the patterns of a file; `path` is its own path.
    pub fn add(&mut self, path: &str, text: &[u8]) {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        let domain: Vec<String> =
            folder.into_iter().flat_map(|folder| folder.split('/')).map(str::to_owned).collect();
        let text = String::from_utf8_lossy(text);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            self.patterns.push(Pattern::new(line, domain.clone()));
        }
    }

    /// Whether a file is left out. The last pattern that says something about it decides.
    pub fn ignores(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let verdict = self.patterns.iter().rev().find(|pattern| pattern.matches(&parts));
        verdict.is_some_and(|pattern| !pattern.includes)
    }
}

impl Pattern {
    fn new(line: &str, domain: Vec<String>) -> Self {
        let (line, includes) = match line.strip_prefix('!') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        let line = if line.ends_with("\\ ") { line } else { line.trim_end_matches(' ') };
        let (line, folders_only) = match line.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        Self { domain, parts: line.split('/').map(str::to_owned).collect(), includes, folders_only }
    }

    fn matches(&self, path: &[&str]) -> bool {
        let Some((domain, inside)) = path.split_at_checked(self.domain.len()) else { return false };
        if inside.is_empty() || domain != self.domain {
            return false;
        }
        match self.parts.as_slice() {
            [name] => self.matches_name(name, inside),
            parts => self.matches_path(parts, inside),
        }
    }

    /// A pattern without a slash is about any part of the path.
    fn matches_name(&self, name: &str, path: &[&str]) -> bool {
        for (at, part) in path.iter().enumerate() {
            match path_match(name, part) {
                Err(_) => return false,
                Ok(true) => return !(self.folders_only && at + 1 == path.len()),
                Ok(false) => {}
            }
        }
        false
    }

    /// A pattern with slashes begins at its folder; `**` stands for any folders.
    fn matches_path(&self, parts: &[String], path: &[&str]) -> bool {
        let mut rest = path;
        let mut matched = false;
        let mut skips = false;
        for (at, part) in parts.iter().enumerate() {
            match part.as_str() {
                "" => {
                    skips = false;
                    continue;
                }
                "**" if at + 1 == parts.len() => break,
                "**" => {
                    skips = true;
                    continue;
                }
                part if part.contains("**") => return false,
                _ => {}
            }
            if rest.is_empty() {
                return false;
            }
            if std::mem::take(&mut skips) {
                matched = false;
                while let [first, tail @ ..] = rest {
                    rest = tail;
                    match path_match(part, first) {
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
                if path_match(part, first) != Ok(true) {
                    return false;
                }
                matched = true;
                rest = tail;
            }
        }
        matched && !(self.folders_only && rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_about_names_and_paths() {
        let mut ignore = Ignore::default();
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
