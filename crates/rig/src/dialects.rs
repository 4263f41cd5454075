//! What is known to differ between the two originals: whatever else differs between them is a fault of the rig.

use crate::compare::Difference;
use crate::generate::Family;
use crate::request::Outcome;

/// Why Helm 3 (as original) and Helm 4 (as subject) may differ on a case; `None` when they should not.
pub fn known(difference: &Difference) -> Option<&'static str> {
    let case = &difference.case;
    let (three, four) = (plain(&difference.original), plain(&difference.subject));
    let mentions = |words: &[&str]| {
        let has = |data: &[u8]| words.iter().any(|w| String::from_utf8_lossy(data).contains(w));
        case.request.files.iter().any(|file| has(&file.data))
    };
    if case.only4 || mentions(&["mustToYaml", "mustToToml"]) {
        return Some("a function of Helm 4 only");
    }
    if three == four {
        return Some("names of Go types");
    }
    if difference.original.is_error() && difference.subject.is_error() && same_core(&three, &four) {
        return Some("layout of error messages");
    }
    if mentions(&[".Chart"]) || three.to_lowercase().contains("capabilities") {
        return Some(".Chart and other objects of the root");
    }
    if mentions(&[".Capabilities"]) {
        return Some("fields of .Capabilities");
    }
    match case.family {
        Family::Values | Family::SetFlags | Family::Subcharts | Family::Schema => {
            let nulls = case.request.files.iter().chain(&case.request.side).any(|f| {
                let text = String::from_utf8_lossy(&f.data).to_lowercase();
                text.contains("null")
                    || text.contains('~')
                    || text.contains(":\n")
                    || text.contains(":\r")
                    || text.contains(": ,")
                    || text.contains("---")
                    || text.trim_end().ends_with(':')
            });
            if nulls {
                return Some("null defaults are dropped in 4, several documents are read in 4");
            }
            if !case.request.set_json.is_empty() {
                return Some("--set-json of a whole object");
            }
            None
        }
        Family::Manifests => Some("how documents are split, trimmed and ordered").filter(|_| {
            difference.original.is_error() == difference.subject.is_error() || mentions(&["---"])
        }),
        _ => None,
    }
}

/// The text with Go type and package names of one major turned into the other's.
fn plain(outcome: &Outcome) -> String {
    outcome
        .to_string()
        .replace("chartutil.Values", "common.Values")
        .replace("releaseutil.SimpleHead", "util.SimpleHead")
        .replace("chartutil.VersionSet", "common.VersionSet")
}

/// Whether both end in the same innermost message, which both majors take from the same libraries.
fn same_core(three: &str, four: &str) -> bool {
    let tidy = |text: &str| {
        text.replace("\n\nUse --debug flag to render out invalid YAML", "")
            .trim()
            .to_lowercase()
            .replace('`', "'")
    };
    let (three, four) = (tidy(three), tidy(four));
    let core = four.lines().last().unwrap_or_default();
    let core = core.strip_prefix("error: ").unwrap_or(core);
    let last = core.rsplit(": ").next().unwrap_or_default();
    three.ends_with(core.trim()) || three.ends_with(last.trim())
}
