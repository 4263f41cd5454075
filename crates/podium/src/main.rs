//! The podium binary: flags, wiring, output.

mod chart;
mod cli;
mod flag;
mod output;
mod reference;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
