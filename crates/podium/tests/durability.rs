//! The whole program over TLS is killed again and again under load, its disk fills up, its files are torn: what was answered
//! is there.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod up;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use up::{Caller, Folder, Up};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 6;
const NAMES: usize = 4;

/// A cheap source of chance that can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What is stored under a name: its version and its text; nothing if it is not there.
type Stored = Option<(u64, String)>;

/// What is known of a name.
#[derive(Clone, Default)]
struct Known {
    /// What was answered last.
    certain: Stored,
    /// What was asked for and not answered.
    asked: Option<Option<String>>,
}

/// What is known of all names, and the versions of all writes that were answered.
#[derive(Default)]
struct Memory {
    names: BTreeMap<String, Known>,
    answered: Vec<u64>,
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn body(name: &str, text: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"kept": "yes"}}, "data": {"one": text, "two": text}})
}

/// The text of an object, both halves of which have to be there.
fn whole(object: &Value) -> String {
    let text = |key: &str| object["data"][key].as_str().unwrap_or_default().to_owned();
    assert!(!text("one").is_empty() && text("one") == text("two"), "half an object: {object}");
    text("one")
}

/// Writes until the server is away.
async fn write(caller: Caller, memory: Arc<Mutex<Memory>>, writer: usize, mut chance: Chance) {
    for turn in 0.. {
        let name = format!("w{writer}-{}", chance.below(NAMES as u64));
        let certain = memory.lock().unwrap().names.entry(name.clone()).or_default().certain.clone();
        let long = "x".repeat(chance.below(500) as usize);
        let text = format!("{turn}.{}.{long}", chance.0);
        let (place, data) = (format!("{MAPS}/{name}"), json!({"data": {"one": text, "two": text}}));
        let (method, path, request) = match (&certain, chance.below(4)) {
            (None, _) => ("POST", MAPS, body(&name, &text)),
            (Some(_), 0) => ("DELETE", place.as_str(), Value::Null),
            (Some((version, _)), 1) => {
                let mut object = body(&name, &text);
                object["metadata"]["resourceVersion"] = version.to_string().into();
                ("PUT", place.as_str(), object)
            }
            (Some(_), _) => ("PATCH", place.as_str(), data),
        };
        let wanted = (method != "DELETE").then_some(text);
        memory.lock().unwrap().names.get_mut(&name).unwrap().asked = Some(wanted.clone());
        let Ok((code, answer)) = caller.send(method, path, &request).await else { return };
        assert!(matches!(code, 200 | 201), "{method} {path}: {code} {answer}");
        let mut memory = memory.lock().unwrap();
        let certain = wanted.map(|text| (version(&answer), text));
        memory.answered.extend(certain.as_ref().map(|(version, _)| *version));
        *memory.names.get_mut(&name).unwrap() = Known { certain, asked: None };
    }
}

/// What a watcher was told.
#[derive(Default)]
struct Told {
    /// From where it goes on.
    last: u64,
    /// Versions and what they did, in order.
    events: Vec<(u64, String, Option<String>)>,
}

/// Watches until the server is away.
async fn watch(caller: Caller, told: Arc<Mutex<Told>>) {
    let from = told.lock().unwrap().last;
    let path = format!("{MAPS}?watch=1&labelSelector=kept&allowWatchBookmarks=true&resourceVersion={from}");
    let follow = caller.follow(&path, |event| {
        let (kind, object) = (event["type"].as_str().unwrap().to_owned(), &event["object"]);
        assert_ne!(kind, "ERROR", "{event}");
        let mut told = told.lock().unwrap();
        let version = version(object);
        if kind != "BOOKMARK" {
            assert!(version > told.last, "{version} after {}: {event}", told.last);
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            let text = whole(object);
            told.events.push((version, name, (kind != "DELETED").then_some(text)));
        }
        told.last = told.last.max(version);
    });
    follow.await;
}

