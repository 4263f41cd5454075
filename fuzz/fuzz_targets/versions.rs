//! Two texts as versions and as ranges, in both dialects.
#![no_main]

use libfuzzer_sys::fuzz_target;
use podium_versions::{blang, masterminds};

fuzz_target!(|text: &[u8]| {
    let (first, second) = match text.iter().position(|b| *b == b'\n') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, text),
    };
    let versions = [first, second].map(masterminds::Version::new);
    let _ = masterminds::Version::strict(first);
    if let [Ok(a), Ok(b)] = &versions {
        assert_eq!(a.compare(b), b.compare(a).reverse());
        assert_eq!(a.less_than(b), b.greater_than(a));
        let _ = (a.inc_major(), a.inc_minor(), a.inc_patch(), a.to_json(), a.to_string());
        let _ = (a.set_prerelease(second), a.set_metadata(second));
    }
    if let Ok(constraint) = masterminds::Constraints::new(second) {
        let _ = constraint.to_string();
        if let [Ok(version), _] = &versions {
            let valid = constraint.validate(version);
            assert_eq!(constraint.check(version), valid.is_ok());
        }
    }
    let versions = [first, second].map(blang::Version::parse_tolerant);
    let _ = blang::Version::parse(first);
    if let [Ok(a), Ok(b)] = &versions {
        assert_eq!(a.compare(b), b.compare(a).reverse());
        let _ = (a.finalize(), a.to_string());
    }
    if let (Ok(range), [Ok(version), _]) = (blang::Range::parse(second), &versions) {
        let _ = range.contains(version);
    }
});
