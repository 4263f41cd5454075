//! Go types that opm decodes metas into, with their fields and unmarshal errors.

use podium_goyaml::yaml::types::{BOOL, Kind, STRING, STRING_MAP, STRINGS, Struct, Type, fit};
use podium_sprig::encoding::base64_decode;

use crate::json::{Document, Value, View};

/// `json.RawMessage`: any value; null differs from a missing value.
static RAW: Type = Type::pointer("json.RawMessage", Kind::Any);
/// `[]byte`.
static BYTES: Type = Type::new("[]uint8", Kind::Bytes(base64));
static INT: Type = Type::new("int", Kind::Int);
static INT32: Type = Type::new("int32", Kind::Int);

fn base64(text: &str) -> Result<(), String> {
    if is_base64(text.as_bytes()) {
        return Ok(());
    }
    base64_decode(text.as_bytes()).map(drop).map_err(|at| format!("illegal base64 data at input byte {at}"))
}

/// Reports whether a text is canonical base64 without line breaks.
fn is_base64(text: &[u8]) -> bool {
    let body = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
    let is_base64_char = |b: u8| {
        ((b | 0x20).wrapping_sub(b'a') < 26) | (b.wrapping_sub(b'0') < 10) | (b == b'+') | (b == b'/')
    };
    // Without early exit the compiler vectorizes the comparison.
    text.len().is_multiple_of(4)
        && body.chunks(64).all(|part| part.iter().fold(true, |valid, &b| valid & is_base64_char(b)))
}

/// Defines a struct type and its list type, with the fields in Go's order.
macro_rules! structs {
    ($($name:ident, $list:ident = $package:literal $go:literal { $($field:literal: $ty:expr),* $(,)? })*) => {$(
        pub(crate) static $name: Type = Type::new(
            concat!($package, $go),
            Kind::Struct(&Struct { name: $go, fields: &[$(($field, $ty)),*] }),
        );
        #[allow(dead_code)]
        static $list: Type = Type::new(concat!("[]", $package, $go), Kind::List(&$name));
    )*};
}

