//! Writes the table of the built-in kinds anew (`kinds FILE`), or fails where it is no longer what the real server
//! says (`kinds --check FILE`).

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use podium_rig::cluster::Cluster;
use podium_rig::kinds;

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match run(&mut out) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(out, "kinds: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(out: &mut dyn Write) -> Result<bool, Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (check, file) = match args.as_slice() {
        [file] => (false, file),
        [flag, file] if flag == "--check" => (true, file),
        _ => return Err("kinds [--check] FILE".into()),
    };
    let table = kinds::table(&Cluster::upstream()?)?;
    if check {
        let same = std::fs::read_to_string(file)? == table;
        writeln!(out, "{file} is {}", if same { "current" } else { "stale: run make kinds" })?;
        return Ok(same);
    }
    std::fs::write(file, &table)?;
    writeln!(out, "{file}: {} lines, {} bytes", table.lines().count(), table.len())?;
    Ok(true)
}
