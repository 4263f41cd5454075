//! Go's view of text: byte strings, runes, character classes and quoted literals.
//!
//! Go strings are bytes that are usually, but not always, UTF-8. Everything here takes `&[u8]` and treats bad
//! bytes as Go does: one replacement rune of width one.

mod quote;
mod tables;
mod unicode;
mod utf8;

pub use quote::{
    can_backquote, quote, quote_rune, quote_rune_to_ascii, quote_to_ascii, unquote, unquote_char,
};
pub use unicode::{
    is_digit, is_letter, is_lower, is_number, is_print, is_punct, is_space, is_title, is_upper, to_lower,
    to_title, to_upper, trim_space,
};
pub use utf8::{
    RUNE_ERROR, append_rune, decode_char, decode_last_char, decode_last_rune, decode_rune, runes, valid,
};
