//! Pairs of definitions with what OLM's checker (crdify) said of them, when it is set as OLM sets it.
//!
//! Its answers are brought to our form: of a field that is gone only the topmost one is told.

use std::collections::BTreeSet;

use podium_schema::{Check, Problem, upgrade};
use serde_json::Value;

/// A problem as the other checker names it.
fn theirs(problem: &Problem) -> String {
    let path = problem.path.replace("[]", ".items").replace("[*]", ".additionalProperties");
    let check = match problem.check {
        Check::Scope => return "crd scope".to_owned(),
        Check::StoredVersion => return "crd storedVersionRemoval".to_owned(),
        Check::FieldRemoval => "removed",
        Check::Keyword(keyword) => keyword,
        Check::Other => "unhandled",
        Check::ServedVersion | Check::Size => return problem.to_string(),
    };
    format!("{} ^{path} {check}", problem.version)
}

#[test]
fn problems_are_those_that_olm_finds() {
    let lines = include_str!("recorded.txt").lines();
    assert!(lines.clone().count() > 200);
    for line in lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let expected: BTreeSet<String> =
            case["expected"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect();
        let problems = upgrade(&case["old"], &case["new"]).err().unwrap_or_default();
        assert_eq!(problems.iter().map(theirs).collect::<BTreeSet<_>>(), expected, "{line}");
        assert!(problems.iter().all(|problem| !problem.change.is_empty()), "{line}");
    }
}
