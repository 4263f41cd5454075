//! Writing and reading DER.

/// Tags, with their class and form.
pub mod tag {
    /// BOOLEAN.
    pub const BOOLEAN: u8 = 0x01;
    /// INTEGER.
    pub const INTEGER: u8 = 0x02;
    /// BIT STRING.
    pub const BITS: u8 = 0x03;
    /// OCTET STRING.
    pub const OCTETS: u8 = 0x04;
    /// OBJECT IDENTIFIER.
    pub const OID: u8 = 0x06;
    /// UTF8String.
    pub const UTF8: u8 = 0x0c;
    /// NumericString.
    pub const NUMERIC: u8 = 0x12;
    /// PrintableString.
    pub const PRINTABLE: u8 = 0x13;
    /// T61String.
    pub const T61: u8 = 0x14;
    /// IA5String.
    pub const IA5: u8 = 0x16;
    /// UTCTime.
    pub const UTC_TIME: u8 = 0x17;
    /// GeneralizedTime.
    pub const GENERALIZED_TIME: u8 = 0x18;
    /// BMPString.
    pub const BMP: u8 = 0x1e;
    /// SEQUENCE.
    pub const SEQUENCE: u8 = 0x30;
    /// SET.
    pub const SET: u8 = 0x31;

    /// A context-specific tag of a plain value.
    pub const fn context(number: u8) -> u8 {
        0x80 | number
    }

    /// A context-specific tag of a value that contains others.
    pub const fn inside(number: u8) -> u8 {
        0xa0 | number
    }
}

/// The NULL value.
pub const NULL: &[u8] = &[0x05, 0x00];

/// A value of a tag, its content in pieces.
pub fn tlv(tag: u8, pieces: &[&[u8]]) -> Vec<u8> {
    let length: usize = pieces.iter().map(|p| p.len()).sum();
    let mut out = vec![tag];
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = length.to_be_bytes();
        let used = bytes.len() - (length.leading_zeros() / 8) as usize;
        out.push(0x80 | used as u8);
        out.extend(bytes.iter().skip(bytes.len() - used));
    }
    for piece in pieces {
        out.extend_from_slice(piece);
    }
    out
}

/// A SEQUENCE of values.
pub fn sequence(values: &[&[u8]]) -> Vec<u8> {
    tlv(tag::SEQUENCE, values)
}

/// An INTEGER from big-endian bytes, which may have zeros in front.
pub fn integer(bytes: &[u8]) -> Vec<u8> {
    let first = bytes.iter().position(|b| *b != 0).unwrap_or(bytes.len());
    match bytes.get(first..) {
        Some(digits @ [high, ..]) if *high < 0x80 => tlv(tag::INTEGER, &[digits]),
        Some(digits) => tlv(tag::INTEGER, &[&[0], digits]),
        None => tlv(tag::INTEGER, &[&[0]]),
    }
}

/// A BIT STRING of whole bytes.
pub fn bits(bytes: &[u8]) -> Vec<u8> {
    tlv(tag::BITS, &[&[0], bytes])
}

/// An OBJECT IDENTIFIER.
pub fn oid(parts: &[u32]) -> Vec<u8> {
    let (first, rest) = match parts {
        [a, b, rest @ ..] => (a.wrapping_mul(40).wrapping_add(*b), rest),
        _ => (0, parts),
    };
    let mut content = Vec::new();
    for part in std::iter::once(&first).chain(rest) {
        let groups = (32 - part.leading_zeros()).div_ceil(7).max(1);
        for i in (0..groups).rev() {
            let more = if i > 0 { 0x80 } else { 0 };
            content.push((part >> (7 * i)) as u8 & 0x7f | more);
        }
    }
    tlv(tag::OID, &[&content])
}

/// Reads values one after the other, as strictly as Go's `cryptobyte`.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

