//! The log: numbered files that grow at their end, one group of records after the other.
//!
//! A file is lengthened with zeros a good piece ahead: writing over bytes that are there needs no change of the file
//! system's own records, which halves the time of a synchronisation.
//!
//! After a failed synchronisation nobody knows what of it is on the disk, and asking again gives a wrong answer (the
//! system forgets that it failed). So that file is left for ever where it was good, and the next group goes into a
//! new file, whose header says where the one before it ends. A write that finds no space is only taken back.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::frame::{self, HEADER, Header};
use crate::{Error, Result, Revision};

/// What files grow by, unless they are to be shorter than that.
const AHEAD: u64 = 256 << 10;

/// The file of the log with this number.
pub(crate) fn log_name(number: u64) -> String {
    format!("log-{number:08}")
}

/// The end of a file that was read.
pub(crate) struct Tail<'a> {
    /// Where the last group begins, or the header if there is none.
    pub start: u64,
    /// That group.
    pub bytes: &'a [u8],
    /// How many bytes are behind it.
    pub rest: u64,
}

/// The end of the log, which can be written.
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    number: u64,
    file: Box<dyn DiskFile>,
    /// Where the next group goes.
    end: u64,
    /// How long the file is.
    length: u64,
    ahead: usize,
    broken: bool,
    buffer: Vec<u8>,
}

impl Log {
    /// Begins a file of the log.
    pub fn create(disk: Arc<dyn Disk>, header: Header, segment: u64) -> Result<Self> {
        let file = begin(&*disk, header)?;
        Ok(Self::at(disk, header.number, file, HEADER as u64, segment))
    }

    fn at(disk: Arc<dyn Disk>, number: u64, file: Box<dyn DiskFile>, end: u64, segment: u64) -> Self {
        let ahead = AHEAD.min(segment) as usize;
        Self { disk, number, file, end, length: end, ahead, broken: false, buffer: Vec::new() }
    }

    /// Goes on in a file that was read, after the last group (or the header) in it; what is behind that is cut off.
    ///
    /// The process before this one may have been killed before that group was certain, or before it could act on a
    /// failure. So it is written once more: whoever reads it must be able to rely on it.
    pub fn resume(disk: Arc<dyn Disk>, number: u64, last: Tail<'_>, segment: u64) -> Result<Self> {
        let name = log_name(number);
        let failed = |doing, e| Error::disk(doing, disk.label(&name), e);
        let mut file = disk.open(&name).map_err(|e| failed("open", e))?;
        let end = last.start + last.bytes.len() as u64;
        if last.rest > 0 {
            file.cut(end).map_err(|e| failed("cut", e))?;
        }
        file.write_at(last.start, last.bytes).map_err(|e| failed("write", e))?;
        file.sync().map_err(|e| failed("synchronise", e))?;
        disk.sync_names().map_err(|e| failed("synchronise the directory of", e))?;
        Ok(Self::at(disk, number, file, end, segment))
    }

    /// The number of the file that is written.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.end
    }

    /// Writes one group, and returns when it is certain.
    pub fn append(&mut self, first: Revision, records: &[u8]) -> Result<()> {
        if self.broken {
            self.turn(first - 1)?;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(&frame::frame_header(first, records));
        self.buffer.extend_from_slice(records);
        let needed = self.buffer.len();
        if self.end + needed as u64 > self.length {
            self.buffer.resize(needed + self.ahead, 0);
        }
        self.write(needed)?;
        if let Err(error) = self.file.sync() {
            self.broken = true;
            // If even this fails, the header of the next file says the same.
            let _ = self.file.cut(self.end);
            return Err(self.failed("synchronise", error));
        }
        self.length = self.length.max(self.end + self.buffer.len() as u64);
        self.end += needed as u64;
        if self.buffer.capacity() > 4 * AHEAD as usize {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Writes the buffer, or what is needed of it when there is no space for all.
    fn write(&mut self, needed: usize) -> Result<()> {
        while let Err(error) = self.file.write_at(self.end, &self.buffer) {
            // Nothing of this was to be certain yet: without it, the file is as it was.
            self.length = self.end;
            let undone = self.file.cut(self.end);
            if undone.is_err() || self.buffer.len() == needed {
                self.broken = undone.is_err();
                return Err(self.failed("write", error));
            }
            self.buffer.truncate(needed);
        }
        Ok(())
    }

    /// Goes on in a new file. When that fails, it has to be tried again before anything is written: the new file may
    /// be there after a power cut, and it says that the old one ends here.
    pub fn turn(&mut self, revision: Revision) -> Result<()> {
        self.broken = true;
        let header = Header { number: self.number + 1, revision, before: self.end };
        self.file = begin(&*self.disk, header)?;
        self.number += 1;
        (self.end, self.length, self.broken) = (HEADER as u64, HEADER as u64, false);
        Ok(())
    }

    fn failed(&self, doing: &'static str, error: io::Error) -> Error {
        Error::disk(doing, self.disk.label(&log_name(self.number)), error)
    }
}

fn begin(disk: &dyn Disk, header: Header) -> Result<Box<dyn DiskFile>> {
    let name = log_name(header.number);
    let make = || {
        let mut file = disk.create(&name)?;
        file.write_at(0, &header.encode())?;
        file.sync()?;
        disk.sync_names()?;
        Ok(file)
    };
    make().map_err(|e| {
        // A file without a whole header would be in the way of nobody, but a full disk is glad of it.
        let _ = disk.remove(&name);
        Error::disk("begin", disk.label(&name), e)
    })
}
