//! A streaming reader for v7, ustar, GNU and PAX archives.

use std::io::{self, Read};

use super::{BLOCK, Entry, EntryKind};

/// Maximum size of a PAX header or GNU long name.
const MAX_EXTENSION: u64 = 1 << 20;
/// Maximum number of extension headers before an entry.
const MAX_EXTENSION_HEADERS: usize = 16;

/// Iterates over the entries of an archive. After [`TarReader::next_entry`], reads return the content of that entry.
pub struct TarReader<R> {
    inner: R,
    /// Unread content of the current entry, and the padding of its last block.
    content_remaining: u64,
    padding: u64,
}

#[derive(Default)]
struct ExtendedHeader {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u64>,
    gid: Option<u64>,
    mtime: Option<i64>,
    has_xattrs: bool,
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("broken tar: {}", text.into()))
}

impl<R: Read> TarReader<R> {
    /// Reads an archive from a stream.
    pub fn new(inner: R) -> Self {
        Self { inner, content_remaining: 0, padding: 0 }
    }

    /// The underlying stream.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns the underlying stream.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// The next entry; `None` at the end of the archive.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry>> {
        let mut extended = ExtendedHeader::default();
        for _ in 0..MAX_EXTENSION_HEADERS {
            self.skip_content()?;
            let Some(block) = self.read_header()? else { return Ok(None) };
            let size = parse_number(&block[124..136])?;
            match block[156] {
                b'x' => {
                    let pax_records = self.read_extension(size)?;
                    parse_pax_records(&pax_records, &mut extended)?;
                }
                // Global PAX headers have nothing that is kept.
                b'g' => {
                    self.read_extension(size)?;
                }
                b'L' => extended.path = Some(until_nul(&self.read_extension(size)?)),
                b'K' => extended.link = Some(until_nul(&self.read_extension(size)?)),
                b'S' => return Err(invalid("sparse files are not supported")),
                kind => return self.build_entry(&block, kind, size, extended).map(Some),
            }
        }
        Err(invalid("too many headers before an entry"))
    }

    fn build_entry(
        &mut self,
        block: &[u8; BLOCK],
        kind: u8,
        size: u64,
        extended: ExtendedHeader,
    ) -> io::Result<Entry> {
        let name = until_nul(&block[..100]);
        let ustar = &block[257..262] == b"ustar";
        let gnu = &block[257..265] == b"ustar  \0";
        let prefix = if ustar && !gnu { until_nul(&block[345..500]) } else { Vec::new() };
        let name = if prefix.is_empty() { name } else { [prefix, b"/".to_vec(), name].concat() };
        let path = extended.path.unwrap_or(name);
        let size = extended.size.unwrap_or(size);
        let kind = match kind {
            // In v7 archives, a file name with a trailing slash is a directory.
            0 | b'0' if path.ends_with(b"/") => EntryKind::Directory,
            0 | b'0' | b'7' => EntryKind::File,
            b'1' => EntryKind::HardLink,
            b'2' => EntryKind::Symlink,
            b'5' => EntryKind::Directory,
            b'3' | b'4' | b'6' => EntryKind::Special,
            other => return Err(invalid(format!("unknown entry type {:?}", char::from(other)))),
        };
        let content = if kind == EntryKind::File { size } else { 0 };
        self.content_remaining = content;
        self.padding = content.next_multiple_of(BLOCK as u64) - content;
        Ok(Entry {
            path,
            kind,
            link: extended.link.unwrap_or_else(|| until_nul(&block[157..257])),
            size: content,
            mode: (parse_number(&block[100..108])? & 0o7777) as u32,
            uid: extended.uid.map_or_else(|| parse_number(&block[108..116]), Ok)?,
            gid: extended.gid.map_or_else(|| parse_number(&block[116..124]), Ok)?,
            mtime: extended
                .mtime
                .map_or_else(|| parse_number(&block[136..148]).map(|time| time as i64), Ok)?,
            has_xattrs: extended.has_xattrs,
        })
    }

    /// Reads the next header and verifies its checksum; `None` at the end of the archive.
    fn read_header(&mut self) -> io::Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        if !self.read_block(&mut block)? {
            return Ok(None);
        }
        if block.iter().all(|byte| *byte == 0) {
            // Two zero blocks end an archive; a single one at the end of the stream is accepted.
            let mut second = [0; BLOCK];
            if !self.read_block(&mut second)? || second.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            return Err(invalid("an empty block between entries"));
        }
        let sum: u64 = block
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
            .sum();
        if parse_number(&block[148..156])? != sum {
            return Err(invalid("header checksum mismatch"));
        }
        Ok(Some(block))
    }

    /// Reads a whole block; returns false at the end of the stream.
    fn read_block(&mut self, block: &mut [u8; BLOCK]) -> io::Result<bool> {
        let mut filled = 0;
        while filled < BLOCK {
            match self.inner.read(&mut block[filled..]) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    fn read_extension(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > MAX_EXTENSION {
            return Err(invalid("a header is larger than 1 MiB"));
        }
        self.content_remaining = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        let mut data = Vec::new();
        self.read_to_end(&mut data)?;
        Ok(data)
    }

    fn skip_content(&mut self) -> io::Result<()> {
        let mut remaining = self
            .content_remaining
            .checked_add(self.padding)
            .ok_or_else(|| invalid("a file has an impossible size"))?;
        (self.content_remaining, self.padding) = (0, 0);
        let mut discarded = [0; 8192];
        while remaining > 0 {
            let len = usize::try_from(remaining).unwrap_or(usize::MAX).min(discarded.len());
            match self.inner.read(&mut discarded[..len]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => remaining -= read as u64,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for TarReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.content_remaining).unwrap_or(usize::MAX).min(buffer.len());
        if len == 0 {
            return Ok(0);
        }
        match self.inner.read(&mut buffer[..len])? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.content_remaining -= read as u64;
                Ok(read)
            }
        }
    }
}

