//! A small server of files, and a registry.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use podium_rig::tools;

/// What the server answers besides files.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A redirection.
    To(String),
    /// So many zeros.
    Zeros(u64),
    /// A file, but only for who shows this.
    Secret(String),
}

/// A server of the files below a directory.
pub struct Web {
    pub address: String,
    pub answers: Arc<Mutex<HashMap<String, Answer>>>,
    /// The requests: path, and what was shown with it.
    pub seen: Arc<Mutex<Vec<(String, Option<String>)>>>,
}

impl Web {
    pub fn start(root: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let web = Self { address, answers: Arc::default(), seen: Arc::default() };
        let (answers, seen, root) = (web.answers.clone(), web.seen.clone(), root.to_path_buf());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answers, seen, root) = (answers.clone(), seen.clone(), root.clone());
                std::thread::spawn(move || serve(stream, &root, &answers, &seen));
            }
        });
        web
    }

    pub fn answer(&self, path: &str, answer: Answer) {
        self.answers.lock().unwrap().insert(path.to_owned(), answer);
    }
}

type Answers = Mutex<HashMap<String, Answer>>;
type Seen = Mutex<Vec<(String, Option<String>)>>;

fn serve(mut stream: TcpStream, root: &Path, answers: &Answers, seen: &Seen) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut shown = None;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("authorization")
        {
            shown = Some(value.trim().to_owned());
        }
    }
    seen.lock().unwrap().push((path.clone(), shown.clone()));
    let answer = answers.lock().unwrap().get(&path).cloned();
    let plain = path.split('?').next()?;
    let file = || std::fs::read(root.join(plain.trim_start_matches('/'))).ok();
    let (status, more, body) = match answer {
        Some(Answer::To(place)) => ("302 Found", format!("Location: {place}\r\n"), Vec::new()),
        Some(Answer::Secret(wanted)) if shown.as_deref() != Some(wanted.as_str()) => {
            ("401 Unauthorized", String::new(), b"who are you?".to_vec())
        }
        Some(Answer::Zeros(size)) => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).ok()?;
            std::io::copy(&mut std::io::repeat(0).take(size), &mut stream).ok()?;
            return Some(());
        }
        _ => match file() {
            Some(body) => ("200 OK", String::new(), body),
            None => ("404 Not Found", String::new(), b"nothing here".to_vec()),
        },
    };
    let head =
        format!("HTTP/1.1 {status}\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

/// A registry that is an original: crane's.
pub struct Registry {
    pub host: String,
    child: Child,
}

impl Registry {
    pub fn start() -> Self {
        let crane: PathBuf = tools::cache().unwrap().join("crane");
        assert!(crane.is_file(), "{} is not there: run `make tools`", crane.display());
        let mut command = tools::quiet_command(&crane);
        command
            .args(["registry", "serve", "--address", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        // It says where it listens: "… serving on port 12345".
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = loop {
            let line = lines.next().unwrap().unwrap();
            let digits: String = line.chars().rev().take_while(char::is_ascii_digit).collect();
            if digits.len() > 3 {
                break digits.chars().rev().collect::<String>();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { host: format!("127.0.0.1:{port}"), child }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
