//! Catalogs out, in opm's order and bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use podium_goyaml::yaml::types::{Kind as GoKind, Struct, Type};
use podium_goyaml::{Doc, View as DocView, emit};
use podium_sprig::encoding::{base64_decode, base64_encode};

use crate::config::{Config, Kind, Meta};
use crate::json::{self, Style, Value, View};

/// How a catalog is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One object after the other, indented by four spaces.
    Json,
    /// Documents that begin with `---`.
    Yaml,
}

/// Why a catalog could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody takes the bytes.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A document has no YAML form; the text is Go's.
    #[error(transparent)]
    Yaml(#[from] emit::Error),
}

/// Writes a catalog: package by package (package, channels, bundles, what else there is, deprecations), then what belongs
/// to no package.
pub fn write(config: &Config, format: Format, out: &mut impl io::Write) -> Result<(), Error> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for meta in ordered(config) {
        buffer.clear();
        write_meta(meta, format, &mut buffer)?;
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// A catalog in memory.
pub fn to_vec(config: &Config, format: Format) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write(config, format, &mut out)?;
    Ok(out)
}

/// Appends one document.
pub fn write_meta(meta: &Meta, format: Format, out: &mut Vec<u8>) -> Result<(), Error> {
    let ty = meta.kind.ty().map(|(ty, _)| ty);
    match format {
        Format::Json => {
            match ty.map(|ty| ty.kind) {
                Some(GoKind::Struct(of)) => write_struct(out, Some(meta.root()), of, 0),
                _ => json::write(out, meta.root(), Style::Pretty(0)),
            }
            out.push(b'\n');
        }
        Format::Yaml => {
            out.extend_from_slice(b"---\n");
            let part = match ty {
                Some(ty) => Part::Typed(Some(meta.root()), ty),
                None => Part::Raw(meta.root()),
            };
            emit::append_yaml(&part, out)?;
        }
    }
    Ok(())
}

/// The documents in the order in which they are written.
pub fn ordered(config: &Config) -> Vec<&Meta> {
    let mut packages: BTreeMap<&str, Vec<&Meta>> = BTreeMap::new();
    let mut rootless = Vec::new();
    for meta in &config.metas {
        match meta.package() {
            "" if meta.kind == Kind::Other => rootless.push(meta),
            // What has to have a package, and has none, is lost.
            "" => {}
            package => packages.entry(package).or_default().push(meta),
        }
    }
    let mut all = Vec::with_capacity(config.metas.len());
    for mut metas in packages.into_values() {
        let key = |meta: &Meta| -> (Kind, String) {
            let name = match meta.kind {
                Kind::Channel | Kind::Bundle => meta.head.name.clone(),
                Kind::Other => meta.head.schema.clone(),
                Kind::Package | Kind::Deprecations => String::new(),
            };
            (meta.kind, name)
        };
        metas.sort_by_cached_key(|meta| key(meta));
        all.extend(metas);
    }
    all.extend(rootless);
    all
}

/// Whether Go leaves a field out when it is empty.
fn may_be_left_out(of: &Struct, field: &str) -> bool {
    match of.name {
        "Package" => matches!(field, "icon" | "description" | "properties"),
        "Channel" => field == "properties",
        "ChannelEntry" => field != "name",
        "Bundle" => !matches!(field, "schema" | "image"),
        "PackageScopedReference" => field == "name",
        _ => false,
    }
}

fn is_empty(value: Option<Value<'_>>) -> bool {
    if let Some(value) = value.filter(|value| value.is_string()) {
        return value.is_empty_string();
    }
    match value.map(Value::view) {
        None | Some(View::Null) => true,
        Some(View::List(mut items)) => items.next().is_none(),
        _ => false,
    }
}

/// The fields that are written.
fn fields<'d>(
    value: Option<Value<'d>>,
    of: &'static Struct,
) -> impl Iterator<Item = (&'static str, Option<Value<'d>>, &'static Type)> {
    let found = move |name: &str| value.and_then(|value| value.get(name));
    let fields = of.fields.iter().map(move |&(name, ty)| (name, found(name), ty));
    fields.filter(|&(name, value, _)| !(may_be_left_out(of, name) && is_empty(value)))
}

