//! Slow charts delay neither probes, nor the lease, nor other resources. A test binary of its own: it needs both processors.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "helpers of tests")]

#[allow(dead_code, reason = "the stories of the operator share it")]
#[path = "operator/story.rs"]
mod story;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use story::{Story, condition, port, read};

/// `htpasswd` hashes with bcrypt, which takes tens of milliseconds on purpose: this many take longer than the renew
/// deadline of leader election, 10 s.
const SLOW: usize = 300;
const TINY: (&str, &str) = (
    "templates/tiny.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\ndata: {color: \"{{ .Values.color }}\"}\n",
);
const HTPASSWD: (&str, &str) = (
    "templates/htpasswd.yaml",
    "{{- range until (int .Values.passwords) }}\n{{- $_ := htpasswd \"user\" (toString .) }}\n{{- end }}\n",
);

/// Reads `/healthz` until it is stopped; returns how long every answer took.
fn probe(address: String, stopped: Arc<AtomicBool>) -> std::thread::JoinHandle<Vec<Duration>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        while !stopped.load(Ordering::Relaxed) {
            let begin = Instant::now();
            assert!(read(&address, "/healthz").starts_with("HTTP/1.1 200"));
            all.push(begin.elapsed());
            std::thread::sleep(Duration::from_millis(50));
        }
        all
    })
}

#[tokio::test]
async fn slow_renders_delay_neither_probes_nor_the_lease_nor_other_resources() {
    let story = Story::new("slow-render", &[TINY, ("values.yaml", "color: red\n"), HTPASSWD]).await;
    let address = format!("127.0.0.1:{}", port());
    let operator = story
        .operator_with(|command| {
            command.args(["--leader-elect", "--leader-election-id=slow-render"]);
            command.args([
                "--leader-election-namespace=slow-render",
                "--health-probe-bind-address",
                &address,
            ]);
        })
        .await;
    let holder = story.get("Lease", "slow-render").await["spec"]["holderIdentity"].clone();
    let stopped = Arc::new(AtomicBool::new(false));
    let probes = probe(address, stopped.clone());

    for name in ["slow-a", "slow-b"] {
        story.apply(name, json!({"passwords": SLOW})).await;
    }
    let ordinary: Vec<String> = (0..8).map(|number| format!("ordinary-{number}")).collect();
    for name in &ordinary {
        story.apply(name, json!({"passwords": 0})).await;
    }
    for name in &ordinary {
        story.wait_deployed(name).await;
    }
    for name in ["slow-a", "slow-b"] {
        let deployed = condition(&story.custom(name).await, "Deployed");
        assert!(deployed.is_none(), "the ordinary resources are deployed while {name} renders: {deployed:?}");
    }
    // A change of an ordinary resource does not wait either.
    story.apply("ordinary-0", json!({"passwords": 0, "color": "blue"})).await;
    story.wait_field("ConfigMap", "ordinary-0", "/data/color", "blue").await;
    // The lease is renewed every 4 s: four times are longer than the renew deadline of 10 s.
    let mut renewals = std::collections::BTreeSet::new();
    story
        .until("four renewals of the lease", async || {
            renewals.insert(story.get("Lease", "slow-render").await["spec"]["renewTime"].to_string());
            if renewals.len() > 4 { Ok(()) } else { Err(format!("{renewals:?}")) }
        })
        .await;

    stopped.store(true, Ordering::Relaxed);
    let mut took = probes.join().unwrap();
    took.sort();
    // Other processes share the processors: one answer in twenty may have waited for them.
    let (most, longest) = (took[took.len() * 19 / 20], took[took.len() - 1]);
    assert!(most < Duration::from_millis(100), "19 of 20 of {} probes took up to {most:?}", took.len());
    assert!(longest < Duration::from_secs(1), "a probe took {longest:?}");
    let lease = story.get("Lease", "slow-render").await;
    assert_eq!((&lease["spec"]["holderIdentity"], &lease["spec"]["leaseTransitions"]), (&holder, &json!(0)));
    assert!(!operator.log().contains("lease cannot be had"), "{}", operator.log());
    operator.stop().await;
}
