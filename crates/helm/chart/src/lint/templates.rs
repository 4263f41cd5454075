//! The rules of templates, and of what they render to.

use std::sync::Arc;

use podium_gotmpl::gostr;
use podium_goyaml::yaml::types::{Kind, STRING_MAP, Struct, Type};
use podium_goyaml::{Node, yaml};
use podium_schema::names;

use super::deprecated;
use super::objects::{Object, Objects};
use super::{Options, Report, Severity, Subject};
use crate::capabilities::Capabilities;
use crate::chart::Chart;
use crate::dialect::{Dialect, MissingTemplates};
use crate::load::Place;
use crate::render::{Release, Rendered};
use crate::renderer::Renderer;
use crate::text::{extension, join, quote};

const DIRECTORY: &str = "templates/";

/// A line of a rendered file that is longer is not looked at, and said to be too long.
const MAX_LINE: usize = 64 * 1024;

/// Objects of these kinds choose their pods by labels, and have to say so.
const CHOOSERS: &[&str] = &["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"];

pub(super) fn check(
    subject: &Subject,
    options: &Options<'_>,
    dialect: &'static Dialect,
    report: &mut Report,
) {
    if !directory(subject, dialect, report) {
        return;
    }
    let chart = match &subject.loaded {
        Ok(loaded) => &loaded.chart,
        Err(reason) => {
            report.rule(Severity::Error, DIRECTORY, Err(reason.to_string()));
            return;
        }
    };
    match render(chart, options, dialect) {
        Ok(Some(files)) => files_of(chart, &files, options, dialect, report),
        Ok(None) => {}
        Err(reason) => drop(report.bytes(Severity::Error, DIRECTORY, Err(reason))),
    }
}

/// Whether there is a directory of templates, as far as the dialect wants one.
fn directory(subject: &Subject, dialect: &Dialect, report: &mut Report) -> bool {
    match (dialect.lint.missing_templates, &subject.templates) {
        (MissingTemplates::Fine, Place::Missing) => true,
        (MissingTemplates::Fine, place) => match place.is_directory() {
            Err(reason) if place.exists() => report.rule(Severity::Warning, DIRECTORY, Err(reason)),
            _ => true,
        },
        (MissingTemplates::Warned, Place::Missing) => {
            report.rule(Severity::Warning, DIRECTORY, Err("directory does not exist".to_owned()))
        }
        (MissingTemplates::Warned, place) => report.rule(Severity::Error, DIRECTORY, place.is_directory()),
    }
}

/// What the templates render to. Nothing if the values do not come together, which is no concern of the linter's.
fn render(
    chart: &Arc<Chart>,
    options: &Options<'_>,
    dialect: &'static Dialect,
) -> Result<Option<Vec<Rendered>>, Vec<u8>> {
    let renderer = Renderer::linting(chart.clone(), dialect);
    let prepared = renderer.prepare_lint(options.set, options.schemas, options.resolver);
    let Some(prepared) = prepared.map_err(|error| error.text())? else { return Ok(None) };
    let mut capabilities = Capabilities::default();
    if let Some(version) = options.kube_version {
        capabilities.kube_version = version.clone();
    }
    let release = Release {
        name: "test-release".to_owned(),
        namespace: options.namespace.to_owned(),
        is_upgrade: false,
        revision: 0,
    };
    let rendered = renderer.render(&prepared, &release, &capabilities, options.world, options.limits);
    rendered.map(Some).map_err(|error| error.text())
}

fn files_of(
    chart: &Chart,
    files: &[Rendered],
    options: &Options<'_>,
    dialect: &Dialect,
    report: &mut Report,
) {
    for template in &chart.templates {
        let path = &*template.name;
        report.rule(Severity::Error, path, known_extension(path));
        if dialect.lint.relics_of_helm_2 {
            report.rule(Severity::Warning, path, no_crd_hook(&template.data));
            report.rule(Severity::Error, path, no_release_time(&template.data));
        }
        let ending = extension(path);
        let is_yaml = match dialect.lint.any_yaml_extension {
            true => ending.eq_ignore_ascii_case(".yaml") || ending.eq_ignore_ascii_case(".yml"),
            false => ending == ".yaml",
        };
        if !is_yaml {
            continue;
        }
        let name = join(&chart.metadata.name, path);
        let text = files.iter().find(|file| file.name == name).map(|file| &*file.text).unwrap_or_default();
        if !is_blank(text) && !objects_of(path, text, options, dialect, report) {
            return;
        }
    }
}

fn is_blank(text: &[u8]) -> bool {
    gostr::runes(text).all(|(_, c, _)| gostr::is_space(c))
}

/// The rules of what one template renders to. Says no if it is no YAML: then the linter looks no further.
fn objects_of(
    path: &str,
    text: &[u8],
    options: &Options<'_>,
    dialect: &Dialect,
    report: &mut Report,
) -> bool {
    report.rule(Severity::Warning, path, no_indent(text));
    for object in Objects::new(text, dialect) {
        let object = match object {
            Ok(object) => object,
            Err(reason) => return report.rule(Severity::Error, path, unreadable(&reason)),
        };
        let Some(object) = object else { continue };
        report.rule(Severity::Warning, path, name(&object));
        report.rule(Severity::Warning, path, deprecated::check(&object, options.kube_version));
        report.rule(Severity::Error, path, selector(&object, text));
        report.rule(Severity::Error, path, list_annotations(&object, text, dialect));
    }
    true
}

