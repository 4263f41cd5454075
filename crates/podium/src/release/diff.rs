//! `podium release diff`: what an install or an upgrade would do.

use std::rc::Rc;

use anyhow::{Result, bail};
use clap::ArgMatches;
use podium_chart::manifest::{self, Output};
use podium_converge::object::{Object, objects};
use podium_converge::plan::{self, Action, Step};
use podium_converge::{Named, Owner, named};
use podium_goyaml::{Map, Pos, emit};
use podium_release::store;
use podium_release::{Release, Store};
use serde_json::{Value, json};

use super::read::{Format, format, store};
use crate::chart::input::Input;
use crate::chart::template::failed;
use crate::cluster::{Cluster, tree};
use crate::flag::{many, on};
use crate::output::print;

/// Shows what would change, without changing it.
pub fn run(matches: &ArgMatches) -> Result<()> {
    let format = format(matches)?;
    if many(matches, "args").len() < 2 {
        bail!(
            "\"podium release diff\" requires 2 arguments\n\nUsage:  podium release diff NAME CHART [flags]"
        );
    }
    let mut input = Input::read("release diff", matches)?;
    let cluster = Rc::new(Cluster::open(matches)?);
    let store = cluster.wait(async |client| store(client, Some(&input.release.namespace)))?;
    let history = history(&cluster, &store, &input.release.name)?;
    if let Some(last) = history.last() {
        input.release.is_upgrade = true;
        input.release.revision = last.revision + 1;
        reuse(&mut input, last, matches)?;
    }
    input.capabilities = cluster.capabilities()?;
    input.world.cluster = Some(cluster.clone());
    let owner = Owner { name: input.release.name.clone(), namespace: input.release.namespace.clone() };
    let Rendered { wanted, crds, hooks } = render(&input, &owner)?;
    let before = base(&history).map(|release| named::named(&release.manifest)).unwrap_or_default();
    let discovery = cluster.discovery()?;
    let steps = cluster
        .wait(async |client| plan::preview(&client, discovery, &wanted, &crds, &before, &owner).await)?;
    match format {
        Format::Table => print(text(&steps, &hooks).as_bytes())?,
        Format::Json => print(format!("{}\n", values(&steps)).as_bytes())?,
        Format::Yaml => print(&emit::to_yaml(&&tree(values(&steps)))?)?,
    }
    match steps.iter().filter(|step| step.action == Action::Blocked).count() {
        0 => Ok(()),
        1 => bail!("1 object is blocked: nothing could be installed before that is settled"),
        more => bail!("{more} objects are blocked: nothing could be installed before that is settled"),
    }
}

/// The revisions of the release, the oldest first; none when it would be installed.
fn history(cluster: &Cluster, store: &Store, name: &str) -> Result<Vec<Release>> {
    match cluster.wait(async |_| store.history(name).await) {
        Err(store::Error::NotFound) => Ok(Vec::new()),
        history => {
            let mut history = history?;
            // A release that was uninstalled with its history kept is installed anew.
            if history.last().is_some_and(|last| last.info.status == "uninstalled") {
                history.clear();
            }
            Ok(history)
        }
    }
}

/// The revision whose objects are there: the deployed one, or else the last.
fn base(history: &[Release]) -> Option<&Release> {
    let deployed = history.iter().rev().find(|release| release.info.status == "deployed");
    deployed.or(history.last())
}

/// Takes values of the last revision, by the rules of `helm upgrade`.
fn reuse(input: &mut Input, last: &Release, matches: &ArgMatches) -> Result<()> {
    let given = input.set.to_node()?;
    let given = given.as_map().cloned().unwrap_or_default();
    let none = Map::new();
    let config = last.config.as_ref().unwrap_or(&none);
    if on(matches, "reset-values") {
        return Ok(());
    }
    let set = if on(matches, "reset-then-reuse-values") || on(matches, "reuse-values") {
        let mut set = config.clone();
        podium_chart::chart::merge_maps(&mut set, given);
        set
    } else if given.is_empty() {
        config.clone()
    } else {
        return Ok(());
    };
    if on(matches, "reuse-values") && !on(matches, "reset-then-reuse-values") {
        input.replace_defaults(last.computed_values(input.renderer.dialect())?)?;
    }
    input.set = podium_chart::values::Values::from_owned(set, Pos::default())?;
    Ok(())
}

