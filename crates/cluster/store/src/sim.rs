//! A disk in memory that loses what was not synchronised: for tests of what a power cut leaves behind.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskFile};

/// What ends a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process is killed: the system still has everything.
    Kill,
    /// The power is cut: everything since the last synchronisation is gone.
    Power,
    /// The power is cut while the disk was busy: of what was not synchronised, any sectors and names are there.
    Torn,
}

/// A disk in memory; copies are the same disk.
#[derive(Debug, Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

type Content = Arc<Mutex<Pages>>;

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<String, Content>,
    certain: BTreeMap<String, Content>,
    faults: Arc<Mutex<Faults>>,
}

/// A file: what the system shows, and what the disk has.
#[derive(Debug, Default, Clone)]
struct Pages {
    now: Vec<u8>,
    certain: Vec<u8>,
    /// The sectors that the system still means to write.
    dirty: BTreeSet<usize>,
}

impl Pages {
    fn write(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.now.len() < end {
            self.now.resize(end, 0);
        }
        if let Some(place) = self.now.get_mut(at..end) {
            place.copy_from_slice(bytes);
        }
        self.dirty.extend(at / SECTOR..end.div_ceil(SECTOR));
    }

    fn cut(&mut self, length: usize) {
        self.now.truncate(length);
        // The rest of its last sector is filled with zeros.
        self.dirty.insert(length / SECTOR);
    }

    /// As on Linux, the system forgets what it meant to write, whether or not that worked.
    fn sync(&mut self, works: bool) {
        let dirty = std::mem::take(&mut self.dirty);
        if works {
            self.certain.resize(self.now.len(), 0);
            for sector in dirty {
                self.keep(sector);
            }
        }
    }

    fn keep(&mut self, sector: usize) {
        let end = self.now.len().min(self.certain.len()).min((sector + 1) * SECTOR);
        let range = sector * SECTOR..end;
        if let (Some(from), Some(to)) = (self.now.get(range.clone()), self.certain.get_mut(range)) {
            to.copy_from_slice(from);
        }
    }

