//! The compiled templates of a chart.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use podium_gotmpl::{Functions, ParseError, Templates, Unit, compile};

use super::{RenderError, Source, base_name};
use crate::chart::Chart;
use crate::parallel;

/// The compiled templates of a chart, kept for its next render. Which templates there are depends on which
/// subcharts are on, so there may be a few sets.
#[derive(Debug, Default)]
pub struct Cache {
    sets: Mutex<HashMap<Vec<String>, Arc<Templates>>>,
    ahead: Mutex<HashMap<String, Ahead>>,
}

/// How many sets of templates a chart keeps.
const MAX_SETS: usize = 8;

/// From so many bytes on templates are compiled by several threads.
const MUCH_TEXT: usize = 100_000;

/// A template that was compiled before it was known whether it will be rendered.
#[derive(Debug)]
struct Ahead {
    text: Arc<[u8]>,
    units: Result<Vec<Unit>, ParseError>,
}

impl Cache {
    /// Does what comes before the first render, and meanwhile compiles templates as far as that gets. Subcharts may
    /// then turn out to be off or to have other names; that only was for nothing.
    pub fn beside<T>(&self, chart: &Chart, functions: &'static Functions, first: impl FnOnce() -> T) -> T {
        let is_first = self.sets.lock().is_ok_and(|sets| sets.is_empty());
        if !is_first {
            return first();
        }
        let mut found = Vec::new();
        let mut work = vec![(chart.metadata.name.clone(), chart)];
        while let Some((path, chart)) = work.pop() {
            let is_wanted = |name: &str| !chart.metadata.is_library() || base_name(name).starts_with('_');
            let files = chart.templates.iter().filter(|file| is_wanted(&file.name));
            found.extend(files.map(|file| (format!("{path}/{}", file.name), &file.data)));
            let below = |chart: &Arc<Chart>| format!("{path}/charts/{}", chart.metadata.name);
            work.extend(chart.dependencies.iter().map(|chart| (below(chart), &**chart)));
        }
        if found.iter().map(|(_, text)| text.len()).sum::<usize>() <= MUCH_TEXT {
            return first();
        }
        let compile =
            |(name, text): &(String, &Arc<[u8]>)| compile(name.as_bytes(), Arc::clone(text), functions);
        let (done, first) = parallel::beside(&found, compile, first);
        let done = done.into_iter().filter_map(|(at, units)| {
            let (name, text) = found.get(at)?;
            Some((name.clone(), Ahead { text: Arc::clone(text), units }))
        });
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).extend(done);
        first
    }

    /// The compiled templates of all sources; this thread does something else first.
    pub(super) fn templates<T>(
        &self,
        sources: &[Source<'_>],
        functions: &Functions,
        first: impl FnOnce() -> T,
    ) -> (Result<Arc<Templates>, RenderError>, T) {
        let key: Vec<String> = sources.iter().map(|s| s.name.clone()).collect();
        if let Ok(sets) = self.sets.lock()
            && let Some(set) = sets.get(&key)
        {
            return (Ok(Arc::clone(set)), first());
        }
        let ahead = std::mem::take(&mut *self.ahead.lock().unwrap_or_else(PoisonError::into_inner));
        let (set, first) = compile_all(sources, ahead, functions, first);
        let set = set.map(Arc::new);
        if let (Ok(set), Ok(mut sets)) = (&set, self.sets.lock()) {
            if sets.len() >= MAX_SETS {
                sets.clear();
            }
            sets.insert(key, Arc::clone(set));
        }
        (set, first)
    }
}

fn compile_all<T>(
    sources: &[Source<'_>],
    mut ahead: HashMap<String, Ahead>,
    functions: &Functions,
    first: impl FnOnce() -> T,
) -> (Result<Templates, RenderError>, T) {
    // A template of the same name can be another one: where one subchart has the name of another as its alias.
    let is_done = |source: &Source<'_>| {
        ahead.get(&source.name).is_some_and(|done| Arc::ptr_eq(&done.text, source.text))
    };
    let left: Vec<&Source<'_>> = sources.iter().filter(|source| !is_done(source)).collect();
    let size: usize = left.iter().map(|source| source.text.len()).sum();
    let work = |source: &&Source<'_>| compile(source.name.as_bytes(), Arc::clone(source.text), functions);
    let (compiled, first) = parallel::map_after(&left, size > MUCH_TEXT, work, first);
    let mut left = left.into_iter().zip(compiled).peekable();
    let mut all = Vec::with_capacity(sources.len());
    for source in sources {
        let units = match left.next_if(|(next, _)| std::ptr::eq(*next, source)) {
            Some((_, units)) => Some(units),
            None => ahead.remove(&source.name).map(|done| done.units),
        };
        match units.transpose() {
            Ok(units) => all.extend(units),
            Err(error) => return (Err(RenderError::parse(&source.name, error)), first),
        }
    }
    let mut set = Templates::default();
    set.reserve(all.iter().map(Vec::len).sum());
    all.into_iter().for_each(|units| set.insert(units));
    (Ok(set), first)
}
