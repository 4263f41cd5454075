//! Random writes, reads, lists, watches, snapshots and restarts against a simple model.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{Chance, Model, RESOURCES, Write, join, state_of, text, told};
use podium_store::sim::{Crash, SimDisk};
use podium_store::{Change, Error, Options, Query, Revision, Store, Watch};

fn small(chance: &mut Chance) -> Options {
    Options {
        threads: false,
        history_bytes: *chance.pick(&[0, 2_000, 20_000, 1 << 20]),
        segment_bytes: *chance.pick(&[600, 4_000]),
        compact_bytes: *chance.pick(&[1_000, 10_000]),
        ..Options::default()
    }
}

struct Follower {
    watch: Watch,
    resource: &'static str,
    prefix: &'static str,
    seen: Revision,
}

impl Follower {
    /// Reads on, and compares with what the model says; whether it is still in the history.
    fn follow(&mut self, model: &Model) -> bool {
        let mut heard = Vec::new();
        loop {
            match self.watch.try_next() {
                Ok(events) if events.is_empty() => break,
                Ok(events) => heard.extend(events.iter().map(|e| told(e))),
                Err(Error::Compacted { asked, oldest }) => {
                    assert!(asked < oldest);
                    return false;
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(heard, model.told(self.resource, self.prefix, self.seen));
        self.seen = self.watch.seen();
        assert_eq!(self.seen, model.revision());
        true
    }
}

fn run(seed: u64, steps: usize) -> (usize, usize) {
    let mut chance = Chance(seed);
    let options = small(&mut chance);
    let disk = SimDisk::new();
    let mut store = Store::on(Arc::new(disk.clone()), options.clone()).unwrap();
    let mut model = Model::default();
    let mut followers: Vec<Follower> = Vec::new();
    let (mut lost, mut followed) = (0, 0);
    for _ in 0..steps {
        match chance.below(20) {
            0..8 => {
                let writes: Vec<Write> =
                    (0..=chance.below(4)).map(|_| Write::random(&mut chance, &model)).collect();
                let tickets = store.all(writes.iter().map(Write::parts));
                for (write, ticket) in writes.iter().zip(tickets) {
                    let allowed = model.write(write);
                    match ticket.wait() {
                        Ok(written) => {
                            assert!(allowed, "{write:?}");
                            assert_eq!(written.revision, model.revision());
                            assert_eq!(written.object.revision(), model.revision());
                        }
                        Err(Error::Exists { .. } | Error::Absent { .. } | Error::Conflict { .. }) => {
                            assert!(!allowed, "{write:?}");
                        }
                        Err(other) => panic!("{other}"),
                    }
                }
            }
            8 | 9 => {
                let write = Write::random(&mut chance, &model);
                let object = store.collection(write.resource).get(&join(&write.path));
                let expected = model.newest().get(&(write.resource, join(&write.path)));
                assert_eq!(object.map(|o| (o.revision(), text(&o).into())), expected.cloned());
            }
            10..13 => {
                let at = (chance.below(2) == 0).then(|| chance.below(model.revision() as usize + 1) as u64);
                match state_of(&store, at, chance.below(5)) {
                    Ok(state) => assert_eq!(&state, model.at(at.unwrap_or(model.revision()))),
                    Err(Error::Compacted { .. }) => assert!(at.is_some_and(|at| at < model.revision())),
                    Err(other) => panic!("{other}"),
                }
                let after = store.revision() + 1;
                let query = Query { at: Some(after), ..Query::default() };
                assert!(matches!(store.collection("nodes").list(query, |_| true), Err(Error::Future { .. })));
            }
            13..15 => {
                let (resource, prefix) =
                    (*chance.pick(&RESOURCES), *chance.pick(&["", "a/", "a-b/", "none/"]));
                let seen = chance.below(model.revision() as usize + 1) as u64;
                let collection = store.collection(resource);
                match collection.watch(prefix, seen) {
                    Ok(watch) => followers.push(Follower { watch, resource, prefix, seen }),
                    Err(Error::Compacted { oldest, .. }) => {
                        assert!(seen < oldest && oldest <= model.revision())
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            15..18 => {
                followers.retain_mut(|follower| {
                    let here = follower.follow(&model);
                    lost += usize::from(!here);
                    followed += usize::from(here);
                    here
                });
                followers.truncate(20);
            }
            18 => {
                // A list of selected objects has the same as a list of all of them.
                let query = Query { prefix: "a/", limit: 2, ..Query::default() };
                let red =
                    store.collection("configmaps").list(query, |o| o.label("color") == Some("red")).unwrap();
                let all = store.collection("configmaps").list(Query { limit: 0, ..query }, |_| true).unwrap();
                let expected: Vec<_> =
                    all.objects.iter().filter(|o| o.label("color") == Some("red")).take(2).cloned().collect();
                assert_eq!(red.objects, expected);
                assert_eq!(store.collection("configmaps").count(query).unwrap(), all.objects.len());
            }
            _ => {
                drop(store);
                let crash = if chance.below(2) == 0 { Crash::Kill } else { Crash::Power };
                let disk = disk.after(crash, &mut |n| chance.below(n));
                store = Store::on(Arc::new(disk), options.clone()).unwrap();
                assert_eq!(store.recovery().cut, None);
                assert_eq!(store.revision(), model.revision());
                let oldest = store.recovery().oldest;
                followers.retain_mut(|f| match store.collection(f.resource).watch(f.prefix, f.seen) {
                    Ok(watch) => {
                        f.watch = watch;
                        true
                    }
                    Err(Error::Compacted { .. }) => {
                        assert!(f.seen < oldest);
                        false
                    }
                    Err(other) => panic!("{other}"),
                });
                return (lost, followed + run_on(&store, &mut model, &mut chance));
            }
        }
    }
    (lost, followed)
}

/// After a restart: everything is there, and goes on.
fn run_on(store: &Store, model: &mut Model, chance: &mut Chance) -> usize {
    assert_eq!(&state_of(store, None, 3).unwrap(), model.newest());
    for _ in 0..20 {
        let write = Write::random(chance, model);
        let [ticket] = <[_; 1]>::try_from(store.all([write.parts()])).unwrap();
        assert_eq!(ticket.wait().is_ok(), model.write(&write));
    }
    assert_eq!(&state_of(store, None, 2).unwrap(), model.newest());
    1
}

#[test]
fn the_store_is_the_model() {
    let (mut lost, mut followed) = (0, 0);
    for seed in 0..300 {
        let (l, f) = run(seed, 150);
        lost += l;
        followed += f;
    }
    assert!(lost > 50 && followed > 1000, "both were seen: {lost} {followed}");
}

#[test]
fn a_selection_is_told_what_a_list_of_it_would_show() {
    for seed in 0..50 {
        let mut chance = Chance(seed);
        let store =
            Store::on(Arc::new(SimDisk::new()), Options { threads: false, ..Options::default() }).unwrap();
        let configmaps = store.collection("configmaps");
        let mut watch = configmaps.watch("", 0).unwrap();
        let mut model = Model::default();
        let mut shown = std::collections::BTreeMap::new();
        let red = |o: &podium_store::Object| o.label("color") == Some("red");
        for _ in 0..60 {
            let write = Write::random(&mut chance, &model);
            let done = store.all([write.parts()]).pop().unwrap().wait().is_ok();
            assert_eq!(done, model.write(&write));
            for event in watch.try_next().unwrap() {
                match event.seen(red) {
                    Some(Change::Added(o)) => assert!(shown.insert(o.path().to_string(), text(&o)).is_none()),
                    Some(Change::Modified(o)) => {
                        assert!(shown.insert(o.path().to_string(), text(&o)).is_some())
                    }
                    Some(Change::Deleted(o)) => {
                        assert_eq!(o.revision(), event.revision());
                        assert!(text(&o).contains(&format!(r#""resourceVersion":"{}""#, event.revision())));
                        assert!(shown.remove(o.path()).is_some());
                    }
                    None => {}
                }
            }
            let list = configmaps.list(Query::default(), red).unwrap();
            let expected = list.objects.iter().map(|o| (o.path().to_string(), text(o))).collect();
            assert_eq!(shown, expected);
        }
    }
}
