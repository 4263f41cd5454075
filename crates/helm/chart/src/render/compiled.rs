//! The compiled templates of a chart.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use podium_gotmpl::{Functions, ParseError, Templates, Unit, compile};

use super::{RenderError, Source, base_name};
use crate::chart::Chart;
use crate::parallel::{self, Running};

/// The compiled templates of a chart, kept for its next render. Which templates there are depends on which
/// subcharts are on, so there may be a few sets.
#[derive(Debug, Default)]
pub struct Cache {
    sets: Mutex<HashMap<Vec<String>, Arc<Templates>>>,
    early: Mutex<Option<Early>>,
}

/// How many sets of templates a chart keeps.
const MAX_SETS: usize = 8;

/// From so many bytes on templates are compiled by several threads.
const MUCH_TEXT: usize = 100_000;

type Compiled = Result<Vec<Unit>, ParseError>;

/// Templates that other threads compile, whether or not they will be rendered.
#[derive(Debug)]
struct Early {
    templates: Arc<[Template]>,
    others: Running,
}

#[derive(Debug)]
struct Template {
    name: String,
    text: Arc<[u8]>,
    /// Whether a thread has begun with it, or has it done.
    taken: AtomicBool,
    done: Mutex<Option<Compiled>>,
}

impl Template {
    fn new(name: String, text: &Arc<[u8]>) -> Self {
        Self { name, text: Arc::clone(text), taken: AtomicBool::new(false), done: Mutex::default() }
    }

    fn of(source: &Source<'_>) -> Self {
        Self::new(source.name.clone(), source.text)
    }

    /// Compiles it, unless another thread does.
    fn compile(&self, functions: &Functions) -> Option<Compiled> {
        let taken = self.taken.swap(true, Ordering::Relaxed);
        (!taken).then(|| compile(self.name.as_bytes(), Arc::clone(&self.text), functions))
    }
}

impl Early {
    /// Begins to compile templates, if they are worth it and another thread can be had.
    fn begin(templates: Vec<Template>, functions: &'static Functions) -> Option<Self> {
        if templates.iter().map(|template| template.text.len()).sum::<usize>() <= MUCH_TEXT {
            return None;
        }
        let templates: Arc<[Template]> = templates.into();
        let mine = Arc::clone(&templates);
        let others = parallel::run_beside(move |over| {
            for template in mine.iter().take_while(|_| !over.load(Ordering::Relaxed)) {
                if let Some(compiled) = template.compile(functions) {
                    *template.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(compiled);
                }
            }
        })?;
        Some(Self { templates, others })
    }

    /// The set of some sources; this thread compiles those that no other one has begun with.
    fn finish(self, sources: &[Source<'_>], functions: &'static Functions) -> Result<Templates, RenderError> {
        let Self { templates, others } = self;
        let mut known: HashMap<&str, &Template> = HashMap::new();
        known.extend(templates.iter().map(|template| (template.name.as_str(), template)));
        // A template of the same name can be another one: where one subchart has the name of another as its alias.
        let is_new = |source: &&Source<'_>| {
            known.get(source.name.as_str()).is_none_or(|known| !Arc::ptr_eq(&known.text, source.text))
        };
        let new: Vec<Template> = sources.iter().filter(is_new).map(Template::of).collect();
        let (new, more) = Self::begin(new, functions).map(|new| (new.templates, new.others)).unzip();
        known
            .extend(new.iter().flat_map(|new| new.iter()).map(|template| (template.name.as_str(), template)));
        let find = |source: &Source<'_>| {
            known.get(source.name.as_str()).copied().filter(|known| Arc::ptr_eq(&known.text, source.text))
        };
        let take = |source| match find(source) {
            Some(template) => template.compile(functions).ok_or(template),
            None => Ok(source.compile(functions)),
        };
        let taken: Vec<Result<Compiled, &Template>> = sources.iter().map(take).collect();
        others.end();
        more.into_iter().for_each(Running::end);
        let done = |(taken, source): (Result<Compiled, &Template>, &Source<'_>)| {
            taken.unwrap_or_else(|template| {
                let done = template.done.lock().unwrap_or_else(PoisonError::into_inner).take();
                done.unwrap_or_else(|| source.compile(functions))
            })
        };
        set(sources, taken.into_iter().zip(sources).map(done))
    }
}

impl Source<'_> {
    fn compile(&self, functions: &Functions) -> Compiled {
        compile(self.name.as_bytes(), Arc::clone(self.text), functions)
    }
}

impl Cache {
    fn early(&self) -> MutexGuard<'_, Option<Early>> {
        self.early.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what comes before the first render, and has other threads compile templates meanwhile. Subcharts may then turn
    /// out to be off or to have other names; that only was for nothing.
    pub fn beside<T, E>(
        &self,
        chart: &Chart,
        functions: &'static Functions,
        first: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let is_first = self.sets.lock().is_ok_and(|sets| sets.is_empty());
        if !is_first || self.early().is_some() {
            return first();
        }
        let mut found = Vec::new();
        let mut work = vec![(chart.metadata.name.clone(), chart)];
        while let Some((path, chart)) = work.pop() {
            let is_wanted = |name: &str| !chart.metadata.is_library() || base_name(name).starts_with('_');
            let files = chart.templates.iter().filter(|file| is_wanted(&file.name));
            found.extend(files.map(|file| Template::new([&path, "/", &file.name].concat(), &file.data)));
            let below = |chart: &Arc<Chart>| format!("{path}/charts/{}", chart.metadata.name);
            work.extend(chart.dependencies.iter().map(|chart| (below(chart), &**chart)));
        }
        let early = Early::begin(found, functions);
        let done = first()?;
        *self.early() = early;
        Ok(done)
    }

    /// The compiled templates of all sources.
    pub(super) fn templates(
        &self,
        sources: &[Source<'_>],
        functions: &'static Functions,
    ) -> Result<Arc<Templates>, RenderError> {
        let key: Vec<String> = sources.iter().map(|s| s.name.clone()).collect();
        let early = self.early().take();
        if let Ok(sets) = self.sets.lock()
            && let Some(set) = sets.get(&key)
        {
            return Ok(Arc::clone(set));
        }
        let early = early.or_else(|| Early::begin(sources.iter().map(Template::of).collect(), functions));
        let set = Arc::new(match early {
            Some(early) => early.finish(sources, functions)?,
            None => set(sources, sources.iter().map(|source| source.compile(functions)))?,
        });
        if let Ok(mut sets) = self.sets.lock() {
            if sets.len() >= MAX_SETS {
                sets.clear();
            }
            sets.insert(key, Arc::clone(&set));
        }
        Ok(set)
    }
}

/// All templates of some sources, or what is wrong with the first that has an error.
fn set(sources: &[Source<'_>], compiled: impl Iterator<Item = Compiled>) -> Result<Templates, RenderError> {
    let mut set = Templates::default();
    set.reserve(sources.len());
    for (source, compiled) in sources.iter().zip(compiled) {
        set.insert(compiled.map_err(|error| RenderError::parse(&source.name, error))?);
    }
    Ok(set)
}