/// What a chart gives.
struct Rendered {
    wanted: Vec<Object>,
    crds: Vec<Object>,
    hooks: Vec<String>,
}

fn render(input: &Input, owner: &Owner) -> Result<Rendered> {
    let dialect = input.renderer.dialect();
    let prepared = input.prepare()?;
    let mut files = input.render(&prepared).map_err(|error| failed(error, &prepared, true))?;
    manifest::take_notes(&mut files, &prepared.view.name(prepared.view.root()), false);
    let sorted = manifest::sort(&files, dialect).map_err(|error| failed(error.into(), &prepared, true))?;
    let text = manifest::print(&sorted, &[], &Output { no_hooks: true, skip_tests: false }).concat();
    let mut crds = Vec::new();
    // An upgrade leaves the CRDs of crds/ alone.
    for crd in prepared.view.crds().into_iter().filter(|_| !input.release.is_upgrade) {
        crds.extend(objects(&String::from_utf8_lossy(&crd.file.data), owner)?);
    }
    let verb = if input.release.is_upgrade { "upgrade" } else { "install" };
    let mut hooks = Vec::new();
    for event in [format!("pre-{verb}"), format!("post-{verb}")] {
        hooks.extend(
            sorted.hooks_for(&event).iter().map(|hook| format!("{event} {} {}", hook.kind, hook.name)),
        );
    }
    Ok(Rendered { wanted: objects(&String::from_utf8_lossy(&text), owner)?, crds, hooks })
}

fn word(action: &Action) -> &'static str {
    match action {
        Action::Create => "create",
        Action::Change(_) => "change",
        Action::Keep => "keep",
        Action::Delete => "delete",
        Action::Leave => "leave",
        Action::Blocked => "blocked",
    }
}

fn title(object: &Named) -> String {
    let Named { kind, namespace, name, generate_name } = object;
    if kind.kind.is_empty() {
        return format!("a document without a kind: {name}");
    }
    let place = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{}/{} {place}{name}{generate_name}", kind.api_version(), kind.kind)
}

fn text(steps: &[Step], hooks: &[String]) -> String {
    let mut out = String::new();
    for step in steps.iter().filter(|step| step.action != Action::Keep || !step.notes.is_empty()) {
        out += &format!("{:<8} {}\n", word(&step.action), title(&step.object));
        let changes = if let Action::Change(changes) = &step.action { changes.as_slice() } else { &[] };
        let lines = changes.iter().map(ToString::to_string).chain(step.notes.iter().cloned());
        out.extend(lines.map(|line| format!("           {line}\n")));
    }
    out.extend(hooks.iter().map(|hook| format!("run      {hook}\n")));
    let count = |wanted: &str| steps.iter().filter(|step| word(&step.action) == wanted).count();
    let words = ["create", "change", "keep", "delete", "leave", "blocked"];
    let counts: Vec<String> = words.iter().map(|word| format!("{} {word}", count(word))).collect();
    out + &format!("{} objects: {}\n", steps.len(), counts.join(", "))
}

fn values(steps: &[Step]) -> Value {
    let value = |step: &Step| {
        let Named { kind, namespace, name, .. } = &step.object;
        let mut out = json!({
            "action": word(&step.action),
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "namespace": namespace.clone().unwrap_or_default(),
            "name": name,
            "notes": step.notes,
        });
        if let Action::Change(changes) = &step.action {
            let change =
                |c: &podium_objects::fields::Change| json!({"path": c.path, "from": c.from, "to": c.to});
            out["changes"] = changes.iter().map(change).collect();
        }
        out
    };
    steps.iter().map(value).collect()
}
