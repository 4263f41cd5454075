//! `.helmignore`: which files of a chart directory are left out.
//!
//! One pattern per line, `#` for comments, a trailing `/` for directories only, a leading `/` for the chart's root; a
//! pattern without a slash is compared with the last part of the path. A leading `!` does not bring files back as in
//! `.gitignore`: everything that such a pattern does *not* match is left out. Helm does it so, and charts live with it.

use crate::dialect::Dialect;
use crate::path_match::{BadPattern, path_match};

/// The file that holds the rules.
pub const FILE: &str = ".helmignore";

/// A line longer than this is refused, as Helm's line reader does.
const MAX_LINE: usize = 64 * 1024;

/// Why the rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `**` has no meaning here.
    #[error("double-star (**) syntax is not supported")]
    DoubleStar {
        /// Line, from 1.
        line: usize,
    },
    /// A pattern is not well formed.
    #[error("{BadPattern}")]
    Pattern {
        /// Line, from 1.
        line: usize,
    },
    /// A line is too long.
    #[error("bufio.Scanner: token too long")]
    Line {
        /// Line, from 1.
        line: usize,
    },
}

/// The rules of one chart directory.
#[derive(Clone, Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    lose_slashes: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: String,
    negated: bool,
    directories_only: bool,
    compare: Compare,
}

/// What a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    /// The whole path; the pattern began with a slash.
    FromRoot,
    /// The whole path.
    Path,
    /// The last part of the path.
    BaseName,
}

impl Rules {
    /// Reads a `.helmignore` file and adds the rule that always holds: no dot files directly in `templates/`.
    pub fn parse(text: &[u8], dialect: &Dialect) -> Result<Self, Error> {
        let text = text.strip_prefix(crate::files::BOM).unwrap_or(text);
        let mut rules = Vec::new();
        for (at, raw) in text.split(|byte| *byte == b'\n').enumerate() {
            if raw.len() >= MAX_LINE {
                return Err(Error::Line { line: at + 1 });
            }
            rules.extend(Rule::parse(&String::from_utf8_lossy(raw), at + 1)?);
        }
        rules.extend(Rule::parse("templates/.?*", 0)?);
        Ok(Self { rules, lose_slashes: dialect.ignore_rules_lose_slashes })
    }

    /// Reports whether a path below the chart's root is left out. Rules are tried in order, and the first that
    /// decides wins. In some dialects an answer depends on how often the rules were asked before.
    pub fn ignores(&mut self, path: &str, is_directory: bool) -> bool {
        if matches!(path, "" | "." | "./") {
            return false;
        }
        for rule in &mut self.rules {
            let applies = !rule.directories_only || is_directory;
            let matched = applies && rule.matches(path);
            if applies && self.lose_slashes {
                rule.lose_slash();
            }
            if matched != rule.negated {
                return true;
            }
        }
        false
    }
}

impl Rule {
    fn parse(line: &str, number: usize) -> Result<Option<Self>, Error> {
        let text = crate::text::trim_space(line);
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        if text.contains("**") {
            return Err(Error::DoubleStar { line: number });
        }
        if path_match(text, "abc").is_err() {
            return Err(Error::Pattern { line: number });
        }
        let pattern = text.strip_prefix('!').unwrap_or(text);
        let negated = pattern.len() < text.len();
        let bare = pattern.strip_suffix('/').unwrap_or(pattern);
        let directories_only = bare.len() < pattern.len();
        let rooted = bare.strip_prefix('/');
        let compare = match rooted {
            Some(_) => Compare::FromRoot,
            None if bare.contains('/') => Compare::Path,
            None => Compare::BaseName,
        };
        Ok(Some(Self { pattern: rooted.unwrap_or(bare).to_owned(), negated, directories_only, compare }))
    }

    fn matches(&self, path: &str) -> bool {
        let name = if self.compare == Compare::BaseName { crate::text::base(path) } else { path };
        path_match(&self.pattern, name).unwrap_or(false)
    }

    fn lose_slash(&mut self) {
        if self.compare == Compare::FromRoot && self.pattern.starts_with('/') {
            self.pattern.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{HELM3, HELM4};

    fn ignored<'a>(rules: &str, paths: &[&'a str]) -> Vec<&'a str> {
        let mut rules = Rules::parse(rules.as_bytes(), &HELM4).unwrap();
        let is_ignored = |path: &&str| rules.ignores(path.trim_end_matches('/'), path.ends_with('/'));
        paths.iter().copied().filter(is_ignored).collect()
    }

    #[test]
    fn patterns_without_a_slash_are_compared_with_the_last_part() {
        let paths = ["a.txt", "x/a.txt", "a.txt/", "x/a.md"];
        assert_eq!(ignored("*.txt", &paths), ["a.txt", "x/a.txt", "a.txt/"]);
        assert_eq!(ignored("/*.txt", &paths), ["a.txt", "a.txt/"]);
        assert_eq!(ignored("x/*.txt", &paths), ["x/a.txt"]);
        assert_eq!(ignored("*.txt/", &paths), ["a.txt/"]);
    }

    #[test]
    fn a_negated_pattern_leaves_out_what_it_does_not_match() {
        let paths = ["Chart.yaml", "a.txt", "d/"];
        assert_eq!(ignored("!*.txt", &paths), ["Chart.yaml", "d/"]);
        assert_eq!(ignored("!d/", &paths), ["Chart.yaml", "a.txt"]);
    }

    #[test]
    fn dot_files_in_templates_are_always_left_out() {
        let paths = ["templates/.x", "templates/.", "templates/a/.x", ".x", "templates/.x/"];
        assert_eq!(ignored("\u{feff}# c\n\n  \n", &paths), ["templates/.x", "templates/.x/"]);
    }

    #[test]
    fn slashes_wear_off_in_helm_3() {
        let mut rules = Rules::parse(b"//a", &HELM3).unwrap();
        assert_eq!([rules.ignores("a", false), rules.ignores("a", false)], [false, true]);
        let mut rules = Rules::parse(b"//a", &HELM4).unwrap();
        assert_eq!([rules.ignores("a", false), rules.ignores("a", false)], [false, false]);
    }

    #[test]
    fn bad_rules_name_their_line() {
        assert_eq!(Rules::parse(b"a\n**/b", &HELM4).unwrap_err(), Error::DoubleStar { line: 2 });
        assert_eq!(Rules::parse(b"a\nb\n[", &HELM4).unwrap_err(), Error::Pattern { line: 3 });
        let long = "x".repeat(MAX_LINE);
        assert_eq!(Rules::parse(long.as_bytes(), &HELM4).unwrap_err(), Error::Line { line: 1 });
    }
}
