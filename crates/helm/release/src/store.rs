//! Stores release records in Secrets or ConfigMaps with Helm's labels.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use podium_client::client::{self, Client, Representation};
use podium_client::write::PropagationPolicy;
use podium_meta::Resource;
use podium_meta::kind::escape;
use podium_sprig::encoding::{base64_decode, base64_encode};
use podium_sprig::gotime::{Location, Time};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::encode;
use crate::record::{self, Release};

/// The labels that Helm sets.
const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];
/// The field manager of the records.
const FIELD_MANAGER: &str = "helm";
/// Maximum number of concurrent reads.
const MAX_CONCURRENT_READS: usize = 16;

/// Why records cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server rejected a request or could not be reached.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The release or revision does not exist.
    #[error("release: not found")]
    NotFound,
    /// A record cannot be decoded.
    #[error("the record {key}: {source}")]
    Decode {
        /// The name of the Secret or ConfigMap.
        key: String,
        /// The decoding error.
        #[source]
        source: record::Error,
    },
    /// A Secret or ConfigMap has no record.
    #[error("the record {0} has no field `release`")]
    MissingData(String),
    /// A record cannot be encoded.
    #[error(transparent)]
    Encode(#[from] encode::Error),
    /// Another process has created the revision.
    #[error("release: already exists: the revision {revision} of {name} was just created by another process")]
    AlreadyExists {
        /// The release.
        name: String,
        /// The revision.
        revision: i64,
    },
    /// A task panicked or was cancelled.
    #[error("processing a record was interrupted: {0}")]
    Interrupted(String),
    /// Unknown value of `HELM_DRIVER`.
    #[error("unknown driver {0:?}: HELM_DRIVER is secret (the default) or configmap")]
    Driver(String),
}

/// The storage driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// `HELM_DRIVER=secret`.
    #[default]
    Secrets,
    /// `HELM_DRIVER=configmap`.
    ConfigMaps,
}

impl Driver {
    /// Parses the value of `HELM_DRIVER`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text {
            "" | "secret" | "secrets" => Ok(Driver::Secrets),
            "configmap" | "configmaps" => Ok(Driver::ConfigMaps),
            other => Err(Error::Driver(other.to_owned())),
        }
    }

    fn resource(self) -> Resource {
        match self {
            Driver::Secrets => Resource::core("Secret", "secrets", true),
            Driver::ConfigMaps => Resource::core("ConfigMap", "configmaps", true),
        }
    }
}

/// The metadata of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordEntry {
    /// The name of the Secret or ConfigMap.
    pub key: String,
    /// Its namespace.
    pub namespace: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its resourceVersion when it was listed.
    pub resource_version: u64,
}

/// The resourceVersion of an object; 0 when it has none.
fn resource_version(object: &Value) -> u64 {
    let text = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl RecordEntry {
    fn from_object(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (key, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
        Self { key, namespace, labels: labels(object), resource_version: resource_version(object) }
    }

    /// The release's name.
    pub fn release(&self) -> &str {
        self.labels.get("name").map(String::as_str).unwrap_or_default()
    }

    /// The status of the revision.
    pub fn status(&self) -> &str {
        self.labels.get("status").map(String::as_str).unwrap_or_default()
    }

    /// The revision number.
    pub fn revision(&self) -> i64 {
        self.labels.get("version").and_then(|version| version.parse().ok()).unwrap_or(0)
    }
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    string_map(object, "/metadata/labels")
}

fn string_map(object: &Value, path: &str) -> BTreeMap<String, String> {
    let labels = object.pointer(path).and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())));
    pairs.collect()
}

/// An encoded record that is not written yet.
#[derive(Clone, Debug)]
pub struct PreparedRecord {
    /// The Secret or ConfigMap.
    pub object: Value,
    /// The size with the chart's templates and files, when they were dropped to stay below the limit.
    pub full_size: Option<usize>,
}

/// The release records of a namespace, or of all namespaces.
#[derive(Clone)]
pub struct Store {
    /// The client of the cluster.
    pub client: Client,
    driver: Driver,
    /// `None` is all namespaces.
    namespace: Option<String>,
    location: Location,
    read_after_write: ReadAfterWrite,
}

/// The newest resourceVersion of a record that the process has written or watched, shared by its stores; 0 when none
/// is known.
#[derive(Clone, Debug, Default)]
pub struct ReadAfterWrite(Arc<AtomicU64>);

impl ReadAfterWrite {
    /// Records that this resourceVersion exists.
    pub fn observe(&self, resource_version: u64) {
        self.0.fetch_max(resource_version, Ordering::Relaxed);
    }