/// What is there is what was answered, or what was asked for last; from now on it is certain.
async fn check(caller: &Caller, memory: &Mutex<Memory>) -> BTreeMap<String, (u64, String)> {
    let (code, list) = caller.send("GET", &format!("{MAPS}?labelSelector=kept"), &Value::Null).await.unwrap();
    assert_eq!(code, 200, "{list}");
    let found: BTreeMap<String, (u64, String)> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| {
            (object["metadata"]["name"].as_str().unwrap().to_owned(), (version(object), whole(object)))
        })
        .collect();
    let mut memory = memory.lock().unwrap();
    for (name, known) in &mut memory.names {
        let here = found.get(name);
        let is_certain = here == known.certain.as_ref();
        let is_asked = known.asked.as_ref().is_some_and(|asked| asked.as_ref() == here.map(|(_, text)| text));
        assert!(
            is_certain || is_asked,
            "{name} is {here:?}, answered was {:?}, asked {:?}",
            known.certain,
            known.asked
        );
        *known = Known { certain: here.cloned(), asked: None };
    }
    assert!(found.keys().all(|name| memory.names.contains_key(name)));
    found
}

fn kills(count: u64) {
    let folder = Folder::new("kills");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut chance = Chance(count);
    let memory = Arc::new(Mutex::new(Memory::default()));
    let told: Vec<_> = (0..2).map(|_| Arc::new(Mutex::new(Told::default()))).collect();
    let mut first = 0;
    let begin = Instant::now();
    for round in 0..count {
        if round % 6 == 5 {
            // Also while it starts.
            let mut up = Up::begin(&folder, folder.podium(&["up", "--no-stacks", "--port", "0"]));
            std::thread::sleep(Duration::from_millis(chance.below(80)));
            up.kill();
            continue;
        }
        let mut up = Up::start(&folder);
        let caller = up.client();
        runtime.block_on(async {
            check(&caller, &memory).await;
            if round == 0 {
                let (_, list) = caller.send("GET", MAPS, &Value::Null).await.unwrap();
                first = version(&list);
                told.iter().for_each(|told| told.lock().unwrap().last = first);
            }
            let mut tasks = Vec::new();
            for told in &told {
                tasks.push(tokio::spawn(watch(up.client(), Arc::clone(told))));
            }
            for writer in 0..WRITERS {
                let chance = Chance(round << 8 | writer as u64);
                tasks.push(tokio::spawn(write(caller.clone(), Arc::clone(&memory), writer, chance)));
            }
            // When they are all at it, at any moment.
            let (answered, begin) = (|| memory.lock().unwrap().answered.len(), Instant::now());
            let before = answered();
            while answered() < before + WRITERS && begin.elapsed() < Duration::from_secs(5) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_micros(chance.below(150_000))).await;
            up.kill();
            for task in tasks {
                task.await.unwrap();
            }
        });
    }
    let up = Up::start(&folder);
    let found = runtime.block_on(async {
        let mut found = check(&up.client(), &memory).await;
        // The last write before may have been a deletion, of which nothing that is there tells.
        let (code, end) = up.client().send("POST", MAPS, &body("end", "end")).await.unwrap();
        assert_eq!(code, 201, "{end}");
        let newest = version(&end);
        found.insert("end".to_owned(), (newest, whole(&end)));
        let mut all = told.clone();
        // One that has seen nothing yet sees the same.
        all.push(Arc::new(Mutex::new(Told { last: first, events: Vec::new() })));
        for told in &all {
            let task = tokio::spawn(watch(up.client(), Arc::clone(told)));
            let begin = Instant::now();
            while told.lock().unwrap().last < newest {
                assert!(begin.elapsed() < Duration::from_secs(20) && !task.is_finished());
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            task.abort();
        }
        let [one, two, anew] = all.as_slice() else { panic!() };
        let longest = |told: &Mutex<Told>| told.lock().unwrap().events.clone();
        let upto = |events: Vec<(u64, String, Option<String>)>| {
            events.into_iter().filter(|(version, ..)| *version <= newest).collect::<Vec<_>>()
        };
        assert_eq!(upto(longest(one)), upto(longest(anew)), "nothing is lost, nothing comes twice");
        assert_eq!(upto(longest(two)), upto(longest(anew)));
        found
    });
    // What was told is what is there, and every answered write was told.
    let events = &told[0].lock().unwrap().events;
    let mut state: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for (version, name, text) in events {
        match text {
            Some(text) => drop(state.insert(name.clone(), (*version, text.clone()))),
            None => drop(state.remove(name)),
        }
    }
    assert_eq!(state, found);
    let versions: BTreeSet<u64> = events.iter().map(|(version, ..)| *version).collect();
    let answered = &memory.lock().unwrap().answered;
    let lost: Vec<&u64> = answered.iter().filter(|version| !versions.contains(version)).collect();
    assert_eq!(lost, [&0; 0], "answered and never told");
    println!(
        "killed {count} times in {:.0?}: {} answered writes, {} events",
        begin.elapsed(),
        answered.len(),
        events.len()
    );
    assert!(answered.len() as u64 > count * 2, "something was written");
}

