//! Writing.

use super::{Error, MAX_DEPTH, write_key, write_string};
use crate::doc::{Doc, View};
use crate::number;
use crate::walk::{Entry, entries, fields};

/// The document as `toml.Encoder` writes it: the plain entries of a table before its sub-tables, both sorted (the
/// fields of a struct keep their order), each level indented by two spaces; nulls are left out. A document that is no table is written as the value alone.
pub fn to_string<T: Doc>(doc: &T) -> Result<Vec<u8>, Error> {
    let mut writer =
        Writer { out: Vec::with_capacity(128), keys: Vec::new(), path: Path::default(), frames: Vec::new() };
    writer.root(doc)?;
    writer.run()?;
    Ok(writer.out)
}

struct Writer<T> {
    out: Vec<u8>,
    keys: Vec<u8>,
    path: Path,
    frames: Vec<Frame<T>>,
}

/// The keys of the table that is being written, as its header shows them.
#[derive(Default)]
struct Path {
    text: Vec<u8>,
    /// The length of the text before each key.
    parts: Vec<usize>,
}

impl Path {
    fn push(&mut self, key: &[u8]) {
        self.parts.push(self.text.len());
        if !self.text.is_empty() {
            self.text.push(b'.');
        }
        write_key(&mut self.text, key);
    }

    fn pop(&mut self) {
        self.text.truncate(self.parts.pop().unwrap_or_default());
    }
}

/// What is left to write of a container.
enum Frame<T> {
    /// A table: its entries, then its sub-tables.
    Table { entries: Iter<T>, tables: Iter<T>, line_open: bool, keys: usize, named: bool },
    /// The tables of a list.
    Tables(std::vec::IntoIter<T>),
    /// A list on one line.
    List { items: std::vec::IntoIter<T>, first: bool },
    /// A table on one line.
    Inline { entries: Iter<T>, tables: Iter<T>, comma: bool, keys: usize, fields: Option<usize> },
}

type Iter<T> = std::vec::IntoIter<Entry<T>>;

/// The entries of a map or the fields of a struct.
type Content<'a, T> = Vec<(std::borrow::Cow<'a, [u8]>, T)>;

/// What TOML makes of a value.
#[derive(PartialEq)]
enum Kind {
    Nil,
    Plain,
    Table,
    Tables,
}

