//! Equal items of a list.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use podium_goyaml::{List, Node, Value};

use crate::decimal::Decimal;

/// A piece of a key that still has to be written.
enum Piece<'v> {
    Node(&'v Node),
    Text(&'v str),
    End,
}

/// Bytes that equal values share, written without recursion. Numbers that JSON has not are equal to nothing.
fn key(node: &Node, number: &impl Fn(&Node) -> Option<Decimal>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut work = vec![Piece::Node(node)];
    let text = |out: &mut Vec<u8>, tag: u8, text: &str| {
        out.push(tag);
        // The length keeps neighbours apart.
        out.extend_from_slice(&text.len().to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    while let Some(piece) = work.pop() {
        let node = match piece {
            Piece::End => {
                out.push(b']');
                continue;
            }
            Piece::Text(s) => {
                text(&mut out, b'k', s);
                continue;
            }
            Piece::Node(node) => node,
        };
        if let Some(number) = number(node) {
            text(&mut out, b'#', &number.key());
            continue;
        }
        match &node.value {
            Value::Null => out.push(b'n'),
            Value::Bool(b) => out.push(if *b { b't' } else { b'f' }),
            Value::Int(_) | Value::Float(_) => return None,
            Value::String(s) => text(&mut out, b's', s),
            Value::List(list) => {
                out.push(b'[');
                work.push(Piece::End);
                work.extend(list.iter().rev().map(Piece::Node));
            }
            Value::Map(map) => {
                out.push(b'{');
                work.push(Piece::End);
                for (key, node) in map {
                    work.push(Piece::Node(node));
                    work.push(Piece::Text(key));
                }
            }
        }
    }
    Some(out)
}

/// The first item that is equal to an earlier one, after the earlier one.
pub(super) fn duplicate(list: &List, number: impl Fn(&Node) -> Option<Decimal>) -> Option<(usize, usize)> {
    let mut seen: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (i, node) in list.iter().enumerate() {
        let Some(key) = key(node, &number) else { continue };
        match seen.entry(key) {
            Entry::Occupied(first) => return Some((*first.get(), i)),
            Entry::Vacant(free) => {
                free.insert(i);
            }
        }
    }
    None
}
