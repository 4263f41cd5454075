//! The rules of `Chart.yaml`.

use podium_goyaml::yaml;
use podium_versions::masterminds::{Constraints, Version};

use super::address::{is_email, is_request_url, is_url};
use super::{Report, Severity, Subject};
use crate::dialect::Dialect;
use crate::gofmt;
use crate::load::Place;
use crate::metadata::{API_V1, API_V2, Draft, Metadata, metadata_type};
use crate::text::{base, quote};

const FILE: &str = "Chart.yaml";

pub(super) fn check(subject: &Subject, dialect: &Dialect, report: &mut Report) {
    let error = |report: &mut Report, verdict| report.rule(Severity::Error, FILE, verdict);
    if subject.chart_yaml == Place::Directory {
        error(report, Err("should be a file, not a directory".to_owned()));
    }
    let mut draft = Draft::default();
    let text = subject.chart_yaml.content(&subject.directory, FILE);
    let read =
        text.and_then(|text| draft.read(text, dialect).map(|()| text).map_err(|error| error.to_string()));
    let text = match read {
        Ok(text) => text,
        Err(reason) => {
            error(report, Err(format!("unable to parse YAML\n\t{reason}")));
            return;
        }
    };
    if dialect.lint.strict_metadata {
        let strict = yaml::parse_strict_as(text, 0, metadata_type(dialect));
        let verdict = strict.map(drop);
        let verdict =
            verdict.map_err(|error| format!("failed to strictly parse chart metadata file\n\t{error}"));
        report.rule(Severity::Warning, FILE, verdict);
    }
    let metadata = &draft.metadata;
    error(report, name(metadata));
    error(report, api_version(metadata));
    error(report, is_text(text, "version"));
    error(report, version(metadata));
    error(report, is_text(text, "appVersion"));
    error(report, maintainers(&draft));
    error(report, sources(metadata));
    let icon = if metadata.icon.is_empty() { Err("icon is recommended".to_owned()) } else { Ok(()) };
    report.rule(Severity::Info, FILE, icon);
    error(report, icon_url(metadata));
    error(report, kind(metadata));
    error(report, dependencies(metadata));
    if dialect.lint.strict_version {
        let verdict = Version::strict(&metadata.version).map(drop);
        let verdict = verdict.map_err(|_| format!("version '{}' is not a valid SemVerV2", metadata.version));
        report.rule(Severity::Warning, FILE, verdict);
    }
}

fn name(metadata: &Metadata) -> Result<(), String> {
    let name = &metadata.name;
    if name.is_empty() {
        return Err("name is required".to_owned());
    }
    if base(name) != name {
        return Err(format!("chart name {} is invalid", quote(name)));
    }
    Ok(())
}

fn api_version(metadata: &Metadata) -> Result<(), String> {
    const WANTED: &str = "The value must be either \"v1\" or \"v2\"";
    match metadata.api_version.as_str() {
        API_V1 | API_V2 => Ok(()),
        "" => Err(format!("apiVersion is required. {WANTED}")),
        other => Err(format!("apiVersion '{other}' is not valid. {WANTED}")),
    }
}

/// A field that is written has to be written as a string; reading it as one would take a number too.
fn is_text(text: &[u8], key: &str) -> Result<(), String> {
    let fields = yaml::parse_object(text, 0).unwrap_or_default();
    let Some(value) = fields.get(key) else { return Ok(()) };
    match gofmt::type_name(value).unwrap_or("<nil>") {
        "string" => Ok(()),
        other => Err(format!("{key} should be of type string but it's of type {other}")),
    }
}

fn version(metadata: &Metadata) -> Result<(), String> {
    let text = &metadata.version;
    if text.is_empty() {
        return Err("version is required".to_owned());
    }
    let version = Version::new(text).map_err(|_| format!("version '{text}' is not a valid SemVer"))?;
    let least = Constraints::new(">0.0.0-0").map_err(|error| error.to_string())?;
    match least.validate(&version) {
        Ok(()) => Ok(()),
        Err(reasons) => match reasons.first() {
            Some(reason) => Err(format!("version {reason}")),
            None => Ok(()),
        },
    }
}

fn maintainers(draft: &Draft) -> Result<(), String> {
    for (at, person) in draft.metadata.maintainers.iter().enumerate() {
        if draft.null_maintainer() == Some(at) {
            return Err("a maintainer entry is empty".to_owned());
        }
        let (name, email, url) = (&person.name, &person.email, &person.url);
        if name.is_empty() {
            return Err("each maintainer requires a name".to_owned());
        }
        if !email.is_empty() && !is_email(email) {
            return Err(format!("invalid email '{email}' for maintainer '{name}'"));
        }
        if !url.is_empty() && !is_url(url) {
            return Err(format!("invalid url '{url}' for maintainer '{name}'"));
        }
    }
    Ok(())
}

fn sources(metadata: &Metadata) -> Result<(), String> {
    let bad = metadata.sources.iter().find(|source| !is_request_url(source));
    bad.map_or(Ok(()), |source| Err(format!("invalid source URL '{source}'")))
}

fn icon_url(metadata: &Metadata) -> Result<(), String> {
    let icon = &metadata.icon;
    if icon.is_empty() || is_request_url(icon) { Ok(()) } else { Err(format!("invalid icon URL '{icon}'")) }
}

fn kind(metadata: &Metadata) -> Result<(), String> {
    let version = &metadata.api_version;
    if metadata.kind.is_empty() || version == API_V2 {
        return Ok(());
    }
    Err(format!("chart type is not valid in apiVersion '{version}'. It is valid in apiVersion '{API_V2}'"))
}

fn dependencies(metadata: &Metadata) -> Result<(), String> {
    let version = &metadata.api_version;
    if metadata.dependencies.as_ref().is_none_or(Vec::is_empty) || version == API_V2 {
        return Ok(());
    }
    Err(format!(
        "dependencies are not valid in the Chart file with apiVersion '{version}'. They are valid in apiVersion \
         '{API_V2}'"
    ))
}
