//! What goes wrong in a render.

use std::fmt;

use crate::gostr;

/// A place in a template that was being executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The name of the text.
    pub file: Vec<u8>,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 0: Go's way of counting.
    pub column: usize,
    /// The template that was executing.
    pub template: Vec<u8>,
    /// The expression, as Go prints it.
    pub expression: Vec<u8>,
    /// How the next inner place was reached from here.
    pub via: Via,
}

/// How one place led to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// It is the innermost place.
    None,
    /// `include`.
    Include,
    /// `tpl` of a text.
    Tpl(Vec<u8>),
}

/// What happened at the innermost place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The template language itself refused.
    Template(Vec<u8>),
    /// A function failed.
    Function {
        /// Its name.
        name: String,
        /// What it said.
        message: Vec<u8>,
    },
    /// An `include` of a template that does not exist.
    NoTemplate(Vec<u8>),
    /// There was no place yet: the template to render does not exist, or is empty.
    Start(Vec<u8>),
    /// A limit of the render was passed.
    Limit(Vec<u8>),
}

/// A failed render: the places from the outermost to the innermost, and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// The places, outermost first.
    pub trace: Vec<Site>,
    /// What happened at the last of them.
    pub cause: Cause,
    /// The value that was involved, if that is known: its type and a short form.
    pub value: Option<String>,
}

impl RenderError {
    /// Go's text of the error from the n-th place inwards.
    fn text_from(&self, start: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for site in &self.trace[start..] {
            site.head(&mut out);
            match &site.via {
                Via::None => {}
                Via::Include => out.extend_from_slice(b"error calling include: "),
                Via::Tpl(text) => {
                    out.extend_from_slice(b"error calling tpl: error during tpl function execution for ");
                    out.extend(gostr::quote(text));
                    out.extend_from_slice(b": ");
                }
            }
        }
        match &self.cause {
            Cause::Template(m) | Cause::Start(m) | Cause::Limit(m) => out.extend_from_slice(m),
            Cause::Function { name, message } => {
                out.extend_from_slice(format!("error calling {name}: ").as_bytes());
                out.extend_from_slice(message);
            }
            Cause::NoTemplate(m) => {
                out.extend_from_slice(b"error calling include: ");
                out.extend_from_slice(m);
            }
        }
        out
    }

    /// Go's text of the error.
    pub fn text(&self) -> Vec<u8> {
        self.text_from(0)
    }

    /// The texts that Go's `errors.Unwrap` gives one after the other, without repetitions. Each is made when it is
    /// asked for: together they are long.
    pub fn unwrapped(&self) -> impl Iterator<Item = Vec<u8>> {
        let inner = self.trace.iter().enumerate().flat_map(|(i, site)| {
            let tpl = match &site.via {
                Via::Tpl(text) => Some(text),
                _ => None,
            };
            let message = tpl.map(|text| {
                let mut message = b"error during tpl function execution for ".to_vec();
                message.extend(gostr::quote(text));
                message.extend_from_slice(b": ");
                message.extend(self.text_from(i + 1));
                message
            });
            let is_outer = i + 1 < self.trace.len();
            message.into_iter().chain(is_outer.then(|| self.text_from(i + 1)))
        });
        let last = match &self.cause {
            Cause::Function { message, .. } | Cause::NoTemplate(message) => Some(message.clone()),
            _ => None,
        };
        std::iter::once(self.text()).chain(inner).chain(last)
    }
}

impl Site {
    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"template: ");
        out.extend_from_slice(&self.file);
        out.extend_from_slice(format!(":{}:{}: executing ", self.line, self.column).as_bytes());
        out.extend(gostr::quote(&self.template));
        out.extend_from_slice(b" at <");
        out.extend_from_slice(&self.expression);
        out.extend_from_slice(b">: ");
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text()))
    }
}

impl std::error::Error for RenderError {}
