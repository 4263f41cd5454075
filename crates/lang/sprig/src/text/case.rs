//! Letter case, one character to one character.

use podium_gotmpl::gostr::{
    append_rune, is_digit, is_letter, is_lower, is_space, is_title, is_upper, runes, to_lower, to_title,
    to_upper,
};

/// Maps each character; bytes that are no text become U+FFFD.
pub(super) fn map(text: &[u8], mut mapping: impl FnMut(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (_, c, _) in runes(text) {
        append_rune(&mut out, mapping(c).into());
    }
    out
}

/// `upper`: all in upper case.
pub fn upper(text: &[u8]) -> Vec<u8> {
    map(text, to_upper)
}

/// `lower`: all in lower case.
pub fn lower(text: &[u8]) -> Vec<u8> {
    map(text, to_lower)
}

/// `title`: the first letter of each word in title case.
pub fn title(text: &[u8]) -> Vec<u8> {
    let mut previous = ' ';
    map(text, |c| if separates(std::mem::replace(&mut previous, c)) { to_title(c) } else { c })
}

/// Reports whether a word may begin after the character.
fn separates(c: char) -> bool {
    if c.is_ascii() {
        !c.is_ascii_alphanumeric() && c != '_'
    } else {
        !is_letter(c) && !is_digit(c) && is_space(c)
    }
}

/// `untitle`: the first letter of each word in lower case; words are separated by white space.
pub fn uncapitalize(text: &[u8]) -> Vec<u8> {
    let mut first = true;
    map(text, |c| {
        if is_space(c) {
            first = true;
            c
        } else if std::mem::take(&mut first) {
            to_lower(c)
        } else {
            c
        }
    })
}

/// `swapcase`: upper case to lower case and back; a word that begins small gets a title-case letter.
pub fn swap_case(text: &[u8]) -> Vec<u8> {
    let mut begins = true;
    map(text, |c| {
        if is_upper(c) || is_title(c) {
            begins = false;
            to_lower(c)
        } else if is_lower(c) {
            if std::mem::take(&mut begins) { to_title(c) } else { to_upper(c) }
        } else {
            begins = is_space(c);
            c
        }
    })
}
