//! `bundle validate` and `bundle render`.

use anyhow::{Result, bail};
use clap::ArgMatches;
use podium_bundle::{Finding, OlmBundle, RegistryBundle, RegistryV1, render as rendering};
use podium_deploy::object::json_to_node;
use podium_goyaml::emit;
use serde_json::{Value, json};

use super::input::{arguments, options, read};
use crate::flag::{on, one};
use crate::output::{complain, print};

/// How something is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
    Yaml,
}

/// The form that was asked for.
pub fn form(matches: &ArgMatches, usual: Form) -> Result<Form> {
    match one(matches, "output") {
        None => Ok(usual),
        Some("json") => Ok(Form::Json),
        Some("yaml") => Ok(Form::Yaml),
        Some("text") if usual == Form::Text => Ok(Form::Text),
        Some(other) => bail!("-o {other}: write json or yaml"),
    }
}

/// Prints a value for programs.
pub fn structured(value: Value, form: Form) -> Result<()> {
    match form {
        Form::Yaml => print(&emit::to_yaml(&&json_to_node(value))?),
        _ => print(format!("{value:#}\n").as_bytes()),
    }
}

/// A finding for programs.
fn value(finding: &Finding) -> Value {
    json!({
        "file": finding.file, "line": finding.line, "rule": finding.rule.id(), "message": finding.message,
        "refusedBy": finding.validator.name(), "nextStep": finding.rule.next_step(),
    })
}

/// Findings for people, with what to do.
pub fn told(findings: &[Finding]) -> String {
    let one = |finding: &Finding| format!("{finding}\n    {}", finding.rule.next_step());
    findings.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// `bundle validate`.
pub fn validate(matches: &ArgMatches) -> Result<()> {
    let [place] = arguments(matches, "validate", "BUNDLE")?;
    let form = form(matches, Form::Text)?;
    let findings = podium_bundle::validate(&read(&place, matches)?, &options(matches)?);
    match form {
        Form::Text if findings.is_empty() => print(format!("{place} is valid\n").as_bytes())?,
        Form::Text => print(format!("{}\n", told(&findings)).as_bytes())?,
        form => {
            let all: Vec<Value> = findings.iter().map(value).collect();
            structured(json!({"valid": all.is_empty(), "findings": all}), form)?;
        }
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("{place} is not valid: 1 problem"),
        count => bail!("{place} is not valid: {count} problems"),
    }
}

/// `bundle render`.
pub fn render(matches: &ArgMatches) -> Result<()> {
    let [place] = arguments(matches, "render", "BUNDLE")?;
    let form = form(matches, Form::Yaml)?;
    let files = read(&place, matches)?;
    let refused = |findings: &[Finding]| anyhow::anyhow!("{place} cannot be rendered:\n{}", told(findings));
    if on(matches, "catalog") {
        let image = one(matches, "image").unwrap_or_default();
        let mut bundle = RegistryBundle::new(&files)
            .and_then(|parsed| OlmBundle::new(&parsed, image))
            .map_err(|finding| refused(&[finding]))?;
        if on(matches, "migrate") {
            if image.is_empty() {
                bail!("--migrate needs --image: without an image the objects have to stay in the catalog");
            }
            bundle = bundle.migrated().map_err(|finding| refused(&[finding]))?;
        }
        return match form {
            Form::Yaml => {
                let mut out = b"---\n".to_vec();
                out.extend(emit::to_yaml(&&json_to_node(bundle.to_value()))?);
                print(&out)
            }
            _ => print(bundle.to_pretty().as_bytes()),
        };
    }
    for flag in ["image", "migrate"] {
        if matches.value_source(flag).is_some() {
            complain(&format!("Warning: --{flag} does nothing without --catalog"));
        }
    }
    let registry = RegistryV1::new(&files).map_err(|finding| refused(&[finding]))?;
    let objects = rendering::render(&registry, &options(matches)?).map_err(|findings| refused(&findings))?;
    let objects: Vec<Value> = objects.into_iter().map(|object| object.value).collect();
    if form == Form::Json {
        return structured(json!({"apiVersion": "v1", "kind": "List", "items": objects}), form);
    }
    let mut out = Vec::new();
    for object in objects {
        out.extend_from_slice(b"---\n");
        out.extend(emit::to_yaml(&&json_to_node(object))?);
    }
    print(&out)
}
