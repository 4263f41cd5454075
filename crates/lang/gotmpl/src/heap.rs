//! Where a render's containers live.

use std::cell::Cell;

use typed_arena::Arena;

use crate::entries::Entries;
use crate::func::Error;
use crate::types::{self, Kind, Shape, Type};
use crate::value::{List, Map, Str, Struct, Tables, Value, Watch};

/// What a shared text needs besides its bytes.
const SHARED: usize = 32;

/// All lists, maps and structs of one render. They live as long as the heap and are freed with it, together.
pub struct Heap<'h> {
    lists: Arena<List<'h>>,
    maps: Arena<Map<'h>>,
    structs: Arena<Struct<'h>>,
    blobs: Arena<Box<[u8]>>,
    left: Cell<usize>,
    budget: usize,
    /// Whether a template is running: what is made meanwhile goes with it, unless it is put into what was there before.
    running: Cell<bool>,
    /// Whether the template that is running has changed what was there before.
    changed: Cell<bool>,
    /// What was charged for things that were there before.
    before: Cell<usize>,
}

impl<'h> Heap<'h> {
    /// A heap for a render that may make containers and strings of so many bytes.
    pub fn new(budget: usize) -> Self {
        Self {
            lists: Arena::new(),
            maps: Arena::new(),
            structs: Arena::new(),
            blobs: Arena::new(),
            left: Cell::new(budget),
            budget,
            running: Cell::new(false),
            changed: Cell::new(false),
            before: Cell::new(0),
        }
    }

    /// Runs a template, and says whether it has changed a map or list that was there before: only then does it matter to
    /// the next one that it ran.
    pub fn watching<T>(&self, run: impl FnOnce() -> T) -> (T, bool) {
        self.running.set(true);
        self.changed.set(false);
        let done = run();
        self.running.set(false);
        (done, self.changed.get())
    }

    /// Makes something that was there before the template that is running, though nobody had looked.
    pub fn as_before<T>(&self, make: impl FnOnce() -> T) -> T {
        let (running, left) = (self.running.replace(false), self.left.get());
        let made = make();
        self.running.set(running);
        self.before.set(self.before.get().saturating_add(left.saturating_sub(self.left.get())));
        made
    }

