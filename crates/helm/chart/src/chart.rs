//! A loaded chart: immutable, and shared by whoever renders it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use podium_goyaml::{Map, Node, Pos, Value, yaml};

use crate::archive;
use crate::dialect::Dialect;
use crate::files::File;
use crate::metadata::{self, API_V1, Draft, Lock, Metadata};
use crate::origin::{Source, Sources};
use crate::parallel;
use crate::schema::ChartSchema;
use crate::text::extension;
use crate::values::{self, Values};
use crate::warning::Warning;

/// How deep charts can be inside of charts. Helm has no limit, but no real chart comes near it.
const MAX_NESTING: usize = 64;

/// A chart with its subcharts.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What `Chart.yaml` says.
    pub metadata: Metadata,
    /// What the lock file says.
    pub lock: Option<Lock>,
    /// The files below `templates/`.
    pub templates: Vec<File>,
    /// The defaults of `values.yaml`, if there is one.
    pub values: Option<Arc<Values>>,
    /// The `values.schema.json`, if there is one.
    pub schema: Option<Arc<ChartSchema>>,
    /// All other files.
    pub files: Vec<File>,
    /// Every file of the chart as it came, those of subcharts too.
    pub raw: Vec<File>,
    /// The charts below `charts/`, in the order of their file names.
    pub dependencies: Vec<Arc<Chart>>,
}

/// What loading a chart gives.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The chart.
    pub chart: Arc<Chart>,
    /// Where its values come from.
    pub sources: Sources,
    /// What there is to warn about.
    pub warnings: Vec<Warning>,
}

/// Why files are no chart. The texts are Helm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoChartYaml,
    /// Metadata says something that is not allowed.
    #[error("{0}")]
    Metadata(metadata::Error),
    /// A metadata file cannot be read.
    #[error("cannot load {file}: {error}")]
    File {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        error: metadata::Error,
    },
    /// `values.yaml` cannot be read.
    #[error("cannot load values.yaml: {0}")]
    Values(ValuesError),
    /// An archive of a subchart has another name than its entry in `charts/`.
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {got}")]
    SubchartName {
        /// The chart around it.
        parent: String,
        /// The name that it should have.
        expected: String,
        /// The name that it has.
        got: String,
    },
    /// A subchart cannot be loaded.
    #[error("error unpacking subchart {name} in {parent}: {error}")]
    Subchart {
        /// The file or directory below `charts/`.
        name: String,
        /// The chart around it.
        parent: String,
        /// What is wrong with it.
        error: Box<Error>,
    },
    /// An archive cannot be read.
    #[error("{0}")]
    Archive(#[from] archive::Error),
    /// The `apiVersion` is of no chart that this dialect knows.
    #[error("unsupported chart version")]
    ApiVersion(String),
    /// The `apiVersion` is of charts that are still an experiment in Helm.
    #[error("invalid chart apiVersion")]
    ExperimentalApiVersion,
    /// Charts in charts without an end.
    #[error("charts are nested more than {MAX_NESTING} deep")]
    TooDeep,
}

impl Error {
    /// The error of a subchart with the name of the chart around it.
    fn inside(mut self, chart: &str) -> Self {
        if let Self::SubchartName { parent, .. } | Self::Subchart { parent, .. } = &mut self {
            chart.clone_into(parent);
        }
        self
    }
}

/// Why a values file cannot be read. The texts are Helm's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValuesError {
    /// Its documents cannot be told apart.
    #[error("error reading yaml document: {0}")]
    Documents(yaml::Error),
    /// A document is no map, or no YAML.
    #[error("{prefix}{error}")]
    Yaml {
        /// What the dialect puts before it.
        prefix: &'static str,
        /// What is wrong with it.
        error: yaml::Error,
    },
    /// There are too many values.
    #[error("{0}")]
    TooLarge(values::Error),
}

