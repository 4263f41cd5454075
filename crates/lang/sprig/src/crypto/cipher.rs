//! Encrypting with AES-256-CBC.

use aes::Aes256;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use podium_gotmpl::{Ctx, Value};

use super::stream::Stream;
use crate::args::{Outcome, string, text};
use crate::encoding::{base64_decode, base64_encode};

const BLOCK: usize = 16;

type Block = [u8; BLOCK];

pub(super) fn encrypt_aes<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let plain = text(args, 1);
    if plain.is_empty() {
        return string("");
    }
    cx.heap.charge(plain.len().saturating_mul(2))?;
    let padding = BLOCK - plain.len() % BLOCK;
    let padded = [plain, &vec![padding as u8; padding]].concat();
    let cipher = Aes256::new(&key(text(args, 0)).into());
    let mut last: Block = [0; BLOCK];
    Stream::new(cx.world).fill(&mut last);
    let mut out = last.to_vec();
    for block in padded.as_chunks::<BLOCK>().0 {
        let mut mixed = xor(&last, block).into();
        cipher.encrypt_block(&mut mixed);
        last = mixed.into();
        out.extend_from_slice(&last);
    }
    string(base64_encode(&out))
}

pub(super) fn decrypt_aes<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let encoded = text(args, 1);
    if encoded.is_empty() {
        return string("");
    }
    cx.heap.charge(encoded.len())?;
    let crypt = base64_decode(encoded).map_err(|at| format!("illegal base64 data at input byte {at}"))?;
    // Sprig trusts its input; what follows are the panics of Go, which templates see as errors.
    let capacity = encoded.len() / 4 * 3;
    if capacity < BLOCK {
        return Err(
            format!("runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}").into()
        );
    }
    let (blocks, rest) = crypt.as_chunks::<BLOCK>();
    let [start, blocks @ ..] = blocks else {
        return Err(format!("runtime error: slice bounds out of range [{BLOCK}:{}]", crypt.len()).into());
    };
    if !rest.is_empty() {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let cipher = Aes256::new(&key(text(args, 0)).into());
    let mut last = *start;
    let mut out = Vec::with_capacity(crypt.len());
    for block in blocks {
        let mut plain = (*block).into();
        cipher.decrypt_block(&mut plain);
        out.extend_from_slice(&xor(&last, &plain.into()));
        last = *block;
    }
    let padding = usize::from(*out.last().ok_or("runtime error: index out of range [-1]")?);
    match out.len().checked_sub(padding) {
        Some(length) => out.truncate(length),
        None => {
            return Err(
                format!("runtime error: slice bounds out of range [:-{}]", padding - out.len()).into()
            );
        }
    }
    string(out)
}

/// The password itself, cut or filled with zeros to the length of a key.
fn key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    for (to, from) in key.iter_mut().zip(password) {
        *to = *from;
    }
    key
}

fn xor(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}
