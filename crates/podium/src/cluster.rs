//! Which cluster a command talks to.

use anyhow::Result;
use clap::ArgMatches;
use podium_runtime::{Access, Client};

use crate::flag::{self, Flag, Takes};

/// The flags of every command that talks to a cluster, with Helm's names.
pub const FLAGS: &[Flag] = &[
    Flag::new("kubeconfig", Takes::One("FILE"), "the kubeconfig (default: KUBECONFIG, then ~/.kube/config)"),
    Flag::new("kube-context", Takes::One("NAME"), "the context of the kubeconfig"),
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
    Flag::new("namespace", Takes::One("NAME"), "the namespace (default: that of the context)").short('n'),
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
pub fn access(matches: &ArgMatches) -> Access {
    let given = |name: &str, variable: &str| {
        let value = flag::one(matches, name).map(str::to_owned).or_else(|| std::env::var(variable).ok());
        value.filter(|value| !value.is_empty())
    };
    let mut groups = flag::many(matches, "kube-as-group");
    if groups.is_empty() {
        let list = std::env::var("HELM_KUBEASGROUPS").unwrap_or_default();
        groups = list.split(',').filter(|group| !group.is_empty()).map(str::to_owned).collect();
    }
    Access {
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

/// Runs something that waits for a cluster.
pub fn with_cluster<T>(matches: &ArgMatches, work: impl AsyncFnOnce(Client) -> Result<T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async { work(Client::new(&access(matches)).await?).await })
}
