//! Standard output and standard error.

use std::io::{self, IsTerminal, Write};

/// Writes to standard output. A reader that has gone away (`| head`) is no error.
pub fn print(text: &[u8]) -> anyhow::Result<()> {
    print_all(&[text])
}

/// How much is handed to the system at once.
const PORTION: usize = 64 * 1024;

/// Writes parts to standard output, one after the other.
pub fn print_all(parts: &[&[u8]]) -> anyhow::Result<()> {
    let mut out = io::BufWriter::with_capacity(PORTION, io::stdout().lock());
    match parts.iter().try_for_each(|part| out.write_all(part)).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Writes a line to standard error; nothing can be done when that fails.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// An error in somebody else's words, which need not be UTF-8.
#[derive(Debug)]
pub struct Words(pub Vec<u8>);

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl std::error::Error for Words {}

/// An end with another code, after all has been said.
#[derive(Debug)]
pub struct Exit(pub u8);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// Writes an error to standard error.
pub fn complain_of(error: &anyhow::Error) {
    match error.downcast_ref::<Words>() {
        Some(Words(text)) => {
            let _ = io::stderr().lock().write_all(&[b"Error: ".as_slice(), text, b"\n"].concat());
        }
        None => complain(&format!("Error: {error}")),
    }
}

/// Whether a person reads standard error.
pub fn person_reads_errors() -> bool {
    io::stderr().is_terminal()
}

/// Helm's words, and for a person the place and what to do.
pub fn with_hint(error: &dyn std::fmt::Display, hint: Option<String>) -> anyhow::Error {
    match hint.filter(|_| person_reads_errors()) {
        Some(hint) => anyhow::anyhow!("{error}\n\n  = {hint}"),
        None => anyhow::anyhow!("{error}"),
    }
}

/// Marks a piece of text for a terminal, where there is one and the user has not asked for plain text.
pub fn styled(text: &str, code: &str) -> String {
    if person_reads_errors() && std::env::var_os("NO_COLOR").is_none() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}
