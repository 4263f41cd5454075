//! Reading one assignment: its path, checked against the values that are there, and its value.

use podium_gotmpl::gostr;
use podium_goyaml::{List, Map, Node, Pos, Value, json};

use super::{Error, Flag, MAX_DOTS, ReadFile};
use crate::dialect::Dialect;

/// One part of a path.
#[derive(Debug)]
pub(super) enum Step {
    /// A key of a map. `inner_empty` tells, for a key that a dot follows, that the map behind it has no entry yet.
    Key { name: Box<str>, inner_empty: bool, pos: Pos },
    /// A place in a list.
    Index(i64),
}

/// What one assignment does.
#[derive(Debug)]
pub(super) struct Change {
    pub steps: Vec<Step>,
    pub value: Option<Node>,
    /// The line ended in the middle of the assignment, or with an empty value: lists do not grow.
    pub cut_short: bool,
    /// There is nothing after it.
    pub at_end: bool,
}

/// The line and how far it was read.
pub(super) struct Line<'a, 'r> {
    flag: Flag,
    text: &'a str,
    at: usize,
    source: u32,
    dialect: &'a Dialect,
    read_file: &'a mut ReadFile<'r>,
}

/// Where the path has led so far; `None` where nothing is there yet.
enum Cursor<'v> {
    Map(Option<&'v Map>),
    List(Option<&'v List>, i64),
}

/// The line ended.
struct End;

impl<'a, 'r> Line<'a, 'r> {
    pub(super) fn new(
        flag: Flag,
        text: &'a str,
        source: u32,
        dialect: &'a Dialect,
        read_file: &'a mut ReadFile<'r>,
    ) -> Self {
        Self { flag, text, at: 0, source, dialect, read_file }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn pos(&self) -> Pos {
        Pos { source: self.source, line: 1, column: u32::try_from(self.at + 1).unwrap_or(u32::MAX) }
    }

    /// Text up to one of the characters that stop it, and that character. Where the line ends first, what was read.
    fn until(&mut self, stops: &[char]) -> (String, Result<char, End>) {
        let escapes = self.flag != Flag::SetLiteral;
        let mut out = String::new();
        loop {
            match self.next() {
                None => return (out, Err(End)),
                Some(c) if stops.contains(&c) => return (out, Ok(c)),
                Some('\\') if escapes => match self.next() {
                    None => return (out, Err(End)),
                    Some(c) => out.push(c),
                },
                Some(c) => out.push(c),
            }
        }
    }

    /// Reads the next assignment. At the end of the line the change has no value and possibly no steps.
    pub(super) fn next_change(&mut self, values: &Map) -> Result<Change, Error> {
        let mut steps = Vec::new();
        let mut dots = 0;
        let mut cursor = Cursor::Map(Some(values));
        loop {
            let next = match cursor {
                Cursor::Map(map) => self.key(map, &mut steps, &mut dots)?,
                Cursor::List(list, index) => self.item(list, index, &mut steps)?,
            };
            match next {
                Next::Into(inside) => cursor = inside,
                Next::Done { value, cut_short, at_end } => {
                    return Ok(Change { steps, value, cut_short, at_end });
                }
            }
        }
    }

    /// A name and what follows it.
    fn key<'v>(
        &mut self,
        map: Option<&'v Map>,
        steps: &mut Vec<Step>,
        dots: &mut usize,
    ) -> Result<Next<'v>, Error> {
        let pos = self.pos();
        let stops: &[char] =
            if self.flag == Flag::SetLiteral { &['=', '[', '.'] } else { &['=', '[', ',', '.'] };
        let (name, stop) = self.until(stops);
        let existing = map.and_then(|map| map.get(&name));
        let mut push = |inner_empty| {
            steps.push(Step::Key { name: name.as_str().into(), inner_empty, pos });
        };
        match stop {
            Err(End) if name.is_empty() => {
                // After a dot: what is there turns into a map, even though nothing is put into it.
                push(false);
                Ok(Next::END)
            }
            Err(End) => Err(Error::NoValue(name)),
            Ok('[') => {
                let Some(index) = self.index()? else { return Ok(Next::END) };
                let list = existing.map(as_list).transpose()?;
                push(false);
                Ok(Next::Into(Cursor::List(list, index)))
            }
            Ok('.') => {
                *dots += 1;
                if *dots > MAX_DOTS {
                    return Err(Error::TooDeep);
                }
                let inner = existing.map(as_map).transpose()?;
                push(inner.is_none_or(Map::is_empty));
                Ok(Next::Into(Cursor::Map(inner)))
            }
            Ok('=') => {
                push(false);
                let value = self.value()?;
                // An assignment without anything after its `=` is an empty string, and the end of the line.
                let cut_short = value.is_none();
                let value = value.unwrap_or_else(|| Node::new("", self.pos()));
                Ok(Next::Done { value: Some(value), cut_short, at_end: cut_short })
            }
            Ok(_) => Err(Error::Comma(name)),
        }
    }

    /// What follows `]`.
    fn item<'v>(
        &mut self,
        list: Option<&'v List>,
        index: i64,
        steps: &mut Vec<Step>,
    ) -> Result<Next<'v>, Error> {
        if index < 0 {
            return Err(Error::NegativeIndex(index));
        }
        let (text, stop) = self.until(&['[', '.', '=']);
        if !text.is_empty() {
            return Err(Error::AfterIndex(text));
        }
        steps.push(Step::Index(index));
        let Ok(stop) = stop else { return Ok(Next::END) };
        let existing = usize::try_from(index).ok().and_then(|at| list.and_then(|list| list.get(at)));
        match stop {
            '[' => {
                let Some(next) = self.index()? else { return Ok(Next::END) };
                let inner = existing.filter(|node| !node.is_null()).map(as_list).transpose()?;
                Ok(Next::Into(Cursor::List(inner, next)))
            }
            '.' => Ok(Next::Into(Cursor::Map(existing.and_then(Node::as_map)))),
            _ => {
                let value = self.value()?.unwrap_or_else(|| Node::new("", self.pos()));
                Ok(Next::Done { value: Some(value), cut_short: false, at_end: false })
            }
        }
    }

    /// The number up to `]`; nothing where the line ends before it and the dialect lets it.
    fn index(&mut self) -> Result<Option<i64>, Error> {
        match self.until(&[']']) {
            (text, Ok(_)) => parse_index(text).map(Some),
            (_, Err(End)) if self.dialect.set_open_index_ends => Ok(None),
            (_, Err(End)) => Err(Error::OpenIndex),
        }
    }

    /// What follows `=`; nothing at the end of the line.
    fn value(&mut self) -> Result<Option<Node>, Error> {
        let pos = self.pos();
        match self.flag {
            Flag::SetLiteral => {
                let rest = self.rest();
                self.at = self.text.len();
                Ok(Some(Node::new(rest, pos)))
            }
            Flag::SetJson => self.json_value(pos).map(Some),
            _ if self.rest().is_empty() => Ok(None),
            _ if self.rest().starts_with('{') => self.list_value(pos).map(Some),
            _ => {
                let (text, _) = self.until(&[',']);
                self.scalar(text, pos).map(Some)
            }
        }
    }

    fn scalar(&mut self, text: String, pos: Pos) -> Result<Node, Error> {
        let value = match self.flag {
            Flag::Set => typed(text),
            Flag::SetFile => (self.read_file)(&text).map_err(Error::File)?.into(),
            _ => text.into(),
        };
        Ok(Node { value, pos })
    }

    /// `{a,b}`, and the comma after it.
    fn list_value(&mut self, pos: Pos) -> Result<Node, Error> {
        self.next();
        let mut list = List::new();
        loop {
            let item_pos = self.pos();
            let (text, stop) = self.until(&[',', '}']);
            let Ok(stop) = stop else { return Err(Error::OpenList) };
            let item = self.scalar(text, item_pos)?;
            list.push(item);
            if stop == '}' {
                if self.rest().starts_with(',') {
                    self.next();
                }
                return Ok(Node { value: Value::List(list), pos });
            }
        }
    }

    /// A JSON value, and the white space and the comma after it. No value at all is null.
    fn json_value(&mut self, pos: Pos) -> Result<Node, Error> {
        if self.skip_blanks() {
            return Ok(Node { value: Value::Null, pos });
        }
        let parsed = json::parse_prefix(self.rest().as_bytes(), self.source);
        let (mut node, length) = parsed.map_err(|error| Error::Json(error.to_string()))?;
        shift(&mut node, self.at);
        self.at += length;
        self.skip_blanks();
        Ok(node)
    }

    /// Skips white space up to and with a comma; tells whether it came to one, or to the end.
    fn skip_blanks(&mut self) -> bool {
        while let Some(c) = self.next() {
            if c == ',' {
                return true;
            }
            if !gostr::is_space(c) {
                self.at -= c.len_utf8();
                return false;
            }
        }
        true
    }
}

