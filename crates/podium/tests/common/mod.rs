//! Charts on disk, archives, and the program under a ceiling.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A chart's directory below the directory of this test run.
pub struct Chart {
    pub path: PathBuf,
}

impl Chart {
    /// A directory with nothing but a `Chart.yaml`.
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("templates")).unwrap();
        let chart = Self { path };
        chart.write("Chart.yaml", b"apiVersion: v2\nname: c\nversion: 1.0.0\n");
        chart
    }

    pub fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(name, text.as_ref());
        self
    }

    pub fn write(&self, name: &str, text: &[u8]) {
        let path = self.path.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// A finished run of the program.
pub struct Run {
    /// The exit status; nothing when it crashed or had to be stopped.
    pub status: Option<i32>,
    pub errors: String,
}

impl Run {
    /// Renders a chart, within so many kilobytes of address space and so many seconds.
    pub fn new(chart: &Path, flags: &[&str], kilobytes: usize, seconds: u64) -> Self {
        let errors =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("errors-{:?}", std::thread::current().id()));
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -v {kilobytes}; exec \"$@\""))
            .args(["sh", env!("CARGO_BIN_EXE_podium"), "chart", "template", "r"])
            .arg(chart)
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if start.elapsed() > Duration::from_secs(seconds) => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let text = std::fs::read(&errors).unwrap();
        let _ = std::fs::remove_file(&errors);
        Self { status, errors: String::from_utf8_lossy(&text).into_owned() }
    }
}

/// A block that says what follows in a tar file.
pub fn header(name: &str, size: u64, kind: u8) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    if size < 1 << 33 {
        put(124, format!("{size:011o}\0").as_bytes());
    } else {
        put(124, &[0x80, 0, 0, 0]);
        put(128, &size.to_be_bytes());
    }
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    let sum: u32 = block.iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// A gzipped tar file of entries: name, content, type.
pub fn archive(entries: &[(&str, &[u8], u8)]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, content, kind) in entries {
        tar.extend(header(name, content.len() as u64, *kind));
        tar.extend_from_slice(content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    gzip(&tar)
}

/// Compressed with the tool that everybody has.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip")
        .args(["-c", "-1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip is there");
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output.stdout
}
