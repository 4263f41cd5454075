//! Metrics under the names of controller-runtime and client-go, which existing dashboards query.

use std::hash::Hash;
use std::time::Duration;

use podium_serve::Registry;
use podium_serve::metrics::{Counter, DURATION_BUCKETS, Histogram};

use crate::leader_election::LeaderElection;
use crate::work_queue::{ReconcileResult, WorkQueue};
use podium_client::request;

/// Registers the metrics of the process: its requests, CPU time, memory and build.
pub fn process(registry: &Registry, version: &'static str, commit: &'static str) {
    registry.register_collector(|page| {
        let help = "Number of HTTP requests, by status code and method.";
        let mut lines = page.family("rest_client_requests_total", "counter", help, &["code", "method"]);
        for (method, status, count) in request::counts() {
            let code = if status == 0 { "<error>".to_owned() } else { status.to_string() };
            lines.sample(&[code.as_str(), method], count as f64);
        }
    });
    registry.register_collector(|page| {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let Some(usage) = Usage::parse(&stat) else { return };
        for (name, kind, help, number) in [
            ("process_cpu_seconds_total", "counter", "User and system CPU time in seconds.", usage.seconds),
            ("process_resident_memory_bytes", "gauge", "Resident memory in bytes.", usage.resident),
            ("process_virtual_memory_bytes", "gauge", "Virtual memory in bytes.", usage.virtual_size),
        ] {
            page.family::<&str>(name, kind, help, &[]).sample::<&str>(&[], number);
        }
    });
    let help = "Build information: the version and the commit of this program.";
    registry.gauge("helm_operator_build_info", help, &["commit", "version"]).set(&[commit, version], 1.0);
}

/// The resource usage of a process.
struct Usage {
    seconds: f64,
    resident: f64,
    virtual_size: f64,
}

impl Usage {
    /// Parses `/proc/self/stat`: times are in hundredths of a second, memory in bytes and in pages of 4 KiB.
    fn parse(stat: &str) -> Option<Self> {
        // The second field is the name of the program, which may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let field = |number: usize| fields.split_whitespace().nth(number - 3)?.parse::<f64>().ok();
        Some(Self {
            seconds: (field(14)? + field(15)?) / 100.0,
            virtual_size: field(23)?,
            resident: field(24)? * 4096.0,
        })
    }
}

/// Registers the metrics of a work queue.
pub fn work_queue<K: Clone + Eq + Hash + Send + 'static>(
    registry: &Registry,
    name: &str,
    queue: &WorkQueue<K>,
) {
    let (name, queue) = (name.to_owned(), queue.clone());
    registry.register_collector(move |page| {
        let stats = queue.stats();
        for (metric, kind, help, number) in [
            ("workqueue_depth", "gauge", "Keys that could run now.", stats.ready as f64),
            ("workqueue_adds_total", "counter", "How often a key became ready.", stats.adds as f64),
            ("workqueue_retries_total", "counter", "How often a key failed.", stats.retries as f64),
            ("workqueue_waiting", "gauge", "Keys that wait for their time.", stats.waiting as f64),
            ("controller_runtime_active_workers", "gauge", "Keys that workers have.", stats.running as f64),
        ] {
            let label = if metric.starts_with("workqueue") { "name" } else { "controller" };
            page.family(metric, kind, help, &[label]).sample(&[&name], number);
        }
    });
}

/// Registers whether this process is the leader.
pub fn leader_election(registry: &Registry, election: &LeaderElection) {
    let election = election.clone();
    registry.register_collector(move |page| {
        let help = "1 if this process leads, 0 if it stands by.";
        let mut lines = page.family("leader_election_master_status", "gauge", help, &["name"]);
        lines.sample(&[&election.name], f64::from(u8::from(election.is_leader())));
    });
}

/// The results and durations of reconciles.
#[derive(Clone)]
pub struct ReconcileMetrics {
    total: Counter,
    errors: Counter,
    seconds: Histogram,
}

impl ReconcileMetrics {
    /// Registers the metrics of all controllers of a process.
    pub fn new(registry: &Registry) -> Self {
        Self {
            total: registry.counter(
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller.",
                &["controller", "result"],
            ),
            errors: registry.counter(
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller.",
                &["controller"],
            ),
            seconds: registry.histogram(
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller.",
                &["controller"],
                DURATION_BUCKETS,
            ),
        }
    }

    /// Records one reconcile.
    pub fn observe(&self, controller: &str, result: ReconcileResult, duration: Duration) {
        let label = match result {
            ReconcileResult::Done => "success",
            ReconcileResult::RequeueAfter(_) | ReconcileResult::BackingOff(_) => "requeue_after",
            ReconcileResult::Failed => "error",
        };
        self.total.add(&[controller, label], 1);
        if result == ReconcileResult::Failed {
            self.errors.add(&[controller], 1);
        }
        self.seconds.observe(&[controller], duration.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work_queue::Backoff;

    #[test]
    fn parses_proc_stat_for_any_program_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 900 8192 3 1844";
        let usage = Usage::parse(stat).unwrap();
        assert_eq!((usage.seconds, usage.virtual_size, usage.resident), (2.0, 8192.0, 12288.0));
        assert!(Usage::parse("").is_none() && Usage::parse("7 (a) S").is_none());
    }

    #[test]
    fn registers_the_names_of_controller_runtime() {
        let registry = Registry::default();
        process(&registry, "1.0", "abc");
        let work = WorkQueue::new(Backoff { base: Duration::from_secs(1), cap: Duration::from_secs(2) });
        work.add("a");
        work_queue(&registry, "demo-controller", &work);
        leader_election(&registry, &LeaderElection::new("n", "l", "me"));
        let reconciles = ReconcileMetrics::new(&registry);
        reconciles.observe("demo-controller", ReconcileResult::Failed, Duration::from_millis(20));
        let text = registry.encode_text();
        for line in [
            "helm_operator_build_info{commit=\"abc\",version=\"1.0\"} 1",
            "workqueue_depth{name=\"demo-controller\"} 1",
            "workqueue_adds_total{name=\"demo-controller\"} 1",
            "leader_election_master_status{name=\"l\"} 0",
            "controller_runtime_reconcile_total{controller=\"demo-controller\",result=\"error\"} 1",
            "controller_runtime_reconcile_errors_total{controller=\"demo-controller\"} 1",
            "controller_runtime_reconcile_time_seconds_bucket{controller=\"demo-controller\",le=\"0.025\"} 1",
            "# TYPE rest_client_requests_total counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
    }
}
