//! The `olm.bundle` blob of a bundle: properties and related images.

use std::collections::BTreeSet;

use podium_goyaml::{Map, Node, Value as YamlValue, json};
use podium_meta::base64;
use serde_json::Value;

use crate::opm::{ApiKey, Property, RegistryBundle, get_case_insensitive};
use crate::report::{Finding, Rule, Validator};
use crate::types::{self, type_name};
use crate::value::{array_at, marshal_json, quote_json, string_at, unescape_html};
use crate::{CSV_KIND, raw_json};

const TYPE_PACKAGE: &str = "olm.package";
const TYPE_PACKAGE_REQUIRED: &str = "olm.package.required";
const TYPE_GVK: &str = "olm.gvk";
const TYPE_GVK_REQUIRED: &str = "olm.gvk.required";
const TYPE_BUNDLE_OBJECT: &str = "olm.bundle.object";
const TYPE_CSV_METADATA: &str = "olm.csv.metadata";

/// An image that the bundle refers to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedImage {
    /// Name given by the bundle author; may be empty.
    pub name: String,
    /// Image reference.
    pub image: String,
}

/// An `olm.bundle` blob of a file-based catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlmBundle {
    /// Name of the ClusterServiceVersion.
    pub name: String,
    /// Package name.
    pub package: String,
    /// Image reference; empty for a bundle directory.
    pub image: String,
    /// Properties in opm's order.
    pub properties: Vec<Property>,
    /// Related images, sorted by reference.
    pub related_images: Vec<RelatedImage>,
    /// CSV as JSON. It is not part of the blob; templates and graphs read it.
    pub csv_json: String,
}

fn reject(bundle: &RegistryBundle, rule: Rule, message: impl Into<String>) -> Finding {
    Finding::new(Validator::Opm, rule, bundle.csv_location(), message)
}

impl OlmBundle {
    /// Builds the blob like `opm render` for the bundle image `image`.
    pub fn new(bundle: &RegistryBundle, image: &str) -> Result<Self, Finding> {
        Ok(OlmBundle {
            name: bundle.name.clone(),
            package: bundle.package.clone(),
            image: image.to_owned(),
            properties: properties(bundle)?,
            related_images: related_images(bundle, image)?,
            csv_json: bundle.csv().map(|csv| marshal_json(&csv.node)).unwrap_or_default(),
        })
    }

    /// Applies `opm render --migrate-level=bundle-object-to-csv-metadata`: replaces the `olm.bundle.object`
    /// properties by one `olm.csv.metadata` property. A bundle without an image or with that property is
    /// unchanged.
    pub fn migrated(mut self) -> Result<Self, Finding> {
        if self.image.is_empty() || self.properties.iter().any(|property| property.kind == TYPE_CSV_METADATA)
        {
            return Ok(self);
        }
        let location = (CSV_KIND, 0);
        let malformed = |error: String| Finding::new(Validator::Opm, Rule::CsvShape, location, error);
        let node = json::parse(self.csv_json.as_bytes(), 0).map_err(|error| malformed(error.to_string()))?;
        let csv = types::decode_case_insensitive(type_name::CSV, &node).map_err(malformed)?;
        crate::registry_v1::check_version(&csv).map_err(|(_, error)| malformed(error))?;
        self.properties.retain(|property| property.kind != TYPE_BUNDLE_OBJECT);
        let value = unescape_html(&types::marshal(type_name::CSV_METADATA, &csv_metadata(&csv)));
        self.properties.push(Property { kind: TYPE_CSV_METADATA.to_owned(), value: Some(value) });
        Ok(self)
    }

