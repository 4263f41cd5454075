//! The cluster in the background: begun, ended, removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead, IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use podium_client::{Client, ClientConfig};

use super::apply;
use super::home::{Home, Process};
use crate::flag::{many, on, one};
use crate::output::print;

/// How long a start or an end may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether it is so.
const PAUSE: Duration = Duration::from_millis(5);

/// Starts this program again in the background, and waits until it is ready.
pub fn up(home: &Home, matches: &ArgMatches) -> Result<()> {
    fs::create_dir_all(&home.root).with_context(|| home.root.display().to_string())?;
    let log = home.log();
    let out = OpenOptions::new().create(true).write(true).truncate(true).open(&log);
    let out = out.with_context(|| log.display().to_string())?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("up").arg("--data").arg(&home.root);
    for name in ["port", "listen", "token-file"] {
        if let Some(value) = one(matches, name) {
            command.arg(format!("--{name}")).arg(value);
        }
    }
    for host in many(matches, "host") {
        command.arg("--host").arg(host);
    }
    if on(matches, "no-stacks") {
        command.arg("--no-stacks");
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .process_group(0)
        .spawn()
        .context("cannot start in the background")?;
    let begin = Instant::now();
    loop {
        if let Some(running) = home.running() {
            print(
                format!(
                    "The cluster is up: {} (process {}).\n\n  export KUBECONFIG={}\n  kubectl get namespaces\n\n\
                     podium status tells more, podium logs what it does, podium down ends it.\n",
                    running.url,
                    running.process.pid,
                    home.kubeconfig().display()
                )
                .as_bytes(),
            )?;
            return apply_all(home, matches);
        }
        if let Some(status) = child.try_wait()? {
            let told = fs::read_to_string(&log).unwrap_or_default();
            bail!("it ended at once ({status}): {}", told.trim().trim_start_matches("Error: "));
        }
        if begin.elapsed() > PATIENCE {
            bail!("it is not ready after {} s; {} tells more", PATIENCE.as_secs(), log.display());
        }
        sleep(PAUSE);
    }
}

/// Applies what was asked for.
pub fn apply_all(home: &Home, matches: &ArgMatches) -> Result<()> {
    let files = many(matches, "apply");
    if files.is_empty() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let access = ClientConfig { kubeconfig: Some(home.kubeconfig()), ..ClientConfig::default() };
        let client = Client::new(&access).await?;
        for file in files {
            apply::apply(&client, &file).await?;
        }
        Ok(())
    })
}

/// Ends the cluster and waits until it has ended.
pub fn down(matches: &ArgMatches) -> Result<()> {
    let home = Home::of(matches)?;
    let Some(running) = home.running() else {
        return print(format!("The cluster in {} is not up.\n", home.root.display()).as_bytes());
    };
    end(running.process)?;
    print(b"The cluster is down; its data stays. podium up brings it back, podium reset removes it.\n")
}

fn end(process: Process) -> Result<()> {
    let pid = process.pid;
    kill(Pid::from_raw(i32::try_from(pid)?), Signal::SIGTERM)
        .with_context(|| format!("process {pid} cannot be ended"))?;
    let begin = Instant::now();
    while process.lives() {
        if begin.elapsed() > PATIENCE {
            bail!("process {pid} does not end; everything that was acknowledged is safe: kill -9 {pid}");
        }
        sleep(PAUSE);
    }
    Ok(())
}

/// What a cluster consists of; nothing else in the folder is touched.
const PARTS: &[&str] = &["store", "keys", "stacks", "kubeconfig", "log", "running.json"];

/// Removes the cluster with all its data.
pub fn reset(matches: &ArgMatches) -> Result<()> {
    let home = Home::of(matches)?;
    if !home.is_cluster() {
        return print(format!("There is no cluster in {}.\n", home.root.display()).as_bytes());
    }
    if !on(matches, "yes") {
        if !std::io::stdin().is_terminal() {
            bail!("this removes the cluster in {} with all its data: say so with --yes", home.root.display());
        }
        print(
            format!("This removes the cluster in {} with all its data. Go on? [y/N] ", home.root.display())
                .as_bytes(),
        )?;
        std::io::stdout().flush()?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return print(b"Nothing was removed.\n");
        }
    }
    if let Some(running) = home.running() {
        end(running.process)?;
    }
    // Whoever uses it without having said so would go on writing into what is gone.
    let lock = File::open(home.root.join("store/lock"));
    if lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock))) {
        let holder = fs::read_to_string(home.root.join("store/lock")).unwrap_or_default();
        bail!("{} is in use by process {}: end it first", home.root.display(), holder.trim());
    }
    for part in PARTS {
        let path = home.root.join(part);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
    }
    // The folder goes too, unless somebody has put something else into it.
    let _ = fs::remove_dir(&home.root);
    print(b"The cluster is gone. podium up makes a new one.\n")
}
