use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::dialect::{HELM3, HELM4};

/// A tar header of the oldest kind, with a right checksum.
fn header(name: &str, size: u64, kind: u8) -> Vec<u8> {
    let mut block = vec![0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..107].copy_from_slice(b"0000644");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[156] = kind;
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block
}

fn entry(name: &str, data: &[u8], kind: u8) -> Vec<u8> {
    let mut entry = header(name, data.len() as u64, kind);
    entry.extend(data);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entries.concat();
    tar.resize(tar.len() + 1024, 0);
    gzip(&tar)
}

fn unpack(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let files = extract(archive, &HELM4, &mut MAX_SIZE.clone()).map_err(|error| error.to_string())?;
    Ok(files.into_iter().map(|file| (file.name.to_string(), file.data.to_vec())).collect())
}

fn unpack_name(name: &str) -> Result<String, String> {
    unpack(&archive(&[entry(name, b"x", b'0')])).map(|mut files| files.remove(0).0)
}

#[test]
fn the_first_directory_is_cut_off() {
    for (name, want) in [
        ("c/Chart.yaml", "Chart.yaml"),
        ("c/a//b/./x", "a/b/x"),
        ("c\\templates\\x", "templates/x"),
        ("c/a\\b", "b"),
        ("c/a/../b", "b"),
        ("any/.helmignore", ".helmignore"),
        ("/c/x", "c/x"),
    ] {
        assert_eq!(unpack_name(name).as_deref(), Ok(want), "{name}");
    }
}

#[test]
fn names_that_leave_the_chart_are_refused() {
    for (name, want) in [
        ("x", "chart illegally contains content outside the base directory: \"x\""),
        ("Chart.yaml", "chart illegally contains content outside the base directory: \"Chart.yaml\""),
        ("c//etc/passwd", "chart illegally contains absolute paths"),
        ("c/../../x", "chart illegally references parent directory"),
        ("c/..x", "chart illegally references parent directory"),
        ("c/C:/x", "chart contains illegally named files"),
        ("c\\..\\x", "chart illegally references parent directory"),
        ("Chart.yaml/x", "chart yaml not in base directory"),
        ("c/.", "chart illegally contains content outside the base directory: \"c/.\""),
    ] {
        assert_eq!(unpack_name(name).unwrap_err(), want, "{name}");
    }
}

#[test]
fn links_and_devices_become_empty_files_and_directories_nothing() {
    let entries: Vec<_> = [b'1', b'2', b'3', b'4', b'5', b'6'].map(|kind| header("c/x", 0, kind)).into();
    let files = unpack(&archive(&entries)).unwrap();
    assert_eq!(files, vec![("x".to_owned(), Vec::new()); 5]);
    // A link that claims to have content has none.
    let error = unpack(&archive(&[header("c/x", 5, b'2')])).unwrap_err();
    assert_eq!(error, "decompressed chart is larger than the maximum size 104857600");
}

#[test]
fn equal_names_are_all_kept_in_order() {
    let files = unpack(&archive(&[entry("c/x", b"1", b'0'), entry("d/x", b"\xEF\xBB\xBF2", b'0')])).unwrap();
    assert_eq!(files, [("x".to_owned(), b"1".to_vec()), ("x".to_owned(), b"2".to_vec())]);
}

#[test]
fn long_names_and_attributes_are_understood() {
    let long = format!("c/{}", "d/".repeat(100));
    let name = format!("{long}x");
    let gnu = [entry("././@LongLink", format!("{name}\0").as_bytes(), b'L'), entry("c/cut", b"1", b'0')];
    let record = format!("{} path={name}\n", name.len() + 10);
    let pax = [entry("pax", record.as_bytes(), b'x'), entry("c/cut", b"1", b'0')];
    for entries in [gnu, pax] {
        assert_eq!(unpack(&archive(&entries)).unwrap()[0].0, name[2..]);
    }
    let global = [entry("g", b"11 a=b c d\n", b'g'), entry("c/x", b"1", b'0')];
    assert_eq!(unpack(&archive(&global)).unwrap().len(), 1);
    let bad = [entry("pax", b"99 path=x\n", b'x'), entry("c/x", b"1", b'0')];
    assert_eq!(unpack(&archive(&bad)).unwrap_err(), "archive/tar: invalid tar header");
    let holes = "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n";
    let sparse = [entry("pax", holes.as_bytes(), b'x'), entry("c/x", b"1", b'0')];
    assert!(unpack(&archive(&sparse)).unwrap_err().contains("sparse"));
}

