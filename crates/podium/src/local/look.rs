//! What there is to see of the cluster.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use podium_client::client::Representation;
use podium_client::{Client, ClientConfig};
use podium_meta::{GroupVersionKind, Resource};
use podium_resources::print::since;
use serde_json::{Value, json};

use super::home::Home;
use crate::flag::{on, one};
use crate::image::show;
use crate::output::{Exit, print};

/// Kinds that are counted.
const COUNTED: &[(&str, &str, &str)] = &[
    ("v1", "Namespace", "namespaces"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions"),
    ("apps/v1", "Deployment", "deployments"),
    ("v1", "Pod", "pods"),
    ("v1", "Node", "nodes"),
];

/// How `podium status` ends when there is nothing up, as `systemctl status` does.
const NOT_UP: u8 = 3;

/// Tells whether the cluster runs, and what is in it.
pub fn status(matches: &ArgMatches) -> Result<()> {
    let home = Home::of(matches)?;
    let format = one(matches, "output");
    let Some(running) = home.running() else {
        let text = format!("The cluster in {} is not up: podium up brings it up.\n", home.root.display());
        show(format, &json!({"running": false, "data": home.root}), &text)?;
        return Err(Exit(NOT_UP).into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let counts = runtime.block_on(async {
        let access = ClientConfig { kubeconfig: Some(home.kubeconfig()), ..ClientConfig::default() };
        let client = Client::new(&access).await?;
        let mut counts = serde_json::Map::new();
        for (version, kind, plural) in COUNTED {
            let namespaced = !matches!(*kind, "Namespace" | "CustomResourceDefinition" | "Node");
            let kind = GroupVersionKind::new(version, kind);
            let resource = Resource { kind, plural: (*plural).to_owned(), namespaced };
            let all = client.list(&resource, None, "", Representation::Metadata).await?;
            counts.insert((*plural).to_owned(), all.len().into());
        }
        Ok::<_, anyhow::Error>(counts)
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let age = since(i64::try_from(now).unwrap_or(0) - running.since);
    let mut text = format!(
        "API         {} (Kubernetes {})\nprocess     {}, podium {}, up for {age}\ndata        {}\nkubeconfig  {}\n",
        running.url,
        podium_apiserver::VERSION,
        running.process.pid,
        running.version,
        home.root.display(),
        home.kubeconfig().display()
    );
    let words: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    text.push_str(&format!("objects     {}\n", words.join(", ")));
    if counts.get("nodes").and_then(Value::as_i64) == Some(0) {
        text.push_str("There is no node: objects are stored and kept in order, and pods do not run.\n");
    }
    let value = json!({"running": true, "url": running.url, "pid": running.process.pid, "version": running.version,
        "kubernetes": podium_apiserver::VERSION, "since": running.since, "data": home.root,
        "kubeconfig": home.kubeconfig(), "objects": counts});
    show(format, &value, &text)
}

/// Prints the kubeconfig, or where it is.
pub fn kubeconfig(matches: &ArgMatches) -> Result<()> {
    let home = Home::of(matches)?;
    let path = home.kubeconfig();
    if !path.exists() {
        bail!("there is no cluster in {}: podium up makes one", home.root.display());
    }
    if on(matches, "path") {
        return print(format!("{}\n", path.display()).as_bytes());
    }
    print(&fs::read(&path).with_context(|| path.display().to_string())?)
}

/// Prints what was told in the background.
pub fn logs(matches: &ArgMatches) -> Result<()> {
    let home = Home::of(matches)?;
    let path = home.log();
    let Ok(mut file) = fs::File::open(&path) else {
        bail!("there is no log in {}: podium up -d writes one", home.root.display());
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut from = 0;
    if let Some(lines) = one(matches, "tail") {
        let lines: usize = lines.parse().with_context(|| format!("--tail {lines}: write a whole number"))?;
        let ends: Vec<usize> =
            text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
        from = ends.len().checked_sub(lines + 1).and_then(|at| ends.get(at)).copied().unwrap_or(0);
        if lines == 0 {
            from = text.len();
        }
    }
    print(text.get(from..).unwrap_or_default())?;
    let mut at = text.len() as u64;
    while on(matches, "follow") {
        sleep(Duration::from_millis(200));
        let length = fs::metadata(&path).map(|found| found.len()).unwrap_or(at);
        if length < at {
            // It was begun anew.
            file = fs::File::open(&path)?;
            at = 0;
        }
        file.seek(SeekFrom::Start(at))?;
        let mut more = Vec::new();
        file.read_to_end(&mut more)?;
        at += more.len() as u64;
        print(&more)?;
    }
    Ok(())
}
