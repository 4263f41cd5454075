//! Recorded answers of the originals: every line of the data files is one call that must give the same result.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;
use std::fmt::Display;

use podium_gotmpl::gostr::unquote;
use podium_versions::{blang, masterminds};

fn each_recorded(data: &str, answer: impl Fn(&str, &[Vec<u8>]) -> String) {
    let mut count = 0;
    for line in data.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let function = fields.next().unwrap();
        let mut values: Vec<Vec<u8>> = fields.map(|field| unquote(field.as_bytes()).expect(line)).collect();
        let want = String::from_utf8(values.pop().unwrap()).unwrap();
        assert_eq!(answer(function, &values), want, "{line}");
        count += 1;
    }
    assert!(count > 200, "only {count} answers were recorded");
}

fn told<T, E: Display>(result: Result<T, E>, say: impl Fn(T) -> String) -> String {
    result.map_or_else(|error| format!("!{error}"), say)
}

fn letter(yes: bool) -> char {
    if yes { 't' } else { 'f' }
}

fn describe(v: masterminds::Version) -> String {
    let numbers = format!("{}|{}|{}", v.major(), v.minor(), v.patch());
    format!("{numbers}|{}|{}|{}|{v}|{}", v.prerelease(), v.metadata(), v.original(), v.to_json())
}

#[test]
fn masterminds_answers_are_the_recorded_ones() {
    use masterminds::{Constraints, Version};
    each_recorded(include_str!("data/masterminds.txt"), |function, arguments| {
        let version = |at: usize| Version::new(&arguments[at]).unwrap();
        match function {
            "new" => told(Version::new(&arguments[0]), describe),
            "strict" => told(Version::strict(&arguments[0]), describe),
            "incpatch" => told(version(0).inc_patch(), describe),
            "incminor" => told(version(0).inc_minor(), describe),
            "incmajor" => told(version(0).inc_major(), describe),
            "setpre" => told(version(0).set_prerelease(&arguments[1]), describe),
            "setmeta" => told(version(0).set_metadata(&arguments[1]), describe),
            "cmp" => {
                let (one, two) = (version(0), version(1));
                let answers = [
                    one.equal(&two),
                    one.less_than(&two),
                    one.less_than_equal(&two),
                    one.greater_than(&two),
                    one.greater_than_equal(&two),
                ];
                format!("{}{}", one.compare(&two) as i8, answers.map(letter).iter().collect::<String>())
            }
            "con" => told(Constraints::new(&arguments[0]), |constraint| constraint.to_string()),
            "check" => {
                let mut constraint = Constraints::new(&arguments[0]).unwrap();
                constraint.include_prerelease = arguments[2] == b"t";
                let verdict = constraint.validate(&version(1));
                let (check, valid) = (constraint.check(&version(1)), verdict.is_ok());
                let reasons: Vec<_> =
                    verdict.err().unwrap_or_default().iter().map(ToString::to_string).collect();
                format!("{}{}{}", letter(check), letter(valid), reasons.join("\n"))
            }
            other => panic!("unknown function {other}"),
        }
    });
}

#[test]
fn blang_answers_are_the_recorded_ones() {
    use blang::{Range, Version};
    let describe = |v: Version| format!("{v}|{}|{} {}", v.finalize(), v.pre.len(), v.build.len());
    each_recorded(include_str!("data/blang.txt"), |function, arguments| match function {
        "bparse" => told(Version::parse(&arguments[0]), describe),
        "btol" => told(Version::parse_tolerant(&arguments[0]), describe),
        "bcmp" => {
            let [one, two] = [0, 1].map(|at: usize| Version::parse_tolerant(&arguments[at]).unwrap());
            (one.compare(&two) as i8).to_string()
        }
        "range" => told(Range::parse(&arguments[0]), |_| "ok".to_string()),
        "in" => {
            let (range, version) =
                (Range::parse(&arguments[0]).unwrap(), Version::parse(&arguments[1]).unwrap());
            letter(range.contains(&version)).to_string()
        }
        other => panic!("unknown function {other}"),
    });
}

#[test]
fn long_and_many_are_refused_at_once() {
    let error = |text: String| masterminds::Constraints::new(text).unwrap_err().to_string();
    assert_eq!(error(" ".repeat(513)), "constraint string is too long (max 512 bytes)");
    assert_eq!(error("1||".repeat(32)), "too many constraint groups (max 32)");
    let version = masterminds::Version::new("1".repeat(257)).unwrap_err();
    assert_eq!(version.to_string(), "version string is too long (max 256 bytes)");
}

#[test]
fn incrementing_the_largest_number_is_an_error() {
    let version =
        masterminds::Version::new("18446744073709551615.18446744073709551615.18446744073709551615").unwrap();
    for (next, name) in
        [(version.inc_major(), "major"), (version.inc_minor(), "minor"), (version.inc_patch(), "patch")]
    {
        let want = format!("{name} version increment would overflow uint64");
        assert_eq!(next.unwrap_err().to_string(), want);
    }
}

#[test]
fn assign_keeps_the_old_version_when_the_text_is_bad() {
    let mut version = masterminds::Version::new("v1.2").unwrap();
    assert!(version.assign("nonsense").is_err());
    assert_eq!((version.to_string().as_str(), version.original()), ("1.2.0", "v1.2"));
    version.assign("2").unwrap();
    assert_eq!(version.compare(&masterminds::Version::new("2.0.0").unwrap()), Ordering::Equal);
}

#[test]
fn an_alternative_without_comparisons_holds_nothing() {
    let range = blang::Range::parse(">=1.0.0 || || <0.5.0").unwrap();
    let holds = |text: &str| range.contains(&blang::Version::parse(text).unwrap());
    assert_eq!([holds("1.0.0"), holds("0.7.0"), holds("0.4.0")], [true, false, true]);
}
