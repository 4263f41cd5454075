//! `Printf`'s format language.

use super::printer::{Flags, MAX_BYTES, Printer};
use crate::gostr;
use crate::types::Kind;
use crate::value::Value;

/// Widths and argument numbers beyond this are no numbers.
const TOO_LARGE: usize = 1_000_000;

struct Format<'f, 'a, 'h> {
    text: &'f [u8],
    at: usize,
    args: &'a [Value<'h>],
    next: usize,
    reordered: bool,
    good_number: bool,
    after_index: bool,
}

/// `fmt.Sprintf`.
pub fn sprintf(format: &[u8], args: &[Value<'_>]) -> Vec<u8> {
    let mut printer = Printer::new(Vec::with_capacity(format.len() + 16));
    let mut f = Format {
        text: format,
        at: 0,
        args,
        next: 0,
        reordered: false,
        good_number: true,
        after_index: false,
    };
    while printer.out.len() <= MAX_BYTES && f.directive(&mut printer) {}
    if !f.reordered && f.next < args.len() {
        printer.flags = Flags::default();
        printer.out.extend_from_slice(b"%!(EXTRA ");
        for (i, arg) in args[f.next..].iter().enumerate() {
            if i > 0 {
                printer.out.extend_from_slice(b", ");
            }
            if arg.is_nil() {
                printer.out.extend_from_slice(b"<nil>");
            } else {
                printer.out.extend_from_slice(arg.type_name().as_bytes());
                printer.out.push(b'=');
                printer.arg(arg, 'v');
            }
        }
        printer.out.push(b')');
    }
    printer.finish()
}

impl Format<'_, '_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Copies text up to the next directive and prints that. False at the end.
    fn directive(&mut self, p: &mut Printer) -> bool {
        self.good_number = true;
        let rest = &self.text[self.at..];
        let plain = rest.iter().position(|b| *b == b'%').unwrap_or(rest.len());
        p.out.extend_from_slice(&rest[..plain]);
        self.at += plain;
        if self.at >= self.text.len() {
            return false;
        }
        self.at += 1;
        p.flags = Flags::default();
        while let Some(c) = self.peek() {
            match c {
                b'#' => p.flags.sharp = true,
                b'0' => p.flags.zero = true,
                b'+' => p.flags.plus = true,
                b'-' => p.flags.minus = true,
                b' ' => p.flags.space = true,
                _ => break,
            }
            self.at += 1;
        }
        // The common case: a letter right after the flags.
        if let Some(c) = self.peek().filter(u8::is_ascii_lowercase)
            && self.next < self.args.len()
        {
            self.at += 1;
            self.print(p, c as char);
            return true;
        }
        self.argument_number();
        self.width(p);
        self.precision(p);
        if !self.after_index {
            self.argument_number();
        }
        let (verb, size) = gostr::decode_char(&self.text[self.at.min(self.text.len())..]);
        if size == 0 {
            p.out.extend_from_slice(b"%!(NOVERB)");
            return false;
        }
        self.at += size;
        match verb {
            '%' => p.out.push(b'%'),
            _ if !self.good_number => p.out.extend_from_slice(format!("%!{verb}(BADINDEX)").as_bytes()),
            _ if self.next >= self.args.len() => {
                p.out.extend_from_slice(format!("%!{verb}(MISSING)").as_bytes());
            }
            _ => self.print(p, verb),
        }
        true
    }

    fn print(&mut self, p: &mut Printer, verb: char) {
        if matches!(verb, 'v' | 'w') {
            p.flags.sharp_v = std::mem::take(&mut p.flags.sharp);
            p.flags.plus_v = std::mem::take(&mut p.flags.plus);
        }
        p.arg(&self.args[self.next], verb);
        self.next += 1;
    }

    fn width(&mut self, p: &mut Printer) {
        if self.peek() == Some(b'*') {
            self.at += 1;
            match self.int_argument() {
                Some(width) => {
                    if width < 0 {
                        p.flags.minus = true;
                        p.flags.zero = false;
                    }
                    p.flags.width = Some(width.unsigned_abs() as usize);
                }
                None => p.out.extend_from_slice(b"%!(BADWIDTH)"),
            }
            self.after_index = false;
        } else {
            p.flags.width = self.number(self.text.len());
            if self.after_index && p.flags.width.is_some() {
                self.good_number = false;
            }
        }
    }

    fn precision(&mut self, p: &mut Printer) {
        if self.at + 1 >= self.text.len() || self.peek() != Some(b'.') {
            return;
        }
        self.at += 1;
        if self.after_index {
            self.good_number = false;
        }
        self.argument_number();
        if self.peek() == Some(b'*') {
            self.at += 1;
            p.flags.precision = self.int_argument().and_then(|n| usize::try_from(n).ok());
            if p.flags.precision.is_none() {
                p.out.extend_from_slice(b"%!(BADPREC)");
            }
            self.after_index = false;
        } else {
            p.flags.precision = Some(self.number(self.text.len()).unwrap_or(0));
        }
    }

    /// A number at the current place; an absurd one swallows everything up to `end`.
    fn number(&mut self, end: usize) -> Option<usize> {
        let mut n: Option<usize> = None;
        while let Some(d) = self.peek().filter(|d| self.at < end && d.is_ascii_digit()) {
            if n.unwrap_or(0) > TOO_LARGE {
                self.at = end;
                return None;
            }
            n = Some(n.unwrap_or(0) * 10 + usize::from(d - b'0'));
            self.at += 1;
        }
        if self.at >= end && n.is_none() {
            self.at = end;
        }
        n
    }

    fn int_argument(&mut self) -> Option<i64> {
        let arg = self.args.get(self.next)?;
        self.next += 1;
        let n = match (arg.kind(), arg) {
            (_, Value::Int(i) | Value::Int64(i)) => *i,
            (_, Value::Int32(i)) => i64::from(*i),
            (_, Value::Uint8(u)) => i64::from(*u),
            (_, Value::Uint64(u)) => i64::try_from(*u).ok()?,
            (Kind::Int(_), Value::Opaque(o)) => match o.basic()? {
                Value::Int64(i) | Value::Int(i) => i,
                _ => return None,
            },
            _ => return None,
        };
        (n.unsigned_abs() as usize <= TOO_LARGE).then_some(n)
    }

    /// An explicit argument number like `[3]`.
    fn argument_number(&mut self) {
        self.after_index = false;
        if self.peek() != Some(b'[') {
            return;
        }
        self.reordered = true;
        let start = self.at;
        let rest = self.text.len() - start;
        let close = (1..rest).find(|i| self.text[start + i] == b']').filter(|_| rest >= 3);
        let Some(close) = close else {
            self.at = start + 1;
            self.good_number = false;
            return;
        };
        self.at = start + 1;
        let number = self.number(start + close);
        let whole = self.at == start + close;
        self.at = start + close + 1;
        match number.filter(|_| whole) {
            Some(n) => {
                self.after_index = true;
                if n >= 1 && n <= self.args.len() {
                    self.next = n - 1;
                } else {
                    self.good_number = false;
                }
            }
            None => self.good_number = false,
        }
    }
}