    fn watch(&'h self) -> Watch<'h> {
        (!self.running.get()).then_some(&self.changed)
    }

    /// Asks for room before something of a size that the template decides is made.
    pub fn charge(&self, bytes: usize) -> Result<(), Error> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.left.set(0);
                Err(Error::limit("memory", self.budget))
            }
        }
    }

    /// Whether the budget has been used up.
    pub fn exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Does something that needs room only for a while: what is charged meanwhile is given back, unless the budget was
    /// used up, or it was for what stays.
    pub fn for_a_while<T>(&self, work: impl FnOnce() -> T) -> T {
        let (left, before) = (self.left.get(), self.before.get());
        let done = work();
        if !self.exhausted() {
            self.left.set(left.saturating_sub(self.before.get().saturating_sub(before)));
        }
        done
    }

    /// What is left of the budget.
    pub fn left(&self) -> usize {
        self.left.get()
    }

    /// Gives back what was charged for something that is gone, unless the budget was used up.
    pub fn refund(&self, bytes: usize) {
        if !self.exhausted() {
            self.left.set(self.left.get().saturating_add(bytes).min(self.budget));
        }
    }

    /// The budget it was made with.
    pub fn budget(&self) -> usize {
        self.budget
    }

    fn spend(&self, bytes: usize) {
        self.left.set(self.left.get().saturating_sub(bytes));
    }

    /// A slice of a type.
    pub fn typed_list(&'h self, ty: &'static Type, items: Vec<Value<'h>>) -> Value<'h> {
        self.spend(64 + items.len() * size_of::<Value>());
        Value::List(self.lists.alloc(List { ty, nil: false, items: items.into(), watch: self.watch() }))
    }

    /// `[]interface {}`.
    pub fn list(&'h self, items: Vec<Value<'h>>) -> Value<'h> {
        self.typed_list(&types::LIST, items)
    }

    /// `[]string`. It ends where the budget does; the length of the texts has been paid for by who made them.
    pub fn strings<S: Into<Str<'h>>>(&'h self, items: impl IntoIterator<Item = S>) -> Value<'h> {
        let afforded = |text: &Str<'h>| {
            if let Str::Shared(_) = text {
                self.spend(SHARED);
            }
            self.spend(size_of::<Value>());
            !self.exhausted()
        };
        let items: Vec<Value<'h>> =
            items.into_iter().map(S::into).take_while(afforded).map(Value::Str).collect();
        self.spend(64);
        let (ty, watch) = (&types::STRINGS, self.watch());
        Value::List(self.lists.alloc(List { ty, nil: false, items: items.into(), watch }))
    }

    /// A nil slice of a type.
    pub fn nil_list(&'h self, ty: &'static Type) -> Value<'h> {
        self.spend(64);
        Value::List(self.lists.alloc(List { ty, nil: true, items: Vec::new().into(), watch: self.watch() }))
    }

    /// `[]uint8`.
    pub fn bytes(&'h self, bytes: impl Into<Box<[u8]>>) -> Value<'h> {
        let bytes = self.blobs.alloc(bytes.into());
        self.spend(bytes.len());
        Value::Bytes(bytes)
    }

    /// A map of a type.
    pub fn typed_map(&'h self, ty: &'static Type, entries: Entries<'h>) -> &'h Map<'h> {
        self.spend(96 + entries.len() * 2 * size_of::<Value>());
        self.maps.alloc(Map::new(ty, false, entries, self.watch()))
    }

    /// `map[string]interface {}`.
    pub fn map(&'h self, entries: Entries<'h>) -> &'h Map<'h> {
        self.typed_map(&types::MAP, entries)
    }

    /// `map[string]interface {}` of a table, made when somebody looks at it.
    pub fn later_map(&'h self, from: &'h dyn Tables<'h>, table: u32) -> &'h Map<'h> {
        self.spend(96);
        self.maps.alloc(Map::later(&types::MAP, from, table, self.watch()))
    }

    /// A nil map of a type.
    pub fn nil_map(&'h self, ty: &'static Type) -> Value<'h> {
        self.spend(96);
        Value::Map(self.maps.alloc(Map::new(ty, true, Entries::new(), self.watch())))
    }

    /// The same map under another type: a change of one is a change of both.
    pub fn retyped(&'h self, map: &'h Map<'h>, ty: &'static Type) -> &'h Map<'h> {
        if map.ty.is(ty) {
            return map;
        }
        self.spend(96);
        self.maps.alloc(map.alias(ty))
    }

    /// A struct, or a pointer to one.
    pub fn structure(&'h self, ty: &'static Type, fields: Vec<Value<'h>>) -> Value<'h> {
        self.spend(64 + fields.len() * size_of::<Value>());
        Value::Struct(self.structs.alloc(Struct { ty, fields, boxed: false }))
    }

    /// What a pointer points to, which is what templates print.
    pub(crate) fn pointed_to(&'h self, value: Value<'h>) -> Value<'h> {
        match value {
            Value::Struct(s) => match s.ty.shape {
                Shape::Pointer(target) => self.structure(target, s.fields.clone()),
                _ => Value::Struct(s),
            },
            other => other,
        }
    }

    /// The value as an `interface {}` holds it: any nil is one, and a struct is a copy without an address.
    pub fn boxed(&'h self, value: Value<'h>) -> Value<'h> {
        match value {
            Value::NilAny => Value::Nil,
            Value::Struct(s) if !s.boxed && !s.ty.methods.is_empty() && s.ty.kind() == Kind::Struct => {
                self.spend(64 + s.fields.len() * size_of::<Value>());
                let fields = s.fields.clone();
                Value::Struct(self.structs.alloc(Struct { ty: s.ty, fields, boxed: true }))
            }
            value => value,
        }
    }
}
