//! Reading tar: the formats that Go's reader knows, except files with holes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Error;
use super::gunzip::Gunzip;

const BLOCK: usize = 512;
/// The longest attribute block or long name.
const MAX_SPECIAL: u64 = 1024 * 1024;

/// A file of an archive.
#[derive(Debug, Default)]
pub(super) struct Entry {
    pub name: String,
    pub size: u64,
    kind: u8,
    mode: i64,
}

impl Entry {
    /// Whether it is a directory by its type or by its mode.
    pub(super) fn is_directory(&self) -> bool {
        self.kind == b'5' || self.mode & !0o7777 == 0o40000
    }

    /// Whether it is a file with content of its own.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.kind, b'0' | 0 | b'7') && !self.is_directory()
    }

    pub(super) fn is_global_header(&self) -> bool {
        self.kind == b'g'
    }

    /// How many bytes of content follow the header: none for links, devices and directories.
    fn content_size(&self) -> u64 {
        if matches!(self.kind, b'1'..=b'6') { 0 } else { self.size }
    }
}

/// The entries of an archive, one after the other.
pub(super) struct Reader<'a> {
    stream: Gunzip<'a>,
    /// Content of the current entry that was not read.
    rest: u64,
    padding: usize,
}

type Attributes = BTreeMap<String, String>;

impl<'a> Reader<'a> {
    pub(super) fn new(stream: Gunzip<'a>) -> Self {
        Self { stream, rest: 0, padding: 0 }
    }

    /// The next entry; nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<Entry>, Error> {
        let mut attributes = Attributes::new();
        let mut long_name = String::new();
        loop {
            if !self.skip_rest()? {
                return Ok(None);
            }
            let Some(mut entry) = self.header()? else { return Ok(None) };
            self.expect(entry.content_size());
            match entry.kind {
                b'x' => attributes = parse_attributes(&self.special()?)?,
                b'g' => {
                    parse_attributes(&self.special()?)?;
                    return Ok(Some(entry));
                }
                b'L' => long_name = string(&self.special()?),
                b'K' => drop(self.special()?),
                _ => {
                    entry.merge(&attributes)?;
                    if !long_name.is_empty() {
                        entry.name = long_name;
                    }
                    if entry.kind == 0 && entry.name.ends_with('/') {
                        entry.kind = b'5';
                    }
                    self.expect(entry.content_size());
                    if entry.kind == b'S' || has_holes(&attributes) {
                        return Err(Error::Sparse(entry.name));
                    }
                    return Ok(Some(entry));
                }
            }
        }
    }

    /// The whole content of the current entry. Its size was checked before.
    pub(super) fn read_content(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        if let Some(content) = self.stream.take_whole(self.rest) {
            self.rest = 0;
            return Ok(Cow::Borrowed(content));
        }
        let size = usize::try_from(self.rest).map_err(|_| Error::TarHeader)?;
        let mut data = Vec::new();
        // In steps, so that a header that lies about a size costs no memory.
        while data.len() < size {
            let from = data.len();
            data.resize(size.min(from + 64 * 1024), 0);
            let part = data.get_mut(from..).unwrap_or_default();
            if self.stream.read(part)? < part.len() {
                return Err(Error::CutOff);
            }
        }
        self.rest = 0;
        Ok(Cow::Owned(data))
    }

    fn special(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        if self.rest > MAX_SPECIAL { Err(Error::TarField) } else { self.read_content() }
    }

    fn expect(&mut self, size: u64) {
        self.rest = size;
        self.padding = usize::try_from(size.wrapping_neg() % BLOCK as u64).unwrap_or(0);
    }

    /// Skips what is left of the current entry. Where the padding is cut off the archive is at its end.
    fn skip_rest(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; BLOCK];
        while self.rest > 0 {
            let step = usize::try_from(self.rest).unwrap_or(BLOCK).min(BLOCK);
            let part = buffer.get_mut(..step).unwrap_or_default();
            if self.stream.read(part)? < step {
                return Err(Error::CutOff);
            }
            self.rest -= step as u64;
        }
        let padding = buffer.get_mut(..self.padding).unwrap_or_default();
        let whole = self.stream.read(padding)? == self.padding;
        self.padding = 0;
        Ok(whole)
    }

    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, Error> {
        let mut block = [0; BLOCK];
        match self.stream.read(&mut block)? {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(Error::CutOff),
        }
    }

    fn header(&mut self) -> Result<Option<Entry>, Error> {
        let Some(block) = self.block()? else { return Ok(None) };
        if block == [0; BLOCK] {
            // Two empty blocks are the end; one is enough where nothing follows.
            return match self.block()? {
                Some(second) if second != [0; BLOCK] => Err(Error::TarHeader),
                _ => Ok(None),
            };
        }
        parse_header(&block).map(Some)
    }
}

