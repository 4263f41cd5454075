//! Measures the store beside a loop that does nothing but append and synchronise, on the same disk in the same run.
//!
//! `cargo run --profile fast -p podium-store --example figures [DIR]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints figures or stops")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use podium_store::{Draft, Expect, Key, Options, Query, Store};

const TURN: Duration = Duration::from_millis(400);
const TURNS: usize = 10;

fn body(name: &str) -> String {
    let labels = r#""app":"web","tier":"front","team":"a""#;
    let head = format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"default","resourceVersion":"","labels":{{{labels}}}}},"data":{{"x":""#
    );
    let fill = 1000usize.saturating_sub(head.len() + 4);
    format!(r#"{head}{}"}}}}"#, "x".repeat(fill))
}

fn put(store: &Store, resource: &str, name: &str) {
    let draft = Draft::new(body(name)).unwrap();
    let written = store.put(Key::new(resource, "default", name), Expect::Any, draft).wait();
    drop(written.unwrap());
}

fn fill(store: &Store, resource: &str, count: usize) {
    for start in (0..count).step_by(500) {
        let writes = (start..count.min(start + 500)).map(|i| {
            let name = format!("object-{i:06}");
            (Key::new(resource, "default", &name), Expect::Absent, Some(Draft::new(body(&name)).unwrap()))
        });
        for ticket in store.all(writes) {
            drop(ticket.wait().unwrap());
        }
    }
}

fn quantiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |q: usize| times.get(times.len() * q / 100).or(times.last()).copied().unwrap_or_default();
    format!("p50 {:?}, p99 {:?}, longest {:?}", at(50), at(99), at(100))
}

fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Appends and synchronises, so many records at once; records per second.
fn raw(dir: &Path, group: usize) -> f64 {
    let mut file = File::create(dir.join("raw")).unwrap();
    let bytes = vec![b'x'; 1_050 * group];
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < TURN {
        file.write_all(&bytes).unwrap();
        file.sync_data().unwrap();
        count += group;
    }
    count as f64 / start.elapsed().as_secs_f64()
}

/// Writes with so many writers; writes per second, and how long each took.
fn writers(store: &Store, count: usize, times: &mut Vec<Duration>) -> f64 {
    let (start, before) = (Instant::now(), times.len());
    let all = Mutex::new(times);
    thread::scope(|scope| {
        for w in 0..count {
            let all = &all;
            scope.spawn(move || {
                let mut mine = Vec::new();
                while start.elapsed() < TURN {
                    let one = Instant::now();
                    put(store, "secrets", &format!("w{w}-{}", mine.len() % 100));
                    mine.push(one.elapsed());
                }
                all.lock().unwrap().extend(mine);
            });
        }
    });
    let times = all.into_inner().unwrap();
    (times.len() - before) as f64 / start.elapsed().as_secs_f64()
}

/// The two in turns, so that both suffer alike from whatever else the machine does.
fn writes(dir: &Path, store: &Store, count: usize, note: &str) {
    let (mut ours, mut bare, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        bare.push(raw(dir, count));
        ours.push(writers(store, count, &mut times));
    }
    let middle = |rates: &mut Vec<f64>| {
        rates.sort_by(f64::total_cmp);
        (rates[rates.len() / 2], rates[rates.len() - 1])
    };
    let ((ours, our_best), (bare, bare_best)) = (middle(&mut ours), middle(&mut bare));
    println!(
        "durable writes, {count} writers{note}: {ours:.0}/s (best turn {our_best:.0}), {}; \
         bare loop {bare:.0}/s (best turn {bare_best:.0}): ratio {:.2}",
        quantiles(times),
        ours / bare
    );
}

fn lists(store: &Store, resource: &str) {
    let collection = store.collection(resource);
    let time = |what: &str, work: &dyn Fn() -> usize| {
        let mut best = Duration::MAX;
        let mut got = 0;
        for _ in 0..10 {
            let start = Instant::now();
            got = work();
            best = best.min(start.elapsed());
        }
        println!("{what}: {best:?} ({got})");
    };
    time("list, objects", &|| collection.list(Query::default(), |_| true).unwrap().objects.len());
    time("list, bytes copied into one answer", &|| {
        let page = collection.list(Query::default(), |_| true).unwrap();
        let mut answer = Vec::with_capacity(page.objects.iter().map(|o| o.item().len() + 2).sum());
        for object in &page.objects {
            answer.push(b'{');
            answer.extend_from_slice(object.item());
        }
        answer.len()
    });
    time("list by a label that none has", &|| {
        collection.list(Query::default(), |o| o.label("app") == Some("no")).unwrap().objects.len()
    });
}

