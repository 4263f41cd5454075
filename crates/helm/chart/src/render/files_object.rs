//! `.Files` as templates see it.

use std::collections::BTreeMap;

use podium_gotmpl::types::{BYTES, STRING};
use podium_gotmpl::{Call, Ctx, Entries, Error, Func, Heap, Map, Shape, Str, Type, Value};

use crate::files::File;
use crate::glob::{self, Pattern};

static FILES: Type = Type::defined("engine.files", Shape::Map(&BYTES), METHODS);

static METHODS: &[Func] = &[
    Func { name: "Get", params: &[&STRING], variadic: false, call: Call::Native(get) },
    Func { name: "GetBytes", params: &[&STRING], variadic: false, call: Call::Native(get_bytes) },
    Func { name: "Glob", params: &[&STRING], variadic: false, call: Call::Native(glob) },
    Func { name: "AsConfig", params: &[], variadic: false, call: Call::Native(as_config) },
    Func { name: "AsSecrets", params: &[], variadic: false, call: Call::Native(as_secrets) },
    Func { name: "Lines", params: &[&STRING], variadic: false, call: Call::Native(lines) },
];

/// The object of a chart.
pub fn to_value<'h>(heap: &'h Heap<'h>, files: &'h [File]) -> Value<'h> {
    let entries = files.iter().map(|f| (Str::from(&*f.name), Value::Bytes(&f.data))).collect();
    Value::Map(heap.typed_map(&FILES, entries))
}

fn receiver<'h>(args: &[Value<'h>]) -> Result<&'h Map<'h>, Error> {
    args.first().and_then(Value::as_map).ok_or_else(|| Error::new("not a set of files"))
}

/// The content of the named file; nothing when it is not there.
fn content<'h>(args: &[Value<'h>]) -> Result<&'h [u8], Error> {
    let files = receiver(args)?;
    let name = args.get(1).and_then(Value::as_str).map_or(&[][..], |s| s.as_bytes());
    match files.get(name) {
        Some(Value::Bytes(bytes)) => Ok(bytes),
        _ => Ok(&[]),
    }
}

fn get<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    Ok(Value::Str(Str::Borrowed(content(args)?)))
}

fn get_bytes<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    Ok(Value::Bytes(content(args)?))
}

fn glob<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let files = receiver(args)?;
    let pattern = args.get(1).and_then(Value::as_str).map_or(&[][..], |s| s.as_bytes());
    let pattern = match Pattern::new(&String::from_utf8_lossy(pattern)) {
        Ok(pattern) => Some(pattern),
        // A pattern that is none matches everything.
        Err(glob::Error::Syntax) => None,
        Err(e) => return Err(Error::new(e.to_string())),
    };
    let mut entries = Entries::new();
    for (name, value) in files.borrow().iter() {
        let matches = match &pattern {
            Some(p) => p.matches(&name.to_text()).map_err(|e| Error::new(e.to_string()))?,
            None => true,
        };
        if matches {
            entries.insert(name.clone(), value.clone());
        }
    }
    Ok(Value::Map(cx.heap.typed_map(&FILES, entries)))
}

/// A YAML map from base names to texts.
fn flattened<'h>(
    cx: &Ctx<'h>,
    args: &[Value<'h>],
    text: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<Value<'h>, Error> {
    let files = receiver(args)?;
    // The texts are copied, written, and written again without their last line break.
    let size =
        files.borrow().values().map(|v| if let Value::Bytes(b) = v { b.len() } else { 0 }).sum::<usize>();
    cx.heap.for_a_while(|| cx.heap.charge(size.saturating_mul(4)))?;
    let mut flat: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (name, value) in files.borrow().iter() {
        if let Value::Bytes(bytes) = value {
            let base = crate::text::base(&name.to_text()).as_bytes().to_vec();
            flat.insert(base, text(bytes));
        }
    }
    let yaml = podium_goyaml::emit::to_yaml(&Flat::Map(&flat)).unwrap_or_default();
    let yaml = yaml.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(yaml);
    Ok(Value::string(yaml))
}

/// A map of texts, for the YAML writer.
enum Flat<'a> {
    Map(&'a BTreeMap<Vec<u8>, Vec<u8>>),
    Text(&'a [u8]),
}

impl podium_goyaml::Doc for Flat<'_> {
    fn view(&self) -> podium_goyaml::View<'_, Self> {
        match self {
            Flat::Map(map) => podium_goyaml::View::Map(
                map.iter().map(|(k, v)| (k.as_slice().into(), Flat::Text(v))).collect(),
            ),
            Flat::Text(text) => podium_goyaml::View::Str((*text).into()),
        }
    }
}

fn as_config<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    flattened(cx, args, <[u8]>::to_vec)
}

fn as_secrets<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    flattened(cx, args, podium_sprig::encoding::base64_encode)
}

fn lines<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Result<Value<'h>, Error> {
    let text = content(args)?;
    if text.is_empty() {
        return Ok(cx.heap.strings(Vec::<Str>::new()));
    }
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    Ok(cx.heap.strings(text.split(|b| *b == b'\n').map(Str::Borrowed)))
}
