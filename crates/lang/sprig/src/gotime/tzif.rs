//! Zone files as systems keep them (RFC 9636).

use super::location::{Change, Kind, Zone};
use super::rule::Rule;

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u32::from_be_bytes(self.array()?)).ok()
    }
}

/// The numbers in a header, in file order.
struct Counts {
    universal: usize,
    standard: usize,
    leaps: usize,
    changes: usize,
    kinds: usize,
    letters: usize,
}

impl Counts {
    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            universal: reader.count()?,
            standard: reader.count()?,
            leaps: reader.count()?,
            changes: reader.count()?,
            kinds: reader.count()?,
            letters: reader.count()?,
        })
    }
}

/// Reads a zone file; `None` when it is damaged.
pub(super) fn read(name: Vec<u8>, data: &[u8]) -> Option<Zone> {
    let mut reader = Reader(data);
    let (magic, version) = (reader.take(4)?, *reader.take(16)?.first()?);
    if magic != b"TZif" || !matches!(version, 0 | b'2' | b'3') {
        return None;
    }
    let mut counts = Counts::read(&mut reader)?;
    let mut width = 4;
    if version != 0 {
        // Newer files say all again with 64 bits, after a part for old readers and a second header.
        let Counts { universal, standard, leaps, changes, kinds, letters } = counts;
        let sizes = [
            changes.checked_mul(5)?,
            kinds.checked_mul(6)?,
            letters,
            leaps.checked_mul(8)?,
            standard,
            universal,
        ];
        let old = sizes.iter().try_fold(20usize, |sum, size| sum.checked_add(*size))?;
        reader.take(old)?;
        counts = Counts::read(&mut reader)?;
        width = 8;
    }
    let times = reader.take(counts.changes.checked_mul(width)?)?;
    let indexes = reader.take(counts.changes)?;
    let kinds = reader.take(counts.kinds.checked_mul(6)?)?;
    let letters = reader.take(counts.letters)?;
    reader.take(counts.leaps.checked_mul(width + 4)?)?;
    reader.take(counts.standard)?;
    reader.take(counts.universal)?;
    let kinds = kinds.chunks_exact(6).map(|bytes| read_kind(bytes, letters)).collect::<Option<Vec<_>>>()?;
    let times = times.chunks_exact(width).map(|bytes| match bytes.try_into() {
        Ok(wide) => i64::from_be_bytes(wide),
        Err(_) => i64::from(bytes.try_into().map_or(0, i32::from_be_bytes)),
    });
    let mut changes: Vec<Change> =
        times.zip(indexes).map(|(when, kind)| Change { when, kind: usize::from(*kind) }).collect();
    if kinds.is_empty() || changes.iter().any(|change| change.kind >= kinds.len()) {
        return None;
    }
    if changes.is_empty() {
        changes.push(Change { when: i64::MIN, kind: 0 });
    }
    let rule = match reader.0 {
        [b'\n', rule @ .., b'\n'] => Rule::parse(rule),
        _ => None,
    };
    Some(Zone { name, kinds, changes, rule })
}

fn read_kind(bytes: &[u8], letters: &[u8]) -> Option<Kind> {
    let mut reader = Reader(bytes);
    let offset = i64::from(i32::from_be_bytes(reader.array()?));
    let [summer, at] = reader.array()?;
    let name = letters.get(usize::from(at)..).filter(|name| !name.is_empty())?;
    let name = name.split(|byte| *byte == 0).next()?.to_vec();
    Some(Kind { name, offset, summer: summer != 0 })
}
