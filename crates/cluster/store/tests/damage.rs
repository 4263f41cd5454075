//! Files that were torn, changed, removed or made by others: cut where nothing is lost, refused with words otherwise.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::sync::Arc;

use common::{Scratch, put};
use podium_store::sim::{Crash, SimDisk};
use podium_store::{Disk, Error, Options, Store};

fn options() -> Options {
    Options { threads: false, segment_bytes: 1_000, compact_bytes: 4_000, ..Options::default() }
}

fn open(disk: &SimDisk) -> Result<Store, Error> {
    Store::on(Arc::new(disk.clone()), options())
}

fn error(disk: &SimDisk) -> Error {
    match open(disk) {
        Ok(store) => panic!("opened {}", store.recovery()),
        Err(error) => error,
    }
}

fn copy(disk: &SimDisk) -> SimDisk {
    disk.after(Crash::Kill, &mut |_| 0)
}

/// A disk with a few writes on it, in one file.
fn one_file(writes: usize) -> SimDisk {
    let disk = SimDisk::new();
    let store = Store::on(Arc::new(disk.clone()), Options { segment_bytes: 1 << 16, ..options() }).unwrap();
    for i in 0..writes {
        put(&store, "pods", &format!("p{i}"), "data");
    }
    disk
}

/// A disk with snapshots and several files.
fn many_files() -> SimDisk {
    let disk = SimDisk::new();
    let store = open(&disk).unwrap();
    for i in 0..80 {
        put(&store, "pods", &format!("p{}", i % 7), &"x".repeat(100));
    }
    assert!(disk.names().unwrap().iter().any(|n| n.starts_with("snapshot")));
    disk
}

fn used(disk: &SimDisk, name: &str) -> usize {
    disk.content(name).iter().rposition(|b| *b != 0).map_or(0, |at| at + 1)
}

#[test]
fn a_torn_last_write_is_cut_off_and_told_once() {
    let whole = one_file(3);
    let start = used(&one_file(2), "log-00000001");
    for length in start + 1..used(&whole, "log-00000001") {
        let disk = copy(&whole);
        disk.open("log-00000001").unwrap().cut(length as u64).unwrap();
        let store = open(&disk).unwrap();
        assert_eq!(store.revision(), 2);
        let cut = store.recovery().cut.clone().unwrap();
        assert_eq!(cut, ("log-00000001".to_string(), start as u64, (length - start) as u64));
        assert!(store.recovery().to_string().contains("never acknowledged"), "{}", store.recovery());
        drop(store);
        let store = open(&disk).unwrap();
        assert_eq!(store.recovery().cut, None);
        put(&store, "pods", "again", "data");
        drop(store);
        assert_eq!(open(&disk).unwrap().revision(), 3);
    }
}

#[test]
fn a_changed_byte_in_the_middle_is_refused_with_its_place() {
    let (first, second) = (used(&one_file(1), "log-00000001"), used(&one_file(2), "log-00000001"));
    for at in first..second {
        let disk = one_file(4);
        disk.damage("log-00000001", at);
        let Error::Damaged { file, offset, .. } = error(&disk) else { panic!("byte {at}") };
        assert_eq!((file.as_str(), offset), ("log-00000001", first as u64));
    }
    let disk = one_file(4);
    disk.damage("log-00000001", first + 30);
    let text = error(&disk).to_string();
    assert!(text.starts_with(&format!("log-00000001 is damaged at byte {first}: ")), "{text}");
    assert!(text.contains("backup"), "{text}");
}

