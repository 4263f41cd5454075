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
    let mut reader = Reader { disk: &**disk, shared, history: options.history_bytes, revision: 0 };
    if files.snapshots.contains(&first) {
        reader.revision = snapshot::read(&**disk, shared, first)?;
    }
    let newest = files.snapshots.last().copied().unwrap_or(1);
    let mut log_bytes = 0;
    let mut current = reader.file(first)?;
    for number in first..last {
        let next = reader.file(number + 1)?;
        reader.replay(&current, Some(next.header.before))?;
        log_bytes += if number >= newest { next.header.before } else { 0 };
        current = next;
    }
    let (tail, torn) = reader.replay(&current, None)?;
    let end = tail.start + tail.bytes.len() as u64;
    let cut = torn.then(|| (current.label.clone(), end, tail.rest));
    for old in files.before(first) {
        disk.remove(&old).map_err(|e| Error::disk("remove", disk.label(&old), e))?;
    }
    let log = Log::resume(disk.clone(), last, tail, options.segment_bytes)?;
    let oldest = shared.kinds().iter().map(|k| k.oldest()).max().unwrap_or_default().max(shared.base());
    Ok((log, Recovery { revision: reader.revision, oldest, cut, log_bytes: log_bytes + end }))
}

/// The beginning of a log file is certain before anything is written behind it, so one without a beginning is empty.
fn drop_unfinished(disk: &dyn Disk, files: &mut Files) -> Result<()> {
    let Some(&last) = files.logs.last() else { return Ok(()) };
    let name = log_name(last);
    let bytes = read_all(disk, &name)?;
    if Header::decode(&bytes) != Opening::Broken {
        return Ok(());
    }
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

fn read_all(disk: &dyn Disk, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    disk.read(name)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|e| Error::disk("read", disk.label(name), e))?;
    Ok(bytes)
}

struct LogFile {
    label: String,
    header: Header,
    bytes: Vec<u8>,
}

struct Reader<'a> {
    disk: &'a dyn Disk,
    shared: &'a Shared,
    history: usize,
    revision: Revision,
}

impl Reader<'_> {
    fn file(&self, number: u64) -> Result<LogFile> {
        let name = log_name(number);
        let label = self.disk.label(&name);
        let bytes = read_all(self.disk, &name)?;
        match Header::decode(&bytes) {
            Opening::Good(header) if header.number == number => Ok(LogFile { label, header, bytes }),
            Opening::Newer { format, by } => Err(Error::Newer { file: label, by, format, ours: FORMAT }),
            _ => {
                Err(Error::Damaged { file: label, offset: 0, what: "its beginning is not the one of a log" })
            }
        }
    }

    /// Makes the changes of one file again. A file with another one behind it has to be whole up to its known end; the
    /// last one may end in a write that was interrupted. Gives the end, and whether there was such a write.
    fn replay<'f>(&mut self, file: &'f LogFile, known: Option<u64>) -> Result<(Tail<'f>, bool)> {
        let damaged = |offset: usize, what| {
            Err(Error::Damaged { file: file.label.clone(), offset: offset as u64, what })
        };
        if file.header.revision != self.revision {
            return damaged(0, "it does not go on where the file before it ends");
        }
        let known = known.map(|end| usize::try_from(end).unwrap_or(usize::MAX));
        let bytes = file.bytes.get(..known.unwrap_or(file.bytes.len()));
        let Some(bytes) = bytes else { return damaged(file.bytes.len(), "it ends too early") };
        let (mut last, mut at) = (0, HEADER);
        let tail = |last: usize, at: usize| Tail {
            start: last as u64,
            bytes: bytes.get(last..at).unwrap_or_default(),
            rest: (bytes.len() - at) as u64,
        };
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match frame::frame(rest) {
                Found::Frame(group) if group.first == self.revision.saturating_add(1) => {
                    if !self.group(group.records) {
                        return damaged(at, "a record makes no sense");
                    }
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

    /// Makes the changes of one group again; whether they made sense.
    fn group(&mut self, mut records: &[u8]) -> bool {
        while !records.is_empty() {
            let revision = self.revision.saturating_add(1);
            let (kind, event) = match frame::record(&mut records) {
                Some(Record::Put { resource, object }) if object.revision() == revision => {
                    let kind = self.shared.kind(resource);
                    let old = kind.get(object.path());
                    (kind, Event::put(revision, old, object))
                }
                Some(Record::Delete { resource, path }) => {
                    let kind = self.shared.kind(resource);
                    let Some(old) = kind.get(path) else { return false };
                    (kind, Event::removed(revision, old))
                }
                _ => return false,
            };
            self.shared.apply(&kind, Arc::new(event));
            self.revision = revision;
        }
        self.shared.publish(self.revision);
        self.shared.trim(self.history);
        true
    }
}