fn unreadable(reason: &str) -> Result<(), String> {
    Err(format!("unable to parse YAML: {reason}"))
}

fn known_extension(path: &str) -> Result<(), String> {
    match extension(path) {
        ".yaml" | ".yml" | ".tpl" | ".txt" => Ok(()),
        other => Err(format!(
            "file extension '{other}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"
        )),
    }
}

/// Whether a text contains a key and, after a colon and white space, a value.
fn contains_entry(text: &[u8], key: &[u8], value: &[u8]) -> bool {
    memchr::memmem::find_iter(text, key).any(|at| {
        let rest = text.get(at + key.len()..).unwrap_or_default();
        let rest = rest.strip_prefix(b"\"").unwrap_or(rest);
        let Some(rest) = rest.strip_prefix(b":") else { return false };
        let blanks = rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)).count();
        blanks > 0 && rest.get(blanks..).unwrap_or_default().starts_with(value)
    })
}

fn no_crd_hook(template: &[u8]) -> Result<(), String> {
    if !contains_entry(template, b"helm.sh/hook", b"crd-install") {
        return Ok(());
    }
    Err("manifest is a crd-install hook. This hook is no longer supported in v3 and all CRDs should also exist the \
         crds/ directory at the top level of the chart"
        .to_owned())
}

fn no_release_time(template: &[u8]) -> Result<(), String> {
    match memchr::memmem::find(template, b".Release.Time") {
        None => Ok(()),
        Some(_) => Err(
            ".Release.Time has been removed in v3, please replace with the `now` function in your templates"
                .to_owned(),
        ),
    }
}

fn no_indent(text: &[u8]) -> Result<(), String> {
    for line in text.split(|byte| *byte == b'\n') {
        if line.len() >= MAX_LINE {
            return Err("bufio.Scanner: token too long".to_owned());
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if is_blank(line) {
            continue;
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            let quoted = String::from_utf8_lossy(&gostr::quote(line)).into_owned();
            return Err(format!(
                "document starts with an illegal indent: {quoted}, which may cause parsing problems"
            ));
        }
        return Ok(());
    }
    Ok(())
}

fn name(object: &Object) -> Result<(), String> {
    let name = object.name.as_str();
    let wrong = match object.kind.to_lowercase().as_str() {
        "service" => names::label_1035(name),
        "namespace" => names::label(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => names::path_segment(name, false),
        _ => names::subdomain(name),
    };
    let quoted = quote(name);
    let wrong: Vec<String> =
        // The library that helm is built with still counts characters where newer servers count bytes.
        wrong.into_iter().map(|wrong| wrong.replace(" bytes", " characters")).collect();
    let wrong: Vec<String> =
        wrong.into_iter().map(|wrong| format!("metadata.name: Invalid value: {quoted}: {wrong}")).collect();
    let wrong = match wrong.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(format!("object name does not conform to Kubernetes naming requirements: {quoted}: {wrong}"))
}

fn selector(object: &Object, file: &[u8]) -> Result<(), String> {
    let says = |word: &[u8]| memchr::memmem::find(file, word).is_some();
    if !CHOOSERS.contains(&object.kind.as_str()) || says(b"matchLabels") || says(b"matchExpressions") {
        return Ok(());
    }
    Err(format!(
        "a {} must contain matchLabels or matchExpressions, and {} does not",
        object.kind,
        quote(&object.name)
    ))
}

static LIST: Type = {
    static METADATA: Type = Type::new(
        "struct { Annotations map[string]string }",
        Kind::Struct(&Struct { name: "", fields: &[("Annotations", &STRING_MAP)] }),
    );
    static ITEM: Type = Type::new(
        "struct { Metadata struct { Annotations map[string]string } }",
        Kind::Struct(&Struct { name: "", fields: &[("Metadata", &METADATA)] }),
    );
    static ITEMS: Type =
        Type::new("[]struct { Metadata struct { Annotations map[string]string } }", Kind::List(&ITEM));
    Type::new(
        "struct { Items []struct { Metadata struct { Annotations map[string]string } } }",
        Kind::Struct(&Struct { name: "", fields: &[("Items", &ITEMS)] }),
    )
};

fn list_annotations(object: &Object, file: &[u8], dialect: &Dialect) -> Result<(), String> {
    if object.kind != "List" {
        return Ok(());
    }
    let list = yaml::parse_as(file, 0, &LIST)
        .or_else(|error| unreadable(&error.to_string()).map(|()| Node::default()))?;
    let items = list.get("Items").and_then(Node::as_list);
    let keeps = |item: &Node| {
        let annotations = item.get("Metadata").and_then(|metadata| metadata.get("Annotations"));
        annotations.and_then(|annotations| annotations.get("helm.sh/resource-policy")).is_some()
    };
    if items.is_some_and(|items| items.iter().any(keeps)) {
        return Err(format!(
            "{} 'helm.sh/resource-policy' within List objects are ignored",
            dialect.lint.annotation_word
        ));
    }
    Ok(())
}