    /// The newest known resourceVersion.
    pub fn resource_version(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Store {
    /// A store for one namespace or all; timestamps are in `location`.
    pub fn new(client: Client, driver: Driver, namespace: Option<String>, location: Location) -> Self {
        Self { client, driver, namespace, location, read_after_write: ReadAfterWrite::default() }
    }

    /// Shares the newest known resourceVersion with other stores.
    pub fn with_read_after_write(self, read_after_write: ReadAfterWrite) -> Self {
        Self { read_after_write, ..self }
    }

    /// The shared tracker of the newest known resourceVersion.
    pub fn read_after_write(&self) -> &ReadAfterWrite {
        &self.read_after_write
    }

    /// The namespace; `None` is all of them.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Lists the metadata of all records.
    pub async fn list_entries(&self) -> Result<Vec<RecordEntry>, Error> {
        self.list_matching("owner=helm", 0).await
    }

    async fn list_matching(&self, selector: &str, at_least: u64) -> Result<Vec<RecordEntry>, Error> {
        let (resource, namespace) = (self.driver.resource(), self.namespace.as_deref());
        let found = self
            .client
            .list_not_older_than(&resource, namespace, selector, Representation::Metadata, at_least)
            .await?;
        Ok(found.iter().map(RecordEntry::from_object).collect())
    }

    /// Reads all revisions of a release, oldest first.
    pub async fn history(&self, name: &str) -> Result<Vec<Release>, Error> {
        let entries = self.existing_entries(name, 0).await?;
        self.read_all(entries).await.into_iter().collect()
    }

    /// Reads a revision of a release, or its last one.
    pub async fn get(&self, name: &str, revision: Option<i64>) -> Result<Release, Error> {
        let mut entries = self.existing_entries(name, 0).await?;
        if let Some(revision) = revision {
            entries.retain(|entry| entry.revision() == revision);
        }
        let entry = entries.pop().ok_or(Error::NotFound)?;
        let mut release = self.read(&entry).await?;
        if revision.is_some() {
            // As Helm does; for the last revision, it keeps them.
            release.labels.retain(|key, _| !SYSTEM_LABELS.contains(&key.as_str()));
        }
        Ok(release)
    }

    async fn existing_entries(&self, name: &str, at_least: u64) -> Result<Vec<RecordEntry>, Error> {
        let mut entries = self.list_matching(&format!("name={name},owner=helm"), at_least).await?;
        if entries.is_empty() {
            return Err(Error::NotFound);
        }
        entries.sort_by_key(RecordEntry::revision);
        Ok(entries)
    }

    /// Reads records concurrently; results are in the order of the entries.
    pub async fn read_all(&self, entries: Vec<RecordEntry>) -> Vec<Result<Release, Error>> {
        let mut results: Vec<Option<Result<Release, Error>>> = entries.iter().map(|_| None).collect();
        let mut remaining = entries.into_iter().enumerate();
        let mut tasks = JoinSet::new();
        loop {
            while tasks.len() < MAX_CONCURRENT_READS
                && let Some((index, entry)) = remaining.next()
            {
                let store = self.clone();
                tasks.spawn(async move { (index, store.read(&entry).await) });
            }
            match tasks.join_next().await {
                None => break,
                Some(Ok((index, result))) => {
                    if let Some(slot) = results.get_mut(index) {
                        *slot = Some(result);
                    }
                }
                Some(Err(error)) => return vec![Err(Error::Interrupted(error.to_string()))],
            }
        }
        results.into_iter().flatten().collect()
    }

    /// Reads a record.
    pub async fn read(&self, entry: &RecordEntry) -> Result<Release, Error> {
        let resource = self.driver.resource();
        let found = self.client.get(&resource, Some(&entry.namespace), &entry.key).await?;
        let object = match found.filter(|object| resource_version(object) >= entry.resource_version) {
            Some(object) => object,
            // The read may be served from a stale cache; acting on an older record would be wrong.
            None => self.find_in_list(entry).await?.ok_or(Error::NotFound)?,
        };
        let (key, driver, location) = (entry.key.clone(), self.driver, self.location.clone());
        // A record is up to a megabyte compressed: decoding it would block the async thread.
        blocking(move || decode(&object, key, driver, &location)).await?
    }

    /// Reads a record by a consistent list.
    async fn find_in_list(&self, entry: &RecordEntry) -> Result<Option<Value>, Error> {
        let query = format!("?fieldSelector=metadata.name%3D{}", escape(&entry.key));
        let list = self.client.list_objects(&self.driver.resource(), Some(&entry.namespace), &query).await?;
        Ok(list.get("items").and_then(Value::as_array).and_then(|items| items.first()).cloned())
    }

    /// The current time, in the time zone of the records.
    pub fn now(&self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Time::from_unix(seconds, since.subsec_nanos().into(), self.location.clone())
    }

    /// Encodes a new record without writing it; it may be too large.
    pub async fn prepare(&self, release: &Release) -> Result<PreparedRecord, Error> {
        let encoded = encode(release).await?;
        Ok(PreparedRecord {
            object: self.object(release, &encoded.text, "createdAt"),
            full_size: encoded.full_size,
        })
    }

    /// Creates a record; fails with [`Error::AlreadyExists`] if another process has created the revision.
    pub async fn create(&self, release: &Release, object: Value) -> Result<(), Error> {
        let resource = self.driver.resource();
        match self
            .client
            .with_metadata_responses()
            .create(&resource, Some(&release.namespace), &object, FIELD_MANAGER)
            .await
        {
            Err(client::Error::Api(status)) if status.code == 409 => {
                Err(Error::AlreadyExists { name: release.name.clone(), revision: release.revision })
            }
            result => {
                self.read_after_write.observe(resource_version(&result?));
                Ok(())
            }
        }
    }

    /// Replaces a record; returns its new resourceVersion.
    pub async fn update(&self, release: &Release) -> Result<u64, Error> {
        let object = self.object(release, &encode(release).await?.text, "modifiedAt");
        let resource = self.driver.resource();
        let key = key(&release.name, release.revision);
        let namespace = Some(release.namespace.as_str());
        let written = self
            .client
            .with_metadata_responses()
            .replace(&resource, namespace, &key, &object, FIELD_MANAGER)
            .await?;
        let resource_version = resource_version(&written);
        self.read_after_write.observe(resource_version);
        Ok(resource_version)
    }

    /// Deletes a record, which may not exist any more.
    pub async fn delete(&self, entry: &RecordEntry) -> Result<(), Error> {
        let (resource, namespace) = (self.driver.resource(), Some(entry.namespace.as_str()));
        self.client.delete(&resource, namespace, &entry.key, None, PropagationPolicy::Background).await?;
        Ok(())
    }

    /// Lists the metadata of a release's records, oldest first, at least as new as a resourceVersion.
    pub async fn release_entries(&self, name: &str, at_least: u64) -> Result<Vec<RecordEntry>, Error> {
        match self.existing_entries(name, at_least).await {
            Err(Error::NotFound) => Ok(Vec::new()),
            result => result,
        }
    }

    fn object(&self, release: &Release, text: &[u8], stamp: &str) -> Value {
        let mut labels: BTreeMap<&str, String> =
            release.labels.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        labels.retain(|key, _| !SYSTEM_LABELS.contains(key));
        let now = self.now().unix().to_string();
        let system = [
            ("name", release.name.clone()),
            ("owner", "helm".to_owned()),
            ("status", release.info.status.clone()),
            ("version", release.revision.to_string()),
            (stamp, now),
        ];
        labels.extend(system);
        let mut metadata = json!({"name": key(&release.name, release.revision), "labels": labels});
        if !release.annotations.is_empty() {
            metadata["annotations"] = json!(release.annotations);
        }
        match self.driver {
            Driver::Secrets => json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "helm.sh/release.v1",
                "data": {"release": String::from_utf8_lossy(&base64_encode(text))},
            }),
            Driver::ConfigMaps => json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
                "data": {"release": String::from_utf8_lossy(text)},
            }),
        }
    }
}

