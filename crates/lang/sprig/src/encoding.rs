//! Base64 and base32, with the error texts of Go's decoders.

use podium_gotmpl::types::STRING;
use podium_gotmpl::{Func, Str};

use crate::args::{func, string, text};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("b64enc", &[&STRING], |cx, a| {
        cx.heap.charge(text(a, 0).len() * 2)?;
        string(base64_encode(text(a, 0)))
    }),
    func("b64dec", &[&STRING], |_, a| string(or_text(base64_decode(text(a, 0)), "base64"))),
    func("b32enc", &[&STRING], |cx, a| {
        cx.heap.charge(text(a, 0).len() * 2)?;
        string(base32_encode(text(a, 0)))
    }),
    func("b32dec", &[&STRING], |_, a| string(or_text(base32_decode(text(a, 0)), "base32"))),
];

/// Sprig hands the text of a decoder's error back as if it were the data.
fn or_text(decoded: Result<Vec<u8>, usize>, name: &str) -> Str<'static> {
    match decoded {
        Ok(bytes) => bytes.into(),
        Err(at) => format!("illegal {name} data at input byte {at}").into(),
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Base64 with padding, in the standard alphabet.
pub fn base64_encode(data: &[u8]) -> Vec<u8> {
    encode(data, BASE64, 6, 4)
}

/// Base32 with padding, in the standard alphabet.
pub fn base32_encode(data: &[u8]) -> Vec<u8> {
    encode(data, BASE32, 5, 8)
}

fn encode(data: &[u8], alphabet: &[u8], bits: usize, group: usize) -> Vec<u8> {
    let bytes = group * bits / 8;
    let mask = (1u64 << bits) - 1;
    let mut out = Vec::with_capacity(data.len().div_ceil(bytes) * group);
    for chunk in data.chunks(bytes) {
        let number = chunk.iter().fold(0u64, |n, b| n << 8 | u64::from(*b)) << (8 * (bytes - chunk.len()));
        let digits = (chunk.len() * 8).div_ceil(bits);
        for place in 0..group {
            let digit = (number >> (bits * (group - 1 - place)) & mask) as usize;
            out.push(if place < digits { alphabet.get(digit).copied().unwrap_or(b'=') } else { b'=' });
        }
    }
    out
}

const fn digits_of(alphabet: &[u8]) -> [u8; 256] {
    let mut digits = [0xFF; 256];
    let mut i = 0;
    while i < alphabet.len() {
        digits[alphabet[i] as usize] = i as u8;
        i += 1;
    }
    digits
}

static BASE64_DIGITS: [u8; 256] = digits_of(BASE64);
static BASE32_DIGITS: [u8; 256] = digits_of(BASE32);

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Decodes padded base64, line breaks aside. The error is the offset that Go names.
pub fn base64_decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let mut group = [0u8; 4];
    let mut filled = 0;
    let mut at = 0;
    let skip_breaks = |mut at: usize| {
        while text.get(at).copied().is_some_and(is_break) {
            at += 1;
        }
        at
    };
    while let Some(&byte) = text.get(at) {
        at += 1;
        match (BASE64_DIGITS[usize::from(byte)], byte) {
            (0xFF, b'\r' | b'\n') => {}
            (0xFF, b'=') if filled >= 2 => {
                if filled == 2 {
                    at = skip_breaks(at);
                    match text.get(at) {
                        None => return Err(text.len()),
                        Some(b'=') => at += 1,
                        Some(_) => return Err(at - 1),
                    }
                }
                at = skip_breaks(at);
                let [a, b, c, _] = group;
                out.push(a << 2 | b >> 4);
                if filled == 3 {
                    out.push(b << 4 | c >> 2);
                }
                return if at < text.len() { Err(at) } else { Ok(out) };
            }
            (0xFF, _) => return Err(at - 1),
            (digit, _) => {
                if let Some(place) = group.get_mut(filled) {
                    *place = digit;
                }
                filled += 1;
                if filled == 4 {
                    let [a, b, c, d] = group;
                    out.extend([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]);
                    filled = 0;
                }
            }
        }
    }
    if filled == 0 { Ok(out) } else { Err(at - filled) }
}

/// Decodes padded base32, line breaks aside. The error is the offset (among what is no line break) that Go names.
pub fn base32_decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|b| !is_break(*b)).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5 + 5);
    let mut number = 0u64;
    let mut filled = 0;
    for (at, &byte) in text.iter().enumerate() {
        let after = text.get(at + 1..).unwrap_or_default();
        if byte == b'=' && filled >= 2 && after.len() < 8 {
            if after.len() + filled < 7 {
                return Err(text.len());
            }
            if let Some(wrong) = after.iter().take(7 - filled).position(|b| *b != b'=') {
                return Err(at + wrong);
            }
            if matches!(filled, 3 | 6) {
                return Err(at);
            }
            let bytes = number << (5 * (8 - filled));
            out.extend(bytes.to_be_bytes().into_iter().skip(3).take(filled * 5 / 8));
            return Ok(out);
        }
        let digit = BASE32_DIGITS[usize::from(byte)];
        if digit == 0xFF {
            return Err(at);
        }
        number = number << 5 | u64::from(digit);
        filled += 1;
        if filled == 8 {
            out.extend(number.to_be_bytes().into_iter().skip(3));
            (number, filled) = (0, 0);
        }
    }
    if filled == 0 { Ok(out) } else { Err(text.len() - filled) }
}
