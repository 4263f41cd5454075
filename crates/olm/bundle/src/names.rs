//! Object names that operator-controller generates: truncated to 63 characters, with a hash suffix.

use sha2::{Digest, Sha224};

const MAX_NAME_LEN: usize = 63;

/// Joins base and suffix with a dash and truncates the base to fit. Base and suffix of exactly 63 characters
/// are not truncated, so the name is one character too long, as upstream.
pub fn object_name_with_suffix(base: &str, suffix: &str) -> String {
    let mut base = base;
    if base.len() + suffix.len() > MAX_NAME_LEN {
        let mut end = MAX_NAME_LEN.saturating_sub(suffix.len() + 1).min(base.len());
        while !base.is_char_boundary(end) {
            end -= 1;
        }
        base = base.get(..end).unwrap_or_default();
    }
    format!("{base}-{suffix}")
}

/// SHA-224 of a line in base 36.
pub fn deep_hash(line: &str) -> String {
    let mut hasher = Sha224::new();
    hasher.update(line.as_bytes());
    hasher.update(b"\n");
    let mut digits = hasher.finalize().to_vec();
    let mut out = Vec::new();
    while digits.iter().any(|digit| *digit != 0) {
        let mut remainder = 0u32;
        for digit in &mut digits {
            let dividend = remainder * 256 + u32::from(*digit);
            *digit = u8::try_from(dividend / 36).unwrap_or(0);
            remainder = dividend % 36;
        }
        out.extend(char::from_digit(remainder, 36));
    }
    if out.is_empty() { "0".to_owned() } else { out.into_iter().rev().collect() }
}

/// Returns the violations of the DNS-1123 subdomain rules.
pub fn validate_dns1123_subdomain(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 bytes".to_owned());
    }
    let is_alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_valid_label = |part: &str| {
        let valid_ends = part.bytes().next().is_some_and(is_alphanumeric)
            && part.bytes().last().is_some_and(is_alphanumeric);
        valid_ends && part.bytes().all(|b| is_alphanumeric(b) || b == b'-')
    };
    if !name.split('.').all(is_valid_label) {
        problems.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    problems.sort();
    problems
}

#[cfg(test)]
mod tests {
    use super::{deep_hash, object_name_with_suffix, validate_dns1123_subdomain};

    #[test]
    fn truncates_base_to_fit_suffix() {
        assert_eq!(object_name_with_suffix("a", "service"), "a-service");
        assert_eq!(
            object_name_with_suffix(&"a".repeat(60), "service"),
            format!("{}-service", "a".repeat(55))
        );
        // 63 characters without the dash are not truncated, so the name has 64.
        assert_eq!(object_name_with_suffix(&"a".repeat(56), "service").len(), 64);
        // SHA-224 of `{}` and a line feed.
        assert_eq!(deep_hash("{}"), "16jfjhihxbzhfhs1k5mimq740kvioi98pfbea9q6qtf9");
    }

    #[test]
    fn validates_dns1123_subdomains() {
        for name in ["a", "a-b.c", "1.2"] {
            assert!(validate_dns1123_subdomain(name).is_empty(), "{name}");
        }
        for name in ["", "a-", "-a", "a..b", "A", "a_b"] {
            assert_eq!(validate_dns1123_subdomain(name).len(), 1, "{name}");
        }
        assert_eq!(validate_dns1123_subdomain(&"A".repeat(300)).len(), 2);
    }
}
