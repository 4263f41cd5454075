//! The power is cut at every step of the disk: what was acknowledged is there, whole, and watchers go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{Chance, Model, RESOURCES, Write, state_of, told};
use podium_store::sim::{Crash, SimDisk};
use podium_store::{Disk, Error, Options, Revision, Store};

fn options() -> Options {
    Options {
        threads: false,
        segment_bytes: 1_500,
        compact_bytes: 3_000,
        history_bytes: 1 << 20,
        ..Options::default()
    }
}

#[derive(Default)]
struct Tally {
    runs: usize,
    resumed: usize,
    compacted: usize,
    torn: usize,
    refused: usize,
}

/// What the disk may hold: what was acknowledged, and after it at most one of the groups that were not.
struct Known {
    acknowledged: Model,
    attempts: Vec<Model>,
}

impl Known {
    /// Writes groups until the power is off; other failures are survived.
    fn write(&mut self, store: &Store, chance: &mut Chance, groups: usize, tally: &mut Tally) {
        for _ in 0..groups {
            let mut next = self.acknowledged.clone();
            let writes: Vec<Write> =
                (0..=chance.below(3)).map(|_| Write::random(chance, &self.acknowledged)).collect();
            let tickets = store.all(writes.iter().map(Write::parts));
            let allowed: Vec<bool> = writes.iter().map(|write| next.write(write)).collect();
            let outcomes: Vec<_> = tickets.into_iter().map(podium_store::Ticket::wait).collect();
            let failed = |o: &Result<_, Error>| match o {
                Err(error @ (Error::Disk { .. } | Error::Full { .. })) => Some(error.to_string()),
                _ => None,
            };
            if let Some(failure) = outcomes.iter().find_map(failed) {
                assert!(outcomes.iter().all(Result::is_err), "a group is acknowledged as a whole");
                assert_eq!(store.revision(), self.acknowledged.revision());
                assert_eq!(&state_of(store, None, 0).unwrap(), self.acknowledged.newest());
                self.attempts.push(next);
                tally.refused += 1;
                if failure.contains("the power is off") {
                    return;
                }
            } else {
                for (outcome, allowed) in outcomes.iter().zip(allowed) {
                    assert_eq!(outcome.is_ok(), allowed, "{outcome:?}");
                }
                if next.revision() > self.acknowledged.revision() {
                    self.attempts.clear();
                }
                self.acknowledged = next;
            }
        }
    }

    /// Opens what is left, and finds one of the states that may be there.
    fn reopen(&mut self, disk: &SimDisk, seen: Revision, tally: &mut Tally) -> Store {
        let store = Store::on(Arc::new(disk.clone()), options()).unwrap();
        let revision = store.revision();
        let state = state_of(&store, None, 4).unwrap();
        let candidates = std::iter::once(&self.acknowledged).chain(&self.attempts);
        let found = candidates.into_iter().find(|m| m.revision() == revision && m.newest() == &state);
        let found =
            found.unwrap_or_else(|| panic!("acknowledged {} found {revision}", self.acknowledged.revision()));
        for resource in RESOURCES {
            match store.collection(resource).watch("", seen) {
                Ok(mut watch) => {
                    tally.resumed += 1;
                    let mut heard = Vec::new();
                    while let Some(events) = watch.try_next().ok().filter(|events| !events.is_empty()) {
                        heard.extend(events.iter().map(|e| told(e)));
                    }
                    assert_eq!(heard, found.told(resource, "", seen));
                    assert_eq!(watch.seen(), revision);
                }
                Err(Error::Compacted { oldest, .. }) => {
                    tally.compacted += 1;
                    assert!(oldest <= revision);
                }
                Err(other) => panic!("{other}"),
            }
        }
        tally.torn += usize::from(store.recovery().cut.is_some());
        self.acknowledged = found.clone();
        self.attempts.clear();
        store
    }
}