impl Entry {
    fn merge(&mut self, attributes: &Attributes) -> Result<(), Error> {
        for (key, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
            let number = || value.parse::<i64>().map_err(|_| Error::TarHeader);
            match key.as_str() {
                "path" => self.name.clone_from(value),
                "size" => self.size = u64::try_from(number()?).map_err(|_| Error::TarHeader)?,
                "uid" | "gid" => drop(number()?),
                "atime" | "ctime" | "mtime" => check_time(value)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn parse_header(block: &[u8; BLOCK]) -> Result<Entry, Error> {
    let field = |at: usize, length: usize| block.get(at..at + length).unwrap_or_default();
    // The sum is that of a header with blanks in the place of the sum.
    let sum = |value: fn(u8) -> i64| -> i64 {
        let all = |bytes: &[u8]| bytes.iter().map(|byte| value(*byte)).sum::<i64>();
        all(block) - all(field(148, 8)) + 8 * i64::from(b' ')
    };
    let wanted = octal(field(148, 8))?;
    if wanted != sum(i64::from) && wanted != sum(|byte| i64::from(byte.cast_signed())) {
        return Err(Error::TarHeader);
    }
    let size = u64::try_from(numeric(field(124, 12))?).map_err(|_| Error::TarHeader)?;
    let mode = numeric(field(100, 8))?;
    for (at, length) in [(108, 8), (116, 8), (136, 12)] {
        numeric(field(at, length))?;
    }
    let kind = field(156, 1).first().copied().unwrap_or(0);
    let mut name = string(field(0, 100));
    let prefix = match (field(257, 6), field(263, 2), field(508, 4)) {
        (b"ustar\0", _, trailer) => {
            check_devices(&field)?;
            if trailer == b"tar\0" {
                numeric(field(476, 12))?;
                numeric(field(488, 12))?;
                string(field(345, 131))
            } else {
                string(field(345, 155))
            }
        }
        (b"ustar ", b" \0", _) => {
            check_devices(&field)?;
            let bad_time = |at| field(at, 1) != [0] && numeric(field(at, 12)).is_err();
            // Old Go programs wrote a prefix where the GNU format has times.
            let prefix = string(field(345, 155));
            if (bad_time(345) || bad_time(357)) && prefix.is_ascii() { prefix } else { String::new() }
        }
        _ => String::new(),
    };
    if !prefix.is_empty() {
        name = format!("{prefix}/{name}");
    }
    Ok(Entry { name, size, kind, mode })
}

fn check_devices<'b>(field: &impl Fn(usize, usize) -> &'b [u8]) -> Result<(), Error> {
    numeric(field(329, 8))?;
    numeric(field(337, 8))?;
    Ok(())
}

/// The bytes up to the first NUL.
fn until_nul(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    field.get(..end).unwrap_or_default()
}

/// Text up to the first NUL.
fn string(field: &[u8]) -> String {
    String::from_utf8_lossy(until_nul(field)).into_owned()
}

/// A number in octal digits, or in binary where the first bit is set.
fn numeric(field: &[u8]) -> Result<i64, Error> {
    let Some(first) = field.first().filter(|first| **first & 0x80 != 0) else { return octal(field) };
    let invert = if first & 0x40 != 0 { 0xFF } else { 0 };
    let mut number = 0u64;
    for (at, byte) in field.iter().enumerate() {
        let byte = (byte ^ invert) & if at == 0 { 0x7F } else { 0xFF };
        if number >> 56 > 0 {
            return Err(Error::TarHeader);
        }
        number = number << 8 | u64::from(byte);
    }
    let number = i64::try_from(number).map_err(|_| Error::TarHeader)?;
    Ok(if invert == 0 { number } else { !number })
}

fn octal(field: &[u8]) -> Result<i64, Error> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field.iter().position(|byte| !is_blank(byte)).unwrap_or(field.len());
    let digits = until_nul(field.get(start..).unwrap_or_default());
    let end = digits.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    let add = |number: u64, digit: &u8| match digit {
        b'0'..=b'7' => number.checked_mul(8)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    };
    let number = digits.iter().take(end).try_fold(0, add);
    number.map(u64::cast_signed).ok_or(Error::TarHeader)
}

/// Records of the form `<length> <key>=<value>\n`.
fn parse_attributes(block: &[u8]) -> Result<Attributes, Error> {
    let mut rest = block;
    let mut attributes = Attributes::new();
    while !rest.is_empty() {
        let (key, value, after) = parse_record(rest).ok_or(Error::TarHeader)?;
        attributes.insert(key, value);
        rest = after;
    }
    Ok(attributes)
}

fn parse_record(text: &[u8]) -> Option<(String, String, &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(text.get(..space)?).ok()?.parse().ok()?;
    let (record, after) = text.split_at_checked(length).filter(|_| length >= 5)?;
    let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=').filter(|at| *at > 0)?;
    let (key, value) = (record.get(..equals)?, record.get(equals + 1..)?);
    let is_text = matches!(key, b"path" | b"linkpath" | b"uname" | b"gname");
    if if is_text { value } else { key }.contains(&0) {
        return None;
    }
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((owned(key), owned(value), after))
}

fn check_time(text: &str) -> Result<(), Error> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let good = seconds.parse::<i64>().is_ok() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if good { Ok(()) } else { Err(Error::TarHeader) }
}

/// Whether the attributes describe a file with holes, in one of the versions that Go would read.
fn has_holes(attributes: &Attributes) -> bool {
    let get = |key: &str| attributes.get(key).map_or("", String::as_str);
    match (get("GNU.sparse.major"), get("GNU.sparse.minor")) {
        ("0", "0" | "1") | ("1", "0") => true,
        ("", "") => !get("GNU.sparse.map").is_empty() || attributes.contains_key("GNU.sparse.offset"),
        _ => false,
    }
}