    /// What is left when the power is cut while the disk is busy: any length, any of the sectors that were to be written.
    fn tear(&mut self, chance: &mut dyn FnMut(usize) -> usize) {
        let (a, b) = (self.now.len(), self.certain.len());
        let length = a.min(b) + chance(a.abs_diff(b) + 1);
        self.certain.resize(length, 0);
        for sector in std::mem::take(&mut self.dirty) {
            if chance(2) == 0 {
                self.keep(sector);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Faults {
    steps: u64,
    stop_at: Option<u64>,
    /// Which of the next synchronisations fail.
    fail_syncs: Range<u64>,
    space: Option<u64>,
}

const SECTOR: usize = 512;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    /// Counts a step; from the chosen one on, nothing works any more.
    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        if self.stopped() { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }

    /// Whether a synchronisation that failed did its work all the same.
    fn happened(&self) -> bool {
        self.steps.is_multiple_of(2) && !self.stopped()
    }

    fn stopped(&self) -> bool {
        self.stop_at.is_some_and(|stop| self.steps >= stop)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()?;
        let fails = self.fail_syncs.contains(&0) && !self.fail_syncs.is_empty();
        self.fail_syncs = self.fail_syncs.start.saturating_sub(1)..self.fail_syncs.end.saturating_sub(1);
        if fails { Err(io::Error::other("input/output error")) } else { Ok(()) }
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many steps (writes, synchronisations, changes of names) were made.
    pub fn steps(&self) -> u64 {
        lock(&lock(&self.0).faults).steps
    }

    /// From this step on, everything fails.
    pub fn stop_at(&self, step: u64) {
        lock(&lock(&self.0).faults).stop_at = Some(step);
    }

    /// Some of the next synchronisations fail, counted from 0: one or the other does its work all the same, and what
    /// the others were to write is lost.
    pub fn fail_syncs(&self, which: Range<u64>) {
        lock(&lock(&self.0).faults).fail_syncs = which;
    }

    /// How many more bytes files may grow by; nothing means any number.
    pub fn set_space(&self, bytes: Option<u64>) {
        lock(&lock(&self.0).faults).space = bytes;
    }

    /// Changes a byte of a file behind the store's back.
    pub fn damage(&self, name: &str, at: usize) {
        if let Some(content) = lock(&self.0).names.get(name)
            && let Some(byte) = lock(content).now.get_mut(at)
        {
            *byte ^= 0x20;
        }
    }

    /// What is in a file.
    pub fn content(&self, name: &str) -> Vec<u8> {
        lock(&self.0).names.get(name).map(|c| lock(c).now.clone()).unwrap_or_default()
    }

    /// How many bytes all files have.
    pub fn size(&self) -> usize {
        lock(&self.0).names.values().map(|c| lock(c).now.len()).sum()
    }

    /// The disk as the next process finds it; `chance` gives numbers below its argument.
    #[must_use]
    pub fn after(&self, crash: Crash, chance: &mut dyn FnMut(usize) -> usize) -> Self {
        let state = lock(&self.0);
        let mut names = match crash {
            Crash::Power => state.certain.clone(),
            _ => state.names.clone(),
        };
        if crash == Crash::Torn {
            let mut all: Vec<&String> = state.names.keys().chain(state.certain.keys()).collect();
            all.sort();
            all.dedup();
            for name in all {
                let side = if chance(2) == 0 { &state.names } else { &state.certain };
                match side.get(name) {
                    Some(content) => names.insert(name.clone(), content.clone()),
                    None => names.remove(name),
                };
            }
        }
        let survive = |content: &Content, chance: &mut dyn FnMut(usize) -> usize| {
            let mut pages = lock(content).clone();
            if crash == Crash::Torn {
                pages.tear(chance);
            }
            if crash != Crash::Kill {
                pages = Pages { now: pages.certain.clone(), certain: pages.certain, dirty: BTreeSet::new() };
            }
            Arc::new(Mutex::new(pages))
        };
        let names: BTreeMap<_, _> =
            names.iter().map(|(name, content)| (name.clone(), survive(content, chance))).collect();
        // A killed process leaves what is uncertain as uncertain as it was.
        let certain = if crash == Crash::Kill {
            let same = |name: &String, old: &Content| match (state.names.get(name), names.get(name)) {
                (Some(now), Some(copy)) if Arc::ptr_eq(now, old) => copy.clone(),
                _ => old.clone(),
            };
            state.certain.iter().map(|(name, old)| (name.clone(), same(name, old))).collect()
        } else {
            names.clone()
        };
        Self(Arc::new(Mutex::new(State { names, certain, faults: Arc::default() })))
    }
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Disk for SimDisk {
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.0).names.keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut state = lock(&self.0);
        lock(&state.faults).step()?;
        let content = match state.names.get(name) {
            Some(content) => {
                lock(content).cut(0);
                content.clone()
            }
            None => state.names.entry(name.to_string()).or_default().clone(),
        };
        Ok(Box::new(SimFile { content, faults: state.faults.clone() }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let state = lock(&self.0);
        let content = state.names.get(name).ok_or_else(missing)?.clone();
        Ok(Box::new(SimFile { content, faults: state.faults.clone() }))
    }

    fn read(&self, name: &str) -> io::Result<Box<dyn Read>> {
        let content = lock(&self.0).names.get(name).ok_or_else(missing)?.clone();
        let bytes = lock(&content).now.clone();
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = lock(&self.0);
        lock(&state.faults).step()?;
        let content = state.names.remove(from).ok_or_else(missing)?;
        state.names.insert(to.to_string(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = lock(&self.0);
        lock(&state.faults).step()?;
        state.names.remove(name).map(|_| ()).ok_or_else(missing)
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = lock(&self.0);
        let outcome = lock(&state.faults).sync();
        if outcome.is_ok() || lock(&state.faults).happened() {
            state.certain = state.names.clone();
        }
        outcome
    }

    fn label(&self, name: &str) -> String {
        name.to_string()
    }
}

struct SimFile {
    content: Content,
    faults: Arc<Mutex<Faults>>,
}

impl DiskFile for SimFile {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut faults = lock(&self.faults);
        let mut pages = lock(&self.content);
        let at = usize::try_from(at).map_err(io::Error::other)?;
        let stopped = faults.step();
        let growth = (at + bytes.len()).saturating_sub(pages.now.len()) as u64;
        let full = faults.space.is_some_and(|space| growth > space);
        // A write that fails may still have begun.
        let written = if stopped.is_err() || full { bytes.len() / 2 } else { bytes.len() };
        pages.write(at, bytes.get(..written).unwrap_or_default());
        stopped?;
        match &mut faults.space {
            Some(_) if full => Err(io::ErrorKind::StorageFull.into()),
            Some(space) => {
                *space -= growth;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        lock(&self.faults).step()?;
        lock(&self.content).cut(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut pages = lock(&self.content);
        let mut faults = lock(&self.faults);
        let outcome = faults.sync();
        // When the power is off, nobody is left to forget anything.
        if outcome.is_ok() || !faults.stopped() {
            pages.sync(outcome.is_ok() || faults.happened());
        }
        outcome
    }
}
