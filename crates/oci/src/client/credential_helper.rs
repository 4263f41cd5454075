//! Docker's credential helpers: programs that keep passwords, asked through their standard input and output.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::credentials::Error;

const MAX_OUTPUT: u64 = 1 << 20;
/// How often it is looked whether a program has ended after it has said all.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How helpers are started.
#[derive(Clone, Debug)]
pub(super) struct CredentialHelpers {
    /// Where they are looked for, if not where this program's own are.
    pub path: Option<OsString>,
    /// How long one may take.
    pub timeout: Duration,
}

impl Default for CredentialHelpers {
    /// Some ask their user, who may have to look for a password.
    fn default() -> Self {
        Self { path: None, timeout: Duration::from_secs(120) }
    }
}

impl CredentialHelpers {
    /// Runs a helper; nothing if it has nothing.
    pub(super) fn run(&self, helper: &str, action: &str, input: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let invalid = |reason: String| Error::Helper { name: helper.to_owned(), reason };
        let mut command = Command::new(format!("docker-credential-{helper}"));
        command.arg(action).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        let mut child =
            command.spawn().map_err(|e| invalid(format!("it cannot be started: {e}; is it installed?")))?;
        match self.communicate(&mut child, input) {
            Ok(Some((status, output))) if status.success() => Ok(Some(output)),
            Ok(Some((_, output))) => {
                let text = String::from_utf8_lossy(&output);
                let message = text.trim().chars().filter(|c| !c.is_control()).take(300).collect::<String>();
                // All helpers say it so.
                if message.contains("credentials not found") { Ok(None) } else { Err(invalid(message)) }
            }
            other => {
                let _ = child.kill();
                let _ = child.wait();
                Err(invalid(match other {
                    Err(error) => error.to_string(),
                    Ok(_) => format!("it did not end in {} s", self.timeout.as_secs_f32()),
                }))
            }
        }
    }

    /// How it ended and what it said; nothing if it takes too long.
    fn communicate(&self, child: &mut Child, input: &[u8]) -> io::Result<Option<(ExitStatus, Vec<u8>)>> {
        let deadline = Instant::now() + self.timeout;
        if let Some(mut stdin) = child.stdin.take() {
            // Some know what they are asked for without reading it. It is short: a pipe takes it at once.
            let _ = stdin.write_all(input);
        }
        let Some(stdout) = child.stdout.take() else { return Ok(None) };
        let (sender, receiver) = mpsc::channel();
        // A helper that hangs must not hang us, and neither must what it has started and left behind.
        thread::Builder::new().name("helper".to_owned()).spawn(move || {
            let mut output = Vec::new();
            let read = stdout.take(MAX_OUTPUT).read_to_end(&mut output);
            let _ = sender.send(read.map(|_| output));
        })?;
        let Ok(output) = receiver.recv_timeout(self.timeout) else { return Ok(None) };
        let output = output?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some((status, output)));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}
