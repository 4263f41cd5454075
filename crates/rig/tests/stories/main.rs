//! Random stories of a release, told by helm 4, by podium, and by both with helm 3 in turn: the same ends after every step.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "helpers of tests")]

mod charts;
mod differences;
mod steps;
mod track;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use podium_client::{Client, ClientConfig};
use podium_rig::cluster::{Cluster, Controllers, Options, Server};
use podium_rig::random::Random;

use differences::{Moment, all, purpose, row};
use track::{Actor, Ended, Seen, Track};

/// How many stories are told, unless PODIUM_STORIES says otherwise.
const STORIES: u64 = 8;

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// What is found in all stories.
#[derive(Default)]
struct Tally {
    stories: usize,
    steps: usize,
    meant: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.stories += other.stories;
        self.steps += other.steps;
        self.wrong.extend(other.wrong);
        for (row, times) in other.meant {
            *self.meant.entry(row).or_default() += times;
        }
    }
}

#[test]
#[ignore = "compares with upstream programs: make tools"]
fn random_stories_end_as_helms_do() {
    let cluster = Cluster::with(Options {
        server: Some(Server::Kubernetes),
        controllers: Controllers::Upstream,
        node: true,
        ..Options::default()
    })
    .unwrap();
    let (first, count) = (number("PODIUM_STORY", 0), number("PODIUM_STORIES", STORIES));
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    // Two at a time: whoever waits for a pod leaves the machine to the other.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let access = ClientConfig {
                    kubeconfig: Some(cluster.kubeconfig().to_owned()),
                    ..ClientConfig::default()
                };
                let client = runtime.block_on(Client::new(&access)).unwrap();
                let look = |track: &Track<'_>| runtime.block_on(track.look(&client));
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        break;
                    }
                    let told = tell(&cluster, seed, &look);
                    tally.lock().unwrap().add(told);
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("{} stories of {} steps, each told three times", tally.stories, tally.steps);
    println!("differences on purpose (docs/reference/helm-differences.md), with how often they were seen:");
    for (number, times) in &tally.meant {
        println!("{times:>6} {}", row(number));
    }
    let wrong = tally.wrong.len();
    assert!(wrong == 0, "{wrong} steps differ:\n{}", tally.wrong.join("\n"));
}

fn tell(cluster: &Cluster, seed: u64, look: &dyn Fn(&Track<'_>) -> Seen) -> Tally {
    let mut tally = Tally { stories: 1, ..Tally::default() };
    let mut random = Random::for_case(seed, "actors", 0);
    // Only what helm 3 began may it go on with.
    let actors: &[Actor] = if random.chance(50) {
        &[Actor::Helm3, Actor::Helm3, Actor::Helm4, Actor::Podium]
    } else {
        &[Actor::Helm4, Actor::Podium]
    };
    let has_helm3 = actors.contains(&Actor::Helm3);
    let [helm, podium, mixed] =
        ["a", "b", "c"].map(|who| Track::new(cluster, format!("st{seed:05}{who}"), seed, has_helm3));
    let mut mixed_actor = actors[0];
    let mut told = Vec::new();
    let (mut failures, mut dirty, mut helm3) = (false, false, false);
    for step in steps::steps(seed) {
        helm3 |= mixed_actor == Actor::Helm3;
        // A rollback of helm 3 cannot be described.
        let line = if has_helm3 { step.line.replace("--description back", "") } else { step.line.clone() };
        let run = |track: &Track<'_>, actor| track.run(actor, &line);
        let ends: [Ended; 3] = std::thread::scope(|scope| {
            let first = scope.spawn(|| run(&helm, Actor::Helm4));
            let third = scope.spawn(|| run(&mixed, mixed_actor));
            let second = run(&podium, Actor::Podium);
            [first.join().unwrap(), second, third.join().unwrap()]
        });
        let seen = [look(&helm), look(&podium), look(&mixed)];
        tally.steps += 1;
        dirty = match ends.iter().all(|end| end.ok) {
            true => dirty && !step.changes(),
            false => true,
        };
        failures |= dirty;
        told.push(format!("{} ({:?})", step.line, mixed_actor));
        for (at, actor, helm3) in [(1, Actor::Podium, false), (2, mixed_actor, helm3)] {
            let moment = Moment {
                theirs: (&ends[0], &seen[0]),
                ours: (&ends[at], &seen[at]),
                actor,
                failures,
                dirty,
                helm3,
            };
            let mut wrong = Vec::new();
            for difference in all(&moment) {
                match purpose(&moment, &difference) {
                    Some(number) => *tally.meant.entry(number).or_default() += 1,
                    None => wrong.push(difference.to_string()),
                }
            }
            if !wrong.is_empty() {
                let said = |end: &Ended| format!("  {}: {}", end.line, end.stderr.trim());
                tally.wrong.push(format!(
                    "story {seed}, {}:\n  {}\n{}\n{}\n{}",
                    if at == 1 { "podium alone" } else { "in turn" },
                    told.join("\n  "),
                    said(&ends[0]),
                    said(&ends[at]),
                    wrong.join("\n")
                ));
            }
        }
        mixed_actor = random.pick(actors);
    }
    tally
}
