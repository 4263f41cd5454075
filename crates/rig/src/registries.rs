//! Registries on loopback, ours and Debian's, and the clients beside ours.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tools;

/// Why there is no registry.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or a process.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A program is not built.
    #[error(transparent)]
    Tools(#[from] tools::Error),
    /// It did not say where it listens.
    #[error("{program} did not come up: {log}")]
    Silent {
        /// Which.
        program: String,
        /// What it said.
        log: String,
    },
    /// A command failed.
    #[error("{command}: {message}")]
    Failed {
        /// Which.
        command: String,
        /// What it said.
        message: String,
    },
}

const PATIENCE: Duration = Duration::from_secs(20);

/// A registry that ends with this value.
pub struct Registry {
    child: Child,
    /// Where it listens.
    pub address: String,
    /// Where its files are.
    pub folder: PathBuf,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    /// Ours, with more flags.
    pub fn podium(folder: &Path, flags: &[&str]) -> Result<Self, Error> {
        let mut command = Command::new(tools::podium()?);
        command.args(["registry", "serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder).args(flags);
        Self::start(command, folder, "://127.0.0.1:")
    }

    /// Debian's docker-registry; with `htpasswd`, for these users.
    pub fn docker(folder: &Path, htpasswd: Option<&Path>) -> Result<Self, Error> {
        fs::create_dir_all(folder)?;
        let config = folder.join("config.yml");
        let auth =
            htpasswd.map(|path| format!("auth: {{htpasswd: {{realm: x, path: {}}}}}\n", path.display()));
        let text = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}, delete: {{enabled: true}}}}\n\
             http: {{addr: \"127.0.0.1:0\"}}\n{}",
            folder.join("data").display(),
            auth.unwrap_or_default()
        );
        fs::write(&config, text)?;
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&config);
        Self::start(command, folder, "listening on 127.0.0.1:")
    }

    /// Debian's docker-registry with a certificate, for those only who show one that the authority has signed: `tls.crt`,
    /// `tls.key` and `ca.crt` of a folder.
    pub fn docker_for_known(folder: &Path, certificates: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder)?;
        let config = folder.join("config.yml");
        let text = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\n\
             http: {{addr: \"127.0.0.1:0\", tls: {{certificate: {1}/tls.crt, key: {1}/tls.key, clientcas: [{1}/ca.crt]}}}}\n",
            folder.join("data").display(),
            certificates.display()
        );
        fs::write(&config, text)?;
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&config);
        Self::start(command, folder, "listening on 127.0.0.1:")
    }

    /// The files of a folder behind a certificate (`NAME.crt`, `NAME.key`), by openssl's own server; with `known`, for
    /// those only who show one that `ca.crt` has signed.
    pub fn files(folder: &Path, certificates: &Path, name: &str, known: bool) -> Result<Self, Error> {
        let file = |ending: &str| certificates.join(ending).display().to_string();
        let mut command = Command::new("openssl");
        command.args(["s_server", "-accept", "127.0.0.1:0", "-WWW", "-cert", &file(&format!("{name}.crt"))]);
        command.args(["-key", &file(&format!("{name}.key"))]).current_dir(folder);
        if known {
            command.args(["-CAfile", &file("ca.crt"), "-Verify", "1", "-verify_return_error"]);
        }
        Self::start(command, folder, "ACCEPT 127.0.0.1:")
    }

    fn start(mut command: Command, folder: &Path, mark: &str) -> Result<Self, Error> {
        fs::create_dir_all(folder)?;
        let path = folder.join("log");
        let log = File::create(&path)?;
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let begin = Instant::now();
        loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let port: Option<String> = text
                .split(mark)
                .nth(1)
                .filter(|rest| rest.contains(|c: char| !c.is_ascii_digit()))
                .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect());
            if let Some(port) = port.filter(|port| !port.is_empty()) {
                return Ok(Self { child, address: format!("127.0.0.1:{port}"), folder: folder.to_owned() });
            }
            if begin.elapsed() > PATIENCE || child.try_wait()?.is_some() {
                let _ = child.kill();
                return Err(Error::Silent { program, log: text });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Runs a command; gives what it printed.
pub fn run(command: &mut Command) -> Result<String, Error> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::Failed { command: format!("{command:?}"), message })
}

/// Our own commands, with a home of their own.
pub fn podium(home: &Path) -> Result<Command, Error> {
    let mut command = tools::quiet_command(&tools::podium()?);
    command.env("HOME", home).env("PODIUM_DATA", home.join("podium"));
    Ok(command)
}

/// crane, with a home of its own.
pub fn crane(home: &Path) -> Result<Command, Error> {
    let mut command = tools::quiet_command(&tools::crane()?);
    command.env("HOME", home);
    Ok(command)
}

/// skopeo, with a home of its own; it takes plain HTTP and everybody's images.
pub fn skopeo(home: &Path) -> Command {
    let mut command = tools::quiet_command(Path::new("skopeo"));
    command.env("HOME", home).env("XDG_RUNTIME_DIR", home.join("run"));
    command.arg("--insecure-policy");
    command
}

/// Passes connections on to a registry; each that brings more bytes than the next limit, in either direction, is cut
/// there. Gives its address. It ends with the process.
pub fn cutting(to: &str, limits: Vec<usize>) -> Result<(String, Arc<Mutex<Vec<usize>>>), Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let limits = Arc::new(Mutex::new(limits));
    let (to, shared) = (to.to_owned(), limits.clone());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&to) else { return };
            for (from, into) in [(&client, &server), (&server, &client)] {
                let (Ok(from), Ok(into)) = (from.try_clone(), into.try_clone()) else { return };
                let limits = shared.clone();
                std::thread::spawn(move || pass(from, into, &limits));
            }
        }
    });
    Ok((address, limits))
}

/// A proxy that passes everything on to a registry, whomever it was asked for: what is to be encrypted through a tunnel,
/// the rest as it comes. Gives its address and the heads that it has seen. It ends with the process.
pub fn proxy(to: &str) -> Result<(String, Arc<Mutex<Vec<String>>>), Error> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (to, log) = (to.to_owned(), heads.clone());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (to, log) = (to.clone(), log.clone());
            std::thread::spawn(move || tunnel(client, &to, &log));
        }
    });
    Ok((address, heads))
}

fn tunnel(mut client: TcpStream, to: &str, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut server = TcpStream::connect(to).ok()?;
    if text.starts_with("CONNECT") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    } else {
        server.write_all(&head).ok()?;
    }
    log.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    let (from, into) = (client.try_clone().ok()?, server.try_clone().ok()?);
    std::thread::spawn(move || pass(from, into, &Mutex::default()));
    pass(server, client, &Mutex::default());
    Some(())
}

fn pass(mut from: TcpStream, mut into: TcpStream, limits: &Mutex<Vec<usize>>) {
    let (mut part, mut total) = (vec![0; 32 << 10], 0);
    loop {
        let read = from.read(&mut part).unwrap_or(0);
        total += read;
        let cut = {
            let mut limits = limits.lock().unwrap_or_else(PoisonError::into_inner);
            let cut = limits.first().is_some_and(|limit| total > *limit);
            if cut {
                limits.remove(0);
            }
            cut
        };
        if read == 0 || cut || into.write_all(part.get(..read).unwrap_or_default()).is_err() {
            let how = if cut { Shutdown::Both } else { Shutdown::Write };
            let _ = into.shutdown(how);
            if cut {
                let _ = from.shutdown(Shutdown::Both);
            }
            return;
        }
    }
}