enum Next<'v> {
    Into(Cursor<'v>),
    Done { value: Option<Node>, cut_short: bool, at_end: bool },
}

impl Next<'_> {
    const END: Self = Next::Done { value: None, cut_short: true, at_end: true };
}

/// Moves the columns of a parsed value to where it stands in the line.
fn shift(node: &mut Node, by: usize) {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        if node.pos.line == 1 {
            node.pos.column = node.pos.column.saturating_add(by);
        }
        match &mut node.value {
            Value::List(list) => work.extend(list.as_vec_mut().iter_mut()),
            Value::Map(map) => work.extend(map.iter_mut().map(|(_, child)| child)),
            _ => {}
        }
    }
}

fn as_list(node: &Node) -> Result<&List, Error> {
    node.as_list().ok_or(Error::Conversion { is: go_type(node), wanted: "[]interface {}" })
}

fn as_map(node: &Node) -> Result<&Map, Error> {
    node.as_map().ok_or(Error::Conversion { is: go_type(node), wanted: "map[string]interface {}" })
}

fn go_type(node: &Node) -> &'static str {
    crate::gofmt::type_name(node).unwrap_or("nil")
}

/// A number as Go reads it: too many digits are found before a character that is no digit.
fn parse_index(text: String) -> Result<i64, Error> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let mut number = 0u64;
    let mut reason = if digits.is_empty() { Some("invalid syntax") } else { None };
    for digit in digits.chars() {
        reason =
            match digit.to_digit(10).map(|d| number.checked_mul(10).and_then(|n| n.checked_add(d.into()))) {
                Some(Some(more)) => {
                    number = more;
                    continue;
                }
                Some(None) => Some("value out of range"),
                None => Some("invalid syntax"),
            };
        break;
    }
    match (reason, text.parse()) {
        (None, Ok(index)) => Ok(index),
        (reason, _) => Err(Error::Index { reason: reason.unwrap_or("value out of range"), text }),
    }
}

/// A word of `--set`. Numbers that begin with a zero stay text.
fn typed(text: String) -> Value {
    // U+017F is the one character outside of ASCII that counts as a letter of these words.
    let folded =
        |word: &str| text.eq_ignore_ascii_case(word) || text.replace('ſ', "s").eq_ignore_ascii_case(word);
    if text.len() <= 6 {
        if folded("true") {
            return Value::Bool(true);
        } else if folded("false") {
            return Value::Bool(false);
        } else if folded("null") {
            return Value::Null;
        }
    }
    match text.parse() {
        Ok(number) if text == "0" || !text.starts_with('0') => Value::Int(number),
        _ => text.into(),
    }
}