/// The name of the Secret or ConfigMap of a revision.
fn key(name: &str, revision: i64) -> String {
    format!("sh.helm.release.v1.{name}.v{revision}")
}

/// Whether Helm sets a label itself.
pub fn is_system_label(key: &str) -> bool {
    SYSTEM_LABELS.contains(&key)
}
/// Runs CPU-bound work on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Interrupted(error.to_string()))
}

async fn encode(release: &Release) -> Result<encode::Encoded, Error> {
    let release = release.clone();
    Ok(blocking(move || release.encode()).await??)
}

fn decode(object: &Value, key: String, driver: Driver, location: &Location) -> Result<Release, Error> {
    let Some(text) = object.pointer("/data/release").and_then(Value::as_str) else {
        return Err(Error::MissingData(key));
    };
    let decoded = match driver {
        // The API encodes the data of Secrets in base64 once more.
        Driver::Secrets => base64_decode(text.as_bytes())
            .map_err(record::Error::Base64)
            .and_then(|inner| Release::decode(&inner, location)),
        Driver::ConfigMaps => Release::decode(text.as_bytes(), location),
    };
    let mut release = decoded.map_err(|source| Error::Decode { key, source })?;
    release.labels = labels(object);
    release.annotations = string_map(object, "/metadata/annotations");
    Ok(release)
}
