//! Counters, gauges and histograms in the Prometheus text format.
//!
//! Values that exist anyway (the depth of a work queue, the requests of a client) are not counted twice: a collector
//! reads them on each scrape and costs nothing in between.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Series per metric family: label values from untrusted input must not exhaust memory.
const MAX_SERIES: usize = 20_000;

/// Histogram buckets in seconds, for requests as well as long reconciles.
pub const DURATION_BUCKETS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0];

/// Metrics of a process. Clones share their state.
#[derive(Clone, Default)]
pub struct Registry(Arc<Mutex<Vec<Collector>>>);

type Collector = Box<dyn Fn(&mut Exposition) + Send + Sync>;
type Labels = Box<[Box<str>]>;

struct Family<T> {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    values: Mutex<BTreeMap<Labels, T>>,
}

impl<T: Default> Family<T> {
    fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Arc<Self> {
        Arc::new(Self { name, help, labels, values: Mutex::default() })
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<Labels, T>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, labels: &[&str], update: impl FnOnce(&mut T)) {
        let key: Labels = labels.iter().map(|label| Box::from(*label)).collect();
        let mut values = self.values();
        if values.len() < MAX_SERIES || values.contains_key(&key) {
            update(values.entry(key).or_default());
        }
    }

    fn remove(&self, labels: &[&str]) {
        let key: Labels = labels.iter().map(|label| Box::from(*label)).collect();
        self.values().remove(&key);
    }
}

/// Monotonic counter.
#[derive(Clone)]
pub struct Counter(Arc<Family<u64>>);

impl Counter {
    /// Increments the series with these label values.
    pub fn add(&self, labels: &[&str], increment: u64) {
        self.0.update(labels, |value| *value = value.saturating_add(increment));
    }
}

/// Value that goes up and down.
#[derive(Clone)]
pub struct Gauge(Arc<Family<f64>>);

impl Gauge {
    /// Sets the series with these label values.
    pub fn set(&self, labels: &[&str], value: f64) {
        self.0.update(labels, |current| *current = value);
    }

    /// Removes the series with these label values.
    pub fn remove(&self, labels: &[&str]) {
        self.0.remove(labels);
    }
}

/// Distribution of observed values over buckets.
#[derive(Clone)]
pub struct Histogram {
    family: Arc<Family<Buckets>>,
    bounds: &'static [f64],
}

#[derive(Default)]
struct Buckets {
    counts: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Histogram {
    /// Records a value.
    pub fn observe(&self, labels: &[&str], value: f64) {
        self.family.update(labels, |buckets| {
            buckets.counts.resize(self.bounds.len(), 0);
            let index = self.bounds.partition_point(|bound| *bound < value);
            if let Some(count) = buckets.counts.get_mut(index) {
                *count += 1;
            }
            buckets.count += 1;
            buckets.sum += value;
        });
    }
}

impl Registry {
    /// Registers a counter with these label names.
    pub fn counter(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Counter {
        let family = Family::new(name, help, labels);
        let exposed = family.clone();
        self.register_collector(move |exposition| {
            let mut writer = exposition.family(exposed.name, "counter", exposed.help, exposed.labels);
            for (labels, value) in &*exposed.values() {
                writer.sample(labels, *value as f64);
            }
        });
        Counter(family)
    }

    /// Registers a gauge with these label names.
    pub fn gauge(&self, name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Gauge {
        let family = Family::<f64>::new(name, help, labels);
        let exposed = family.clone();
        self.register_collector(move |exposition| {
            let mut writer = exposition.family(exposed.name, "gauge", exposed.help, exposed.labels);
            for (labels, value) in &*exposed.values() {
                writer.sample(labels, *value);
            }
        });
        Gauge(family)
    }

    /// Registers a histogram with these label names and ascending upper bounds.
    pub fn histogram(
        &self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        bounds: &'static [f64],
    ) -> Histogram {
        let family = Family::<Buckets>::new(name, help, labels);
        let exposed = family.clone();
        self.register_collector(move |exposition| {
            let mut writer = exposition.family(exposed.name, "histogram", exposed.help, exposed.labels);
            for (labels, buckets) in &*exposed.values() {
                let mut cumulative = 0;
                for (bound, count) in bounds.iter().zip(&buckets.counts) {
                    cumulative += count;
                    writer.write_sample("_bucket", labels, Some(&bound.to_string()), cumulative as f64);
                }
                writer.write_sample("_bucket", labels, Some("+Inf"), buckets.count as f64);
                writer.write_sample("_sum", labels, None, buckets.sum);
                writer.write_sample("_count", labels, None, buckets.count as f64);
            }
        });
        Histogram { family, bounds }
    }

    /// Registers a function that writes metrics on each scrape.
    pub fn register_collector(&self, collector: impl Fn(&mut Exposition) + Send + Sync + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(collector));
    }

    /// Encodes all metrics in the Prometheus text format.
    pub fn encode_text(&self) -> String {
        let mut exposition = Exposition::default();
        for collector in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            collector(&mut exposition);
        }
        let mut text = String::new();
        for (name, FamilyText { kind, help, lines }) in &exposition.families {
            // Writing to a String cannot fail.
            let _ = write!(text, "# HELP {name} {}\n# TYPE {name} {kind}\n{lines}", escape(help, false));
        }
        text
    }
}

/// Text exposition under construction; merges families of the same name.
#[derive(Default)]
pub struct Exposition {
    families: BTreeMap<String, FamilyText>,
}

struct FamilyText {
    kind: &'static str,
    help: String,
    lines: String,
}

impl Exposition {
    /// Starts a metric family, or continues the one of this name.
    pub fn family<'p, L: AsRef<str>>(
        &'p mut self,
        name: &str,
        kind: &'static str,
        help: &str,
        labels: &'p [L],
    ) -> FamilyWriter<'p, L> {
        let new = || FamilyText { kind, help: help.to_owned(), lines: String::new() };
        let exposed = self.families.entry(name.to_owned()).or_insert_with(new);
        FamilyWriter { name: name.to_owned(), labels, text: &mut exposed.lines }
    }
}

