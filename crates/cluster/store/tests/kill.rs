//! A process that writes is killed at random moments: what it was told is written is there.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Chance, Scratch, body, text};
use podium_store::{Draft, Expect, Key, Options, Store};

const PLACE: &str = "PODIUM_STORE_KILL";

fn options() -> Options {
    Options { segment_bytes: 30_000, compact_bytes: 60_000, ..Options::default() }
}

/// Not a test: what is killed. It writes with eight threads, and says what was acknowledged.
#[test]
#[ignore = "is started and killed by the others"]
fn writer() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let store = Store::open(place, options()).unwrap();
    let start = store.revision();
    println!("\nopen {start}");
    thread::scope(|scope| {
        for w in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for i in 0.. {
                    let name = format!("{w}-{}", i % 10);
                    let data = format!("{start}.{i}.{}", "x".repeat(i % 400));
                    let draft = Draft::new(body(&name, "red", &data, "")).unwrap();
                    let written =
                        store.put(Key::new("pods", "ns", &name), Expect::Any, draft).wait().unwrap();
                    let line = format!("{} {name} {data}\n", written.revision);
                    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
}

fn kills(name: &str, count: u64) {
    let scratch = Scratch::new(name);
    let mut chance = Chance(count);
    let mut told: HashMap<String, (u64, String)> = HashMap::new();
    let mut newest = 0;
    for round in 0..count {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["writer", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(PLACE, &scratch.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        let reader = thread::spawn(move || {
            let mut lines: Vec<String> = BufReader::new(output).lines().map_while(Result::ok).collect();
            // The last one may be half a line.
            lines.pop();
            lines
        });
        thread::sleep(Duration::from_millis(10 + chance.below(60) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in reader.join().unwrap() {
            let mut words = line.splitn(3, ' ');
            let (Some(Ok(revision)), Some(name), Some(data)) =
                (words.next().map(str::parse::<u64>), words.next(), words.next())
            else {
                continue;
            };
            newest = newest.max(revision);
            let known = told.entry(name.to_string()).or_default();
            if revision > known.0 {
                *known = (revision, data.to_string());
            }
        }
        let store = Store::open(&scratch.0, options()).unwrap();
        assert!(store.revision() >= newest, "round {round}");
        for (name, (revision, data)) in &told {
            let object = store.collection("pods").get(&format!("ns/{name}")).unwrap();
            assert!(object.revision() >= *revision, "round {round}: {name}");
            let whole = text(&object).ends_with(r#""}}"#);
            assert!(
                whole && (object.revision() > *revision || text(&object).contains(&format!(r#""{data}""#)))
            );
        }
        newest = store.revision();
    }
    println!("killed {count} times, at revision {newest}");
    assert!(newest > count, "something was written");
}

#[test]
fn killed_processes_keep_their_word() {
    kills("kill", 24);
}

#[test]
#[ignore = "takes a minute"]
fn killed_processes_keep_their_word_hundreds_of_times() {
    kills("kills", 400);
}
