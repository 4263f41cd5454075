//! Runs helm and podium on the same input.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use podium_rig::request::Dialect;
use podium_rig::tools;

use crate::flaws::Files;

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub out: String,
    /// The line with the error, without what was logged before.
    pub error: String,
    pub status: Option<i32>,
}

/// A directory that is gone at the end of the test.
pub struct Place(PathBuf);

impl Place {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("podium-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes files below a name.
    pub fn write(&self, name: &str, files: &Files) -> PathBuf {
        let root = self.0.join(name);
        for (path, text) in files {
            let path = root.join(path);
            match text {
                None => fs::create_dir_all(path).unwrap(),
                Some(text) => {
                    // A file may stand where another flaw wants a directory, or the other way round.
                    let _ = fs::create_dir_all(path.parent().unwrap());
                    let _ = fs::write(path, text);
                }
            }
        }
        root
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn number(dialect: Dialect) -> usize {
    match dialect {
        Dialect::Helm3 => 3,
        Dialect::Helm4 => 4,
    }
}

/// One of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Helm,
    Podium,
}

/// Runs a command of helm's in a directory, with helm's own files below a home.
pub fn run(program: Program, dialect: Dialect, folder: &Path, home: &Path, args: &[&str]) -> Said {
    run_with_errors(program, dialect, folder, home, args).0
}

/// The same, with all that is on standard error.
pub fn run_with_errors(
    program: Program,
    dialect: Dialect,
    folder: &Path,
    home: &Path,
    args: &[&str],
) -> (Said, String) {
    let binary = match program {
        Program::Helm => tools::helm(dialect).unwrap(),
        Program::Podium => tools::podium().unwrap(),
    };
    let mut command: Command = tools::quiet_command(&binary);
    command.current_dir(folder).env("HOME", home).env("TMPDIR", std::env::temp_dir());
    for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(name, home.join(name));
    }
    if program == Program::Podium {
        command.arg("chart");
    }
    command.args(args);
    if program == Program::Podium {
        command.args(["--helm-version", &number(dialect).to_string()]);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = errors.find("Error: ").map(|at| errors[at..].to_owned()).unwrap_or_default();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    (Said { out, error, status: output.status.code() }, errors)
}

/// Runs both; says what differs.
pub fn both(dialect: Dialect, folder: &Path, home: &Path, args: &[&str]) -> Result<Said, String> {
    let theirs = run(Program::Helm, dialect, folder, home, args);
    let ours = run(Program::Podium, dialect, folder, home, args);
    let plain = |said: &Said| Said {
        error: said.error.replace("\"podium chart ", "\"helm ").replace("  podium chart ", "  helm "),
        ..said.clone()
    };
    if plain(&ours) == theirs {
        return Ok(theirs);
    }
    Err(format!("helm {} {}:\n--- helm\n{theirs:#?}\n--- podium\n{ours:#?}", number(dialect), args.join(" ")))
}
