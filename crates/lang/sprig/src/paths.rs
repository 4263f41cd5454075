//! Paths and URLs.

use podium_gotmpl::types::{MAP, STRING};
use podium_gotmpl::{Ctx, Error, Func, Map, Str, Value};

use crate::args::{NIL_POINTER, Outcome, func, map, string, text};
use crate::text::{UrlParts, base, clean, dir, ext, is_abs, url_join, url_parse};

/// The functions of this module.
pub static FUNCS: &[Func] = &[
    func("base", &[&STRING], |_, a| string(base(text(a, 0)))),
    func("clean", &[&STRING], |_, a| string(clean(text(a, 0)))),
    func("dir", &[&STRING], |_, a| string(dir(text(a, 0)))),
    func("ext", &[&STRING], |_, a| string(ext(text(a, 0)))),
    func("isAbs", &[&STRING], |_, a| Ok(Value::Bool(is_abs(text(a, 0))))),
    func("osBase", &[&STRING], |_, a| string(base(text(a, 0)))),
    func("osClean", &[&STRING], |_, a| string(clean(text(a, 0)))),
    func("osDir", &[&STRING], |_, a| string(dir(text(a, 0)))),
    func("osExt", &[&STRING], |_, a| string(ext(text(a, 0)))),
    func("osIsAbs", &[&STRING], |_, a| Ok(Value::Bool(is_abs(text(a, 0))))),
    func("urlParse", &[&STRING], parse),
    func("urlJoin", &[&MAP], join),
];

fn parse<'h>(cx: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let parts = url_parse(text(args, 0)).map_err(|e| Error::new(e.to_string()))?;
    let entries = [
        ("scheme", parts.scheme),
        ("host", parts.host),
        ("hostname", parts.hostname),
        ("path", parts.path),
        ("query", parts.query),
        ("opaque", parts.opaque),
        ("fragment", parts.fragment),
        ("userinfo", parts.userinfo),
    ];
    let entries = entries.into_iter().map(|(key, part)| (Str::from(key), Value::string(part)));
    Ok(Value::Map(cx.heap.map(entries.collect())))
}

fn join<'h>(_: &Ctx<'h>, args: &[Value<'h>]) -> Outcome<'h> {
    let from = map(args, 0);
    let parts = UrlParts {
        scheme: part(from, "scheme")?,
        host: part(from, "host")?,
        hostname: Vec::new(),
        path: part(from, "path")?,
        query: part(from, "query")?,
        opaque: part(from, "opaque")?,
        fragment: part(from, "fragment")?,
        userinfo: part(from, "userinfo")?,
    };
    string(url_join(&parts).map_err(|e| Error::new(e.to_string()))?)
}

fn part(map: Option<&Map<'_>>, key: &str) -> Result<Vec<u8>, Error> {
    match map.and_then(|m| m.get(key.as_bytes())) {
        None => Ok(Vec::new()),
        Some(Value::Str(s)) => Ok(s.to_vec()),
        Some(value) if value.is_nil() => Err(Error::new(NIL_POINTER)),
        Some(value) => Err(Error::new(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            value.kind().name()
        ))),
    }
}
