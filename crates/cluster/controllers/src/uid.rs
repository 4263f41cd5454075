//! The uid of an object in sixteen bytes.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Which object, of all that ever were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uid([u64; 2]);

/// Where the version of a UUID is in its first half, and the version that no server makes.
const VERSION: u64 = 0xf000;

impl Uid {
    /// From the text that objects carry. One that is no UUID, as anybody may write into a reference, is remembered by its
    /// hash, which is never equal to a UUID.
    pub fn read(text: &str) -> Self {
        let direct = parse(text).filter(|[high, _]| high & VERSION != VERSION);
        Self(direct.unwrap_or_else(|| [hash(0, text) | VERSION, hash(1, text)]))
    }

    /// The text, unless only its hash is known.
    pub fn text(self) -> Option<String> {
        let [high, low] = self.0;
        (high & VERSION != VERSION).then(|| {
            let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
            format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
        })
    }
}

/// A UUID in the one form that servers write.
fn parse(text: &str) -> Option<[u64; 2]> {
    let mut value = [0_u64; 2];
    let mut digits = 0;
    for (at, byte) in text.bytes().enumerate() {
        let digit = match byte {
            b'-' if matches!(at, 8 | 13 | 18 | 23) => continue,
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        let half = value.get_mut(digits / 16)?;
        *half = *half << 4 | u64::from(digit);
        digits += 1;
    }
    (digits == 32 && text.len() == 36).then_some(value)
}

fn hash(salt: u8, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (salt, text).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_of_a_server_is_kept_to_the_letter() {
        for text in ["0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9", "00000000-0000-0000-0000-000000000000"] {
            assert_eq!(Uid::read(text).text().as_deref(), Some(text));
        }
    }

    #[test]
    fn any_other_text_is_told_apart_but_not_kept() {
        let others = [
            "",
            "abc",
            "0B1c2d3e-4f50-4617-8293-a4b5c6d7e8f9",
            "0b1c2d3e-4f50-f617-8293-a4b5c6d7e8f9",
            "0b1c2d3e4f5046178293a4b5c6d7e8f9",
            "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f90",
            "0b1c2d3e4-f50-4617-8293-a4b5c6d7e8f9",
        ];
        for (at, text) in others.iter().enumerate() {
            assert_eq!(Uid::read(text).text(), None, "{text}");
            assert!(others.iter().skip(at + 1).all(|other| Uid::read(other) != Uid::read(text)));
        }
    }
}
