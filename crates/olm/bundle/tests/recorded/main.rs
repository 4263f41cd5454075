//! Compares generated bundles with the recorded outcomes of `opm render` and operator-controller's renderer.
//! The test `record` of `originals` writes the record.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

mod cases;
mod outcome;
mod record;

use podium_bundle::{BundleFiles, Validator, compare, validate};

#[test]
fn outcomes_match_recorded_upstream_outcomes() {
    let mut mismatches = Vec::new();
    let recorded = include_str!("answers.txt");
    for expected in recorded.lines() {
        let seed: u64 = expected.split(' ').next().unwrap().parse().unwrap();
        let case = cases::case(seed);
        let files = BundleFiles::new(case.files).unwrap();
        let ours = outcome::ours(&files, &case.image, case.migrate, &case.options);
        let ours = record::record_line(seed, ours.opm.ok().as_deref(), ours.controller.ok());
        if ours != expected {
            mismatches.push(format!("{:?}: {ours}, recorded {expected}", case.mutations));
        }
    }
    assert!(recorded.lines().count() >= 200, "the record is truncated");
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
}

/// Bytes with a meaning in YAML or JSON syntax.
const SYNTAX_BYTES: &[u8] = b"{}[]\"':,-#&*!|>%@`\n\t 0x\xff";

#[test]
fn corrupted_bundles_never_panic() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % limit.max(1) as u64).unwrap()
    };
    let mut rejected = 0;
    for seed in 1..=300 {
        let mut case = cases::case(seed);
        for data in case.files.values_mut() {
            for _ in 0..next(4) {
                let at = next(data.len());
                match next(4) {
                    0 => data.truncate(at),
                    1 => data.insert(at, SYNTAX_BYTES[next(SYNTAX_BYTES.len())]),
                    2 if at < data.len() => data[at] = SYNTAX_BYTES[next(SYNTAX_BYTES.len())],
                    _ => {
                        let chunk =
                            data.get(at..(at + next(200)).min(data.len())).unwrap_or_default().to_vec();
                        let to = next(data.len());
                        data.splice(to..to, chunk);
                    }
                }
            }
        }
        let files = BundleFiles::new(case.files).unwrap();
        let ours = outcome::ours(&files, &case.image, case.migrate, &case.options);
        let findings = validate(&files, &case.options);
        let rejected_by =
            |validator: Validator| findings.iter().any(|finding| finding.validator == validator);
        assert_eq!(ours.controller.is_err(), rejected_by(Validator::Controller), "{findings:?}");
        rejected += usize::from(!findings.is_empty());
        // Comparing a bundle with itself gives no changes except for invalid CRDs.
        if let Ok(same) = compare::compare(&files, &files) {
            assert!(
                same.changes.iter().all(|change| change.area == compare::Area::Crds),
                "{:?}",
                same.changes
            );
        }
    }
    assert!((100..300).contains(&rejected), "{rejected} of 300");
}
