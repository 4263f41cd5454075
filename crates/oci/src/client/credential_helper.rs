//! Docker credential helpers (`docker-credential-NAME`).

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::credentials::Error;

const MAX_OUTPUT: u64 = 1 << 20;
/// Poll interval for the exit of a helper that has closed its output.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Settings for running helpers.
#[derive(Clone, Debug)]
pub(super) struct CredentialHelpers {
    /// PATH of the helpers; by default that of the process.
    pub path: Option<OsString>,
    /// Maximum run time of a helper.
    pub timeout: Duration,
}

impl Default for CredentialHelpers {
    /// Generous, because some helpers prompt the user.
    fn default() -> Self {
        Self { path: None, timeout: Duration::from_secs(120) }
    }
}

impl CredentialHelpers {
    /// Runs a helper; `None` if it has no credentials for the server.
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
                // The message that all helpers use.
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

    /// Exit status and output of the helper; `None` on timeout.
    fn communicate(&self, child: &mut Child, input: &[u8]) -> io::Result<Option<(ExitStatus, Vec<u8>)>> {
        let deadline = Instant::now() + self.timeout;
        if let Some(mut stdin) = child.stdin.take() {
            // Ignore errors: some helpers exit without reading. The input fits into the pipe buffer.
            let _ = stdin.write_all(input);
        }
        let Some(stdout) = child.stdout.take() else { return Ok(None) };
        let (sender, receiver) = mpsc::channel();
        // Read on a thread: the helper or a process that it left behind may keep the pipe open.
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
