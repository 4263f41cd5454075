//! The program that answers with kube-apiserver's own packages.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub struct Probe {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the original says: a result, or the texts of its error, which may vary.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Out(Value),
    Errors(Vec<String>),
}

impl Probe {
    pub fn start() -> Self {
        let tools = std::env::var_os("PODIUM_TOOLS").map(PathBuf::from);
        let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/podium/tools");
        let program = tools.unwrap_or_else(home).join("probe-kubernetes");
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}: run `make tools`", program.display()));
        let stdin = BufWriter::new(child.stdin.take().unwrap());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Probe { child, stdin, stdout }
    }

    /// Everything that is answered.
    pub fn ask_all(&mut self, request: &Value) -> Value {
        writeln!(self.stdin, "{request}").unwrap();
        self.stdin.flush().unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub fn ask(&mut self, request: &Value) -> Answer {
        let mut answer = self.ask_all(request);
        match answer.get_mut("errors").map(Value::take) {
            Some(errors) => {
                let text = |error: &Value| error.as_str().unwrap().to_owned();
                Answer::Errors(errors.as_array().unwrap().iter().map(text).collect())
            }
            None => Answer::Out(answer.get_mut("out").map(Value::take).unwrap_or_default()),
        }
    }

    /// The schemas of the built-in kinds, as one OpenAPI document.
    pub fn schemas(&mut self) -> Value {
        match self.ask(&json!({"op": "schemas"})) {
            Answer::Out(schemas) => json!({"components": {"schemas": schemas}}),
            Answer::Errors(errors) => panic!("{errors:?}"),
        }
    }
}
