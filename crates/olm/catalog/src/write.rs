//! Writes catalogs like opm.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use podium_goyaml::yaml::types::{Kind as GoKind, Struct, Type};
use podium_goyaml::{Doc, View as DocView, emit};
use podium_sprig::encoding::{base64_decode, base64_encode};

use crate::declcfg::{DeclarativeConfig, Meta, MetaKind};
use crate::json::{self, Style, Value, View};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A stream of JSON objects, indented by four spaces.
    Json,
    /// YAML documents that start with `---`.
    Yaml,
}

/// Why a catalog cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A document cannot be encoded as YAML. The message is Go's.
    #[error(transparent)]
    Yaml(#[from] emit::Error),
}

/// Writes a catalog by package (package, channels, bundles, other metas, deprecations), followed by metas
/// without a package.
pub fn write(config: &DeclarativeConfig, format: Format, out: &mut impl io::Write) -> Result<(), Error> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for meta in sorted_metas(config) {
        buffer.clear();
        write_meta(meta, format, &mut buffer)?;
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Encodes a catalog.
pub fn to_vec(config: &DeclarativeConfig, format: Format) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write(config, format, &mut out)?;
    Ok(out)
}

/// Appends one meta.
pub fn write_meta(meta: &Meta, format: Format, out: &mut Vec<u8>) -> Result<(), Error> {
    let ty = meta.kind.go_type().map(|(ty, _)| ty);
    match format {
        Format::Json => {
            match ty.map(|ty| ty.kind) {
                Some(GoKind::Struct(struct_type)) => write_struct(out, Some(meta.root()), struct_type, 0),
                _ => json::write(out, meta.root(), Style::Pretty(0)),
            }
            out.push(b'\n');
        }
        Format::Yaml => {
            out.extend_from_slice(b"---\n");
            let yaml = match ty {
                Some(ty) => YamlPart::Typed(Some(meta.root()), ty),
                None => YamlPart::Raw(meta.root()),
            };
            emit::append_yaml(&yaml, out)?;
        }
    }
    Ok(())
}

/// Returns the metas in output order.
pub fn sorted_metas(config: &DeclarativeConfig) -> Vec<&Meta> {
    let mut packages: BTreeMap<&str, Vec<&Meta>> = BTreeMap::new();
    let mut without_package = Vec::new();
    for meta in &config.metas {
        match meta.package() {
            "" if meta.kind == MetaKind::Other => without_package.push(meta),
            // opm drops metas of known kinds without a package.
            "" => {}
            package => packages.entry(package).or_default().push(meta),
        }
    }
    let mut all = Vec::with_capacity(config.metas.len());
    for mut metas in packages.into_values() {
        let key = |meta: &Meta| -> (MetaKind, String) {
            let name = match meta.kind {
                MetaKind::Channel | MetaKind::Bundle => meta.header.name.clone(),
                MetaKind::Other => meta.header.schema.clone(),
                MetaKind::Package | MetaKind::Deprecations => String::new(),
            };
            (meta.kind, name)
        };
        metas.sort_by_cached_key(|meta| key(meta));
        all.extend(metas);
    }
    all.extend(without_package);
    all
}

