//! Where values come from.
//!
//! Every value carries the number of its source in its position; [`Sources`] knows what each number stands for.

use podium_goyaml::{Node, Pos, Value};

/// A place that values were written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The defaults of a chart.
    Chart {
        /// The chart's name.
        chart: String,
        /// The file, from the root of the outermost chart.
        file: String,
    },
    /// A values file.
    File(String),
    /// A flag of the command line.
    Flag {
        /// The flag.
        flag: &'static str,
        /// What was written behind it.
        text: String,
    },
    /// Anything else, in the caller's words.
    Other(String),
}

/// The sources by number. Zero stands for "not known".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a source and hands back its number.
    pub fn add(&mut self, source: Source) -> u32 {
        self.0.push(source);
        u32::try_from(self.0.len()).unwrap_or(0)
    }

    /// The source of a number.
    pub fn get(&self, number: u32) -> Option<&Source> {
        self.0.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// Says in words where a position is.
    pub fn describe(&self, pos: Pos) -> String {
        match self.get(pos.source) {
            None => "unknown".to_owned(),
            Some(Source::Chart { chart, file }) => format!("default of chart {chart} ({file}:{})", pos.line),
            Some(Source::File(path)) => format!("{path}:{}", pos.line),
            Some(Source::Flag { flag, text }) => format!("{flag} {text}"),
            Some(Source::Other(text)) => text.clone(),
        }
    }

    /// Every value that is no map, with its dotted path and where it was written. An empty map counts as a value.
    pub fn explain<'a>(&'a self, values: &'a Node) -> Vec<Origin<'a>> {
        let mut origins = Vec::new();
        let mut work = vec![(String::new(), values)];
        while let Some((path, node)) = work.pop() {
            match &node.value {
                Value::Map(map) if !map.is_empty() => {
                    let entries: Vec<_> = map.iter().collect();
                    let inner = entries.into_iter().rev().map(|(key, node)| (join(&path, key), node));
                    work.extend(inner);
                }
                _ => origins.push(Origin { path, value: node, source: self.get(node.pos.source) }),
            }
        }
        origins
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin<'a> {
    /// The dotted path; keys that are no plain words are quoted.
    pub path: String,
    /// The value, with its position.
    pub value: &'a Node,
    /// What the position's source is.
    pub source: Option<&'a Source>,
}

fn join(path: &str, key: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let key =
        if !key.is_empty() && key.chars().all(is_plain) { key.to_owned() } else { crate::text::quote(key) };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use podium_goyaml::yaml;

    #[test]
    fn every_leaf_says_where_it_was_written() {
        let mut sources = Sources::default();
        let file = sources.add(Source::File("prod.yaml".to_owned()));
        let values = yaml::parse(b"a:\n  b.c: 1\n  d: {}\ne: [1]\n", file).unwrap();
        let explained: Vec<_> =
            sources.explain(&values).into_iter().map(|o| (o.path, sources.describe(o.value.pos))).collect();
        assert_eq!(
            explained,
            [
                ("a.\"b.c\"".to_owned(), "prod.yaml:2".to_owned()),
                ("a.d".to_owned(), "prod.yaml:3".to_owned()),
                ("e".to_owned(), "prod.yaml:4".to_owned()),
            ]
        );
        assert_eq!(sources.describe(Pos::default()), "unknown");
    }
}
