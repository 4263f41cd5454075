//! Stopping before a template takes too long.

use podium_gotmpl::{Ctx, Error, Value};

/// Fails once the render's time is over: for loops that a template can make long.
pub(crate) fn check_time(cx: &Ctx<'_>) -> Result<(), Error> {
    if cx.world.out_of_time() {
        return Err(Error { message: b"the render ran out of time".to_vec(), fatal: true });
    }
    Ok(())
}

/// Like [`check_time`], for what takes long and needs chance: it fails where there is none.
pub(crate) fn check_chance(cx: &Ctx<'_>) -> Result<(), Error> {
    if cx.world.is_closed() {
        return Err(Error { message: b"there is no chance here".to_vec(), fatal: true });
    }
    check_time(cx)
}

/// What a part of a text takes while it is cut out, besides its bytes.
pub(crate) const PART: usize = 48;

/// How many parts a text is cut into: as many as are asked for (all when that is negative), but not more than one that
/// there is no memory for.
pub(crate) fn affordable(cx: &Ctx<'_>, asked: i64) -> i64 {
    let most = i64::try_from(cx.heap.left() / PART + 1).unwrap_or(i64::MAX);
    if asked < 0 { most } else { asked.min(most) }
}

/// Whether there is room to look at the bytes of a file as a list of numbers, which takes many times as much.
pub(crate) fn room_for_bytes(cx: &Ctx<'_>, value: &Value<'_>) -> Result<(), Error> {
    let Value::Bytes(bytes) = value else { return Ok(()) };
    cx.heap.for_a_while(|| cx.heap.charge(bytes.len().saturating_mul(size_of::<Value>())))
}
