//! Test cases by the thousand: the same seed gives the same cases.

pub mod calls;
pub mod charts;
pub mod functions;
pub mod kinds;
pub mod manifests;
pub mod patterns;
pub mod roles;
pub mod schemas;
pub mod strings;
pub mod templates;
pub mod values;
pub mod yaml;

use std::fmt;

use crate::random::Random;
use crate::request::RenderRequest;
use kinds::Kind;

/// What a case is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Family {
    Template,
    Broken,
    Function,
    Printf,
    Language,
    YamlRead,
    YamlWrite,
    Json,
    Toml,
    Values,
    SetFlags,
    Subcharts,
    Manifests,
    Schema,
    HandWritten,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 15] = [
        Family::Template,
        Family::Broken,
        Family::Function,
        Family::Printf,
        Family::Language,
        Family::YamlRead,
        Family::YamlWrite,
        Family::Json,
        Family::Toml,
        Family::Values,
        Family::SetFlags,
        Family::Subcharts,
        Family::Manifests,
        Family::Schema,
        Family::HandWritten,
    ];
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}").to_lowercase())
    }
}

/// How the two outcomes are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Byte for byte.
    Exact,
    /// Runs of letters and digits count as one: what is random by design.
    Shape,
    /// The verdict and, for an error, all up to the first path: the rest of a schema's complaint may be clearer.
    SchemaHead,
}

/// One render, what it is about, and how it is judged.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is about.
    pub family: Family,
    /// How a report names it: family, seed and index make it again.
    pub id: String,
    /// The render.
    pub request: RenderRequest,
    /// How it is judged.
    pub check: Check,
    /// A name that Helm 3 does not have is used: asked of both, but not counted for Helm 3's histogram.
    pub only4: bool,
    /// Function and kind of argument, for the histogram.
    pub cells: Vec<(&'static str, Kind)>,
}

impl Case {
    /// A case without a name and without cells.
    pub fn new(family: Family, request: RenderRequest, check: Check) -> Self {
        Case { family, id: String::new(), request, check, only4: false, cells: Vec::new() }
    }
}

type Maker = fn(&mut Random) -> Case;

/// Each generator with its share of a hundred.
const SHARES: &[(usize, &str, Maker)] = &[
    (22, "template", templates::case),
    (9, "broken", templates::broken_case),
    (24, "function", calls::random_case),
    (6, "printf", calls::printf_case),
    (9, "language", calls::language_case),
    (8, "yaml-read", yaml::read_case),
    (5, "yaml-write", yaml::write_case),
    (4, "json-toml", yaml::other_case),
    (3, "values", values::case),
    (3, "set", values::set_case),
    (3, "subcharts", charts::case),
    (3, "manifests", manifests::case),
    (1, "schema", schemas::case),
];

/// The cases of a run: the sweep over all functions and kinds, then random ones up to `count`.
pub fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut out = calls::sweep(&mut Random::for_case(seed, "sweep", 0));
    for (index, case) in out.iter_mut().enumerate() {
        case.id = format!("sweep-{seed}-{index}");
    }
    out.truncate(count);
    let mut turn = Random::for_case(seed, "turn", 0);
    let mut counters = vec![0u64; SHARES.len()];
    while out.len() < count {
        let mut ticket = turn.below(SHARES.iter().map(|(share, ..)| share).sum());
        for ((share, stream, make), counter) in SHARES.iter().zip(&mut counters) {
            if ticket < *share {
                let mut random = Random::for_case(seed, stream, *counter);
                let mut case = make(&mut random);
                case.id = format!("{stream}-{seed}-{counter}");
                *counter += 1;
                out.push(case);
                break;
            }
            ticket -= share;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_makes_the_same_cases_and_another_seed_others() {
        let texts = |seed| cases(seed, 6000).into_iter().map(|c| (c.id, c.request)).collect::<Vec<_>>();
        let first = texts(7);
        assert!(first == texts(7));
        assert!(first != texts(8));
    }

    #[test]
    fn the_sweep_leaves_no_cell_empty() {
        let all = cases(1, 20_000);
        let cells: BTreeSet<_> = all.iter().flat_map(|c| c.cells.iter().copied()).collect();
        for function in functions::ALL {
            for kind in Kind::ALL {
                assert!(cells.contains(&(function.name, kind)), "{} {}", function.name, kind.label());
            }
        }
    }
}