/// The depth of recursion is that of the type.
fn write_struct(out: &mut Vec<u8>, value: Option<Value<'_>>, of: &'static Struct, level: usize) {
    let style = Style::Pretty(level);
    let mut separator = b'{';
    for (name, value, ty) in fields(value, of) {
        out.push(separator);
        separator = b',';
        json::line(out, 1, style);
        json::string(out, name.as_bytes());
        out.extend_from_slice(b": ");
        write_typed(out, value, ty, level + 1);
    }
    json::line(out, 0, style);
    out.push(b'}');
}

fn write_typed(out: &mut Vec<u8>, value: Option<Value<'_>>, ty: &'static Type, level: usize) {
    match (ty.kind, value) {
        (GoKind::Struct(of), value) => write_struct(out, value, of, level),
        (GoKind::List(element), Some(list)) if matches!(list.view(), View::List(_)) => {
            let mut separator = b'[';
            for item in list.items() {
                out.push(separator);
                separator = b',';
                json::line(out, 1, Style::Pretty(level));
                write_typed(out, Some(item), element, level + 1);
            }
            if separator == b'[' {
                out.extend_from_slice(b"[]");
            } else {
                json::line(out, 0, Style::Pretty(level));
                out.push(b']');
            }
        }
        (GoKind::Str, None) => out.extend_from_slice(b"\"\""),
        (_, None) => out.extend_from_slice(b"null"),
        (GoKind::Bytes(_), Some(value)) if value.is_string() => json::string(out, &canonical(value.bytes())),
        (GoKind::Bytes(_), Some(_)) => out.extend_from_slice(b"null"),
        (GoKind::Str, Some(value)) if value.is_string() => json::scalar(out, value),
        (GoKind::Str, Some(_)) => out.extend_from_slice(b"\"\""),
        (_, Some(value)) => json::write(out, value, Style::Pretty(level)),
    }
}

/// Base64 as Go writes it: without line breaks, and with nothing in the bits that do not count. The text is base64.
fn canonical(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let broken = !text.len().is_multiple_of(4) || memchr::memchr2(b'\n', b'\r', &text).is_some();
    // Without line breaks only the end may be written in several ways.
    let kept = if broken { 0 } else { text.len().saturating_sub(4) };
    let (same, end) = text.split_at_checked(kept).unwrap_or_default();
    match base64_decode(end).map(|data| base64_encode(&data)) {
        Ok(written) if written != end => Cow::Owned([same, &written].concat()),
        _ => text,
    }
}

/// A part of a document, for the YAML writer.
enum Part<'d> {
    Typed(Option<Value<'d>>, &'static Type),
    Raw(Value<'d>),
}

impl<'d> Doc for Part<'d> {
    fn view(&self) -> DocView<'_, Self> {
        match *self {
            Part::Raw(value) => raw(value),
            Part::Typed(value, ty) => match (ty.kind, value) {
                (GoKind::Struct(of), value) => {
                    let part = |(name, value, ty): (&'static str, Option<Value<'d>>, &'static Type)| {
                        (Cow::Borrowed(name.as_bytes()), Part::Typed(value, ty))
                    };
                    DocView::Map(fields(value, of).map(part).collect())
                }
                (GoKind::List(element), Some(list)) if matches!(list.view(), View::List(_)) => {
                    DocView::List(list.items().map(|item| Part::Typed(Some(item), element)).collect())
                }
                (GoKind::Str, None) => DocView::Str(Cow::Borrowed(b"")),
                (_, None) => DocView::Null,
                (GoKind::Bytes(_), Some(value)) if value.is_string() => {
                    DocView::Str(canonical(value.bytes()))
                }
                (GoKind::Bytes(_), Some(_)) => DocView::Null,
                (GoKind::Str, Some(value)) => DocView::Str(value.bytes()),
                (_, Some(value)) => raw(value),
            },
        }
    }
}

/// One level of a value that has no type.
fn raw(value: Value<'_>) -> DocView<'_, Part<'_>> {
    if value.is_string() {
        return DocView::Str(value.bytes());
    }
    match value.view() {
        View::Null => DocView::Null,
        View::Bool(b) => DocView::Bool(b),
        View::Number(text) => match podium_goyaml::json::parse(text, 0).map(|node| node.value) {
            Ok(podium_goyaml::Value::Float(f)) => DocView::Float(f),
            _ => DocView::Null,
        },
        View::String(_) => DocView::Str(value.bytes()),
        View::List(items) => DocView::List(items.map(Part::Raw).collect()),
        View::Map(_) => {
            let entries = json::sorted(value.pairs()).into_iter();
            DocView::Map(entries.map(|(key, value)| (key, Part::Raw(value))).collect())
        }
    }
}