#[test]
fn any_changed_byte_of_older_files_is_refused() {
    let disk = many_files();
    let mut files = disk.names().unwrap();
    let last = files.iter().rposition(|n| n.starts_with("log-")).unwrap();
    files.remove(last);
    let snapshots: Vec<_> = files.iter().filter(|n| n.starts_with("snapshot")).cloned().collect();
    for name in files {
        // The newer snapshot is read when the older one is gone.
        let spare = snapshots.len() == 2 && name == snapshots[1];
        for at in 0..used(&disk, &name) {
            let disk = copy(&disk);
            disk.damage(&name, at);
            match open(&disk).map(drop) {
                Err(Error::Damaged { file, .. } | Error::Newer { file, .. }) => assert_eq!(file, name),
                Ok(()) if spare => break,
                other => panic!("{name} byte {at}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let whole = many_files();
    for name in whole.names().unwrap() {
        let disk = copy(&whole);
        disk.remove(&name).unwrap();
        let last = whole.names().unwrap().iter().rfind(|n| n.starts_with("log-")).cloned().unwrap();
        match open(&disk).map(|store| store.revision()) {
            // Two generations: with one snapshot gone, or a log between them, the other one is enough.
            Ok(80) if name != last => {}
            // Nothing says that there was another file: it has the last few writes.
            Ok(revision) if name == last => assert!(revision > 60),
            Err(Error::Missing { file }) => {
                assert!(file == name || file.starts_with("snapshot"), "{file} {name}")
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    let disk = copy(&whole);
    for name in disk.names().unwrap().iter().filter(|n| n.starts_with("snapshot")) {
        disk.remove(name).unwrap();
    }
    assert!(error(&disk).to_string().contains("snapshot-"), "{}", error(&disk));
}

#[test]
fn a_store_of_a_newer_version_is_refused_by_name() {
    let disk = one_file(2);
    disk.damage("log-00000001", 16);
    let text = error(&disk).to_string();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        text,
        format!(
            "log-00000001 was written by podium {version} in format 33, this one reads up to 1: use podium {version} or newer"
        )
    );
}

#[test]
fn a_directory_in_use_is_told() {
    let scratch = Scratch::new("lock");
    let store = Store::open(&scratch.0, Options::default()).unwrap();
    let text = Store::open(&scratch.0, Options::default()).err().unwrap().to_string();
    assert_eq!(text, format!("{} is in use by process {}", scratch.0.display(), std::process::id()));
    drop(store);
    Store::open(&scratch.0, Options::default()).unwrap();
}

#[cfg(unix)]
#[test]
fn files_are_private_and_a_directory_of_another_user_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let scratch = Scratch::new("owner");
    drop(Store::open(&scratch.0, Options::default()).unwrap());
    assert_eq!(scratch.0.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for entry in std::fs::read_dir(&scratch.0).unwrap() {
        assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Only root can give a directory away.
    let me = scratch.0.metadata().unwrap().uid();
    if chown(&scratch.0, Some(me + 4711), None).is_ok() {
        let text = Store::open(&scratch.0, Options::default()).err().unwrap().to_string();
        assert!(
            text.contains(&format!("belongs to user {}, this process runs as user {me}", me + 4711)),
            "{text}"
        );
    }
}

#[test]
fn a_full_disk_is_told_and_goes_on() {
    let disk = SimDisk::new();
    let store = Store::on(Arc::new(disk.clone()), options()).unwrap();
    put(&store, "pods", "a", "1");
    disk.set_space(Some(10));
    let draft = podium_store::Draft::new(common::body("b", "red", &"x".repeat(3_000), "")).unwrap();
    let key = podium_store::Key::new("pods", "ns", "b");
    let refused = store.put(key.clone(), podium_store::Expect::Any, draft.clone()).wait().unwrap_err();
    assert!(
        refused.to_string().contains("no space left") && refused.to_string().contains("is safe"),
        "{refused}"
    );
    assert!(store.collection("pods").get("ns/a").is_some() && store.revision() == 1);
    // Trying again and again takes no space, and what is small still finds some.
    let before = (disk.names().unwrap().len(), disk.size());
    disk.set_space(Some(200));
    for _ in 0..20 {
        assert!(store.put(key.clone(), podium_store::Expect::Any, draft.clone()).wait().is_err());
    }
    assert_eq!(disk.names().unwrap().len(), before.0);
    assert!(disk.size() <= before.1, "{} {}", disk.size(), before.1);
    disk.set_space(None);
    store.put(key, podium_store::Expect::Absent, draft).wait().unwrap();
    drop(store);
    let store = open(&disk.after(Crash::Power, &mut |_| 0)).unwrap();
    assert_eq!((store.revision(), store.stats().objects), (2, 2));
}
