//! From nodes to values: aliases expanded, merges applied, within go-yaml's limits.

use super::error::{Fault, Outcome};
use super::resolve::{Resolved, is_merge, resolve};
use super::tape::{Entry, Shape, Tape};
use super::types::Type;

/// What the values are made into.
pub(super) trait Build<'t> {
    type Value;
    type Map: Default;

    /// A scalar. `wanted` is the type of the place that it is for, if there is one.
    fn scalar(&mut self, value: Resolved<'t>, entry: &Entry, wanted: Option<&Type>) -> Self::Value;
    /// An empty mapping, for about so many entries.
    fn open(&mut self, _entries: usize) -> Self::Map {
        Self::Map::default()
    }
    fn list(&mut self, items: Vec<Self::Value>, entry: &Entry) -> Self::Value;
    fn map(&mut self, map: Self::Map, entry: &Entry) -> Self::Value;
    /// Sets an entry of a mapping.
    fn put(&mut self, map: &mut Self::Map, key: Resolved<'t>, value: Self::Value);
    /// The type of the place that a value of this key is for.
    fn wanted<'y>(&self, _map: Option<&'y Type>, _key: &Resolved<'t>) -> Option<&'y Type> {
        None
    }
}

/// A collection that is being walked over, or what has to be undone behind it.
enum Frame<'t, 'y, V> {
    Sequence {
        at: usize,
        next: usize,
        items: Vec<V>,
        wanted: Option<&'y Type>,
    },
    /// Its entries go to the last of the open maps. If it is merged, that one belongs to an outer mapping.
    Mapping {
        at: usize,
        next: usize,
        key: Option<Resolved<'t>>,
        merged: bool,
    },
    /// The mappings that remain to be merged, the next one last.
    Merges(Vec<usize>),
    Alias(usize),
    /// A collection that is used as a key.
    Key(usize),
}

/// The walk.
pub(super) struct Walk<'a, 't, 'y, B: Build<'t>> {
    tape: &'a Tape<'t>,
    build: &'a mut B,
    frames: Vec<Frame<'t, 'y, B::Value>>,
    maps: Vec<(B::Map, Option<&'y Type>)>,
    /// Which aliases are being expanded, by index.
    expanding: Vec<bool>,
    alias_depth: usize,
    decoded: usize,
    decoded_in_aliases: usize,
    bytes_in_aliases: usize,
    bounded: bool,
}

/// Up to how many nodes nearly all may come from aliases, and from how many on only a tenth.
const FREE_NODES: usize = 400_000;
const STRICT_NODES: usize = 4_000_000;

/// For so many items at most room is made before they come.
const MAX_ROOM: usize = 64;

/// How much text aliases may copy. Go shares the text here and runs out of memory later, when it writes JSON.
const MAX_ALIAS_TEXT: usize = 256 << 20;

fn allowed_share(decoded: usize) -> f64 {
    match decoded {
        0..=FREE_NODES => 0.99,
        STRICT_NODES.. => 0.10,
        _ => 0.99 - 0.89 * ((decoded - FREE_NODES) as f64 / (STRICT_NODES - FREE_NODES) as f64),
    }
}

impl<'a, 't, 'y, B: Build<'t>> Walk<'a, 't, 'y, B> {
    pub fn new(tape: &'a Tape<'t>, build: &'a mut B) -> Self {
        Self {
            tape,
            build,
            frames: Vec::with_capacity(8),
            maps: Vec::with_capacity(8),
            expanding: Vec::new(),
            alias_depth: 0,
            // The document itself counts.
            decoded: 1,
            decoded_in_aliases: 0,
            bytes_in_aliases: 0,
            bounded: true,
        }
    }

    /// Leaves out the limits, for a part of a document that was walked over within them.
    pub fn unbounded(mut self) -> Self {
        self.bounded = false;
        self
    }

    /// The value of a node.
    pub fn run(mut self, root: usize, wanted: Option<&'y Type>) -> Outcome<Option<B::Value>> {
        let mut value = self.visit(root, wanted)?;
        loop {
            if let Some(done) = value.take() {
                match self.frames.last_mut() {
                    None => return Ok(Some(done)),
                    Some(Frame::Sequence { items, .. }) => items.push(done),
                    Some(Frame::Mapping { key, .. }) => {
                        if let (Some(key), Some((map, _))) = (key.take(), self.maps.last_mut()) {
                            self.build.put(map, key, done);
                        }
                    }
                    Some(&mut Frame::Alias(at)) => {
                        self.leave_alias(at);
                        value = Some(done);
                        continue;
                    }
                    Some(&mut Frame::Key(at)) => return Err(invalid_key(self.tape, at)),
                    Some(Frame::Merges(_)) => {}
                }
            }
            if self.frames.is_empty() {
                return Ok(None);
            }
            value = self.advance()?;
        }
    }

    /// Takes the next step of the innermost frame. The value is there if that was a scalar or the end of a collection.
    fn advance(&mut self) -> Outcome<Option<B::Value>> {
        let tape = self.tape;
        match self.frames.last_mut() {
            Some(Frame::Sequence { at, next, wanted, .. }) => {
                if *next < tape.after(*at) {
                    let (item, wanted) = (*next, *wanted);
                    *next = tape.after(item);
                    return self.visit(item, wanted);
                }
            }
            Some(Frame::Mapping { at, next, .. }) => {
                if *next < tape.after(*at) {
                    let key = *next;
                    let value = tape.after(key);
                    *next = tape.after(value);
                    return self.pair(key, value);
                }
            }
            Some(Frame::Merges(rest)) => {
                if let Some(item) = rest.pop() {
                    return self.merge_one(item).map(|()| None);
                }
            }
            Some(&mut Frame::Alias(at)) => {
                self.leave_alias(at);
                return Ok(None);
            }
            Some(Frame::Key(_)) | None => {}
        }
        Ok(self.leave())
    }

    /// Ends the innermost frame.
    fn leave(&mut self) -> Option<B::Value> {
        match self.frames.pop()? {
            Frame::Sequence { at, items, .. } => Some(self.build.list(items, self.tape.entries.get(at)?)),
            Frame::Mapping { at, merged: false, .. } => {
                let (map, _) = self.maps.pop()?;
                Some(self.build.map(map, self.tape.entries.get(at)?))
            }
            _ => None,
        }
    }

    fn leave_alias(&mut self, at: usize) {
        self.frames.pop();
        self.alias_depth -= 1;
        if let Some(flag) = self.expanding.get_mut(at) {
            *flag = false;
        }
    }

    /// Counts a node. Fails if too many come from aliases.
    fn count(&mut self, at: usize) -> Outcome<()> {
        self.decoded += 1;
        if self.alias_depth > 0 {
            self.decoded_in_aliases += 1;
        }
        let share = || self.decoded_in_aliases as f64 / self.decoded as f64;
        let nodes =
            self.decoded_in_aliases > 100 && self.decoded > 1000 && share() > allowed_share(self.decoded);
        if self.bounded && (nodes || self.bytes_in_aliases > MAX_ALIAS_TEXT) {
            return Err(self.fault(at, "yaml: document contains excessive aliasing"));
        }
        Ok(())
    }

    fn fault(&self, at: usize, text: impl Into<String>) -> Box<Fault> {
        Fault::new(text, self.tape.entries.get(at).map(|e| e.mark).unwrap_or_default())
    }

    /// Goes to a node: the value of a scalar is there at once, a collection is entered.
    fn visit(&mut self, mut at: usize, wanted: Option<&'y Type>) -> Outcome<Option<B::Value>> {
        loop {
            self.count(at)?;
            let Some(entry) = self.tape.entries.get(at) else { return Ok(None) };
            match entry.shape {
                Shape::Scalar => {
                    let value = self.resolve(entry)?;
                    return Ok(Some(self.build.scalar(value, entry, wanted)));
                }
                Shape::Alias => {
                    self.enter_alias(at)?;
                    at = entry.link as usize;
                }
                Shape::Sequence => {
                    let wanted = wanted.and_then(Type::element);
                    let items = Vec::with_capacity(self.tape.children(at).min(MAX_ROOM));
                    self.frames.push(Frame::Sequence { at, next: at + 1, items, wanted });
                    return Ok(None);
                }
                Shape::Mapping => {
                    let map = self.build.open((self.tape.children(at) / 2).min(MAX_ROOM));
                    self.maps.push((map, wanted));
                    self.frames.push(Frame::Mapping { at, next: at + 1, key: None, merged: false });
                    return Ok(None);
                }
            }
        }
    }

    fn resolve(&mut self, entry: &Entry) -> Outcome<Resolved<'t>> {
        let value = resolve(self.tape, entry)?;
        if self.alias_depth > 0
            && let Resolved::Str(text) = &value
        {
            self.bytes_in_aliases = self.bytes_in_aliases.saturating_add(text.len());
        }
        Ok(value)
    }

    fn enter_alias(&mut self, at: usize) -> Outcome<()> {
        if self.expanding.is_empty() {
            self.expanding.resize(self.tape.entries.len(), false);
        }
        if let Some(flag) = self.expanding.get_mut(at)
            && std::mem::replace(flag, true)
        {
            let name = self.tape.entries.get(at).map(|e| self.tape.text_of(e)).unwrap_or_default();
            let text = format!("yaml: anchor '{}' value contains itself", String::from_utf8_lossy(&name));
            return Err(self.fault(at, text));
        }
        self.alias_depth += 1;
        self.frames.push(Frame::Alias(at));
        Ok(())
    }

    /// An entry of a mapping.
    fn pair(&mut self, key: usize, value: usize) -> Outcome<Option<B::Value>> {
        let Some(entry) = self.tape.entries.get(key) else { return Ok(None) };
        if entry.shape == Shape::Scalar && is_merge(self.tape, entry) {
            return self.merge(value).map(|()| None);
        }
        let target = if entry.shape == Shape::Alias {
            self.tape.entries.get(entry.link as usize)
        } else {
            Some(entry)
        };
        let Some(scalar) = target.filter(|t| t.shape == Shape::Scalar) else {
            self.frames.push(Frame::Key(key));
            return self.visit(key, None);
        };
        self.count(key)?;
        if entry.shape == Shape::Alias {
            self.alias_depth += 1;
            self.count(entry.link as usize)?;
        }
        let resolved = self.resolve(scalar)?;
        self.alias_depth -= usize::from(entry.shape == Shape::Alias);
        let wanted = self.maps.last().and_then(|(_, wanted)| self.build.wanted(*wanted, &resolved));
        if let Some(Frame::Mapping { key, .. }) = self.frames.last_mut() {
            *key = Some(resolved);
        }
        self.visit(value, wanted)
    }

    /// The value of a merge key.
    fn merge(&mut self, at: usize) -> Outcome<()> {
        if self.tape.entries.get(at).is_some_and(|e| e.shape == Shape::Sequence) {
            let end = self.tape.after(at);
            let mut items = Vec::new();
            let mut item = at + 1;
            while item < end {
                items.push(item);
                item = self.tape.after(item);
            }
            // The last one is merged first, so that the first one wins.
            self.frames.push(Frame::Merges(items));
            return Ok(());
        }
        self.merge_one(at)
    }

    fn merge_one(&mut self, at: usize) -> Outcome<()> {
        let entry = self.tape.entries.get(at);
        let is_mapping = |e: Option<&Entry>| e.is_some_and(|e| e.shape == Shape::Mapping);
        let (mapping, alias) = match entry {
            Some(entry) if entry.shape == Shape::Alias => (entry.link as usize, true),
            _ => (at, false),
        };
        if !is_mapping(self.tape.entries.get(mapping)) {
            return Err(self.fault(at, "yaml: map merge requires map or sequence of maps as the value"));
        }
        self.count(at)?;
        if alias {
            self.enter_alias(at)?;
            self.count(mapping)?;
        }
        self.frames.push(Frame::Mapping { at: mapping, next: mapping + 1, key: None, merged: true });
        Ok(())
    }
}

/// Says that a collection cannot be a key.
#[cold]
fn invalid_key(tape: &Tape<'_>, at: usize) -> Box<Fault> {
    let mark = tape.entries.get(at).map(|e| e.mark).unwrap_or_default();
    Fault::new(
        format!("yaml: invalid map key: {}", super::typed::Typed::of(tape, at, None).go_syntax()),
        mark,
    )
}
