//! A deterministic ustar writer, with PAX headers for values that do not fit.

use std::io::{self, Read, Write};

use super::{BLOCK, Entry, EntryKind};

/// Writes an archive.
pub struct TarWriter<W> {
    inner: W,
}

impl<W: Write> TarWriter<W> {
    /// Writes to a stream.
    pub fn new(inner: W) -> Self {
        Self { inner }
    }

    /// Appends an entry; `content` has to have exactly `entry.size` bytes.
    pub fn append(&mut self, entry: &Entry, content: &mut dyn Read) -> io::Result<()> {
        let pax_records = pax_records(entry);
        if !pax_records.is_empty() {
            let head = Entry { mtime: 0, ..Entry::file("pax", 0o644, pax_records.len() as u64) };
            self.inner.write_all(&encode_header(&head, b'x', b"", pax_records.len() as u64))?;
            self.inner.write_all(&pax_records)?;
            self.pad(pax_records.len() as u64)?;
        }
        let (kind, size) = match entry.kind {
            EntryKind::File => (b'0', entry.size),
            EntryKind::HardLink => (b'1', 0),
            EntryKind::Symlink => (b'2', 0),
            EntryKind::Directory => (b'5', 0),
            EntryKind::Special => return Err(io::Error::other("devices and pipes cannot be written")),
        };
        self.inner.write_all(&encode_header(entry, kind, &entry.link, size))?;
        let copied = io::copy(&mut content.take(size.saturating_add(1)), &mut self.inner)?;
        if copied != size {
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            return Err(io::Error::other(format!(
                "{path} changed while it was read: it should have {size} bytes"
            )));
        }
        self.pad(size)
    }

    /// Writes the end-of-archive marker.
    pub fn finish(mut self) -> io::Result<W> {
        self.inner.write_all(&[0; 2 * BLOCK])?;
        Ok(self.inner)
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        let fill = size.next_multiple_of(BLOCK as u64) - size;
        self.inner.write_all(&[0; BLOCK][..fill as usize])
    }
}

const MAX_OCTAL_7: u64 = (1 << 21) - 1;
const MAX_OCTAL_11: u64 = (1 << 33) - 1;

/// Encodes PAX records for values that do not fit into the header.
fn pax_records(entry: &Entry) -> Vec<u8> {
    let mut pax_records = Vec::new();
    let mut add = |key: &str, value: &[u8]| {
        // The length includes its own digits.
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while rest + length.to_string().len() != length {
            length = rest + length.to_string().len();
        }
        pax_records.extend_from_slice(format!("{length} {key}=").as_bytes());
        pax_records.extend_from_slice(value);
        pax_records.push(b'\n');
    };
    if entry.path.len() > 100 || !entry.path.is_ascii() {
        add("path", &entry.path);
    }
    if entry.link.len() > 100 || !entry.link.is_ascii() {
        add("linkpath", &entry.link);
    }
    for (key, value, limit) in
        [("size", entry.size, MAX_OCTAL_11), ("uid", entry.uid, MAX_OCTAL_7), ("gid", entry.gid, MAX_OCTAL_7)]
    {
        if value > limit {
            add(key, value.to_string().as_bytes());
        }
    }
    if u64::try_from(entry.mtime).is_err() || entry.mtime as u64 > MAX_OCTAL_11 {
        add("mtime", entry.mtime.to_string().as_bytes());
    }
    pax_records
}

/// Encodes a header. Values that do not fit are truncated; the preceding PAX header has them in full.
pub(super) fn encode_header(entry: &Entry, kind: u8, link: &[u8], size: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    let mut put = |at: usize, bytes: &[u8], room: usize| {
        let bytes = bytes.get(..room).unwrap_or(bytes);
        block[at..at + bytes.len()].copy_from_slice(bytes);
    };
    let octal = |value: u64, digits: usize, limit: u64| {
        format!("{:0digits$o}\0", if value > limit { 0 } else { value })
    };
    put(0, &entry.path, 100);
    put(100, octal(u64::from(entry.mode), 7, MAX_OCTAL_7).as_bytes(), 8);
    put(108, octal(entry.uid, 7, MAX_OCTAL_7).as_bytes(), 8);
    put(116, octal(entry.gid, 7, MAX_OCTAL_7).as_bytes(), 8);
    put(124, octal(size, 11, MAX_OCTAL_11).as_bytes(), 12);
    put(136, octal(u64::try_from(entry.mtime).unwrap_or(0), 11, MAX_OCTAL_11).as_bytes(), 12);
    put(148, b"        ", 8);
    put(156, &[kind], 1);
    put(157, link, 100);
    put(257, b"ustar\x0000", 8);
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}