/// Reads a values file: one map, or several documents that are merged.
pub fn parse_values(text: &[u8], source: u32, dialect: &Dialect) -> Result<Map, ValuesError> {
    let prefix = dialect.values_error_prefix;
    if !dialect.values_all_documents {
        return yaml::parse_object(text, source).map_err(|error| ValuesError::Yaml { prefix, error });
    }
    let mut all = Map::new();
    for document in yaml::documents(text) {
        let document = document.map_err(ValuesError::Documents)?;
        let origin = yaml::Origin { source, first_line: document.first_line };
        let map = yaml::parse_object(&document.text, origin)
            .map_err(|error| ValuesError::Yaml { prefix, error })?;
        // Most files are one document.
        if all.is_empty() {
            all = map;
        } else {
            merge_maps(&mut all, map);
        }
    }
    Ok(all)
}

/// Merges a map into another; the second one wins.
pub fn merge_maps(into: &mut Map, from: Map) {
    let mut work = vec![(into, from)];
    while let Some((into, from)) = work.pop() {
        let mut inner = BTreeMap::new();
        for (key, node) in from.into_entries() {
            let merges =
                node.as_map().is_some() && into.get(&key).is_some_and(|there| there.as_map().is_some());
            match node.value {
                Value::Map(map) if merges => drop(inner.insert(key, map)),
                value => drop(into.insert(key, Node { value, pos: node.pos })),
            }
        }
        for (key, there) in into.iter_mut() {
            if let (Some(there), Some(map)) = (there.as_map_mut(), inner.remove(key)) {
                work.push((there, map));
            }
        }
    }
}

/// Makes a chart of its files.
pub fn load_files(files: Vec<File>, dialect: &Dialect) -> Result<Loaded, Error> {
    load_unread(&files, |file| &file.name, |file| Ok(file.clone()), dialect).and_then(|loaded| loaded)
}

/// Makes a chart of files that are still to be read, by the thread that needs them. The first error is that of a file that
/// cannot be read: the one inside is of a chart whose files all could.
pub(crate) fn load_unread<F: Sync, E: Send>(
    files: &[F],
    name: impl Fn(&F) -> &str + Sync,
    read: impl Fn(&F) -> Result<File, E> + Sync,
    dialect: &Dialect,
) -> Result<Result<Loaded, Error>, E> {
    let shared =
        Shared { dialect, sources: Mutex::default(), nested_archives: AtomicU64::new(archive::MAX_SIZE) };
    let mut loader = Loader { shared: &shared, warnings: Vec::new() };
    let chart = loader.load(files, name, read, "", 0)?;
    let warnings = loader.warnings;
    let sources = shared.sources.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(chart.map(|chart| Loaded { chart: Arc::new(chart), sources, warnings }))
}

/// Refuses charts of an `apiVersion` that the dialect does not know.
pub fn check_api_version(chart_yaml: &[u8], dialect: &Dialect) -> Result<(), Error> {
    if !dialect.checks_api_version {
        return Ok(());
    }
    let version = metadata::api_version(chart_yaml)
        .map_err(|error| Error::File { file: "Chart.yaml", error: metadata::Error::Yaml(error) })?;
    match version.as_str() {
        "" | metadata::API_V1 | metadata::API_V2 => Ok(()),
        "v3" => Err(Error::ExperimentalApiVersion),
        _ => Err(Error::ApiVersion(version)),
    }
}

/// What the loaders of all subcharts have in common.
struct Shared<'a> {
    dialect: &'a Dialect,
    sources: Mutex<Sources>,
    /// What all archives in archives can still unpack to.
    nested_archives: AtomicU64,
}

struct Loader<'a> {
    shared: &'a Shared<'a>,
    warnings: Vec<Warning>,
}

/// From so many files in subcharts on these are loaded by several threads.
const MANY_FILES: usize = 50;

/// From so many files in one place on these are read by several threads.
const MANY_UNREAD: usize = 300;

/// The name of a file below `charts/`, if it can be part of a subchart.
fn subchart_file(name: &str) -> Option<&str> {
    name.strip_prefix("charts/").filter(|_| extension(name) != ".prov")
}

