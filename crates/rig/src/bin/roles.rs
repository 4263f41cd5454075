//! Writes the table of the roles and bindings anew that a real server begins with (`roles FILE`).

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use podium_rig::cluster::Cluster;
use podium_rig::roles;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match run(&mut out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(out, "roles: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file] = args.as_slice() else { return Err("roles FILE".into()) };
    let table = roles::table(&Cluster::upstream()?)?;
    std::fs::write(file, &table)?;
    writeln!(out, "{file}: {} lines, {} bytes", table.lines().count(), table.len())?;
    Ok(())
}
