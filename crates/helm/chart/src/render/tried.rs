//! Rendering files before it is their turn.
//!
//! The thread that renders takes the files in Helm's order. Another one reads the documents of what is done; when there are
//! none, it tries the files at the end of that order, with a heap of its own. What it makes of one counts if it cannot
//! have been different at its turn: no template before it has changed what others see (`set` on values, say), it has not
//! asked for anything from outside, it has not failed, and what both threads have used is within the limits. Everything
//! else is rendered again when its turn comes.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use podium_gotmpl::{Heap, Value, World};

use super::stage::{Cast, Stage, Store};
use super::{RenderError, Rendered, Source};
use crate::manifest::heads;
use crate::parallel;

/// How often it is looked whether the time is over, while the other thread ends.
const LOOK: Duration = Duration::from_millis(20);

/// The part of the memory of a render that the other thread may use.
const SHARE: usize = 8;

/// After so many files that came to nothing no more are tried.
const MAX_FAILED: usize = 8;

/// Renders all files, for a process that ends after that: what a render keeps its values and texts in stays, since taking
/// it apart takes as long as a tenth of the render. If there is much to do, another thread helps and reads the documents'
/// heads. Nothing if a file failed after some that were tried.
pub(super) fn render(
    files: &[&Source<'_>],
    cast: Cast<'_>,
    world: &dyn World,
    much: bool,
) -> Result<Option<Vec<Rendered>>, RenderError> {
    if much {
        let left = Mutex::new(0..files.len());
        return Ahead { files, cast, left, tried: Mutex::default(), over: AtomicBool::new(false) }
            .render(world);
    }
    let mut stage = lasting(cast, cast.limits.memory, world)?;
    files.iter().map(|source| stage.render(source).0).collect::<Result<_, _>>().map(Some)
}

/// A stage that is not taken apart.
fn lasting<'h>(cast: Cast<'h>, memory: usize, world: &'h dyn World) -> Result<Stage<'h>, RenderError> {
    cast.stage(Box::leak(Box::new(Store::new(memory))), world)
}

/// Files that two threads render.
struct Ahead<'c> {
    files: &'c [&'c Source<'c>],
    cast: Cast<'c>,
    /// The files that nobody has taken.
    left: Mutex<Range<usize>>,
    tried: Mutex<HashMap<usize, Tried>>,
    /// Whether trying makes no sense any more.
    over: AtomicBool,
}

/// A file that was tried, and what it took.
struct Tried {
    file: Rendered,
    steps: u64,
    memory: usize,
}

