//! All objects of one revision in a file, so that the log before it can go.

use std::io::Read;

use crate::disk::Disk;
use crate::frame::{self, FRAME, Found, HEADER, Header, Opening, Record};
use crate::kind::Part;
use crate::log::log_name;
use crate::shared::{Pin, Shared};
use crate::{Error, Result, Revision};

/// How many bytes of objects are in a group.
const GROUP: usize = 256 << 10;
/// How much is written before it is made certain, so that writers never wait long for the disk.
const STRIDE: u64 = 4 << 20;
/// How many objects are taken at once.
const TAKE: usize = 256;

/// The snapshot that holds everything before the log of the same number.
pub(crate) fn snapshot_name(number: u64) -> String {
    format!("snapshot-{number:08}")
}

/// Writes the objects of the pinned revision, and removes what nobody needs any more.
pub(crate) fn write(disk: &dyn Disk, shared: &Shared, number: u64, pin: &Pin) -> Result<()> {
    let name = snapshot_name(number);
    let draft = format!("{name}.new");
    let done = fill(disk, shared, number, pin, &draft).and_then(|()| {
        let failed = |e| Error::disk("name", disk.label(&name), e);
        disk.rename(&draft, &name).map_err(failed)?;
        disk.sync_names().map_err(failed)
    });
    if let Err(error) = done {
        let _ = disk.remove(&draft);
        return Err(error);
    }
    clean(disk)
}

fn fill(disk: &dyn Disk, shared: &Shared, number: u64, pin: &Pin, draft: &str) -> Result<()> {
    let failed = |e| Error::disk("write", disk.label(draft), e);
    let revision = pin.revision();
    let mut file = disk.create(draft).map_err(failed)?;
    let mut group = Header { number, revision, before: 0 }.encode().to_vec();
    let (mut at, mut synced, mut objects) = (0, 0, 0);
    let mut flush = |group: &mut Vec<u8>, all: bool| -> std::io::Result<()> {
        file.write_at(at, group)?;
        at += group.len() as u64;
        group.clear();
        if all || at - synced >= STRIDE {
            file.sync()?;
            synced = at;
        }
        Ok(())
    };
    flush(&mut group, false).map_err(failed)?;
    let framed = |records: &mut Vec<u8>| {
        let header = frame::frame_header(revision, records);
        records.splice(..0, header);
    };
    for kind in shared.kinds() {
        let mut after = String::new();
        loop {
            if shared.is_closed() {
                return Err(Error::Closed);
            }
            let part = kind.part(Part { prefix: "", after: &after, revision }, TAKE)?;
            for object in &part {
                frame::put(&mut group, kind.resource(), object);
                objects += 1;
                if group.len() >= GROUP {
                    framed(&mut group);
                    flush(&mut group, false).map_err(failed)?;
                }
            }
            match part.last() {
                Some(last) if part.len() == TAKE => after = last.path().to_string(),
                _ => break,
            }
        }
    }
    frame::end(&mut group, objects);
    framed(&mut group);
    flush(&mut group, true).map_err(failed)
}

/// Reads a snapshot into an empty state; gives its revision.
pub(crate) fn read(disk: &dyn Disk, shared: &Shared, number: u64) -> Result<Revision> {
    let name = snapshot_name(number);
    let label = disk.label(&name);
    let damaged = |offset: usize, what| Error::Damaged { file: label.clone(), offset: offset as u64, what };
    let mut file = disk.read(&name).map_err(|e| Error::disk("read", label.clone(), e))?;
    let mut next = |buffer: &mut Vec<u8>, length: usize, at: usize| {
        buffer.clear();
        let taken = file.by_ref().take(length as u64).read_to_end(buffer);
        match taken.map_err(|e| Error::disk("read", label.clone(), e))? {
            taken if taken == length => Ok(()),
            _ => Err(damaged(at, "it ends too early")),
        }
    };
    let mut buffer = Vec::new();
    next(&mut buffer, HEADER, 0)?;
    let header = match Header::decode(&buffer) {
        Opening::Good(header) if header.number == number => header,
        Opening::Newer { format, by } => {
            return Err(Error::Newer { file: label, by, format, ours: frame::FORMAT });
        }
        _ => return Err(damaged(0, "this is not the beginning of a snapshot")),
    };
    shared.begin_at(header.revision);
    let (mut at, mut count) = (HEADER, 0);
    let mut group = Vec::new();
    loop {
        next(&mut group, FRAME, at)?;
        let length = group.first_chunk::<FRAME>().and_then(frame::frame_length);
        let length = length.ok_or_else(|| damaged(at, "a group does not begin here"))?;
        next(&mut buffer, length, at)?;
        group.extend_from_slice(&buffer);
        let Found::Frame(whole) = frame::frame(&group) else {
            return Err(damaged(at, "the checksum is wrong"));
        };
        let mut records = whole.records;
        while !records.is_empty() {
            match frame::record(&mut records) {
                Some(Record::Put { resource, object }) if object.revision() <= header.revision => {
                    count += 1;
                    shared.count_live(object.size());
                    shared.kind(resource).load(object);
                }
                Some(Record::End { objects }) if objects == count => return Ok(header.revision),
                _ => return Err(damaged(at, "a record makes no sense")),
            }
        }
        at += FRAME + length;
    }
}

/// Removes what the newest two generations do not need. The older one is kept for its history: who watched before a
/// restart goes on where they were.
fn clean(disk: &dyn Disk) -> Result<()> {
    let failed = |e| Error::disk("clean", disk.label(""), e);
    let files = Files::list(disk)?;
    let Some(keep) = files.generations().nth_back(1) else { return Ok(()) };
    for name in files.before(keep) {
        disk.remove(&name).map_err(failed)?;
    }
    Ok(())
}

/// The files of a store.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub logs: Vec<u64>,
    pub snapshots: Vec<u64>,
    /// What was not finished.
    pub drafts: Vec<String>,
}

impl Files {
    pub fn list(disk: &dyn Disk) -> Result<Self> {
        let names = disk.names().map_err(|e| Error::disk("list", disk.label(""), e))?;
        let mut files = Self::default();
        for name in names {
            let number =
                |prefix: &str| name.strip_prefix(prefix).and_then(|digits| digits.parse::<u64>().ok());
            if let Some(number) = number("log-") {
                files.logs.push(number);
            } else if let Some(number) = number("snapshot-") {
                files.snapshots.push(number);
            } else if name.starts_with("snapshot-") && name.ends_with(".new") {
                files.drafts.push(name);
            }
        }
        files.logs.sort_unstable();
        files.snapshots.sort_unstable();
        Ok(files)
    }

    /// The numbers of the logs that a state can be read from: the first log of all, and those with a snapshot.
    pub fn generations(&self) -> impl DoubleEndedIterator<Item = u64> {
        let first = (self.logs.first() == Some(&1)).then_some(1);
        first.into_iter().chain(self.snapshots.iter().copied())
    }

    /// The files that are older than a generation.
    pub fn before(&self, generation: u64) -> Vec<String> {
        let snapshots = self.snapshots.iter().filter(|n| **n < generation).map(|n| snapshot_name(*n));
        snapshots.chain(self.logs.iter().filter(|n| **n < generation).map(|n| log_name(*n))).collect()
    }
}
