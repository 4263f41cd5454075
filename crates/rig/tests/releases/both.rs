//! Runs helm 4 and podium on the same command line and compares.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use podium_rig::cluster::Cluster;
use podium_rig::request::Dialect;
use podium_rig::tools;

/// Environment variables of both.
pub type Env<'a> = &'a [(&'a str, &'a str)];

/// How a command ended.
pub struct Ran {
    pub line: String,
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { line, status, stdout, stderr, .. } = self;
        write!(f, "$ {line}\nexit status {status:?}, stderr: {stderr}\n{stdout}")
    }
}

/// The binary that was built with the same profile as this test.
pub fn binary() -> PathBuf {
    tools::podium().unwrap()
}

/// Words between blanks; single quotes keep a word together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, part) in line.split('\'').enumerate() {
        match i % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn ran(mut command: Command, env: Env<'_>, line: String) -> Ran {
    let begin = Instant::now();
    let Output { status, stdout, stderr } = command.envs(env.iter().copied()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { line, status: status.code(), stdout: text(stdout), stderr: text(stderr), took: begin.elapsed() }
}

/// Runs helm 4.
pub fn helm(cluster: &Cluster, env: Env<'_>, line: &str) -> Ran {
    let mut command = cluster.helm(Dialect::Helm4);
    command.args(words(line));
    ran(command, env, format!("helm {line}"))
}

/// Runs podium.
pub fn podium(cluster: &Cluster, env: Env<'_>, line: &str) -> Ran {
    podium_by(cluster, binary(), &["release"], env, line)
}

/// Runs podium with at most so many KiB of address space.
pub fn small_podium(cluster: &Cluster, kibibytes: u32, line: &str) -> Ran {
    let script = format!("ulimit -v {kibibytes}; exec \"$0\" release \"$@\"");
    let program = binary().to_string_lossy().into_owned();
    podium_by(cluster, "/bin/sh".into(), &["-c", &script, &program], &[], line)
}

fn podium_by(cluster: &Cluster, program: PathBuf, first: &[&str], env: Env<'_>, line: &str) -> Ran {
    let mut command = tools::quiet_command(&program);
    command.env("KUBECONFIG", cluster.kubeconfig()).env("HOME", cluster.folder().join("podium"));
    command.stdin(std::process::Stdio::null()).args(first).args(words(line));
    ran(command, env, format!("podium release {line}"))
}

/// Fails with everything that differs.
pub fn equal(cluster: &Cluster, env: Env<'_>, lines: &[String]) {
    compare(cluster, env, lines, |text| text.to_owned());
}

/// As [`equal`], after a rewriting of both outputs that takes away what may differ.
pub fn compare(cluster: &Cluster, env: Env<'_>, lines: &[String], rewrite: fn(&str) -> String) {
    let mut differences = Vec::new();
    let seen = |ran: &Ran| (ran.status, rewrite(&ran.stdout));
    for line in lines {
        let mut theirs = helm(cluster, env, line);
        loop {
            let ours = podium(cluster, env, line);
            if seen(&theirs) == seen(&ours) {
                break;
            }
            // Other tests write meanwhile: a difference counts when helm says the same before and after.
            let again = helm(cluster, env, line);
            if seen(&again) == seen(&theirs) {
                differences.push(format!("{theirs}{ours}"));
                break;
            }
            theirs = again;
        }
    }
    let (bad, all) = (differences.len(), lines.len());
    assert!(bad == 0, "{bad} of {all} differ, {env:?}:\n{}", differences.join("\n=====\n"));
}

/// Both say no, and podium names the thing.
pub fn refused(cluster: &Cluster, env: Env<'_>, cases: &[(&str, &str)]) {
    let mut differences = Vec::new();
    for (line, thing) in cases {
        let (theirs, ours) = (helm(cluster, env, line), podium(cluster, env, line));
        let said = ours.stderr.starts_with("Error: ") && ours.stderr.contains(thing);
        if theirs.status == Some(0) || ours.status != Some(1) || !said || !ours.stdout.is_empty() {
            differences.push(format!("{theirs}{ours}(it should name {thing:?})"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n=====\n"));
}

/// Every one of these, in front of every one of those.
pub fn each(commands: &[&str], tails: &[&str]) -> Vec<String> {
    commands.iter().flat_map(|command| tails.iter().map(move |tail| format!("{command} {tail}"))).collect()
}
