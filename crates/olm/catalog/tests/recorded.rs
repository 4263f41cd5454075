//! Compares our output with the recorded output of opm at both compatibility levels (`recorded.txt`) and with
//! the recorded resolutions of operator-controller (`resolved.txt`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod support;

use podium_catalog::compat::OpmCompat;
use support::resolution::{self, our_resolution};
use support::{SEED, accepted, fingerprint, ours, ours_template};

#[test]
fn outputs_match_recorded_opm_outputs() {
    let (mut all, mut rejected, mut mismatches) = (0, 0, Vec::new());
    for line in include_str!("recorded.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [compat, kind, number, verdict, recorded] = parts[..] else { panic!("{line}") };
        let compat = OpmCompat::from_version(compat).unwrap();
        let number = number.parse().unwrap();
        let outputs = match kind {
            "catalog" => ours(&cases::case(SEED, number), compat),
            _ => ours_template(&cases::template(SEED, number), compat),
        };
        all += 1;
        rejected += usize::from(verdict == "-");
        if (verdict == "+") != accepted(&outputs) || format!("{:016x}", fingerprint(&outputs)) != recorded {
            mismatches.push(line);
        }
    }
    assert!(all > 1200 && rejected * 3 > all, "{rejected} refused of {all}");
    assert!(
        mismatches.is_empty(),
        "{} of {all} outputs differ, such as {:?}: PODIUM_SEED={SEED} with --test originals -- --ignored shows them",
        mismatches.len(),
        &mismatches[..mismatches.len().min(5)]
    );
}

#[test]
fn resolutions_match_recorded_controller_resolutions() {
    let (mut all, mut rejected, mut mismatches) = (0, 0, Vec::new());
    for line in include_str!("resolved.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [number, verdict, recorded] = parts[..] else { panic!("{line}") };
        let outputs = our_resolution(&support::resolution_cases::resolution_case(
            resolution::SEED,
            number.parse().unwrap(),
        ));
        all += 1;
        rejected += usize::from(verdict == "-");
        if (verdict == "+") != accepted(&outputs) || format!("{:016x}", fingerprint(&outputs)) != recorded {
            mismatches.push(line);
        }
    }
    assert!(all > 500 && rejected * 5 > all && rejected * 5 < all * 4, "{rejected} refused of {all}");
    assert!(
        mismatches.is_empty(),
        "{} of {all} outputs differ, such as {:?}: PODIUM_SEED={} with --test originals -- --ignored shows them",
        mismatches.len(),
        &mismatches[..mismatches.len().min(5)],
        resolution::SEED
    );
}

/// A mutation is only tested if the catalog is otherwise valid.
#[test]
fn unmutated_catalogs_are_valid() {
    let step = cases::MUTATIONS.len() as u64;
    for number in (0..40 * step).step_by(cases::MUTATIONS.len()) {
        let case = cases::case(SEED, number);
        let output = ours(&case, OpmCompat::V173)["validate"].clone();
        assert!(output.is_empty(), "{number}: {}", String::from_utf8_lossy(&output));
    }
}
