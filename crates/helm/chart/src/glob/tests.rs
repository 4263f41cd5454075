use super::*;
use crate::testing::cases;

const NAMES: [&str; 17] = [
    "a",
    "b",
    "ab",
    "abc",
    "a/b",
    "a/b/c",
    "é",
    "aé",
    "config/a.yaml",
    "config/sub/b.yaml",
    "a.b",
    "/",
    "x/a",
    "aaaa",
    "ba/ab",
    "a-b",
    "日本",
];

fn answer(pattern: &str) -> String {
    let Ok(pattern) = Pattern::new(pattern) else { return "error".to_owned() };
    let mut bits = String::new();
    for name in NAMES {
        match pattern.matches(name) {
            Ok(yes) => bits.push(if yes { '1' } else { '0' }),
            Err(fault) => return format!("!{fault}"),
        }
    }
    bits
}

#[test]
fn answers_equal_recorded_ones() {
    let all = cases(include_str!("../../testdata/glob.jsonl"));
    assert!(all.len() > 60);
    for case in all {
        let [pattern, want] = &**case.as_list().unwrap() else { panic!("a case has two parts") };
        let pattern = pattern.as_str().unwrap();
        assert_eq!(answer(pattern), want.as_str().unwrap(), "{pattern}");
    }
}

#[test]
fn many_stars_do_not_explode() {
    let pattern = Pattern::new(&"*a".repeat(60)).unwrap();
    assert_eq!(pattern.matches(&"a".repeat(59)), Ok(false));
    assert_eq!(pattern.matches(&"ba".repeat(60)), Ok(true));
}

#[test]
fn long_patterns_are_refused() {
    assert_eq!(Pattern::new(&"*a".repeat(101)).unwrap_err(), Error::TooManyParts);
    assert_eq!(Pattern::new(&"{".repeat(10_000)).unwrap_err(), Error::TooManyParts);
    assert!(Pattern::new(&"x".repeat(10_000)).is_ok());
}
