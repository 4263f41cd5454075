//! What goes wrong, with all its places.

use std::collections::HashMap;

use super::{Entry, Machine};
use crate::code::{HERE, Unit};
use crate::error::{Cause, RenderError, Site, Via};
use crate::fmt;
use crate::func::Error;
use crate::syntax::{self, Id, Names, Tree};
use crate::value::Value;

/// How many places of an error are told.
const MAX_TRACE: usize = 4_000;
/// How many of one that Go does not have, so that nobody compares it with Go's.
const MAX_LIMIT_TRACE: usize = 12;
/// How long the places of an error may be together, about.
const MAX_TRACE_BYTES: usize = 1 << 20;

/// The trees of the texts that an error is about. They are not kept after compiling: what is parsed again has the same
/// nodes.
#[derive(Default)]
struct Trees(HashMap<usize, Option<Tree>>);

impl Trees {
    /// Where a node is, and its text.
    fn node(&mut self, unit: &Unit, id: Id) -> (u32, Vec<u8>) {
        let key = std::sync::Arc::as_ptr(&unit.source) as usize;
        let tree = self.0.entry(key).or_insert_with(|| syntax::parse(&unit.source, &AnyName).ok());
        tree.as_ref().and_then(|t| Some((t.nodes.get(id as usize)?.pos, t.show(id)))).unwrap_or_default()
    }
}

/// Takes every function for granted: the text was parsed before.
struct AnyName;

impl Names for AnyName {
    fn has(&self, _: &[u8]) -> bool {
        true
    }
}

/// An error before its place is known.
pub(super) enum Raised {
    /// The language refuses.
    Template(Vec<u8>),
    /// A function failed; blame this node.
    Function(&'static str, Error, Id),
    /// A missing include; blame this node.
    NoTemplate(Vec<u8>, Id),
    /// A limit.
    Limit(Vec<u8>),
}

impl From<String> for Raised {
    fn from(message: String) -> Self {
        Raised::Template(message.into_bytes())
    }
}

impl<'h> Machine<'h> {
    /// Turns what was raised into an error with all its places.
    pub(super) fn failed(&mut self, raised: Raised) -> RenderError {
        if let (Raised::Function(_, _, node) | Raised::NoTemplate(_, node), Some(frame)) =
            (&raised, self.frames.last_mut())
            && *node != HERE
        {
            frame.at = *node;
        }
        let mut trace: Vec<Site> = Vec::new();
        let mut trees = Trees::default();
        let mut room = MAX_TRACE_BYTES;
        let is_limit =
            matches!(&raised, Raised::Limit(_)) || matches!(&raised, Raised::Function(_, e, _) if e.fatal);
        let most = if is_limit { MAX_LIMIT_TRACE } else { MAX_TRACE };
        // From the inside: where there are too many places, the innermost and the outermost one tell most.
        for i in (0..self.frames.len()).rev() {
            if i > 0 && (room == 0 || trace.len() >= most) {
                continue;
            }
            // A `template` call is not a place of its own: the error is reported where it happened.
            let via = match self.frames.get(i + 1).map(|f| &f.entry) {
                Some(Entry::Template) => continue,
                Some(Entry::Include(_)) => Via::Include,
                Some(Entry::Tpl(text)) => Via::Tpl(text.to_vec()),
                Some(Entry::Root) | None => Via::None,
            };
            let frame = &self.frames[i];
            let unit = frame.unit;
            let at = if via == Via::None { frame.at } else { frame.call };
            if at == HERE {
                continue;
            }
            let (pos, expression) = trees.node(unit, at);
            let (line, column) = unit.source.location(pos);
            let (file, template) = (unit.source.name.to_vec(), unit.name.to_vec());
            let text = if let Via::Tpl(text) = &via { text.len() } else { 0 };
            room = room.saturating_sub(file.len() + template.len() + expression.len() + text + 50);
            trace.push(Site { file, line, column, template, expression, via });
        }
        trace.reverse();
        let cause = match raised {
            Raised::Template(m) => Cause::Template(m),
            Raised::Function(_, e, _) if e.fatal => Cause::Limit(e.message),
            Raised::Function(name, e, _) => Cause::Function { name: name.to_owned(), message: e.message },
            Raised::NoTemplate(m, _) => Cause::NoTemplate(m),
            Raised::Limit(m) => Cause::Limit(m),
        };
        let value = self.involved.take().map(|v| describe(&v));
        RenderError { trace, cause, value }
    }
}

/// A value in a few words, for people. Containers are only counted: they may be huge.
fn describe(value: &Value<'_>) -> String {
    let ty = value.type_name();
    match value {
        Value::Map(m) => format!("{ty} with {} entries", m.len()),
        Value::List(l) => format!("{ty} with {} elements", l.items.len()),
        Value::Bytes(b) => format!("{ty} of {} bytes", b.len()),
        Value::Struct(_) => ty.to_owned(),
        Value::Str(s) => {
            let text = String::from_utf8_lossy(&s[..s.len().min(240)]).into_owned();
            let short: String = text.chars().take(60).collect();
            let more = if short.len() < s.len() { "…" } else { "" };
            format!("{ty} {short:?}{more}")
        }
        other => format!("{ty} {}", String::from_utf8_lossy(&fmt::to_bytes(other))),
    }
}
