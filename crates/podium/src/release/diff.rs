//! `podium release diff`: what an install or an upgrade would do.

use std::rc::Rc;

use anyhow::{Result, bail};
use clap::ArgMatches;
use podium_deploy::object::{json_to_node, release_objects};
use podium_deploy::plan::{self, Action, Step};
use podium_deploy::{Deployer, ObjectRef, ReleaseRef};
use podium_goyaml::emit;
use podium_release::{Engine, RenderedRelease};
use serde_json::{Value, json};

use super::draft::render;
use super::listen::Person;
use super::read::{Format, format, store};
use crate::chart::input::Input;
use crate::cluster::Cluster;
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
    let engine = Engine { store: &store, kinds: cluster.kinds(), reporter: &Person, owner: None };
    let past = cluster.wait(async |_| engine.history(&input.release.name).await)?;
    let draft = render(&mut input, &cluster, &past, matches)?;
    let release_ref = ReleaseRef { name: draft.name.clone(), namespace: draft.namespace.clone() };
    let wanted = release_objects(&draft.manifest, &release_ref)?;
    let deployer =
        Deployer { client: &store.client, kinds: cluster.kinds(), release: &release_ref, owner_uid: None };
    let before = past.objects();
    let adopt = on(matches, "take-ownership");
    let steps =
        cluster.wait(async |_| plan::preview(&deployer, &wanted, &draft.crds, &before, adopt).await)?;
    let hooks = hooks(&draft, past.is_uninstalled());
    match format {
        Format::Table => print(text(&steps, &hooks).as_bytes())?,
        Format::Json => print(format!("{}\n", values(&steps)).as_bytes())?,
        Format::Yaml => print(&emit::to_yaml(&&json_to_node(values(&steps)))?)?,
    }
    match steps.iter().filter(|step| step.action == Action::Blocked).count() {
        0 => Ok(()),
        1 => bail!("1 object is blocked: nothing could be installed before that is settled"),
        more => bail!("{more} objects are blocked: nothing could be installed before that is settled"),
    }
}

/// The hooks that would run.
fn hooks(draft: &RenderedRelease, install: bool) -> Vec<String> {
    let verb = if install { "install" } else { "upgrade" };
    let mut out = Vec::new();
    for event in [format!("pre-{verb}"), format!("post-{verb}")] {
        let hooks = draft.hooks.iter().filter(|hook| hook.events.contains(&event));
        out.extend(hooks.map(|hook| format!("{event} {} {}", hook.kind, hook.name)));
    }
    out
}

fn word(action: &Action) -> &'static str {
    match action {
        Action::Create => "create",
        Action::Change(_) => "change",
        Action::Adopt(_) => "adopt",
        Action::Keep => "keep",
        Action::Delete => "delete",
        Action::Leave => "leave",
        Action::Blocked => "blocked",
    }
}

fn text(steps: &[Step], hooks: &[String]) -> String {
    let mut out = String::new();
    for step in steps.iter().filter(|step| step.action != Action::Keep || !step.notes.is_empty()) {
        out += &format!("{:<8} {}\n", word(&step.action), step.object);
        let lines = step.action.changes().iter().map(ToString::to_string).chain(step.notes.iter().cloned());
        out.extend(lines.map(|line| format!("           {line}\n")));
    }
    out.extend(hooks.iter().map(|hook| format!("run      {hook}\n")));
    let count = |wanted: &str| steps.iter().filter(|step| word(&step.action) == wanted).count();
    let words = ["create", "change", "adopt", "keep", "delete", "leave", "blocked"];
    let counts: Vec<String> = words.iter().map(|word| format!("{} {word}", count(word))).collect();
    out + &format!("{} objects: {}\n", steps.len(), counts.join(", "))
}

fn values(steps: &[Step]) -> Value {
    let value = |step: &Step| {
        let ObjectRef { kind, namespace, name, .. } = &step.object;
        let mut out = json!({
            "action": word(&step.action),
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "namespace": namespace.clone().unwrap_or_default(),
            "name": name,
            "notes": step.notes,
        });
        if let Action::Change(changes) | Action::Adopt(changes) = &step.action {
            let change =
                |c: &podium_meta::fields::Change| json!({"path": c.path, "from": c.from, "to": c.to});
            out["changes"] = changes.iter().map(change).collect();
        }
        out
    };
    steps.iter().map(value).collect()
}
