//! Where records are kept: Secrets or ConfigMaps with Helm's labels.

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

/// The labels that are Helm's own.
const SYSTEM: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];
/// Who the records belong to.
const MANAGER: &str = "helm";
/// How many records are asked for at the same time.
const AT_ONCE: usize = 16;

/// Why a release cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server says no, or nothing.
    #[error(transparent)]
    Client(#[from] client::Error),
    /// There is no such release or revision.
    #[error("release: not found")]
    NotFound,
    /// A record is damaged.
    #[error("the record {key}: {source}")]
    Record {
        /// The name of the Secret or ConfigMap.
        key: String,
        /// What is wrong with it.
        #[source]
        source: record::Error,
    },
    /// A record is not where it should be.
    #[error("the record {0} has no field `release`")]
    Empty(String),
    /// A record cannot be written.
    #[error(transparent)]
    Encode(#[from] encode::Error),
    /// Somebody was faster.
    #[error("release: already exists: the revision {revision} of {name} was made by somebody else just now")]
    Exists {
        /// The release.
        name: String,
        /// The revision.
        revision: i64,
    },
    /// A task was lost.
    #[error("reading the records was interrupted: {0}")]
    Interrupted(String),
    /// The name of the driver is not known.
    #[error("the driver {0:?} is not known: HELM_DRIVER is secret (the default) or configmap")]
    Driver(String),
}

/// What records are kept in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// `HELM_DRIVER=secret`.
    #[default]
    Secrets,
    /// `HELM_DRIVER=configmap`.
    ConfigMaps,
}

impl Driver {
    /// From the text of `HELM_DRIVER`.
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

/// What is known of a record without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name of the Secret or ConfigMap.
    pub key: String,
    /// Its namespace.
    pub namespace: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its version when it was listed.
    pub version: u64,
}

/// The version of an object; 0 when it says none.
fn version(object: &Value) -> u64 {
    let text = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Entry {
    fn read(object: &Value) -> Self {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (key, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
        Self { key, namespace, labels: labels(object), version: version(object) }
    }

    /// The release's name.
    pub fn release(&self) -> &str {
        self.labels.get("name").map(String::as_str).unwrap_or_default()
    }

    /// The status of the revision.
    pub fn status(&self) -> &str {
        self.labels.get("status").map(String::as_str).unwrap_or_default()
    }

    /// The number of the revision.
    pub fn revision(&self) -> i64 {
        self.labels.get("version").and_then(|version| version.parse().ok()).unwrap_or(0)
    }
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    texts(object, "/metadata/labels")
}

fn texts(object: &Value, path: &str) -> BTreeMap<String, String> {
    let labels = object.pointer(path).and_then(Value::as_object);
    let pairs = labels.into_iter().flatten().filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned())));
    pairs.collect()
}

/// A new record that is not written yet.
#[derive(Clone, Debug)]
pub struct Drafted {
    /// The Secret or ConfigMap.
    pub object: Value,
    /// The bytes that it would need with its chart's templates and files, when there was no room for them.
    pub whole: Option<usize>,
}

/// The releases of a namespace, or of all.
#[derive(Clone)]
pub struct Store {
    /// The cluster.
    pub client: Client,
    driver: Driver,
    /// `None` is all of them.
    namespace: Option<String>,
    local: Location,
    newest: Newest,
}

/// The version of the newest record that a process has written or heard of, shared by its stores; 0 when none is known.
#[derive(Clone, Debug, Default)]
pub struct Newest(Arc<AtomicU64>);

impl Newest {
    /// There is a record of this version.
    pub fn tell(&self, version: u64) {
        self.0.fetch_max(version, Ordering::Relaxed);
    }

