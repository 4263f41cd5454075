//! Stopping before a template takes too long.

use podium_gotmpl::{Ctx, Error};

/// Fails once the render's time is over: for loops that a template can make long.
pub(crate) fn check_time(cx: &Ctx<'_>) -> Result<(), Error> {
    if cx.world.out_of_time() {
        return Err(Error { message: b"the render ran out of time".to_vec(), fatal: true });
    }
    Ok(())
}