fn until_nul(bytes: &[u8]) -> Vec<u8> {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default().to_vec()
}

/// Parses an octal number or GNU's base-256 encoding.
fn parse_number(field: &[u8]) -> io::Result<u64> {
    if let [first, rest @ ..] = field
        && first & 0x80 != 0
    {
        if first & 0x40 != 0 {
            return Err(invalid("a negative number in a header"));
        }
        let mut value = u64::from(first & 0x3f);
        for byte in rest {
            value = value.checked_mul(256).ok_or_else(|| invalid("a number in a header is too large"))?
                | u64::from(*byte);
        }
        return if i64::try_from(value).is_ok() {
            Ok(value)
        } else {
            Err(invalid("a number in a header is too large"))
        };
    }
    let text: Vec<u8> = field
        .iter()
        .copied()
        .skip_while(|byte| *byte == b' ')
        .take_while(|byte| *byte != 0 && *byte != b' ')
        .collect();
    text.iter().try_fold(0u64, |value, byte| match byte {
        b'0'..=b'7' => Ok((value << 3) | u64::from(byte - b'0')),
        _ => Err(invalid("a number in a header is not octal")),
    })
}

/// Parses PAX records: `LENGTH KEY=VALUE\n`.
fn parse_pax_records(mut data: &[u8], extended: &mut ExtendedHeader) -> io::Result<()> {
    let broken = || invalid("a PAX record is not LENGTH KEY=VALUE");
    while !data.is_empty() {
        let space = data.iter().take(20).position(|byte| *byte == b' ').ok_or_else(broken)?;
        let length =
            str::from_utf8(&data[..space]).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let length: usize = length.and_then(|text| text.parse().ok()).ok_or_else(broken)?;
        let record = data.get(space + 1..length).ok_or_else(broken)?;
        data = data.get(length..).ok_or_else(broken)?;
        let record = record.strip_suffix(b"\n").ok_or_else(broken)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(broken)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        let text = || str::from_utf8(value).map_err(|_| invalid("a PAX record is not UTF-8"));
        let parse_unsigned = || {
            text()?
                .parse::<u64>()
                .ok()
                .filter(|n| i64::try_from(*n).is_ok())
                .ok_or_else(|| invalid("a PAX record is not a number"))
        };
        match key {
            b"path" if value.contains(&0) => return Err(invalid("a path with a zero byte")),
            b"linkpath" if value.contains(&0) => return Err(invalid("a link with a zero byte")),
            // An empty value removes a global attribute.
            b"path" if !value.is_empty() => extended.path = Some(value.to_vec()),
            b"linkpath" if !value.is_empty() => extended.link = Some(value.to_vec()),
            b"size" => extended.size = Some(parse_unsigned()?),
            b"uid" => extended.uid = Some(parse_unsigned()?),
            b"gid" => extended.gid = Some(parse_unsigned()?),
            b"mtime" => {
                let seconds = text()?.split('.').next().unwrap_or_default();
                extended.mtime = Some(seconds.parse().map_err(|_| invalid("a PAX record is not a time"))?);
            }
            _ if key.starts_with(b"GNU.sparse.") => return Err(invalid("sparse files are not supported")),
            _ if key.starts_with(b"SCHILY.xattr.") || key.starts_with(b"LIBARCHIVE.xattr.") => {
                extended.has_xattrs = true
            }
            _ => {}
        }
    }
    Ok(())
}
