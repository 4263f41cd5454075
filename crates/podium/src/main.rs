//! The podium binary: flags, wiring, output.

mod chart;
mod cli;
mod cluster;
mod flag;
mod local;
mod operator;
mod output;
mod reference;
mod release;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
