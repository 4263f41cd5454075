//! Helm's words for what goes wrong in a render.

use std::fmt;

use podium_gotmpl::{Cause, ParseError, RenderError as ExecError};

use crate::dialect::Dialect;

/// A render that failed: Helm's message, and what a person needs to find the place.
#[derive(Debug)]
pub struct RenderError {
    /// Helm's message; what templates say need not be UTF-8.
    pub message: Vec<u8>,
    /// The template file that was being parsed or rendered.
    pub file: String,
    /// The error of the template language, when one was being executed.
    pub exec: Option<Box<ExecError>>,
    /// The line in the file that cannot be parsed.
    pub parse_line: Option<u32>,
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.message))
    }
}

impl std::error::Error for RenderError {}

impl RenderError {
    /// An error that is shown as it is.
    pub(super) fn plain(file: &str, message: String) -> Self {
        Self { message: message.into_bytes(), file: file.to_owned(), exec: None, parse_line: None }
    }

    /// A template that cannot be parsed.
    pub(super) fn parse(file: &str, error: ParseError) -> Self {
        let text = error.to_string();
        let tokens: Vec<&str> = text.split(": ").collect();
        let message = match tokens.as_slice() {
            [_, location, .., last] => format!("parse error at ({location}): {last}"),
            [_, location] => format!("parse error at ({location}): {location}"),
            _ => format!("parse error in ({file}): {text}"),
        };
        Self {
            message: message.into_bytes(),
            file: file.to_owned(),
            exec: None,
            parse_line: Some(error.line),
        }
    }

    /// A template that failed while it ran.
    pub(super) fn exec(file: &str, error: ExecError, dialect: &Dialect) -> Self {
        Self {
            message: to_bytes(&exec_message(file, &error, dialect)),
            file: file.to_owned(),
            exec: Some(Box::new(error)),
            parse_line: None,
        }
    }
}

/// Before the letters that stand for bytes: the last of those for private use.
const STAND_INS: u32 = 0x10_FE00;

const START: &str = "HELM_ERR_START";
const END: &str = "HELM_ERR_END";

/// Any bytes as a text that can be taken apart: invalid ones are letters that no text uses.
fn from_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|b| char::from_u32(STAND_INS + u32::from(*b))));
    }
    text
}

/// The bytes of such a text.
fn to_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(STAND_INS)) {
            Ok(byte @ 0x80..) => bytes.push(byte),
            _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

fn exec_message(file: &str, error: &ExecError, dialect: &Dialect) -> String {
    let text = from_bytes(&error.text());
    if matches!(error.cause, Cause::Start(_)) {
        return text;
    }
    let mut tokens = text.splitn(3, ": ");
    let (Some(_), Some(location), Some(rest)) = (tokens.next(), tokens.next(), tokens.next()) else {
        return format!("execution error in ({file}): {text}");
    };
    // What `required` and `fail` say is shown without the chain that led there.
    if let Some((_, said)) = rest.split_once(START)
        && let Some((said, _)) = said.rsplit_once(END)
    {
        return format!("execution error at ({location}): {said}");
    }
    if dialect.traces_errors { traced(error).unwrap_or(text) } else { text }
}

/// A level of an error: where, in what, and what.
#[derive(PartialEq, Eq)]
struct Level {
    location: String,
    executing: String,
    message: String,
}

/// The error as a trace, one level after the other, if every level is of the template language's own making.
fn traced(error: &ExecError) -> Option<String> {
    let mut levels: Vec<Level> = Vec::new();
    for text in error.unwrapped() {
        let level = level(&from_bytes(&text))?;
        if levels.last() != Some(&level) {
            levels.push(level);
        }
    }
    let mut out = String::new();
    for level in levels {
        if !level.location.is_empty() {
            out.push_str(&level.location);
            out.push_str("\n  ");
        }
        if !level.executing.is_empty() {
            out.push_str(&level.executing);
            out.push_str("\n    ");
        }
        if !level.message.is_empty() {
            out.push_str(&level.message);
            out.push('\n');
        }
    }
    Some(trim_space(&out).to_owned())
}

/// Go's `strings.TrimSpace`.
fn trim_space(text: &str) -> &str {
    text.trim_matches(podium_gotmpl::gostr::is_space)
}

/// Reads one level off an error text.
fn level(text: &str) -> Option<Level> {
    let rest = text.strip_prefix("template: ")?;
    if rest.starts_with("no template ") {
        return Some(Level { location: String::new(), executing: String::new(), message: text.to_owned() });
    }
    let cut = |message: &str| message.split(" template:").next().unwrap_or(message).to_owned();
    if let Some((location, after)) = rest.split_once(": executing ")
        && let Some(level) = executing(location, after, cut)
    {
        return Some(level);
    }
    let (location, message) = rest.rsplit_once(": ")?;
    Some(Level { location: location.to_owned(), executing: String::new(), message: cut(message) })
}

fn executing(location: &str, after: &str, cut: impl Fn(&str) -> String) -> Option<Level> {
    let (name, after) = after.strip_prefix('"')?.split_once('"')?;
    let (expression, message) = after.strip_prefix(" at <")?.split_once(">: ")?;
    Some(Level {
        location: location.to_owned(),
        executing: format!("executing \"{name}\" at <{expression}>:"),
        message: cut(message),
    })
}
