//! Bundles whose fate with the originals was recorded: `opm render` and the lifecycle controller's renderer. The
//! record is made by the test `record` of `originals`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod answer;
mod draft;
mod line;

use podium_bundle::{Refuser, Tree, compare, validate};

#[test]
fn the_recorded_bundles_fare_as_with_the_originals() {
    let mut wrong = Vec::new();
    let recorded = include_str!("answers.txt");
    for expected in recorded.lines() {
        let seed: u64 = expected.split(' ').next().unwrap().parse().unwrap();
        let case = draft::case(seed);
        let tree = Tree::new(case.files).unwrap();
        let ours = answer::ours(&tree, &case.image, case.migrate, &case.options);
        let ours = line::line(seed, ours.opm.ok().as_deref(), ours.controller.ok());
        if ours != expected {
            wrong.push(format!("{:?}: {ours}, recorded {expected}", case.done));
        }
    }
    assert!(recorded.lines().count() >= 200, "the record is cut");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bytes that change what a text means.
const SIGNS: &[u8] = b"{}[]\"':,-#&*!|>%@`\n\t 0x\xff";

#[test]
fn damaged_bundles_are_refused_or_taken_but_nothing_breaks() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit.max(1) as u64).unwrap()
    };
    let mut refused = 0;
    for seed in 1..=300 {
        let mut case = draft::case(seed);
        for data in case.files.values_mut() {
            for _ in 0..next(4) {
                let at = next(data.len());
                match next(4) {
                    0 => data.truncate(at),
                    1 => data.insert(at, SIGNS[next(SIGNS.len())]),
                    2 if at < data.len() => data[at] = SIGNS[next(SIGNS.len())],
                    _ => {
                        let piece =
                            data.get(at..(at + next(200)).min(data.len())).unwrap_or_default().to_vec();
                        let to = next(data.len());
                        data.splice(to..to, piece);
                    }
                }
            }
        }
        let tree = Tree::new(case.files).unwrap();
        let ours = answer::ours(&tree, &case.image, case.migrate, &case.options);
        let findings = validate(&tree, &case.options);
        let by = |who: Refuser| findings.iter().any(|finding| finding.by == who);
        assert_eq!(ours.controller.is_err(), by(Refuser::Controller), "{findings:?}");
        refused += usize::from(!findings.is_empty());
        // A bundle is its own equal.
        if let Ok(same) = compare::compare(&tree, &tree) {
            assert!(
                same.changes.iter().all(|change| change.area == compare::Area::Kinds),
                "{:?}",
                same.changes
            );
        }
    }
    assert!((100..300).contains(&refused), "{refused} of 300");
}
