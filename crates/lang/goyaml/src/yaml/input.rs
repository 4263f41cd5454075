//! From bytes to checked UTF-8 text.
//!
//! go-yaml reads its input in loads of 512 bytes and checks each load when it arrives. That can be seen from outside in
//! two cases: a bad character hides a syntax error before it exactly if both are in reach of the same load, and a byte
//! order mark inside the text is recognised only where a load happens to start. Texts with neither (nearly all) need
//! no bookkeeping; for the others, [`Loads`] says where the loads end.

use std::borrow::Cow;

/// How many bytes go-yaml reads at once.
const LOAD: usize = 512;

/// The largest text that is read: offsets have 32 bits. Whatever is larger is no YAML.
pub(super) const MAX_SIZE: usize = (1 << 32) - 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A text that is ready to be scanned.
pub(super) struct Input<'t> {
    pub text: Cow<'t, [u8]>,
    /// Whether one byte is one character.
    pub ascii: bool,
    pub loads: Option<Loads>,
}

/// Where the loads of an unusual text end.
pub(super) struct Loads {
    /// The ends of the good loads, as offsets into the text.
    pub ends: Vec<usize>,
    /// What is wrong with the load after the last good one.
    pub failure: Option<Failure>,
}

/// A character that cannot be.
pub(super) struct Failure {
    pub problem: &'static str,
    /// Its line and column, from 0.
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Copy)]
enum Encoding {
    Utf8,
    Utf16 { little: bool },
}

