//! `bundle generate`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use podium_bundle::generate::{self, BundleSpec, WatchedKind, versioned_name};
use podium_bundle::render::{CertificateProvider, Options};
use podium_bundle::{BundleFiles, validate};
use podium_project::rbac::{Rule, Rules};
use serde_json::Value;

use super::input::objects;
use super::show::told;
use crate::flag::{list, many, on, one};
use crate::operator::{Kept, Project, check_image, deployment, project, project_name};
use crate::output::print;

/// The namespace that stands for the operator's own, wherever that will be.
const HOME: &str = "operator-home";

/// Makes the bundle of a project.
pub fn run(matches: &ArgMatches) -> Result<()> {
    let need = |flag: &str, what: &str| match one(matches, flag) {
        Some(value) => Ok(value.to_owned()),
        None => bail!("--{flag} is needed: {what}"),
    };
    let version = need("version", "the version of the operator, such as --version 1.2.0")?;
    let image = need("image", "the image of the operator, such as --image docker.io/me/operator:1.2.0")?;
    check_image(&image)?;
    let package = project_name(matches, "package")?;
    let Project { kinds, rules } = project(matches, HOME)?;
    let (permissions, cluster_permissions) = match many(matches, "role").as_slice() {
        [] => computed(&rules),
        files => given(files)?,
    };
    let served = |Kept { watch, crd, values }: Kept| WatchedKind {
        crd,
        values,
        version: watch.kind.version.clone(),
        labels: labels(&watch.selector_text),
    };
    let channels = match list(matches, "channels") {
        none if none.is_empty() => vec!["stable".to_owned()],
        channels => channels,
    };
    let base = match one(matches, "base") {
        None => Value::Null,
        Some(file) => objects(file)?
            .into_iter()
            .next()
            .with_context(|| format!("--base {file}: there is no object in it to begin with"))?,
    };
    let name = versioned_name(&package, &version);
    let plan = BundleSpec {
        deployment: deployment(&name, HOME, &image, &[]),
        package,
        version,
        channels,
        default_channel: one(matches, "default-channel").map(str::to_owned),
        kinds: kinds.into_iter().map(served).collect(),
        owns_kinds: on(matches, "crds"),
        permissions,
        cluster_permissions,
        base,
    };
    let files = generate::generate(&plan)?;
    let tree = BundleFiles::new(files.clone())?;
    let options = Options {
        install_namespace: HOME.to_owned(),
        certificate_provider: Some(CertificateProvider::CertManager),
        ..Options::default()
    };
    let findings = validate(&tree, &options);
    if !findings.is_empty() {
        bail!("the bundle would not be valid:\n{}", told(&findings));
    }
    let folder = PathBuf::from(one(matches, "output-dir").unwrap_or("bundle"));
    // Docker takes paths from where the file is.
    let whole = std::path::absolute(&folder).with_context(|| folder.display().to_string())?;
    let own = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let docker = whole.with_file_name(format!("{own}.Dockerfile"));
    is_free(&folder, &docker)?;
    write(&folder, &files)?;
    let shown = folder.display();
    let dockerfile = generate::dockerfile(&generate::labels(&plan), &own);
    std::fs::write(&docker, dockerfile).with_context(|| format!("{} cannot be written", docker.display()))?;
    print(
        format!(
            "{}.v{} is in {shown} ({} files)\nNext:  podium bundle push {shown} REGISTRY/{}-bundle:{}\n",
            plan.package,
            plan.version,
            files.len(),
            plan.package,
            plan.version,
        )
        .as_bytes(),
    )
}

/// Rules for the operator's own namespace, and for the cluster. A role in another namespace cannot be in a bundle, so
/// what it allows is allowed everywhere.
fn computed(rules: &Rules) -> (Vec<Value>, Vec<Value>) {
    let json = |rules: &[Rule]| -> Vec<Value> { rules.iter().map(Rule::to_json).collect() };
    let mut cluster = json(&rules.cluster);
    let mut home = Vec::new();
    for (namespace, rules) in &rules.namespaces {
        if namespace == HOME { home.extend(json(rules)) } else { cluster.extend(json(rules)) }
    }
    (home, cluster)
}

