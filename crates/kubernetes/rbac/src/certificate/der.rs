//! Writing and reading DER, as much of it as certificates need.

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

    /// A tag of the context, of a plain value.
    pub const fn context(number: u8) -> u8 {
        0x80 | number
    }

    /// A tag of the context, of a value that contains others.
    pub const fn inside(number: u8) -> u8 {
        0xa0 | number
    }
}

/// A value of a tag, its content in pieces.
pub fn tlv(tag: u8, pieces: &[&[u8]]) -> Vec<u8> {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut out = vec![tag];
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let digits: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|digit| *digit == 0).collect();
        out.push(0x80 | digits.len() as u8);
        out.extend(digits);
    }
    pieces.iter().for_each(|piece| out.extend_from_slice(piece));
    out
}

/// A SEQUENCE of values.
pub fn sequence(values: &[&[u8]]) -> Vec<u8> {
    tlv(tag::SEQUENCE, values)
}

/// A number that is not negative, from its bytes.
pub fn integer(bytes: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = bytes.iter().copied().skip_while(|digit| *digit == 0).collect();
    let sign: &[u8] = if digits.first().is_none_or(|digit| *digit >= 0x80) { &[0] } else { &[] };
    tlv(tag::INTEGER, &[sign, &digits])
}

/// Whole bytes as a BIT STRING.
pub fn bits(bytes: &[u8]) -> Vec<u8> {
    tlv(tag::BITS, &[&[0], bytes])
}

/// Reads one value after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'d>(&'d [u8]);

impl<'d> Reader<'d> {
    /// Of bytes.
    pub fn new(bytes: &'d [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all is read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next value: its tag, its content and all of it. Lengths have to be written in the shortest way.
    pub fn any(&mut self) -> Option<(u8, &'d [u8], &'d [u8])> {
        let (tag, length, head) = match self.0 {
            // Tags of more than one byte do not occur.
            [tag, ..] if tag & 0x1f == 0x1f => return None,
            [tag, short @ 0..=0x7f, ..] => (*tag, usize::from(*short), 2),
            [tag, 0x81, length @ 0x80..=0xff, ..] => (*tag, usize::from(*length), 3),
            [tag, 0x82, high @ 1..=0xff, low, ..] => (*tag, usize::from(*high) << 8 | usize::from(*low), 4),
            [tag, 0x83, high @ 1..=0xff, middle, low, ..] => {
                (*tag, usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low), 5)
            }
            _ => return None,
        };
        let (whole, rest) = self.0.split_at_checked(head + length)?;
        self.0 = rest;
        Some((tag, whole.get(head..)?, whole))
    }

    /// The content of the next value, if it has a tag.
    pub fn read(&mut self, tag: u8) -> Option<&'d [u8]> {
        self.any().filter(|(found, ..)| *found == tag).map(|(_, content, _)| content)
    }

    /// The next value, if it has a tag, to be read inside.
    pub fn enter(&mut self, tag: u8) -> Option<Self> {
        self.read(tag).map(Self)
    }

    /// Passes over the next value if it has a tag.
    pub fn skip(&mut self, tag: u8) -> Option<()> {
        if self.0.first() == Some(&tag) {
            self.any()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short_and_true() {
        for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536] {
            let bytes = vec![7; length];
            let whole = tlv(tag::OCTETS, &[&bytes]);
            let mut reader = Reader::new(&whole);
            assert_eq!(reader.read(tag::OCTETS), Some(bytes.as_slice()));
            assert!(reader.is_empty());
            assert_eq!(Reader::new(&whole[..whole.len() - 1]).any().map(drop), None);
        }
        for wrong in [
            &[4][..],
            &[4, 0x80],
            &[4, 0x81, 1, 7],
            &[4, 0x82, 0, 0x80],
            &[0x1f, 1, 0],
            &[4, 0x84, 0, 0, 0, 1, 7],
        ] {
            assert_eq!(Reader::new(wrong).any(), None, "{wrong:?}");
        }
        assert_eq!(integer(&[0, 0]), [2, 1, 0]);
        assert_eq!(integer(&[0, 0x80]), [2, 2, 0, 0x80]);
        assert_eq!(integer(&[0x7f]), [2, 1, 0x7f]);
    }
}
