//! Docker's credential helpers: programs that keep passwords, asked through their standard input and output.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::credentials::Error;

const MAX_ANSWER: u64 = 1 << 20;
/// How often it is looked whether a program has ended after it has said all.
const LOOK: Duration = Duration::from_millis(5);

/// How helpers are started.
#[derive(Clone, Debug)]
pub(super) struct Helpers {
    /// Where they are looked for, if not where this program's own are.
    pub path: Option<OsString>,
    /// How long one may take.
    pub patience: Duration,
}

impl Default for Helpers {
    /// Some ask their user, who may have to look for a password.
    fn default() -> Self {
        Self { path: None, patience: Duration::from_secs(120) }
    }
}

impl Helpers {
    /// Runs a helper; nothing if it has nothing.
    pub(super) fn ask(&self, helper: &str, verb: &str, input: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let wrong = |why: String| Error::Helper { name: helper.to_owned(), why };
        let mut command = Command::new(format!("docker-credential-{helper}"));
        command.arg(verb).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let mut child =
            command.spawn().map_err(|e| wrong(format!("it cannot be started: {e}; is it installed?")))?;
        match self.talk(&mut child, input) {
            Ok(Some((status, answer))) if status.success() => Ok(Some(answer)),
            Ok(Some((_, answer))) => {
                let text = String::from_utf8_lossy(&answer);
                let shown = text.trim().chars().filter(|c| !c.is_control()).take(300).collect::<String>();
                // All helpers say it so.
                if shown.contains("credentials not found") { Ok(None) } else { Err(wrong(shown)) }
            }
            other => {
                let _ = child.kill();
                let _ = child.wait();
                Err(wrong(match other {
                    Err(error) => error.to_string(),
                    Ok(_) => format!("it did not end in {} s", self.patience.as_secs_f32()),
                }))
            }
        }
    }

    /// How it ended and what it said; nothing if it takes too long.
    fn talk(&self, child: &mut Child, input: &[u8]) -> io::Result<Option<(ExitStatus, Vec<u8>)>> {
        let end = Instant::now() + self.patience;
        if let Some(mut stdin) = child.stdin.take() {
            // Some know what they are asked for without reading it. It is short: a pipe takes it at once.
            let _ = stdin.write_all(input);
        }
        let Some(stdout) = child.stdout.take() else { return Ok(None) };
        let (sender, receiver) = mpsc::channel();
        // A helper that hangs must not hang us, and neither must what it has started and left behind.
        thread::Builder::new().name("helper".to_owned()).spawn(move || {
            let mut answer = Vec::new();
            let read = stdout.take(MAX_ANSWER).read_to_end(&mut answer);
            let _ = sender.send(read.map(|_| answer));
        })?;
        let Ok(answer) = receiver.recv_timeout(self.patience) else { return Ok(None) };
        let answer = answer?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some((status, answer)));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            thread::sleep(LOOK);
        }
    }
}