structs! {
    PROPERTY, PROPERTIES = "property." "Property" { "type": &STRING, "value": &RAW }
    PACKAGE, PACKAGES = "declcfg." "Package" {
        "schema": &STRING, "name": &STRING, "defaultChannel": &STRING, "icon": &ICON_POINTER,
        "description": &STRING, "properties": &PROPERTIES,
    }
    ICON, ICONS = "declcfg." "Icon" { "base64data": &BYTES, "mediatype": &STRING }
    CHANNEL, CHANNELS = "declcfg." "Channel" {
        "schema": &STRING, "name": &STRING, "package": &STRING, "entries": &ENTRIES, "properties": &PROPERTIES,
    }
    ENTRY, ENTRIES = "declcfg." "ChannelEntry" {
        "name": &STRING, "replaces": &STRING, "skips": &STRINGS, "skipRange": &STRING,
    }
    BUNDLE, BUNDLES = "declcfg." "Bundle" {
        "schema": &STRING, "name": &STRING, "package": &STRING, "image": &STRING, "properties": &PROPERTIES,
        "relatedImages": &RELATED_IMAGES,
    }
    RELATED_IMAGE, RELATED_IMAGES = "declcfg." "RelatedImage" { "name": &STRING, "image": &STRING }
    DEPRECATION, DEPRECATIONS = "declcfg." "Deprecation" {
        "schema": &STRING, "package": &STRING, "entries": &DEPRECATED,
    }
    DEPRECATION_ENTRY, DEPRECATED = "declcfg." "DeprecationEntry" { "reference": &REFERENCE, "message": &STRING }
    REFERENCE, REFERENCES = "declcfg." "PackageScopedReference" { "schema": &STRING, "name": &STRING }

    PACKAGE_PROPERTY, PACKAGE_PROPERTIES = "property." "Package" {
        "packageName": &STRING, "version": &STRING, "release": &STRING,
    }
    // opm 1.51 has no release field.
    V151_PACKAGE_PROPERTY, V151_PACKAGE_PROPERTIES = "property." "Package" {
        "packageName": &STRING, "version": &STRING,
    }
    REQUIRED_PROPERTY, REQUIRED_PROPERTIES = "property." "PackageRequired" {
        "packageName": &STRING, "versionRange": &STRING,
    }
    GVK_PROPERTY, GVK_PROPERTIES = "property." "GVK" { "group": &STRING, "kind": &STRING, "version": &STRING }
    GVK_REQUIRED_PROPERTY, GVK_REQUIRED_PROPERTIES = "property." "GVKRequired" {
        "group": &STRING, "kind": &STRING, "version": &STRING,
    }
    OBJECT_PROPERTY, OBJECT_PROPERTIES = "property." "BundleObject" { "data": &BYTES }
    CHANNEL_PROPERTY, CHANNEL_PROPERTIES = "property." "Channel" { "channelName": &STRING, "priority": &INT }
    CSV_PROPERTY, CSV_PROPERTIES = "property." "CSVMetadata" {
        "annotations": &STRING_MAP, "apiServiceDefinitions": &API_SERVICES, "crdDescriptions": &CRDS,
        "description": &STRING, "displayName": &STRING, "installModes": &INSTALL_MODES, "keywords": &STRINGS,
        "labels": &STRING_MAP, "links": &LINKS, "maintainers": &MAINTAINERS, "maturity": &STRING,
        "minKubeVersion": &STRING, "nativeAPIs": &KINDS, "provider": &LINK,
    }
    API_SERVICES, API_SERVICES_LIST = "v1alpha1." "APIServiceDefinitions" {
        "owned": &API_SERVICE_LIST, "required": &API_SERVICE_LIST,
    }
    API_SERVICE, API_SERVICE_LIST = "v1alpha1." "APIServiceDescription" {
        "name": &STRING, "group": &STRING, "version": &STRING, "kind": &STRING, "deploymentName": &STRING,
        "containerPort": &INT32, "displayName": &STRING, "description": &STRING, "resources": &RESOURCES,
        "statusDescriptors": &STATUS_DESCRIPTORS, "specDescriptors": &SPEC_DESCRIPTORS,
        "actionDescriptors": &ACTION_DESCRIPTORS,
    }
    CRDS, CRDS_LIST = "v1alpha1." "CustomResourceDefinitions" { "owned": &CRD_LIST, "required": &CRD_LIST }
    CRD, CRD_LIST = "v1alpha1." "CRDDescription" {
        "name": &STRING, "version": &STRING, "kind": &STRING, "displayName": &STRING, "description": &STRING,
        "resources": &RESOURCES, "statusDescriptors": &STATUS_DESCRIPTORS, "specDescriptors": &SPEC_DESCRIPTORS,
        "actionDescriptors": &ACTION_DESCRIPTORS,
    }
    RESOURCE, RESOURCES = "v1alpha1." "APIResourceReference" { "name": &STRING, "kind": &STRING, "version": &STRING }
    STATUS_DESCRIPTOR, STATUS_DESCRIPTORS = "v1alpha1." "StatusDescriptor" {
        "path": &STRING, "displayName": &STRING, "description": &STRING, "x-descriptors": &STRINGS, "value": &RAW,
    }
    SPEC_DESCRIPTOR, SPEC_DESCRIPTORS = "v1alpha1." "SpecDescriptor" {
        "path": &STRING, "displayName": &STRING, "description": &STRING, "x-descriptors": &STRINGS, "value": &RAW,
    }
    ACTION_DESCRIPTOR, ACTION_DESCRIPTORS = "v1alpha1." "ActionDescriptor" {
        "path": &STRING, "displayName": &STRING, "description": &STRING, "x-descriptors": &STRINGS, "value": &RAW,
    }
    INSTALL_MODE, INSTALL_MODES = "v1alpha1." "InstallMode" { "type": &INSTALL_MODE_TYPE, "supported": &BOOL }
    LINK, LINKS = "v1alpha1." "AppLink" { "name": &STRING, "url": &STRING }
    MAINTAINER, MAINTAINERS = "v1alpha1." "Maintainer" { "name": &STRING, "email": &STRING }
    KIND, KINDS = "v1." "GroupVersionKind" { "group": &STRING, "version": &STRING, "kind": &STRING }

    SEMVER, SEMVERS = "semver." "SemverTemplateData" {
        "schema": &STRING, "generateMajorChannels": &BOOL, "generateMinorChannels": &BOOL,
        "defaultChannelTypePreference": &STREAM_TYPE, "candidate": &SEMVER_CHANNEL, "fast": &SEMVER_CHANNEL,
        "stable": &SEMVER_CHANNEL,
    }
    SEMVER_CHANNEL, SEMVER_CHANNELS = "semver." "channelBundles" { "bundles": &SEMVER_BUNDLES }
    SEMVER_BUNDLE, SEMVER_BUNDLES = "semver." "bundleEntry" { "image": &STRING }
    V151_SEMVER, V151_SEMVERS = "semver." "semverTemplate" {
        "schema": &STRING, "generateMajorChannels": &BOOL, "generateMinorChannels": &BOOL,
        "defaultChannelTypePreference": &V151_STREAM_TYPE, "candidate": &V151_SEMVER_CHANNEL,
        "fast": &V151_SEMVER_CHANNEL, "stable": &V151_SEMVER_CHANNEL,
    }
    V151_SEMVER_CHANNEL, V151_SEMVER_CHANNELS = "semver." "semverTemplateChannelBundles" {
        "bundles": &V151_SEMVER_BUNDLES,
    }
    V151_SEMVER_BUNDLE, V151_SEMVER_BUNDLES = "semver." "semverTemplateBundleEntry" { "image": &STRING }
}

