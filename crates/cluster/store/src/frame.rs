//! The form of the files: a header, and then frames, each of which is one synchronised group of records.
//!
//! A frame is all there or it is not there: its checksum is over the whole group. It is written only after the frame
//! before it was synchronised, so a broken frame with a whole one behind it is damage, and a broken last one is a write
//! that nobody was told of.

use crate::{Object, Revision};

/// The format that is written, and the newest one that is read.
pub(crate) const FORMAT: u32 = 1;
/// How long the header of a file is.
pub(crate) const HEADER: usize = 64;
/// How long the header of a frame is.
pub(crate) const FRAME: usize = 24;
/// The longest group of records.
pub(crate) const LONGEST: usize = 64 << 20;

const NAME: &[u8; 16] = b"podium store\n\0\0\0";
/// Bytes that are never in UTF-8, so that no object can look like a frame.
const MARK: [u8; 4] = [0xff, 0xfe, 0xf5, 0xc0];

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Its number.
    pub number: u64,
    /// The last revision before it (of a log), or in it (of a snapshot).
    pub revision: Revision,
    /// Where the log before it ends.
    pub before: u64,
}

/// What the first bytes of a file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    Good(Header),
    Newer { format: u32, by: String },
    Broken,
}

impl Header {
    pub fn encode(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let parts: [(usize, &[u8]); 6] = [
            (0, NAME),
            (16, &FORMAT.to_le_bytes()),
            (20, version.get(..16).unwrap_or(version)),
            (36, &self.number.to_le_bytes()),
            (44, &self.revision.to_le_bytes()),
            (52, &self.before.to_le_bytes()),
        ];
        for (at, part) in parts {
            bytes[at..at + part.len()].copy_from_slice(part);
        }
        let sum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Opening {
        let Some(bytes) = bytes.first_chunk::<HEADER>() else { return Opening::Broken };
        if bytes[..16] != NAME[..] {
            return Opening::Broken;
        }
        // Newer formats keep these first fields where they are.
        let format = word(bytes, 16);
        if format > FORMAT {
            let by = String::from_utf8_lossy(&bytes[20..36]);
            return Opening::Newer { format, by: by.trim_end_matches('\0').to_string() };
        }
        if crc32fast::hash(&bytes[..60]) != word(bytes, 60) {
            return Opening::Broken;
        }
        Opening::Good(Self { number: long(bytes, 36), revision: long(bytes, 44), before: long(bytes, 52) })
    }
}

/// One group of records.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// The revision of its first record.
    pub first: Revision,
    pub records: &'a [u8],
}

/// What is at a place of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    Frame(Frame<'a>),
    /// Nothing but zeros, or nothing at all.
    Nothing,
    Broken,
}

/// The header of a frame with these records.
pub(crate) fn frame_header(first: Revision, records: &[u8]) -> [u8; FRAME] {
    let mut bytes = [0; FRAME];
    bytes[..4].copy_from_slice(&MARK);
    bytes[4..8].copy_from_slice(&(records.len() as u32).to_le_bytes());
    bytes[8..16].copy_from_slice(&first.to_le_bytes());
    bytes[16..20].copy_from_slice(&crc32fast::hash(records).to_le_bytes());
    let sum = crc32fast::hash(&bytes[..20]);
    bytes[20..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// How many bytes of records follow this header; nothing when it is not one.
pub(crate) fn frame_length(header: &[u8; FRAME]) -> Option<usize> {
    let length = word(header, 4) as usize;
    let good = header[..4] == MARK && crc32fast::hash(&header[..20]) == word(header, 20) && length <= LONGEST;
    good.then_some(length)
}

/// What these bytes begin with.
pub(crate) fn frame(bytes: &[u8]) -> Found<'_> {
    let Some(header) = bytes.first_chunk::<FRAME>() else {
        return if bytes.iter().all(|b| *b == 0) { Found::Nothing } else { Found::Broken };
    };
    let records = frame_length(header).and_then(|length| bytes.get(FRAME..FRAME + length));
    match records {
        Some(records) if crc32fast::hash(records) == word(header, 16) => {
            Found::Frame(Frame { first: long(header, 8), records })
        }
        None if bytes.iter().all(|b| *b == 0) => Found::Nothing,
        _ => Found::Broken,
    }
}

/// Whether a whole frame is anywhere in these bytes.
pub(crate) fn any_frame(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|b| *b == MARK[0]) {
        rest = rest.get(at..).unwrap_or_default();
        if matches!(frame(rest), Found::Frame(_)) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// One change, as it is in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    Put {
        resource: &'a str,
        object: Object,
    },
    Delete {
        resource: &'a str,
        path: &'a str,
    },
    /// The end of a snapshot, with the number of its objects.
    End {
        objects: u64,
    },
}