#[test]
fn killed_again_and_again_it_keeps_its_word() {
    let count = std::env::var("PODIUM_KILLS").ok().and_then(|text| text.parse().ok());
    kills(count.unwrap_or(60));
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing() {
    let folder = Folder::new("full");
    // A file may have one or two megabytes (shells count in other blocks): that is a disk on which nothing else fits.
    let mut command = Command::new("sh");
    folder.clean(&mut command).args(["-c", "trap '' XFSZ; ulimit -S -f 2000; exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_podium")).args([
        "up",
        "--no-stacks",
        "--port",
        "0",
        "--token-file",
        "tokens",
    ]);
    let mut up = Up::by(&folder, command);
    let caller = up.client();
    let (mut answered, mut refused) = (Vec::new(), None);
    for at in 0..200 {
        let (code, answer) =
            caller.send("POST", MAPS, &body(&format!("m{at}"), &"x".repeat(20_000))).await.unwrap();
        match code {
            201 => answered.push((format!("m{at}"), version(&answer))),
            _ => {
                refused = Some((code, answer["message"].as_str().unwrap_or_default().to_owned()));
                break;
            }
        }
    }
    let (code, message) = refused.expect("the disk is full");
    assert!(code >= 500 && message.contains("no space left"), "{code} {message}");
    assert!(answered.len() > 5);
    // It can be read, and it goes on when there is space.
    assert_eq!(caller.send("GET", &format!("{MAPS}/m0"), &Value::Null).await.unwrap().0, 200);
    let status = Command::new("prlimit").args(["--fsize=unlimited", "--pid", &up.id().to_string()]).status();
    assert!(status.unwrap().success());
    let (code, answer) = caller.send("POST", MAPS, &body("later", "x")).await.unwrap();
    assert_eq!(code, 201, "{answer}");
    answered.push(("later".to_owned(), version(&answer)));
    up.kill();
    let up = Up::start(&folder);
    let caller = up.client();
    for (name, version_then) in &answered {
        let (code, answer) = caller.send("GET", &format!("{MAPS}/{name}"), &Value::Null).await.unwrap();
        assert_eq!((code, version(&answer)), (200, *version_then), "{name}");
        whole(&answer);
    }
}

#[tokio::test]
async fn a_torn_file_is_named_and_nothing_is_guessed() {
    let folder = Folder::new("torn");
    let mut up = Up::start(&folder);
    for at in 0..20 {
        let (code, _) = up.client().send("POST", MAPS, &body(&format!("m{at}"), "x")).await.unwrap();
        assert_eq!(code, 201);
    }
    up.kill();
    let log = std::fs::read_dir(folder.data().join("store"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("log"))
        .unwrap();
    let good = std::fs::read(&log).unwrap();
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 0x10;
    std::fs::write(&log, &bad).unwrap();
    let (code, text) = folder.run(&["up", "--no-stacks", "--port", "0"]);
    assert_eq!(code, Some(1), "{text}");
    let name = log.file_name().unwrap().to_string_lossy().into_owned();
    assert!(text.contains(&name) && text.contains("is damaged at byte") && text.contains("backup"), "{text}");
    assert_eq!(std::fs::read(&log).unwrap(), bad, "it is left as it was");
    // A write that was cut off in the middle was not answered: it is dropped, the rest is there.
    let mut torn = good.clone();
    torn.extend_from_slice(&good[..7]);
    std::fs::write(&log, &torn).unwrap();
    let up = Up::start(&folder);
    for at in 0..20 {
        let (code, _) = up.client().send("GET", &format!("{MAPS}/m{at}"), &Value::Null).await.unwrap();
        assert_eq!(code, 200);
    }
}