/// Tells the driver which watcher has something to read.
struct Tell(usize, Sender<usize>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        let _ = self.1.send(self.0);
    }
}

fn fan_out(store: &Store, watchers: usize, per_second: u64) {
    let collection = store.collection("secrets");
    let (sender, woken) = channel();
    let mut watches: Vec<_> =
        (0..watchers).map(|_| collection.watch("", store.revision()).unwrap()).collect();
    let wakers: Vec<Waker> = (0..watchers).map(|i| Arc::new(Tell(i, sender.clone())).into()).collect();
    (0..watchers).for_each(|i| sender.send(i).unwrap());
    let sent = Arc::new(Mutex::new(std::collections::HashMap::new()));
    let count = 3 * per_second as usize;
    let writer = thread::spawn({
        let (store, sent) = (store.clone(), sent.clone());
        move || {
            let start = Instant::now();
            for i in 0..count {
                let due = start + Duration::from_micros(i as u64 * 1_000_000 / per_second);
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let name = format!("f{i}");
                sent.lock().unwrap().insert(format!("default/{name}"), Instant::now());
                put(&store, "secrets", &name);
            }
        }
    });
    let mut times = Vec::new();
    while times.len() < count * watchers {
        let i = woken.recv().unwrap();
        while let Poll::Ready(events) = watches[i].poll_next(&mut Context::from_waker(&wakers[i])) {
            for event in events.unwrap() {
                times.push(sent.lock().unwrap()[event.path()].elapsed());
            }
        }
    }
    writer.join().unwrap();
    println!(
        "write to event, {per_second} writes/s, {watchers} watchers on one thread: {}",
        quantiles(times)
    );
}

/// Opens a store in a process of its own, so that its memory is not one that was used before.
fn memory(dir: &Path, count: usize) {
    let before = resident();
    let start = Instant::now();
    let store = Store::open(dir, Options::default()).unwrap();
    let (time, used, stats) = (start.elapsed(), resident() - before, store.stats());
    println!(
        "{count} objects of 1000 bytes: open {time:?}, {:.0} bytes of memory each ({} stored, {} of history in all)",
        used as f64 * 1024.0 / count as f64,
        stats.bytes / count,
        stats.history_bytes
    );
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (dir, count) = (args.next(), args.next().and_then(|n| n.parse().ok()));
    let dir = dir.map_or_else(std::env::temp_dir, PathBuf::from);
    if let Some(count) = count {
        return memory(&dir, count);
    }
    let dir = dir.join("podium-store-figures");
    let _ = fs::remove_dir_all(&dir);
    let store = Store::open(&dir, Options::default()).unwrap();
    writes(&dir, &store, 1, "");
    writes(&dir, &store, 32, "");
    fan_out(&store, 100, 500);
    fan_out(&store, 1000, 50);
    drop(store);
    for count in [10_000, 100_000] {
        let place = dir.join(count.to_string());
        fill(&Store::open(&place, Options::default()).unwrap(), "configmaps", count);
        let again =
            || Command::new(std::env::current_exe().unwrap()).arg(&place).arg(count.to_string()).status();
        (0..3).for_each(|_| assert!(again().unwrap().success()));
        let store = Store::open(&place, Options::default()).unwrap();
        lists(&store, "configmaps");
        writes(&dir, &store, 1, &format!(" beside {count} other objects"));
        writes(&dir, &store, 32, &format!(" beside {count} other objects, with snapshots"));
        let size: u64 = fs::read_dir(&place).unwrap().map(|e| e.unwrap().metadata().unwrap().len()).sum();
        println!("files: {} kB for {} kB of objects", size / 1024, store.stats().bytes / 1024);
    }
    let _ = fs::remove_dir_all(&dir);
}
