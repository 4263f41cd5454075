//! The `olm.bundle` that a catalog has of a bundle: its properties and the images that belong to it.

use std::collections::BTreeSet;

use podium_goyaml::{Map, Node, Value as Written, json};
use podium_meta::base64;
use serde_json::Value;

use crate::opm::{Api, Parsed, Property, folded};
use crate::report::{Finding, Refuser, Rule};
use crate::types::{self, name};
use crate::value::{list, marshal, quoted, text, without_html};
use crate::{CSV, raw};

const PACKAGE: &str = "olm.package";
const PACKAGE_REQUIRED: &str = "olm.package.required";
const GVK: &str = "olm.gvk";
const GVK_REQUIRED: &str = "olm.gvk.required";
const BUNDLE_OBJECT: &str = "olm.bundle.object";
const CSV_METADATA: &str = "olm.csv.metadata";

/// An image that belongs to a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedImage {
    /// What its author calls it; may be empty.
    pub name: String,
    /// The reference.
    pub image: String,
}

/// A bundle as a file-based catalog has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OlmBundle {
    /// The name of the ClusterServiceVersion.
    pub name: String,
    /// The package.
    pub package: String,
    /// The reference of the image; empty for a bundle that was read from a folder.
    pub image: String,
    /// The properties in opm's order.
    pub properties: Vec<Property>,
    /// The images, sorted by reference.
    pub related_images: Vec<RelatedImage>,
    /// The ClusterServiceVersion in JSON; catalogs do not have it, templates and graphs look into it.
    pub csv_json: String,
}

fn refuse(parsed: &Parsed, rule: Rule, text: impl Into<String>) -> Finding {
    Finding::new(Refuser::Opm, rule, parsed.place(), text)
}

impl OlmBundle {
    /// What `opm render` makes of a bundle whose image has this reference.
    pub fn new(parsed: &Parsed, image: &str) -> Result<Self, Finding> {
        Ok(OlmBundle {
            name: parsed.name.clone(),
            package: parsed.package.clone(),
            image: image.to_owned(),
            properties: properties(parsed)?,
            related_images: related_images(parsed, image)?,
            csv_json: parsed.csv().map(|csv| marshal(&csv.node)).unwrap_or_default(),
        })
    }

    /// What `opm render --migrate-level=bundle-object-to-csv-metadata` makes of it: instead of all objects only what
    /// catalogs need of the ClusterServiceVersion. Nothing changes without an image, or where that is done already.
    pub fn migrated(mut self) -> Result<Self, Finding> {
        if self.image.is_empty() || self.properties.iter().any(|property| property.kind == CSV_METADATA) {
            return Ok(self);
        }
        let place = (CSV, 0);
        let wrong = |error: String| Finding::new(Refuser::Opm, Rule::CsvShape, place, error);
        let node = json::parse(self.csv_json.as_bytes(), 0).map_err(|error| wrong(error.to_string()))?;
        let csv = types::loosely_typed(name::CSV, &node).map_err(wrong)?;
        crate::registry::check_version(&csv).map_err(|(_, error)| wrong(error))?;
        self.properties.retain(|property| property.kind != BUNDLE_OBJECT);
        let value = without_html(&types::written(name::CSV_METADATA, &csv_metadata(&csv)));
        self.properties.push(Property { kind: CSV_METADATA.to_owned(), value: Some(value) });
        Ok(self)
    }