const PUT: u8 = 1;
const DELETE: u8 = 2;
const END: u8 = 3;

pub(crate) fn put(into: &mut Vec<u8>, resource: &str, object: &Object) {
    begin(into, PUT, resource);
    into.extend_from_slice(&(object.size() as u32).to_le_bytes());
    into.extend_from_slice(object.stored());
}

pub(crate) fn delete(into: &mut Vec<u8>, resource: &str, path: &str) {
    begin(into, DELETE, resource);
    into.extend_from_slice(&(path.len() as u32).to_le_bytes());
    into.extend_from_slice(path.as_bytes());
}

pub(crate) fn end(into: &mut Vec<u8>, objects: u64) {
    begin(into, END, "");
    into.extend_from_slice(&8u32.to_le_bytes());
    into.extend_from_slice(&objects.to_le_bytes());
}

fn begin(into: &mut Vec<u8>, what: u8, resource: &str) {
    into.push(what);
    into.extend_from_slice(&(resource.len() as u16).to_le_bytes());
    into.extend_from_slice(resource.as_bytes());
}

/// Takes the first record off; nothing when it makes no sense.
pub(crate) fn record<'a>(bytes: &mut &'a [u8]) -> Option<Record<'a>> {
    let (&what, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (resource, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    let resource = str::from_utf8(resource).ok()?;
    match what {
        PUT => Some(Record::Put { resource, object: Object::load(content)? }),
        DELETE => Some(Record::Delete { resource, path: str::from_utf8(content).ok()? }),
        END => Some(Record::End { objects: u64::from_le_bytes(content.try_into().ok()?) }),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Draft;

    #[test]
    fn a_header_is_read_back_and_any_changed_byte_is_seen() {
        let header = Header { number: 3, revision: 99, before: 4096 };
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes), Opening::Good(header));
        for at in 0..HEADER {
            let mut bad = bytes;
            bad[at] ^= 1;
            assert_ne!(Header::decode(&bad), Opening::Good(header), "byte {at}");
        }
        let mut newer = bytes;
        newer[16] = 2;
        let by = env!("CARGO_PKG_VERSION").to_string();
        assert_eq!(Header::decode(&newer), Opening::Newer { format: 2, by });
    }

    #[test]
    fn a_frame_is_whole_or_broken() {
        let object = Draft::new(r#"{"metadata":{"resourceVersion":""}}"#).unwrap().finish("a", 5);
        let mut records = Vec::new();
        put(&mut records, "pods", &object);
        delete(&mut records, "pods", "b");
        end(&mut records, 7);
        let bytes = [&frame_header(5, &records)[..], &records].concat();
        assert_eq!(frame(&bytes), Found::Frame(Frame { first: 5, records: &records }));
        let mut rest = &records[..];
        assert_eq!(record(&mut rest), Some(Record::Put { resource: "pods", object }));
        assert_eq!(record(&mut rest), Some(Record::Delete { resource: "pods", path: "b" }));
        assert_eq!(record(&mut rest), Some(Record::End { objects: 7 }));
        assert!(rest.is_empty() && any_frame(&[b"noise", &bytes[..]].concat()));
        for at in 0..bytes.len() {
            assert_eq!(frame(&bytes[..at]), if at == 0 { Found::Nothing } else { Found::Broken });
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert_eq!(frame(&bad), Found::Broken, "byte {at}");
            assert!(!any_frame(&bad));
        }
        assert_eq!(frame(&[0; 100]), Found::Nothing);
    }
}
