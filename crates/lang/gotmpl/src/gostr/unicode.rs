//! Character classes and simple case mapping of the Unicode edition that Go carries.
//!
//! The standard library follows a newer edition and maps case in full (`ß` to `SS`), so it cannot be used here.

use super::tables::{self, CaseRun, Run};
use super::utf8::{decode_char, decode_last_char};

fn in_set(set: &[u32], c: char) -> bool {
    set.partition_point(|&boundary| boundary <= u32::from(c)) % 2 == 1
}

fn in_runs(runs: &[Run], c: char) -> bool {
    let code = u32::from(c);
    let after = runs.partition_point(|&(first, ..)| first <= code);
    let run = after.checked_sub(1).and_then(|at| runs.get(at));
    run.is_some_and(|&(first, last, step)| code <= last && (code - first) % step == 0)
}

fn map(runs: &[CaseRun], c: char) -> char {
    let code = u32::from(c);
    let after = runs.partition_point(|&(first, ..)| first <= code);
    match after.checked_sub(1).and_then(|at| runs.get(at)) {
        Some(&(first, last, step, delta)) if code <= last && (code - first) % step == 0 => {
            code.checked_add_signed(delta).and_then(char::from_u32).unwrap_or(c)
        }
        _ => c,
    }
}

/// Reports whether Go prints the character as it is: letter, mark, number, punctuation, symbol or ASCII space.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() { matches!(c, ' '..='~') } else { in_set(tables::PRINT, c) }
}

/// Reports whether the character is a letter.
pub fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { in_set(tables::LETTER, c) }
}

/// Reports whether the character is a decimal digit.
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { in_set(tables::DIGIT, c) }
}

/// Reports whether the character is a number of any kind.
pub fn is_number(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { in_set(tables::NUMBER, c) }
}

/// Reports whether the character is punctuation (not a symbol).
pub fn is_punct(c: char) -> bool {
    in_set(tables::PUNCT, c)
}

/// Reports whether the character is an upper-case letter.
pub fn is_upper(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_uppercase() } else { in_runs(tables::UPPER, c) }
}

/// Reports whether the character is a lower-case letter.
pub fn is_lower(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_lowercase() } else { in_runs(tables::LOWER, c) }
}

/// Reports whether the character is a title-case letter.
pub fn is_title(c: char) -> bool {
    in_set(tables::TITLE, c)
}

/// Reports whether the character is white space.
pub fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t'..='\r' | ' ' | '\u{85}' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}'
            | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

/// Removes white space from both ends of a text.
pub fn trim_space(mut text: &[u8]) -> &[u8] {
    while let (c, width @ 1..) = decode_char(text)
        && is_space(c)
    {
        text = text.get(width..).unwrap_or_default();
    }
    while let (c, width @ 1..) = decode_last_char(text)
        && is_space(c)
    {
        text = text.get(..text.len() - width).unwrap_or_default();
    }
    text
}

/// Maps one character to upper case, one to one.
pub fn to_upper(c: char) -> char {
    if c.is_ascii() { c.to_ascii_uppercase() } else { map(tables::TO_UPPER, c) }
}

/// Maps one character to lower case, one to one.
pub fn to_lower(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { map(tables::TO_LOWER, c) }
}

/// Maps one character to title case, one to one.
pub fn to_title(c: char) -> char {
    if c.is_ascii() { c.to_ascii_uppercase() } else { map(tables::TO_TITLE, c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FNV-1a over each change of the answer from one character to the next; the sums come from Go's functions.
    fn checksum(answer: impl Fn(char) -> u32) -> u64 {
        let feed = |sum: u64, number: u32| {
            number
                .to_le_bytes()
                .iter()
                .fold(sum, |sum, &b| (sum ^ u64::from(b)).wrapping_mul(0x100_0000_01B3))
        };
        let start = (0xCBF2_9CE4_8422_2325, 0);
        // No class or mapping has a member in the planes that are left out.
        let planes = ('\0'..='\u{3FFFF}').chain('\u{E0000}'..='\u{E0FFF}');
        let end = planes.fold(start, |(sum, last), c| match answer(c) {
            same if same == last => (sum, last),
            new => (feed(feed(sum, u32::from(c)), new), new),
        });
        end.0
    }

    #[test]
    fn every_class_and_mapping_equals_go_for_all_characters() {
        type Class = (&'static str, fn(char) -> bool, u64);
        let classes: [Class; 9] = [
            ("is_print", is_print, 0x0469_D733_1591_25B3),
            ("is_letter", is_letter, 0x7C12_0667_54CA_AC77),
            ("is_digit", is_digit, 0x3252_B785_53EC_43C8),
            ("is_number", is_number, 0x8461_FB94_E64C_4578),
            ("is_punct", is_punct, 0x91B7_F277_AF64_119A),
            ("is_upper", is_upper, 0xC8B4_2A5A_B4C4_D0E1),
            ("is_lower", is_lower, 0xC633_9DC8_EF76_9A8C),
            ("is_title", is_title, 0x5804_9D06_6450_A740),
            ("is_space", is_space, 0x3F87_A4B3_42C4_D668),
        ];
        for (name, class, want) in classes {
            assert_eq!(checksum(|c| u32::from(class(c))), want, "{name}");
        }
        type Mapping = (&'static str, fn(char) -> char, u64);
        let mappings: [Mapping; 3] = [
            ("to_upper", to_upper, 0x4376_D171_982F_F37C),
            ("to_lower", to_lower, 0x7364_5411_C4C1_D767),
            ("to_title", to_title, 0x3EA6_576E_5DD8_8780),
        ];
        for (name, mapping, want) in mappings {
            assert_eq!(checksum(|c| u32::from(mapping(c)) ^ u32::from(c)), want, "{name}");
        }
    }

    #[test]
    fn trimming_stops_at_what_is_no_space() {
        assert_eq!(trim_space(b" \t\n\xC2\x85a b\xE3\x80\x80\xC2\xA0"), b"a b");
        assert_eq!(trim_space(b"\xA0 x \xFF"), b"\xA0 x \xFF");
        assert_eq!(trim_space(b" \r\n "), b"");
    }

    #[test]
    fn case_mapping_is_one_to_one() {
        assert_eq!([to_upper('ß'), to_lower('İ'), to_upper('ŉ')], ['ß', 'i', 'ŉ']);
        assert_eq!([to_upper('ǆ'), to_title('ǆ'), to_lower('ǅ')], ['Ǆ', 'ǅ', 'ǆ']);
    }
}
