//! Unicode case folding as opm applies it to keys.

/// Reports whether a key equals a lower-case ASCII name under case folding.
pub fn eq_fold(key: &str, name: &str) -> bool {
    if key.is_ascii() { key.eq_ignore_ascii_case(name) } else { fold(key) == name }
}

/// Folds case (Unicode full case folding).
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // opm folds Cherokee letters to each other and keeps the dot of the dotted capital I.
            '\u{13f8}'..='\u{13fd}' => out.push(char::from_u32(c as u32 - 8).unwrap_or(c)),
            'ẞ' => out.push_str("ss"),
            '\u{ab70}'..='\u{abbf}' => out.push(char::from_u32(c as u32 - 0xab70 + 0x13a0).unwrap_or(c)),
            // Unicode 16 and 17 define lower-case letters for these; opm's tables are older.
            '\u{1c89}'
            | '\u{a7cb}'
            | '\u{a7cc}'
            | '\u{a7ce}'
            | '\u{a7d2}'
            | '\u{a7d4}'
            | '\u{a7da}'
            | '\u{a7dc}'
            | '\u{10d50}'..='\u{10d65}'
            | '\u{16ea0}'..='\u{16eb8}' => {
                out.push(c);
            }
            'İ' => out.push_str("i\u{307}"),
            'ı' => out.push('ı'),
            c => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_case_like_opm() {
        assert_eq!(fold("Straße ſchema K"), "strasse schema k");
        assert!(eq_fold("PACKAGE", "package"));
        assert!(eq_fold("pacKage", "package"));
        assert!(!eq_fold("packages", "package"));
    }
}
