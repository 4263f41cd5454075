//! The tables of a document while it is read, and which of their keys may still be set.

use std::collections::BTreeMap;

use super::write_key;
use crate::tree::{Pos, Value};

/// A table that entries go to: its name, and where it is. What has a name but is no table cannot take entries.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) path: PathId,
    pub(super) table: Option<Id>,
}

/// A name, however many tables (of a list) have it.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct PathId(usize);

/// A value that has been read, wholly or in part.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Id(usize);

/// The document without a name.
pub(super) const ROOT: Context = Context { path: PathId(0), table: Some(Id(0)) };

/// A value. All of them are in one place, so that they can be shared, and so that no nesting needs a deep stack.
pub(super) enum Item {
    Leaf(Leaf),
    List(Vec<Id>),
    /// The tables of a list that was written with `[[…]]`.
    Tables(Vec<Id>),
    Table(BTreeMap<Box<str>, Id>),
}

/// A value that holds no others.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// A string, number or boolean.
    Value(Value),
    /// A date, a time or both, as it was written but with `T` and `Z` in upper case.
    Date(String),
}

/// Makes something of a document, from the inside out.
pub trait Build {
    /// What is made of each value.
    type Made;
    /// A value that holds no others.
    fn leaf(&mut self, leaf: Leaf, pos: Pos) -> Self::Made;
    /// A list; `tables` says that it was written with `[[…]]`, which Go gives a type of its own.
    fn list(&mut self, items: Vec<Self::Made>, tables: bool, pos: Pos) -> Self::Made;
    /// A table, its entries in order.
    fn table(&mut self, entries: Vec<(Box<str>, Self::Made)>, pos: Pos) -> Self::Made;
}

/// What is remembered of a name.
#[derive(Default)]
struct Path {
    parent: usize,
    name: Box<str>,
    children: BTreeMap<Box<str>, PathId>,
    /// It came to be because a longer name was used, and may still be defined itself.
    implicit: bool,
    /// It holds a list.
    list: bool,
}

/// A key that cannot be set; the text says why.
pub(super) struct Refusal(pub(super) String);

/// All values and all names.
pub(super) struct Tables {
    items: Vec<(Item, Pos)>,
    paths: Vec<Path>,
}

impl Tables {
    pub(super) fn new(pos: Pos) -> Self {
        Self { items: vec![(Item::Table(BTreeMap::new()), pos)], paths: vec![Path::default()] }
    }

    /// The name with one more part.
    pub(super) fn child(&mut self, parent: PathId, name: &str) -> PathId {
        let next = PathId(self.paths.len());
        let Some(path) = self.paths.get_mut(parent.0) else { return parent };
        if let Some(&child) = path.children.get(name) {
            return child;
        }
        path.children.insert(name.into(), next);
        self.paths.push(Path { parent: parent.0, name: name.into(), ..Path::default() });
        next
    }

