//! The client of the programs in `tools/` that render with Helm's own packages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::request::{Dialect, Outcome, RenderRequest, files_from_json, files_to_json};
use crate::subject::Subject;
use crate::{text, tools, world};

/// Why the probe program could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not built.
    #[error(transparent)]
    Tools(#[from] tools::Error),
    /// It could not be started or spoken to.
    #[error("the probe program failed: {0}")]
    Io(#[from] std::io::Error),
    /// It is not the version that the recordings and the spec are about.
    #[error("the probe program is {found}, expected {expected}: run `make tools`")]
    Version {
        /// What it says.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// It answered something else than an answer.
    #[error("the probe program answered with nonsense: {0}")]
    Answer(String),
}

/// Helm's own engine of one major, in a process that is started again when a request kills it.
pub struct Probe {
    dialect: Dialect,
    running: Mutex<Option<Running>>,
}

struct Running {
    folder: PathBuf,
    child: Child,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Probe {
    /// Starts the probe program of a dialect and checks its version.
    pub fn start(dialect: Dialect) -> Result<Self, Error> {
        let probe = Probe { dialect, running: Mutex::new(None) };
        let expected = match dialect {
            Dialect::Helm3 => "v3.22.0",
            Dialect::Helm4 => "v4.3.1",
        };
        let mut running = start(dialect)?;
        send(&mut running.stdin, &json!({ "op": "info" }))?;
        let found = receive(&mut running.stdout)?.and_then(|a| Some(a.get("version")?.as_str()?.to_owned()));
        if found.as_deref() != Some(expected) {
            return Err(Error::Version { found: found.unwrap_or_default(), expected });
        }
        *probe.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
        Ok(probe)
    }

    /// Asks many, in order. A request that kills the program is answered with a crash.
    pub fn ask(&self, requests: &[RenderRequest]) -> Result<Vec<Outcome>, Error> {
        let mut slot = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcomes = Vec::with_capacity(requests.len());
        while let Some(rest) = requests.get(outcomes.len()..).filter(|rest| !rest.is_empty()) {
            let mut running = match slot.take() {
                Some(running) => running,
                None => start(self.dialect)?,
            };
            if converse(&mut running, rest, &mut outcomes)? {
                *slot = Some(running);
            } else {
                outcomes.push(Outcome::Crash("the original died".to_owned()));
            }
        }
        Ok(outcomes)
    }
}

impl Subject for Probe {
    fn name(&self) -> String {
        self.dialect.to_string()
    }

    fn render(&self, request: &RenderRequest) -> Outcome {
        self.render_many(std::slice::from_ref(request))
            .pop()
            .unwrap_or(Outcome::Crash("no answer".to_owned()))
    }

    fn start_over(&self) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn render_many(&self, requests: &[RenderRequest]) -> Vec<Outcome> {
        match self.ask(requests) {
            Ok(outcomes) => outcomes,
            Err(error) => requests.iter().map(|_| Outcome::Crash(error.to_string())).collect(),
        }
    }
}

fn start(dialect: Dialect) -> Result<Running, Error> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // The program's own folder is in here, so that it is gone with the program however that ends.
    let folder = std::env::temp_dir().join(format!("podium-probe-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut child = tools::quiet_command(&tools::probe(dialect)?)
        .env("TMPDIR", &folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Error::Answer("no pipes".to_owned()));
    };
    let mut running = Running { folder, child, stdin: BufWriter::new(stdin), stdout: BufReader::new(stdout) };
    send(
        &mut running.stdin,
        &json!({ "op": "base", "base": "world", "files": files_to_json(world::files()) }),
    )?;
    receive(&mut running.stdout)?;
    Ok(running)
}

fn send(to: &mut BufWriter<ChildStdin>, message: &Value) -> std::io::Result<()> {
    serde_json::to_writer(&mut *to, message)?;
    to.write_all(b"\n")?;
    to.flush()
}

/// The next answer, or `None` when the program is gone.
fn receive(from: &mut BufReader<ChildStdout>) -> Result<Option<Value>, Error> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 || line.last() != Some(&b'\n') {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| Error::Answer(e.to_string()))
}

/// Writes from a second thread, so that neither side waits with full pipes. False when the program died.
fn converse(
    running: &mut Running,
    requests: &[RenderRequest],
    outcomes: &mut Vec<Outcome>,
) -> Result<bool, Error> {
    let Running { stdin, stdout, .. } = running;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for request in requests {
                // A broken pipe is seen by the reader as the end of the answers.
                if serde_json::to_writer(&mut *stdin, &wire(request)).is_err()
                    || stdin.write_all(b"\n").is_err()
                {
                    return;
                }
            }
            let _ = stdin.flush();
        });
        for _ in requests {
            match receive(stdout)? {
                Some(answer) => outcomes.push(outcome(&answer)?),
                None => return Ok(false),
            }
        }
        Ok(true)
    })
}

fn wire(request: &RenderRequest) -> Value {
    let mut message = request.to_json();
    message.insert("op".to_owned(), json!("render"));
    message.insert("release".to_owned(), json!(request.release));
    message.insert("namespace".to_owned(), json!(request.namespace));
    Value::Object(message)
}

fn outcome(answer: &Value) -> Result<Outcome, Error> {
    let nonsense = || Error::Answer(answer.to_string());
    if let Some(error) = answer.get("error") {
        let bytes = text::from_json(error).ok_or_else(nonsense)?;
        let crashed = answer.get("panic").is_some();
        return Ok(if crashed {
            Outcome::Crash(String::from_utf8_lossy(&bytes).into_owned())
        } else {
            Outcome::Error(bytes)
        });
    }
    if let Some(stdout) = answer.get("stdout") {
        return Ok(Outcome::Stdout(text::from_json(stdout).ok_or_else(nonsense)?));
    }
    let files = answer.get("files").and_then(files_from_json).ok_or_else(nonsense)?;
    Ok(Outcome::Files(files.into_iter().map(|f| (f.name, f.data)).collect::<BTreeMap<_, _>>()))
}