    /// The version.
    pub fn version(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Store {
    /// The releases of a namespace, or of all; times are seen from a place.
    pub fn new(client: Client, driver: Driver, namespace: Option<String>, local: Location) -> Self {
        Self { client, driver, namespace, local, newest: Newest::default() }
    }

    /// The same, for a process that has several of them.
    pub fn knowing(self, newest: Newest) -> Self {
        Self { newest, ..self }
    }

    /// What is known of the newest record.
    pub fn newest(&self) -> &Newest {
        &self.newest
    }

    /// The namespace; none when it is all of them.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// All records, without reading them.
    pub async fn index(&self) -> Result<Vec<Entry>, Error> {
        self.entries("owner=helm", 0).await
    }

    async fn entries(&self, selector: &str, since: u64) -> Result<Vec<Entry>, Error> {
        let (resource, place) = (self.driver.resource(), self.namespace.as_deref());
        let found = self
            .client
            .list_not_older_than(&resource, place, selector, Representation::Metadata, since)
            .await?;
        Ok(found.iter().map(Entry::read).collect())
    }

    /// All revisions of a release, the oldest first.
    pub async fn history(&self, name: &str) -> Result<Vec<Release>, Error> {
        let entries = self.revisions(name, 0).await?;
        self.read_all(entries).await.into_iter().collect()
    }

    /// A revision of a release, or its last one.
    pub async fn get(&self, name: &str, revision: Option<i64>) -> Result<Release, Error> {
        let mut entries = self.revisions(name, 0).await?;
        if let Some(revision) = revision {
            entries.retain(|entry| entry.revision() == revision);
        }
        let entry = entries.pop().ok_or(Error::NotFound)?;
        let mut release = self.read(&entry).await?;
        if revision.is_some() {
            // As Helm does, which keeps them when it is asked for the last one.
            release.labels.retain(|key, _| !SYSTEM.contains(&key.as_str()));
        }
        Ok(release)
    }

    async fn revisions(&self, name: &str, since: u64) -> Result<Vec<Entry>, Error> {
        let mut entries = self.entries(&format!("name={name},owner=helm"), since).await?;
        if entries.is_empty() {
            return Err(Error::NotFound);
        }
        entries.sort_by_key(Entry::revision);
        Ok(entries)
    }

    /// Reads records, several at a time; the answers are in the order of the entries.
    pub async fn read_all(&self, entries: Vec<Entry>) -> Vec<Result<Release, Error>> {
        let mut answers: Vec<Option<Result<Release, Error>>> = entries.iter().map(|_| None).collect();
        let mut waiting = entries.into_iter().enumerate();
        let mut tasks = JoinSet::new();
        loop {
            while tasks.len() < AT_ONCE
                && let Some((place, entry)) = waiting.next()
            {
                let store = self.clone();
                tasks.spawn(async move { (place, store.read(&entry).await) });
            }
            match tasks.join_next().await {
                None => break,
                Some(Ok((place, answer))) => {
                    if let Some(slot) = answers.get_mut(place) {
                        *slot = Some(answer);
                    }
                }
                Some(Err(error)) => return vec![Err(Error::Interrupted(error.to_string()))],
            }
        }
        answers.into_iter().flatten().collect()
    }

    /// Reads a record.
    pub async fn read(&self, entry: &Entry) -> Result<Release, Error> {
        let resource = self.driver.resource();
        let found = self.client.get(&resource, Some(&entry.namespace), &entry.key).await?;
        let object = match found.filter(|object| version(object) >= entry.version) {
            Some(object) => object,
            // What answers may be behind the list: without a record that is there, or by an older one, wrong would be done.
            None => self.find(entry).await?.ok_or(Error::NotFound)?,
        };
        let (key, driver, local) = (entry.key.clone(), self.driver, self.local.clone());
        // A record holds up to a megabyte, compressed: unpacking it would keep the thread from everything else.
        blocking(move || decode(&object, key, driver, &local)).await?
    }

    /// Looks for a record in a list: what answers the reading of one may be behind.
    async fn find(&self, entry: &Entry) -> Result<Option<Value>, Error> {
        let query = format!("?fieldSelector=metadata.name%3D{}", escape(&entry.key));
        let list = self.client.list_objects(&self.driver.resource(), Some(&entry.namespace), &query).await?;
        Ok(list.get("items").and_then(Value::as_array).and_then(|items| items.first()).cloned())
    }

    /// The time now, seen from the same place as the times of records.
    pub fn now(&self) -> Time {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
        Time::from_unix(seconds, since.subsec_nanos().into(), self.local.clone())
    }

    /// The object of a new record, before anything is written: it may have no room.
    pub async fn draft(&self, release: &Release) -> Result<Drafted, Error> {
        let encoded = encode(release).await?;
        Ok(Drafted { object: self.object(release, &encoded.text, "createdAt"), whole: encoded.whole })
    }

    /// Writes a new record; says so when somebody has written one with this number.
    pub async fn create(&self, release: &Release, object: Value) -> Result<(), Error> {
        let resource = self.driver.resource();
        match self
            .client
            .with_metadata_responses()
            .create(&resource, Some(&release.namespace), &object, MANAGER)
            .await
        {
            Err(client::Error::Api(status)) if status.code == 409 => {
                Err(Error::Exists { name: release.name.clone(), revision: release.revision })
            }
            answer => {
                self.newest.tell(version(&answer?));
                Ok(())
            }
        }
    }

    /// Writes a record over the one that is there; says the version that it has then.
    pub async fn update(&self, release: &Release) -> Result<u64, Error> {
        let object = self.object(release, &encode(release).await?.text, "modifiedAt");
        let resource = self.driver.resource();
        let key = key(&release.name, release.revision);
        let place = Some(release.namespace.as_str());
        let written =
            self.client.with_metadata_responses().replace(&resource, place, &key, &object, MANAGER).await?;
        let version = version(&written);
        self.newest.tell(version);
        Ok(version)
    }

    /// Takes a record away; it may be gone already.
    pub async fn delete(&self, entry: &Entry) -> Result<(), Error> {
        let (resource, place) = (self.driver.resource(), Some(entry.namespace.as_str()));
        self.client.delete(&resource, place, &entry.key, None, PropagationPolicy::Background).await?;
        Ok(())
    }

    /// The records of a release without reading them, the oldest first, with all that was written up to a version.
    pub async fn entries_of(&self, name: &str, since: u64) -> Result<Vec<Entry>, Error> {
        match self.revisions(name, since).await {
            Err(Error::NotFound) => Ok(Vec::new()),
            answer => answer,
        }
    }

    fn object(&self, release: &Release, text: &[u8], stamp: &str) -> Value {
        let mut labels: BTreeMap<&str, String> =
            release.labels.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        labels.retain(|key, _| !SYSTEM.contains(key));
        let now = self.now().unix().to_string();
        let own = [
            ("name", release.name.clone()),
            ("owner", "helm".to_owned()),
            ("status", release.info.status.clone()),
            ("version", release.revision.to_string()),
            (stamp, now),
        ];
        labels.extend(own);
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

/// Whether a label is Helm's own.
pub fn is_system_label(key: &str) -> bool {
    SYSTEM.contains(&key)
}
/// Runs CPU-bound work on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Interrupted(error.to_string()))
}

async fn encode(release: &Release) -> Result<encode::Encoded, Error> {
    let release = release.clone();
    Ok(blocking(move || release.encode()).await??)
}

fn decode(object: &Value, key: String, driver: Driver, local: &Location) -> Result<Release, Error> {
    let Some(text) = object.pointer("/data/release").and_then(Value::as_str) else {
        return Err(Error::Empty(key));
    };
    let decoded = match driver {
        // The API wraps the data of Secrets once more.
        Driver::Secrets => base64_decode(text.as_bytes())
            .map_err(record::Error::Base64)
            .and_then(|inner| Release::decode(&inner, local)),
        Driver::ConfigMaps => Release::decode(text.as_bytes(), local),
    };
    let mut release = decoded.map_err(|source| Error::Record { key, source })?;
    release.labels = labels(object);
    release.annotations = texts(object, "/metadata/annotations");
    Ok(release)
}
