//! The controllers of the one-machine cluster on a real API server, beside kube-controller-manager.

#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod api;
mod stories;

use std::time::{Duration, Instant};

use api::{Api, Ours};
use podium_rig::cluster::{Cluster, Controllers, Options, Server};
use podium_rig::random::Random;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::sleep;

/// One story at a time: each has servers of its own, and counts requests of the whole process.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test]
#[ignore = "compares with upstream programs: make tools"]
async fn everything_ends_as_with_the_original() {
    let _alone = ALONE.lock().await;
    let theirs = async {
        let cluster = Cluster::with(Options {
            server: Some(Server::Kubernetes),
            controllers: Controllers::Upstream,
            ..Options::default()
        })
        .unwrap();
        stories::tell(&Api::new(&cluster).await).await
    };
    let ours = async {
        let cluster = Cluster::upstream().unwrap();
        let _ours = Ours::start(&cluster);
        stories::tell(&Api::new(&cluster).await).await
    };
    let (theirs, ours) = (theirs.await, ours.await);
    for (name, expected) in &theirs {
        assert_eq!(ours.get(name), Some(expected), "{name}");
    }
}

#[tokio::test]
#[ignore = "needs an API server without controllers, which is the upstream one: make tools"]
async fn whoever_is_killed_at_any_moment_goes_on_where_it_was() {
    let _alone = ALONE.lock().await;
    let undisturbed = {
        let cluster = Cluster::upstream().unwrap();
        let _ours = Ours::start(&cluster);
        stories::tell(&Api::new(&cluster).await).await
    };
    let cluster = Cluster::upstream().unwrap();
    let api = Api { mortal: true, ..Api::new(&cluster).await };
    let seed = std::env::var("PODIUM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random::new(seed);
    let mut kills = 0;
    let mut stories = Box::pin(stories::tell(&api));
    let disturbed = loop {
        let ours = Ours::start(&cluster);
        // Longer each time: listing everything takes a while, and something has to be done at last.
        let life = Duration::from_millis(100 + random.below(400 + kills * 50) as u64);
        tokio::select! {
            told = &mut stories => break told,
            () = sleep(life) => {}
        }
        tokio::task::spawn_blocking(move || drop(ours)).await.unwrap();
        kills += 1;
    };
    println!("killed {kills} times (seed {seed})");
    assert_eq!(disturbed, undisturbed);
}

#[tokio::test]
#[ignore = "needs an API server without controllers, which is the upstream one: make tools"]
async fn a_thousand_dependents_go_in_seconds_and_a_quiet_cluster_is_left_alone() {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::upstream().unwrap();
    let api = Api::new(&cluster).await;
    let space = stories::namespace(&api, "many").await;
    let maps = stories::maps("many");
    let owner = api.post(&maps, stories::owned("owner", &[])).await;
    let of_owner = ("v1", "ConfigMap", "owner", &*owner);
    for n in 0..1000 {
        api.post(&maps, stories::owned(&format!("m{n}"), &[of_owner])).await;
    }
    let _ours = Ours::start(&cluster);
    api.until(&format!("{space}/serviceaccounts/default"), |_| true).await;
    sleep(Duration::from_secs(3)).await;
    let before = podium_client::request::counts();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(podium_client::request::counts(), before, "nothing happens, and something is asked");

    let begin = Instant::now();
    api.delete(&format!("{maps}/owner"), "Background").await;
    let is_last = |list: &serde_json::Value| list["items"].as_array().is_some_and(|all| all.len() == 1);
    api.until(&maps, is_last).await;
    println!("a thousand dependents were gone after {:?}", begin.elapsed());
    assert!(begin.elapsed() < Duration::from_secs(30));

    for n in 0..20 {
        api.post(&maps, json!({"metadata": {"name": format!("n{n}")}})).await;
    }
    let begin = Instant::now();
    api.delete(&space, "Background").await;
    api.until_gone(&space).await;
    println!("a namespace with twenty objects was gone after {:?}", begin.elapsed());
    for (method, status, count) in podium_client::request::counts() {
        println!("{method} {status}: {count}");
    }
}
