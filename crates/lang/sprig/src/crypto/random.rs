//! Random text and numbers.

use podium_gotmpl::{Ctx, Value};

use super::stream::Stream;
use crate::args::{Outcome, int, string, text};
use crate::encoding::base64_encode;

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";

/// More bytes than Go can ever allocate.
const TOO_MANY: i64 = 1 << 48;

pub(super) fn rand_alpha<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    characters(cx, args, LETTERS.to_vec())
}

pub(super) fn rand_alpha_num<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    characters(cx, args, [LETTERS, DIGITS].concat())
}

pub(super) fn rand_ascii<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    characters(cx, args, (b' '..=b'~').collect())
}

pub(super) fn rand_numeric<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    characters(cx, args, DIGITS.to_vec())
}

pub(super) fn rand_bytes<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let count = int(args, 0);
    if !(0..=TOO_MANY).contains(&count) {
        return Err("runtime error: makeslice: len out of range".into());
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    cx.heap.charge(count.saturating_mul(3))?;
    string(base64_encode(&Stream::new(cx.world).bytes(count)))
}

pub(super) fn rand_int<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let (min, max) = (int(args, 0), int(args, 1));
    match u64::try_from(max.wrapping_sub(min)) {
        Ok(range @ 1..) => Ok(Value::Int(min.wrapping_add(Stream::new(cx.world).below(range) as i64))),
        _ => Err("invalid argument to Intn".into()),
    }
}

pub(super) fn uuidv4<'h>(cx: &Ctx<'h>, _: &[Value<'h>]) -> Outcome<'h> {
    let mut random = [0; 16];
    Stream::new(cx.world).fill(&mut random);
    let id = u128::from_be_bytes(random) & !(0xf << 76 | 0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let digits = format!("{id:032x}");
    let (mut out, mut rest) = (String::new(), digits.as_str());
    for length in [8, 4, 4, 4, 12] {
        let (part, next) = rest.split_at(length);
        if !out.is_empty() {
            out.push('-');
        }
        out.push_str(part);
        rest = next;
    }
    string(out)
}

pub(super) fn shuffle<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let text = text(args, 0);
    cx.heap.charge(text.len().saturating_mul(3))?;
    let mut stream = Stream::new(cx.world);
    string(crate::text::shuffle(text, |bound| stream.below(bound as u64) as usize))
}

fn characters<'h>(cx: &Ctx<'h>, args: &[Value<'h>], alphabet: Vec<u8>) -> Outcome<'h> {
    let count = int(args, 0);
    if count > TOO_MANY / 4 {
        return Err("runtime error: makeslice: len out of range".into());
    }
    // A negative count is an error that Sprig drops.
    let count = usize::try_from(count).unwrap_or(0);
    cx.heap.charge(count)?;
    let mut stream = Stream::new(cx.world);
    let mut character = || {
        let index = stream.below(alphabet.len() as u64) as usize;
        alphabet.get(index).copied().unwrap_or_default()
    };
    string((0..count).map(|_| character()).collect::<Vec<u8>>())
}
