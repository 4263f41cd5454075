//! Generates catalogs and templates from a seed, each with one mutation.

#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::expect_used, reason = "test helpers")]

mod documents;
mod mutations;
mod templates;

pub use documents::catalog;
pub use mutations::MUTATIONS;
pub use templates::{TEMPLATE_MUTATIONS, Template, template};

use serde_json::Value;

/// A deterministic random number generator (SplitMix64).
pub struct Random(u64);

impl Random {
    /// Creates the generator of a case.
    pub fn for_case(seed: u64, case: u64) -> Self {
        let mut random = Self(seed ^ case.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }
}

/// A generated catalog.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the mutation.
    pub mutation: &'static str,
    /// Format: `json` or `yaml`.
    pub format: &'static str,
    /// Files.
    pub files: Vec<(String, Vec<u8>)>,
    /// A bundle name, for graphs.
    pub bundle: String,
    /// A package name, for graphs.
    pub package: String,
}

/// Generates a case: cycles through the mutations, each in both formats.
pub fn case(seed: u64, number: u64) -> Case {
    let mut random = Random::for_case(seed, number);
    let (mutation, mutate) = MUTATIONS[number as usize % MUTATIONS.len()];
    let format = if (number as usize / MUTATIONS.len()).is_multiple_of(2) { "json" } else { "yaml" };
    let mut documents = catalog(&mut random);
    let name = |documents: &[Value], schema: &str| {
        let found = documents.iter().find(|d| d["schema"] == schema);
        found.and_then(|d| d["name"].as_str()).unwrap_or_default().to_owned()
    };
    let (bundle, package) = (name(&documents, "olm.bundle"), name(&documents, "olm.package"));
    let texts = mutate(&mut documents, &mut random);
    let files = match texts {
        Some(files) => files,
        None => write(&documents, format, &mut random),
    };
    Case { mutation, format, files, bundle, package }
}

/// Writes documents to one or two files.
fn write(documents: &[Value], format: &str, random: &mut Random) -> Vec<(String, Vec<u8>)> {
    let names = [["catalog", "x"], ["a/b", "b"], ["z", "deep/er/f"]];
    let [first, second] = *random.pick(&names);
    let extension = if random.chance(80) { format!(".{format}") } else { String::new() };
    let cut = if random.chance(60) { documents.len() } else { random.below(documents.len()) };
    let (one, two) = documents.split_at(cut);
    let mut files = vec![(format!("{first}{extension}"), encode(one, format, random))];
    if !two.is_empty() {
        files.push((format!("{second}{extension}"), encode(two, format, random)));
    }
    files
}

/// Encodes documents.
pub fn encode(documents: &[Value], format: &str, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for document in documents {
        match format {
            "yaml" => {
                out.extend_from_slice(b"---\n");
                let node = podium_goyaml::json::parse(document.to_string().as_bytes(), 0).unwrap();
                // Go cannot encode control characters in YAML; JSON is valid YAML too.
                let json = || format!("{document}\n").into_bytes();
                out.extend_from_slice(&podium_goyaml::emit::to_yaml(&&node).unwrap_or_else(|_| json()));
            }
            _ if random.chance(50) => out.extend_from_slice(format!("{document:#}\n").as_bytes()),
            _ => out.extend_from_slice(document.to_string().as_bytes()),
        }
    }
    out
}
