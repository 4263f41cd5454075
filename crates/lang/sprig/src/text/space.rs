//! White space.

use podium_gotmpl::gostr::{append_rune, is_space, runes};

/// The pieces between white space.
pub fn fields(text: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut start = 0;
    let spaces = runes(text).filter(|(_, c, _)| is_space(*c)).map(|(at, _, width)| (at, width));
    for (at, width) in spaces.chain([(text.len(), 0)]) {
        found.extend(text.get(start..at).filter(|field| !field.is_empty()));
        start = at + width;
    }
    found
}

/// `nospace`: without white space. If there is any, every byte is taken for a character, as the original does.
pub fn without_space(text: &[u8]) -> Vec<u8> {
    let is_space_byte = |byte: &u8| is_space(char::from(*byte));
    if !text.iter().any(is_space_byte) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    for byte in text.iter().filter(|byte| !is_space_byte(byte)) {
        append_rune(&mut out, u32::from(*byte));
    }
    out
}
