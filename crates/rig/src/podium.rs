//! Podium's own engine as a subject, in this process.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use podium_chart::capabilities::{Capabilities, KubeVersion};
use podium_chart::chart::load_files;
use podium_chart::dialect::{self, HELM3, HELM4};
use podium_chart::files::File;
use podium_chart::manifest::{self, Output};
use podium_chart::render::Release;
use podium_chart::renderer::{Error, Renderer};
use podium_chart::schema;
use podium_chart::user_values::Options;
use podium_chart::values::Values;
use podium_gotmpl::{Limits, World};
use podium_goyaml::Pos;

use crate::random::Random;
use crate::request::{Dialect, Outcome, RenderRequest};
use crate::subject::Subject;

/// The engine of this repository.
pub struct Podium;

impl Subject for Podium {
    fn name(&self) -> String {
        "podium".to_owned()
    }

    fn render(&self, request: &RenderRequest) -> Outcome {
        match catch_unwind(AssertUnwindSafe(|| render(request))) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(message)) => Outcome::Error([b"Error: ".as_slice(), &message].concat()),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                Outcome::Crash(format!("panic: {}", text.unwrap_or_default()))
            }
        }
    }
}

/// The rules of a dialect.
pub fn rules(dialect: Dialect) -> &'static dialect::Dialect {
    match dialect {
        Dialect::Helm3 => &HELM3,
        Dialect::Helm4 => &HELM4,
    }
}

/// Time and chance for templates: the clock is real, chance is cheap.
pub struct TestWorld {
    random: Cell<u64>,
    end: Instant,
}

impl Default for TestWorld {
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        TestWorld {
            random: Cell::new(since.as_nanos() as u64),
            end: Instant::now() + Duration::from_secs(20),
        }
    }
}

impl World for TestWorld {
    fn now(&self) -> (i64, u32) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (since.as_secs() as i64, since.subsec_nanos())
    }

    fn random(&self, buffer: &mut [u8]) {
        let mut random = Random::new(self.random.get());
        for chunk in buffer.chunks_mut(8) {
            let word = random.word();
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
        self.random.set(random.word());
    }

    fn out_of_time(&self) -> bool {
        Instant::now() > self.end
    }
}

fn render(request: &RenderRequest) -> Result<Outcome, Vec<u8>> {
    let dialect = rules(request.dialect);
    let mut capabilities = Capabilities::default();
    if !request.kube_version.is_empty() {
        capabilities.kube_version = KubeVersion::parse(&request.kube_version, dialect)
            .map_err(|e| text(format!("invalid kube version '{}': {e}", request.kube_version)))?;
    }
    capabilities.api_versions.extend(request.api_versions.iter().cloned());

    let files = request.chart_files().into_iter();
    let files = files.map(|f| File { name: f.name.into(), data: f.data.into() }).collect();
    let loaded = load_files(files, dialect);
    let mut sources = loaded.as_ref().map(|l| l.sources.clone()).unwrap_or_default();
    let set = options(request).merge(&mut sources, dialect, &mut |name| read(request, name)).map_err(text)?;
    let set = Values::from_map(&set, Pos::default()).map_err(text)?;
    let renderer = Renderer::new(loaded.map_err(text)?.chart, dialect);
    renderer.check().map_err(text)?;
    if request.stdout {
        renderer.check_release_name(&request.release).map_err(text)?;
    }
    finish(request, &renderer, &set, &capabilities).map_err(|error| {
        let hint =
            if error.while_rendering() { "\n\nUse --debug flag to render out invalid YAML" } else { "" };
        [error.text(), hint.into()].concat()
    })
}

fn finish(
    request: &RenderRequest,
    renderer: &Renderer,
    set: &Values,
    capabilities: &Capabilities,
) -> Result<Outcome, Error> {
    let release = Release {
        name: request.release.clone(),
        namespace: request.namespace.clone(),
        is_upgrade: request.upgrade,
        revision: 1,
    };
    let files = |url: &str| schema::local_document(url, on_disk);
    let prepared = renderer.prepare_with(set, !request.skip_schema, Some(&files))?;
    let mut files =
        renderer.render(&prepared, &release, capabilities, &TestWorld::default(), Limits::default())?;
    if !request.stdout {
        let files: BTreeMap<String, Vec<u8>> = files.into_iter().map(|f| (f.name, f.text)).collect();
        return Ok(Outcome::Files(files));
    }
    manifest::take_notes(&mut files, &prepared.view.name(prepared.view.root()), false);
    let sorted = manifest::sort(&files, renderer.dialect())?;
    let crds = if request.include_crds { prepared.view.crds() } else { Vec::new() };
    let crds: Vec<_> = crds.into_iter().map(|crd| (crd.path, crd.file)).collect();
    let output = Output { no_hooks: request.no_hooks, skip_tests: request.skip_tests };
    Ok(Outcome::Stdout(manifest::print(&sorted, &crds, &output).concat()))
}

fn text(error: impl std::fmt::Display) -> Vec<u8> {
    error.to_string().into_bytes()
}

fn options(request: &RenderRequest) -> Options {
    Options {
        files: request.values.clone(),
        json: request.set_json.clone(),
        set: request.set.clone(),
        strings: request.set_string.clone(),
        file_values: request.set_file.clone(),
        literals: request.set_literal.clone(),
    }
}

/// A file that a schema refers to.
fn on_disk(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|_| format!("open {path}: no such file or directory"))
}

fn read(request: &RenderRequest, name: &str) -> Result<Vec<u8>, String> {
    // Two files of one name are written one after the other: the last one is there.
    let found = request.side.iter().rfind(|f| f.name == name);
    found.map(|f| f.data.clone()).ok_or_else(|| format!("open {name}: no such file or directory"))
}
