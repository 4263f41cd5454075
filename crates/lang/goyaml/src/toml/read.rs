//! Reading.

use super::Error;
use super::lex::{Lexer, Problem, Top, Word};
use super::tables::{Build, Context, Id, Item, Leaf, ROOT, Refusal, Tables};
use super::{date, value};
use crate::tree::{List, Map, Node, Pos, Value};

/// Reads a text as `toml.Unmarshal` into a `map[string]interface{}` does: integers are `int64`.
///
/// Go makes dates and times to `time.Time`, which a tree cannot hold (see [`parse_with`]); here they are the strings that Go's JSON makes of
/// them, with a local time taken for UTC: `1979-05-27` is `1979-05-27T00:00:00Z`, `07:32` is `0000-01-01T07:32:00Z`.
pub fn parse(text: &[u8], source: u32) -> Result<Map, Error> {
    Ok(match parse_with(text, source, &mut Trees)?.map(|node| node.value) {
        Some(Value::Map(map)) => map,
        _ => Map::new(),
    })
}

/// Makes a tree, in which a date is the text that JSON makes of it.
struct Trees;

impl Build for Trees {
    type Made = Node;

    fn leaf(&mut self, leaf: Leaf, pos: Pos) -> Node {
        match leaf {
            Leaf::Value(value) => Node::new(value, pos),
            Leaf::Date(text) => Node::new(date::to_json(&text).unwrap_or(text), pos),
        }
    }

    fn list(&mut self, items: Vec<Node>, _: bool, pos: Pos) -> Node {
        Node::new(Value::List(List::from(items)), pos)
    }

    fn table(&mut self, entries: Vec<(Box<str>, Node)>, pos: Pos) -> Node {
        let mut map = Map::new();
        for (key, node) in entries {
            map.insert(key, node);
        }
        Node::new(Value::Map(map), pos)
    }
}

/// Reads a text and lets a builder make something of it.
pub fn parse_with<B: Build>(text: &[u8], source: u32, builder: &mut B) -> Result<Option<B::Made>, Error> {
    let text = [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"]
        .iter()
        .find_map(|mark| text.strip_prefix(*mark))
        .unwrap_or(text);
    if text.iter().take(6).any(|&b| b == 0) {
        let message =
            "files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8".to_owned();
        return Err(Error::Syntax { line: 1, key: String::new(), message });
    }
    let mut reader = Reader {
        lexer: Lexer::new(text),
        tables: Tables::new(Pos { source, line: 1, column: 1 }),
        context: ROOT,
        key: String::new(),
        key_line: 0,
        source,
    };
    reader.document()?;
    Ok(reader.tables.build(builder))
}

struct Reader<'t> {
    lexer: Lexer<'t>,
    tables: Tables,
    /// The table that the next entry goes to.
    context: Context,
    /// The entry that is being read; empty between entries.
    key: String,
    /// The line of the last key.
    key_line: usize,
    source: u32,
}

/// A container whose end has not been seen.
enum Open {
    List { ids: Vec<Id>, pos: Pos },
    Table(Box<Inline>),
}

/// A table on one line. Go builds it twice, as a value and among the other tables. Both decide what is an error, and
/// either can be the one that stays.
struct Inline {
    value: Id,
    outer: Context,
    outer_key: String,
    context: Context,
    /// The parts of the current entry's key, but for the last.
    parents: Vec<String>,
}

/// A value that was read completely.
struct Done {
    value: Id,
    list: bool,
}

