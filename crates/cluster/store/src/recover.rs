//! Opening: what was acknowledged is found again, and what is wrong is told.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use crate::disk::Disk;
use crate::frame::{self, FORMAT, FRAME, Found, HEADER, Header, Opening, Record};
use crate::log::{Log, Tail, log_name};
use crate::shared::Shared;
use crate::snapshot::{self, Files};
use crate::{Error, Event, Options, Result, Revision};

/// What was found when the store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The newest revision.
    pub revision: Revision,
    /// The oldest revision that watches can go on from.
    pub oldest: Revision,
    /// A write that was interrupted and that nobody was told of: its file, where it began, and its bytes.
    pub cut: Option<(String, u64, u64)>,
    /// How many bytes of log there are since the newest snapshot.
    pub(crate) log_bytes: u64,
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at revision {}, with the history since {}", self.revision, self.oldest)?;
        if let Some((file, offset, bytes)) = &self.cut {
            write!(
                f,
                "; {file} ended in a write that was interrupted and never acknowledged: {bytes} bytes were cut off \
                 at byte {offset}"
            )?;
        }
        Ok(())
    }
}

/// Reads everything into an empty state, and gives the end of the log.
pub(crate) fn recover(disk: &Arc<dyn Disk>, shared: &Shared, options: &Options) -> Result<(Log, Recovery)> {
    let mut files = Files::list(&**disk)?;
    for draft in &files.drafts {
        disk.remove(draft).map_err(|e| Error::disk("remove", disk.label(draft), e))?;
    }
    drop_unfinished(&**disk, &mut files)?;
    let Some(&last) = files.logs.last() else {
        if let Some(newest) = files.snapshots.last() {
            return Err(Error::Missing { file: disk.label(&log_name(*newest)) });
        }
        let log =
            Log::create(disk.clone(), Header { number: 1, revision: 0, before: 0 }, options.segment_bytes)?;
        return Ok((log, Recovery::default()));
    };
    let first = first_generation(&**disk, &files, last)?;
    let mut reader = Reader {
        disk: &**disk,
        shared,
        history: options.history_bytes,
        revision: 0,
        label: String::new(),
        bytes: Vec::new(),
    };
    if files.snapshots.contains(&first) {
        reader.revision = snapshot::read(&**disk, shared, first)?;
    }
    let newest = files.snapshots.last().copied().unwrap_or(1);
    let mut log_bytes = 0;
    for number in first..last {
        let end = reader.header(number + 1)?.before;
        reader.replay(number, Some(end))?;
        log_bytes += if number >= newest { end } else { 0 };
    }
    let (tail, torn) = reader.replay(last, None)?;
    let (revision, end) = (shared.published(), tail.start + tail.bytes.len() as u64);
    let cut = torn.then(|| (disk.label(&log_name(last)), end, tail.rest));
    for old in files.before(first) {
        disk.remove(&old).map_err(|e| Error::disk("remove", disk.label(&old), e))?;
    }
    let log = Log::resume(disk.clone(), last, tail, options.segment_bytes)?;
    let oldest = shared.kinds().iter().map(|k| k.oldest()).max().unwrap_or_default().max(shared.base());
    Ok((log, Recovery { revision, oldest, cut, log_bytes: log_bytes + end }))
}

/// The beginning of a log file is certain before anything is written behind it, so one without a beginning is empty.
fn drop_unfinished(disk: &dyn Disk, files: &mut Files) -> Result<()> {
    let Some(&last) = files.logs.last() else { return Ok(()) };
    let name = log_name(last);
    let mut bytes = Vec::new();
    read(disk, &name, HEADER, &mut bytes)?;
    if Header::decode(&bytes) != Opening::Broken {
        return Ok(());
    }
    read(disk, &name, usize::MAX, &mut bytes)?;
    if frame::any_frame(&bytes) {
        let what = "its beginning is not the one of a log";
        return Err(Error::Damaged { file: disk.label(&name), offset: 0, what });
    }
    disk.remove(&name).map_err(|e| Error::disk("remove", disk.label(&name), e))?;
    files.logs.pop();
    Ok(())
}

