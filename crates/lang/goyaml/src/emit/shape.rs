//! What a scalar's characters allow.

use super::Dialect;
use crate::scan;

/// Which styles can hold a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// There is a line break of any kind (CR, LF, NEL, LS, PS).
    pub(super) multiline: bool,
    /// There is a line feed.
    pub(super) line_feed: bool,
    /// Plain style is possible.
    pub(super) plain: bool,
    /// Single quotation marks are possible.
    pub(super) single: bool,
    /// A literal block is possible.
    pub(super) block: bool,
}

/// What a byte means for the styles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Nothing.
    Other,
    Space,
    Tab,
    LineFeed,
    /// CR: a break, and not printable.
    Return,
    Colon,
    Hash,
    /// NUL counts as blank before a `#`, other control characters do not.
    Nul,
    Control,
    /// The first byte of a longer character.
    Wide,
}

static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' => Class::Space,
            b'\t' => Class::Tab,
            b'\n' => Class::LineFeed,
            b'\r' => Class::Return,
            b':' => Class::Colon,
            b'#' => Class::Hash,
            0 => Class::Nul,
            1..0x20 | 0x7f => Class::Control,
            0xc0.. => Class::Wide,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
}

/// Marks the bytes that mean something inside of a text: all but printable ASCII, the colon and the hash.
fn speaks(word: u64) -> u64 {
    scan::below(word, b' ')
        | scan::wide(word)
        | scan::equal(word, 0x7f)
        | scan::equal(word, b':')
        | scan::equal(word, b'#')
}

/// Whether nothing in a text means anything, unless it is the first or the last of it: most texts are so, and need no
/// second look.
pub(super) fn calm(text: &[u8]) -> bool {
    scan::find(text, speaks) == text.len()
}

/// The shape of a calm text.
pub(super) fn calm_shape(text: &[u8]) -> Shape {
    let (Some(&first), Some(&last)) = (text.first(), text.last()) else {
        return Shape { plain: true, single: true, ..Shape::default() };
    };
    let plain = first != b' ' && last != b' ' && !starts_structure(first, text);
    Shape { plain, single: true, block: last != b' ', ..Shape::default() }
}

/// What came before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Space,
    Break,
    /// No space and no break, but white enough to start a comment after.
    Blank,
    Text,
}

/// Looks at a text that is UTF-8.
pub(super) fn shape(text: &[u8], dialect: Dialect) -> Shape {
    if calm(text) { calm_shape(text) } else { careful_shape(text, dialect) }
}

/// The shape of a text that is not known to be calm.
pub(super) fn careful_shape(text: &[u8], dialect: Dialect) -> Shape {
    let mut shape = Shape { plain: true, single: true, block: true, ..Shape::default() };
    let Some(&first) = text.first() else {
        return Shape { block: false, ..shape };
    };
    if starts_structure(first, text) {
        shape.plain = false;
    }
    let mut special = false;
    let mut last = Last::Blank;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        // The inside of texts is mostly letters and spaces that mean nothing.
        if at > 0 && last != Last::Break && byte != b' ' && CLASSES[usize::from(byte)] == Class::Other {
            let rest = text.get(at..).unwrap_or_default();
            // The last byte is looked at: it may be a space.
            let quiet = scan::find(rest, speaks).min(rest.len() - 1);
            if quiet > 0 {
                at += quiet;
                last = if text.get(at - 1) == Some(&b' ') { Last::Space } else { Last::Text };
                continue;
            }
        }
        let class = CLASSES[usize::from(byte)];
        at += 1;
        if class == Class::Other {
            last = Last::Text;
            continue;
        }
        match class {
            Class::Space => {
                if at == 1 {
                    shape.plain = false;
                }
                if at == text.len() {
                    shape.plain = false;
                    shape.block = false;
                }
                if last == Last::Break {
                    shape.plain = false;
                    shape.single = false;
                }
                last = Last::Space;
            }
            Class::LineFeed | Class::Return => {
                special |= last == Last::Space || class == Class::Return;
                shape.line_feed |= class == Class::LineFeed;
                shape.multiline = true;
                last = Last::Break;
            }
            Class::Tab => {
                // Since v3 a literal block may hold tabs.
                special |= dialect == Dialect::Kubernetes;
                shape.plain = false;
                shape.single = false;
                last = Last::Blank;
            }
            Class::Colon => {
                shape.plain &= !matches!(text.get(at), None | Some(b' ' | b'\t'));
                last = Last::Text;
            }
            Class::Hash => {
                shape.plain &= last == Last::Text;
                last = Last::Text;
            }
            Class::Nul | Class::Control => {
                special = true;
                last = if class == Class::Nul { Last::Blank } else { Last::Text };
            }
            Class::Wide => {
                let wide = wide(text.get(at - 1..).unwrap_or_default());
                at += wide.len - 1;
                special |= !wide.printable || (wide.breaks && last == Last::Space);
                shape.multiline |= wide.breaks;
                last = if wide.breaks { Last::Break } else { Last::Text };
            }
            Class::Other => {}
        }
    }
    if special {
        shape.single = false;
        shape.block = false;
    }
    if special || shape.multiline {
        shape.plain = false;
    }
    shape
}