    /// As one line of JSON, the fields in opm's order and the values of properties as they were written.
    pub fn to_json(&self) -> String {
        let mut out = String::from(r#"{"schema":"olm.bundle""#);
        for (key, text) in [("name", &self.name), ("package", &self.package)] {
            if !text.is_empty() {
                out.push_str(&format!(r#","{key}":{}"#, quoted(text)));
            }
        }
        out.push_str(&format!(r#","image":{}"#, quoted(&self.image)));
        let properties = self.properties.iter().map(|property| {
            format!(r#"{{"type":{},"value":{}}}"#, quoted(&property.kind), raw::compact(property.json()))
        });
        let images = self
            .related_images
            .iter()
            .map(|one| format!(r#"{{"name":{},"image":{}}}"#, quoted(&one.name), quoted(&one.image)));
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

    /// As `opm render` prints it, which is nothing if the package has no name.
    pub fn to_pretty(&self) -> String {
        if self.package.is_empty() {
            return String::new();
        }
        let mut out = raw::indent(&self.to_json(), "    ");
        out.push('\n');
        out
    }

    /// As a value; the order of fields is that of their names.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.to_json()).unwrap_or_default()
    }

    /// The version that the property of the package has.
    pub fn version(&self) -> String {
        let package = self.properties.iter().find(|property| property.kind == PACKAGE);
        let value: Value = package.and_then(|p| serde_json::from_str(p.json()).ok()).unwrap_or_default();
        text(&value, "/version").to_owned()
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
    // Read once more, so that what is empty goes.
    let value = Value::Object(out);
    types::retyped(name::CSV_METADATA, &value).unwrap_or(value)
}

/// A value of a property whose fields are texts.
fn texts<const N: usize>(value: Option<&str>, keys: [&str; N]) -> Result<[String; N], String> {
    let node = json::parse(value.unwrap_or_default().as_bytes(), 0).map_err(|error| error.to_string())?;
    let empty = Map::new();
    let map = match &node.value {
        Written::Null => &empty,
        Written::Map(map) => map,
        _ => return Err("the value is no object".to_owned()),
    };
    let mut out = [const { String::new() }; N];
    for (key, into) in keys.iter().zip(&mut out) {
        if let Some(node) = folded(map, key) {
            *into = node.as_str().ok_or_else(|| format!("{key} is no text"))?.to_owned();
        }
    }
    Ok(out)
}

fn package_value(name: &str, version: &str, release: &str) -> String {
    let mut out = format!(r#"{{"packageName":{},"version":{}"#, quoted(name), quoted(version));
    if !release.is_empty() {
        out.push_str(&format!(r#","release":{}"#, quoted(release)));
    }
    out.push('}');
    out
}

fn properties(parsed: &Parsed) -> Result<Vec<Property>, Finding> {
    let mut provided = BTreeSet::new();
    let mut required = BTreeSet::new();
    let mut package = None;
    let mut out = Vec::new();
    let new = |kind: &str, value: String| Property { kind: kind.to_owned(), value: Some(value) };
    let wrong = |kind: &str, error: String| refuse(parsed, Rule::Property, format!("{kind}: {error}"));
    for property in &parsed.properties {
        let value = property.value.as_deref();
        match property.kind.as_str() {
            GVK => {
                let gvk = texts(value, ["group", "kind", "version"]).map_err(|e| wrong(GVK, e))?;
                provided.insert(gvk);
            }
            PACKAGE => {
                let [name, version, release] =
                    texts(value, ["packageName", "version", "release"]).map_err(|e| wrong(PACKAGE, e))?;
                package = Some(package_value(&name, &version, &release));
            }
            _ => out.push(property.clone()),
        }
    }
    for property in &parsed.dependencies {
        let value = property.value.as_deref();
        match property.kind.as_str() {
            GVK => {
                let gvk = texts(value, ["group", "kind", "version"]).map_err(|e| wrong(GVK, e))?;
                required.insert(gvk);
            }
            PACKAGE => {
                let [name, version, _] =
                    texts(value, ["packageName", "version", "release"]).map_err(|e| wrong(PACKAGE, e))?;
                let value =
                    format!(r#"{{"packageName":{},"versionRange":{}}}"#, quoted(&name), quoted(&version));
                out.push(new(PACKAGE_REQUIRED, value));
            }
            _ => out.push(property.clone()),
        }
    }
    let gvk = |api: &Api| [api.group.clone(), api.kind.clone(), api.version.clone()];
    provided.extend(parsed.provided.iter().map(gvk));
    required.extend(parsed.required()?.iter().map(gvk));
    let package = match package {
        Some(package) => package,
        None => package_value(&parsed.package, parsed.version()?, &parsed.release()?),
    };
    out.push(new(PACKAGE, package));
    for (kind, all) in [(GVK, provided), (GVK_REQUIRED, required)] {
        out.extend(all.into_iter().map(|[group, name, version]| {
            let value = format!(
                r#"{{"group":{},"kind":{},"version":{}}}"#,
                quoted(&group),
                quoted(&name),
                quoted(&version)
            );
            new(kind, value)
        }));
    }
    out.extend(parsed.objects.iter().map(|object| {
        let data = base64::encode(marshal(&object.node).as_bytes());
        new(BUNDLE_OBJECT, format!(r#"{{"data":"{data}"}}"#))
    }));
    out.sort();
    let is_object = |property: &Property| matches!(property.kind.as_str(), BUNDLE_OBJECT | CSV_METADATA);
    let (objects, mut others): (Vec<_>, Vec<_>) = out.into_iter().partition(is_object);
    others.extend(objects);
    Ok(others)
}

fn related_images(parsed: &Parsed, image: &str) -> Result<Vec<RelatedImage>, Finding> {
    let mut images = Vec::new();
    if let Some(node) = parsed.field("relatedImages")? {
        let wrong = |node: &Node, what: &str| {
            let place = (parsed.place().0, node.pos.line);
            Finding::new(Refuser::Opm, Rule::RelatedImages, place, format!("spec.relatedImages: {what}"))
        };
        for node in node.as_list().ok_or_else(|| wrong(node, "no list"))?.iter() {
            let mut one = RelatedImage { name: String::new(), image: String::new() };
            match &node.value {
                Written::Null => {}
                Written::Map(map) => {
                    for (key, into) in [("name", &mut one.name), ("image", &mut one.image)] {
                        if let Some(node) = folded(map, key) {
                            *into = node
                                .as_str()
                                .ok_or_else(|| wrong(node, &format!("{key} is no text")))?
                                .to_owned();
                        }
                    }
                }
                _ => return Err(wrong(node, "an element is no object")),
            }
            images.push(one);
        }
    }
    let known: BTreeSet<String> = images.iter().map(|one| one.image.clone()).collect();
    let unnamed = |image: &str| RelatedImage { name: String::new(), image: image.to_owned() };
    if !image.is_empty() && !known.contains(image) {
        images.push(unnamed(image));
    }
    images.extend(
        operator_images(parsed)?.iter().filter(|image| !known.contains(*image)).map(|image| unnamed(image)),
    );
    // opm's sort is not stable: of more than twelve it leaves equal ones in another order.
    images.sort_by(|a, b| a.image.cmp(&b.image));
    Ok(images)
}

/// The images of the Deployments that a ClusterServiceVersion asks for.
pub(crate) fn operator_images(parsed: &Parsed) -> Result<BTreeSet<String>, Finding> {
    let mut images = BTreeSet::new();
    let wrong = |node: &Node, what: String| {
        let place = (parsed.place().0, node.pos.line);
        Finding::new(Refuser::Opm, Rule::CsvShape, place, format!("spec.install: {what}"))
    };
    let Some(spec) = parsed.spec()? else { return Ok(images) };
    let Some(install) = folded(spec, "install") else { return Ok(images) };
    let object = |node: &Node, what: &str| match &node.value {
        Written::Map(map) => Ok(map.clone()),
        _ => Err(wrong(node, format!("{what} is no object"))),
    };
    let map = object(install, "it")?;
    let strategy = match folded(&map, "strategy") {
        None => String::new(),
        Some(node) => node.as_str().ok_or_else(|| wrong(node, "strategy is no text".to_owned()))?.to_owned(),
    };
    let Some(details) = folded(&map, "spec") else { return Ok(images) };
    let details = object(details, "spec")?;
    let Some(deployments) = folded(&details, "deployments") else { return Ok(images) };
    let all = deployments.as_list().ok_or_else(|| wrong(deployments, "deployments is no list".to_owned()))?;
    for node in all.iter().filter(|node| !node.is_null()) {
        let map = object(node, "a deployment")?;
        if let Some(node) = folded(&map, "name")
            && node.as_str().is_none()
        {
            return Err(wrong(node, "the name of a deployment is no text".to_owned()));
        }
        let Some(spec) = folded(&map, "spec") else {
            continue;
        };
        let deployment =
            types::loosely_typed(name::DEPLOYMENT_SPEC, spec).map_err(|error| wrong(spec, error))?;
        for kind in ["/template/spec/containers", "/template/spec/initContainers"] {
            images.extend(list(&deployment, kind).iter().map(|one| text(one, "/image").to_owned()));
        }
    }
    if strategy != "deployment" {
        images.clear();
    }
    Ok(images)
}
