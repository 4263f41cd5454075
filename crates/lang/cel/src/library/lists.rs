//! Functions of lists and sets.

use std::cmp::Ordering;

use super::{MOST_ITEMS, Native, TOO_LARGE, operators, show};
use crate::list::List;
use crate::value::{NO_OVERLOAD, Value};

fn list<'v, 'a>(args: &'v [Value<'a>]) -> Option<&'v List<'a>> {
    match args.first() {
        Some(Value::List(list)) => Some(list),
        _ => None,
    }
}

fn with<'a>(args: &[Value<'a>], make: impl FnOnce(&List<'a>) -> Value<'a>) -> Value<'a> {
    list(args).map_or_else(|| Value::error(NO_OVERLOAD), make)
}

fn int(args: &[Value<'_>], at: usize) -> i64 {
    match args.get(at) {
        Some(Value::Int(int)) => *int,
        _ => 0,
    }
}

/// The functions that look at their arguments themselves.
pub fn singleton(name: &str) -> Option<Native> {
    Some(match name {
        "sort" => |args| match args {
            [Value::List(list)] => sorted(list, list),
            [other, ..] => operators::without_trait(other, "sort"),
            [] => Value::error(NO_OVERLOAD),
        },
        "@sortByAssociatedKeys" => |args| match args {
            [Value::List(list), Value::List(keys)] => sorted(list, keys),
            _ => Value::error(NO_OVERLOAD),
        },
        _ => return None,
    })
}

/// A list in the order of its keys.
fn sorted<'a>(list: &List<'a>, keys: &List<'a>) -> Value<'a> {
    if list.len() != keys.len() {
        return Value::error(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        ));
    }
    let Some(first) = keys.get(0) else { return Value::List(list.clone()) };
    if !first.is_comparable() {
        return Value::error("list elements must be comparable");
    }
    let keys: Vec<Value<'a>> = keys.iter().collect();
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Value::error("list elements must have the same type");
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| match (keys.get(*a), keys.get(*b)) {
        (Some(a), Some(b)) => a.compare(b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    });
    Value::list(order.into_iter().filter_map(|at| list.get(at)).collect())
}

fn is_sorted<'a>(list: &List<'a>) -> Value<'a> {
    let mut before: Option<Value<'a>> = None;
    for item in list.iter() {
        if !item.is_comparable() {
            return item.no_overload();
        }
        if before.is_some_and(|before| matches!(before.compare(&item), Ok(Ordering::Greater))) {
            return Value::Bool(false);
        }
        before = Some(item);
    }
    Value::Bool(true)
}

/// The element that comes first in an order.
fn best<'a>(list: &List<'a>, name: &str, replaced_by: Ordering) -> Value<'a> {
    let mut best: Option<Value<'a>> = None;
    for item in list.iter() {
        if !item.is_comparable() {
            return item.no_overload();
        }
        match &best {
            Some(known) if !matches!(known.compare(&item), Ok(order) if order == replaced_by) => {}
            _ => best = Some(item),
        }
    }
    best.unwrap_or_else(|| Value::error(format!("{name} called on empty list")))
}

fn sum<'a>(list: &List<'a>, zero: Value<'a>) -> Value<'a> {
    let Some(add) = operators::singleton("_+_") else { return zero };
    let mut sum = zero;
    for item in list.iter() {
        sum = add(&[sum, item]);
        if sum.is_error() {
            return sum;
        }
    }
    sum
}

fn slice<'a>(list: &List<'a>, start: i64, end: i64) -> Value<'a> {
    let problem = if start < 0 || end < 0 {
        "negative indexes not supported".to_owned()
    } else if start > end {
        "start index must be less than or equal to end index".to_owned()
    } else if (list.len() as i64) < end {
        format!("list is length {}", list.len())
    } else {
        return Value::list((start..end).filter_map(|at| list.get(at as usize)).collect());
    };
    Value::error(format!("cannot slice({start}, {end}), {problem}"))
}

fn flatten<'a>(list: &List<'a>, depth: i64, out: &mut Vec<Value<'a>>) -> bool {
    list.iter().all(|item| match item {
        Value::List(inner) if depth > 0 => flatten(&inner, depth - 1, out),
        other => {
            out.push(other);
            out.len() <= MOST_ITEMS
        }
    })
}

fn flattened<'a>(args: &[Value<'a>], depth: i64) -> Value<'a> {
    if depth < 0 {
        return Value::error("level must be non-negative");
    }
    let mut out = Vec::new();
    match list(args) {
        Some(list) if flatten(list, depth, &mut out) => Value::list(out),
        Some(_) => Value::error(TOO_LARGE),
        None => {
            let types: Vec<String> = args.iter().map(Value::shown_type).collect();
            match types.as_slice() {
                [list] => Value::error(format!("no such overload: {list}.flatten()")),
                [list, depth] => Value::error(format!("no such overload: {list}.flatten({depth})")),
                _ => Value::error(NO_OVERLOAD),
            }
        }
    }
}

fn distinct<'a>(list: &List<'a>) -> Value<'a> {
    let mut unique: Vec<Value<'a>> = Vec::new();
    for item in list.iter() {
        if !unique.iter().any(|known| item.same(known).is_true()) {
            unique.push(item);
        }
    }
    Value::list(unique)
}

