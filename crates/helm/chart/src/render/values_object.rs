//! `.Values` and `.Template`: maps of a type of their own, with a few methods.

use podium_gotmpl::types::{MAP, STRING};
use podium_gotmpl::{Call, Ctx, Entries, Error, Func, Heap, Map, Shape, Type, Value};
use podium_sprig::document::{Document, Format};

use crate::dialect::Dialect;

static HELM4: Type = Type::defined("common.Values", Shape::Map(&podium_gotmpl::types::ANY), METHODS);
static HELM3: Type = Type::defined("chartutil.Values", Shape::Map(&podium_gotmpl::types::ANY), METHODS);

static METHODS: &[Func] = &[
    Func { name: "AsMap", params: &[], variadic: false, call: Call::Native(as_map) },
    Func { name: "YAML", params: &[], variadic: false, call: Call::Native(yaml) },
    Func { name: "Table", params: &[&STRING], variadic: false, call: Call::Native(table) },
    Func { name: "PathValue", params: &[&STRING], variadic: false, call: Call::Native(path_value) },
];

/// The type of `.Values`.
pub fn ty(dialect: &Dialect) -> &'static Type {
    if dialect.go_package == "common" { &HELM4 } else { &HELM3 }
}

/// A map of that type.
pub fn typed<'h>(heap: &'h Heap<'h>, dialect: &Dialect, entries: Entries<'h>) -> &'h Map<'h> {
    heap.typed_map(ty(dialect), entries)
}

fn receiver<'h>(args: &[Value<'h>]) -> Result<&'h Map<'h>, Error> {
    args.first().and_then(Value::as_map).ok_or_else(|| Error::new("not a map"))
}

fn text(args: &[Value<'_>]) -> Vec<u8> {
    args.get(1).and_then(Value::as_str).map(|s| s.to_vec()).unwrap_or_default()
}

fn as_map<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    Ok(Value::Map(cx.heap.retyped(receiver(args)?, &MAP)))
}

fn yaml<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let map = Value::Map(receiver(args)?);
    match podium_goyaml::emit::to_yaml(&Document::new(cx.heap, &map, Format::Json)) {
        Ok(text) => Ok(Value::string(text)),
        Err(e) => Err(Error::new(e.to_string())),
    }
}

/// The table at a dotted path.
fn find_table<'h>(map: &'h Map<'h>, path: &[u8]) -> Result<&'h Map<'h>, Error> {
    let mut table = map;
    for name in path.split(|b| *b == b'.') {
        table = match table.get(name) {
            Some(Value::Map(inner)) => inner,
            _ => {
                let name = String::from_utf8_lossy(name).into_owned();
                return Err(Error::new(format!("{name:?} is not a table")));
            }
        };
    }
    Ok(table)
}

fn table<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let map = receiver(args)?;
    Ok(Value::Map(cx.heap.retyped(find_table(map, &text(args))?, map.ty)))
}

fn path_value<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let map = receiver(args)?;
    let path = text(args);
    let shown = String::from_utf8_lossy(&path).into_owned();
    if path.is_empty() {
        return Err(Error::new("YAML path cannot be empty"));
    }
    let missing = || Error::new(format!("{shown:?} is not a value"));
    let (table, key) = match path.iter().rposition(|b| *b == b'.') {
        Some(at) => (find_table(map, &path[..at]).map_err(|_| missing())?, &path[at + 1..]),
        None => (map, &path[..]),
    };
    match table.get(key) {
        Some(Value::Map(_)) | None => Err(missing()),
        Some(value) => Ok(value),
    }
}
