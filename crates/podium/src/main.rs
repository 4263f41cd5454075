//! The podium binary: flags, wiring, output.

mod bundle;
mod catalog;
mod chart;
mod cli;
mod cluster;
mod flag;
mod image;
mod local;
mod operator;
mod output;
mod reference;
mod registry;
mod release;
mod scratch;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