/// Whether all elements of the second list are in the first.
fn contains_all<'a>(one: &List<'a>, two: &List<'a>) -> Value<'a> {
    for item in two.iter() {
        let found = one.contains(&item);
        if !found.is_true() {
            return found;
        }
    }
    Value::Bool(true)
}

fn both<'a>(args: &[Value<'a>], make: fn(&List<'a>, &List<'a>) -> Value<'a>) -> Value<'a> {
    match args {
        [Value::List(one), Value::List(two)] => make(one, two),
        _ => Value::error(NO_OVERLOAD),
    }
}

/// The first or the last element, if there is one.
pub fn end(id: &str) -> Option<Native> {
    let first: Native = |args| with(args, |list| Value::Optional(list.get(0).map(std::sync::Arc::new)));
    let last: Native = |args| {
        with(args, |list| {
            let last = list.len().checked_sub(1).and_then(|last| list.get(last));
            Value::Optional(last.map(std::sync::Arc::new))
        })
    };
    Some(if id == "list_first" { first } else { last })
}

/// The function of an overload.
pub fn native(id: &str) -> Option<Native> {
    if id.ends_with("_is_sorted_bool") {
        return Some(|args| with(args, is_sorted));
    }
    if id.starts_with("list_") && id.contains("_max_") {
        return Some(|args| with(args, |list| best(list, "max", Ordering::Less)));
    }
    if id.starts_with("list_") && id.contains("_min_") {
        return Some(|args| with(args, |list| best(list, "min", Ordering::Greater)));
    }
    Some(match id {
        "list_int_sum_int" => |args| with(args, |list| sum(list, Value::Int(0))),
        "list_uint_sum_uint" => |args| with(args, |list| sum(list, Value::Uint(0))),
        "list_double_sum_double" => |args| with(args, |list| sum(list, Value::Double(0.0))),
        "list_duration_sum_duration" => |args| with(args, |list| sum(list, Value::Duration(0))),
        "list_a_index_of_int" => |args| {
            with(args, |list| {
                let found =
                    list.iter().position(|item| args.get(1).is_some_and(|arg| item.same(arg).is_true()));
                Value::Int(found.map_or(-1, |at| at as i64))
            })
        },
        "list_a_last_index_of_int" => |args| {
            with(args, |list| {
                let is = |at: &usize| {
                    list.get(*at).zip(args.get(1)).is_some_and(|(item, arg)| item.same(arg).is_true())
                };
                Value::Int((0..list.len()).rev().find(is).map_or(-1, |at| at as i64))
            })
        },
        "list_slice" => |args| with(args, |list| slice(list, int(args, 1), int(args, 2))),
        "list_flatten" => |args| flattened(args, 1),
        "list_flatten_int" => |args| match args.get(1) {
            Some(Value::Int(depth)) if list(args).is_some() => flattened(args, *depth),
            _ => {
                let types: Vec<String> = args.iter().map(Value::shown_type).collect();
                Value::error(format!("no such overload: {}.flatten({})", types[0], types[1..].join(", ")))
            }
        },
        "lists_range" => |args| {
            let count = int(args, 0);
            if count > MOST_ITEMS as i64 {
                return Value::error(TOO_LARGE);
            }
            Value::list((0..count).map(Value::Int).collect())
        },
        "list_reverse" => |args| {
            with(args, |list| Value::list((0..list.len()).rev().filter_map(|at| list.get(at)).collect()))
        },
        "list_distinct" => |args| with(args, distinct),
        "list_sets_contains_list" => |args| both(args, contains_all),
        "list_sets_equivalent_list" => |args| {
            both(args, |one, two| {
                let first = contains_all(one, two);
                if first.is_true() { contains_all(two, one) } else { first }
            })
        },
        "list_sets_intersects_list" => {
            |args| both(args, |one, two| Value::Bool(one.iter().any(|item| two.contains(&item).is_true())))
        }
        "@mapInsert_map_key_value" => |args| match args {
            [Value::Map(map), name, value] => inserted(map, [(name.clone(), value.clone())]),
            _ => Value::error(NO_OVERLOAD),
        },
        "@mapInsert_map_map" => |args| match args {
            [Value::Map(map), Value::Map(other)] => {
                let entries = other.keys().into_iter().filter_map(|name| {
                    let value = other.find(&name)?;
                    Some((name, value))
                });
                inserted(map, entries)
            }
            _ => Value::error(NO_OVERLOAD),
        },
        _ => return None,
    })
}

/// A map with more entries; none of them may be there already.
fn inserted<'a>(
    map: &crate::map::Map<'a>,
    more: impl IntoIterator<Item = (Value<'a>, Value<'a>)>,
) -> Value<'a> {
    let mut entries = crate::map::Entries::default();
    for name in map.keys() {
        if let Some(value) = map.find(&name) {
            entries.insert(name, value);
        }
    }
    for (name, value) in more {
        if entries.find(&name).is_some() {
            return Value::error(format!("insert failed: key {} already exists", show(&name)));
        }
        entries.insert(name, value);
    }
    Value::Map(crate::map::Map::of(entries))
}
