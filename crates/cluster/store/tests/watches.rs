//! Many writers and many watchers at once, on the real disk and with the real threads.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use common::{Scratch, body, put, text};
use podium_store::sim::SimDisk;
use podium_store::{Draft, Error, Expect, Key, Options, Query, Store};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn in_memory(options: Options) -> Store {
    Store::on(Arc::new(SimDisk::new()), options).unwrap()
}

#[test]
fn many_writers_of_one_object_lose_no_update() {
    let scratch = Scratch::new("writers");
    let store = Store::open(&scratch.0, Options::default()).unwrap();
    put(&store, "pods", "counter", "0");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let pods = store.collection("pods");
                for _ in 0..25 {
                    loop {
                        let now = pods.get("ns/counter").unwrap();
                        let (_, rest) =
                            text(&now).split_once(r#""x":""#).map(|(a, b)| (a.len(), b.to_string())).unwrap();
                        let count: u32 = rest.split('"').next().unwrap().parse().unwrap();
                        let draft = Draft::new(body("counter", "red", &(count + 1).to_string(), "")).unwrap();
                        let key = Key::new("pods", "ns", "counter");
                        match store.put(key, Expect::At(now.revision()), draft).wait() {
                            Ok(_) => break,
                            Err(Error::Conflict { .. }) => {}
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
            });
        }
    });
    let last = store.collection("pods").get("ns/counter").unwrap();
    assert!(text(&last).contains(r#""x":"200""#));
    assert_eq!(store.revision(), 201);
}

#[test]
fn watchers_hear_every_revision_once_while_others_write() {
    let scratch = Scratch::new("watchers");
    let store = Store::open(&scratch.0, Options::default()).unwrap();
    let (writers, writes) = (4, 60);
    thread::scope(|scope| {
        for w in 0..writers {
            let store = &store;
            scope.spawn(move || (0..writes).for_each(|i| drop(put(store, "pods", &format!("{w}-{i}"), ""))));
        }
        for _ in 0..6 {
            let mut watch = store.collection("pods").watch("", 0).unwrap();
            scope.spawn(move || {
                let mut seen = 0;
                while seen < writers * writes {
                    let events = watch.next_until(soon()).unwrap();
                    assert!(!events.is_empty(), "in time");
                    for event in events {
                        seen += 1;
                        assert_eq!(event.revision(), seen);
                    }
                }
            });
        }
        // Who lists and then watches misses nothing and hears nothing twice.
        scope.spawn(|| {
            let pods = store.collection("pods");
            for _ in 0..30 {
                let page = pods.list(Query::default(), |_| true).unwrap();
                assert_eq!(page.objects.len() as u64, page.revision);
                let events = pods.watch("", page.revision).unwrap().try_next().unwrap();
                assert!(events.first().is_none_or(|e| e.revision() == page.revision + 1));
            }
        });
    });
}

#[test]
fn a_thousand_watchers_hear_what_concerns_them() {
    let store = in_memory(Options { threads: false, ..Options::default() });
    let pods = store.collection("pods");
    let mut all: Vec<_> = (0..1000).map(|_| pods.watch("ns/", 0).unwrap()).collect();
    let mut others: Vec<_> = (0..100).map(|_| pods.watch("other/", 0).unwrap()).collect();
    for i in 0..20 {
        put(&store, "pods", &format!("p{i}"), "");
        put(&store, "nodes", &format!("n{i}"), "");
    }
    for watch in &mut all {
        let heard: Vec<_> = watch.try_next().unwrap().iter().map(|e| e.path().to_string()).collect();
        assert_eq!(heard, (0..20).map(|i| format!("ns/p{i}")).collect::<Vec<_>>());
        assert_eq!(watch.seen(), 40);
    }
    for watch in &mut others {
        assert!(watch.try_next().unwrap().is_empty());
        assert_eq!(watch.seen(), 40, "a bookmark goes on although nothing happened");
    }
}

#[test]
fn a_slow_watcher_is_told_and_costs_nothing() {
    let limit = 100_000;
    let store = in_memory(Options { threads: false, history_bytes: limit, ..Options::default() });
    let mut slow = store.collection("pods").watch("", 0).unwrap();
    let mut quiet = store.collection("nodes").watch("", 0).unwrap();
    for i in 0..2_000 {
        put(&store, "pods", &format!("p{}", i % 3), &"x".repeat(500));
        assert!(store.stats().history_bytes <= limit);
    }
    assert!(matches!(slow.try_next(), Err(Error::Compacted { asked: 0, .. })));
    assert!(matches!(slow.next_until(soon()), Err(Error::Compacted { .. })));
    assert!(quiet.try_next().unwrap().is_empty(), "a kind that is quiet is never too old");
    let oldest = store.collection("pods").oldest();
    assert!(oldest > 1_000 && store.collection("pods").watch("", oldest).is_ok());
    assert!(store.collection("pods").watch("", oldest - 1).is_err());
}

#[test]
fn a_list_stays_at_its_revision_whatever_is_written_meanwhile() {
    let store = in_memory(Options { threads: false, history_bytes: 0, ..Options::default() });
    for i in 0..1_500 {
        put(&store, "pods", &format!("p{i:04}"), "old");
    }
    let asked = std::cell::Cell::new(0);
    let page = store.collection("pods").list(Query::default(), |_| {
        if asked.replace(asked.get() + 1) < 1_000 {
            let at = 1_499 - asked.get();
            put(&store, "pods", &format!("p{at:04}"), "new");
            let _ = store.delete(Key::new("pods", "ns", &format!("p{:04}", asked.get())), Expect::Any).wait();
        }
        true
    });
    let page = page.unwrap();
    assert_eq!((page.revision, page.objects.len()), (1_500, 1_500));
    assert!(page.objects.iter().all(|o| text(o).contains(r#""x":"old""#)));
    put(&store, "pods", "last", "");
    assert_eq!(store.stats().history_bytes, 0, "and is forgotten when it is over");
}

#[test]
fn writers_share_synchronisations() {
    let disk = SimDisk::new();
    let store = Store::on(Arc::new(disk.clone()), Options::default()).unwrap();
    let before = disk.steps();
    let tickets: Vec<_> = (0..500)
        .map(|i| {
            let draft = Draft::new(body("x", "red", "", "")).unwrap();
            store.put(Key::new("pods", "ns", &format!("p{i}")), Expect::Absent, draft)
        })
        .collect();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    assert!(disk.steps() - before < 900, "two steps for a group: {}", disk.steps() - before);
}

#[test]
fn what_was_submitted_is_written_when_the_store_is_closed() {
    let scratch = Scratch::new("close");
    let store = Store::open(&scratch.0, Options::default()).unwrap();
    let mut watch = store.collection("pods").watch("", 0).unwrap();
    let tickets: Vec<_> = (0..100)
        .map(|i| {
            let draft = Draft::new(body("x", "red", "", "")).unwrap();
            store.put(Key::new("pods", "ns", &format!("p{i}")), Expect::Absent, draft)
        })
        .collect();
    drop(store);
    assert!(tickets.into_iter().all(|ticket| ticket.wait().is_ok()));
    assert_eq!(watch.next_until(soon()).unwrap().len(), 100);
    assert!(matches!(watch.next_until(soon()), Err(Error::Closed)));
    assert_eq!(Store::open(&scratch.0, Options::default()).unwrap().stats().objects, 100);
}

#[test]
fn snapshots_are_made_beside_the_writers() {
    let scratch = Scratch::new("snapshots");
    let options = Options { segment_bytes: 20_000, compact_bytes: 40_000, ..Options::default() };
    let store = Store::open(&scratch.0, options.clone()).unwrap();
    thread::scope(|scope| {
        for w in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for i in 0..150 {
                    put(store, "pods", &format!("{w}-{}", i % 20), &"x".repeat(i));
                }
            });
        }
    });
    let expected = store.collection("pods").list(Query::default(), |_| true).unwrap();
    assert!(store.stats().trouble.is_none());
    drop(store);
    let names: Vec<_> = std::fs::read_dir(&scratch.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().any(|n| n.to_string_lossy().starts_with("snapshot-")), "{names:?}");
    let store = Store::open(&scratch.0, options).unwrap();
    let found = store.collection("pods").list(Query::default(), |_| true).unwrap();
    assert_eq!((found.revision, found.objects), (600, expected.objects));
}

#[test]
fn a_watcher_that_looks_all_the_time_misses_nothing() {
    let store = in_memory(Options { threads: false, history_bytes: 1 << 30, ..Options::default() });
    let mut watch = store.collection("pods").watch("", 0).unwrap();
    let writes = 10_000;
    thread::scope(|scope| {
        scope.spawn(|| (0..writes).for_each(|i| drop(put(&store, "pods", &format!("p{}", i % 5), ""))));
        let mut seen = 0;
        while seen < writes {
            for event in watch.try_next().unwrap() {
                seen += 1;
                assert_eq!(event.revision(), seen);
            }
            assert!(watch.seen() >= seen);
        }
    });
}

#[test]
fn no_event_comes_between_looking_and_waiting() {
    let store = in_memory(Options { threads: false, ..Options::default() });
    let mut watch = store.collection("pods").watch("", 0).unwrap();
    let (heard, hears) = std::sync::mpsc::channel();
    let store = &store;
    thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..10_000u32 {
                // Now sooner, now later than the watcher waits.
                (0..i % 97).for_each(|_| std::hint::spin_loop());
                put(store, "pods", "p", "");
                let () = hears.recv_timeout(Duration::from_secs(30)).unwrap();
            }
        });
        for _ in 0..10_000 {
            assert_eq!(watch.next_until(soon()).unwrap().len(), 1, "woken in time");
            heard.send(()).unwrap();
        }
    });
}

#[test]
fn a_revision_of_the_future_is_waited_for() {
    let store = in_memory(Options { threads: false, ..Options::default() });
    put(&store, "pods", "p", "");
    store.reach(1).wait_until(soon()).unwrap();
    let missed = store.reach(3).wait_until(Instant::now() + Duration::from_millis(5)).unwrap_err();
    assert_eq!(missed.to_string(), "revision 3 is in the future, the newest is 1");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| store.reach(3).wait_until(soon()));
        put(&store, "pods", "p", "");
        put(&store, "nodes", "n", "");
        waiting.join().unwrap().unwrap();
    });
    let late = store.reach(9);
    drop(store);
    assert!(matches!(late.wait_until(soon()), Err(Error::Closed)));
}

#[test]
fn everything_can_go_to_another_thread() {
    fn sendable<T: Send + 'static>() {}
    fn shareable<T: Send + Sync + Clone + 'static>() {}
    sendable::<podium_store::Ticket>();
    sendable::<podium_store::Watch>();
    sendable::<podium_store::Reach>();
    shareable::<Store>();
    shareable::<podium_store::Collection>();
    shareable::<podium_store::Object>();
    shareable::<Error>();
}
