//! Loads the chart of an entry of `watches.yaml`, and again when its files change.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use podium_chart::dialect::{Dialect, HELM3};
use podium_controller::cpu_pool::CpuPool;

use crate::chart::Chart;
use crate::chart_controller::ChartController;
use crate::missing_dependencies::Dependency;
use crate::reconcile::Context;

/// How often the files of a chart are checked for changes.
const RELOAD_PERIOD: Duration = Duration::from_secs(1);
/// The Helm version that charts of operator-sdk are written for.
const DIALECT: &Dialect = &HELM3;

/// Loads a chart on a thread of the pool.
pub async fn load(pool: &CpuPool, path: &str) -> Result<Arc<Chart>, String> {
    let path = path.to_owned();
    match pool.run(move || Chart::load(&path, DIALECT)).await {
        Ok(loaded) => loaded.map(Arc::new).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reloads the chart of a controller when its files change. Without `always`, stops once the chart can be loaded.
pub async fn reload(controller: Rc<ChartController>, context: Rc<Context>, always: bool) {
    let Context { informers, log, pool, .. } = &*context;
    let path = controller.watch.chart.clone();
    let mut last_stamps = stamps(&path);
    let mut failed = String::new();
    while always || controller.chart().is_err() {
        tokio::time::sleep(RELOAD_PERIOD).await;
        let now = stamps(&path);
        if now == last_stamps {
            continue;
        }
        last_stamps = now;
        match load(pool, &path).await {
            Ok(chart) if chart.digest != controller.chart_digest() => {
                log.info("the chart has changed", &[("chart", &path)]);
                informers.add_chart(&chart.name);
                *controller.chart.borrow_mut() = Ok(chart);
                controller.enqueue_all_now();
                failed.clear();
                informers.missing.set(&controller.watch.kind, "chart", None);
            }
            Ok(_) => {
                failed.clear();
                informers.missing.set(&controller.watch.kind, "chart", None);
            }
            Err(error) if error != failed => {
                failed = error;
                informers.missing.set(&controller.watch.kind, "chart", Some(Dependency::Chart));
                let mut chart = controller.chart.borrow_mut();
                let message = match &mut *chart {
                    Ok(_) => "the chart has changed and cannot be loaded: the previous one stays",
                    Err(why) => {
                        why.clone_from(&failed);
                        "the chart has changed and still cannot be loaded"
                    }
                };
                log.error(message, &[("error", &failed)]);
            }
            Err(_) => {}
        }
    }
}

/// The modification time and size of every file of a chart.
fn stamps(path: &str) -> Vec<(PathBuf, Option<SystemTime>, u64)> {
    let mut out = Vec::new();
    let mut work = vec![PathBuf::from(path)];
    while let Some(path) = work.pop() {
        let Ok(meta) = std::fs::metadata(&path) else { continue };
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            work.extend(entries.map(|entry| entry.path()));
        } else {
            out.push((path, meta.modified().ok(), meta.len()));
        }
    }
    out.sort();
    out
}