impl<'t> Input<'t> {
    /// Settles the encoding and checks all characters.
    pub fn new(raw: &'t [u8]) -> Self {
        let (encoding, skip) = match raw {
            [0xff, 0xfe, ..] => (Encoding::Utf16 { little: true }, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16 { little: false }, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        if raw.len() > MAX_SIZE {
            let failure = Some(Failure { problem: "input error: text is too large", line: 0, column: 0 });
            return Self {
                text: Cow::Borrowed(&[]),
                ascii: true,
                loads: Some(Loads { ends: Vec::new(), failure }),
            };
        }
        if matches!(encoding, Encoding::Utf8) {
            let text = raw.get(skip..).unwrap_or_default();
            let ascii = text.is_ascii();
            if ascii_is_fine(text) && (ascii || rest_is_fine(text)) {
                return Self { text: Cow::Borrowed(text), ascii, loads: None };
            }
        }
        Self::carefully(raw, encoding, skip)
    }

    fn carefully(raw: &'t [u8], encoding: Encoding, skip: usize) -> Self {
        let mut text = Vec::new();
        let mut ends = Vec::new();
        let mut failure = None;
        let mut at = skip;
        let mut load_end = LOAD.min(raw.len());
        'loads: loop {
            let load = raw.get(..load_end).unwrap_or_default();
            while at < load_end {
                match character(load.get(at..).unwrap_or_default(), encoding) {
                    Ok((c, width)) => {
                        text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                        at += width;
                    }
                    Err(Trouble::Incomplete(_)) => break,
                    Err(Trouble::Bad(problem)) => {
                        failure = Some(problem);
                        break 'loads;
                    }
                }
            }
            ends.push(text.len());
            if at >= raw.len() {
                break;
            }
            if load_end == raw.len() {
                // The input ends inside a character, which shows only when more is asked for.
                if let Err(Trouble::Incomplete(problem)) =
                    character(raw.get(at..).unwrap_or_default(), encoding)
                {
                    failure = Some(problem);
                }
                break;
            }
            load_end = raw.len().min(at + LOAD);
        }
        let failure = failure.map(|problem| {
            let (line, column) = end_of(&text);
            Failure { problem, line, column }
        });
        text.truncate(if failure.is_some() { ends.last().copied().unwrap_or_default() } else { text.len() });
        let usual = failure.is_none() && !text.windows(BOM.len()).any(|w| w == BOM);
        let ascii = text.is_ascii();
        Self { text: Cow::Owned(text), ascii, loads: (!usual).then_some(Loads { ends, failure }) }
    }
}

/// Whether there is no control character among the ASCII ones.
fn ascii_is_fine(text: &[u8]) -> bool {
    let control = |b: u8| b.wrapping_sub(0x20) > 0xdf || b == 0x7f;
    // A fold over all bytes of a block has no early exit and so runs on whole vectors.
    text.chunks(256).all(|block| {
        let bad = block
            .iter()
            .fold(0_u8, |bad, &b| bad | u8::from(control(b) & (b != b'\n') & (b != b'\t') & (b != b'\r')));
        bad == 0
    })
}

/// Whether all is UTF-8, without control characters, noncharacters and byte order marks.
fn rest_is_fine(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok()
        && text.windows(3).all(|w| match *w {
            [0xc2, second, _] => second == 0x85 || second >= 0xa0,
            [0xef, 0xbb, third] => third != 0xbf,
            [0xef, 0xbf, third] => third < 0xbe,
            _ => true,
        })
        && !matches!(*text, [.., 0xc2, second] if second != 0x85 && second < 0xa0)
}

fn end_of(text: &[u8]) -> (u32, u32) {
    let line = text.iter().filter(|&&b| b == b'\n').count();
    let column = text.iter().rev().take_while(|&&b| b != b'\n').count();
    (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
}

enum Trouble {
    /// The input may go on, with the rest of the character. The text is for when it does not.
    Incomplete(&'static str),
    Bad(&'static str),
}

fn character(bytes: &[u8], encoding: Encoding) -> Result<(char, usize), Trouble> {
    let (code, width) = match encoding {
        Encoding::Utf8 => utf8(bytes)?,
        Encoding::Utf16 { little } => utf16(bytes, little)?,
    };
    let allowed =
        matches!(code, 0x9 | 0xa | 0xd | 0x20..=0x7e | 0x85 | 0xa0..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..);
    match char::from_u32(code) {
        Some(c) if allowed => Ok((c, width)),
        _ => Err(Trouble::Bad("control characters are not allowed")),
    }
}

fn utf8(bytes: &[u8]) -> Result<(u32, usize), Trouble> {
    let first = bytes.first().copied().unwrap_or_default();
    let (width, bits) = match first {
        0..0x80 => return Ok((u32::from(first), 1)),
        0xc0..0xe0 => (2, first & 0x1f),
        0xe0..0xf0 => (3, first & 0x0f),
        0xf0..0xf8 => (4, first & 0x07),
        _ => return Err(Trouble::Bad("invalid leading UTF-8 octet")),
    };
    let Some(rest) = bytes.get(1..width) else {
        return Err(Trouble::Incomplete("incomplete UTF-8 octet sequence"));
    };
    let mut code = u32::from(bits);
    for &b in rest {
        if b & 0xc0 != 0x80 {
            return Err(Trouble::Bad("invalid trailing UTF-8 octet"));
        }
        code = (code << 6) | u32::from(b & 0x3f);
    }
    let least = match width {
        2 => 0x80,
        3 => 0x800,
        _ => 0x1_0000,
    };
    if code < least {
        return Err(Trouble::Bad("invalid length of a UTF-8 sequence"));
    }
    if char::from_u32(code).is_none() {
        return Err(Trouble::Bad("invalid Unicode character"));
    }
    Ok((code, width))
}

fn utf16(bytes: &[u8], little: bool) -> Result<(u32, usize), Trouble> {
    let unit = |at: usize| match bytes.get(at..at + 2) {
        Some(&[a, b]) => {
            Some(u32::from(if little { u16::from_le_bytes([a, b]) } else { u16::from_be_bytes([a, b]) }))
        }
        _ => None,
    };
    let Some(first) = unit(0) else {
        return Err(Trouble::Incomplete("incomplete UTF-16 character"));
    };
    match first {
        0xdc00..0xe000 => Err(Trouble::Bad("unexpected low surrogate area")),
        0xd800..0xdc00 => match unit(2) {
            None => Err(Trouble::Incomplete("incomplete UTF-16 surrogate pair")),
            Some(second @ 0xdc00..0xe000) => Ok((0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff), 4)),
            Some(_) => Err(Trouble::Bad("expected low surrogate area")),
        },
        _ => Ok((first, 2)),
    }
}