/// Writer of the samples of one family.
pub struct FamilyWriter<'p, L> {
    name: String,
    labels: &'p [L],
    text: &'p mut String,
}

impl<L: AsRef<str>> FamilyWriter<'_, L> {
    /// Writes the sample with these label values.
    pub fn sample<V: AsRef<str>>(&mut self, values: &[V], number: f64) {
        self.write_sample("", values, None, number);
    }

    fn write_sample<V: AsRef<str>>(&mut self, suffix: &str, values: &[V], bound: Option<&str>, number: f64) {
        self.text.push_str(&self.name);
        self.text.push_str(suffix);
        let labels = self.labels.iter().map(AsRef::as_ref).zip(values.iter().map(AsRef::as_ref));
        let mut separator = '{';
        for (label, value) in labels.chain(bound.map(|bound| ("le", bound))) {
            let _ = write!(self.text, "{separator}{label}=\"{}\"", escape(value, true));
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
        let number = match number {
            n if n.is_nan() => "NaN".to_owned(),
            n if n.is_infinite() => (if n > 0.0 { "+Inf" } else { "-Inf" }).to_owned(),
            n => n.to_string(),
        };
        let _ = writeln!(self.text, " {number}");
    }
}

fn escape(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_prometheus_text_format() {
        let registry = Registry::default();
        let total = registry.counter("b_total", "How many.", &["controller", "result"]);
        total.add(&["x", "success"], 2);
        total.add(&["x", "error"], 1);
        total.add(&["x", "success"], 1);
        registry.gauge("a", "One\nline.", &[]).set(&[], 0.5);
        let seconds = registry.histogram("c_seconds", "How long.", &["q"], &[0.1, 1.0]);
        for value in [0.1, 0.5, 7.0] {
            seconds.observe(&["a\"b"], value);
        }
        registry.register_collector(|exposition| {
            exposition.family("d", "gauge", "Asked.", &["n"]).sample(&["1"], 3.0)
        });
        registry.register_collector(|exposition| {
            exposition.family("d", "gauge", "Asked.", &["n"]).sample(&["2"], f64::INFINITY)
        });
        let expected = "# HELP a One\\nline.\n# TYPE a gauge\na 0.5\n\
            # HELP b_total How many.\n# TYPE b_total counter\nb_total{controller=\"x\",result=\"error\"} 1\n\
            b_total{controller=\"x\",result=\"success\"} 3\n\
            # HELP c_seconds How long.\n# TYPE c_seconds histogram\n\
            c_seconds_bucket{q=\"a\\\"b\",le=\"0.1\"} 1\nc_seconds_bucket{q=\"a\\\"b\",le=\"1\"} 2\n\
            c_seconds_bucket{q=\"a\\\"b\",le=\"+Inf\"} 3\nc_seconds_sum{q=\"a\\\"b\"} 7.6\nc_seconds_count{q=\"a\\\"b\"} 3\n\
            # HELP d Asked.\n# TYPE d gauge\nd{n=\"1\"} 3\nd{n=\"2\"} +Inf\n";
        assert_eq!(registry.encode_text(), expected);
    }

    #[test]
    fn bounds_series_per_family() {
        let registry = Registry::default();
        let gauge = registry.gauge("a", "", &["n"]);
        for number in 0..MAX_SERIES + 10 {
            gauge.set(&[&number.to_string()], 1.0);
        }
        assert_eq!(registry.encode_text().lines().count(), MAX_SERIES + 2);
        gauge.remove(&["0"]);
        assert_eq!(registry.encode_text().lines().count(), MAX_SERIES + 1);
    }
}
