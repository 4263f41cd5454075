//! The order of versions: `v1alpha1` before `v1beta1` before `v1` before `v2`, and all others before those.

use std::cmp::{Ordering, Reverse};

/// Stability (2 when stable), major and minor number of a version that follows the rule.
fn parts(version: &str) -> Option<(u8, i64, i64)> {
    let rest = version.strip_prefix('v')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i64>().ok())?
    };
    for (rank, word) in [(0, "alpha"), (1, "beta")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((rank, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

/// Which of two versions is the older.
pub fn order(a: &str, b: &str) -> Ordering {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (None, None) => Reverse(a).cmp(&Reverse(b)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_are_the_newest() {
        let mut versions =
            ["v2", "foo", "v1beta2", "v10", "v1", "v1alpha1", "bar", "v2alpha1", "v1beta10", "v1x"];
        versions.sort_by(|a, b| order(a, b));
        let expected =
            ["v1x", "foo", "bar", "v1alpha1", "v2alpha1", "v1beta2", "v1beta10", "v1", "v2", "v10"];
        assert_eq!(versions, expected);
    }
}
