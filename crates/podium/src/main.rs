//! The podium binary: flags, wiring, output.

mod chart;
mod cli;
mod flag;
mod output;
mod reference;
mod world;

use std::process::ExitCode;

/// A render makes millions of small allocations on a thread of its own, which the system's allocator is slow at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The stack of the thread that does the work. Values may be nested ten thousand levels deep, and walking them takes
/// a little of the stack for each; only what is used is ever backed by memory.
const STACK: usize = 256 << 20;

fn main() -> ExitCode {
    let worker = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK);
    match worker.spawn(cli::run).map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        _ => ExitCode::from(2),
    }
}