    /// Encodes the blob as one line of JSON with the fields in opm's order and the property values verbatim.
    pub fn to_json(&self) -> String {
        let mut out = String::from(r#"{"schema":"olm.bundle""#);
        for (key, text) in [("name", &self.name), ("package", &self.package)] {
            if !text.is_empty() {
                out.push_str(&format!(r#","{key}":{}"#, quote_json(text)));
            }
        }
        out.push_str(&format!(r#","image":{}"#, quote_json(&self.image)));
        let properties = self.properties.iter().map(|property| {
            format!(
                r#"{{"type":{},"value":{}}}"#,
                quote_json(&property.kind),
                raw_json::compact(property.value_json())
            )
        });
        let images = self.related_images.iter().map(|image_ref| {
            format!(r#"{{"name":{},"image":{}}}"#, quote_json(&image_ref.name), quote_json(&image_ref.image))
        });
        for (key, items) in
            [("properties", properties.collect::<Vec<_>>()), ("relatedImages", images.collect::<Vec<_>>())]
        {
            if !items.is_empty() {
                out.push_str(&format!(r#","{key}":[{}]"#, items.join(",")));
            }
        }
        out.push('}');
        out
    }

    /// Encodes the blob like `opm render`, which prints nothing for an empty package name.
    pub fn to_pretty(&self) -> String {
        if self.package.is_empty() {
            return String::new();
        }
        let mut out = raw_json::indent(&self.to_json(), "    ");
        out.push('\n');
        out
    }

    /// Converts the blob to a JSON value, with sorted keys.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.to_json()).unwrap_or_default()
    }

    /// Returns the version of the `olm.package` property.
    pub fn version(&self) -> String {
        let package = self.properties.iter().find(|property| property.kind == TYPE_PACKAGE);
        let value: Value =
            package.and_then(|p| serde_json::from_str(p.value_json()).ok()).unwrap_or_default();
        string_at(&value, "/version").to_owned()
    }
}

fn csv_metadata(csv: &Value) -> Value {
    let mut out = serde_json::Map::new();
    for (key, pointer) in [
        ("annotations", "/metadata/annotations"),
        ("apiServiceDefinitions", "/spec/apiservicedefinitions"),
        ("crdDescriptions", "/spec/customresourcedefinitions"),
        ("description", "/spec/description"),
        ("displayName", "/spec/displayName"),
        ("installModes", "/spec/installModes"),
        ("keywords", "/spec/keywords"),
        ("labels", "/metadata/labels"),
        ("links", "/spec/links"),
        ("maintainers", "/spec/maintainers"),
        ("maturity", "/spec/maturity"),
        ("minKubeVersion", "/spec/minKubeVersion"),
        ("nativeAPIs", "/spec/nativeAPIs"),
        ("provider", "/spec/provider"),
    ] {
        if let Some(value) = csv.pointer(pointer) {
            out.insert(key.to_owned(), value.clone());
        }
    }
    // Converts again to drop empty fields.
    let value = Value::Object(out);
    types::convert(type_name::CSV_METADATA, &value).unwrap_or(value)
}

/// Reads the string fields of a property value.
fn string_fields<const N: usize>(value: Option<&str>, keys: [&str; N]) -> Result<[String; N], String> {
    let node = json::parse(value.unwrap_or_default().as_bytes(), 0).map_err(|error| error.to_string())?;
    let empty = Map::new();
    let map = match &node.value {
        YamlValue::Null => &empty,
        YamlValue::Map(map) => map,
        _ => return Err("the value is not an object".to_owned()),
    };
    let mut out = [const { String::new() }; N];
    for (key, target) in keys.iter().zip(&mut out) {
        if let Some(node) = get_case_insensitive(map, key) {
            *target = node.as_str().ok_or_else(|| format!("{key} is not a string"))?.to_owned();
        }
    }
    Ok(out)
}

fn package_property_value(name: &str, version: &str, release: &str) -> String {
    let mut out = format!(r#"{{"packageName":{},"version":{}"#, quote_json(name), quote_json(version));
    if !release.is_empty() {
        out.push_str(&format!(r#","release":{}"#, quote_json(release)));
    }
    out.push('}');
    out
}

fn properties(bundle: &RegistryBundle) -> Result<Vec<Property>, Finding> {
    let mut provided_apis = BTreeSet::new();
    let mut required_apis = BTreeSet::new();
    let mut package = None;
    let mut out = Vec::new();
    let new_property = |kind: &str, value: String| Property { kind: kind.to_owned(), value: Some(value) };
    let malformed = |kind: &str, error: String| reject(bundle, Rule::Property, format!("{kind}: {error}"));
    for property in &bundle.properties {
        let value = property.value.as_deref();
        match property.kind.as_str() {
            TYPE_GVK => {
                let gvk =
                    string_fields(value, ["group", "kind", "version"]).map_err(|e| malformed(TYPE_GVK, e))?;
                provided_apis.insert(gvk);
            }
            TYPE_PACKAGE => {
                let [name, version, release] = string_fields(value, ["packageName", "version", "release"])
                    .map_err(|e| malformed(TYPE_PACKAGE, e))?;
                package = Some(package_property_value(&name, &version, &release));
            }
            _ => out.push(property.clone()),
        }
    }
    for property in &bundle.dependencies {
        let value = property.value.as_deref();
        match property.kind.as_str() {
            TYPE_GVK => {
                let gvk =
                    string_fields(value, ["group", "kind", "version"]).map_err(|e| malformed(TYPE_GVK, e))?;
                required_apis.insert(gvk);
            }
            TYPE_PACKAGE => {
                let [name, version, _] = string_fields(value, ["packageName", "version", "release"])
                    .map_err(|e| malformed(TYPE_PACKAGE, e))?;
                let value = format!(
                    r#"{{"packageName":{},"versionRange":{}}}"#,
                    quote_json(&name),
                    quote_json(&version)
                );
                out.push(new_property(TYPE_PACKAGE_REQUIRED, value));
            }
            _ => out.push(property.clone()),
        }
    }
    let gvk = |api: &ApiKey| [api.group.clone(), api.kind.clone(), api.version.clone()];
    provided_apis.extend(bundle.provided_apis.iter().map(gvk));
    required_apis.extend(bundle.required_apis()?.iter().map(gvk));
    let package = match package {
        Some(package) => package,
        None => package_property_value(&bundle.package, bundle.version()?, &bundle.release()?),
    };
    out.push(new_property(TYPE_PACKAGE, package));
    for (kind, gvks) in [(TYPE_GVK, provided_apis), (TYPE_GVK_REQUIRED, required_apis)] {
        out.extend(gvks.into_iter().map(|[group, name, version]| {
            let value = format!(
                r#"{{"group":{},"kind":{},"version":{}}}"#,
                quote_json(&group),
                quote_json(&name),
                quote_json(&version)
            );
            new_property(kind, value)
        }));
    }
    out.extend(bundle.objects.iter().map(|object| {
        let data = base64::encode(marshal_json(&object.node).as_bytes());
        new_property(TYPE_BUNDLE_OBJECT, format!(r#"{{"data":"{data}"}}"#))
    }));
    out.sort();
    let is_object =
        |property: &Property| matches!(property.kind.as_str(), TYPE_BUNDLE_OBJECT | TYPE_CSV_METADATA);
    let (objects, mut others): (Vec<_>, Vec<_>) = out.into_iter().partition(is_object);
    others.extend(objects);
    Ok(others)
}

fn related_images(bundle: &RegistryBundle, image: &str) -> Result<Vec<RelatedImage>, Finding> {
    let mut images = Vec::new();
    if let Some(node) = bundle.spec_field("relatedImages")? {
        let malformed = |node: &Node, message: &str| {
            let location = (bundle.csv_location().0, node.pos.line);
            Finding::new(
                Validator::Opm,
                Rule::RelatedImages,
                location,
                format!("spec.relatedImages: {message}"),
            )
        };
        for node in node.as_list().ok_or_else(|| malformed(node, "not a list"))?.iter() {
            let mut image_ref = RelatedImage { name: String::new(), image: String::new() };
            match &node.value {
                YamlValue::Null => {}
                YamlValue::Map(map) => {
                    for (key, target) in [("name", &mut image_ref.name), ("image", &mut image_ref.image)] {
                        if let Some(node) = get_case_insensitive(map, key) {
                            *target = node
                                .as_str()
                                .ok_or_else(|| malformed(node, &format!("{key} is not a string")))?
                                .to_owned();
                        }
                    }
                }
                _ => return Err(malformed(node, "an item is not an object")),
            }
            images.push(image_ref);
        }
    }
    let listed: BTreeSet<String> = images.iter().map(|image_ref| image_ref.image.clone()).collect();
    let without_name = |image: &str| RelatedImage { name: String::new(), image: image.to_owned() };
    if !image.is_empty() && !listed.contains(image) {
        images.push(without_name(image));
    }
    images.extend(
        operator_images(bundle)?
            .iter()
            .filter(|image| !listed.contains(*image))
            .map(|image| without_name(image)),
    );
    // opm's sort is not stable and reorders equal images in lists of more than twelve.
    images.sort_by(|a, b| a.image.cmp(&b.image));
    Ok(images)
}

/// Returns the container images of the deployments in the install strategy.
pub(crate) fn operator_images(bundle: &RegistryBundle) -> Result<BTreeSet<String>, Finding> {
    let mut images = BTreeSet::new();
    let malformed = |node: &Node, message: String| {
        let location = (bundle.csv_location().0, node.pos.line);
        Finding::new(Validator::Opm, Rule::CsvShape, location, format!("spec.install: {message}"))
    };
    let Some(spec) = bundle.spec()? else { return Ok(images) };
    let Some(install) = get_case_insensitive(spec, "install") else { return Ok(images) };
    let object = |node: &Node, message: &str| match &node.value {
        YamlValue::Map(map) => Ok(map.clone()),
        _ => Err(malformed(node, format!("{message} is not an object"))),
    };
    let map = object(install, "it")?;
    let strategy = match get_case_insensitive(&map, "strategy") {
        None => String::new(),
        Some(node) => {
            node.as_str().ok_or_else(|| malformed(node, "strategy is not a string".to_owned()))?.to_owned()
        }
    };
    let Some(strategy_spec) = get_case_insensitive(&map, "spec") else { return Ok(images) };
    let strategy_spec = object(strategy_spec, "spec")?;
    let Some(deployments) = get_case_insensitive(&strategy_spec, "deployments") else { return Ok(images) };
    let gvks = deployments
        .as_list()
        .ok_or_else(|| malformed(deployments, "deployments is not a list".to_owned()))?;
    for node in gvks.iter().filter(|node| !node.is_null()) {
        let map = object(node, "a deployment")?;
        if let Some(node) = get_case_insensitive(&map, "name")
            && node.as_str().is_none()
        {
            return Err(malformed(node, "the name of a deployment is not a string".to_owned()));
        }
        let Some(spec) = get_case_insensitive(&map, "spec") else {
            continue;
        };
        let deployment = types::decode_case_insensitive(type_name::DEPLOYMENT_SPEC, spec)
            .map_err(|error| malformed(spec, error))?;
        for kind in ["/template/spec/containers", "/template/spec/initContainers"] {
            images.extend(
                array_at(&deployment, kind).iter().map(|image_ref| string_at(image_ref, "/image").to_owned()),
            );
        }
    }
    if strategy != "deployment" {
        images.clear();
    }
    Ok(images)
}