#[test]
fn damaged_archives_are_refused() {
    let good = archive(&[entry("c/x", &vec![b'x'; 3000], b'0')]);
    assert_eq!(unpack(b"").unwrap_err(), "EOF");
    assert_eq!(unpack(b"text is no gzip").unwrap_err(), "gzip: invalid header");
    assert_eq!(unpack(&good[..6]).unwrap_err(), "unexpected EOF");
    assert_eq!(unpack(&good[..30]).unwrap_err(), "unexpected EOF");
    assert_eq!(unpack(&gzip(b"")).unwrap_err(), "no files in chart archive");
    assert_eq!(unpack(&gzip(b"short")).unwrap_err(), "unexpected EOF");
    assert_eq!(unpack(&gzip(&[b'x'; 512])).unwrap_err(), "archive/tar: invalid tar header");
    let mut tar = entry("c/x", b"x", b'0');
    tar.resize(tar.len() + 512, 0);
    tar.extend([1; 512]);
    assert_eq!(unpack(&gzip(&tar)).unwrap_err(), "archive/tar: invalid tar header");
    let cut = entry("c/x", &[b'x'; 600], b'0');
    assert_eq!(unpack(&gzip(&cut[..1000])).unwrap_err(), "unexpected EOF");
}

#[test]
fn several_gzip_members_are_one_archive() {
    let mut tar = entry("c/x", b"x", b'0');
    tar.resize(tar.len() + 1024, 0);
    let (start, end) = tar.split_at(700);
    assert_eq!(unpack(&[gzip(start), gzip(end)].concat()).unwrap().len(), 1);
}

#[test]
fn limits_hold_before_memory_is_used() {
    // A header that claims eight gigabytes.
    let liar = archive(&[header("c/x", 0o77777777777, b'0')]);
    assert_eq!(
        extract(&liar, &HELM4, &mut MAX_SIZE.clone()).unwrap_err().to_string(),
        "decompressed chart is larger than the maximum size 104857600"
    );
    assert_eq!(
        extract(&liar, &HELM3, &mut MAX_SIZE.clone()).unwrap_err().to_string(),
        "decompressed chart is larger than the maximum file size 104857600"
    );
    // A header that claims less than the limit, with nothing behind it.
    let cut = archive(&[header("c/x", 90 << 20, b'0')]);
    assert_eq!(extract(&cut, &HELM4, &mut MAX_SIZE.clone()).unwrap_err(), Error::CutOff);
    assert_eq!(
        extract(&cut, &HELM3, &mut MAX_SIZE.clone()).unwrap_err().to_string(),
        "decompressed chart file \"c/x\" is larger than the maximum file size 5242880"
    );
    let two = archive(&[entry("c/x", &[b'x'; 600], b'0'), entry("c/y", &[b'x'; 600], b'0')]);
    let mut budget = 1201;
    assert_eq!(extract(&two, &HELM4, &mut budget).unwrap().len(), 2);
    assert_eq!(budget, 1);
    // The last byte of the budget is not for use, as in Helm.
    assert!(extract(&two, &HELM4, &mut 1200).is_err());
}

#[test]
fn endless_headers_come_to_an_end() {
    let bomb = gzip(&header("c/", 0, b'5').repeat(100));
    let error =
        extract_within(&bomb, &HELM4, &mut MAX_SIZE.clone(), 99 * 512, &mut Spare::default()).unwrap_err();
    assert_eq!(error, Error::StreamTooLarge(99 * 512));
}