fn given(files: &[String]) -> Result<(Vec<Value>, Vec<Value>)> {
    let (mut home, mut cluster) = (Vec::new(), Vec::new());
    for file in files {
        for object in objects(file)? {
            let rules = object["rules"].as_array().cloned().unwrap_or_default();
            match object["kind"].as_str() {
                Some("Role") => home.extend(rules),
                Some("ClusterRole") => cluster.extend(rules),
                Some("RoleBinding" | "ClusterRoleBinding" | "ServiceAccount") => {}
                other => {
                    bail!("{file} has a {}: only Roles and ClusterRoles have rules", other.unwrap_or("value"))
                }
            }
        }
    }
    if home.is_empty() && cluster.is_empty() {
        bail!("there are no rules in {}", files.join(", "));
    }
    Ok((home, cluster))
}

/// Labels that a selector is sure to take, as far as they can be told.
fn labels(selector: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut rest = selector;
    while !rest.is_empty() {
        // Commas also stand inside of lists.
        let open = rest.find('(').unwrap_or(rest.len());
        let end = match rest.find(',') {
            Some(comma) if comma < open => comma,
            _ => rest.find("),").map_or(rest.len(), |at| at + 1),
        };
        let (term, more) = rest.split_at(end);
        rest = more.trim_start_matches(',');
        if let Some((key, values)) = term.split_once(" in (") {
            let first = values.trim_end_matches(')').split(',').next().unwrap_or_default();
            labels.insert(key.to_owned(), first.to_owned());
        } else if let Some((key, value)) = term.split_once('=').filter(|(key, _)| !key.ends_with('!')) {
            labels.insert(key.to_owned(), value.trim_start_matches('=').to_owned());
        }
    }
    labels
}

/// What every Dockerfile of a bundle has.
const LABEL: &str = "LABEL operators.operatorframework.io.bundle.";

/// A bundle takes the place of an older one, and of nothing else.
fn is_free(folder: &Path, docker: &Path) -> Result<()> {
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        bail!("{shown} is a file: name a folder for the bundle with -d");
    }
    let taken = ["manifests", "metadata"].iter().find(|part| folder.join(part).exists());
    if let Some(part) = taken.filter(|_| !folder.join("metadata/annotations.yaml").exists()) {
        bail!(
            "{shown} has a folder {part} that is no bundle's (there is no metadata/annotations.yaml), and the bundle \
             would take its place: choose another folder with -d"
        );
    }
    let text = std::fs::read_to_string(docker).unwrap_or_default();
    if docker.exists() && !text.contains(LABEL) {
        bail!(
            "{} is no Dockerfile of a bundle, and one would take its place: choose another folder with -d",
            docker.display()
        );
    }
    Ok(())
}

/// Replaces the bundle in a folder, and nothing else that is there. What is half written is never seen as a bundle.
fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let fresh = folder.join(".new");
    let wrong = |path: &Path| format!("{} cannot be written", path.display());
    let _ = std::fs::remove_dir_all(&fresh);
    for (name, data) in files {
        let path = fresh.join(name);
        let parent = path.parent().unwrap_or(&fresh);
        std::fs::create_dir_all(parent).with_context(|| wrong(parent))?;
        std::fs::write(&path, data).with_context(|| wrong(&path))?;
    }
    for part in ["manifests", "metadata"] {
        let (from, to) = (fresh.join(part), folder.join(part));
        if to.exists() {
            std::fs::remove_dir_all(&to).with_context(|| wrong(&to))?;
        }
        std::fs::rename(&from, &to).with_context(|| wrong(&to))?;
    }
    std::fs::remove_dir_all(&fresh).with_context(|| wrong(&fresh))
}

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn labels_that_a_selector_takes() {
        let text = |selector: &str| {
            labels(selector)
                .into_iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(text("operatorVersion=v1"), "operatorVersion=v1");
        assert_eq!(text("a in (x,y),b=c,!d,e!=f"), "a=x b=c");
        assert_eq!(text(""), "");
    }
}
