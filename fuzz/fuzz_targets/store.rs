//! Bytes as the files of a store and as the body of an object.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use podium_store::sim::SimDisk;
use podium_store::{Disk, Draft, Expect, Key, Object, Options, Query, Store};

const LOG: &str = "log-00000001";
/// How long the header of a file is.
const HEADER: usize = 64;

/// A store with a few writes and removals in its first log file.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let disk = SimDisk::new();
    if let Some(store) = open(&disk) {
        for i in 0..4 {
            let body = format!(r#"{{"metadata":{{"resourceVersion":"","labels":{{"a":"{i}"}}}}}}"#);
            let draft = Draft::new(body).expect("an object").field("x", "y");
            let key = |i| Key::new("pods", "ns", &format!("p{i}"));
            store.put(key(i), Expect::Any, draft).wait().expect("written");
            let _ = store.delete(key(i / 2), Expect::Any).wait();
        }
    }
    disk.content(LOG)
});

fn open(disk: &SimDisk) -> Option<Store> {
    Store::on(Arc::new(disk.clone()), Options { threads: false, segment_bytes: 512, ..Options::default() }).ok()
}

fn disk_with(files: &[(&str, &[u8])]) -> SimDisk {
    let disk = SimDisk::new();
    for (name, bytes) in files {
        disk.create(name).and_then(|mut file| file.write_at(0, bytes)).expect("a disk in memory");
    }
    disk
}

/// A group with the right checksums around any records.
fn group(first: u64, records: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xfe, 0xf5, 0xc0];
    bytes.extend((records.len() as u32).to_le_bytes());
    bytes.extend(first.to_le_bytes());
    bytes.extend(crc32fast::hash(records).to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes.extend(records);
    bytes
}

fn read(object: &Object) -> usize {
    let texts = object.labels().chain(object.fields()).map(|(name, value)| name.len() + value.len());
    texts.sum::<usize>() + object.item().len() + object.metadata().len() + object.with_revision(7).size()
}

/// Whatever a store was opened from, it can be read, written and opened again.
fn use_it(disk: &SimDisk) {
    let Some(store) = open(disk) else { return };
    let pods = store.collection("pods");
    let before = pods.list(Query::default(), |object| read(object) > 0).expect("the newest list");
    let draft = Draft::new(r#"{"metadata":{"resourceVersion":""}}"#).expect("an object");
    let Ok(written) = store.put(Key::new("pods", "", "new"), Expect::Any, draft).wait() else { return };
    assert_eq!(written.revision, before.revision + 1);
    drop(store);
    let store = open(disk).expect("what was written can be read");
    assert_eq!(store.revision(), written.revision);
    assert_eq!(store.recovery().cut, None);
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let good = &**GOOD;
    match choice % 5 {
        0 => use_it(&disk_with(&[(LOG, rest)])),
        1 => use_it(&disk_with(&[(LOG, &[&good[..HEADER], rest].concat())])),
        2 => use_it(&disk_with(&[(LOG, &[&good[..HEADER], &group(1, rest)[..]].concat())])),
        3 => {
            // A place, a change of it, and the next one.
            let mut bytes = good.to_vec();
            for change in rest.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
                bytes[at] ^= change[2];
            }
            use_it(&disk_with(&[(LOG, &bytes)]));
        }
        _ => {
            let Ok(draft) = Draft::new(rest) else { return };
            let store = open(&SimDisk::new()).expect("an empty disk");
            let object = store.put(Key::new("pods", "ns", "a"), Expect::Absent, draft).wait().expect("written").object;
            assert_eq!(object.revision(), 1);
            assert!(read(&object) > 0);
            let again = Draft::new(object.body()).expect("what was stored is an object");
            let again = store.put(Key::new("pods", "ns", "b"), Expect::Absent, again).wait().expect("written").object;
            assert_eq!(again.body(), object.with_revision(2).body());
        }
    }
});
