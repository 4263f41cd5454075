//! Which cluster a command talks to.
//!
//! Commands wait for responses on one thread; a render with `lookup` waits in the middle of its instructions.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use clap::ArgMatches;
use podium_chart::capabilities::{Capabilities, KubeVersion};
use podium_client::discovery::ServerVersion;
use podium_client::{Client, ClientConfig, Discovery, DiscoveryCache, Error, config};
use podium_meta::GroupVersionKind;
use serde_json::Value;

use crate::flag::{self, Flag, Takes};
use crate::local::home::Home;
use crate::output::{complain, person_reads_errors};

/// Where a cluster and a namespace are, with Helm's names.
pub const PLACE: &[Flag] = &[
    Flag::new("namespace", Takes::One("NAME"), "the namespace (default: that of the context)").short('n'),
    Flag::new(
        "kubeconfig",
        Takes::One("FILE"),
        "the kubeconfig (default: KUBECONFIG, then ~/.kube/config, then that of podium up)",
    ),
    Flag::new("kube-context", Takes::One("NAME"), "the context of the kubeconfig"),
];

/// How to talk to it.
pub const ACCESS: &[Flag] = &[
    Flag::new("kube-apiserver", Takes::One("URL"), "the address of the API server"),
    Flag::new("kube-token", Takes::One("TOKEN"), "a bearer token"),
    Flag::new("kube-as-user", Takes::One("USER"), "the user to act as"),
    Flag::new("kube-as-group", Takes::Many("GROUP"), "a group to act as (repeatable)"),
    Flag::new("kube-ca-file", Takes::One("FILE"), "the certificates that the server's has to be signed by"),
    Flag::new(
        "kube-tls-server-name",
        Takes::One("NAME"),
        "the name that the server's certificate has to be for",
    ),
    Flag::new("kube-insecure-skip-tls-verify", Takes::Switch, "take any certificate: for tests only"),
];

/// Flags of Helm's that change nothing in what is read.
pub const INERT: &[Flag] = &[
    Flag::inert("debug", Takes::Switch),
    Flag::inert("burst-limit", Takes::One("N")),
    Flag::inert("qps", Takes::One("N")),
    Flag::inert("color", Takes::One("WHEN")),
    Flag::inert("colour", Takes::One("WHEN")),
    Flag::inert("content-cache", Takes::One("FOLDER")),
    Flag::inert("registry-config", Takes::One("FILE")),
    Flag::inert("repository-cache", Takes::One("FOLDER")),
    Flag::inert("repository-config", Takes::One("FILE")),
];

/// What the flags, and the environment variables that Helm reads, say.
fn said(matches: &ArgMatches) -> ClientConfig {
    let given = |name: &str, variable: &str| {
        let value = flag::one(matches, name).map(str::to_owned).or_else(|| std::env::var(variable).ok());
        value.filter(|value| !value.is_empty())
    };
    let mut groups = flag::many(matches, "kube-as-group");
    if groups.is_empty() {
        let list = std::env::var("HELM_KUBEASGROUPS").unwrap_or_default();
        groups = list.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
    }
    ClientConfig {
        kubeconfig: flag::one(matches, "kubeconfig").map(Into::into),
        context: given("kube-context", "HELM_KUBECONTEXT"),
        server: given("kube-apiserver", "HELM_KUBEAPISERVER"),
        token: given("kube-token", "HELM_KUBETOKEN"),
        as_user: given("kube-as-user", "HELM_KUBEASUSER"),
        as_groups: groups,
        ca_file: given("kube-ca-file", "HELM_KUBECAFILE").map(Into::into),
        tls_server_name: given("kube-tls-server-name", "HELM_KUBETLS_SERVER_NAME"),
        insecure: flag::on(matches, "kube-insecure-skip-tls-verify")
            || std::env::var("HELM_KUBEINSECURE_SKIP_TLS_VERIFY").is_ok_and(|value| value == "true"),
        namespace: given("namespace", "HELM_NAMESPACE"),
    }
}

/// A client of the cluster that the flags say. Where nothing says anything, it is the one of `podium up`, if that runs.
pub async fn connect(matches: &ArgMatches) -> Result<Client> {
    let access = said(matches);
    let error = match Client::new(&access).await {
        Err(Error::Config(error @ config::Error::NotConfigured { .. })) => error,
        client => return Ok(client?),
    };
    // A file that somebody named and that is not there is a mistake, and no reason to take another cluster.
    let named = std::env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
    let home = Home::of(matches).ok();
    match home.as_ref().filter(|_| !named).and_then(|home| Some((home, home.running()?))) {
        Some((home, running)) => {
            if person_reads_errors() {
                complain(&format!("(no kubeconfig: this is the cluster of podium up, {})", running.url));
            }
            Ok(Client::new(&ClientConfig { kubeconfig: Some(home.kubeconfig()), ..access }).await?)
        }
        None => Err(anyhow!(
            "{error}. For a cluster on this machine: podium up -d, then export KUBECONFIG=$(podium kubeconfig --path)"
        )),
    }
}

/// A cluster, for code that waits for its answers.
pub struct Cluster {
    runtime: tokio::runtime::Runtime,
    client: Client,
    kinds: DiscoveryCache,
}

impl Cluster {
    /// The cluster that the flags say; nothing is sent yet.
    pub fn open(matches: &ArgMatches) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = runtime.block_on(connect(matches))?;
        let kinds = DiscoveryCache::new(client.clone());
        Ok(Self { runtime, client, kinds })
    }

    /// Waits for some work with the cluster.
    pub fn wait<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        self.runtime.block_on(work(self.client.clone()))
    }

    /// The kinds of the cluster, for whoever waits himself.
    pub fn kinds(&self) -> &DiscoveryCache {
        &self.kinds
    }

    /// The kinds of the cluster; asked once.
    pub fn discovery(&self) -> Result<Arc<Discovery>, Error> {
        self.wait(async |_| self.kinds.get().await)
    }

    /// What templates see of the cluster.
    pub fn capabilities(&self) -> Result<Capabilities, Error> {
        let ServerVersion { git_version, major, minor } =
            self.wait(async |client| ServerVersion::fetch(&client).await)?;
        Ok(Capabilities {
            kube_version: KubeVersion { version: git_version, normalized: String::new(), major, minor },
            api_versions: self.discovery()?.api_versions().map(str::to_owned).collect(),
        })
    }

    /// The object that a template asks for, or the list of them; nothing when it is not there.
    pub fn lookup(
        &self,
        kind: &GroupVersionKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, String> {
        let discovery = self.discovery().map_err(|e| e.to_string())?;
        if !discovery.has_api_version(&kind.api_version()) {
            return Err(format!(
                "unable to get apiresource from unstructured: {}/{}, Kind={}: the server could not find the requested resource",
                kind.group, kind.version, kind.kind
            ));
        }
        let Some(resource) = discovery.find(kind) else { return Ok(None) };
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        self.wait(async |client| {
            if name.is_empty() {
                client.list_objects(resource, namespace, "").await.map(Some)
            } else {
                client.get(resource, namespace, name).await
            }
        })
        .map_err(|e| e.to_string())
    }
}

/// Runs something that waits for a cluster.
pub fn with_cluster<T>(matches: &ArgMatches, work: impl AsyncFnOnce(Client) -> Result<T>) -> Result<T> {
    Cluster::open(matches)?.wait(work)
}
