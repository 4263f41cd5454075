//! What cannot be guessed.

/// Random bytes of the system.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // A system without randomness has no keys either, and says so when they are made.
    let _ = getrandom::fill(&mut bytes);
    bytes
}

/// A number below another.
pub fn below(limit: u64) -> u64 {
    u64::from_le_bytes(bytes()) % limit.max(1)
}

/// A new identity of an object.
pub fn uid() -> String {
    let mut bytes: [u8; 16] = bytes();
    if let Some(byte) = bytes.get_mut(6) {
        *byte = *byte & 0x0f | 0x40;
    }
    if let Some(byte) = bytes.get_mut(8) {
        *byte = *byte & 0x3f | 0x80;
    }
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// Letters and digits that make no words.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short ending for names.
pub fn suffix() -> String {
    let letter = |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).copied().unwrap_or(b'b');
    bytes::<5>().iter().map(|byte| char::from(letter(*byte))).collect()
}