impl Loader<'_> {
    /// Makes a chart of its files. `place` is where the chart is below the outermost one, with a slash at its end.
    fn load<F: Sync, E: Send>(
        &mut self,
        files: &[F],
        name: impl Fn(&F) -> &str + Sync,
        read: impl Fn(&F) -> Result<File, E> + Sync,
        place: &str,
        depth: usize,
    ) -> Result<Result<Chart, Error>, E> {
        if depth > MAX_NESTING {
            return Ok(Err(Error::TooDeep));
        }
        let mut subcharts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut own = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let directory = subchart_file(name(file)).map(|inner| inner.split('/').next().unwrap_or(inner));
            match directory.filter(|directory| !directory.starts_with(['_', '.'])) {
                Some(directory) => subcharts.entry(directory).or_default().push(at),
                None => own.push(at),
            }
        }
        let subcharts: Vec<(&str, Vec<usize>)> = subcharts.into_iter().collect();
        // The subcharts of subcharts are loaded by the thread that has the subchart.
        let many = depth == 0 && files.len() - own.len() > MANY_FILES;
        let shared = self.shared;
        let read_all = |which: &[usize]| -> Result<Vec<File>, E> {
            let which: Vec<&F> = which.iter().filter_map(|at| files.get(*at)).collect();
            let many = depth == 0 && which.len() > MANY_UNREAD;
            parallel::map(&which, many, |file| read(file)).into_iter().collect()
        };
        let work = |(name, which): &(&str, Vec<usize>)| {
            let files = read_all(which)?;
            let mut loader = Loader { shared, warnings: Vec::new() };
            let place = format!("{place}charts/{name}/");
            let chart = loader.load_subchart(name, &files, &place, depth);
            Ok((files, chart.map(|chart| (chart, loader.warnings))))
        };
        let first = || {
            let files = read_all(&own)?;
            let chart = self.load_own(&files, place);
            Ok((files, chart))
        };
        let (loaded, first) = parallel::map_after(&subcharts, many, work, first);
        let (own_files, chart) = first?;
        let loaded = loaded.into_iter().collect::<Result<Vec<_>, E>>()?;
        let mut raw: Vec<(usize, File)> = own.into_iter().zip(own_files).collect();
        let mut inner = Vec::with_capacity(loaded.len());
        for ((_, which), (files, chart)) in subcharts.iter().zip(loaded) {
            raw.extend(which.iter().copied().zip(files));
            inner.push(chart);
        }
        raw.sort_unstable_by_key(|(at, _)| *at);
        Ok(chart.and_then(|mut chart| {
            for subchart in inner {
                let (subchart, warnings) = subchart.map_err(|error| error.inside(&chart.metadata.name))?;
                chart.dependencies.push(Arc::new(subchart));
                self.warnings.extend(warnings);
            }
            chart.raw = raw.into_iter().map(|(_, file)| file).collect();
            Ok(chart)
        }))
    }

    /// Reads what is the chart's own among its files.
    fn load_own(&mut self, files: &[File], place: &str) -> Result<Chart, Error> {
        let mut draft = self.read_chart_yaml(files)?;
        let mut chart = Chart {
            metadata: Metadata::default(),
            lock: None,
            templates: Vec::new(),
            values: None,
            schema: None,
            files: Vec::new(),
            raw: Vec::new(),
            dependencies: Vec::new(),
        };
        for file in files {
            match &*file.name {
                "Chart.yaml" => {}
                "Chart.lock" => chart.lock = self.read_lock("Chart.lock", file)?,
                "values.yaml" => {
                    let name = draft.as_ref().map_or("", |draft| &draft.metadata.name);
                    chart.values = Some(Arc::new(self.read_values(file, name, place)?));
                }
                "values.schema.json" => chart.schema = Some(Arc::new(ChartSchema::new(file.data.clone()))),
                "requirements.yaml" => {
                    let draft = draft.get_or_insert_default();
                    if draft.metadata.api_version != API_V1 {
                        self.warnings.push(Warning::OldRequirements);
                    }
                    let read = draft.read(&file.data, self.shared.dialect);
                    read.map_err(|error| Error::File { file: "requirements.yaml", error })?;
                    if draft.metadata.api_version == API_V1 {
                        chart.files.push(file.clone());
                    }
                }
                "requirements.lock" => {
                    chart.lock = self.read_lock("requirements.lock", file)?;
                    if draft.get_or_insert_default().metadata.api_version == API_V1 {
                        chart.files.push(file.clone());
                    } else {
                        self.warnings.push(Warning::OldLock);
                    }
                }
                name if name.starts_with("templates/") => chart.templates.push(file.clone()),
                name if subchart_file(name).is_some() => {}
                _ => chart.files.push(file.clone()),
            }
        }
        chart.metadata = draft.ok_or(Error::NoChartYaml)?.finish().map_err(Error::Metadata)?;
        Ok(chart)
    }

    /// Loads a subchart from its files, whose names begin with `charts/`; errors do not name the chart around it yet.
    fn load_subchart(
        &mut self,
        name: &str,
        files: &[File],
        place: &str,
        depth: usize,
    ) -> Result<Chart, Error> {
        let files = if extension(name) == ".tgz" {
            let first = files.first().map(|file| (file, subchart_file(&file.name).unwrap_or_default()));
            let Some((file, _)) = first.filter(|(_, inner)| *inner == name) else {
                let got = first.map(|(_, inner)| inner.to_owned()).unwrap_or_default();
                let expected = name.to_owned();
                return Err(Error::SubchartName { parent: String::new(), expected, got });
            };
            self.extract(&file.data)
        } else {
            // Files directly in charts/ belong to no chart.
            let inner = |file: &File| {
                let (_, name) = subchart_file(&file.name)?.split_once('/')?;
                Some(File { name: name.into(), data: file.data.clone() })
            };
            Ok(files.iter().filter_map(inner).collect())
        };
        let load = |files: Vec<File>| {
            let read = |file: &File| Ok::<_, Error>(file.clone());
            self.load(&files, |file: &File| &file.name, read, place, depth + 1).and_then(|chart| chart)
        };
        files.and_then(load).map_err(|error| Error::Subchart {
            name: name.to_owned(),
            parent: String::new(),
            error: Box::new(error),
        })
    }

    /// Unpacks an archive inside of a chart. All of them together can only unpack to so much.
    fn extract(&mut self, archive: &[u8]) -> Result<Vec<File>, Error> {
        let mut room = self.shared.nested_archives.load(Ordering::Relaxed);
        loop {
            let mut left = room;
            let files = archive::extract(archive, self.shared.dialect, &mut left)?;
            // Another thread may have used up the room meanwhile: then with what is left.
            let spend = |now: u64| now.checked_sub(room - left);
            match self.shared.nested_archives.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
                Ok(_) => return Ok(files),
                Err(now) => room = now,
            }
        }
    }

    fn read_chart_yaml(&mut self, files: &[File]) -> Result<Option<Draft>, Error> {
        let mut draft: Option<Draft> = None;
        for file in files.iter().filter(|file| *file.name == *"Chart.yaml") {
            let draft = draft.get_or_insert_default();
            let read = draft.read(&file.data, self.shared.dialect);
            read.map_err(|error| Error::File { file: "Chart.yaml", error })?;
            if draft.metadata.api_version.is_empty() {
                draft.metadata.api_version = API_V1.to_owned();
            }
        }
        Ok(draft)
    }

    fn read_lock(&mut self, name: &'static str, file: &File) -> Result<Option<Lock>, Error> {
        metadata::parse_lock(&file.data, self.shared.dialect)
            .map_err(|error| Error::File { file: name, error })
    }

    fn read_values(&mut self, file: &File, chart: &str, place: &str) -> Result<Values, Error> {
        let source = Source::Chart { chart: chart.to_owned(), file: format!("{place}values.yaml") };
        let source = self.shared.sources.lock().unwrap_or_else(PoisonError::into_inner).add(source);
        let map = parse_values(&file.data, source, self.shared.dialect).map_err(Error::Values)?;
        let pos = Pos { source, line: 1, column: 1 };
        Values::from_owned(map, pos).map_err(|error| Error::Values(ValuesError::TooLarge(error)))
    }
}

#[cfg(test)]
mod tests;
