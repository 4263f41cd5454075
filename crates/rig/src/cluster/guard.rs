//! Programs that must not outlive the rig, even when the rig is killed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::Error;

/// Reads process ids (after a minus: of those that have ended) until the pipe is closed, then kills them and removes
/// the folder. Signals of the terminal reach it too, but its work begins when the rig is gone.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
while read -r pid; do
  case $pid in
    -*) left=; for other in $pids; do [ "$other" = "${pid#-}" ] || left="$left $other"; done; pids=$left ;;
    *) pids="$pids $pid" ;;
  esac
done
kill -KILL $pids
for try in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$0" && exit; sleep 0.1; done
"#;

/// A private folder and the programs that run in it. Both end with this value or with the rig's process,
/// whichever is first.
///
/// The kernel's own way (a signal when the parent dies) means the thread that started the program, and a test's
/// thread ends before a shared cluster may.
pub(super) struct Guard {
    folder: PathBuf,
    watcher: Child,
    programs: Mutex<Vec<(&'static str, Child)>>,
}

impl Guard {
    pub(super) fn new(folder: PathBuf) -> Result<Self, Error> {
        let mut builder = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(Error::io(&folder))?;
        let watcher = Command::new("sh")
            .args(["-c", SCRIPT])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::io("sh"))?;
        Ok(Guard { folder, watcher, programs: Mutex::default() })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a program that writes to `<name>.log` in the folder.
    pub(super) fn spawn(&self, name: &'static str, command: &mut Command) -> Result<(), Error> {
        let log = self.log(name);
        let out = File::create(&log).map_err(Error::io(&log))?;
        let errors = out.try_clone().map_err(Error::io(&log))?;
        let child = command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .spawn()
            .map_err(Error::io(name))?;
        let id = child.id();
        self.programs.lock().unwrap_or_else(PoisonError::into_inner).push((name, child));
        self.tell(&id.to_string())
    }

    /// Kills a program.
    pub(super) fn kill(&self, name: &str) -> Result<(), Error> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = programs.iter().position(|(other, _)| *other == name) else { return Ok(()) };
        let (_, mut program) = programs.remove(at);
        end(&mut program);
        self.tell(&format!("-{}", program.id()))
    }

    fn tell(&self, line: &str) -> Result<(), Error> {
        let Some(mut pipe) = self.watcher.stdin.as_ref() else { return Ok(()) };
        writeln!(pipe, "{line}").map_err(Error::io("sh"))
    }

    /// The first program that has ended by itself.
    pub(super) fn ended(&self) -> Option<&'static str> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut programs = programs.iter_mut();
        programs.find_map(|(name, program)| (!matches!(program.try_wait(), Ok(None))).then_some(*name))
    }

    /// All programs that were started here.
    pub(super) fn ids(&self) -> Vec<u32> {
        let programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.iter().map(|(_, program)| program.id()).collect()
    }

    /// The end of what a program wrote.
    pub(super) fn tail(&self, name: &str) -> String {
        let text = std::fs::read(self.log(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // First the watcher: it would kill ids that are no longer ours.
        end(&mut self.watcher);
        let programs = self.programs.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The last first: a server whose storage is gone does strange things.
        programs.iter_mut().rev().for_each(|(_, program)| end(program));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn started(name: &str) -> Guard {
        let guard =
            Guard::new(std::env::temp_dir().join(format!("podium-{name}-{}", std::process::id()))).unwrap();
        guard.spawn("sleep", Command::new("sleep").arg("1000")).unwrap();
        assert!(guard.ended().is_none() && guard.folder().join("sleep.log").is_file());
        guard
    }

    #[test]
    fn programs_and_files_end_with_the_guard() {
        let guard = started("guard");
        let (folder, ids) = (guard.folder().to_owned(), guard.ids());
        drop(guard);
        assert!(!folder.exists() && !Path::new(&format!("/proc/{}", ids[0])).exists());
    }

    #[test]
    fn programs_and_files_end_when_the_rig_is_killed() {
        let mut guard = started("killed");
        // All that the watcher sees of a rig that is killed.
        drop(guard.watcher.stdin.take());
        let begin = Instant::now();
        while guard.ended().is_none() || guard.folder().exists() {
            assert!(begin.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