/// Whether a text begins like something else than a scalar.
fn starts_structure(first: u8, text: &[u8]) -> bool {
    match first {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%'
        | b'@' | b'`' => true,
        b'?' | b':' => matches!(text.get(1), None | Some(b' ' | b'\t')),
        b'-' => matches!(text.get(1), None | Some(b' ' | b'\t')) || text.starts_with(b"---"),
        b'.' => text.starts_with(b"..."),
        _ => false,
    }
}

/// What matters of a character of more than one byte.
pub(super) struct Wide {
    /// It may stand unescaped.
    pub(super) printable: bool,
    /// It breaks lines.
    pub(super) breaks: bool,
    /// Its bytes.
    pub(super) len: usize,
}

/// Looks at the character that starts here.
pub(super) fn wide(text: &[u8]) -> Wide {
    let (len, printable) = match text {
        [0xc2, second, ..] => (2, *second >= 0xa0),
        [0xc3..=0xdf, ..] => (2, true),
        [0xef, 0xbb, 0xbf, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..] => (3, false),
        [0xe0..=0xef, ..] => (3, true),
        _ => (4, false),
    };
    let breaks = matches!(text, [0xc2, 0x85, ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..]);
    Wide { printable, breaks, len }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn styles(text: &str, dialect: Dialect) -> (bool, bool, bool) {
        let shape = shape(text.as_bytes(), dialect);
        (shape.plain, shape.single, shape.block)
    }

    #[test]
    fn indicators_forbid_the_plain_style_only_where_they_mean_something() {
        for (text, plain) in [
            ("a", true),
            ("a:b", true),
            ("a: b", false),
            ("a:", false),
            ("a:\t", false),
            ("a#b", true),
            ("a #b", false),
            ("-a", true),
            ("- a", false),
            ("-", false),
            ("---", false),
            ("--", true),
            ("...a", false),
            (":a", true),
            ("? a", false),
            ("?a", true),
            ("*a", false),
            ("a*", true),
            ("@", false),
            (" a", false),
            ("a ", false),
            ("a\u{2028}b", false),
            ("é", true),
            ("\u{1f600}", false),
        ] {
            assert_eq!(styles(text, Dialect::Kubernetes).0, plain, "{text:?}");
        }
    }

    #[test]
    fn a_calm_text_has_the_shape_that_a_careful_look_finds() {
        for text in
            ["", " ", "a", " a", "a ", "a b", "-", "- a", "*", "\"q\"", "..", "...", "?", "? x", "a  b", "'"]
        {
            for text in [text.to_owned(), format!("{text}{}", "x y".repeat(20))] {
                assert!(calm(text.as_bytes()), "{text:?}");
                let careful = careful_shape(text.as_bytes(), Dialect::Kubernetes);
                assert_eq!(calm_shape(text.as_bytes()), careful, "{text:?}");
            }
        }
        for text in ["a:b", "#", "é", "a\tb", "\u{7f}", "\n"] {
            assert!(!calm(text.as_bytes()), "{text:?}");
            assert!(!calm(format!("{}{text}", "x".repeat(40)).as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn white_space_around_breaks_forbids_styles() {
        assert_eq!(styles("a\nb", Dialect::Kubernetes), (false, true, true));
        assert_eq!(styles("a \nb", Dialect::Kubernetes), (false, false, false));
        assert_eq!(styles("a\n b", Dialect::Kubernetes), (false, false, true));
        assert_eq!(styles("a\nb ", Dialect::Kubernetes), (false, true, false));
        assert_eq!(styles("a\tb\n", Dialect::Kubernetes), (false, false, false));
        assert_eq!(styles("a\tb\n", Dialect::Pretty), (false, false, true));
    }
}