static ICON_POINTER: Type = Type { pointer: true, ..ICON };
static INSTALL_MODE_TYPE: Type = Type::new("v1alpha1.InstallModeType", Kind::Str);
static STREAM_TYPE: Type = Type::new("semver.StreamType", Kind::Str);
static V151_STREAM_TYPE: Type = Type::new("semver.streamType", Kind::Str);

/// Reports whether a value already has the form of the type: each key an exactly spelled field, at most once,
/// and no nulls.
///
/// If not, [`convert`] decides whether the value fits.
pub(crate) fn matches_exactly(value: Value<'_>, ty: &Type) -> bool {
    // Strings are not decoded: they are most of a catalog.
    match ty.kind {
        Kind::Any => return true,
        Kind::Str => return value.is_string(),
        _ => {}
    }
    match (ty.kind, value.view()) {
        (Kind::Bool, View::Bool(_)) => true,
        (Kind::Bytes(check), View::String(text)) => check(&text).is_ok(),
        (Kind::List(element), View::List(mut items)) => items.all(|item| matches_exactly(item, element)),
        (Kind::Map(element), View::Map(mut entries)) => {
            entries.all(|(_, item)| matches_exactly(item, element))
        }
        (Kind::Struct(struct_type), View::Map(_)) => {
            let mut seen = 0_u64;
            for (key, item) in value.pairs() {
                let key = key.bytes();
                match struct_type.fields.iter().position(|(name, _)| *name.as_bytes() == *key) {
                    Some(at) if seen & (1 << at) == 0 => {
                        seen |= 1 << at;
                        if !struct_type.fields.get(at).is_some_and(|(_, ty)| matches_exactly(item, ty)) {
                            return false;
                        }
                    }
                    Some(_) => return false,
                    // A key in another case needs conversion; an unknown key does not.
                    None if !key.is_ascii() => return false,
                    None if struct_type
                        .fields
                        .iter()
                        .any(|(name, _)| name.as_bytes().eq_ignore_ascii_case(&key)) =>
                    {
                        return false;
                    }
                    None => {}
                }
            }
            true
        }
        _ => false,
    }
}

/// Converts a value to a type like Go's `json.Unmarshal`. An error is Go's message.
pub(crate) fn convert(value: Value<'_>, ty: &Type) -> Result<Document, String> {
    if matches_exactly(value, ty) {
        return Ok(value.to_document());
    }
    let node = fit(value.to_node(), ty)?;
    Document::from_node(&node).ok_or_else(|| "too large".to_owned())
}

/// Checks that a value fits a type. An error is Go's message.
pub(crate) fn check(value: Value<'_>, ty: &Type) -> Result<(), String> {
    if matches_exactly(value, ty) { Ok(()) } else { convert(value, ty).map(drop) }
}
