//! Catalogs and templates against what both generations of opm answered when `recorded.txt` was written, and the choice
//! of a bundle against what the lifecycle controller answered (`resolved.txt`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod support;

use podium_catalog::generation::Generation;
use support::resolution::{self, ours_of_resolution};
use support::{SEED, mark, ours, ours_of_template, taken};

#[test]
fn answers_are_those_that_opm_gave() {
    let (mut all, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in include_str!("recorded.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [generation, kind, number, sign, recorded] = parts[..] else { panic!("{line}") };
        let generation = Generation::named(generation).unwrap();
        let number = number.parse().unwrap();
        let answers = match kind {
            "catalog" => ours(&cases::case(SEED, number), generation),
            _ => ours_of_template(&cases::template(SEED, number), generation),
        };
        all += 1;
        refused += usize::from(sign == "-");
        if (sign == "+") != taken(&answers) || format!("{:016x}", mark(&answers)) != recorded {
            wrong.push(line);
        }
    }
    assert!(all > 1200 && refused * 3 > all, "{refused} refused of {all}");
    assert!(
        wrong.is_empty(),
        "{} of {all} answers differ, such as {:?}: PODIUM_SEED={SEED} with --test originals -- --ignored shows them",
        wrong.len(),
        &wrong[..wrong.len().min(5)]
    );
}

#[test]
fn the_bundle_is_the_one_that_the_controller_took() {
    let (mut all, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in include_str!("resolved.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(' ').collect();
        let [number, sign, recorded] = parts[..] else { panic!("{line}") };
        let answers =
            ours_of_resolution(&support::resolutions::resolution(resolution::SEED, number.parse().unwrap()));
        all += 1;
        refused += usize::from(sign == "-");
        if (sign == "+") != taken(&answers) || format!("{:016x}", mark(&answers)) != recorded {
            wrong.push(line);
        }
    }
    assert!(all > 500 && refused * 5 > all && refused * 5 < all * 4, "{refused} refused of {all}");
    assert!(
        wrong.is_empty(),
        "{} of {all} answers differ, such as {:?}: PODIUM_SEED={} with --test originals -- --ignored shows them",
        wrong.len(),
        &wrong[..wrong.len().min(5)],
        resolution::SEED
    );
}

/// A rule is tested only if nothing else is wrong.
#[test]
fn catalogs_that_nobody_broke_are_fine() {
    let step = cases::BREAKS.len() as u64;
    for number in (0..40 * step).step_by(cases::BREAKS.len()) {
        let case = cases::case(SEED, number);
        let answer = ours(&case, Generation::V173)["validate"].clone();
        assert!(answer.is_empty(), "{number}: {}", String::from_utf8_lossy(&answer));
    }
}