/// A value that was read.
pub struct Element<'a> {
    /// Its tag.
    pub tag: u8,
    /// Its content.
    pub content: &'a [u8],
    /// Tag, length and content.
    pub whole: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the next value has the tag.
    pub fn peek(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    /// The next value.
    pub fn any(&mut self) -> Option<Element<'a>> {
        let (tag, length) = match self.0 {
            [tag, length, ..] if tag & 0x1f != 0x1f => (*tag, *length),
            _ => return None,
        };
        let (header, length) = if length < 0x80 {
            (2, usize::from(length))
        } else {
            let count = usize::from(length & 0x7f);
            if !(1..=4).contains(&count) {
                return None;
            }
            let digits = self.0.get(2..2 + count)?;
            let length = digits.iter().fold(0usize, |sum, b| sum << 8 | usize::from(*b));
            // The shortest form is the only one.
            if length < 0x80 || digits.first() == Some(&0) {
                return None;
            }
            (2 + count, length)
        };
        let end = header.checked_add(length)?;
        let element = Element { tag, content: self.0.get(header..end)?, whole: self.0.get(..end)? };
        self.0 = self.0.get(end..)?;
        Some(element)
    }

    /// The content of the next value, which has to have the tag.
    pub fn read(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.any().filter(|e| e.tag == tag).map(|e| e.content)
    }

    /// The whole next value, which has to have the tag.
    pub fn whole(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.any().filter(|e| e.tag == tag).map(|e| e.whole)
    }

    /// A reader of the content of the next value, which has to have the tag.
    pub fn enter(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.read(tag).map(Reader)
    }

    /// The content of the next value if it has the tag: nothing, or nothing at all when it is broken.
    pub fn optional(&mut self, tag: u8) -> Option<Option<&'a [u8]>> {
        if self.peek(tag) { self.read(tag).map(Some) } else { Some(None) }
    }

    /// A BOOLEAN.
    pub fn boolean(&mut self) -> Option<bool> {
        match self.read(tag::BOOLEAN)? {
            [0] => Some(false),
            [0xff] => Some(true),
            _ => None,
        }
    }

    /// The content of an INTEGER of any size.
    pub fn integer(&mut self) -> Option<&'a [u8]> {
        self.integer_tagged(tag::INTEGER)
    }

    /// The content of an INTEGER that has another tag.
    pub fn integer_tagged(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.read(tag).filter(|content| minimal(content))
    }

    /// An INTEGER of at most 64 bits.
    pub fn int64(&mut self) -> Option<i64> {
        int64(self.integer()?)
    }

    /// An OBJECT IDENTIFIER.
    pub fn oid(&mut self) -> Option<Vec<u32>> {
        let mut rest = self.read(tag::OID)?;
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let part = base128(&mut rest)?;
            if parts.is_empty() {
                let head = (part / 40).min(2);
                parts.push(head);
                parts.push(part - head * 40);
            } else {
                parts.push(part);
            }
        }
        (!parts.is_empty()).then_some(parts)
    }

    /// A BIT STRING: its bytes and the number of bits that are not used in the last one.
    pub fn bits(&mut self) -> Option<(&'a [u8], u8)> {
        let (unused, bytes) = self.read(tag::BITS)?.split_first()?;
        let spare = match bytes.last() {
            None if *unused == 0 => 0,
            Some(last) if *unused < 8 => last & ((1u8 << *unused) - 1),
            _ => return None,
        };
        (spare == 0).then_some((bytes, *unused))
    }
}

/// Whether the content of an INTEGER is in its shortest form.
pub fn minimal(content: &[u8]) -> bool {
    match content {
        [] => false,
        [0, next, ..] => next & 0x80 != 0,
        [0xff, next, ..] => next & 0x80 == 0,
        _ => true,
    }
}

/// The value of an INTEGER of at most 8 bytes.
pub fn int64(content: &[u8]) -> Option<i64> {
    let (first, _) = content.split_first()?;
    if content.len() > 8 {
        return None;
    }
    let sign = if first & 0x80 != 0 { -1 } else { 0 };
    Some(content.iter().fold(sign, |sum: i64, b| sum << 8 | i64::from(*b)))
}

/// The bits of a BIT STRING moved to the right end of its bytes.
pub fn right_aligned(bytes: &[u8], unused: u8) -> Vec<u8> {
    let mut before = 0u16;
    bytes
        .iter()
        .map(|b| {
            let window = before << 8 | u16::from(*b);
            before = u16::from(*b);
            (window >> unused) as u8
        })
        .collect()
}

/// One number of an OBJECT IDENTIFIER, at most 31 bits.
fn base128(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0u32;
    for (i, byte) in rest.iter().enumerate() {
        if i == 5 || value >= 1 << 24 || (i == 0 && *byte == 0x80) {
            return None;
        }
        value = value << 7 | u32::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            *rest = rest.get(i + 1..)?;
            return Some(value);
        }
    }
    None
}