impl<T: Doc> Writer<T> {
    fn root(&mut self, doc: &T) -> Result<(), Error> {
        match doc.view() {
            View::Null => Err(Error::Nil),
            View::Unsupported(text) => Err(Error::RootType(go_kind(&text))),
            View::Map(map) => self.open_table(map, true, false),
            View::Fields(fields) => self.open_table(fields, false, false),
            View::List(_) if kind(doc)? == Kind::Tables => Err(Error::NoKey),
            _ => self.element(doc),
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::Table { entries, tables, line_open, keys, named } => {
                    if std::mem::take(line_open) {
                        self.out.push(b'\n');
                    }
                    if let Some(entry) = entries.next() {
                        if !matches!(entry.node.view(), View::Null) {
                            *line_open = true;
                            self.out.resize(self.out.len() + 2 * self.path.parts.len(), b' ');
                            write_key(&mut self.out, entry.key(&self.keys));
                            self.out.extend_from_slice(b" = ");
                            self.element(&entry.node)?;
                        }
                    } else if let Some(entry) = tables.next() {
                        self.sub_table(entry)?;
                    } else {
                        self.keys.truncate(*keys);
                        if *named {
                            self.path.pop();
                        }
                        self.frames.pop();
                    }
                }
                Frame::Tables(items) => match items.next() {
                    Some(item) => {
                        self.blank_line();
                        self.header(b"[[", b"]]");
                        match item.view() {
                            View::Map(map) => self.open_table(map, true, false)?,
                            View::Fields(fields) => self.open_table(fields, false, false)?,
                            _ => {}
                        }
                    }
                    None => {
                        self.path.pop();
                        self.frames.pop();
                    }
                },
                Frame::List { items, first } => match items.next() {
                    Some(item) => {
                        if !std::mem::take(first) {
                            self.out.extend_from_slice(b", ");
                        }
                        self.element(&item)?;
                    }
                    None => {
                        self.out.push(b']');
                        self.frames.pop();
                    }
                },
                Frame::Inline { entries, tables, comma, keys, fields } => {
                    if std::mem::take(comma) {
                        self.out.extend_from_slice(b", ");
                    }
                    let entry = match entries.next() {
                        Some(entry) => Some((entry, entries.len() + tables.len() > 0)),
                        None => tables.next().map(|entry| (entry, tables.len() > 0)),
                    };
                    let Some((entry, more)) = entry else {
                        self.out.push(b'}');
                        self.keys.truncate(*keys);
                        self.frames.pop();
                        continue;
                    };
                    // A null takes its comma with it, but not the one before.
                    if !matches!(entry.node.view(), View::Null) {
                        // In a struct, it is the number of the field that decides, even if others were left out.
                        *comma = fields.map_or(more, |count| entry.node.field_number() + 1 != count);
                        write_key(&mut self.out, entry.key(&self.keys));
                        self.out.extend_from_slice(b" = ");
                        self.element(&entry.node)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, frame: Frame<T>) -> Result<(), Error> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(Error::Depth);
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Sorts entries into those that are lines and those that are tables.
    fn split(&mut self, map: Content<'_, T>, sorted: bool) -> Result<(Iter<T>, Iter<T>), Error> {
        let all = if sorted { entries(map, &mut self.keys) } else { fields(map, &mut self.keys) };
        let (mut lines, mut tables) = (Vec::with_capacity(all.len()), Vec::new());
        for entry in all {
            match kind(&entry.node)? {
                Kind::Nil | Kind::Plain => lines.push(entry),
                Kind::Table | Kind::Tables => tables.push(entry),
            }
        }
        Ok((lines.into_iter(), tables.into_iter()))
    }

    fn open_table(&mut self, map: Content<'_, T>, sorted: bool, named: bool) -> Result<(), Error> {
        let keys = self.keys.len();
        let (entries, tables) = self.split(map, sorted)?;
        self.push(Frame::Table { entries, tables, line_open: false, keys, named })
    }

    fn sub_table(&mut self, entry: Entry<T>) -> Result<(), Error> {
        self.path.push(entry.key(&self.keys));
        let view = entry.node.view();
        let sorted = matches!(view, View::Map(_));
        match view {
            View::Map(map) | View::Fields(map) => {
                if self.path.parts.len() == 1 {
                    self.blank_line();
                }
                self.header(b"[", b"]");
                self.open_table(map, sorted, true)
            }
            View::List(items) => self.push(Frame::Tables(items.into_iter())),
            _ => Ok(()),
        }
    }

    /// An empty line, unless this is the first.
    fn blank_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn header(&mut self, open: &[u8], close: &[u8]) {
        self.out.resize(self.out.len() + 2 * (self.path.parts.len().saturating_sub(1)), b' ');
        self.out.extend_from_slice(open);
        self.out.extend_from_slice(&self.path.text);
        self.out.extend_from_slice(close);
        self.out.push(b'\n');
    }

    /// A value on the current line.
    fn element(&mut self, node: &T) -> Result<(), Error> {
        let view = node.view();
        let sorted = matches!(view, View::Map(_));
        match view {
            // Null was left out or refused before.
            View::Null => {}
            View::Bool(b) => self.out.extend_from_slice(if b { b"true" } else { b"false" }),
            View::Int(i) => number::signed(&mut self.out, i),
            View::Uint(u) => number::unsigned(&mut self.out, u),
            View::Float(f) => write_float(&mut self.out, f),
            View::Str(s) => write_string(&mut self.out, &s),
            View::Plain(text) => self.out.extend_from_slice(&text),
            View::List(items) => {
                self.out.push(b'[');
                self.push(Frame::List { items: items.into_iter(), first: true })?;
            }
            View::Map(map) | View::Fields(map) => {
                self.out.push(b'{');
                let keys = self.keys.len();
                let (entries, tables) = self.split(map, sorted)?;
                let fields = (!sorted).then_some(entries.len() + tables.len());
                self.push(Frame::Inline { entries, tables, comma: false, keys, fields })?;
            }
            View::Unsupported(text) => return Err(Error::Type(go_kind(&text))),
        }
        Ok(())
    }
}

fn write_float(out: &mut Vec<u8>, f: f64) {
    if f.is_nan() || f.is_infinite() {
        if f.is_sign_negative() {
            out.push(b'-');
        }
        return out.extend_from_slice(if f.is_nan() { b"nan" } else { b"inf" });
    }
    let start = out.len();
    number::general(out, f);
    if !out.iter().skip(start).any(|b| matches!(b, b'.' | b'e')) {
        out.extend_from_slice(b".0");
    }
}

/// What a value is to TOML. A list of nothing but tables is special, a null anywhere in nested lists is an error.
fn kind<T: Doc>(node: &T) -> Result<Kind, Error> {
    let items = match node.view() {
        View::Null => return Ok(Kind::Nil),
        View::Map(_) | View::Fields(_) => return Ok(Kind::Table),
        View::List(items) => items,
        View::Unsupported(text) => return Err(Error::Type(go_kind(&text))),
        _ => return Ok(Kind::Plain),
    };
    let mut tables = !items.is_empty();
    let mut open = vec![items.into_iter()];
    while let Some(items) = open.last_mut() {
        let Some(item) = items.next() else {
            open.pop();
            continue;
        };
        match item.view() {
            View::Null => return Err(Error::NilElement),
            View::Unsupported(text) => return Err(Error::Type(go_kind(&text))),
            View::Map(_) | View::Fields(_) if open.len() == 1 => {}
            View::List(inner) => {
                tables = false;
                if open.len() >= MAX_DEPTH {
                    return Err(Error::Depth);
                }
                open.push(inner.into_iter());
            }
            _ => tables &= open.len() > 1,
        }
    }
    Ok(if tables { Kind::Tables } else { Kind::Plain })
}

/// The kind that a Go type is of: `func()` is a `func`.
fn go_kind(text: &str) -> String {
    let name = text.strip_prefix("json: unsupported type: ").unwrap_or(text);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    name.get(..end).unwrap_or_default().to_owned()
}