/// One history, cut at one step, opened, cut again while it goes on, and opened again.
fn cut(seed: u64, step: u64, crash: Crash, tally: &mut Tally) -> bool {
    let mut chance = Chance(seed);
    let mut known = Known { acknowledged: Model::default(), attempts: Vec::new() };
    let mut disk = SimDisk::new();
    disk.stop_at(step);
    let opened = Store::on(Arc::new(disk.clone()), options());
    if let Ok(store) = &opened {
        // Some of the time, a synchronisation fails before.
        let first = Chance(step).below(80) as u64;
        disk.fail_syncs(first..first + step % 3);
        known.write(store, &mut chance, 40, tally);
    }
    let reached = disk.steps() >= step;
    drop(opened);
    let mut chance = Chance(seed ^ step);
    let mut crash = crash;
    for _ in 0..2 {
        disk = disk.after(crash, &mut |n| chance.below(n));
        // The next start may be interrupted, too.
        if chance.below(3) == 0 {
            disk.stop_at(1 + chance.below(4) as u64);
            drop(Store::on(Arc::new(disk.clone()), options()));
            disk = disk.after(crash, &mut |n| chance.below(n));
        }
        let seen = known.acknowledged.revision().saturating_sub(chance.below(40) as u64);
        let store = known.reopen(&disk, seen, tally);
        disk.stop_at(disk.steps() + 1 + chance.below(60) as u64);
        let first = chance.below(30) as u64;
        disk.fail_syncs(first..first + chance.below(2) as u64);
        let groups = *chance.pick(&[0, 2, 20]);
        known.write(&store, &mut chance, groups, tally);
        drop(store);
        // What was read after a kill has to be there after a power cut, too.
        crash = *chance.pick(&[Crash::Kill, Crash::Power, Crash::Torn]);
        tally.runs += 1;
    }
    known.reopen(&disk.after(crash, &mut |n| chance.below(n)), 0, tally);
    reached
}

fn every_step(seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        for crash in [Crash::Kill, Crash::Power, Crash::Torn] {
            let mut step = 1;
            while cut(seed, step, crash, &mut tally) {
                step += 1;
            }
            assert!(step > 80, "the history is long enough: {step}");
        }
    }
    tally
}

#[test]
fn no_power_cut_loses_what_was_acknowledged() {
    let tally = every_step(0..2);
    println!(
        "{} power cuts; watches resumed {}, too old {}; interrupted writes cut off {}",
        tally.runs, tally.resumed, tally.compacted, tally.torn
    );
    assert!(tally.runs > 1000 && tally.torn > 10 && tally.compacted > 0);
    assert!(tally.resumed > 5 * tally.compacted, "most watches go on: {} {}", tally.resumed, tally.compacted);
}

#[test]
#[ignore = "takes minutes"]
fn no_power_cut_loses_what_was_acknowledged_in_many_histories() {
    let tally = every_step(100..160);
    println!("{} power cuts, {} interrupted writes cut off", tally.runs, tally.torn);
}

#[test]
fn failed_synchronisations_and_a_full_disk_are_survived_without_a_restart() {
    let mut tally = Tally::default();
    for seed in 0..250 {
        let mut chance = Chance(seed);
        let mut known = Known { acknowledged: Model::default(), attempts: Vec::new() };
        let disk = SimDisk::new();
        let store = Store::on(Arc::new(disk.clone()), options()).unwrap();
        for _ in 0..4 {
            known.write(&store, &mut chance, 4, &mut tally);
            match chance.below(2) {
                0 => {
                    let first = chance.below(4) as u64;
                    disk.fail_syncs(first..first + 1 + chance.below(3) as u64);
                }
                _ => disk.set_space(Some(chance.below(2_500) as u64)),
            }
            known.write(&store, &mut chance, 4, &mut tally);
            disk.fail_syncs(0..0);
            disk.set_space(None);
        }
        if chance.below(2) == 0 {
            let before = tally.refused;
            known.write(&store, &mut chance, 1, &mut tally);
            assert_eq!(tally.refused, before, "it goes on when the disk is well again");
        }
        drop(store);
        let crash = *chance.pick(&[Crash::Kill, Crash::Power, Crash::Torn]);
        let disk = disk.after(crash, &mut |n| chance.below(n));
        let seen = known.acknowledged.revision().saturating_sub(3);
        known.reopen(&disk, seen, &mut tally);
        let disk = disk.after(Crash::Power, &mut |n| chance.below(n));
        known.reopen(&disk, seen, &mut tally);
    }
    assert!(tally.refused > 250, "{}", tally.refused);
}

#[test]
fn the_disk_does_not_grow_with_time() {
    let disk = SimDisk::new();
    let store = Store::on(Arc::new(disk.clone()), options()).unwrap();
    let mut chance = Chance(1);
    let mut known = Known { acknowledged: Model::default(), attempts: Vec::new() };
    let mut most = 0;
    for round in 0..40 {
        known.write(&store, &mut chance, 50, &mut Tally::default());
        most = most.max(disk.size());
        let live = store.stats().bytes;
        let limit = 6 * live.max(3_000) + 20_000;
        assert!(disk.size() < limit, "round {round}: {} bytes of files for {live} of objects", disk.size());
    }
    assert!(store.stats().trouble.is_none() && known.acknowledged.revision() > 1_000);
}

