//! Changes that somebody or something ends in their middle.

use std::process::Command;

use crate::MAP;
use crate::space::{Space, ended};

/// A hook that does not end, and a Deployment that is never ready, each when a value says so.
const SLOW: &str = "{{- if .Values.hook }}
apiVersion: v1
kind: Pod
metadata:
  name: slow
  annotations: { helm.sh/hook: \"pre-install,pre-upgrade,pre-rollback,pre-delete\" }
spec: { containers: [{ name: main, image: any }] }
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 1
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web }, annotations: { rig.podium/ready: \"{{ ne (toString .Values.ready) `false` }}\" } }
    spec: { containers: [{ name: main, image: any }] }
";

fn signal(child: &std::process::Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_release_that_a_kill_left_pending_is_recovered() {
    let space = Space::new("killed");
    space.chart("slow", SLOW).chart("map", MAP);
    for (release, first, line, seen) in [
        ("a", "install a slow", "upgrade a slow --set hook=true", "pod/slow"),
        ("b", "install b map", "upgrade b slow --set ready=false --wait", "deployment/web"),
        ("c", "list", "install c slow --set hook=true", "pod/slow"),
    ] {
        space.podium(first).good();
        let child = space.begin(line);
        space.until(seen, || space.has(seen));
        signal(&child, "-KILL");
        assert!(!ended(child, line).ok);
        let pending = space.states(release);
        assert!(pending.last().unwrap().starts_with("pending-"), "{pending:?}");
        let again = format!("upgrade {release} slow --set hook=false");
        space.podium(&again).bad(&["in progress", pending.last().unwrap(), " s", "--recover"]);
        space.podium(&format!("{again} --recover --timeout 60s")).good().tells(&["was interrupted", release]);
        let told = space.history(release);
        let (state, description) = &told[told.len() - 2];
        assert!(state == "failed" && description.contains("Interrupted"), "{told:?}");
        assert_eq!(told.last().unwrap().0, "deployed");
        space.podium(&format!("uninstall {release}")).good();
        space.delete("pod/slow");
        space.until("nothing is left", || !space.has("deployment/web") && !space.has("pod/slow"));
    }
}

#[test]
fn an_uninstall_that_was_killed_is_done_again() {
    let space = Space::new("killed-end");
    space.chart("slow", SLOW);
    space.podium("install a slow --set hook=true --no-hooks").good();
    let child = space.begin("uninstall a");
    space.until("the hook", || space.has("pod/slow"));
    signal(&child, "-KILL");
    ended(child, "uninstall a");
    assert_eq!(space.states("a"), ["uninstalling"]);
    space.podium("upgrade a slow").bad(&["uninstall"]);
    space.podium("uninstall a --no-hooks").good();
    assert!(!space.has("deployment/web"));
    space.podium("status a").bad(&["not found"]);
}

#[test]
fn what_the_user_interrupts_counts_as_failed() {
    let space = Space::new("interrupted");
    space.chart("slow", SLOW);
    for name in ["-INT", "-TERM"] {
        let line = "upgrade a slow --install --set ready=false --wait";
        let child = space.begin(line);
        space.until("the deployment", || space.has("deployment/web"));
        signal(&child, name);
        ended(child, line).bad(&["interrupted", "half changed"]);
        let told = space.history("a");
        let (state, description) = told.last().unwrap();
        assert!(state == "failed" && description.contains("Interrupted"), "{told:?}");
        space.podium("upgrade a slow --set ready=true --wait --timeout 60s").good();
        assert_eq!(space.states("a").last().unwrap(), "deployed");
        space.podium("uninstall a --wait").good();
    }
}

#[test]
fn of_two_upgrades_at_the_same_time_one_says_so() {
    let space = Space::new("both");
    space.chart("map", MAP);
    space.podium("install a map").good();
    for round in 0..5 {
        let line = format!("upgrade a map --set data.a=v{round}");
        let both = [space.begin(&line), space.begin(&line), space.begin(&line)];
        let both = both.map(|child| ended(child, &line));
        assert!(both.iter().any(|ran| ran.ok), "{both:?}");
        for lost in both.iter().filter(|ran| !ran.ok) {
            let said = ["just created by another process", "in progress"]
                .iter()
                .any(|words| lost.stderr.contains(words));
            assert!(said, "{lost:?}");
        }
        let states = space.states("a");
        assert_eq!(states.iter().filter(|state| *state == "deployed").count(), 1, "{states:?}");
        assert!(!states.iter().any(|state| state.starts_with("pending")), "{states:?}");
    }
}