impl<'c> Ahead<'c> {
    /// Renders all files, with their heads where the other thread has read them.
    fn render(&self, world: &dyn World) -> Result<Option<Vec<Rendered>>, RenderError> {
        let dialect = self.cast.scene.dialect;
        let read = |file: &mut Rendered| file.heads = Some(heads(file, dialect));
        let (trying, ended) = channel();
        let give_up = || self.over.store(true, Ordering::Relaxed);
        let (rendered, rest) = parallel::follow(
            true,
            read,
            |serve| self.try_files(serve, trying),
            |done| {
                let mut stage =
                    lasting(self.cast, self.cast.limits.memory, world).inspect_err(|_| give_up())?;
                while let Some(source) = self.take(Range::next) {
                    let (file, changed) = stage.render(source);
                    if changed || file.is_err() {
                        give_up();
                    }
                    done.push(file?);
                }
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
                    if world.out_of_time() {
                        give_up();
                    }
                }
                let changed = self.over.load(Ordering::Relaxed);
                self.rest(&mut stage, changed, done)
            },
        );
        Ok(rest?.map(|mut rest| {
            rest.extend(rendered);
            rest
        }))
    }

    /// What became of the files that the other thread took.
    fn rest(
        &self,
        stage: &mut Stage<'c>,
        mut changed: bool,
        done: &mut parallel::Done<Rendered>,
    ) -> Result<Option<Vec<Rendered>>, RenderError> {
        let mut tried = std::mem::take(&mut *lock(&self.tried));
        let first = lock(&self.left).end;
        let mut counted = Vec::new();
        for (at, source) in self.files.iter().enumerate().skip(first) {
            // What the other thread needed for a while is within its share.
            let affords = |tried: &Tried| {
                stage.heap.left() >= stage.heap.budget() / SHARE
                    && stage.machine.count(tried.steps)
                    && stage.heap.charge(tried.memory).is_ok()
            };
            if let Some(tried) = tried.remove(&at).filter(|_| !changed).filter(affords) {
                counted.push(tried.file);
                stage.show(source.part, Some(source));
                continue;
            }
            let (file, has_changed) = stage.render(source);
            changed |= has_changed;
            match file {
                Ok(file) => done.push(file),
                Err(_) if !counted.is_empty() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(counted))
    }

    fn take(&self, which: fn(&mut Range<usize>) -> Option<usize>) -> Option<&'c Source<'c>> {
        let at = which(&mut lock(&self.left))?;
        self.files.get(at).copied()
    }

    /// Tries files from the end, and follows up what is done in between. The sender goes when this ends.
    fn try_files(&self, serve: &mut dyn FnMut(), _trying: Sender<()>) {
        let world = Closed { asked: Cell::new(false), given: Cell::new(0), over: &self.over };
        let Ok(mut stage) = lasting(self.cast, self.cast.limits.memory / SHARE, &world) else { return };
        let before = self.before();
        // A template can see which one of another chart was rendered last.
        self.files.iter().for_each(|source| stage.show(source.part, Some(source)));
        let mut failed = 0;
        while failed < MAX_FAILED && !self.over.load(Ordering::Relaxed) {
            serve();
            let Some(at) = lock(&self.left).next_back() else { return };
            let Some(source) = self.files.get(at) else { return };
            let (steps, memory) = (stage.machine.steps_left(), stage.heap.left());
            let (file, changed) = stage.render(source);
            if changed {
                return;
            }
            match file {
                Ok(mut file) if !world.asked.take() && !stage.heap.exhausted() => {
                    file.heads = Some(heads(&file, self.cast.scene.dialect));
                    let steps = steps.saturating_sub(stage.machine.steps_left());
                    let memory = memory.saturating_sub(stage.heap.left());
                    lock(&self.tried).insert(at, Tried { file, steps, memory });
                }
                _ => failed += 1,
            }
            world.asked.set(false);
            stage.show(source.part, before.get(at).copied().flatten());
        }
    }

    /// For each file the one that its chart renders before it.
    fn before(&self) -> Vec<Option<&'c Source<'c>>> {
        let mut last: HashMap<usize, &Source<'_>> = HashMap::new();
        self.files.iter().map(|source| last.insert(source.part.number, source)).collect()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A world that has no answers, and notes that it was asked.
struct Closed<'s> {
    asked: Cell<bool>,
    /// What it gave instead of chance: never the same twice, since some wait for another.
    given: Cell<u8>,
    over: &'s AtomicBool,
}

impl Closed<'_> {
    fn no_answer<T>(&self) -> Result<T, String> {
        self.asked.set(true);
        Err("nobody is asked".to_owned())
    }
}

impl World for Closed<'_> {
    fn now(&self) -> (i64, u32) {
        self.asked.set(true);
        (0, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        self.asked.set(true);
        for byte in buffer {
            self.given.set(self.given.get().wrapping_add(1));
            *byte = self.given.get();
        }
    }

    fn local_zone(&self) -> &str {
        self.asked.set(true);
        "UTC"
    }

    fn resolve_host(&self, _: &str) -> Result<String, String> {
        self.no_answer()
    }

    fn variable(&self, _: &str) -> String {
        self.asked.set(true);
        String::new()
    }

    fn lookup<'h>(&self, _: &'h Heap<'h>, _: &str, _: &str, _: &str, _: &str) -> Result<Value<'h>, String> {
        self.no_answer()
    }

    fn is_closed(&self) -> bool {
        self.asked.set(true);
        true
    }

    fn out_of_time(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}