#[test]
fn any_failed_synchronisation_followed_by_any_power_cut_is_survived() {
    let options = Options { segment_bytes: 700, ..options() };
    let mut runs = 0;
    for fails in 0..25 {
        for extra in 0..2 {
            for stop in 1.. {
                let disk = SimDisk::new();
                let store = Store::on(Arc::new(disk.clone()), options.clone()).unwrap();
                // A failed synchronisation does its work in every other step.
                (0..extra).for_each(|_| drop(disk.create("other")));
                disk.fail_syncs(fails..fails + 1);
                disk.stop_at(disk.steps() + stop);
                let mut acknowledged = Vec::new();
                for i in 0..12 {
                    let name = format!("p{i}");
                    let draft =
                        podium_store::Draft::new(common::body(&name, "red", &"x".repeat(80), "")).unwrap();
                    let key = podium_store::Key::new("pods", "ns", &name);
                    if store.put(key, podium_store::Expect::Absent, draft).wait().is_ok() {
                        acknowledged.push(format!("ns/{name}"));
                    }
                }
                let over = acknowledged.len() >= 11;
                drop(store);
                let check = |store: &Store, acknowledged: &[String]| {
                    for path in acknowledged {
                        let there = store.collection("pods").get(path).is_some();
                        assert!(there, "{path}: synchronisation {fails} fails, power off at {stop}");
                    }
                };
                let open = |disk: &SimDisk| Store::on(Arc::new(disk.clone()), options.clone()).unwrap();
                check(&open(&disk.after(Crash::Power, &mut |_| 0)), &acknowledged);
                // Killed, started again, and only then without power.
                let disk = disk.after(Crash::Kill, &mut |_| 0);
                let store = open(&disk);
                common::put(&store, "pods", "late", "");
                acknowledged.push("ns/late".to_string());
                check(&open(&disk.after(Crash::Power, &mut |_| 0)), &acknowledged);
                runs += 1;
                if over {
                    break;
                }
            }
        }
    }
    assert!(runs > 1_000, "{runs}");
}

#[test]
fn threads_that_write_while_snapshots_are_made_keep_their_word() {
    let options = Options { threads: true, ..options() };
    let mut snapshots = 0;
    for seed in 0..60 {
        let mut chance = Chance(seed);
        let disk = SimDisk::new();
        let store = Store::on(Arc::new(disk.clone()), options.clone()).unwrap();
        disk.stop_at(disk.steps() + 100 + chance.below(400) as u64);
        let told: Vec<Vec<(String, Revision)>> = std::thread::scope(|scope| {
            let writers = (0..4).map(|w| {
                let store = &store;
                scope.spawn(move || {
                    let mut told = Vec::new();
                    for i in 0.. {
                        let name = format!("{w}-{}", i % 5);
                        let draft =
                            podium_store::Draft::new(common::body(&name, "red", &"x".repeat(i % 90), ""));
                        let key = podium_store::Key::new("pods", "ns", &name);
                        match store.put(key, podium_store::Expect::Any, draft.unwrap()).wait() {
                            Ok(written) => told.push((format!("ns/{name}"), written.revision)),
                            Err(_) => break,
                        }
                    }
                    told
                })
            });
            writers.collect::<Vec<_>>().into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        drop(store);
        let crash = *chance.pick(&[Crash::Kill, Crash::Power, Crash::Torn]);
        let disk = disk.after(crash, &mut |n| chance.below(n));
        let store = Store::on(Arc::new(disk.clone()), options.clone()).unwrap();
        for (path, revision) in told.iter().flatten() {
            let object = store.collection("pods").get(path).unwrap();
            assert!(object.revision() >= *revision, "seed {seed}: {path} {revision}");
        }
        let oldest = store.recovery().oldest;
        let mut watch = store.collection("pods").watch("", oldest).unwrap();
        let mut next = oldest + 1;
        while let Some(events) = watch.try_next().ok().filter(|events| !events.is_empty()) {
            for event in events {
                assert_eq!(event.revision(), next, "nothing is missing and nothing is twice");
                next += 1;
            }
        }
        assert_eq!(next, store.revision() + 1);
        snapshots += usize::from(disk.names().unwrap().iter().any(|name| name.starts_with("snapshot")));
    }
    assert!(snapshots > 20, "{snapshots}");
}
