//! The text of scalars: escapes resolved, line breaks folded, indentation removed.

use std::borrow::Cow;

use super::cursor::{BLANK, LINE, break_len, class, line_end};
use super::token::{Chomp, Form, Scalar};

/// Puts the text of a scalar together. The scanner has checked that it is well formed.
pub(super) fn cook<'t>(text: &'t [u8], scalar: &Scalar) -> Cow<'t, [u8]> {
    let span = text.get(..scalar.to as usize).unwrap_or_default();
    match scalar.form {
        Form::Verbatim => Cow::Borrowed(text.get(scalar.span()).unwrap_or_default()),
        Form::Plain | Form::Single | Form::Double => Cow::Owned(flow(span, scalar)),
        Form::Literal | Form::Folded => Cow::Owned(block(span, scalar)),
    }
}

/// Appends a line break: all become a line feed, except for the Unicode separators.
fn push_break(out: &mut Vec<u8>, text: &[u8], at: usize, len: usize) {
    if len == 3 { out.extend_from_slice(text.get(at..at + len).unwrap_or_default()) } else { out.push(b'\n') }
}

fn flow(text: &[u8], scalar: &Scalar) -> Vec<u8> {
    let mut out = Vec::with_capacity(scalar.span().len());
    let mut at = scalar.from as usize;
    while let Some(&byte) = text.get(at) {
        if class(byte) & BLANK != 0 || break_len(text, at) > 0 {
            at = fold(text, at, false, &mut out);
        } else if byte == b'\'' && scalar.form == Form::Single {
            out.push(byte);
            at += 2;
        } else if byte == b'\\' && scalar.form == Form::Double {
            let len = break_len(text, at + 1);
            at =
                if len > 0 { fold(text, at + 1 + len, true, &mut out) } else { unescape(text, at, &mut out) };
        } else {
            out.push(byte);
            at += 1;
        }
    }
    out
}

/// Appends what stands for a gap between the parts of a flow scalar; says where it ends. `broken` if an escaped line
/// break came before it.
fn fold(text: &[u8], from: usize, broken: bool, out: &mut Vec<u8>) -> usize {
    let mut at = from;
    let mut first = None;
    let mut more = Vec::new();
    while let Some(&byte) = text.get(at) {
        let len = break_len(text, at);
        if len > 0 {
            if broken || first.is_some() {
                push_break(&mut more, text, at, len);
            } else {
                first = Some((at, len));
            }
            at += len;
        } else if class(byte) & BLANK != 0 {
            at += 1;
        } else {
            break;
        }
    }
    match first {
        None if !broken => out.extend_from_slice(text.get(from..at).unwrap_or_default()),
        None => {}
        Some((_, 1 | 2)) if more.is_empty() => out.push(b' '),
        Some((_, 1 | 2)) => {}
        Some((start, len)) => push_break(out, text, start, len),
    }
    out.append(&mut more);
    at
}

/// Appends the character of an escape sequence; says where it ends.
fn unescape(text: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let (letter, digits) = match text.get(at + 1).copied().unwrap_or_default() {
        b'0' => ('\0', 0),
        b'a' => ('\x07', 0),
        b'b' => ('\x08', 0),
        b't' => ('\t', 0),
        b'n' => ('\n', 0),
        b'v' => ('\x0b', 0),
        b'f' => ('\x0c', 0),
        b'r' => ('\r', 0),
        b'e' => ('\x1b', 0),
        b'N' => ('\u{85}', 0),
        b'_' => ('\u{a0}', 0),
        b'L' => ('\u{2028}', 0),
        b'P' => ('\u{2029}', 0),
        b'x' => ('\0', 2),
        b'u' => ('\0', 4),
        b'U' => ('\0', 8),
        other => (char::from(other), 0),
    };
    let end = at + 2 + digits;
    let code = text.get(at + 2..end).unwrap_or_default();
    let code = code.iter().fold(0, |code, &b| code << 4 | char::from(b).to_digit(16).unwrap_or_default());
    let c = if digits == 0 { letter } else { char::from_u32(code).unwrap_or_default() };
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    end
}

fn block(text: &[u8], scalar: &Scalar) -> Vec<u8> {
    let mut out = Vec::with_capacity(scalar.span().len());
    let mut breaks = Vec::new();
    let mut last_break = Vec::new();
    let mut after_blank = false;
    let mut at = scalar.from as usize;
    loop {
        let content;
        (at, content) = skip_breaks(text, at, scalar.indent as usize, &mut breaks);
        if !content {
            break;
        }
        let blank = text.get(at).is_some_and(|&b| class(b) & BLANK != 0);
        if scalar.form == Form::Folded && !after_blank && !blank && last_break == b"\n" {
            if breaks.is_empty() {
                out.push(b' ');
            }
        } else {
            out.append(&mut last_break);
        }
        last_break.clear();
        out.append(&mut breaks);
        after_blank = blank;
        let end = line_end(text, at);
        out.extend_from_slice(text.get(at..end).unwrap_or_default());
        let len = break_len(text, end);
        if len > 0 {
            push_break(&mut last_break, text, end, len);
        }
        at = end + len;
    }
    if scalar.chomp != Chomp::Strip {
        out.append(&mut last_break);
    }
    if scalar.chomp == Chomp::Keep {
        out.append(&mut breaks);
    }
    out
}

/// Collects the line breaks of empty lines. Says where it stopped, and whether a line of content starts there.
fn skip_breaks(text: &[u8], mut at: usize, indent: usize, breaks: &mut Vec<u8>) -> (usize, bool) {
    loop {
        let spaces =
            text.get(at..).unwrap_or_default().iter().take(indent).take_while(|&&b| b == b' ').count();
        at += spaces;
        let len = if text.get(at).is_some_and(|&b| class(b) & LINE != 0) { break_len(text, at) } else { 0 };
        if len == 0 {
            return (at, spaces == indent && at < text.len());
        }
        push_break(breaks, text, at, len);
        at += len;
    }
}
