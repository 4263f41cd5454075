//! Printing one value with a verb and flags.

use crate::gostr;
use crate::types::{Kind, Shape, Type};
use crate::value::Value;

/// How deeply nested a value may be and still be printed; deeper ones contain themselves.
const MAX_DEPTH: usize = 10_000;
/// How many parts of one value are printed: only a value that contains itself several times has more.
const MAX_PARTS: usize = 20_000_000;
/// How many bytes are printed at once, about: a text that is longer is not whole.
pub const MAX_BYTES: usize = 512 << 20;

/// The address that every pointer is printed with: as long as most of Go's.
const ADDRESS: u64 = 0x7c00_0000_0000;

/// The flags of one directive.
#[derive(Clone, Copy, Default)]
pub struct Flags {
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%+v`.
    pub plus_v: bool,
    /// `%#v`.
    pub sharp_v: bool,
}

impl Flags {
    fn is_plain(&self) -> bool {
        let Self { width, precision, minus: _, plus, sharp, space, zero: _, plus_v: _, sharp_v } = self;
        width.is_none() && precision.is_none() && !plus && !sharp && !space && !sharp_v
    }
}

/// Something left to print.
enum Work<'h> {
    Value(Value<'h>, usize),
    Text(&'static str),
    Name(&'static str),
}

/// Whether Go prints the value without looking for methods.
fn is_plain(v: &Value<'_>) -> bool {
    !matches!(v, Value::List(_) | Value::Map(_) | Value::Struct(_) | Value::Opaque(_))
}

/// Prints values into a buffer.
pub struct Printer {
    pub(super) out: Vec<u8>,
    pub(super) flags: Flags,
    erroring: bool,
}

impl Printer {
    pub fn new(out: Vec<u8>) -> Self {
        Self { out, flags: Flags::default(), erroring: false }
    }

    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    pub(super) fn spaces(&mut self, n: usize) {
        self.out.resize(self.out.len() + n, b' ');
    }

    /// Writes with the width, filling with zeros when asked.
    pub(super) fn pad(&mut self, text: &[u8]) {
        let fill = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
        self.pad_by(text, fill);
    }

    /// Writes with the width, filling with spaces whatever the flags say.
    pub(super) fn pad_with_spaces(&mut self, text: &[u8]) {
        self.pad_by(text, b' ');
    }

    fn pad_by(&mut self, text: &[u8], fill: u8) {
        let Some(width) = self.flags.width.filter(|w| *w > 0) else {
            self.out.extend_from_slice(text);
            return;
        };
        let missing = width.saturating_sub(gostr::runes(text).count());
        if self.flags.minus {
            self.out.extend_from_slice(text);
            self.out.resize(self.out.len() + missing, fill);
        } else {
            self.out.resize(self.out.len() + missing, fill);
            self.out.extend_from_slice(text);
        }
    }

    /// An operand of `Printf`.
    pub fn arg(&mut self, v: &Value<'_>, verb: char) {
        if v.is_nil() {
            match verb {
                'T' | 'v' => self.pad(b"<nil>"),
                _ => self.bad_verb(None, verb),
            }
            return;
        }
        match verb {
            'T' => self.text(v.type_name().as_bytes()),
            'p' => self.pointer(v, verb),
            // Only `Errorf` wraps, and only what is no plain value is asked whether it is an error.
            'w' if !is_plain(v) => self.bad_verb(Some(v), verb),
            _ => self.print(v, verb, true),
        }
    }

    fn bad_verb(&mut self, v: Option<&Value<'_>>, verb: char) {
        self.erroring = true;
        self.out.extend_from_slice(format!("%!{verb}(").as_bytes());
        match v {
            Some(v) => {
                self.out.extend_from_slice(v.type_name().as_bytes());
                self.out.push(b'=');
                self.print(v, 'v', true);
            }
            None => self.out.extend_from_slice(b"<nil>"),
        }
        self.out.push(b')');
        self.erroring = false;
    }

    /// Prints a value and everything in it, without recursion.
    fn print(&mut self, v: &Value<'_>, verb: char, operand: bool) {
        let mut work = vec![Work::Value(v.clone(), usize::from(!operand))];
        let mut parts = 0;
        while let Some(item) = work.pop() {
            match item {
                Work::Text(text) => self.out.extend_from_slice(text.as_bytes()),
                Work::Name(name) => {
                    self.out.extend_from_slice(name.as_bytes());
                    self.out.push(b':');
                }
                Work::Value(v, depth) => {
                    parts += 1;
                    if depth > MAX_DEPTH || parts > MAX_PARTS || self.out.len() > MAX_BYTES {
                        self.out.extend_from_slice(b"%!v(NESTED TOO DEEPLY)");
                        return;
                    }
                    self.one(&v, verb, depth, &mut work);
                }
            }
        }
    }

    fn one<'h>(&mut self, v: &Value<'h>, verb: char, depth: usize, work: &mut Vec<Work<'h>>) {
        let fits = match v {
            Value::Nil | Value::NilAny => {
                match (self.flags.sharp_v, verb, v) {
                    (true, ..) => self.out.extend_from_slice(b"interface {}(nil)"),
                    (_, 'v', _) => self.out.extend_from_slice(b"<nil>"),
                    _ => self.out.extend_from_slice(b"<nil>"),
                }
                true
            }
            Value::Bool(b) => {
                let fits = matches!(verb, 't' | 'v');
                if fits {
                    self.pad(if *b { b"true" } else { b"false" });
                }
                fits
            }
            Value::Int(i) | Value::Int64(i) => self.integer(*i as u64, true, verb),
            Value::Int32(i) => self.integer(i64::from(*i) as u64, true, verb),
            Value::Uint8(u) => self.integer(u64::from(*u), false, verb),
            Value::Uint64(u) => self.integer(*u, false, verb),
            Value::Float(f) => self.float(*f, verb),
            Value::Complex(re, im) => self.complex(*re, *im, verb),
            Value::Str(s) => self.string(s, verb),
            Value::Bytes(_) if self.flags.sharp_v && v.is_nil_of_type() => {
                self.out.extend_from_slice(if depth == 0 { b"[]byte(nil)" } else { b"[]uint8(nil)" });
                true
            }
            Value::Bytes(b) => {
                self.bytes(b, verb, if depth == 0 { "[]byte" } else { "[]uint8" }, work, depth);
                true
            }
            Value::List(l) => {
                self.sequence(l, depth, work);
                true
            }
            Value::Map(m) => {
                if self.flags.sharp_v {
                    self.out.extend_from_slice(m.ty.name.as_bytes());
                    if m.nil {
                        self.out.extend_from_slice(b"(nil)");
                        return;
                    }
                }
                self.out.extend_from_slice(if self.flags.sharp_v { b"{" } else { b"map[" });
                let mut items = Vec::new();
                for (i, (key, value)) in m.borrow().iter().enumerate() {
                    if i > 0 {
                        items.push(Work::Text(self.separator()));
                    }
                    items.push(Work::Value(Value::Str(key.clone()), depth + 1));
                    items.push(Work::Text(":"));
                    items.push(Work::Value(value.clone(), depth + 1));
                }
                items.push(Work::Text(if self.flags.sharp_v { "}" } else { "]" }));
                work.extend(items.into_iter().rev());
                true
            }
            Value::Struct(s) => {
                self.structure(v, s.ty, &s.fields, verb, depth, work);
                true
            }
            Value::Opaque(o) => {
                let methods = !self.erroring;
                if let (true, false, 'v' | 's' | 'x' | 'X' | 'q', Some(text)) =
                    (methods, self.flags.sharp_v, verb, o.string())
                {
                    self.string(text.as_bytes(), verb)
                } else if let (true, true, Some(text)) = (methods, self.flags.sharp_v, o.go_string()) {
                    self.text(text.as_bytes());
                    true
                } else if let Some(basic) = o.basic() {
                    match basic {
                        Value::Int64(i) | Value::Int(i) => self.integer(i as u64, true, verb),
                        Value::Str(s) => self.string(&s, verb),
                        _ => false,
                    }
                } else {
                    self.opaque_parts(v, o.as_ref(), verb, depth, work);
                    true
                }
            }
        };
        if !fits {
            self.bad_verb(Some(v), verb);
        }
    }

    fn separator(&self) -> &'static str {
        if self.flags.sharp_v { ", " } else { " " }
    }

    fn sequence<'h>(&mut self, l: &crate::value::List<'h>, depth: usize, work: &mut Vec<Work<'h>>) {
        if self.flags.sharp_v {
            self.out.extend_from_slice(l.ty.name.as_bytes());
            if l.nil {
                self.out.extend_from_slice(b"(nil)");
                return;
            }
        }
        self.out.push(if self.flags.sharp_v { b'{' } else { b'[' });
        let mut items = Vec::with_capacity(l.items.len() * 2 + 1);
        for (i, value) in l.items.iter().enumerate() {
            if i > 0 {
                items.push(Work::Text(self.separator()));
            }
            items.push(Work::Value(value.clone(), depth + 1));
        }
        items.push(Work::Text(if self.flags.sharp_v { "}" } else { "]" }));
        work.extend(items.into_iter().rev());
    }

    fn structure<'h>(
        &mut self,
        v: &Value<'h>,
        ty: &'static Type,
        fields: &[Value<'h>],
        verb: char,
        depth: usize,
        work: &mut Vec<Work<'h>>,
    ) {
        let (described, pointer) = match ty.shape {
            Shape::Pointer(target) => (target, true),
            _ => (ty, false),
        };
        if pointer {
            if depth > 0 {
                self.pointer(v, verb);
                return;
            }
            self.out.push(b'&');
        }
        let Shape::Struct(names) = described.shape else {
            return;
        };
        if self.flags.sharp_v {
            self.out.extend_from_slice(described.name.as_bytes());
        }
        self.out.push(b'{');
        let mut items = Vec::new();
        for (i, (field, value)) in names.iter().zip(fields).enumerate() {
            if i > 0 {
                items.push(Work::Text(self.separator()));
            }
            if self.flags.plus_v || self.flags.sharp_v {
                items.push(Work::Name(field.name));
            }
            items.push(Work::Value(value.clone(), depth + 1));
        }
        items.push(Work::Text("}"));
        work.extend(items.into_iter().rev());
    }

    fn opaque_parts<'h>(
        &mut self,
        v: &Value<'h>,
        o: &dyn crate::value::Opaque,
        verb: char,
        depth: usize,
        work: &mut Vec<Work<'h>>,
    ) {
        let ty = o.ty();
        let (described, inside) = match ty.shape {
            Shape::Pointer(target) => {
                if depth > 0 || o.nil() {
                    self.pointer(v, verb);
                    return;
                }
                self.out.push(b'&');
                (target, depth + 2)
            }
            _ => (ty, depth + 1),
        };
        if self.flags.sharp_v {
            self.out.extend_from_slice(described.name.as_bytes());
            if o.nil() {
                self.out.extend_from_slice(b"(nil)");
                return;
            }
        }
        let slice = matches!(described.shape, Shape::Slice(_));
        let (open, close) = if slice && !self.flags.sharp_v { (b'[', "]") } else { (b'{', "}") };
        self.out.push(open);
        let mut items = Vec::new();
        for (i, (name, value)) in o.parts().into_iter().enumerate() {
            if i > 0 {
                items.push(Work::Text(self.separator()));
            }
            if !slice && (self.flags.plus_v || self.flags.sharp_v) {
                items.push(Work::Name(name));
            }
            items.push(Work::Value(value.adopt(), inside));
        }
        items.push(Work::Text(close));
        work.extend(items.into_iter().rev());
    }

    /// `%p`, and pointers inside other values. Addresses are random in Go as well; ours is always the same.
    fn pointer(&mut self, v: &Value<'_>, verb: char) {
        let fits = match v {
            Value::List(_) | Value::Map(_) | Value::Bytes(_) => true,
            _ => v.kind() == Kind::Ptr,
        };
        let address = if v.is_nil_of_type() { 0 } else { ADDRESS };
        let sharp = self.flags.sharp;
        match verb {
            _ if !fits => self.bad_verb(Some(v), verb),
            'v' if self.flags.sharp_v => {
                self.out.extend_from_slice(format!("({})(", v.type_name()).as_bytes());
                if address == 0 {
                    self.out.extend_from_slice(b"nil");
                } else {
                    self.flags.sharp = true;
                    self.flags.sharp_v = false;
                    self.integer(address, false, 'x');
                    self.flags.sharp = sharp;
                    self.flags.sharp_v = true;
                }
                self.out.push(b')');
            }
            'v' if address == 0 => self.pad(b"<nil>"),
            'v' | 'p' => {
                self.flags.sharp = !sharp;
                self.integer(address, false, 'x');
                self.flags.sharp = sharp;
            }
            'b' | 'o' | 'd' | 'x' | 'X' => {
                self.integer(address, false, verb);
            }
            _ => self.bad_verb(Some(v), verb),
        }
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self.flags.precision {
            Some(n) => gostr::runes(text).nth(n).map_or(text, |(at, ..)| &text[..at]),
            None => text,
        }
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        self.pad(text);
    }

    /// A string with any verb. False when the verb is not one for strings.
    fn string(&mut self, text: &[u8], verb: char) -> bool {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => self.text(text),
            'x' => self.hex(text, false),
            'X' => self.hex(text, true),
            'q' => self.quoted(text),
            _ => return false,
        }
        true
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        if self.flags.sharp && gostr::can_backquote(text) {
            let mut quoted = vec![b'`'];
            quoted.extend_from_slice(text);
            quoted.push(b'`');
            self.pad(&quoted);
        } else if self.flags.plus {
            self.pad(&gostr::quote_to_ascii(text));
        } else {
            self.pad(&gostr::quote(text));
        }
    }

    fn hex(&mut self, text: &[u8], upper: bool) {
        let text = &text[..self.flags.precision.map_or(text.len(), |p| p.min(text.len()))];
        if text.is_empty() {
            let fill = if self.flags.zero && !self.flags.minus { b'0' } else { b' ' };
            self.out.resize(self.out.len() + self.flags.width.unwrap_or(0), fill);
            return;
        }
        let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        let prefix: &[u8] = if upper { b"0X" } else { b"0x" };
        let mut encoded = Vec::with_capacity(text.len() * 2 + 2);
        for (i, b) in text.iter().enumerate() {
            if self.flags.space && i > 0 {
                encoded.push(b' ');
            }
            if self.flags.sharp && (self.flags.space || i == 0) {
                encoded.extend_from_slice(prefix);
            }
            encoded.push(digits[usize::from(b >> 4)]);
            encoded.push(digits[usize::from(b & 15)]);
        }
        self.pad(&encoded);
    }

    fn bytes<'h>(
        &mut self,
        b: &[u8],
        verb: char,
        type_name: &'static str,
        work: &mut Vec<Work<'h>>,
        depth: usize,
    ) {
        match verb {
            's' => self.text(b),
            'x' => self.hex(b, false),
            'X' => self.hex(b, true),
            'q' => self.quoted(b),
            _ => {
                if self.flags.sharp_v {
                    self.out.extend_from_slice(type_name.as_bytes());
                }
                self.out.push(if self.flags.sharp_v { b'{' } else { b'[' });
                // At once, not as work for later: a file has many bytes.
                let plain = matches!(verb, 'v' | 'd') && self.flags.is_plain();
                for (i, b) in b.iter().enumerate() {
                    if self.out.len() > MAX_BYTES {
                        return;
                    }
                    if i > 0 {
                        self.out.extend_from_slice(self.separator().as_bytes());
                    }
                    if plain {
                        self.out.extend_from_slice(super::number::decimal(i64::from(*b), &mut [0; 20]));
                    } else {
                        self.one(&Value::Uint8(*b), verb, depth + 1, work);
                    }
                }
                self.out.push(if self.flags.sharp_v { b'}' } else { b']' });
            }
        }
    }
}