impl Reader<'_> {
    fn fail(&self, line: usize, message: String) -> Error {
        let table = self.tables.name(self.context.path);
        let key = match (table.is_empty(), self.key.is_empty()) {
            (_, true) => table,
            (true, false) => self.key.clone(),
            (false, false) => format!("{table}.{}", self.key),
        };
        Error::Syntax { line, key, message }
    }

    fn lexed<T>(&self, result: Result<T, Problem>) -> Result<T, Error> {
        result.map_err(|problem| self.fail(problem.line, problem.message))
    }

    fn allowed<T>(&self, result: Result<T, Refusal>) -> Result<T, Error> {
        result.map_err(|refusal| self.fail(self.key_line, refusal.0))
    }

    fn pos(&self) -> Pos {
        let number = |n| u32::try_from(n).unwrap_or(u32::MAX);
        let (line, column) = self.lexer.mark;
        Pos { source: self.source, line: number(line), column: number(column) }
    }

    fn document(&mut self) -> Result<(), Error> {
        loop {
            let top = self.lexer.top();
            match self.lexed(top)? {
                Top::End => return Ok(()),
                Top::Table => self.header(false)?,
                Top::Tables => self.header(true)?,
                Top::Key => self.entry()?,
            }
            let goes_on = self.lexer.top_end();
            if !self.lexed(goes_on)? {
                return Ok(());
            }
        }
    }

    /// A part of a key or of a table's name.
    fn part(&mut self, word: Result<Word, Problem>, first: bool) -> Result<String, Error> {
        let word = self.lexed(word)?;
        if first {
            self.key_line = self.lexer.line;
        }
        value::string(word).map_err(|message| self.fail(self.lexer.line, message))
    }

    fn header(&mut self, list: bool) -> Result<(), Error> {
        let mut parts = Vec::new();
        loop {
            let word = self.lexer.table_name();
            parts.push(self.part(word, parts.is_empty())?);
            let more = self.lexer.table_name_end();
            if !self.lexed(more)? {
                break;
            }
        }
        if list {
            let end = self.lexer.tables_end();
            self.lexed(end)?;
        }
        let pos = self.pos();
        let name = parts.pop().unwrap_or_default();
        let mut parent = ROOT;
        for part in &parts {
            let step = self.tables.step(parent, part, pos);
            parent = self.allowed(step)?;
        }
        self.enter(parent, &name, list, pos)?;
        self.tables.set_list(self.context, "", false);
        Ok(())
    }

    /// Makes a table the one that entries go to.
    fn enter(&mut self, parent: Context, name: &str, list: bool, pos: Pos) -> Result<(), Error> {
        let passable = self.tables.passable(parent).map(drop);
        self.allowed(passable)?;
        self.context = parent;
        let made =
            if list { self.tables.append(parent, name, pos) } else { self.tables.define(parent, name, pos) };
        self.context = self.allowed(made)?;
        Ok(())
    }

    fn entry(&mut self) -> Result<(), Error> {
        let outer = self.context;
        self.entry_key()?;
        let done = self.value()?;
        self.set(&done)?;
        self.context = outer;
        self.key.clear();
        Ok(())
    }

    /// Reads a key; its last part becomes the current key, the other parts name the table. Gives those.
    fn entry_key(&mut self) -> Result<Vec<String>, Error> {
        let start = self.lexer.key_start();
        self.lexed(start)?;
        let mut parts = Vec::new();
        loop {
            let word = self.lexer.key_name();
            parts.push(self.part(word, parts.is_empty())?);
            let more = self.lexer.key_name_end();
            if !self.lexed(more)? {
                break;
            }
        }
        self.key = parts.pop().unwrap_or_default();
        let pos = self.pos();
        for part in &parts {
            let path = self.tables.child(self.context.path, part);
            self.tables.set_implicit(path, true);
            self.enter(self.context, part, false, pos)?;
        }
        Ok(parts)
    }

    fn set(&mut self, done: &Done) -> Result<(), Error> {
        let set = self.tables.set(self.context, &self.key, done.value);
        self.allowed(set)?;
        self.tables.set_list(self.context, &self.key, done.list);
        Ok(())
    }

    fn value(&mut self) -> Result<Done, Error> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let word = self.lexer.value();
            let word = self.lexed(word)?;
            let pos = self.pos();
            let mut more = match word {
                Word::List => {
                    self.tables.set_list(self.context, &self.key, true);
                    open.push(Open::List { ids: Vec::new(), pos });
                    let first = self.lexer.item();
                    self.lexed(first)?
                }
                Word::Table => {
                    let in_list = matches!(open.last(), Some(Open::List { .. }));
                    let inline = self.open_inline(in_list, pos)?;
                    open.push(Open::Table(Box::new(inline)));
                    self.next_entry(&mut open)?
                }
                word => {
                    let leaf = value::leaf(word).map_err(|message| self.fail(self.lexer.line, message))?;
                    let done = Done { value: self.tables.add(Item::Leaf(leaf), pos), list: false };
                    match self.deliver(done, &mut open)? {
                        Ok(more) => more,
                        Err(done) => return Ok(done),
                    }
                }
            };
            while !more {
                let Some(done) = self.close(&mut open) else { break };
                match self.deliver(done, &mut open)? {
                    Ok(goes_on) => more = goes_on,
                    Err(done) => return Ok(done),
                }
            }
        }
    }

    /// Gives a value to the container that it is in, and says whether another value follows there. Gives it back if it
    /// is in none.
    fn deliver(&mut self, done: Done, open: &mut [Open]) -> Result<Result<bool, Done>, Error> {
        match open.last_mut() {
            None => Ok(Err(done)),
            Some(Open::List { ids, .. }) => {
                ids.push(done.value);
                let more = self.lexer.item_end();
                if !self.lexed(more)? {
                    return Ok(Ok(false));
                }
                let next = self.lexer.item();
                self.lexed(next).map(Ok)
            }
            Some(Open::Table(inline)) => {
                self.add(inline, &done)?;
                let more = self.lexer.entry_end();
                if !self.lexed(more)? {
                    return Ok(Ok(false));
                }
                self.next_entry(open).map(Ok)
            }
        }
    }

    fn open_inline(&mut self, in_list: bool, pos: Pos) -> Result<Inline, Error> {
        let outer = self.context;
        let outer_key = std::mem::take(&mut self.key);
        let path = self.tables.child(outer.path, &outer_key);
        self.tables.set_implicit(path, true);
        self.context = Context { path, table: None };
        self.enter(outer, &outer_key, in_list, pos)?;
        let value = self.tables.add_table(pos);
        Ok(Inline { value, outer, outer_key, context: self.context, parents: Vec::new() })
    }

    /// Goes to the value of the next entry of a table on one line. Says whether there is one.
    fn next_entry(&mut self, open: &mut [Open]) -> Result<bool, Error> {
        let entry = self.lexer.entry();
        if !self.lexed(entry)? {
            return Ok(false);
        }
        let parents = self.entry_key()?;
        if let Some(Open::Table(inline)) = open.last_mut() {
            inline.parents = parents;
        }
        Ok(true)
    }

    fn add(&mut self, inline: &Inline, done: &Done) -> Result<(), Error> {
        self.set(done)?;
        let mut table = inline.value;
        for part in &inline.parents {
            table = match self.tables.get(table, part) {
                Some(next) => next,
                None => {
                    let next = self.tables.add_table(self.pos());
                    self.tables.put(table, part, next);
                    next
                }
            };
            if !self.tables.is_table(table) {
                let mut message = String::new();
                crate::unicode::quote(&mut message, self.tables.name(self.context.path).as_bytes());
                message.push_str(" is not a table");
                return Err(self.fail(self.key_line, message));
            }
        }
        self.tables.put(table, &self.key, done.value);
        self.context = inline.context;
        Ok(())
    }

    /// Takes the innermost container, which is complete.
    fn close(&mut self, open: &mut Vec<Open>) -> Option<Done> {
        Some(match open.pop()? {
            Open::List { ids, pos } => Done { value: self.tables.add(Item::List(ids), pos), list: true },
            Open::Table(inline) => {
                self.context = inline.outer;
                self.key = inline.outer_key;
                Done { value: inline.value, list: false }
            }
        })
    }
}