    /// The name as Go prints it.
    pub(super) fn name(&self, path: PathId) -> String {
        let mut parts = Vec::new();
        let mut at = path.0;
        while let Some(path) = self.paths.get(at).filter(|_| at != 0) {
            parts.push(&path.name);
            at = path.parent;
        }
        let mut text = Vec::new();
        for (i, part) in parts.iter().rev().enumerate() {
            if i > 0 {
                text.push(b'.');
            }
            write_key(&mut text, part.as_bytes());
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    pub(super) fn set_implicit(&mut self, path: PathId, implicit: bool) {
        if let Some(path) = self.paths.get_mut(path.0) {
            path.implicit = implicit;
        }
    }

    /// Notes whether a key holds a list. As in Go, a key without name is taken for the table that it is in.
    pub(super) fn set_list(&mut self, context: Context, key: &str, list: bool) {
        let path = match key {
            "" if context.path != ROOT.path => context.path,
            key => self.child(context.path, key),
        };
        if let Some(path) = self.paths.get_mut(path.0) {
            path.list = list;
        }
    }

    /// Keeps a value.
    pub(super) fn add(&mut self, item: Item, pos: Pos) -> Id {
        self.items.push((item, pos));
        Id(self.items.len() - 1)
    }

    /// Keeps a table without entries.
    pub(super) fn add_table(&mut self, pos: Pos) -> Id {
        self.add(Item::Table(BTreeMap::new()), pos)
    }

    fn item(&self, id: Id) -> Option<&Item> {
        self.items.get(id.0).map(|(item, _)| item)
    }

    /// The entry of a table.
    pub(super) fn get(&self, table: Id, key: &str) -> Option<Id> {
        match self.item(table)? {
            Item::Table(entries) => entries.get(key).copied(),
            _ => None,
        }
    }

    /// Whether it is a table that can take entries.
    pub(super) fn is_table(&self, id: Id) -> bool {
        matches!(self.item(id), Some(Item::Table(_)))
    }

    /// Sets an entry of a table.
    pub(super) fn put(&mut self, table: Id, key: &str, value: Id) {
        if let Some((Item::Table(entries), _)) = self.items.get_mut(table.0) {
            entries.insert(key.into(), value);
        }
    }

    /// The table that an entry leads to.
    fn target(&self, table: Id, key: &str) -> Option<Id> {
        let id = self.get(table, key)?;
        match self.item(id)? {
            Item::Table(_) => Some(id),
            Item::Tables(tables) => tables.last().copied(),
            Item::Leaf(_) | Item::List(_) => None,
        }
    }

    /// The table that a context stands for, on the way to another one.
    pub(super) fn passable(&self, context: Context) -> Result<Id, Refusal> {
        let name = || Refusal(format!("Key '{}' was already created as a hash.", self.name(context.path)));
        context.table.ok_or_else(name)
    }

    /// Goes one part down in the name of a table, which makes a table where there is none.
    pub(super) fn step(&mut self, from: Context, name: &str, pos: Pos) -> Result<Context, Refusal> {
        let table = self.passable(from)?;
        let path = self.child(from.path, name);
        if self.get(table, name).is_none() {
            self.set_implicit(path, true);
            let new = self.add_table(pos);
            self.put(table, name, new);
        }
        let context = Context { path, table: self.target(table, name) };
        self.passable(context)?;
        Ok(context)
    }

    /// Adds a table to the list of tables that has this name.
    pub(super) fn append(&mut self, parent: Context, name: &str, pos: Pos) -> Result<Context, Refusal> {
        let table = self.passable(parent)?;
        let path = self.child(parent.path, name);
        let list = match self.get(table, name) {
            Some(list) => list,
            None => {
                let list = self.add(Item::Tables(Vec::new()), pos);
                self.put(table, name, list);
                list
            }
        };
        let new = self.add_table(pos);
        let Some((Item::Tables(tables), _)) = self.items.get_mut(list.0) else {
            let name = self.name(path);
            return Err(Refusal(format!("Key '{name}' was already created and cannot be used as an array.")));
        };
        tables.push(new);
        Ok(Context { path, table: Some(new) })
    }

    /// Makes the table of this name, or takes the one that is there implicitly.
    pub(super) fn define(&mut self, parent: Context, name: &str, pos: Pos) -> Result<Context, Refusal> {
        let table = self.passable(parent)?;
        let new = self.add_table(pos);
        self.set(parent, name, new)?;
        let path = self.child(parent.path, name);
        Ok(Context { path, table: self.target(table, name) })
    }

    /// Sets a key that has not been set. One that is there implicitly keeps what it has, unless that is a list which is
    /// being read.
    pub(super) fn set(&mut self, context: Context, key: &str, value: Id) -> Result<(), Refusal> {
        let refuse =
            |tables: &Self, path| Refusal(format!("Key '{}' has already been defined.", tables.name(path)));
        let Some(table) = context.table else { return Err(refuse(self, context.path)) };
        let path = self.child(context.path, key);
        if self.get(table, key).is_some() {
            let (list, implicit) = self.paths.get(path.0).map_or((false, false), |p| (p.list, p.implicit));
            if !implicit {
                return Err(refuse(self, path));
            }
            self.set_implicit(path, false);
            if !list {
                return Ok(());
            }
        }
        self.put(table, key, value);
        Ok(())
    }

    /// Makes the document; nothing if there is none.
    pub(super) fn build<B: Build>(mut self, builder: &mut B) -> Option<B::Made> {
        let mut open = vec![self.take(Id(0))];
        loop {
            let next = match open.last_mut()? {
                Part::Leaf(..) => None,
                Part::List { ids, .. } => ids.next(),
                Part::Table { entries, key, .. } => entries.next().map(|(name, id)| {
                    *key = name;
                    id
                }),
            };
            if let Some(id) = next {
                let part = self.take(id);
                open.push(part);
                continue;
            }
            let made = match open.pop()? {
                Part::Leaf(leaf, pos) => builder.leaf(leaf, pos),
                Part::List { done, tables, pos, .. } => builder.list(done, tables, pos),
                Part::Table { done, pos, .. } => builder.table(done, pos),
            };
            match open.last_mut() {
                Some(Part::List { done, .. }) => done.push(made),
                Some(Part::Table { key, done, .. }) => done.push((std::mem::take(key), made)),
                _ => return Some(made),
            }
        }
    }

    fn take<M>(&mut self, id: Id) -> Part<M> {
        let none = || Item::Leaf(Leaf::Value(Value::Null));
        let (item, pos) = match self.items.get_mut(id.0) {
            Some((item, pos)) => (std::mem::replace(item, none()), *pos),
            None => (none(), Pos::default()),
        };
        match item {
            Item::Leaf(leaf) => Part::Leaf(leaf, pos),
            Item::List(ids) => Part::List { ids: ids.into_iter(), done: Vec::new(), tables: false, pos },
            Item::Tables(ids) => Part::List { ids: ids.into_iter(), done: Vec::new(), tables: true, pos },
            Item::Table(entries) => {
                Part::Table { entries: entries.into_iter(), key: Box::default(), done: Vec::new(), pos }
            }
        }
    }
}

/// A value that is being made.
enum Part<M> {
    Leaf(Leaf, Pos),
    List {
        ids: std::vec::IntoIter<Id>,
        done: Vec<M>,
        tables: bool,
        pos: Pos,
    },
    Table {
        entries: std::collections::btree_map::IntoIter<Box<str>, Id>,
        key: Box<str>,
        done: Vec<(Box<str>, M)>,
        pos: Pos,
    },
}
