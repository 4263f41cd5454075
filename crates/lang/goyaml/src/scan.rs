//! Looking for bytes that mean something, eight at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;
/// So many words are looked at together.
const WORDS: usize = 4;

/// Marks (with its highest bit) the first byte of a word that is this one; bytes behind it may be marked too.
pub fn equal(word: u64, byte: u8) -> u64 {
    let other = word ^ (ONES * u64::from(byte));
    other.wrapping_sub(ONES) & !other & HIGH
}

/// Marks the first byte that is smaller than this one, which is at most 128; bytes behind it may be marked too.
pub fn below(word: u64, byte: u8) -> u64 {
    word.wrapping_sub(ONES * u64::from(byte)) & !word & HIGH
}

/// Marks the bytes that are not ASCII.
pub fn wide(word: u64) -> u64 {
    word & HIGH
}

/// Where the first byte is that a mask marks; the length of the text if there is none.
///
/// The mask gets eight bytes of the text, the first one lowest. Where it marks nothing there must be nothing, and the
/// lowest of its marks must be right.
pub fn find(text: &[u8], mask: impl Fn(u64) -> u64) -> usize {
    let (words, tail) = text.as_chunks::<8>();
    let (runs, _) = words.as_chunks::<WORDS>();
    let quiet = |run: &&[[u8; 8]; WORDS]| {
        run.iter().fold(0, |marks, word| marks | mask(u64::from_le_bytes(*word))) == 0
    };
    let skipped = runs.iter().take_while(quiet).count() * WORDS;
    // The run with a mark in it, or the words that make no run.
    for (number, word) in words.iter().enumerate().skip(skipped) {
        let marks = mask(u64::from_le_bytes(*word));
        if marks != 0 {
            return number * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    if tail.is_empty() {
        return text.len();
    }
    match text.last_chunk::<8>() {
        // What of it was looked at before has no mark.
        Some(last) => {
            let marks = mask(u64::from_le_bytes(*last));
            text.len() - 8 + marks.trailing_zeros() as usize / 8
        }
        // What is marked behind the end is not there.
        None => {
            let short = tail.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            text.len().min(mask(short).trailing_zeros() as usize / 8)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_marked_byte_is_found_wherever_it_is() {
        let marked = |word| equal(word, b'"') | below(word, 0x20) | wide(word);
        let is = |byte: &u8| *byte == b'"' || *byte < 0x20 || *byte >= 0x80;
        for len in 0..100 {
            let calm: Vec<u8> = (0..len).map(|n| b'!' + 2 + (n * 7 % 80) as u8).collect();
            assert_eq!(find(&calm, marked), len);
            for at in 0..len {
                for byte in [b'"', 0, 0x1f, 0x80, 0xff] {
                    let mut text = calm.clone();
                    text[at] = byte;
                    // What is behind it makes no difference.
                    for behind in [b'"', 0x21, 0x23, 0] {
                        text.iter_mut().skip(at + 1).take(1).for_each(|b| *b = behind);
                        assert_eq!(find(&text, marked), text.iter().position(is).unwrap(), "{text:?}");
                    }
                }
            }
        }
    }
}