/// The oldest state from which all logs are there.
fn first_generation(disk: &dyn Disk, files: &Files, last: u64) -> Result<u64> {
    let gap = (1..=last).rev().find(|n| files.logs.binary_search(n).is_err()).unwrap_or(0);
    if let Some(newest) = files.snapshots.last().filter(|newest| **newest > last) {
        return Err(Error::Missing { file: disk.label(&log_name(*newest)) });
    }
    let found = files.generations().find(|generation| *generation > gap);
    found.ok_or_else(|| Error::Missing {
        // Either the log before these, or the snapshot that they begin with.
        file: disk.label(&if gap > 0 && files.generations().next().is_some() {
            log_name(gap)
        } else {
            snapshot::snapshot_name(gap + 1)
        }),
    })
}

/// Reads the beginning of a file, or all of it.
fn read(disk: &dyn Disk, name: &str, most: usize, into: &mut Vec<u8>) -> Result<()> {
    into.clear();
    let file = disk.read(name);
    let read = file.and_then(|file| file.take(most as u64).read_to_end(into));
    read.map(drop).map_err(|e| Error::disk("read", disk.label(name), e))
}

struct Reader<'a> {
    disk: &'a dyn Disk,
    shared: &'a Shared,
    history: usize,
    revision: Revision,
    /// The file that is read, which uses the memory of the one before it.
    label: String,
    bytes: Vec<u8>,
}

impl Reader<'_> {
    /// What a file says of itself.
    fn header(&mut self, number: u64) -> Result<Header> {
        read(self.disk, &log_name(number), HEADER, &mut self.bytes)?;
        self.decoded(number)
    }

    fn decoded(&mut self, number: u64) -> Result<Header> {
        self.label = self.disk.label(&log_name(number));
        let file = self.label.clone();
        match Header::decode(&self.bytes) {
            Opening::Good(header) if header.number == number => Ok(header),
            Opening::Newer { format, by } => Err(Error::Newer { file, by, format, ours: FORMAT }),
            _ => Err(Error::Damaged { file, offset: 0, what: "its beginning is not the one of a log" }),
        }
    }

    /// Makes the changes of one file again. A file with another one behind it has to be whole up to its known end; the
    /// last one may end in a write that was interrupted. Gives the end, and whether there was such a write.
    fn replay(&mut self, number: u64, known: Option<u64>) -> Result<(Tail<'_>, bool)> {
        read(self.disk, &log_name(number), usize::MAX, &mut self.bytes)?;
        let header = self.decoded(number)?;
        let Self { shared, history, revision, label, bytes, .. } = self;
        let damaged =
            |offset: usize, what| Err(Error::Damaged { file: label.clone(), offset: offset as u64, what });
        if header.revision != *revision {
            return damaged(0, "it does not go on where the file before it ends");
        }
        let known = known.map(|end| usize::try_from(end).unwrap_or(usize::MAX));
        let Some(bytes) = bytes.get(..known.unwrap_or(bytes.len())) else {
            return damaged(bytes.len(), "it ends too early");
        };
        let (mut last, mut at) = (0, HEADER);
        let tail = |last: usize, at: usize| Tail {
            start: last as u64,
            bytes: bytes.get(last..at).unwrap_or_default(),
            rest: (bytes.len() - at) as u64,
        };
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match frame::frame(rest) {
                Found::Frame(group) if group.first == revision.saturating_add(1) => {
                    if !redo(shared, revision, group.records) {
                        return damaged(at, "a record makes no sense");
                    }
                    shared.trim(*history);
                    (last, at) = (at, at + FRAME + group.records.len());
                }
                Found::Frame(_) => return damaged(at, "revisions are missing before this place"),
                Found::Nothing if known.is_none() => return Ok((tail(last, at), false)),
                Found::Broken if known.is_none() && !frame::any_frame(rest) => {
                    return Ok((tail(last, at), true));
                }
                _ => return damaged(at, "the checksum is wrong, and later writes are whole"),
            }
        }
        Ok((tail(last, at), false))
    }
}

/// Makes the changes of one group again; whether they made sense.
fn redo(shared: &Shared, revision: &mut Revision, mut records: &[u8]) -> bool {
    while !records.is_empty() {
        let next = revision.saturating_add(1);
        let (kind, event) = match frame::record(&mut records) {
            Some(Record::Put { resource, object }) if object.revision() == next => {
                let kind = shared.kind(resource);
                let old = kind.get(object.path());
                (kind, Event::put(next, old, object))
            }
            Some(Record::Delete { resource, path }) => {
                let kind = shared.kind(resource);
                let Some(old) = kind.get(path) else { return false };
                (kind, Event::removed(next, old))
            }
            _ => return false,
        };
        shared.apply(&kind, Arc::new(event));
        *revision = next;
    }
    shared.publish(*revision);
    true
}
