//! Checksums.

use podium_gotmpl::{Ctx, Value};
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};

use crate::args::{Outcome, string, text};

pub(super) fn sha1sum<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    string(hex(&Sha1::digest(text(args, 0))))
}

pub(super) fn sha256sum<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    string(hex(&Sha256::digest(text(args, 0))))
}

pub(super) fn sha512sum<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    string(hex(&Sha512::digest(text(args, 0))))
}

pub(super) fn adler32sum<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let add = |(a, b): (u32, u32), byte: &u8| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    };
    let (a, b) = text(args, 0).iter().fold((1, 0), add);
    string((b << 16 | a).to_string())
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS[usize::from(n & 0xf)]);
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(*b)]).collect()
}
