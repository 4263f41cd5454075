//! Bytes as text.

use podium_sprig::encoding::base64_decode;

/// Decodes padded base64; the URL alphabet has `-` and `_` where the other has `+` and `/`.
pub fn decode(text: &[u8], url: bool) -> Result<Vec<u8>, String> {
    let illegal = |at: usize| format!("illegal base64 data at input byte {at}");
    if !url {
        return base64_decode(text).map_err(illegal);
    }
    let foreign = text.iter().position(|byte| b"+/".contains(byte));
    let standard: Vec<u8> = text
        .iter()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            // Not in this alphabet.
            b'+' | b'/' => b'!',
            other => *other,
        })
        .collect();
    base64_decode(&standard).map_err(|at| illegal(foreign.map_or(at, |foreign| at.min(foreign))))
}
