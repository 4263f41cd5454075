//! Changes that fail, and what is left of them.

use crate::MAP;
use crate::space::Space;

/// A ConfigMap, another one, and an object that the server refuses, when values say so.
const FAILS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: base }\ndata: { a: '{{ .Values.a }}' }\n---\n\
    {{- if .Values.new }}\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: fresh }\n{{- end }}\n---\n\
    {{- if .Values.refused }}\napiVersion: v1\nkind: Service\nmetadata: { name: refused }\nspec: { ports: [{ port: 99999999 }] }\n{{- end }}\n";

/// A hook that fails at the events of a value.
const HOOK: &str = "{{- if .Values.at }}\napiVersion: v1\nkind: Pod\nmetadata:\n  name: fails\n  \
    annotations: { helm.sh/hook: '{{ .Values.at }}', rig.podium/fail: 'true' }\n\
    spec: { restartPolicy: Never, containers: [{ name: main, image: any }] }\n{{- end }}\n";

#[test]
fn what_fails_is_undone_when_that_is_wanted() {
    let space = Space::new("undone");
    space.chart("fails", FAILS);
    let words = ["v1/Service undone/refused", "99999999"];
    space
        .podium("install a fails --set new=true,refused=true --rollback-on-failure")
        .bad(&words)
        .tells(&["has been uninstalled"]);
    assert!(!space.has("cm/base") && !space.has("cm/fresh"));
    space.podium("status a").bad(&["not found"]);

    space.podium("install a fails --set a=1").good();
    space
        .podium("upgrade a fails --set a=2,new=true,refused=true --rollback-on-failure")
        .bad(&words)
        .tells(&["has been rolled back"]);
    assert_eq!(space.field("cm/base", ".data.a"), "1");
    assert!(!space.has("cm/fresh"), "what the failed upgrade made is still there");
    assert_eq!(space.states("a"), ["superseded", "failed", "deployed"]);

    space.podium("upgrade a fails --set a=2,new=true,refused=true --cleanup-on-fail").bad(&words);
    assert!(!space.has("cm/fresh"));
    assert_eq!(space.field("cm/base", ".data.a"), "2");

    space.podium("upgrade a fails --set a=3,new=true,refused=true").bad(&words);
    assert!(space.has("cm/fresh"));
    space.podium("upgrade a fails --set a=4").good();
    assert!(!space.has("cm/fresh"), "what a failed upgrade made is an orphan");
    assert_eq!(space.field("cm/base", ".data.a"), "4");
}

#[test]
fn a_release_is_never_stuck_by_a_hook_that_fails() {
    let space = Space::new("hooked");
    space.chart("hook", &(MAP.to_owned() + "---\n" + HOOK));
    for event in
        ["pre-install", "post-install", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback"]
    {
        space.podium("install a hook").good();
        let line = match event.split_once('-').unwrap().1 {
            "install" => "upgrade a hook".to_owned(),
            "upgrade" => format!("upgrade a hook --set at={event}"),
            _ => {
                space.podium(&format!("upgrade a hook --set at={event}")).good();
                space.podium("upgrade a hook --reset-values --set data.a=v2").good();
                "rollback a 2".to_owned()
            }
        };
        if event.ends_with("-install") {
            space.podium("uninstall a").good();
            space.podium(&format!("install a hook --set at={event}")).bad(&["fails", "exit code 1"]);
        } else {
            space.podium(&line).bad(&["hook", "fails", "exit code 1"]);
        }
        assert_eq!(space.states("a").last().unwrap(), "failed", "{event}");
        space.podium("upgrade a hook --reset-values --set data.a=v3").good();
        assert_eq!(space.states("a").last().unwrap(), "deployed", "{event}");
        space.podium("uninstall a").good();
        space.delete("pod/fails");
    }
    space.podium("install a hook --set at=pre-delete").good();
    space.podium("uninstall a").bad(&["fails", "exit code 1"]);
    assert!(space.has("cm/a"), "nothing is deleted when a pre-delete hook fails");
    space.podium("uninstall a --no-hooks").good();
    assert!(!space.has("cm/a"));
    space.podium("install a hook --set at=post-delete").good();
    space.podium("uninstall a").bad(&["completed with 1 error", "fails"]);
    assert!(!space.has("cm/a"));
    space.podium("status a").bad(&["not found"]);
}

#[test]
fn waiting_ends_with_the_reason() {
    let space = Space::new("waits");
    space.chart(
        "web",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec:\n  selector: { matchLabels: { app: web } }\n  \
         template:\n    metadata: { labels: { app: web }, annotations: { rig.podium/ready: 'false' } }\n    \
         spec: { containers: [{ name: main, image: any }] }\n",
    );
    space.podium("install a web --wait --timeout 3s").bad(&[
        "apps/v1/Deployment waits/web",
        "0 of 1",
        "ImagePullBackOff",
    ]);
    assert_eq!(space.states("a"), ["failed"]);
    space.podium("upgrade a web").good();
}
