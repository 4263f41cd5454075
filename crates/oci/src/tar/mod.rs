//! Reading and writing of tar archives.

mod read;
mod write;

pub use read::TarReader;
pub use write::TarWriter;

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A hard link to an earlier entry.
    HardLink,
    /// A symbolic link.
    Symlink,
    /// A directory.
    Directory,
    /// A device or a pipe.
    Special,
}

/// The header of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Path, as stored.
    pub path: Vec<u8>,
    /// Entry type.
    pub kind: EntryKind,
    /// Link target, as stored.
    pub link: Vec<u8>,
    /// File size in bytes.
    pub size: u64,
    /// Permission bits, with setuid, setgid and sticky.
    pub mode: u32,
    /// User ID.
    pub uid: u64,
    /// Group ID.
    pub gid: u64,
    /// Modification time, in seconds since the epoch.
    pub mtime: i64,
    /// Whether the entry has extended attributes, which are not kept.
    pub has_xattrs: bool,
}

impl Entry {
    /// A file owned by root.
    pub fn file(path: &str, mode: u32, size: u64) -> Self {
        Self {
            path: path.as_bytes().to_vec(),
            kind: EntryKind::File,
            link: Vec::new(),
            size,
            mode,
            uid: 0,
            gid: 0,
            mtime: 0,
            has_xattrs: false,
        }
    }

    /// A directory owned by root.
    pub fn directory(path: &str, mode: u32) -> Self {
        Self { kind: EntryKind::Directory, ..Self::file(path, mode, 0) }
    }

    /// A symbolic link owned by root.
    pub fn symlink(path: &str, target: &str) -> Self {
        Self { kind: EntryKind::Symlink, link: target.as_bytes().to_vec(), ..Self::file(path, 0o777, 0) }
    }
}

const BLOCK: usize = 512;

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn write_archive(entries: &[(Entry, &[u8])]) -> Vec<u8> {
        let mut writer = TarWriter::new(Vec::new());
        for (entry, data) in entries {
            writer.append(entry, &mut &data[..]).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(data: &[u8]) -> std::io::Result<Vec<(Entry, Vec<u8>)>> {
        let mut reader = TarReader::new(data);
        let mut entries = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            let mut content = Vec::new();
            reader.read_to_end(&mut content)?;
            entries.push((entry, content));
        }
        Ok(entries)
    }

    #[test]
    fn entries_round_trip() {
        let long = "d/".repeat(300) + "file";
        let owner = Entry { uid: 1 << 40, gid: 70_000, mtime: 1 << 40, ..Entry::file("owner", 0o4755, 3) };
        let entries: Vec<(Entry, &[u8])> = vec![
            (Entry::directory("a/", 0o755), b""),
            (Entry::file("a/b", 0o644, 5), b"hello"),
            (Entry::file(&long, 0o600, 513), &[7; 513]),
            (Entry::symlink("link", &"x".repeat(150)), b""),
            (Entry::file("ümläut", 0o644, 0), b""),
            (owner, b"abc"),
            (
                Entry { kind: EntryKind::HardLink, link: b"a/b".to_vec(), ..Entry::file("hard", 0o644, 0) },
                b"",
            ),
            (Entry { mtime: -5, ..Entry::file("old", 0o644, 0) }, b""),
        ];
        let data = write_archive(&entries);
        assert_eq!(data.len() % 512, 0);
        let again = read(&data).unwrap();
        assert_eq!(again.len(), entries.len());
        for ((entry, content), (expected, data)) in again.iter().zip(&entries) {
            assert_eq!((entry, content.as_slice()), (expected, *data));
        }
        assert_eq!(write_archive(&entries), data, "the same bytes");
    }

    #[test]
    fn writer_rejects_content_size_mismatch() {
        for size in [4, 6] {
            let mut writer = TarWriter::new(Vec::new());
            assert!(writer.append(&Entry::file("a", 0o644, size), &mut &b"hello"[..]).is_err(), "{size}");
        }
    }

    #[test]
    fn reader_rejects_corrupt_archives() {
        let data = write_archive(&[
            (Entry::file("a", 0o644, 5), b"hello"),
            (Entry::file(&"p".repeat(200), 0o644, 5), b"hello"),
        ]);
        for end in [1, 100, 511, 515, 1030, 1500] {
            assert!(read(&data[..end]).is_err(), "cut at {end}");
        }
        let mut other = data.clone();
        other[0] ^= 1;
        assert!(read(&other).is_err(), "the checksum");
        assert_eq!(read(&[]).unwrap(), []);
    }

    #[test]
    fn reader_bounds_pax_headers_and_rejects_sparse_files() {
        let pax = |pax_records: &[u8], size: u64| {
            let mut head = Entry::file("x", 0o644, size);
            head.kind = EntryKind::File;
            let mut data = write::encode_header(&head, b'x', b"", size);
            data.extend_from_slice(pax_records);
            data.resize(data.len().next_multiple_of(512), 0);
            data.extend(write_archive(&[(Entry::file("a", 0o644, 0), b"")]));
            data
        };
        for pax_records in [&b"9 path=b\n"[..], b"12 path=x/../"] {
            let _ = read(&pax(pax_records, pax_records.len() as u64));
        }
        assert_eq!(read(&pax(b"10 path=b\n", 10)).unwrap()[0].0.path, b"b");
        for pax_records in [
            &b"22 GNU.sparse.major=1\n"[..],
            b"99999999999999999999 path=b\n",
            b"0 path=b\n",
            b"-1 path=b\n",
            b"10 path:b\n",
            b"12 size=-10\n",
            b"4 a\n",
            b"10 path=bX",
        ] {
            assert!(
                read(&pax(pax_records, pax_records.len() as u64)).is_err(),
                "{}",
                String::from_utf8_lossy(pax_records)
            );
        }
        assert!(read(&pax(b"", 100 << 20)).is_err());
    }
}
