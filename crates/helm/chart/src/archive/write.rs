//! Chart archives, made by rule: the same files give the same bytes, on every machine and on every day.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};

const BLOCK: usize = 512;
/// How many bytes the name of an entry can have, and how many the part before it.
const NAME: usize = 100;
const PREFIX: usize = 155;
/// The system that a gzip file comes from: none that is known.
const NO_SYSTEM: u8 = 255;

/// The time of all entries unless another one is asked for: the first second of 1980. It is no time that means
/// anything, and one that every archive format can hold.
pub const TIME: u64 = 315_532_800;

/// A file of an archive: its path, and its bytes.
pub type Entry<'a> = (String, &'a [u8]);

/// A gzipped tar of files.
pub fn pack(entries: &[Entry<'_>], time: u64) -> io::Result<Vec<u8>> {
    let mut out = GzBuilder::new().operating_system(NO_SYSTEM).write(Vec::new(), Compression::default());
    for (path, data) in entries {
        match split(path) {
            Some((prefix, name)) => out.write_all(&header(prefix, name, data.len(), time, b'0'))?,
            None => {
                let record = record("path", path);
                out.write_all(&header("", "PaxHeaders.0/file", record.len(), time, b'x'))?;
                out.write_all(&record)?;
                out.write_all(&padding(record.len()))?;
                let short: String = path.chars().filter(char::is_ascii).take(NAME).collect();
                out.write_all(&header("", &short, data.len(), time, b'0'))?;
            }
        }
        out.write_all(data)?;
        out.write_all(&padding(data.len()))?;
    }
    out.write_all(&[0; 2 * BLOCK])?;
    out.finish()
}

/// A path as the two parts that a header has room for.
fn split(path: &str) -> Option<(&str, &str)> {
    if !path.is_ascii() || path.contains('\0') {
        return None;
    }
    if path.len() <= NAME {
        return Some(("", path));
    }
    let slashes = path.match_indices('/').map(|(at, _)| at);
    slashes.filter_map(|at| Some((path.get(..at)?, path.get(at + 1..)?))).find(|(prefix, name)| {
        !prefix.is_empty() && prefix.len() <= PREFIX && !name.is_empty() && name.len() <= NAME
    })
}

/// An attribute with its own length in front.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length = rest.len() + length.to_string().len();
    }
    format!("{length}{rest}").into_bytes()
}

fn padding(size: usize) -> Vec<u8> {
    vec![0; size.next_multiple_of(BLOCK) - size]
}

/// The header of a file that anybody may read and nobody owns.
fn header(prefix: &str, name: &str, size: usize, time: u64, kind: u8) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &[u8]| {
        if let Some(place) = header.get_mut(at..at + text.len()) {
            place.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes());
    put(100, b"0000644\x000000000\x000000000\0");
    put(124, format!("{size:011o}\0{time:011o}\0").as_bytes());
    // The sum counts itself as blanks.
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(329, b"0000000\x000000000\0");
    put(345, prefix.as_bytes());
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = header.get_mut(148..156) {
        place.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{MAX_SIZE, extract};
    use crate::dialect::HELM4;

    #[test]
    fn what_was_packed_is_read_again_and_is_the_same_every_time() {
        let long = format!("chart/{}/{}", "d".repeat(120), "f".repeat(90));
        let longer = format!("chart/{}", "x".repeat(300));
        let names = ["chart/Chart.yaml", "chart/ümlaut", &long, &longer];
        let entries: Vec<Entry<'_>> =
            names.iter().map(|name| ((*name).to_owned(), &b"content"[..])).collect();
        let packed = pack(&entries, TIME).unwrap();
        assert_eq!(packed, pack(&entries, TIME).unwrap());
        assert_ne!(packed, pack(&entries, TIME + 1).unwrap());
        let files = extract(&packed, &HELM4, &mut MAX_SIZE.clone()).unwrap();
        let read: Vec<String> = files.iter().map(|file| format!("chart/{}", file.name)).collect();
        assert_eq!(read, names);
        assert!(files.iter().all(|file| &*file.data == b"content"));
    }
}
