//! Structured logs: one line per entry, with a level, a time, a message and fields.
//!
//! Bodies of objects, headers and chart values are never logged.

use std::fmt::{self, Display, Write as _};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

/// The level of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Failures.
    Error,
}

impl Level {
    /// `debug`, `info`, `error`, or a zap verbosity: a positive number is debug.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "debug" => Some(Level::Debug),
            "info" => Some(Level::Info),
            "error" | "panic" | "warn" | "dpanic" | "fatal" => Some(Level::Error),
            number => number.parse::<u32>().ok().filter(|number| *number > 0).map(|_| Level::Debug),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Error => "error",
        }
    }
}

/// The encoding of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Readable by people.
    Console,
    /// JSON, readable by programs.
    Json,
}

/// The longest value that is written; longer ones are truncated.
const MAX_VALUE: usize = 4096;

/// A log; clones share its output.
#[derive(Clone)]
pub struct Log {
    out: Arc<Mutex<Box<dyn Write + Send>>>,
    level: Level,
    style: Style,
    fields: Arc<[(&'static str, String)]>,
}

impl Log {
    /// A log on standard error.
    pub fn new(level: Level, style: Style) -> Self {
        Self::to(Box::new(std::io::stderr()), level, style)
    }

    /// A log to another writer.
    pub fn to(out: Box<dyn Write + Send>, level: Level, style: Style) -> Self {
        Self { out: Arc::new(Mutex::new(out)), level, style, fields: Arc::new([]) }
    }

    /// The same log with one more field in every line.
    pub fn with(&self, name: &'static str, value: impl Display) -> Self {
        let added = std::iter::once((name, value.to_string()));
        Self { fields: self.fields.iter().cloned().chain(added).collect(), ..self.clone() }
    }

    /// Whether entries of a level are written.
    pub fn enabled(&self, level: Level) -> bool {
        level >= self.level
    }

    /// Writes an entry of level debug.
    pub fn debug(&self, message: &str, fields: &[(&str, &dyn Display)]) {
        self.write(Level::Debug, message, fields);
    }

    /// Writes an entry of level info.
    pub fn info(&self, message: &str, fields: &[(&str, &dyn Display)]) {
        self.write(Level::Info, message, fields);
    }

    /// Writes an entry of level error.
    pub fn error(&self, message: &str, fields: &[(&str, &dyn Display)]) {
        self.write(Level::Error, message, fields);
    }

    fn write(&self, level: Level, message: &str, fields: &[(&str, &dyn Display)]) {
        if !self.enabled(level) {
            return;
        }
        let line = self.line(Timestamp::now(), level, message, fields);
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A failure to log cannot be reported anywhere.
        let _ = out.write_all(line.as_bytes());
    }

    fn line(&self, time: Timestamp, level: Level, message: &str, fields: &[(&str, &dyn Display)]) -> String {
        let own = self.fields.iter().map(|(name, value)| (*name, value as &dyn Display));
        let all = own.chain(fields.iter().copied());
        let mut line = String::with_capacity(128);
        // Writing to a String cannot fail; a value whose Display fails is truncated there.
        let _ = match self.style {
            Style::Console => console(&mut line, time, level, message, all),
            Style::Json => json(&mut line, time, level, message, all),
        };
        line.push('\n');
        line
    }
}

fn console<'f>(
    line: &mut String,
    time: Timestamp,
    level: Level,
    message: &str,
    fields: impl Iterator<Item = (&'f str, &'f dyn Display)>,
) -> fmt::Result {
    let level = level.name().to_uppercase();
    write!(line, "{time:.3} {level:<5} ")?;
    plain(line, message);
    for (name, value) in fields {
        write!(line, " {name}=")?;
        let value = short(value);
        let bare = |c: char| !c.is_whitespace() && !c.is_control() && !"\"=\\".contains(c);
        if !value.is_empty() && value.chars().all(bare) {
            line.push_str(&value)
        } else {
            quoted(line, &value)
        }
    }
    Ok(())
}

fn json<'f>(
    line: &mut String,
    time: Timestamp,
    level: Level,
    message: &str,
    fields: impl Iterator<Item = (&'f str, &'f dyn Display)>,
) -> fmt::Result {
    write!(line, "{{\"level\":\"{}\",\"ts\":\"{time:.3}\",\"msg\":", level.name())?;
    quoted(line, &short(&message));
    for (name, value) in fields {
        line.push(',');
        quoted(line, name);
        line.push(':');
        quoted(line, &short(value));
    }
    line.push('}');
    Ok(())
}

/// Escapes control characters, so that a value with a newline cannot forge a line.
fn plain(line: &mut String, message: &str) {
    for c in short(&message).chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
}

fn quoted(line: &mut String, text: &str) {
    line.push_str(&serde_json::Value::from(text).to_string());
}

fn short(value: &dyn Display) -> String {
    let mut text = value.to_string();
    if text.len() > MAX_VALUE {
        text.truncate(text.floor_char_boundary(MAX_VALUE));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(style: Style, message: &str, fields: &[(&str, &dyn Display)]) -> String {
        let log = Log::new(Level::Info, style).with("controller", "demo");
        log.line("2026-01-02T03:04:05.6789Z".parse().unwrap(), Level::Error, message, fields)
    }

    #[test]
    fn encodes_console_and_json_lines() {
        let fields: [(&str, &dyn Display); 4] = [("a", &1), ("b", &"x y"), ("c", &"k=\"v\""), ("d", &"")];
        assert_eq!(
            line(Style::Console, "it failed", &fields),
            "2026-01-02T03:04:05.678Z ERROR it failed controller=demo a=1 b=\"x y\" c=\"k=\\\"v\\\"\" d=\"\"\n"
        );
        assert_eq!(
            line(Style::Json, "it failed", &fields[..2]),
            "{\"level\":\"error\",\"ts\":\"2026-01-02T03:04:05.678Z\",\"msg\":\"it failed\",\"controller\":\"demo\",\
             \"a\":\"1\",\"b\":\"x y\"}\n"
        );
    }

    #[test]
    fn control_characters_cannot_forge_a_line() {
        for style in [Style::Console, Style::Json] {
            let text = line(style, "a\nb", &[("c", &"d\ne\u{1b}[1m")]);
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains('\u{1b}'));
        }
        assert!(line(Style::Console, &"é".repeat(10_000), &[]).len() < MAX_VALUE + 100);
    }

    #[test]
    fn parses_zap_levels() {
        for (text, level) in [
            ("debug", Some(Level::Debug)),
            ("info", Some(Level::Info)),
            ("error", Some(Level::Error)),
            ("3", Some(Level::Debug)),
            ("0", None),
            ("-1", None),
            ("loud", None),
        ] {
            assert_eq!(Level::parse(text), level, "{text}");
        }
        let log = Log::new(Level::Info, Style::Json);
        assert!(!log.enabled(Level::Debug) && log.enabled(Level::Error));
    }
}