/// Reports whether a field has `omitempty`.
fn omits_empty(struct_type: &Struct, field: &str) -> bool {
    match struct_type.name {
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

/// Iterates over the fields to write.
fn written_fields<'d>(
    value: Option<Value<'d>>,
    struct_type: &'static Struct,
) -> impl Iterator<Item = (&'static str, Option<Value<'d>>, &'static Type)> {
    let field_value = move |name: &str| value.and_then(|value| value.get(name));
    let fields = struct_type.fields.iter().map(move |&(name, ty)| (name, field_value(name), ty));
    fields.filter(|&(name, value, _)| !(omits_empty(struct_type, name) && is_empty(value)))
}

/// Recursion is bounded by the depth of the type.
fn write_struct(out: &mut Vec<u8>, value: Option<Value<'_>>, struct_type: &'static Struct, level: usize) {
    let style = Style::Pretty(level);
    let mut separator = b'{';
    for (name, value, ty) in written_fields(value, struct_type) {
        out.push(separator);
        separator = b',';
        json::newline(out, 1, style);
        json::write_string(out, name.as_bytes());
        out.extend_from_slice(b": ");
        write_typed(out, value, ty, level + 1);
    }
    json::newline(out, 0, style);
    out.push(b'}');
}

fn write_typed(out: &mut Vec<u8>, value: Option<Value<'_>>, ty: &'static Type, level: usize) {
    match (ty.kind, value) {
        (GoKind::Struct(struct_type), value) => write_struct(out, value, struct_type, level),
        (GoKind::List(element), Some(list)) if matches!(list.view(), View::List(_)) => {
            let mut separator = b'[';
            for item in list.items() {
                out.push(separator);
                separator = b',';
                json::newline(out, 1, Style::Pretty(level));
                write_typed(out, Some(item), element, level + 1);
            }
            if separator == b'[' {
                out.extend_from_slice(b"[]");
            } else {
                json::newline(out, 0, Style::Pretty(level));
                out.push(b']');
            }
        }
        (GoKind::Str, None) => out.extend_from_slice(b"\"\""),
        (_, None) => out.extend_from_slice(b"null"),
        (GoKind::Bytes(_), Some(value)) if value.is_string() => {
            json::write_string(out, &canonical_base64(value.bytes()))
        }
        (GoKind::Bytes(_), Some(_)) => out.extend_from_slice(b"null"),
        (GoKind::Str, Some(value)) if value.is_string() => json::write_scalar(out, value),
        (GoKind::Str, Some(_)) => out.extend_from_slice(b"\"\""),
        (_, Some(value)) => json::write(out, value, Style::Pretty(level)),
    }
}

/// Re-encodes base64 like Go: without line breaks and with zero padding bits. The text is valid base64.
fn canonical_base64(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let irregular = !text.len().is_multiple_of(4) || memchr::memchr2(b'\n', b'\r', &text).is_some();
    // Without line breaks only the last quantum may differ.
    let unchanged_len = if irregular { 0 } else { text.len().saturating_sub(4) };
    let (unchanged, end) = text.split_at_checked(unchanged_len).unwrap_or_default();
    match base64_decode(end).map(|data| base64_encode(&data)) {
        Ok(written) if written != end => Cow::Owned([unchanged, &written].concat()),
        _ => text,
    }
}

/// A part of a document for the YAML emitter.
enum YamlPart<'d> {
    Typed(Option<Value<'d>>, &'static Type),
    Raw(Value<'d>),
}

impl<'d> Doc for YamlPart<'d> {
    fn view(&self) -> DocView<'_, Self> {
        match *self {
            YamlPart::Raw(value) => untyped_view(value),
            YamlPart::Typed(value, ty) => match (ty.kind, value) {
                (GoKind::Struct(struct_type), value) => {
                    let typed_part = |(name, value, ty): (&'static str, Option<Value<'d>>, &'static Type)| {
                        (Cow::Borrowed(name.as_bytes()), YamlPart::Typed(value, ty))
                    };
                    DocView::Map(written_fields(value, struct_type).map(typed_part).collect())
                }
                (GoKind::List(element), Some(list)) if matches!(list.view(), View::List(_)) => {
                    DocView::List(list.items().map(|item| YamlPart::Typed(Some(item), element)).collect())
                }
                (GoKind::Str, None) => DocView::Str(Cow::Borrowed(b"")),
                (_, None) => DocView::Null,
                (GoKind::Bytes(_), Some(value)) if value.is_string() => {
                    DocView::Str(canonical_base64(value.bytes()))
                }
                (GoKind::Bytes(_), Some(_)) => DocView::Null,
                (GoKind::Str, Some(value)) => DocView::Str(value.bytes()),
                (_, Some(value)) => untyped_view(value),
            },
        }
    }
}

/// Returns the view of an untyped value.
fn untyped_view(value: Value<'_>) -> DocView<'_, YamlPart<'_>> {
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
        View::List(items) => DocView::List(items.map(YamlPart::Raw).collect()),
        View::Map(_) => {
            let entries = json::sorted_entries(value.pairs()).into_iter();
            DocView::Map(entries.map(|(key, value)| (key, YamlPart::Raw(value))).collect())
        }
    }
}
