//! Where and how revisions are kept.

use podium_rig::cluster::Server;
use podium_rig::request::Dialect;

use crate::MAP;
use crate::space::{Space, noise};

#[test]
fn a_record_without_room_is_stored_slim_and_helm_goes_on_with_it() {
    let space = Space::new("large");
    space
        .chart("large", MAP)
        .write("large/files/noise.txt", &noise(1_600_000))
        .write("large/values.yaml", "word: def\n");
    if space.cluster.server() == Server::Kubernetes {
        space.helm(Dialect::Helm4, "install helms large").bad(&["Too long"]);
    }
    for (name, dialect) in [("a", Dialect::Helm3), ("b", Dialect::Helm4)] {
        space.podium(&format!("install {name} large")).good().tells(&["without its templates and files"]);
        space.podium(&format!("upgrade {name} large --set data.a=v2")).good();
        assert_eq!(space.field(&format!("cm/{name}"), ".data.a"), "v2");
        let values = space.helm(dialect, &format!("get values {name} --all")).good();
        assert!(values.stdout.contains("word: def") && values.stdout.contains("a: v2"), "{}", values.stdout);
        space.helm(dialect, &format!("get manifest {name}")).good();
        space.helm(dialect, &format!("rollback {name} 1")).good();
        assert_eq!(space.field(&format!("cm/{name}"), ".data.a"), "1");
        space.podium(&format!("rollback {name} 2")).good();
        assert_eq!(space.states(name), ["superseded", "superseded", "superseded", "deployed"]);
    }
}

#[test]
fn a_record_that_has_no_room_at_all_is_refused_before_anything_is_written() {
    let space = Space::missing("larger");
    let map = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{ name: {name} }}\ndata: {{ noise: {} }}\n",
            noise(900_000)
        )
    };
    space.chart("larger", &(map("one") + &map("two"))).chart("map", MAP);
    let words = ["a Secret or ConfigMap holds 1048576", "nothing was written", "Split the chart"];
    space.podium("install a larger --create-namespace").bad(&words);
    assert!(!space.has("namespace/larger"));
    space.podium("install a map --create-namespace").good();
    let before = space.everything();
    space.podium("upgrade a larger").bad(&words);
    assert_eq!(space.everything(), before);
}

#[test]
fn records_may_be_in_config_maps() {
    let space = Space::new("driver");
    space.chart("map", MAP);
    let podium = |line: &str| space.podium_with("HELM_DRIVER", "configmap", line);
    podium("install a map").good();
    podium("upgrade a map --set data.a=v2 --labels team=red").good();
    podium("rollback a 1").good();
    assert!(space.has("configmap/sh.helm.release.v1.a.v3") && !space.has("secret/sh.helm.release.v1.a.v1"));
    assert_eq!(space.field("configmap/sh.helm.release.v1.a.v2", ".metadata.labels.team"), "red");
    space.podium("status a").bad(&["not found"]);
    podium("uninstall a").good();
    assert!(!space.has("configmap/sh.helm.release.v1.a.v3") && !space.has("configmap/a"));
}
