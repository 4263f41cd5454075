//! What operators do with releases, without an operator.

use std::time::Duration;

use podium_client::{Client, ClientConfig, DiscoveryCache};
use podium_deploy::wait::WaitCondition;
use podium_release::engine::{Engine, Error, Options, Reporter};
use podium_release::{Driver, Store};
use podium_rig::proxy::{Plan, Proxy};
use podium_sprig::gotime::Location;
use serde_json::json;

use crate::MAP;
use crate::space::Space;

struct Silent;

impl Reporter for Silent {
    fn waiting(&self, _: &str) {}
    fn warn(&self, _: &str) {}
    fn output(&self, _: &str, _: &str, _: &[u8]) {}
}

const MANY: &str = "{{ range $i := until 12 }}
---
apiVersion: v1
kind: ConfigMap
metadata: { name: 'many-{{ $i }}' }
---
apiVersion: v1
kind: Service
metadata: { name: 'many-{{ $i }}' }
spec: { ports: [{ port: 80 }] }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: 'many-{{ $i }}' }
{{ end }}";

#[test]
fn objects_of_a_kind_go_together_and_kinds_one_after_the_other() {
    let space = Space::new("many");
    space.chart("many", MANY);
    space.podium("install one many").good();
    let proxy = Proxy::start(space.cluster).unwrap();
    space.podium_with("KUBECONFIG", proxy.kubeconfig().to_str().unwrap(), "uninstall one").good();
    let kind = |what: &str| {
        let path = what.split("DELETE /api/v1/namespaces/many/").nth(1)?;
        let kind = path.split('/').next().unwrap_or_default();
        (kind != "secrets").then(|| kind.to_owned())
    };
    let mut kinds: Vec<String> = proxy.log().iter().filter_map(|line| kind(line)).collect();
    assert_eq!(kinds.len(), 36, "{kinds:?}");
    kinds.dedup();
    assert_eq!(kinds, ["services", "configmaps", "serviceaccounts"], "the last that was made goes first");
    let pairs: Vec<_> = proxy.together().iter().filter_map(|(a, b)| kind(a).zip(kind(b))).collect();
    assert!(pairs.len() > 12, "they go one after the other: {pairs:?}");
    assert!(pairs.iter().all(|(a, b)| a == b), "a kind has to be done before the next one: {pairs:?}");
    assert!(!space.has("configmap/many-0"));
}

#[test]
fn a_read_that_is_behind_leaves_nothing_behind() {
    let space = Space::new("behind");
    space.chart("map", MAP);
    let proxy = Proxy::start(space.cluster).unwrap();
    let through = |line: &str| space.podium_with("KUBECONFIG", proxy.kubeconfig().to_str().unwrap(), line);
    through("install one map").good();
    // Whoever asks for the object hears what was true before it was made; the first such answer is a list of records.
    proxy.plan(Plan { reads: (2..8).collect(), ..Plan::default() });
    through("uninstall one --wait").good();
    let old = |line: &String| line.contains("/configmaps/one ") && line.ends_with("from an old state");
    assert!(proxy.log().iter().any(old), "{:#?}", proxy.log());
    assert!(!space.has("configmap/one"), "it was believed to be gone");
}

#[test]
fn a_release_whose_objects_do_not_go_in_time_stays_until_they_do() {
    let space = Space::new("lingering");
    space.chart("map", MAP);
    space.podium("install one map").good();
    space.merge("configmap/one", json!({"metadata": {"finalizers": ["rig.podium/stay"]}}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let access = ClientConfig {
            kubeconfig: Some(space.cluster.kubeconfig().to_owned()),
            ..ClientConfig::default()
        };
        let client = Client::new(&access).await.unwrap();
        let kinds = DiscoveryCache::new(client.clone());
        let store = Store::new(client, Driver::Secrets, Some("lingering".to_owned()), Location::UTC);
        let engine = Engine { store: &store, kinds: &kinds, reporter: &Silent, owner: None };
        let options = Options {
            wait: Some(WaitCondition::Deleted),
            timeout: Duration::from_millis(600),
            require_deletion: true,
            ..Options::default()
        };
        for _ in 0..2 {
            let said = engine.uninstall("one", false, &options).await;
            assert!(matches!(&said, Err(Error::Wait(_))), "{said:?}");
            assert!(space.has("configmap/one"));
            assert_eq!(space.states("one"), ["uninstalling"]);
        }
        space.merge("configmap/one", json!({"metadata": {"finalizers": null}}));
        engine.uninstall("one", false, &options).await.unwrap();
        assert!(!space.has("configmap/one"));
        space.podium("history one").bad(&["not found"]);
    });
}
